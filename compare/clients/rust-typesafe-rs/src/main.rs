//! typesafe-rs, a Rust crate by other people (asynchronous, over reqwest).
use protocol::{serve, Client, Picked, Setup};
use serde_json::{json, Value};
use typesafe_rs::{ClientConfig, Questions, RetryPolicy, SystemOneResponse};

struct TypesafeRs {
    setup: Setup,
    questions: Questions,
    client: typesafe_rs::Client,
}

impl TypesafeRs {
    async fn ask(&self) -> Result<SystemOneResponse, String> {
        self.client.system_one(&self.setup.state, self.questions.clone()).await.map_err(|error| format!("{error:?}"))
    }
}

impl Client for TypesafeRs {
    fn open(setup: Setup) -> Result<Self, String> {
        let policy = match setup.retries {
            retries if retries >= 0 => RetryPolicy { max_retries: retries as u32, ..RetryPolicy::default() },
            _ => RetryPolicy::default(),
        };
        let config = ClientConfig::new().api_key(setup.key.as_str()).default_model(setup.model.as_str()).retry(policy);
        let client = config.try_base_url(&setup.url).and_then(ClientConfig::build).map_err(|error| error.to_string())?;
        let questions = serde_json::from_value(Value::Object(setup.questions.clone())).map_err(|error| error.to_string())?;
        Ok(TypesafeRs { setup, questions, client })
    }

    async fn call(&self) -> Picked {
        let reply = self.ask().await?;
        let noul = reply.noul(&self.setup.noul_key).ok_or("no noul in the reply")?;
        let choice = reply.choice(&self.setup.choice_key).map(|view| view.choice.to_string()).unwrap_or_default();
        Ok((choice, noul))
    }

    async fn answer(&self) -> Result<Value, String> {
        let reply = self.ask().await?;
        let choice = reply.choice(&self.setup.choice_key).ok_or("no choice in the reply")?;
        Ok(json!({"model": reply.model, "noul": reply.noul(&self.setup.noul_key), "choice": choice.choice,
                  "confidence": choice.confidence, "probabilities": choice.probabilities}))
    }
}

fn main() {
    serve::<TypesafeRs>("typesafe-rs", "0.1.0");
}
