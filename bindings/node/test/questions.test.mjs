// Builders, question sets, and the order of options.
import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { QuestionSet, QuestionSetError, TypeSafeClient, TypeSafeError, choice, noul, score } from "deemster";
import { KEY, reply, scripted } from "./support.mjs";

test("builders make plain questions", () => {
  assert.deepEqual(noul(), { type: "noul", instructions: null, criteria: undefined });
  assert.deepEqual(choice("c", { a: null }), { type: "choice", instructions: "c", criteria: { a: null } });
  assert.deepEqual(score("s", ["a", "b"]), { type: "score", instructions: "s", criteria: ["a", "b"] });
});

for (const make of [() => choice("c", ["a", "b"]), () => choice("c", [["a"]]), () => choice("c", [[1, null]]), () => score("s", { a: 1 }), () => score("s", "ab")]) {
  test(`builders refuse ${make}`, () => assert.throws(make, TypeSafeError));
}

const sent = (questions) => new QuestionSet(questions).json;

test("options as pairs and maps keep their order", () => {
  const pairs = [["10", "ten"], ["9", null], ["b", { x: 1 }]];
  const expected = '{"q":{"type":"choice","instructions":"?","criteria":{"10":"ten","9":null,"b":{"x":1}}}}';
  assert.equal(sent({ q: choice("?", pairs) }), expected);
  assert.equal(sent({ q: choice("?", new Map(pairs)) }), expected);
  assert.equal(sent(new Map([["q", choice("?", new Map(pairs))]])), expected);
  assert.equal(sent([["q", choice("?", pairs)]]), expected);
  assert.equal(sent([["q", { type: "choice", weight: 1, criteria: [["a", null]] }]]), '{"q":{"type":"choice","criteria":{"a":null},"weight":1}}');
});

test("questions by pairs keep their order", () => {
  assert.deepEqual(new QuestionSet([["2", noul("b")], ["1", noul("a")]]).names, ["2", "1"]);
});

test("a warning tells of labels that JavaScript moves", async () => {
  const warned = once(process, "warning");
  new QuestionSet({ grade: choice("?", { 10: "ten", 9: "nine" }) });
  const [warning] = await warned;
  assert.equal(warning.code, "DEEMSTER_LABEL_ORDER");
  assert.match(warning.message, /"grade"/);
});

test("a set says what it is", () => {
  const set = new QuestionSet({ a: noul("a?"), b: choice("b?", { x: null }), c: score("c?", ["l", "h"]) }, { model: "m" });
  assert.deepEqual(set.names, ["a", "b", "c"]);
  assert.deepEqual(set.kinds, ["noul", "choice", "score"]);
  assert.equal(set.model, "m");
  assert.match(set.identity, /^[0-9a-f]{64}$/);
  assert.deepEqual(set.warnings.map(({ rule, severity, path }) => [rule, severity, path]), [["one-option", "warning", "questions.b.criteria"]]);
  assert.equal(QuestionSet.fromJSON(set.json).identity, new QuestionSet({ a: noul("a?"), b: choice("b?", { x: null }), c: score("c?", ["l", "h"]) }).identity);
  assert.equal(QuestionSet.fromJSON('{"model":"jev-1","questions":{"q":{"type":"noul","instructions":"x"}}}').model, "jev-1");
});

test("findings name every problem by its path", () => {
  const broken = { "": noul("x"), c: choice("?", {}), s: score("?", ["a", null]) };
  let error;
  try {
    new QuestionSet(broken);
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof QuestionSetError && error instanceof TypeSafeError);
  assert.deepEqual(error.findings.map(({ path, severity }) => [path, severity]), [['questions[""]', "error"], ["questions.c.criteria", "error"], ["questions.s.criteria[1]", "error"]]);
  for (const { rule, message, advice } of error.findings) assert.ok(rule && message && advice);
  assert.match(error.message, /^questions\[""\]: .*2 more/);
  assert.deepEqual(QuestionSet.check(broken), error.findings);
  assert.deepEqual(QuestionSet.check({ q: noul("fine?") }), []);
  assert.throws(() => QuestionSet.fromJSON(5), TypeSafeError);
  assert.throws(() => QuestionSet.fromJSON("{"), QuestionSetError);
});

test("changed questions are compiled anew, whatever is cached", async () => {
  const server = await scripted((socket, { body }) => {
    const names = Object.keys(JSON.parse(body).questions);
    socket.write(reply(200, `{"answers":{${names.map((name) => `"${name}":{"type":"noul","noul":0.5}`)}}}`));
  });
  const client = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const questions = { a: noul("first") };
  await client.systemOne({ state: "x", questions });
  questions.a.instructions = "second";
  questions.b = noul("more");
  const { answers } = await client.systemOne({ state: "x", questions });
  for (let index = 0; index < 600; index++) await client.systemOne({ state: "x", questions: { [`q${index}`]: noul("?") } });
  await client.systemOne({ state: "x", questions });
  await server.stop();
  assert.deepEqual(Object.keys(answers), ["a", "b"]);
  assert.equal(JSON.parse(server.requests[1].body).questions.a.instructions, "second");
});

test("an object that is asked with again is compared with what it was", async () => {
  const bodies = [];
  const server = await scripted((socket, { body }) => {
    bodies.push(JSON.parse(body).questions);
    socket.write(reply(200, `{"answers":{${Object.entries(bodies.at(-1)).map(([name, { type, criteria }]) => `"${name}":${type === "noul" ? '{"type":"noul","noul":0.5}'
      : `{"type":"choice","choice":${JSON.stringify(Object.keys(criteria)[0])},"confidence":1,"probabilities":${JSON.stringify(Object.fromEntries(Object.keys(criteria).map((label, index) => [label, index ? 0 : 1])))}}`}`)}}}`));
  });
  const client = new TypeSafeClient({ apiKey: KEY, baseURL: server.url });
  const questions = { a: noul({ ask: ["is it?"] }), c: choice("which?", { x: null, y: "why" }) };
  const ask = async (times) => {
    for (let index = 0; index < times; index++) await client.systemOne({ state: "x", questions });
    return bodies.at(-1);
  };
  await ask(4);
  for (const change of [
    () => (questions.a.instructions.ask[0] = "changed"), () => questions.a.instructions.ask.push("more"), () => (questions.c.criteria.z = null), () => delete questions.c.criteria.x,
    () => (questions.b = noul("new")), () => (questions.a.criteria = { true: "t" }), () => (questions.a.extra = 0), () => (questions.a.extra = -0.5), () => delete questions.b,
    () => (questions.c.criteria = new Map([["2", null], ["1", null]])), () => (questions.c.criteria = { p: { toJSON: () => "from toJSON" }, q: null }),
  ]) {
    change();
    const wanted = JSON.parse(JSON.stringify(questions, (_, value) => (value instanceof Map ? Object.fromEntries(value) : value)));
    for (let round = 0; round < 3; round++) assert.deepEqual(await ask(1), wanted, String(change));
  }
  await server.stop();
});
