// Wrong use of the package and of the addon beneath it: an error each time, never a crash.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";
import * as deemster from "deemster";
import { KEY, packageRoot, projectRoot, reply, run, scripted } from "./support.mjs";

const require = createRequire(import.meta.url);
const detached = new Uint8Array(8);
structuredClone(detached.buffer, { transfer: [detached.buffer] });

const ODD = [
  undefined, null, true, 0, -1, 0.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 53, 2 ** 64, -(2 ** 63), 1n, 2n ** 64n, "", "text", "\0", "\ud800", "x".repeat(100_000), Symbol("s"),
  () => {}, {}, [], [[]], [null], new Map(), new Map([[1, 2]]), new Set([1]), new Date(NaN), /x/, new Uint8Array(4), new Uint8Array(0), detached, new Float64Array(2), new ArrayBuffer(8),
  Object.create(null), new Proxy({}, { get() { throw new Error("trap"); } }), { toJSON() { throw new Error("toJSON"); } }, { then: 5 }, { length: -1 }, Promise.resolve(1), class {}, globalThis,
  { get state() { throw new Error("getter"); } }, { valueOf() { throw new Error("valueOf"); }, toString() { throw new Error("toString"); } },
];
let seed = 4711;
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const odd = () => ODD[random(ODD.length)];

test("the package's functions with odd values: an Error or a rejection, never a crash", async () => {
  const server = await scripted(reply());
  const client = new deemster.TypeSafeClient({ apiKey: KEY, baseURL: server.url, timeout: 200, retry: { maxRetries: 0 } });
  const attempts = {
    client: () => new deemster.TypeSafeClient({ apiKey: KEY, baseURL: server.url, [["timeout", "retry", "deadline", "defaultHeaders", "fetch", "proxy", "ca", "logger", "logLevel", "maxConnections",
      "idleTimeout", "maxReplyBytes", "auth", "check", "apiKey", "baseURL", "defaultModel", "userAgentSuffix", "evaluatePath", "noProxy"][random(20)]]: odd() }),
    call: () => client.systemOne(random(3) ? { state: random(2) ? odd() : "x", questions: random(2) ? odd() : { q: odd() }, model: random(2) ? odd() : undefined } : odd(), random(2) ? odd() : undefined),
    question: () => client.systemOne({ state: "x", questions: { q: { type: ["noul", "choice", "score", odd()][random(4)], instructions: odd(), criteria: odd() } } }),
    options: () => client.systemOne({ state: "x", questions: { q: deemster.noul("?") } }, { [["timeout", "retry", "deadline", "headers", "signal", "check"][random(6)]]: odd() }),
    retry: () => client.models.list({ retry: { [["maxRetries", "backoffInitialMs", "backoffMaxMs", "backoffJitter", "httpStatuses", "maxRetryAfterMs", "respectRetryAfter"][random(7)]]: odd() } }),
    set: () => new deemster.QuestionSet(odd(), random(2) ? { model: odd() } : odd()),
    text: () => deemster.QuestionSet.fromJSON(odd()),
    check: () => deemster.QuestionSet.check(random(2) ? odd() : { q: odd() }),
    builders: () => [deemster.noul, deemster.choice, deemster.score][random(3)](odd(), odd()),
    error: () => deemster.APIError.fromResponse(odd(), odd(), new Headers()),
    promise: () => new deemster.APIPromise(Promise.resolve(new Response("{}")), () => odd()),
  };
  const outcomes = { value: 0, error: 0 };
  for (let round = 0; round < 6000; round++) {
    const name = Object.keys(attempts)[random(Object.keys(attempts).length)];
    try {
      await attempts[name]();
      outcomes.value++;
    } catch (error) {
      assert.ok(error instanceof Error || typeof error !== "object" || name === "promise", `${name}: ${String(error)}`);
      outcomes.error++;
    }
  }
  assert.ok(outcomes.value > 100 && outcomes.error > 1000, JSON.stringify(outcomes));
  assert.equal((await client.systemOne({ state: "x", questions: { q: deemster.noul("?") } })).answers.q.noul, 0.9);
  await client.close();
  await server.stop();
});

test("the addon's own functions with odd values", async () => {
  const { code, signal, stderr, stdout } = await run(`
    import { createRequire } from "node:module";
    const addon = createRequire(${JSON.stringify(import.meta.url)})(${JSON.stringify(path.join(packageRoot, "lib/native.js"))}).native();
    const detached = new Uint8Array(8);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    const odd = [undefined, null, true, 0, -1, 1, 5, 0.5, NaN, Infinity, 2 ** 31, 2 ** 53, 2 ** 64, 1n, 2n ** 64n, "", "text", "\\ud800", "x".repeat(70000), Symbol("s"), () => {}, {}, [], new Map(),
      new Uint8Array(4), new Uint8Array(0), detached, new Float64Array(2), new ArrayBuffer(8), Object.create(null)];
    addon.start(true, () => {});
    let seed = 1;
    const random = (below) => ((seed = (Math.imul(seed, 1103515245) + 12345) >>> 0), Math.floor((seed / 2 ** 32) * below));
    const names = Object.getOwnPropertyNames(addon).filter((name) => typeof addon[name] === "function" && !/^[A-Z_]/.test(name));
    let calls = 0;
    for (const name of names) {
      for (let round = 0; round < 300; round++) {
        try {
          addon[name](...Array.from({ length: random(7) }, () => odd[random(odd.length)]));
        } catch (error) {
          if (!(error instanceof Error)) throw new Error(name + " threw " + String(error));
        }
        calls++;
      }
    }
    console.log(names.length > 100 && calls === names.length * 300);
    process.exit(0);`);
  assert.deepEqual({ code, signal, stdout: stdout.trim() }, { code: 0, signal: null, stdout: "true" }, stderr);
});

test("numbers reach C as what they are, or not at all", () => {
  const addon = require("../lib/native.js").native();
  const config = addon.deem_config_new()[1];
  for (const value of [NaN, 1.5, Infinity, 2 ** 53, "5", null, undefined, {}, 2n ** 63n]) {
    assert.throws(() => addon.deem_config_set_attempt_ms(config, value), TypeError, String(value));
  }
  for (const value of [2 ** 31, -(2 ** 31) - 1, 0.1, NaN]) assert.throws(() => addon.deem_config_set_max_retries(config, value), TypeError);
  for (const value of [NaN, Infinity, "x"]) assert.throws(() => addon.deem_config_set_backoff(config, 1, 1, value), TypeError);
  assert.equal(addon.deem_config_set_attempt_ms(config, 5), 0);
  assert.equal(addon.deem_config_set_attempt_ms(config, 5n), 0);
  assert.equal(addon.deem_config_set_attempt_ms(null, 5), 1);
  addon.deem_config_free(config);
});

test("the numbers of lib/status.js are the header's", () => {
  const header = readFileSync(path.join(projectRoot, "abi/include/deemster.h"), "utf8") + readFileSync(path.join(projectRoot, "abi/include/deemster_experimental.h"), "utf8");
  const defined = Object.fromEntries([...header.matchAll(/^#define DEEM_(\w+) (\d+)u?$/gm)].map(([, name, value]) => [name, Number(value)]));
  for (const [name, value] of Object.entries(require("../lib/status.js"))) {
    const found = ["", "E_", "E_HTTP_"].map((prefix) => defined[prefix + name.replace(/^HTTP_/, prefix === "E_HTTP_" ? "" : "HTTP_")]).find((number) => number !== undefined);
    assert.equal(value, found, name);
  }
});
