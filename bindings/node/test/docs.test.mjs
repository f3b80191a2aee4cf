// Every JavaScript block of the guide and of the READMEs runs; every row of the guide's table of differences is a test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import test, { after, before } from "node:test";
import * as deemster from "deemster";
import { GOOD, KEY, QUESTIONS, failureOf, packageRoot, projectRoot, reply, scripted, startMock } from "./support.mjs";

let mock;
before(async () => {
  mock = await startMock();
});
after(() => mock.stop());

const guide = readFileSync(path.join(projectRoot, "docs/node.md"), "utf8");
for (const [name, text, least] of [["docs/node.md", guide, 7], ["bindings/node/README.md", readFileSync(path.join(packageRoot, "README.md"), "utf8"), 1]]) {
  const blocks = [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, block]) => block);
  test(`${name} has blocks`, () => assert.ok(blocks.length >= least));
  blocks.forEach((block, index) => test(`${name}, block ${index + 1}`, async () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", block], {
      cwd: packageRoot, env: { ...process.env, TYPESAFE_BASE_URL: mock.url, TYPESAFE_API_KEY: "docs-key" }, stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (data) => (stderr += data));
    const [code] = await once(child, "close");
    assert.deepEqual([code, stderr], [0, ""]);
  }));
}

const { TypeSafeClient, TypeSafeError, choice } = deemster;

/** A client for scripted replies; gives [outcome or error, requests]. */
async function tried(replies, options, act = (client) => client.systemOne({ state: "x", questions: QUESTIONS })) {
  const server = await scripted(...replies);
  const client = new TypeSafeClient({ apiKey: KEY, baseURL: server.url, retry: { backoffInitialMs: 1, backoffMaxMs: 1 }, ...options });
  try {
    return [await act(client).catch((error) => error), server.requests];
  } finally {
    await client.close();
    await server.stop();
  }
}

const differences = {
  "missing answer, unbelievable number, no JSON": async () => {
    for (const body of ['{"model":"m","answers":{}}', GOOD.replace("0.9", "7"), "<html>"]) {
      const [error] = await tried([reply(200, body)]);
      assert.equal(error.name, "APIResponseValidationError");
    }
  },
  "wrong arguments": async () => {
    const [error, requests] = await tried([reply()], {}, (client) => client.systemOne({ state: "x", questions: { q: choice("?", {}) } }, { timeout: 1 }));
    assert.ok(error instanceof TypeSafeError);
    assert.equal(requests.length, 0);
  },
  "empty or malformed key or base URL": () => {
    for (const options of [{ apiKey: "" }, { apiKey: "a b" }, { apiKey: KEY, baseURL: "nowhere" }]) assert.throws(() => new TypeSafeClient(options), TypeSafeError);
  },
  "total time": async () => {
    assert.equal(new TypeSafeClient({ apiKey: KEY }).deadline, 30_000);
    const [error] = await tried([null], { deadline: 30 });
    assert.equal(error.name, "APIDeadlineError");
  },
  "`timeout` or abort within a body": async () => {
    const [error] = await tried([(socket) => socket.write(reply().subarray(0, -5))], { timeout: 30, retry: { maxRetries: 0 } });
    assert.equal(error.name, "APITimeoutError");
  },
  "blank `Retry-After`": async () => {
    const [whole] = await tried([reply(429, "{}", { "Retry-After": "" }), reply()], { retry: { backoffInitialMs: 60, backoffJitter: 0 } },
      (client) => client.systemOne({ state: "x", questions: QUESTIONS }).withResponse());

    assert.ok(whole.timings.waits >= 55, String(whole.timings.waits));
  },
  "`retry.maxRetryAfterMs`": async () => {
    assert.equal(new TypeSafeClient({ apiKey: KEY }).retry.maxRetryAfterMs, Infinity);
    const [error, requests] = await tried([reply(429, "{}", { "Retry-After": "99999" })]);
    assert.equal(error.retryAfterMs, 99_999_000);
    assert.equal(requests.length, 1);
  },
  "redirects": async () => {
    const [error, requests] = await tried([reply(302, "", { Location: "/elsewhere" })]);
    assert.equal(error.status, 302);
    assert.equal(requests.length, 1);
  },
  "statuses 402, 409, 413, 529": async () => {
    for (const [status, name] of [[402, "PaymentRequiredError"], [409, "ConflictError"], [413, "RequestTooLargeError"], [529, "OverloadedError"]]) {
      const [error] = await tried([reply(status, "{}")]);
      assert.ok(error instanceof deemster[name]);
    }
  },
  "kept connection that died": async () => {
    let served = 0;
    const answer = (socket) => (++served === 2 ? socket.resetAndDestroy() : socket.write(reply()));
    const [whole] = await tried([answer], { retry: { backoffInitialMs: 5000, maxRetries: 2 } }, async (client) => {
      await client.systemOne({ state: "x", questions: QUESTIONS });
      return client.systemOne({ state: "x", questions: QUESTIONS }).withResponse();
    });
    assert.equal(whole.timings.waits, 0);
    assert.equal(served, 3);
  },
  "`asResponse()`, then `await`": async () => {
    const [value] = await tried([reply()], {}, async (client) => {
      const promise = client.systemOne({ state: "x", questions: QUESTIONS });
      await (await promise.asResponse()).json();
      return promise;
    });
    assert.equal(value.answers.q.noul, 0.9);
  },
  "order of the body's fields": async () => {
    const [, requests] = await tried([reply()], {}, (client) => client.systemOne({ questions: QUESTIONS, state: "x" }));
    assert.deepEqual(Object.keys(JSON.parse(requests[0].body)), ["state", "model", "questions"]);
  },
  "log lines": async () => {
    const lines = [];
    const log = (line) => lines.push(line);
    await tried([reply(500, "{}"), reply()], { logLevel: "info", logger: { debug: log, info: log, warn: log, error: log } });
    assert.equal(lines.length, 1);
    assert.match(lines[0], /#1 POST \/v1\/systemone <- 200 in \d+ms, attempt 2/);
  },
  "lone surrogates in a text state": async () => {
    const [, requests] = await tried([reply()], {}, (client) => client.systemOne({ state: "a\ud800b", questions: QUESTIONS }));
    assert.equal(JSON.parse(requests[0].body).state, "a\uFFFDb");
  },
};

test("every row of the table of differences is a test", () => {
  const table = guide.slice(guide.indexOf("## Moving from"));
  const rows = table.split("\n").filter((line) => line.startsWith("|")).slice(2).map((line) => line.split(" | ")[0].slice(2));
  assert.deepEqual(rows, Object.keys(differences));
});
for (const [name, check] of Object.entries(differences)) test(`difference: ${name}`, check);
