// The fetch option: the caller's transport, the client's attempts, waits, limits and checks.
import assert from "node:assert/strict";
import test from "node:test";
import { APIConnectionError, APITimeoutError, TypeSafeClient, TypeSafeError } from "deemster";
import { GOOD, KEY, QUESTIONS, failureOf, sleep } from "./support.mjs";

const quick = { backoffInitialMs: 1, backoffMaxMs: 1 };
const clientOf = (fetch, options) => new TypeSafeClient({ apiKey: KEY, baseURL: "http://example.test/p", fetch, retry: quick, ...options });
const call = (client, options) => client.systemOne({ state: { a: 1 }, questions: QUESTIONS }, options);
const good = () => new Response(GOOD, { headers: { "content-type": "application/json", "x-typesafe-request-id": "req_f" } });

test("what fetch is given, and what its response becomes", async () => {
  const seen = [];
  const client = clientOf(async (url, init) => {
    seen.push([url, init]);
    return good();
  });
  const { data, response, requestId, attempts } = await call(client, { headers: { "X-Own": "1" } }).withResponse();
  const [url, init] = seen[0];
  assert.equal(url, "http://example.test/p/v1/systemone");
  assert.equal(init.method, "POST");
  const headers = new Headers(init.headers);
  assert.equal(headers.get("authorization"), `Bearer ${KEY}`);
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("x-own"), "1");
  assert.ok(init.signal instanceof AbortSignal);
  assert.deepEqual(JSON.parse(init.body), { state: { a: 1 }, questions: QUESTIONS, model: "jev-latest" });
  assert.equal(data.answers.q.noul, 0.9);
  assert.equal(requestId, "req_f");
  assert.equal(attempts, 1);
  assert.equal(await response.text(), GOOD);
});

test("attempts and statuses", async () => {
  const counts = [];
  const replies = [new Response("{}", { status: 500 }), new Response("{}", { status: 529 }), good()];
  const client = clientOf(async (_, init) => {
    counts.push(new Headers(init.headers).get("x-typesafe-retry-count"));
    return replies.shift();
  });
  assert.equal((await call(client).withResponse()).attempts, 3);
  assert.deepEqual(counts, [null, "1", "2"]);
  const error = await failureOf(call(clientOf(async () => new Response('{"detail":"no"}', { status: 401 }))));
  assert.equal(error.name, "AuthenticationError");
});

test("a fetch that rejects or throws", async () => {
  let calls = 0;
  const cause = new TypeError("fetch failed");
  const error = await failureOf(call(clientOf(() => {
    calls++;
    throw cause;
  })));
  assert.ok(error instanceof APIConnectionError);
  assert.equal(calls, 3);
  assert.equal(error.cause, cause);
  assert.match(error.message, /fetch failed/);
});

test("a fetch that ignores its signal is timed out all the same", async () => {
  const error = await failureOf(call(clientOf(() => new Promise(() => {}), { timeout: 20, retry: { maxRetries: 0 } })));
  assert.ok(error instanceof APITimeoutError);
  assert.equal(error.timeoutMs, 20);
  const late = await failureOf(call(clientOf(() => sleep(40).then(() => Promise.reject(new Error("late")))), { timeout: 10, retry: { maxRetries: 0 } }));
  assert.ok(late instanceof APITimeoutError);
  await sleep(60); // the late rejection must not be an unhandled one
});

test("the deadline bounds waits", async () => {
  const error = await failureOf(call(clientOf(async () => new Response("{}", { status: 500 }), { retry: { maxRetries: 50, backoffInitialMs: 30, backoffMaxMs: 30, backoffJitter: 0 }, deadline: 100 })));
  assert.ok(error.attempts >= 2 && error.attempts <= 5, String(error.attempts));
});

test("replies are checked", async () => {
  const error = await failureOf(call(clientOf(async () => new Response(GOOD.replace('"noul":0.9', '"noul":9')))));
  assert.equal(error.name, "APIResponseValidationError");
  assert.equal(error.path, "answers.q.noul");
});

test("models, and stand-ins for a response", async () => {
  const client = clientOf(async (url, init) => ({ status: 200, headers: new Headers(), text: async () => `{"models":[{"name":"${init.method} ${url}"}]}` }));
  assert.deepEqual(await client.models.list(), [{ name: "GET http://example.test/p/v1/models" }]);
  const strange = await failureOf(clientOf(async () => ({})).models.list());
  assert.ok(strange instanceof TypeSafeError);
});

test("closed clients refuse", async () => {
  const client = clientOf(async () => good());
  await call(client);
  await client.close();
  assert.match((await failureOf(call(client))).message, /closed/);
});
