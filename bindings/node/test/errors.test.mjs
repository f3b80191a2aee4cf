// Which error tells what, and what it holds.
import assert from "node:assert/strict";
import net from "node:net";
import test from "node:test";
import * as deemster from "deemster";
import { GOOD, KEY, QUESTIONS, failureOf, reply, scripted } from "./support.mjs";

const { APIConnectionError, APIError, APIResponseValidationError, APITimeoutError, InternalServerError, TypeSafeClient, TypeSafeError } = deemster;

async function failWith(answer, options = {}, calls = {}) {
  const server = await scripted(answer);
  const client = new TypeSafeClient({ apiKey: KEY, baseURL: server.url, retry: { maxRetries: 0 }, ...options });
  try {
    return await failureOf(client.systemOne({ state: "x", questions: QUESTIONS }, calls));
  } finally {
    await client.close();
    await server.stop();
  }
}

for (const [status, name] of [
  [400, "BadRequestError"], [401, "AuthenticationError"], [402, "PaymentRequiredError"], [403, "PermissionDeniedError"], [404, "NotFoundError"],
  [408, "APIError"], [409, "ConflictError"], [413, "RequestTooLargeError"], [418, "APIError"], [422, "UnprocessableEntityError"], [429, "RateLimitError"],
  [500, "InternalServerError"], [503, "InternalServerError"], [529, "OverloadedError"], [599, "InternalServerError"],
]) {
  test(`status ${status} is ${name}`, async () => {
    const error = await failWith(reply(status, '{"detail":{"error_type":"x","message":"told so"}}', { "x-typesafe-request-id": "req_9", "Retry-After": "7" }));
    assert.equal(error.name, name);
    assert.ok(error instanceof deemster[name] && error instanceof APIError && error instanceof TypeSafeError);
    assert.equal(error instanceof InternalServerError, status >= 500);
    assert.equal(error.status, status);
    assert.match(error.message, new RegExp(`^${status} told so`));
    assert.deepEqual(error.body, { detail: { error_type: "x", message: "told so" } });
    assert.equal(error.requestId, "req_9");
    assert.equal(error.attempts, 1);
    assert.ok(error.headers instanceof Headers);
    assert.equal(error.headers, error.headers);
    assert.equal(error.headers.get("retry-after"), "7");
    if (status === 429) assert.equal(error.retryAfterMs, 7000);
  });
}

for (const [body, message] of [
  ['"plain"', "400 plain"], ["text", "400 text"], ['{"error":"e"}', "400 e"], ['{"error":{"message":"m"}}', "400 m"], ['{"message":"m"}', "400 m"],
  ['{"detail":"d"}', "400 d"], ['{"detail":[{"loc":["body","questions","q"],"msg":"bad"},{"msg":"worse"}]}', "400 questions.q: bad; worse"],
  ["", "400 status code (no body)"], ['{"detail":{"error_type":"max_tokens_exceeded"}}', "400 max_tokens_exceeded"], ['{"a":1}', '400 {"a":1}'],
  [JSON.stringify({ long: "x".repeat(300) }), `400 {"long":"${"x".repeat(191)}…`],
]) {
  test(`message of ${body.slice(0, 60) || "no body"}`, async () => assert.equal((await failWith(reply(400, body))).message, message));
}

test("a 422 names the place", async () => {
  const error = await failWith(reply(422, '{"detail":[{"type":"missing","loc":["body","questions","q","noul","criteria"],"msg":"Field required"}]}'));
  assert.equal(error.path, "questions.q.criteria");
});

test("a redirect is not followed", async () => {
  const error = await failWith(reply(307, "", { Location: "http://127.0.0.1:1/" }));
  assert.equal(error.status, 307);
  assert.match(error.message, /redirect/i);
});

test("an invalid reply", async () => {
  const error = await failWith(reply(200, GOOD.replace("0.9", "1.2")));
  assert.ok(error instanceof APIResponseValidationError && error instanceof APIError);
  assert.equal(error.status, 200);
  assert.equal(error.path, "answers.q.noul");
  assert.equal(error.reason, "DEEM_REASON_RANGE");
  assert.deepEqual(error.problems.map(({ question, reason }) => [question, reason]), [[0, "DEEM_REASON_RANGE"]]);
  assert.equal((await error.response.json()).answers.q.noul, 1.2);
  assert.equal(error.body.answers.q.noul, 1.2);
});

test("the response of an invalid reply can be had by asResponse", async () => {
  const server = await scripted(reply(200, "<html>"));
  const promise = new TypeSafeClient({ apiKey: KEY, baseURL: server.url }).systemOne({ state: "x", questions: QUESTIONS });
  assert.equal(await (await promise.asResponse()).text(), "<html>");
  assert.equal((await failureOf(promise)).reason, "DEEM_REASON_NOT_JSON");
  await server.stop();
});

test("asResponse rejects as the promise does", async () => {
  const server = await scripted(reply(404, '{"detail":"Not Found"}'));
  const promise = new TypeSafeClient({ apiKey: KEY, baseURL: server.url }).systemOne({ state: "x", questions: QUESTIONS });
  assert.equal((await failureOf(promise.asResponse())).status, 404);
  assert.equal((await failureOf(promise.withResponse())).status, 404);
  await server.stop();
});

test("a lenient call takes what a strict one refuses", async () => {
  const server = await scripted(reply(200, GOOD.replace("0.9", "1.2")));
  const client = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const { data, problems } = await client.systemOne({ state: "x", questions: QUESTIONS }, { check: "lenient" }).withResponse();
  await server.stop();
  assert.equal(data.answers.q.noul, 1.2);
  assert.equal(problems[0].reason, "DEEM_REASON_RANGE");
});

test("nobody listens", async () => {
  const port = await new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
  const error = await failureOf(new TypeSafeClient({ apiKey: KEY, baseURL: `http://127.0.0.1:${port}`, retry: { backoffInitialMs: 1 } }).models.list());
  assert.ok(error instanceof APIConnectionError && !(error instanceof APITimeoutError));
  assert.equal(error.code, "ECONNREFUSED");
  assert.equal(error.attempts, 3);
  assert.match(error.message, /^Connection error: /);
});

for (const [name, answer, code] of [
  ["closed without a reply", (socket) => socket.end(), "ECONNRESET"],
  ["reset", (socket) => socket.resetAndDestroy(), "ECONNRESET"],
  ["cut body", (socket) => socket.end(reply().subarray(0, -20)), "ECONNRESET"],
  ["no HTTP", (socket) => socket.end("SSH-2.0-x\r\n\r\n"), "ERR_HTTP_FRAMING"],
]) {
  test(`connection error: ${name}`, async () => {
    const error = await failWith(answer);
    assert.ok(error instanceof APIConnectionError, String(error));
    if (name !== "reset") assert.equal(error.code, code);
    assert.equal(typeof error.code, "string");
  });
}

test("a silent server", async () => {
  const error = await failWith(null, { timeout: 60 });
  assert.ok(error instanceof APITimeoutError && error instanceof APIConnectionError);
  assert.equal(error.timeoutMs, 60);
  assert.equal(error.code, "ETIMEDOUT");
});

test("the deadline ends a call that would be tried again", async () => {
  const error = await failWith(null, { timeout: 60_000, retry: { maxRetries: 9 } }, { deadline: 80 });
  assert.equal(error.name, "APIDeadlineError");
  assert.ok(error instanceof APITimeoutError);
  assert.equal(error.timeoutMs, 80);
});

test("a hint beyond the deadline fails at once", async () => {
  const error = await failWith(reply(429, "{}", { "Retry-After": "600" }), { retry: {} });
  assert.equal(error.attempts, 1);
  assert.ok(error instanceof deemster.RateLimitError, String(error));
  assert.equal(error.retryAfterMs, 600_000);
});

test("errors made by hand, as tests of programs do", () => {
  const error = APIError.fromResponse(429, { detail: "slow" }, new Headers({ "retry-after-ms": "5", "x-typesafe-request-id": "r" }));
  assert.ok(error instanceof deemster.RateLimitError);
  assert.equal(error.retryAfterMs, 5);
  assert.equal(error.requestId, "r");
  for (const [value, expected] of [["", undefined], [" ", undefined], ["-1", undefined], ["0x10", undefined], ["1e999", undefined], ["soon", undefined], ["1.5", 1500], ["0", 0]]) {
    assert.equal(APIError.fromResponse(429, {}, new Headers({ "retry-after": value })).retryAfterMs, expected, value);
  }
  assert.equal(new deemster.APIConnectionError().message, "Connection error.");
  assert.equal(new deemster.APIUserAbortError().name, "APIUserAbortError");
  assert.equal(new APITimeoutError(5).timeoutMs, 5);
});
