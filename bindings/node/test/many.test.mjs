// evaluateMany: rows in order, backpressure, limits, packing, resume, and every way to end it early.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import test, { after, before } from "node:test";
import { APIUserAbortError, QuestionSet, TypeSafeClient, TypeSafeError, choice, noul } from "deemster";
import { KEY, QUESTIONS, failureOf, reply, run, scripted, sleep, startMock } from "./support.mjs";

let mock, client, folder;
before(async () => {
  mock = await startMock();
  client = new TypeSafeClient({ apiKey: KEY, baseURL: mock.url });
  folder = mkdtempSync(path.join(os.tmpdir(), "deemster-many-"));
});
after(async () => {
  rmSync(folder, { recursive: true });
  await mock.stop();
});

const free = { requestRate: null, tokenRate: null };
const questions = { q: noul("Is it?"), c: choice("Which?", { a: null, b: null }) };
const texts = (count) => Array.from({ length: count }, (_, index) => `message ${index}`);
const collect = async (rows) => {
  const list = [];
  for await (const row of rows) list.push(row);
  return list;
};

test("rows come in order, with the answers that single calls give", async () => {
  const rows = await collect(client.evaluateMany(texts(300), questions, free));
  assert.deepEqual(rows.map(({ index }) => index), [...Array(300).keys()]);
  for (const index of [0, 7, 299]) {
    assert.deepEqual(rows[index].result.answers, (await client.systemOne({ state: `message ${index}`, questions })).answers);
    assert.equal(rows[index].input, `message ${index}`);
  }
});

test("inputs of every form", async () => {
  async function* generated() {
    for (let index = 0; index < 5; index++) {
      await sleep(1);
      yield { id: index, text: `message ${index}` };
    }
  }
  for (const inputs of [["a", "b"], new Set(["a", "b"]), (function* () { yield "a"; yield "b"; })(), [{ a: 1 }, ["b"]]]) {
    assert.equal((await collect(client.evaluateMany(inputs, new QuestionSet(questions), free))).filter(({ result }) => result).length, 2);
  }
  const rows = await collect(client.evaluateMany(generated(), questions, { ...free, state: ({ text }) => text }));
  assert.deepEqual(rows.map(({ input, result }) => [input.id, result.answers.q.type]), [0, 1, 2, 3, 4].map((id) => [id, "noul"]));
  assert.deepEqual(await collect(client.evaluateMany([], questions)), []);
});

test("a row that cannot be asked fails alone", async () => {
  const rows = await collect(client.evaluateMany(["a", 5, null, { bad: 1n }, "b"], questions, free));
  assert.deepEqual(rows.map(({ result, error }) => [result !== undefined, error?.name]), [[true, undefined], [false, "TypeSafeError"], [false, "TypeSafeError"], [false, "TypeSafeError"], [true, undefined]]);
  assert.match(rows[1].error.message, /number/);
  const thrown = await collect(client.evaluateMany([1, 2], questions, { ...free, state: (input) => { if (input === 1) throw new Error("no text"); return "x"; } }));
  assert.match(thrown[0].error.message, /no text/);
  assert.ok(thrown[1].result);
});

test("failures of the server are the row's own", async () => {
  const server = await scripted(reply(), reply(422, '{"detail":"bad row"}'), reply());
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const rows = await collect(own.evaluateMany(["a", "b", "c"], QUESTIONS, { ...free, concurrency: 1 }));
  await server.stop();
  assert.deepEqual(rows.map(({ result, error }) => result?.answers.q.noul ?? error.name), [0.9, "UnprocessableEntityError", 0.9]);
});

test("an error that hits every row stops the rest", async () => {
  const server = await scripted(reply(401, '{"detail":"wrong key"}'));
  const rows = new TypeSafeClient({ apiKey: KEY, baseURL: server.url }).evaluateMany(texts(50), QUESTIONS, { ...free, concurrency: 1 });
  const list = await collect(rows);
  await server.stop();
  assert.equal(list.length, 50);
  assert.equal(list[0].error.name, "AuthenticationError");
  assert.ok(list.at(-1).unsent && list.at(-1).error instanceof TypeSafeError);
  assert.ok(rows.stats.stopped && server.requests.length < 10);
});

test("equal states are asked once", async () => {
  const rows = client.evaluateMany(["same", "other", "same", "same"], questions, free);
  const list = await collect(rows);
  assert.deepEqual(list.map(({ duplicate }) => duplicate), [false, false, true, true]);
  assert.deepEqual(list[3].result.answers, list[0].result.answers);
  assert.equal(rows.stats.requests, 2);
  const each = client.evaluateMany(["same", "same"], questions, { ...free, dedupe: false });
  await collect(each);
  assert.equal(each.stats.requests, 2);
});

for (const pack of ["question", "state"]) {
  test(`many rows in a request (${pack})`, async () => {
    const rows = client.evaluateMany(texts(60), questions, { ...free, pack, packRows: 15 });
    const list = await collect(rows);
    assert.ok(list.every(({ result }) => Object.keys(result.answers).sort().join() === "c,q"));
    assert.equal(rows.stats.requests, 4);
  });
}

test("the limiter", async () => {
  const started = Date.now();
  await collect(client.evaluateMany(texts(30), questions, { requestRate: { requests: 10, perMs: 200 }, tokenRate: null }));
  assert.ok(Date.now() - started >= 390);
});

test("inputs are read no further ahead than the window", async () => {
  let read = 0;
  function* counted() {
    for (let index = 0; index < 1000; index++) {
      read++;
      yield `message ${index}`;
    }
  }
  const rows = client.evaluateMany(counted(), questions, { ...free, window: 20 });
  assert.equal(read, 0);
  for (let taken = 1; taken <= 30; taken++) {
    await rows.next();
    await sleep(1);
    assert.ok(read <= taken + 21, `${read} read, ${taken} taken`);
  }
  await rows.return();
});

test("a journal is gone on with", async () => {
  const journal = path.join(folder, "journal");
  const server = await scripted(reply());
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  await collect(own.evaluateMany(texts(10), QUESTIONS, { ...free, journal }));
  assert.match((await failureOf(own.evaluateMany(texts(20), QUESTIONS, { ...free, journal }).next())).message, /journal|answers|resume/i);
  const rows = await collect(own.evaluateMany(texts(20), QUESTIONS, { ...free, journal, resume: true }));
  await server.stop();
  assert.equal(server.requests.length, 20);
  assert.deepEqual(rows.map(({ restored }) => restored), [...Array(10).fill(true), ...Array(10).fill(false)]);
  assert.equal(rows[0].result.answers.q.noul, 0.9);
});

test("progress, and a rehearsal", async () => {
  const told = [];
  const rows = client.evaluateMany(texts(50), questions, { ...free, onProgress: (stats) => told.push(stats) });
  await collect(rows);
  assert.deepEqual([told.at(-1).done, told.at(-1).failed, told.at(-1).requests], [50, 0, 50]);
  assert.equal(rows.stats.inputTokens, told.at(-1).inputTokens);
  const rehearsal = client.evaluateMany(texts(50), questions, { ...free, rehearsal: true });
  assert.ok((await collect(rehearsal)).every(({ unsent }) => unsent));
  assert.ok(rehearsal.stats.estimatedTokens > 0);
});

test("breaking off cancels what is in flight", async () => {
  let returned = false;
  const server = await scripted(reply(), null);
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  async function* inputs() {
    try {
      for (const text of texts(100)) yield text;
    } finally {
      returned = true;
    }
  }
  const rows = own.evaluateMany(inputs(), QUESTIONS, { ...free, ordered: false });
  for await (const row of rows) {
    assert.ok(row.result);
    break;
  }
  const { requests } = rows.stats;
  await sleep(100);
  await server.stop();
  assert.ok(returned);
  assert.equal(rows.stats.requests, requests);
  assert.ok(requests < 100 && server.requests.length <= requests, `${server.requests.length} of ${requests}`);
});

test("aborting the signal, before and during", async () => {
  const server = await scripted(null);
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  assert.ok((await failureOf(own.evaluateMany(["x"], QUESTIONS, { signal: AbortSignal.abort() }).next())) instanceof APIUserAbortError);
  const controller = new AbortController();
  const rows = own.evaluateMany(texts(10), QUESTIONS, { ...free, signal: controller.signal });
  const next = failureOf(rows.next());
  await sleep(20);
  controller.abort("enough");
  assert.equal((await next).cause, "enough");
  assert.deepEqual(await rows.next(), { value: undefined, done: true });
  await server.stop();
});

test("closing the client ends its batches", async () => {
  const server = await scripted(null);
  const own = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const next = failureOf(own.evaluateMany(["x"], QUESTIONS).next());
  await sleep(20);
  await own.close();
  assert.ok((await next) instanceof APIUserAbortError);
  assert.match((await failureOf(own.evaluateMany(["x"], QUESTIONS).next())).message, /closed/);
  await server.stop();
});

test("an input that fails ends it with that error, after the rows before", async () => {
  async function* broken() {
    yield "a";
    await sleep(30);
    throw new Error("no more");
  }
  const rows = client.evaluateMany(broken(), questions, free);
  assert.ok((await rows.next()).value.result);
  assert.equal((await failureOf(rows.next())).message, "no more");
  assert.equal((await rows.next()).done, true);
});

for (const [name, inputs, set, options] of [
  ["a text", "text", questions, {}], ["nothing", undefined, questions, {}], ["a number", 5, questions, {}], ["no questions", ["x"], {}, {}], ["a rate", ["x"], questions, { requestRate: 5 }],
  ["a rate of 0", ["x"], questions, { requestRate: { requests: 0, perMs: 1 } }], ["a window", ["x"], questions, { window: 0.5 }], ["a pack", ["x"], questions, { pack: "all" }],
  ["concurrency", ["x"], questions, { concurrency: 0 }], ["a journal", ["x"], questions, { journal: "/nonexistent/folder/file" }], ["a timeout", ["x"], questions, { timeout: -1 }],
]) {
  test(`refused by a rejection: ${name}`, async () => {
    assert.ok((await failureOf(client.evaluateMany(inputs, set, options).next())) instanceof TypeSafeError);
  });
}

test("a process ends while a batch that nobody takes rows of is idle, and with rows in flight by process.exit", async () => {
  const program = (end) => `
    const { TypeSafeClient } = await import(process.env.DEEMSTER_ENTRY);
    const client = new TypeSafeClient({ apiKey: "k", baseURL: "${mock.url}" });
    const rows = client.evaluateMany(Array.from({ length: 500 }, (_, i) => "x" + i), { q: { type: "noul", instructions: "?" } }, { requestRate: null, tokenRate: null });
    await rows.next();
    ${end}`;
  for (const end of ["", "process.exit(0);"]) {
    const { code, signal, stderr } = await run(program(end));
    assert.deepEqual([code, signal, stderr], [0, null, ""]);
  }
});
