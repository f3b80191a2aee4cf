// The client: its options and fields, what it sends, what it refuses, the results, the promise.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { inspect } from "node:util";
import * as deemster from "deemster";
import { GOOD, KEY, QUESTIONS, failureOf, reply, scripted, startMock } from "./support.mjs";

const { APIPromise, QuestionSet, TypeSafeClient, TypeSafeError, choice, noul, score } = deemster;
let mock, client;

before(async () => {
  for (const name of Object.values(deemster.ENV)) delete process.env[name];
  mock = await startMock();
  client = new TypeSafeClient({ apiKey: KEY, baseURL: mock.url });
});
after(() => mock.stop());

const QUESTION_FORMS = {
  billing: noul("Is this about billing?", { true: "It is", false: null }),
  tone: choice("Tone?", { calm: null, angry: "Upset" }),
  urgency: score("Urgent?", ["can wait", { what: "today" }]),
};

test("the exported names", () => {
  assert.deepEqual(Object.keys(deemster).filter((name) => name !== "default" && name !== "module.exports").sort(), [
    "APIConnectionError", "APIDeadlineError", "APIError", "APIPromise", "APIResponseValidationError", "APITimeoutError", "APIUserAbortError",
    "AuthenticationError", "BadRequestError", "ConflictError", "ENV", "InternalServerError", "LOG_LEVELS", "NotFoundError", "OverloadedError",
    "PaymentRequiredError", "PermissionDeniedError", "QuestionSet", "QuestionSetError", "RateLimitError", "RequestTooLargeError", "TypeSafeClient",
    "TypeSafeError", "UnprocessableEntityError", "VERSION", "choice", "noul", "score",
  ]);
});

test("a result is a plain object with the reply's own keys", async () => {
  const result = await client.systemOne({ state: "I was charged twice.", questions: QUESTION_FORMS });
  assert.deepEqual(Object.keys(result).sort(), ["answers", "model", "usage"]);
  assert.deepEqual(Object.keys(result.answers).sort(), ["billing", "tone", "urgency"]);
  assert.equal(result.answers.billing.type, "noul");
  assert.ok(result.answers.billing.noul >= 0 && result.answers.billing.noul <= 1);
  assert.ok(["calm", "angry"].includes(result.answers.tone.choice));
  assert.deepEqual(result.answers.urgency.legend, { 0: "can wait", 1: { what: "today" } });
  assert.deepEqual(structuredClone(result), result);
  assert.deepEqual(JSON.parse(JSON.stringify(result)), result);
  assert.equal(Object.getPrototypeOf(result.answers), Object.prototype);
});

test("options beat the environment, which beats the defaults", () => {
  const defaults = new TypeSafeClient({ apiKey: KEY });
  assert.equal(defaults.baseURL, "https://api.typesafe.ai");
  assert.equal(defaults.defaultModel, "jev-latest");
  assert.equal(defaults.logLevel, "warn");
  assert.equal(defaults.timeout, 10_000);
  assert.equal(defaults.deadline, 30_000);
  assert.equal(defaults.retry.maxRetries, 2);
  assert.ok(defaults.retry.httpStatuses.has(529) && defaults.retry.httpStatuses.has(408) && !defaults.retry.httpStatuses.has(400));
  Object.assign(process.env, { TYPESAFE_API_KEY: " env-key ", TYPESAFE_BASE_URL: "http://h/p//", TYPESAFE_DEFAULT_MODEL: " ", TYPESAFE_LOG_LEVEL: "off" });
  try {
    const fromEnvironment = new TypeSafeClient();
    assert.equal(fromEnvironment.baseURL, "http://h/p");
    assert.equal(fromEnvironment.defaultModel, "jev-latest");
    assert.equal(fromEnvironment.logLevel, "off");
    assert.equal(new TypeSafeClient({ baseURL: "http://other/" }).baseURL, "http://other");
    assert.throws(() => new TypeSafeClient({ apiKey: "" }), TypeSafeError);
  } finally {
    for (const name of Object.values(deemster.ENV)) delete process.env[name];
  }
});

test("a long timeout keeps its meaning, and an explicit deadline holds", () => {
  const make = (options) => new TypeSafeClient({ apiKey: KEY, ...options }).deadline;
  assert.equal(make({ timeout: 5000 }), 30_000);
  assert.equal(make({ timeout: 60_000 }), 180_000);
  assert.equal(make({ timeout: 60_000, deadline: 1000 }), 1000);
  assert.equal(make({ deadline: null }), Infinity);
});

for (const [options, what] of [
  [{}, "API key"], [{ apiKey: "with space" }, "key"], [{ apiKey: "line\nbreak" }, "key"], [{ apiKey: "é" }, "key"], [{ apiKey: 5 }, "apiKey"],
  [{ apiKey: KEY, baseURL: "ftp://x" }, "URL"], [{ apiKey: KEY, baseURL: "not a url" }, "URL"], [{ apiKey: KEY, timeout: 0 }, "timeout"],
  [{ apiKey: KEY, timeout: NaN }, "timeout"], [{ apiKey: KEY, timeout: "5" }, "timeout"], [{ apiKey: KEY, deadline: -1 }, "deadline"],
  [{ apiKey: KEY, logLevel: "loud" }, "loud"], [{ apiKey: KEY, retry: { maxRetries: 1.5 } }, "maxRetries"], [{ apiKey: KEY, retry: { backoffJitter: 2 } }, "backoffJitter"],
  [{ apiKey: KEY, retry: { httpStatuses: [42] } }, "httpStatuses"], [{ apiKey: KEY, retry: 5 }, "retry"], [{ apiKey: KEY, fetch: "x" }, "fetch"],
  [{ apiKey: KEY, defaultHeaders: { "bad name": "x" } }, "header"], [{ apiKey: KEY, defaultHeaders: { a: "x\r\ny: z" } }, "header"],
  [{ apiKey: KEY, check: "some" }, "check"], [{ apiKey: KEY, auth: "basic" }, "auth"], [{ apiKey: KEY, maxConnections: 1.5 }, "whole"],
  [{ apiKey: KEY, maxConnections: 0 }, "onnections"], [{ apiKey: KEY, ca: "/nonexistent.pem" }, "CA"], [{ apiKey: KEY, proxy: "socks9://x" }, "roxy"],
  [null, "options"],
]) {
  test(`a client is refused: ${inspect(options)}`, () => {
    assert.throws(() => new TypeSafeClient(options), (error) => {
      assert.ok(error instanceof TypeSafeError, String(error));
      assert.match(error.message, new RegExp(what, "i"));
      if (typeof options?.apiKey === "string" && options.apiKey !== KEY && options.apiKey.length > 2) assert.ok(!error.message.includes(options.apiKey));
      return true;
    });
  });
}

test("the key is shown nowhere", async () => {
  const server = await scripted(reply(401, '{"detail":"no"}'));
  const logs = [];
  const log = (...values) => logs.push(values);
  const noisy = new TypeSafeClient({ apiKey: "sk-very-secret-key", baseURL: server.url, logLevel: "debug", logger: { debug: log, info: log, warn: log, error: log } });
  const error = await failureOf(noisy.systemOne({ state: "x", questions: QUESTIONS }, { headers: { "X-My-Token": "t0ken" } }));
  await server.stop();
  assert.equal(server.requests[0].headers.authorization, "Bearer sk-very-secret-key");
  for (const shown of [inspect(noisy, { depth: 9, showHidden: true }), JSON.stringify(noisy), inspect(error, { depth: 9 }), inspect(logs, { depth: 9 })]) {
    assert.ok(!shown.includes("sk-very-secret-key"));
    assert.ok(!shown.includes("t0ken"));
  }
  assert.ok(logs.length >= 2);
});

test("what is sent", async () => {
  const server = await scripted(reply());
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: `${server.url}/gate/`, defaultHeaders: { "X-Default": "1", "x-both": "default" }, userAgentSuffix: "svc/2" });
  await own.systemOne({ questions: QUESTIONS, state: { a: 1, b: undefined, c: null, d: new Date(0), n: NaN }, assets: { r: [1] }, nothing: undefined, zero: null },
    { headers: { "X-Both": "call", Authorization: "mine", "X-TypeSafe-Retry-Count": "9" } });
  await server.stop();
  const { head, headers, body } = server.requests[0];
  assert.match(head, /^POST \/gate\/v1\/systemone HTTP\/1\.1\r\n/);
  assert.equal(headers.authorization, `Bearer ${KEY}`);
  assert.equal(headers["x-default"], "1");
  assert.equal(headers["x-both"], "call");
  assert.equal(headers["content-type"], "application/json");
  assert.match(headers["user-agent"], /svc\/2/);
  assert.match(headers["x-typesafe-runtime"], /^(node|bun|deno)\/\d/);
  assert.equal(headers["x-typesafe-retry-count"], undefined);
  assert.deepEqual(JSON.parse(body), {
    state: { a: 1, c: null, d: "1970-01-01T00:00:00.000Z", n: null }, questions: QUESTIONS, model: "jev-latest", assets: { r: [1] }, zero: null,
  });
});

test("the model of a call beats the set's, which beats the client's", async () => {
  const server = await scripted(reply());
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url, defaultModel: "of-client" });
  const set = new QuestionSet(QUESTIONS, { model: "of-set" });
  await own.systemOne({ state: "x", questions: QUESTIONS });
  await own.systemOne({ state: "x", questions: set });
  await own.systemOne({ state: "x", questions: set, model: "of-call" });
  await own.systemOne({ state: "x", questions: QUESTIONS, model: undefined });
  await server.stop();
  assert.deepEqual(server.requests.map(({ body }) => JSON.parse(body).model), ["of-client", "of-set", "of-call", "of-client"]);
});

test("texts of every kind arrive as they are", async () => {
  const server = await scripted(reply());
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const states = ["", "plain", "quote \" back \\ line\n nul \0 end", "ü€😀\u2028", "x".repeat(70_000), "€".repeat(50_000), "é".repeat(32_766), "y".repeat(65_534)];
  for (const state of states) await own.systemOne({ state, questions: QUESTIONS });
  await server.stop();
  assert.deepEqual(server.requests.map(({ body }) => JSON.parse(body).state), states);
});

for (const [name, request] of Object.entries({
  "no request": undefined, "a text": "x", "no questions": { state: "x" }, "null questions": { state: "x", questions: null }, "empty questions": { state: "x", questions: {} },
  "a list of questions": { state: "x", questions: [noul("a")] }, "null state": { state: null, questions: QUESTIONS }, "a number": { state: 5, questions: QUESTIONS },
  "a function": { state: () => {}, questions: QUESTIONS }, "no state": { questions: QUESTIONS }, "a cycle": { state: (() => { const a = []; a.push(a); return a; })(), questions: QUESTIONS },
  "a bigint inside": { state: { a: 1n }, questions: QUESTIONS }, "a null question": { state: "x", questions: { q: null } }, "an unknown kind": { state: "x", questions: { q: { type: "box" } } },
  "a choice without options": { state: "x", questions: { q: choice("?", {}) } }, "eleven levels": { state: "x", questions: { q: score("?", Array(11).fill("l")) } },
  "a null level": { state: "x", questions: { q: score("?", ["a", null]) } }, "a noul of nothing": { state: "x", questions: { q: noul() } }, "a model of another type": { state: "x", questions: QUESTIONS, model: 5 },
  "an empty key": { state: "x", questions: { "": noul("a") } }, "toJSON without a value": { state: { toJSON: () => undefined }, questions: QUESTIONS },
})) {
  test(`a request is refused by a rejection: ${name}`, async () => {
    const promise = client.systemOne(request);
    assert.ok(promise instanceof APIPromise);
    assert.ok((await failureOf(promise)) instanceof TypeSafeError);
  });
}

for (const options of [{ timeout: -1 }, { timeout: "x" }, { deadline: 0 }, { retry: { maxRetries: -1 } }, { headers: { "a b": "c" } }, { headers: { a: "\n" } }, { check: 1 }, "text", 5]) {
  test(`options are refused by a rejection: ${inspect(options)}`, async () => {
    assert.ok((await failureOf(client.systemOne({ state: "x", questions: QUESTIONS }, options))) instanceof TypeSafeError);
    assert.ok((await failureOf(client.models.list(options))) instanceof TypeSafeError);
  });
}

test("retries: per-call fields merge into the client's", async () => {
  const server = await scripted(reply(500, "{}"), reply(500, "{}"), reply());
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url, retry: { backoffInitialMs: 1, backoffMaxMs: 1 } });
  const { attempts } = await own.systemOne({ state: "x", questions: QUESTIONS }).withResponse();
  assert.equal(attempts, 3);
  assert.deepEqual(server.requests.map(({ headers }) => headers["x-typesafe-retry-count"]), [undefined, "1", "2"]);
  server.requests.length = 0;
  const error = await failureOf(own.systemOne({ state: "x", questions: QUESTIONS }, { retry: { maxRetries: 0 } }));
  await server.stop();
  assert.equal(error.status, 500);
  assert.equal(server.requests.length, 1);
});

test("statuses outside the policy are not retried", async () => {
  const server = await scripted(reply(503, "{}"), reply());
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url, retry: { httpStatuses: new Set([429]) } });
  assert.equal((await failureOf(own.systemOne({ state: "x", questions: QUESTIONS }))).status, 503);
  await server.stop();
  assert.equal(server.requests.length, 1);
});

test("keys and labels that are names of Object.prototype", async () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const answers = names.map((name) => `${JSON.stringify(name)}:{"type":"choice","choice":${JSON.stringify(name)},"confidence":1,"probabilities":{${names.map((label) => `${JSON.stringify(label)}:${label === name ? 1 : 0}`)}}}`);
  const server = await scripted(reply(200, `{"model":"m","answers":{${answers}},"usage":null,"__proto__":{"polluted":true}}`));
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const options = names.map((name) => [name, null]);
  const result = await own.systemOne({ state: "x", questions: names.map((name) => [name, choice("?", options)]) });
  await server.stop();
  assert.equal({}.polluted, undefined);
  assert.deepEqual(Object.keys(result.answers), names);
  for (const name of names) {
    const answer = Object.getOwnPropertyDescriptor(result.answers, name).value;
    assert.equal(answer.choice, name);
    assert.deepEqual(Object.keys(answer.probabilities), names);
  }
  assert.deepEqual(Object.keys(JSON.parse(server.requests[0].body).questions), names);
});

test("token counts beyond 2^53 are exact", async () => {
  const server = await scripted(reply(200, GOOD.replace('"input_tokens":10', '"input_tokens":9223372036854775807')));
  const { data, response } = await new TypeSafeClient({ apiKey: KEY, baseURL: server.url }).systemOne({ state: "x", questions: QUESTIONS }).withResponse();
  await server.stop();
  assert.equal(data.usage.input_tokens, 9223372036854775807n);
  assert.equal(data.usage.output_tokens, 2);
  assert.match(await response.text(), /9223372036854775807/);
});

test("another server's spelling of usage is given in the official one too", async () => {
  const server = await scripted(reply(200, GOOD.replace("input_tokens", "prompt_tokens").replace("output_tokens", "completion_tokens")));
  const { usage } = await new TypeSafeClient({ apiKey: KEY, baseURL: server.url }).systemOne({ state: "x", questions: QUESTIONS });
  await server.stop();
  assert.deepEqual(usage, { prompt_tokens: 10, completion_tokens: 2, input_tokens: 10, output_tokens: 2 });
});

test("the promise gives response and result in any order", async () => {
  const promise = client.systemOne({ state: "x", questions: QUESTION_FORMS });
  assert.ok(promise instanceof Promise && promise instanceof APIPromise);
  const response = await promise.asResponse();
  assert.ok(response instanceof Response && response.ok);
  const data = await promise;
  assert.deepEqual(await response.json(), data);
  const whole = await promise.withResponse();
  assert.equal(whole.data, data);
  assert.match(whole.requestId, /^req_/);
  assert.equal(whole.response.headers.get("x-typesafe-request-id"), whole.requestId);
  assert.equal(whole.attempts, 1);
  assert.ok(whole.timings.total > 0 && whole.timings.firstByte <= whole.timings.total);
  assert.equal(whole.response.url, `${mock.url}/v1/systemone`);
  const mapped = promise.map(({ model }) => model.length);
  assert.ok(mapped instanceof APIPromise);
  assert.equal(await mapped, data.model.length);
  assert.equal((await mapped.asResponse()).status, 200);
  assert.equal((await mapped.withResponse()).requestId, whole.requestId);
  assert.equal(await promise.then((value) => value.model), data.model);
  assert.equal(await promise.finally(() => {}), data);
  assert.deepEqual(await Promise.all([promise, APIPromise.resolve(1)]), [data, 1]);
});

test("the promise's own constructor takes a response and a parser", async () => {
  const promise = new APIPromise(Promise.resolve(Response.json({ a: 1 })), (response) => response.json());
  assert.deepEqual(await promise, { a: 1 });
  assert.deepEqual(await (await promise.asResponse()).json(), { a: 1 });
  assert.equal((await promise.withResponse()).requestId, undefined);
});

test("models", async () => {
  const models = await client.models.list();
  assert.deepEqual(models.map(({ name }) => name), ["jev-latest", "jev-preview"]);
  const { data, requestId } = await client.models.list().withResponse();
  assert.equal(data.length, 2);
  assert.match(requestId, /^req_/);
  for (const [body, names] of [['{"object":"list","data":[{"id":"a"}]}', ["a"]], ['{"models":[]}', []], ['{"x":1}', undefined], ["[]", undefined], ["{", undefined]]) {
    const server = await scripted(reply(200, body));
    const promise = new TypeSafeClient({ apiKey: KEY, baseURL: server.url, retry: { maxRetries: 0 } }).models.list();
    if (names) assert.deepEqual((await promise).map(({ name }) => name), names);
    else assert.ok((await failureOf(promise)) instanceof TypeSafeError);
    await server.stop();
  }
});

test("close cancels, is repeatable, and refuses later calls", async () => {
  const server = await scripted(null);
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const pending = [failureOf(own.systemOne({ state: "x", questions: QUESTIONS })), failureOf(own.models.list())];
  await new Promise((resolve) => setTimeout(resolve, 30));
  await own.close();
  await own.close();
  for (const error of await Promise.all(pending)) assert.equal(error.name, "APIUserAbortError");
  assert.match((await failureOf(own.systemOne({ state: "x", questions: QUESTIONS }))).message, /closed/);
  assert.match((await failureOf(own.models.list())).message, /closed/);
  await new TypeSafeClient({ apiKey: KEY }).close();
  if (Symbol.asyncDispose) await new TypeSafeClient({ apiKey: KEY })[Symbol.asyncDispose]();
  await server.stop();
});

test("no key is needed where none is sent", async () => {
  const server = await scripted(reply());
  await new TypeSafeClient({ auth: "none", baseURL: server.url }).systemOne({ state: "x", questions: QUESTIONS });
  await new TypeSafeClient({ auth: "x-api-key", apiKey: KEY, baseURL: server.url, evaluatePath: "/other" }).systemOne({ state: "x", questions: QUESTIONS });
  await server.stop();
  assert.equal(server.requests[0].headers.authorization, undefined);
  assert.equal(server.requests[1].headers["x-api-key"], KEY);
  assert.match(server.requests[1].head, /^POST \/other /);
});

test("many calls at once use at most the connections allowed", async () => {
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: mock.url, maxConnections: 3 });
  const results = await Promise.all(Array.from({ length: 300 }, (_, index) => own.systemOne({ state: `message ${index}`, questions: QUESTION_FORMS })));
  assert.equal(results.length, 300);
  const again = await Promise.all(results.map((_, index) => client.systemOne({ state: `message ${index}`, questions: QUESTION_FORMS })));
  assert.deepEqual(again.map(({ answers }) => answers.billing.noul), results.map(({ answers }) => answers.billing.noul));
});
