"use strict";
// One per JS environment: calls go to the addon, finished ones come back in bulk and settle their promises.
const { Reply } = require("./api_promise.js");
const { TypeSafeError, APIUserAbortError } = require("./errors.js");
const { problems, read } = require("./details.js");
const { native } = require("./native.js");
const signals = require("./signals.js");
const STATUS = require("./status.js");

/** A call from its start to the settling of its promise. Holds its client, so that no client goes while it is used. */
class Call {
  constructor(client, core) {
    this.client = client;
    this.core = core;
    this.resolve = undefined;
    this.reject = undefined;
    this.reply = undefined;
    this.id = 0;
    this.signal = undefined;
    this.cause = undefined;
    this.settled = false;
    this.timeout = core.timeout;
    this.deadline = core.deadline;
    this.tag = undefined;
    this.change = undefined;
  }

  /** Watches the caller's signal. @returns false when it is aborted already; the call has then ended. */
  watch(signal) {
    if (signal.aborted) {
      this.abort(signal.reason);
      return false;
    }
    this.signal = signal;
    signals.watch(signal, this);
    return true;
  }

  abort(reason) {
    this.cause = reason;
    if (this.id !== 0 && this.core.slot >= 0) native().cancel(this.core.slot, this.id);
    this.stop?.();
    this.fail(new APIUserAbortError(undefined, { cause: reason }));
  }

  end() {
    this.settled = true;
    if (this.signal !== undefined) {
      signals.forget(this.signal, this);
      this.signal = undefined;
    }
  }

  succeed(value, reply) {
    if (this.settled) return;
    this.end();
    this.reply = reply;
    this.resolve(value);
  }

  fail(error) {
    if (this.settled) return;
    this.end();
    this.reject(error);
  }
}

let engine;

class Engine {
  constructor() {
    this.addon = native();
    this.cores = []; // by slot
    this.options = this.addon.deem_options_new()[1];
    this.waiting = undefined; // the client with calls submitted and not yet sent
    this.send = () => this.flush();
    const own = process.env.DEEMSTER_NODE_DRIVER !== "thread" && !globalThis.Bun && !globalThis.Deno && !process.versions.electron;
    this.byLoop = this.addon.start(own, (list) => this.finish(list));
  }

  /** Notes a call that the addon took, or fails it. `id` is what submit gave: an id, or minus a status. */
  submitted(call, id) {
    if (id < 0) {
      call.fail(submitError(this.addon, -id));
      return;
    }
    call.id = id;
    call.core.pending.set(id, call);
    if (this.waiting === undefined) {
      this.waiting = call.core;
      soon.then(this.send);
    } else if (this.waiting !== call.core) {
      this.flush();
      this.waiting = call.core;
      soon.then(this.send);
    }
  }

  /** Sends what was submitted since the last time, all at once. */
  flush() {
    const core = this.waiting;
    this.waiting = undefined;
    if (core !== undefined && core.slot >= 0) {
      const list = this.addon.flush(core.slot);
      if (list !== undefined) this.finish(list);
    }
  }

  /** Settles the promises of the calls that the addon hands over: [slot, id, code, body, details] each. */
  finish(list) {
    let batches;
    for (let i = 0; i < list.length; i += 5) {
      const { pending } = this.cores[list[i]];
      const code = list[i + 2];
      if (pending === undefined) {
        const batch = this.cores[list[i]];
        batch.finishRow(list[i + 1], (code & 0xffff) - 2, code >> 16, list[i + 3], list[i + 4]);
        (batches ??= new Set()).add(batch);
        continue;
      }
      const call = pending.get(list[i + 1]);
      pending.delete(list[i + 1]);
      if (code === 0 || code === -1) {
        if (call !== undefined && !call.settled) this.succeed(call, list[i + 3], list[i + 4], code < 0);
      } else if (code === -2) {
        this.take(call, list[i + 3], list[i + 4]);
      } else {
        this.fail(call, list[i + 3], list[i + 4]);
      }
    }
    for (const batch of batches ?? []) batch.rowsFinished();
  }

  succeed(call, body, details, large) {
    const reply = new Reply(body, details);
    let value;
    try {
      value = JSON.parse(body);
      if (call.change !== undefined) value = call.change(value);
      else if (value.usage && (large || typeof value.usage.input_tokens !== "number")) settleUsage(value, reply.details);
    } catch (error) {
      call.fail(error instanceof TypeSafeError ? error
        : new TypeSafeError(`the reply cannot be read as JSON: ${error.message}`, { cause: error }));
      return;
    }
    if (call.core.talks) call.core.tell(call, reply.details, body);
    call.succeed(value, reply);
  }

  /** A lenient call's reply that failed a check: as it came, with the problems in its details. */
  take(call, body, response) {
    try {
      if (call === undefined || call.settled) return;
      const details = read(this.addon, response);
      details.problems = problems(this.addon, response);
      this.succeed(call, body, details, false);
    } finally {
      this.addon.deem_response_free(response);
    }
  }

  fail(call, body, response) {
    try {
      if (call === undefined || call.settled) return;
      const error = require("./failure.js").failure(this.addon, response, body, call);
      if (call.core.talks) call.core.tellFailure(call, error);
      call.fail(error);
    } finally {
      this.addon.deem_response_free(response);
    }
  }
}

const soon = Promise.resolve();

/**
 * Usage as the official SDK spells it: counts that a double cannot hold become bigints, and a server's other spelling
 * (prompt_tokens, completion_tokens) is given under both names.
 */
function settleUsage(value, details) {
  const counts = [["input_tokens", "prompt_tokens", details.inputTokens], ["output_tokens", "completion_tokens", details.outputTokens]];
  for (const [name, other, count] of counts) {
    if (count < 0) continue; // absent
    if (typeof count === "bigint" || !Object.hasOwn(value.usage, name)) value.usage[name] = count;
    if (typeof count === "bigint" && Object.hasOwn(value.usage, other)) value.usage[other] = count;
  }
}

function submitError(addon, status) {
  if (status === STATUS.CANCELLED) return new TypeSafeError("the client is closed");
  const error = new TypeSafeError(status === STATUS.STATE
    ? "the state cannot be sent: it is nested too deep, or a text in it holds half of a surrogate pair"
    : `the call could not be started (${addon.deem_status_name(status)})`);
  error.code = addon.deem_status_name(status);
  return error;
}

const getEngine = () => (engine ??= new Engine());

module.exports = { Call, getEngine, settleUsage, submitError };
