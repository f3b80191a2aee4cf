"use strict";
// Question sets compiled once, and the cache of those that came as plain questions.
const { QuestionSetError, TypeSafeError } = require("./errors.js");
const { native } = require("./native.js");
const { encodeQuestions, reordered } = require("./questions.js");
const { recall, remember } = require("./recent.js");
const STATUS = require("./status.js");

const KINDS = [undefined, "noul", "choice", "score"];
const CACHE_SIZE = 256;

const unused = new FinalizationRegistry((slot) => native().closeSet(slot));
const cache = new Map();

function findingsOf(addon, builder) {
  const findings = [];
  for (let index = 0; ; index++) {
    const [status, severity, rule, path, message, advice] = addon.deem_question_set_builder_finding(builder, index);
    if (status !== STATUS.OK) return findings;
    findings.push({ severity: severity === 1 ? "error" : "warning", rule, path, message, advice });
  }
}

/** A set in the core, by the slot that the addon knows it by. Held by QuestionSets and by the cache. */
class CompiledSet {
  constructor(json, model) {
    const addon = native();
    const [, builder] = addon.deem_question_set_builder_new();
    try {
      if (addon.deem_question_set_builder_json_open(builder, json) === STATUS.OK && model !== undefined) {
        addon.deem_question_set_builder_model(builder, model);
      }
      const [status, set] = addon.deem_question_set_new(builder);
      this.findings = findingsOf(addon, builder);
      if (status === STATUS.QUESTIONS) throw new QuestionSetError(this.findings);
      if (status !== STATUS.OK) throw new TypeSafeError(`the question set could not be compiled (${addon.deem_status_name(status)})`);
      this.handle = set; // good as long as the slot is open
    } finally {
      addon.deem_question_set_builder_free(builder);
    }
    this.json = addon.deem_question_set_json(this.handle)[1];
    this.identity = addon.deem_question_set_identity(this.handle)[1];
    this.model = addon.deem_question_set_model(this.handle)[1] ?? undefined;
    this.names = [];
    this.kinds = [];
    for (let index = 0; ; index++) {
      const [status, kind, name] = addon.deem_question_set_question(this.handle, index);
      if (status !== STATUS.OK) break;
      this.names.push(name);
      this.kinds.push(KINDS[kind]);
    }
    this.slot = addon.openSet(this.handle);
    unused.register(this, this.slot);
  }
}

function warnOfOrder(questions) {
  for (const name of reordered(questions)) {
    process.emitWarning(`question ${JSON.stringify(name)}: JavaScript moves whole-number labels of an object to the front in ` +
      "rising order; give the options as [label, description] pairs or a Map to keep yours.",
      { type: "DeemsterWarning", code: "DEEMSTER_LABEL_ORDER" });
  }
}

/** A question set, checked and compiled once; may be used by any number of clients of its thread. */
class QuestionSet {
  #compiled;

  constructor(questions, options) {
    if (questions instanceof CompiledSet) {
      this.#compiled = questions;
    } else {
      const json = encodeQuestions(questions);
      warnOfOrder(questions);
      this.#compiled = new CompiledSet(json, options?.model);
    }
  }

  /** From the JSON text of a question file: the `questions` object, or {"model": …, "questions": …}. */
  static fromJSON(text) {
    if (typeof text !== "string") throw new TypeSafeError("QuestionSet.fromJSON takes the JSON text.");
    return new QuestionSet(new CompiledSet(text));
  }

  /** The findings of the check: errors and warnings, each with rule, path, message and advice. Never throws for them. */
  static check(questions) {
    try {
      return new CompiledSet(encodeQuestions(questions)).findings;
    } catch (error) {
      if (error instanceof QuestionSetError) return error.findings;
      throw error;
    }
  }

  static compiled(set) {
    return set.#compiled;
  }

  get names() {
    return [...this.#compiled.names];
  }

  get kinds() {
    return [...this.#compiled.kinds];
  }

  get model() {
    return this.#compiled.model;
  }

  /** The SHA-256 of the bytes that are sent, in hexadecimal. */
  get identity() {
    return this.#compiled.identity;
  }

  /** The bytes that are sent as `questions`. */
  get json() {
    return this.#compiled.json;
  }

  get warnings() {
    return this.#compiled.findings;
  }
}

const compiledOf = QuestionSet.compiled;
delete QuestionSet.compiled;

/** The compiled set for what a caller gave as questions. */
function compile(questions) {
  if (questions instanceof QuestionSet) return compiledOf(questions);
  let set = recall(questions);
  if (set !== undefined) return set;
  const json = encodeQuestions(questions);
  set = cache.get(json);
  if (set === undefined) {
    warnOfOrder(questions);
    set = new CompiledSet(json);
    if (cache.size >= CACHE_SIZE) cache.delete(cache.keys().next().value);
    cache.set(json, set);
  }
  remember(questions, set);
  return set;
}

module.exports = { QuestionSet, compile };
