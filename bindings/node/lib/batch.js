"use strict";
// Many states over one question set: rows are read as fast as they are taken, the core limits, packs and resumes.
const { Reply } = require("./api_promise.js");
const { problems, read } = require("./details.js");
const { getEngine, settleUsage } = require("./engine.js");
const { APIUserAbortError, TypeSafeError } = require("./errors.js");
const { failure } = require("./failure.js");
const settings = require("./settings.js");
const signals = require("./signals.js");
const { stateText } = require("./state.js");
const STATUS = require("./status.js");

const STATE = [
  "room", "trouble", "pushed", "done", "failed", "restored", "duplicates", "unsent", "requests", "retries", "splits", "inputTokens", "outputTokens",
  "estimatedTokens", "cost", "pausedMs", "inFlight", "concurrency", "stopped",
];
const PACK = { none: 0, question: 1, state: 2 };
const RESTORED = 1;
const DUPLICATE = 2;
const UNSENT = 4;
const DEFAULT_WINDOW = 4096;
const PROGRESS_EVERY_MS = 100;
const PUSH_AT_ONCE = 256;

function whole(name, value, least) {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeSafeError(`\`${name}\` must be a whole number, ${least} or more.`);
  return value;
}

/** [count, window in ms] of a rate given as { requests, perMs } or the like; null or Infinity for none. */
function rate(name, value, unit) {
  if (value === null || value === Infinity) return [0, 1000];
  if (typeof value !== "object") throw new TypeSafeError(`\`${name}\` must be { ${unit}, perMs } or null.`);
  return [whole(`${name}.${unit}`, value[unit], 1), whole(`${name}.perMs`, value.perMs, 1)];
}

/** Options of a batch in the core's settings; the handle is the caller's. */
function newSettings(addon, options, callOptions) {
  const [, handle] = addon.deem_batch_settings_new();
  try {
    const set = settings.setter(addon, "deem_batch_settings", handle);
    if (callOptions !== undefined) set("options", callOptions);
    if (options.requestRate !== undefined) set("requests", ...rate("requestRate", options.requestRate, "requests"));
    if (options.tokenRate !== undefined) set("tokens", ...rate("tokenRate", options.tokenRate, "tokens"));
    if (options.concurrency !== undefined) set("concurrency", whole("concurrency", options.concurrency, 1));
    set("window", whole("window", options.window ?? DEFAULT_WINDOW, 2), whole("windowBytes", options.windowBytes ?? 64 * 2 ** 20, 1024));
    if (options.ordered !== undefined) set("ordered", options.ordered ? 1 : 0);
    if (options.dedupe !== undefined) set("dedupe", options.dedupe === false ? 0 : whole("dedupe", options.dedupe, 0));
    if (options.pack !== undefined) {
      if (!Object.hasOwn(PACK, options.pack)) throw new TypeSafeError('`pack` must be "none", "question" or "state".');
      set("pack", PACK[options.pack], whole("packRows", options.packRows ?? 20, 1));
    }
    if (options.packShuffle !== undefined) set("pack_shuffle", whole("packShuffle", options.packShuffle, 0));
    if (options.journal !== undefined) set("journal", settings.text("journal", options.journal), options.resume ? 1 : 0);
    if (options.maxTokens !== undefined) set("most_tokens", whole("maxTokens", options.maxTokens, 0));
    if (options.rehearsal !== undefined) set("rehearsal", options.rehearsal ? 1 : 0);
    return handle;
  } catch (error) {
    addon.deem_batch_settings_free(handle);
    throw error;
  }
}

/** The rows of one evaluateMany(): an async iterator that starts with the first next() and can be gone through once. */
class Evaluations {
  #open; // makes the batch in the core; thrown away when it is there
  #source;
  #options;
  #call;
  #engine;
  #slot = -1;
  #ready = []; // rows to be taken
  #takers = []; // calls of next() that wait
  #inputs = new Map(); // of rows under way, by their numbers
  #count = 0;
  #pumping = false;
  #sourceEnded = false;
  #ended = false;
  #error;
  #state = Object.fromEntries(STATE.map((name) => [name, 0]));
  #told = 0;

  constructor(call, inputs, options, open) {
    this.#call = call;
    this.#options = options;
    this.#open = () => {
      this.#source = typeof inputs === "string" ? undefined : inputs?.[Symbol.asyncIterator]?.() ?? inputs?.[Symbol.iterator]?.();
      if (this.#source === undefined) throw new TypeSafeError("evaluateMany takes an array, an iterable or an async iterable of states.");
      return open(this);
    };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** How the batch stands: rows, requests, tokens. */
  get stats() {
    if (this.#slot >= 0) this.#readState();
    const { room, trouble, cost, ...stats } = this.#state;
    return { ...stats, cost: Number.isNaN(cost) ? undefined : cost, stopped: stats.stopped !== 0 };
  }

  next() {
    if (this.#open !== undefined) this.#start();
    if (this.#ready.length > 0) {
      const row = this.#ready.shift();
      this.#pump();
      return Promise.resolve({ value: row, done: false });
    }
    if (this.#ended) {
      const error = this.#error;
      this.#error = undefined;
      return error === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(error);
    }
    const promise = new Promise((resolve, reject) => this.#takers.push({ resolve, reject }));
    this.#pump();
    return promise;
  }

  /** Ends it: what is in flight is cancelled, what is done and not taken is dropped. */
  async return(value) {
    this.#open = undefined;
    this.#ready.length = 0;
    this.#end();
    await this.#source?.return?.();
    return { value, done: true };
  }

  #start() {
    const open = this.#open;
    this.#open = undefined;
    try {
      this.#engine = getEngine();
      const { signal } = this.#options;
      if (signal?.aborted) throw new APIUserAbortError(undefined, { cause: signal.reason });
      this.#slot = open();
      if (signal) signals.watch(signal, this);
    } catch (error) {
      this.#end(error);
    }
  }

  /** The caller's signal was aborted. */
  abort(reason) {
    this.#ready.length = 0;
    this.#end(new APIUserAbortError(undefined, { cause: reason }));
    Promise.resolve(this.#source.return?.()).catch(() => {});
  }

  /** Reads inputs while there is room for them: rows under way and rows not taken fit into the window together. */
  async #pump() {
    if (this.#pumping || this.#ended) return;
    this.#pumping = true;
    try {
      const most = this.#options.window ?? DEFAULT_WINDOW;
      let room = this.#readState().room;
      let pushed = 0; // since the last flush
      while (!this.#sourceEnded && this.#inputs.size + this.#ready.length < most) {
        if (room === 0 || pushed === PUSH_AT_ONCE) {
          this.#flush();
          if (this.#ended) return;
          room = this.#readState().room;
          pushed = 0;
          if (room === 0) break; // until the next row is over
        }
        let step = this.#source.next();
        if (typeof step?.then === "function") {
          if (pushed > 0) this.#flush();
          pushed = 0;
          step = await step;
          if (this.#ended) return;
        }
        if (step.done) {
          this.#sourceEnded = true;
          this.#engine.addon.endBatch(this.#slot, 0);
        } else {
          room = this.#push(step.value);
        }
        pushed++;
      }
      this.#flush();
    } catch (error) {
      this.#end(error);
    } finally {
      this.#pumping = false;
    }
  }

  /** Adds a row; gives the room that is left. */
  #push(input) {
    const { addon } = this.#engine;
    const index = this.#count++;
    const { state: select, group: grouping } = this.#options;
    let kind = 0;
    let text;
    try {
      const state = select === undefined ? input : select(input, index);
      text = state;
      if (typeof state !== "string") {
        text = stateText(state);
        kind = 1;
      }
    } catch (error) {
      text = error instanceof TypeSafeError ? error.message : `state() failed: ${String(error?.message ?? error)}`;
      kind = 2;
    }
    const group = grouping === undefined ? undefined : String(grouping(input, index));
    this.#inputs.set(index, input);
    const room = addon.pushRow(this.#slot, kind, text, group, index);
    if (room < 0) throw new TypeSafeError(`a row could not be added (${addon.deem_status_name(-room)})`);
    return room;
  }

  /** Lets the core send what it may, and takes what is done at once (equal rows, rows of the journal). */
  #flush() {
    if (this.#slot < 0) return;
    const list = this.#engine.addon.flush(this.#slot);
    if (list !== undefined) this.#engine.finish(list);
    this.#settle();
  }

  /** A row is over: called by the engine. `flags` are the core's DEEM_ROW_* bits. */
  finishRow(index, code, flags, body, details) {
    const { addon } = this.#engine;
    const input = this.#inputs.get(index);
    this.#inputs.delete(index);
    const row = { index, input, result: undefined, error: undefined, restored: (flags & RESTORED) !== 0, duplicate: (flags & DUPLICATE) !== 0, unsent: (flags & UNSENT) !== 0 };
    try {
      if (code > 0) {
        row.error = failure(addon, details, body, this.#call);
      } else {
        row.result = JSON.parse(body);
        const reply = new Reply(body, code === -2 ? { ...read(addon, details), problems: problems(addon, details) } : details);
        if (row.result.usage && (code === -1 || typeof row.result.usage.input_tokens !== "number")) settleUsage(row.result, reply.details);
      }
    } catch (error) {
      row.error = error;
    } finally {
      if (typeof details !== "string") addon.deem_response_free(details);
    }
    if (this.#ended) return;
    const taker = this.#takers.shift();
    if (taker === undefined) this.#ready.push(row);
    else taker.resolve({ value: row, done: false });
  }

  /** Called by the engine when all rows of a turn have been handed over. */
  rowsFinished() {
    this.#settle();
    this.#pump();
  }

  #settle() {
    if (this.#ended) return;
    this.#tellProgress(false);
    if (this.#state.trouble !== STATUS.OK && this.#state.trouble !== STATUS.MISUSE) {
      this.#end(new TypeSafeError(`the journal cannot be written (${this.#engine.addon.deem_status_name(this.#state.trouble)})`));
    } else if (this.#sourceEnded && this.#inputs.size === 0) {
      this.#tellProgress(true);
      this.#end();
    }
  }

  #tellProgress(last) {
    this.#readState();
    const { onProgress } = this.#options;
    const now = Date.now();
    if (onProgress === undefined || (!last && now - this.#told < PROGRESS_EVERY_MS)) return;
    this.#told = now;
    onProgress(this.stats);
  }

  #readState() {
    const numbers = this.#engine.addon.batchState(this.#slot);
    STATE.forEach((name, index) => (this.#state[name] = numbers[index]));
    return this.#state;
  }

  /** Closes the batch. Rows that are ready can still be taken; then the error, if any, is told once. */
  #end(error) {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#options.signal) signals.forget(this.#options.signal, this);
    this.onEnd?.();
    if (this.#slot >= 0) {
      this.#readState();
      this.#engine.addon.closeClient(this.#slot);
      this.#slot = -1;
    }
    const [first, ...others] = this.#takers.splice(0);
    if (first === undefined) this.#error = error;
    else if (error === undefined) first.resolve({ value: undefined, done: true });
    else first.reject(error);
    for (const taker of others) taker.resolve({ value: undefined, done: true });
  }
}

module.exports = { Evaluations, newSettings };
