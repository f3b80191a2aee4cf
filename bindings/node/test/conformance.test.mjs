// The shared cases: the verdict is the one that C gives, over the engine and over the caller's own fetch.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { APIConnectionError, QuestionSet, QuestionSetError, TypeSafeClient } from "deemster";
import { projectRoot, scripted } from "./support.mjs";

const load = (name) => JSON.parse(readFileSync(path.join(projectRoot, "tests/conformance", name), "utf8"));
const STATE = "Is it so, or is it not?";

function bytesOf(attempt) {
  if (attempt.b64 !== undefined) return Buffer.from(attempt.b64, "base64");
  const date = new Date(Date.now() + attempt.retry_after_date_in_s * 1000).toUTCString();
  return Buffer.from(`HTTP/1.1 429 Too Many Requests\r\nRetry-After: ${date}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`);
}

const closing = (bytes) => (socket) => socket.end(bytes);

/** A code as C names it, from the class of the error. */
function codeOf(error) {
  if (error === undefined) return "DEEM_OK";
  const status = {
    BadRequestError: "BAD_REQUEST", AuthenticationError: "AUTHENTICATION", PaymentRequiredError: "PAYMENT", PermissionDeniedError: "PERMISSION",
    NotFoundError: "NOT_FOUND", ConflictError: "CONFLICT", RequestTooLargeError: "TOO_LARGE", UnprocessableEntityError: "UNPROCESSABLE",
    RateLimitError: "RATE_LIMIT", InternalServerError: "SERVER", OverloadedError: "OVERLOADED",
  }[error.name];
  if (status) return `DEEM_E_HTTP_${status}`;
  if (error.name === "APIResponseValidationError") return "DEEM_E_INVALID_REPLY";
  if (error.name === "APIError") return error.status < 400 && error.status >= 300 ? "DEEM_E_HTTP_REDIRECT" : error.status === 408 ? "DEEM_E_HTTP_TIMEOUT" : "DEEM_E_HTTP_OTHER";
  if (error.name === "APIDeadlineError") return "DEEM_E_DEADLINE";
  const connection = { ECONNABORTED: "CONNECTION", ENOTFOUND: "DNS", ECONNREFUSED: "REFUSED", ERR_TLS_HANDSHAKE: "TLS", ECONNRESET: "TRUNCATED", ERR_PROXY: "PROXY",
    ERR_HTTP_FRAMING: "HTTP_FRAMING", ETIMEDOUT: "TIMEOUT" }[error.code];
  return connection ? `DEEM_E_${connection}` : error.code;
}

async function outcome(testCase, url, options) {
  const client = new TypeSafeClient({ apiKey: "conformance-key-0123456789", baseURL: url, retry: { backoffInitialMs: 1, backoffMaxMs: 2, backoffJitter: 0 }, ...options });
  const promise = client.systemOne({ state: STATE, questions: testCase.questions });
  try {
    return { whole: await promise.withResponse() };
  } catch (error) {
    return { error };
  } finally {
    await client.close();
  }
}

function check(testCase, kind, { whole, error }) {
  const expected = testCase[kind];
  const where = `${testCase.name} (${kind})`;
  assert.equal(codeOf(error), expected.code, `${where}: ${error?.message}`);
  const got = {
    attempts: whole?.attempts ?? error.attempts,
    request_id: whole?.requestId ?? error?.requestId ?? null,
    model: whole?.data.model ?? null,
    reason: error?.reason ?? whole?.problems[0]?.reason ?? "DEEM_ANSWER_OK",
    path: error?.path ?? "",
    http_status: whole?.response.status ?? error.status,
  };
  for (const field of ["attempts", "request_id", "model", "reason", "path", "http_status"]) {
    const comparable = !(error && field === "model") && !(error instanceof APIConnectionError && field !== "attempts") && !(kind === "lenient" && field !== "attempts");
    if (Object.hasOwn(expected, field) && comparable) assert.equal(got[field], expected[field], `${where}: ${field}`);
  }
  // A lenient call gives the reply as it came; what is wrong with it stands in the problems.
  if (kind === "lenient" && whole) {
    for (const [name, { status }] of Object.entries(expected.answers ?? {})) {
      const index = Object.keys(testCase.questions).indexOf(name);
      assert.equal(whole.problems.find(({ question }) => question === index)?.reason, status, `${where}: ${name}`);
    }
    return;
  }
  if (expected.usage && whole) {
    const { input_tokens: input, output_tokens: output } = whole.data.usage ?? {};
    assert.deepEqual([input ?? -1, output ?? -1].map(Number), expected.usage, `${where}: usage`);
  }
  for (const [name, wanted] of Object.entries(whole ? expected.answers ?? {} : {})) {
    const answer = whole.data.answers[name];
    if (wanted.value !== undefined && answer.type !== "choice") assert.ok(answer[answer.type] === wanted.value, `${where}: ${name}`);
    if (wanted.label !== undefined) assert.equal(answer.choice, wanted.label, `${where}: ${name}`);
    if (wanted.confidence !== undefined && answer.type !== "noul") assert.equal(answer.confidence ?? null, wanted.confidence, `${where}: ${name}`);
  }
}

for (const testCase of load("replies.json")) {
  for (const kind of ["expect", "lenient"]) {
    if (!testCase[kind]) continue;
    test(`reply: ${testCase.name}, ${kind}`, async () => {
      const server = await scripted(...testCase.attempts.map((attempt) => closing(bytesOf(attempt))));
      try {
        check(testCase, kind, await outcome(testCase, server.url, { check: kind === "lenient" ? "lenient" : "strict" }));
      } finally {
        await server.stop();
      }
    });
  }
}

/** A fetch that hands the body over as it is in the case, so that the hosted exchange sees what the engine would. */
function replaying(attempts) {
  let sent = 0;
  return async () => {
    const bytes = bytesOf(attempts[Math.min(++sent, attempts.length) - 1]);
    const end = bytes.indexOf("\r\n\r\n");
    const [start, ...rows] = bytes.subarray(0, end).toString("latin1").split("\r\n");
    const headers = new Headers(rows.map((row) => [row.slice(0, row.indexOf(":")), row.slice(row.indexOf(":") + 1).trim()]));
    const status = Number(start.split(" ")[1]);
    return { status, headers, arrayBuffer: async () => Uint8Array.from(bytes.subarray(end + 4)).buffer };
  };
}

const plainFraming = (attempt) => attempt.b64 === undefined ||
  /^HTTP\/1\.1 [2-5]\d\d [^\r\n]*\r\n(?!(?:.*\r\n)*(?:transfer-encoding|content-encoding):)/i.test(Buffer.from(attempt.b64, "base64").toString("latin1")) &&
  framed(Buffer.from(attempt.b64, "base64"));

function framed(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(bytes.subarray(0, end + 2).toString("latin1"))?.[1];
  return length !== undefined && Number(length) === bytes.length - end - 4;
}

for (const testCase of load("replies.json")) {
  if (!testCase.attempts.every(plainFraming)) continue;
  test(`hosted reply: ${testCase.name}`, async () => {
    const kind = testCase.hosted ? "hosted" : "expect";
    check(testCase, kind, await outcome(testCase, "http://127.0.0.1:9", { fetch: replaying(testCase.attempts) }));
  });
}

for (const testCase of load("question_sets.json")) {
  if (testCase.document === undefined || !testCase.open) continue;
  test(`open question set: ${testCase.name}`, () => sets(testCase));
}
for (const testCase of load("question_sets.json")) {
  if (testCase.document === undefined || testCase.open) continue;
  // Unknown fields are findings in a closed document only, and this package reads open ones.
  if (testCase.findings.some(([rule]) => rule === "unknown-field")) continue;
  test(`question set: ${testCase.name}`, () => sets(testCase));
}

function sets(testCase) {
  const findings = (list) => list.map(({ rule, severity, path: where }) => [rule, severity, where]);
  let set;
  try {
    set = QuestionSet.fromJSON(testCase.document);
  } catch (error) {
    assert.ok(error instanceof QuestionSetError, String(error));
    assert.deepEqual(findings(error.findings), testCase.findings);
    assert.equal(testCase.questions, undefined);
    return;
  }
  assert.deepEqual(findings(set.warnings), testCase.findings);
  assert.equal(set.json, testCase.questions);
  assert.equal(set.identity, testCase.identity);
  if (testCase.model !== undefined) assert.equal(set.model, testCase.model);
}
