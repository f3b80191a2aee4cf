// Abort signals at every stage of a call, and what they leave behind: nothing.
import assert from "node:assert/strict";
import test from "node:test";
import { APIUserAbortError, TypeSafeClient } from "deemster";
import { KEY, QUESTIONS, failureOf, reply, run, scripted, sleep } from "./support.mjs";

const clientOf = (server, options) => new TypeSafeClient({ apiKey: KEY, baseURL: server.url, ...options });
const call = (client, options) => client.systemOne({ state: "x", questions: QUESTIONS }, options);

const transports = { engine: {}, fetch: { fetch: (...request) => globalThis.fetch(...request) } };
for (const [transport, options] of Object.entries(transports)) {
  test(`aborted before the call, nothing is sent (${transport})`, async () => {
    const server = await scripted(reply());
    const reason = new Error("because");
    const error = await failureOf(call(clientOf(server, options), { signal: AbortSignal.abort(reason) }));
    assert.ok(error instanceof APIUserAbortError);
    assert.equal(error.cause, reason);
    await sleep(20);
    assert.equal(server.requests.length, 0);
    await server.stop();
  });

  for (const [stage, answer] of Object.entries({
    "while the reply is awaited": null,
    "in the body": (socket) => socket.write(reply().subarray(0, -10)),
    "in the wait before a retry": reply(500, "{}", { "Retry-After": "20" }),
  })) {
    test(`aborted ${stage} (${transport})`, async () => {
      const server = await scripted(answer);
      const controller = new AbortController();
      const promise = call(clientOf(server, options), { signal: controller.signal });
      while (server.requests.length === 0) await sleep(2);
      await sleep(20);
      controller.abort();
      const error = await failureOf(promise);
      assert.ok(error instanceof APIUserAbortError, String(error));
      assert.equal(error.cause, controller.signal.reason);
      await sleep(20);
      assert.equal(server.requests.length, 1);
      await server.stop();
    });
  }

  test(`aborted at once after the call (${transport})`, async () => {
    const server = await scripted(null);
    const controller = new AbortController();
    const promise = call(clientOf(server, options), { signal: controller.signal });
    controller.abort("text as a reason");
    assert.equal((await failureOf(promise)).cause, "text as a reason");
    await server.stop();
  });
}

test("a time-out signal", async () => {
  const server = await scripted(null);
  const error = await failureOf(call(clientOf(server), { signal: AbortSignal.timeout(30) }));
  assert.ok(error instanceof APIUserAbortError);
  assert.equal(error.cause.name, "TimeoutError");
  await server.stop();
});

test("one listener per signal, and none when the calls are over", async () => {
  const server = await scripted(reply());
  const { signal } = new AbortController();
  let added = 0;
  let removed = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...listener) => (added++, addEventListener.apply(signal, listener));
  signal.removeEventListener = (...listener) => (removed++, removeEventListener.apply(signal, listener));
  const client = clientOf(server);
  await Promise.all(Array.from({ length: 64 }, () => call(client, { signal })));
  assert.equal(added, 1);
  assert.equal(removed, 1);
  await server.stop();
});

test("one signal aborts all its calls and no others", async () => {
  const server = await scripted(null);
  const client = clientOf(server);
  const controller = new AbortController();
  const doomed = Array.from({ length: 20 }, () => failureOf(call(client, { signal: controller.signal })));
  const other = call(client, { signal: new AbortController().signal });
  let ended = false;
  other.then(() => {}, () => (ended = true));
  await sleep(20);
  controller.abort();
  for (const error of await Promise.all(doomed)) assert.ok(error instanceof APIUserAbortError);
  assert.equal(ended, false);
  await client.close();
  await failureOf(other);
  await server.stop();
});

test("the client goes on after aborted calls", async () => {
  const server = await scripted(null, null, reply());
  const client = clientOf(server);
  for (let index = 0; index < 2; index++) {
    const controller = new AbortController();
    const promise = call(client, { signal: controller.signal });
    while (server.requests.length <= index) await sleep(1);
    controller.abort();
    await failureOf(promise);
  }
  assert.equal((await call(client)).answers.q.noul, 0.9);
  await server.stop();
});

// The official SDK ends the process here on Node 20 and 22: a body that stalls beyond the timeout, with the error caught.
for (const [name, options] of [["timeout", "{ timeout: 40 }"], ["abort", "{ signal: AbortSignal.timeout(40) }"]]) {
  for (const [transport, option] of [["engine", ""], ["fetch", "fetch: (...r) => globalThis.fetch(...r),"]]) {
    test(`a ${name} within the body does not end the process (${transport})`, async () => {
      const server = await scripted((socket) => socket.write(reply().subarray(0, -10)));
      const { code, signal, stdout, stderr } = await run(`
        const { TypeSafeClient } = await import(process.env.DEEMSTER_ENTRY);
        const client = new TypeSafeClient({ apiKey: "k", baseURL: "${server.url}", ${option} retry: { maxRetries: 0 } });
        for (let i = 0; i < 5; i++) {
          try {
            await client.systemOne({ state: "x", questions: { q: { type: "noul", instructions: "?" } } }, ${options});
          } catch (error) {
            console.log(error.name);
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 50));`);
      await server.stop();
      assert.deepEqual([code, signal, stderr], [0, null, ""]);
      assert.deepEqual(stdout.trim().split("\n"), Array(5).fill(name === "timeout" ? "APITimeoutError" : "APIUserAbortError"));
    });
  }
}
