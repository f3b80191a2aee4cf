// Compiled by `tsc --noEmit` in the suite: every line either must compile or is marked as one that must not.
import {
  APIConnectionError, APIError, APIPromise, APIResponseValidationError, QuestionSet, TypeSafeClient, choice, noul, score,
  type ChoiceResponse, type EntryType, type NoulResponse, type Questions, type RetryPolicy, type SystemOneRequest, type SystemOneResult,
} from "deemster";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <T extends true>(_?: T): void => {};

const client = new TypeSafeClient({ apiKey: "k", retry: { maxRetries: 1 } });

declare const console: { log(...values: unknown[]): void };

export async function literals() {
  const result = await client.systemOne({
    state: "text",
    questions: {
      billing: noul("billing?"),
      tone: choice("tone?", { calm: null, angry: "upset" }),
      level: score("how much?", ["low", { what: "middle" }, "high"]),
      raw: { type: "choice", criteria: { a: null, b: null } },
    },
  });
  same<Equal<typeof result.answers.billing, NoulResponse>>();
  same<Equal<typeof result.answers.tone.choice, "calm" | "angry">>();
  same<Equal<keyof typeof result.answers.tone.probabilities, "calm" | "angry">>();
  same<Equal<typeof result.answers.raw.choice, "a" | "b">>();
  same<Equal<keyof typeof result.answers.level.probabilities, "0" | "1" | "2">>();
  same<Equal<(typeof result.answers.level.legend)["0"], "low">>();
  // @ts-expect-error there is no such question
  result.answers.other;
  // @ts-expect-error answers are read only
  result.answers.billing.noul = 1;
}

export async function numericLabels() {
  const result = await client.systemOne({ state: "x", questions: { n: choice("n?", { 1: "one", 2: "two" }) } });
  same<Equal<typeof result.answers.n.choice, "1" | "2">>();
  const p: number = result.answers.n.probabilities["1"];
  return p;
}

export async function pairsAndMaps() {
  const result = await client.systemOne({
    state: "x",
    questions: {
      pairs: choice("n?", [["10", "ten"], ["9", null]]),
      map: choice("n?", new Map([["b", null], ["a", null]] as const)),
      open: choice("n?", new Map<string, string>()),
    },
  });
  same<Equal<typeof result.answers.pairs.choice, "10" | "9">>();
  same<Equal<typeof result.answers.map.choice, "a" | "b">>();
  same<Equal<typeof result.answers.open.choice, string>>();
}

interface Ticket {
  id: number;
  text?: string;
  closed: Date | undefined;
}

export async function states(ticket: Ticket, rubric: string[], entry: EntryType) {
  await client.systemOne({ state: ticket, questions: { q: noul("q") } });
  await client.systemOne({ state: [ticket, { when: new Date() }], questions: { q: noul(entry) } });
  const result = await client.systemOne({ state: entry, questions: { q: score("q", rubric) } });
  const p: number = result.answers.q.probabilities[0];
  // @ts-expect-error a number is no state
  await client.systemOne({ state: 5, questions: { q: noul("q") } });
  return p;
}

export async function requests(questions: Questions) {
  const request = { state: "x", questions: { q: noul("q") }, assets: { a: 1 } };
  await client.systemOne(request);
  await client.systemOne({ state: "x", questions: { q: noul("q") }, assets: { a: 1 }, model: "m" });
  const typed: SystemOneRequest = { state: "x", questions };
  const result = await client.systemOne(typed, { timeout: 5, deadline: null, signal: new AbortController().signal, retry: { maxRetries: 0 } });
  const answer = result.answers["any"];
  if (answer?.type === "choice") same<Equal<typeof answer.choice, string>>();
  // @ts-expect-error questions are missing
  await client.systemOne({ state: "x" });
  // @ts-expect-error unknown kind
  await client.systemOne({ state: "x", questions: { q: { type: "box" } } });
}

export async function sets() {
  const set = new QuestionSet({ q: choice("q", { a: null, b: null }) });
  const result = await client.systemOne({ state: "x", questions: set });
  same<Equal<typeof result.answers.q.choice, "a" | "b">>();
  same<Equal<typeof set.names, "q"[]>>();
  return QuestionSet.fromJSON("{}").identity;
}

export async function promises() {
  const promise = client.systemOne({ state: "x", questions: { q: noul("q") } });
  const whole: Promise<SystemOneResult<{ readonly q: { type: "noul" } }>> = promise;
  const { data, response, requestId } = await promise.withResponse();
  same<Equal<typeof requestId, string | undefined>>();
  const mapped: APIPromise<number> = promise.map((value) => value.answers.q.noul);
  const status: number = (await promise.asResponse()).status;
  const models = await client.models.list({ headers: { a: "b" } });
  const policy: RetryPolicy = client.retry;
  return [whole, data, response, mapped, status, models[0]?.release_date, policy.httpStatuses.has(429)];
}

export async function many(tickets: AsyncIterable<Ticket>) {
  const rows = client.evaluateMany(tickets, { q: choice("q", { a: null, b: null }) }, { state: (ticket) => ticket.text ?? "", requestRate: null, pack: "question" });
  for await (const row of rows) {
    same<Equal<typeof row.input, Ticket>>();
    if (row.error) throw row.error;
    same<Equal<typeof row.result.answers.q.choice, "a" | "b">>();
  }
  for await (const { index, result } of client.evaluateMany(["a"], new QuestionSet({ q: noul("q") }))) console.log(index, result?.answers.q.noul);
  return rows.stats.requests;
}

export async function failures() {
  await using closing = client;
  try {
    await closing.models.list();
  } catch (error) {
    if (error instanceof APIResponseValidationError) return error.response?.status ?? error.path;
    if (error instanceof APIError) return error.headers.get("x") ?? error.requestId;
    if (error instanceof APIConnectionError) return error.code;
  }
  return undefined;
}

export type Chosen = ChoiceResponse<{ a: null }>["choice"];
same<Equal<Chosen, "a">>();
