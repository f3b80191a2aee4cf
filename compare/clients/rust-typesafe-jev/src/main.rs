//! typesafe-jev, a Rust crate by other people (blocking, over ureq).
use protocol::{serve, Client, Picked, Setup};
use serde_json::{json, Value};
use typesafe_jev::{Config, Questions, Response};

struct TypesafeJev {
    setup: Setup,
    questions: Questions,
    client: typesafe_jev::Client,
}

impl TypesafeJev {
    fn ask(&self) -> Result<Response, String> {
        self.client.ask(&self.setup.state, &self.questions).map_err(|error| format!("{error:?}"))
    }
}

impl Client for TypesafeJev {
    const BLOCKING: bool = true;

    fn open(setup: Setup) -> Result<Self, String> {
        let mut config = Config {
            base_url: format!("{}/v1/systemone", setup.url),
            model: setup.model.clone(),
            pool_size: setup.in_flight.max(1),
            ..Config::default()
        };
        if setup.retries >= 0 {
            config.max_retries = setup.retries as u32;
        }
        let client = typesafe_jev::Client::new(&setup.key, config).map_err(|error| format!("{error:?}"))?;
        let questions = serde_json::from_value(Value::Object(setup.questions.clone())).map_err(|error| error.to_string())?;
        Ok(TypesafeJev { setup, questions, client })
    }

    async fn call(&self) -> Picked {
        let reply = self.ask()?;
        let noul = reply.noul(&self.setup.noul_key).ok_or("no noul in the reply")?.noul;
        let choice = reply.choice(&self.setup.choice_key).map(|answer| answer.choice.clone()).unwrap_or_default();
        Ok((choice, noul))
    }

    async fn answer(&self) -> Result<Value, String> {
        let reply = self.ask()?;
        let choice = reply.choice(&self.setup.choice_key).ok_or("no choice in the reply")?;
        Ok(json!({"model": reply.model, "noul": reply.noul(&self.setup.noul_key).map(|answer| answer.noul),
                  "choice": choice.choice, "confidence": choice.confidence, "probabilities": choice.probabilities}))
    }
}

fn main() {
    serve::<TypesafeJev>("typesafe-jev", "0.2.0");
}
