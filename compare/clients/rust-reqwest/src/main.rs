//! What one would write by hand in Rust: reqwest and serde_json.
use protocol::{serve, Client, Picked, Setup};
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::time::Duration;

#[derive(Serialize)]
struct Request<'a> {
    state: &'a str,
    model: &'a str,
    questions: &'a Map<String, Value>,
}

#[derive(Deserialize)]
struct Answer {
    choice: Option<String>,
    confidence: Option<f64>,
    probabilities: Option<HashMap<String, f64>>,
    noul: Option<f64>,
}

#[derive(Deserialize)]
struct Reply {
    model: String,
    answers: HashMap<String, Answer>,
}

struct Reqwest {
    setup: Setup,
    endpoint: String,
    client: reqwest::Client,
}

impl Reqwest {
    async fn ask(&self) -> Result<Reply, String> {
        let Setup { state, model, questions, key, .. } = &self.setup;
        let request = self.client.post(&self.endpoint).bearer_auth(key).json(&Request { state, model, questions });
        let response = request.send().await.map_err(|error| format!("{error:?}"))?;
        if response.status() != 200 {
            return Err(format!("HTTP {}", response.status()));
        }
        response.json().await.map_err(|error| format!("{error:?}"))
    }
}

impl Client for Reqwest {
    fn open(setup: Setup) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder().timeout(Duration::from_secs(10)).no_proxy();
        if !setup.ca.is_empty() {
            let pem = std::fs::read(&setup.ca).map_err(|error| error.to_string())?;
            builder = builder.tls_certs_only([reqwest::Certificate::from_pem(&pem).map_err(|error| error.to_string())?]);
        }
        let client = builder.build().map_err(|error| error.to_string())?;
        Ok(Reqwest { endpoint: format!("{}/v1/systemone", setup.url), setup, client })
    }

    async fn call(&self) -> Picked {
        let reply = self.ask().await?;
        let noul = reply.answers.get(&self.setup.noul_key).and_then(|answer| answer.noul).ok_or("no noul in the reply")?;
        let choice = reply.answers.get(&self.setup.choice_key).and_then(|answer| answer.choice.clone()).unwrap_or_default();
        Ok((choice, noul))
    }

    async fn answer(&self) -> Result<Value, String> {
        let reply = self.ask().await?;
        let choice = reply.answers.get(&self.setup.choice_key).ok_or("no choice in the reply")?;
        Ok(json!({"model": reply.model, "noul": reply.answers.get(&self.setup.noul_key).map(|answer| answer.noul),
                  "choice": choice.choice, "confidence": choice.confidence, "probabilities": choice.probabilities}))
    }
}

fn main() {
    serve::<Reqwest>("reqwest", "0.13.5");
}
