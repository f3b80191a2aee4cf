// Processes, workers and garbage: each case in a process of its own, which must end as it should.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { reply, run, scripted, startMock } from "./support.mjs";

let mock, silent;
before(async () => {
  mock = await startMock();
  silent = await scripted(null);
});
after(async () => {
  await mock.stop();
  await silent.stop();
});

const prelude = (url) => `
  import { Worker, isMainThread } from "node:worker_threads";
  const { TypeSafeClient, QuestionSet } = await import(process.env.DEEMSTER_ENTRY);
  const questions = { q: { type: "noul", instructions: "Is it so?" } };
  const client = new TypeSafeClient({ apiKey: "k", baseURL: "${url}" });
  const call = (options) => client.systemOne({ state: "x", questions }, options);
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const program = (text) => new Worker(\`import(process.env.DEEMSTER_ENTRY).then(async ({ TypeSafeClient }) => {
    const { parentPort } = await import("node:worker_threads");
    const questions = { q: { type: "noul", instructions: "Is it so?" } };
    const client = new TypeSafeClient({ apiKey: "k", baseURL: "${url}" });
    const call = () => client.systemOne({ state: "x", questions });
    \${text}
  })\`, { eval: true });
  const ended = (worker) => new Promise((resolve, reject) => worker.on("exit", resolve).on("error", reject));
`;

async function passes(url, program, expected, options) {
  const { code, signal, stdout, stderr } = await run(prelude(url()) + program, options);
  assert.deepEqual({ code, signal, stderr, stdout: stdout.trim() }, { code: 0, signal: null, stderr: "", stdout: expected });
}

const cases = {
  "an idle client lets the process end": [() => mock.url, `await call(); console.log("done");`, "done"],
  "a client that was never used lets the process end": [() => mock.url, `console.log("done");`, "done"],
  "a call in flight keeps the process": [() => mock.url, `call().then(() => console.log("answered"));`, "answered"],
  "a floating call that fails is an unhandled rejection like any other": [() => mock.url,
    `process.on("unhandledRejection", (error) => console.log(error.name)); client.systemOne({ state: 5, questions });`, "TypeSafeError"],
  "process.exit with calls in flight": [() => silent.url,
    `for (let i = 0; i < 50; i++) call().catch(() => {}); await sleep(30); console.log("leaving"); process.exit(0);`, "leaving"],
  "process.exit straight after a submit": [() => silent.url, `call().catch(() => {}); console.log("leaving"); process.exit(0);`, "leaving"],
  "an exception while calls are in flight": [() => silent.url,
    `process.on("uncaughtException", () => { console.log("caught"); process.exit(0); }); call().catch(() => {}); await sleep(20); throw new Error("x");`, "caught"],
  "eight workers": [() => mock.url, `
    const workers = Array.from({ length: 8 }, () => program("await Promise.all(Array.from({ length: 50 }, call)); for (let i = 0; i < 50; i++) await call();"));
    const own = Array.from({ length: 50 }, call);
    const codes = await Promise.all(workers.map(ended));
    await Promise.all(own);
    console.log(codes.join(" "));`, "0 0 0 0 0 0 0 0"],
  "workers terminated with calls in flight": [() => silent.url, `
    const workers = Array.from({ length: 8 }, () => program("for (let i = 0; i < 20; i++) call().catch(() => {}); parentPort.postMessage(1);"));
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
    await sleep(20);
    await Promise.all(workers.map((worker) => worker.terminate()));
    console.log("terminated");`, "terminated"],
  "workers terminated while answers come in": [() => mock.url, `
    for (let round = 0; round < 4; round++) {
      const workers = Array.from({ length: 4 }, () => program("parentPort.postMessage(1); for (;;) await Promise.all(Array.from({ length: 16 }, call));"));
      await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
      await sleep(10 + round * 7);
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
    await call();
    console.log("terminated");`, "terminated"],
  "the last worker that uses the addon leaves": [() => mock.url.concat(""), `
    await ended(program("await call();"));
    await ended(program("await call();"));
    console.log("left");`, "left"],
  "a worker exits by process.exit with calls in flight": [() => silent.url, `
    const code = await ended(program("for (let i = 0; i < 20; i++) call().catch(() => {}); setTimeout(() => process.exit(7), 20);"));
    console.log(code);`, "7"],
  "a closed client in a worker": [() => silent.url, `
    const code = await ended(program("const p = call(); await client.close(); await p.catch((error) => error.name === 'APIUserAbortError' || process.exit(3));"));
    console.log(code);`, "0"],
  "many clients in a burst": [() => mock.url, `
    for (let round = 0; round < 20; round++) {
      const clients = Array.from({ length: 10 }, () => new TypeSafeClient({ apiKey: "k", baseURL: "${"$"}{client.baseURL}" }));
      await Promise.all(clients.map((each) => each.systemOne({ state: "x", questions })));
      await Promise.all(clients.map((each) => each.close()));
    }
    console.log("done");`.replaceAll('"${client.baseURL}"', "client.baseURL"), "done"],
  "ten thousand timeouts at once": [() => silent.url, `
    const results = await Promise.allSettled(Array.from({ length: 10000 }, () => call({ timeout: 30, deadline: 60, retry: { maxRetries: 0 } })));
    const names = new Set(results.map(({ reason }) => reason?.name));
    console.log(results.length, [...names].every((name) => name === "APITimeoutError" || name === "APIDeadlineError"));`, "10000 true"],
  "calls made from a callback of the driver": [() => mock.url, `
    let left = 200;
    await new Promise((resolve) => { const again = () => (left-- > 0 ? call().then(again) : resolve()); again(); });
    console.log("done");`, "done"],
  "an exception in a continuation reaches the process": [() => mock.url, `
    process.on("uncaughtException", (error) => console.log(error.message));
    await call();
    call().then(() => queueMicrotask(() => { throw new Error("thrown"); }));
    await sleep(50);
    await call();
    console.log("alive");`, "thrown\nalive"],
};

for (const [name, [url, program, expected]] of Object.entries(cases)) {
  test(name, () => passes(url, program, expected));
}

test("forgotten clients and sets are collected", () => passes(() => mock.url, `
  import { readdirSync } from "node:fs";
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const collect = async () => { for (let i = 0; i < 6; i++) { globalThis.gc(); await sleep(10); } };
  await call();
  const before = descriptors();
  for (let i = 0; i < 50; i++) {
    const own = new TypeSafeClient({ apiKey: "k", baseURL: client.baseURL });
    await own.systemOne({ state: "x", questions: new QuestionSet({ ["q" + i]: questions.q }) });
    await own.systemOne({ state: "x", questions: { ["r" + i]: questions.q } });
  }
  await collect();
  console.log(descriptors() - before < 20 ? "collected" : "leaked " + (descriptors() - before));`, "collected", { gc: true }));

test("a client with a call in flight is not collected", () => passes(() => mock.url, `
  const make = () => new TypeSafeClient({ apiKey: "k", baseURL: client.baseURL }).systemOne({ state: "x", questions });
  const promises = Array.from({ length: 20 }, make);
  globalThis.gc();
  await sleep(0);
  globalThis.gc();
  await Promise.all(promises);
  console.log("answered");`, "answered", { gc: true }));

test("100,000 calls leave the memory as it was", async () => {
  const fixed = await scripted(reply());
  try {
    await passes(() => fixed.url, `
      const set = new QuestionSet(questions);
      const one = () => client.systemOne({ state: "x".repeat(300), questions: set });
      const many = async (count) => { for (let i = 0; i < count; i += 50) await Promise.all(Array.from({ length: 50 }, one)); };
      const settle = async () => {
        for (let i = 0; i < 5; i++) { globalThis.gc(); await sleep(20); }
        const { rss, heapUsed } = process.memoryUsage();
        return [rss / 2 ** 20, heapUsed / 2 ** 20];
      };
      // The engine's young generation grows to its size at first: a leak would grow in every window.
      const grown = [];
      await many(50000);
      for (let window = 0; window < 4 && !grown.some(([rss, used]) => rss < 1 && used < 1); window++) {
        const before = await settle();
        await many(100000);
        const after = await settle();
        grown.push(after.map((value, index) => value - before[index]));
      }
      const flat = grown.some(([rss, used]) => rss < 1 && used < 1);
      console.log(flat ? "flat" : "grown by " + grown.map((values) => values.map((value) => value.toFixed(1))).join(" | ") + " MiB");`, "flat", { gc: true, timeout: 240_000 });
  } finally {
    await fixed.stop();
  }
});
