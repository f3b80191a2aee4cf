// Programs written for the official SDK, run with it and with this package against the same server: what they see must
// be equal. Where the two differ on purpose, docs/node.md says so and the program is not here.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import * as official from "@typesafe-ai/sdk";
import * as deemster from "deemster";
import { KEY, reply, scripted, startMock } from "./support.mjs";

let mock;
before(async () => {
  mock = await startMock();
});
after(() => mock.stop());

const STATE = "I was charged twice. Please help.";
const questionsOf = ({ noul, choice, score }) => ({
  billing: noul("Is this about billing?", { true: "It is", false: null }),
  tone: choice("What is the tone?", { calm: null, angry: "Upset or hostile" }),
  urgency: score("How urgent is it?", ["can wait", "this week", { what: "today" }]),
});
const rules = { apiKey: KEY, retry: { backoffInitialMs: 1, backoffMaxMs: 1 } };

/** Each program gets the package and a client for the mock. */
const programs = {
  "README quickstart": async ({ choice }, client) => {
    const response = await client.systemOne({
      state: { document: "I was charged twice. Please fix this ASAP." },
      questions: { category: choice("What is this ticket about?", { billing: null, technical: null, other: null }) },
    });
    return response.answers.category.choice;
  },
  "README configuration from the environment": async ({ TypeSafeClient, noul }, client) => {
    Object.assign(process.env, { TYPESAFE_API_KEY: KEY, TYPESAFE_BASE_URL: client.baseURL });
    try {
      return (await new TypeSafeClient().systemOne({ state: "x", questions: { q: noul("Is it?") } })).answers;
    } finally {
      delete process.env.TYPESAFE_API_KEY;
      delete process.env.TYPESAFE_BASE_URL;
    }
  },
  "builders": async (sdk, client) => client.systemOne({ state: STATE, questions: questionsOf(sdk) }),
  "raw questions with fields of their own": async (_, client) => client.systemOne({
    state: { nested: [1, 2.5, null, true, "ü€😀\u2028"], n: NaN, skipped: undefined }, questions: { q: { type: "noul", instructions: { what: ["a"] }, weight: 3 } },
  }),
  "a list as state": async (sdk, client) => client.systemOne({ state: [{ role: "user", content: "hi" }], questions: questionsOf(sdk), model: "jev-preview" }),
  "numeric labels": async ({ choice }, client) => client.systemOne({ state: STATE, questions: { n: choice("Stars?", { 1: "bad", 2: null, 3: "good" }) } }),
  "255 options": async ({ choice }, client) => client.systemOne({ state: STATE, questions: { n: choice("Which?", Object.fromEntries(Array.from({ length: 255 }, (_, i) => [`label ${i}`, null]))) } }),
  "100 questions": async ({ noul }, client) => client.systemOne({ state: STATE, questions: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`q${i}`, noul(`Is it ${i}?`)])) }),
  "models": async (_, client) => client.models.list(),
  "spread, JSON, structuredClone": async (sdk, client) => {
    const result = await client.systemOne({ state: STATE, questions: questionsOf(sdk) });
    return [{ ...result }, JSON.stringify(result), structuredClone(result), Object.keys(result), Object.entries(result.answers).length];
  },
  "withResponse": async (sdk, client) => {
    const { data, response, requestId } = await client.systemOne({ state: STATE, questions: questionsOf(sdk) }).withResponse();
    return [data, response.status, response.ok, response.headers.get("content-type"), typeof requestId, response.headers.get("x-typesafe-request-id") === requestId];
  },
  "asResponse": async (sdk, client) => {
    const response = await client.systemOne({ state: STATE, questions: questionsOf(sdk) }).asResponse();
    return [response instanceof Response, response.status, await response.json()];
  },
  "map, then, finally, Promise.all": async (sdk, client) => {
    const promise = client.systemOne({ state: STATE, questions: questionsOf(sdk) });
    return [promise instanceof Promise, await promise.map((result) => result.model), await promise.then((result) => result.answers.tone.choice), await promise.finally(() => {}),
      (await Promise.all([promise, client.models.list()])).length, (await promise.map(() => 1).withResponse()).data];
  },
  "fields of the client": async ({ LOG_LEVELS, ENV }, client) => {
    const { retry } = client;
    return [client.baseURL === mock.url, client.defaultModel, client.logLevel, client.timeout, client.defaultHeaders, typeof client.fetch, Object.keys(client.logger).sort(),
      retry.maxRetries, retry.backoffInitialMs, retry.backoffJitter, retry.httpStatuses.size, retry.respectRetryAfter, LOG_LEVELS, ENV];
  },
  "a call that is aborted": async ({ APIUserAbortError, noul }, client) => {
    const controller = new AbortController();
    const promise = client.systemOne({ state: "x", questions: { q: noul("Is it?") } }, { signal: controller.signal });
    controller.abort();
    try {
      await promise;
    } catch (error) {
      return [error instanceof APIUserAbortError, error.name, error.message];
    }
    return "not aborted";
  },
  "a custom fetch": async ({ TypeSafeClient, noul }, client) => {
    const urls = [];
    const own = new TypeSafeClient({ ...rules, baseURL: client.baseURL, fetch: (url, init) => (urls.push([url, init.method, JSON.parse(init.body)]), fetch(url, init)) });
    return [await own.systemOne({ state: "x", questions: { q: noul("Is it?") } }), urls];
  },
};

for (const [name, program] of Object.entries(programs)) {
  test(`program: ${name}`, async () => {
    const [theirs, ours] = await Promise.all([official, deemster].map((sdk) => program(sdk, new sdk.TypeSafeClient({ ...rules, baseURL: mock.url }))));
    assert.deepEqual(ours, theirs);
    assert.notEqual(ours, undefined);
  });
}

/** What each makes of a server's reply, seen through the fields that programs read. */
const seen = async (sdk, url, options) => {
  const client = new sdk.TypeSafeClient({ ...rules, baseURL: url, timeout: 250 });
  try {
    return { value: await client.systemOne({ state: "x", questions: { q: sdk.noul("Is it so?") } }, options) };
  } catch (error) {
    const { name, message, status, body, requestId, retryAfterMs, timeoutMs } = error;
    return {
      name, status, body, requestId, retryAfterMs, timeoutMs, header: error.headers?.get("x-own"),
      message: name === "APIConnectionError" || name === "APITimeoutError" ? undefined : message,
      bases: ["TypeSafeError", "APIError", "InternalServerError", "APIConnectionError"].filter((base) => error instanceof sdk[base]),
    };
  }
};

const replies = {
  "good": reply(), "integers": reply(200, '{"model":"m","answers":{"q":{"type":"noul","noul":1}},"usage":{"input_tokens":1,"output_tokens":0}}'),
  "unknown fields": reply(200, '{"id":"x","model":"m","answers":{"q":{"type":"noul","noul":0.5,"extra":[1]},"more":{"type":"box"}},"usage":{"input_tokens":1,"output_tokens":0,"cost":1}}'),
  "other content type": reply(200, undefined, { "Content-Type": "text/plain" }), "null usage": reply(200, '{"model":"m","answers":{"q":{"type":"noul","noul":0.5}},"usage":null}'),
  "byte order mark": reply(200, '\uFEFF{"model":"m","answers":{"q":{"type":"noul","noul":0.5}},"usage":{"input_tokens":1,"output_tokens":0}}'),
  ...Object.fromEntries([400, 401, 403, 404, 422, 429, 500, 503, 599, 408, 418].map((status) => [`status ${status}`, reply(status, '{"detail":{"message":"told"}}', { "x-own": "1", "x-typesafe-request-id": "req_1" })])),
  "text body": reply(400, "nothing here", { "Content-Type": "text/plain" }), "HTML body": reply(403, "<html>blocked</html>", { "Content-Type": "text/html" }),
  "issues": reply(422, '{"detail":[{"loc":["body","questions","q"],"msg":"Field required"}]}'), "no body": reply(400, ""), "long body": reply(400, JSON.stringify({ x: "y".repeat(500) })),
  "retry-after of a rate limit": reply(429, "{}", { "Retry-After": "0.001" }), "retry-after-ms": reply(429, "{}", { "retry-after-ms": "2" }),
  "silence": null, "closed": (socket) => socket.end(),
};

for (const [name, answer] of Object.entries(replies)) {
  test(`reply: ${name}`, async () => {
    const outcomes = [];
    for (const sdk of [official, deemster]) {
      const server = await scripted(answer);
      outcomes.push([await seen(sdk, server.url), server.requests.length]);
      await server.stop();
    }
    assert.deepEqual(outcomes[1], outcomes[0]);
  });
}

test("the same body is sent, and the same headers but for the names of the SDKs", async () => {
  const requests = [];
  for (const sdk of [official, deemster]) {
    const server = await scripted(reply(), reply(500), reply());
    const client = new sdk.TypeSafeClient({ ...rules, baseURL: `${server.url}/prefix//`, defaultHeaders: { "X-A": "1", "x-both": "c" } });
    const questions = questionsOf(sdk);
    await client.systemOne({ state: { b: 1, a: "ü" }, questions, extra: null, gone: undefined }, { headers: { "X-Both": "d" } }).then(() => {}, () => {});
    await client.models.list().then(() => {}, () => {});
    await server.stop();
    requests.push(server.requests.map(({ head, headers, body }) => ({
      line: head.split("\r\n")[0], body: body && JSON.parse(body),
      headers: Object.fromEntries(["authorization", "accept", "content-type", "x-a", "x-both", "x-typesafe-retry-count", "x-typesafe-runtime"].map((name) => [name, headers[name]])),
    })));
  }
  // The answers do not fit the questions, so the first call ends in an error here and not there; what was sent counts.
  assert.deepEqual(requests[1], requests[0]);
});

test("every exported name of the official package is here", () => {
  for (const name of Object.keys(official)) assert.equal(typeof deemster[name], typeof official[name], name);
});
