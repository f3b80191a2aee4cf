//! What every contestant written in Rust shares: one JSON object a line in, one a line out (README.md has
//! the operations). Asynchronous contestants run on one thread; blocking ones get a thread for each call in flight.
use serde::Deserialize;
use serde_json::{json, Map, Value};
use std::future::Future;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What a client is opened with.
#[derive(Deserialize, Clone)]
pub struct Setup {
    pub url: String,
    pub key: String,
    pub model: String,
    pub ca: String,
    pub folder: String,
    pub choice_key: String,
    pub noul_key: String,
    pub want_choice: String,
    pub want_noul: f64,
    pub retries: i32,
    pub in_flight: usize,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub questions: Map<String, Value>,
}

/// The checked answers of one call; the choice is empty when none is asked.
pub type Picked = Result<(String, f64), String>;

pub trait Client: Sized + Sync {
    const BLOCKING: bool = false;
    fn open(setup: Setup) -> Result<Self, String>;
    /// One call. A blocking contestant's future is ready at once.
    fn call(&self) -> impl Future<Output = Picked>;
    /// One call and its whole answer.
    fn answer(&self) -> impl Future<Output = Result<Value, String>>;
}

struct Meter<'a> {
    setup: &'a Setup,
    end: Option<Instant>,
    left: AtomicI64,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    calls: Vec<(Instant, Duration)>,
    failures: usize,
    error: String,
}

impl<'a> Meter<'a> {
    fn until(setup: &'a Setup, seconds: f64) -> Self {
        let end = Some(Instant::now() + Duration::from_secs_f64(seconds));
        Meter { setup, end, left: AtomicI64::new(0), done: Mutex::default() }
    }

    fn begin(&self) -> bool {
        match self.end {
            Some(end) => Instant::now() < end,
            None => self.left.fetch_sub(1, Ordering::Relaxed) > 0,
        }
    }

    async fn work<C: Client>(&self, client: &C) {
        let mut own = Done::default();
        while self.begin() {
            let start = Instant::now();
            let got = client.call().await;
            let end = Instant::now();
            own.calls.push((end, end - start));
            let error = match got {
                Ok((choice, noul)) if choice == self.setup.want_choice && noul == self.setup.want_noul => continue,
                Ok((choice, noul)) => format!("wrong answer: {choice}, {noul}"),
                Err(error) => error,
            };
            own.failures += 1;
            own.error = error;
        }
        let mut done = self.done.lock().unwrap();
        done.calls.append(&mut own.calls);
        done.failures += own.failures;
        if own.failures > 0 {
            done.error = own.error;
        }
    }

    fn run<C: Client>(&self, client: &C, in_flight: usize, runtime: &tokio::runtime::Runtime) {
        if C::BLOCKING {
            std::thread::scope(|scope| {
                for _ in 0..in_flight {
                    scope.spawn(|| futures::executor::block_on(self.work(client)));
                }
            });
        } else {
            runtime.block_on(futures::future::join_all((0..in_flight).map(|_| self.work(client))));
        }
    }

    fn measure<C: Client>(self, client: &C, in_flight: usize, most: usize, runtime: &tokio::runtime::Runtime) -> Value {
        let (before, start) = (cpu_us(), Instant::now());
        self.run(client, in_flight, runtime);
        let used = cpu_us() - before;
        let done = self.done.into_inner().unwrap();
        let last = done.calls.iter().map(|call| call.0).max().unwrap_or(start);
        let tenth = |time: Instant| ((time - start).as_millis() / 100) as usize;
        let mut buckets = vec![0; tenth(last) + 1];
        done.calls.iter().for_each(|call| buckets[tenth(call.0)] += 1);
        let stride = done.calls.len().div_ceil(most).max(1);
        let samples: Vec<u64> = done.calls.iter().step_by(stride).map(|call| call.1.as_nanos() as u64).collect();
        json!({"calls": done.calls.len(), "failures": done.failures, "error": cut(&done.error), "cpu_us": used,
               "elapsed_ns": (last - start).as_nanos() as u64, "samples": samples, "buckets": buckets})
    }
}

fn cpu_us() -> i64 {
    // SAFETY: getrusage writes the whole structure it is given.
    let used = unsafe {
        let mut used = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut used);
        used
    };
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    micros(used.ru_utime) + micros(used.ru_stime)
}

fn cut(text: &str) -> String {
    text.chars().take(400).collect()
}

fn setup(line: &Value) -> Result<Setup, String> {
    let mut setup: Setup = serde_json::from_value(line.clone()).map_err(|error| error.to_string())?;
    let read = |name| std::fs::read_to_string(format!("{}/{name}", setup.folder)).map_err(|error| error.to_string());
    let (state, questions) = (read("state.txt")?, read("questions.json")?);
    setup.state = state;
    setup.questions = serde_json::from_str(&questions).map_err(|error| error.to_string())?;
    Ok(setup)
}

/// Reads operations until standard input ends.
pub fn serve<C: Client>(library: &str, version: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let inside = runtime.enter();
    let say = |reply: Value| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{reply}").and_then(|()| out.flush()).unwrap();
    };
    let mut open: Option<(Setup, C)> = None;
    say(json!({"library": library, "version": version, "runtime": "Rust", "import_us": 0}));
    for text in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let number = |name: &str| line[name].as_f64().unwrap_or(0.0);
        let in_flight = line["in_flight"].as_u64().unwrap_or(1) as usize;
        let operation = line["op"].as_str().unwrap_or("");
        if operation == "open" {
            let start = Instant::now();
            match setup(&line).and_then(|setup| Ok((setup.clone(), C::open(setup)?))) {
                Ok(pair) => {
                    open = Some(pair);
                    say(json!({"open_us": start.elapsed().as_micros() as u64, "error": ""}));
                }
                Err(error) => say(json!({"open_us": 0, "error": cut(&error)})),
            }
            continue;
        }
        let Some((setup, client)) = &open else {
            say(json!({"error": "not open"}));
            continue;
        };
        match operation {
            "close" => {
                open = None;
                say(json!({}));
            }
            "answer" => say(runtime.block_on(client.answer()).unwrap_or_else(|error| json!({"error": cut(&error)}))),
            "verdict" => {
                let start = Instant::now();
                let got = runtime.block_on(client.call());
                let taken = start.elapsed().as_nanos() as u64;
                say(match got {
                    Ok((_, noul)) => json!({"taken_ns": taken, "noul": noul}),
                    Err(error) => json!({"taken_ns": taken, "error": cut(&error)}),
                });
            }
            "latency" => {
                let meter = Meter { setup, end: None, left: AtomicI64::new(number("calls") as i64), done: Mutex::default() };
                say(meter.measure(client, 1, usize::MAX, &runtime));
            }
            _ => {
                let warm = Meter::until(setup, number("warm_s"));
                warm.run(client, in_flight, &runtime);
                let warm_calls = warm.done.lock().unwrap().calls.len();
                let meter = Meter::until(setup, number("seconds"));
                let mut reply = meter.measure(client, in_flight, number("samples") as usize, &runtime);
                reply["warm_calls"] = json!(warm_calls);
                say(reply);
            }
        }
    }
    drop(inside);
}
