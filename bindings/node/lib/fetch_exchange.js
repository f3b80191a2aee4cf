"use strict";
// Calls whose transport is the caller's own fetch: the core hands out each attempt and takes back what came of it
// (deemster_experimental.h), so that attempts, waits, deadline and checks are the same as on its own connections.
const { Reply } = require("./api_promise.js");
const { problems, read } = require("./details.js");
const { settleUsage, submitError } = require("./engine.js");
const { TypeSafeError } = require("./errors.js");
const { failure } = require("./failure.js");
const { native } = require("./native.js");
const STATUS = require("./status.js");

const LONGEST_TIMER = 2 ** 31 - 1;

function headersOf(addon, exchange) {
  const headers = {};
  for (let index = 0; ; index++) {
    const [status, name, value] = addon.deem_exchange_attempt_header(exchange, index);
    if (status !== STATUS.OK) return headers;
    headers[name] = value;
  }
}

/** The body as bytes, also of a stand-in that has only text(). */
async function bodyOf(response) {
  if (typeof response.arrayBuffer === "function") return new Uint8Array(await response.arrayBuffer());
  return Buffer.from(await response.text());
}

/** One attempt: what fetch gives, or the code and text of a failure. Ends when the controller is aborted, come what may. */
async function attempt(fetch, url, init, controller, limit) {
  const state = { timedOut: false };
  const timer = limit >= 0 ? setTimeout(() => {
    state.timedOut = true;
    controller.abort(new DOMException("The attempt took too long.", "TimeoutError"));
  }, Math.min(limit, LONGEST_TIMER)) : undefined;
  const aborted = new Promise((_, reject) => controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true }));
  aborted.catch(() => {});
  const exchange = (async () => {
    const response = await fetch(url, { ...init, signal: controller.signal });
    return { response, body: await bodyOf(response) };
  })();
  exchange.catch(() => {}); // a fetch that ignores the signal may fail later, when nobody listens
  try {
    return await Promise.race([exchange, aborted]);
  } catch (error) {
    return { code: state.timedOut ? STATUS.TIMEOUT : STATUS.CONNECTION, error };
  } finally {
    clearTimeout(timer);
  }
}

async function drive(addon, exchange, call, fetch) {
  for (;;) {
    const [, action, limit] = addon.deem_exchange_next(exchange);
    if (call.settled || action === STATUS.EXCHANGE_DONE) return;
    const controller = new AbortController();
    if (action === STATUS.EXCHANGE_WAIT) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.min(limit, LONGEST_TIMER));
        call.stop = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      continue;
    }
    call.stop = () => controller.abort(call.cause);
    const [, method, url, body] = addon.deem_exchange_attempt(exchange);
    const init = { method, headers: headersOf(addon, exchange), redirect: "manual" };
    if (body !== null) init.body = body;
    const outcome = await attempt(fetch, url, init, controller, limit);
    if (call.settled) return;
    if (outcome.code !== undefined) {
      call.cause = outcome.error;
      addon.deem_exchange_fail(exchange, outcome.code, 1, String(outcome.error?.message ?? outcome.error));
      continue;
    }
    const headers = [...(outcome.response.headers?.entries?.() ?? [])];
    // A coded body is decoded already, whatever these say.
    const coded = headers.some(([name]) => name === "content-encoding");
    const decoded = (name) => coded && (name === "content-encoding" || name === "content-length");
    for (const [name, value] of headers) if (!decoded(name)) addon.deem_exchange_reply_header(exchange, name, value);
    if (addon.deem_exchange_reply(exchange, outcome.response.status, outcome.body) !== STATUS.OK) {
      throw new TypeSafeError(`fetch gave a response with the status ${outcome.response.status}.`);
    }
  }
}

function settle(addon, exchange, call) {
  const [status, response] = addon.deem_exchange_take(exchange);
  if (status !== STATUS.OK) throw new TypeSafeError(`the call could not be ended (${addon.deem_status_name(status)})`);
  try {
    const body = addon.deem_response_body(response)[1] ?? "";
    if (addon.deem_response_code(response) !== STATUS.OK) {
      const error = failure(addon, response, body, call);
      if (call.core.talks) call.core.tellFailure(call, error);
      call.fail(error);
      return;
    }
    const reply = new Reply(body, read(addon, response));
    reply.details.problems = problems(addon, response);
    const value = JSON.parse(body.startsWith("\uFEFF") ? body.slice(1) : body);
    if (call.core.talks) call.core.tell(call, reply.details, body);
    if (call.change === undefined && value.usage) settleUsage(value, reply.details);
    call.succeed(call.change === undefined ? value : call.change(value), reply);
  } finally {
    addon.deem_response_free(response);
  }
}

/**
 * Runs a call to its end. `start` starts it on an exchange, `options` fills a handle with the call's own settings.
 * Throws only for what is wrong at once; later failures go to the call.
 */
function run(call, fetch, start, options) {
  const addon = native();
  if (call.core.closed) throw new TypeSafeError("the client is closed");
  const handle = addon.deem_options_new()[1];
  const [, exchange] = addon.deem_exchange_new(call.core.handle);
  const free = () => {
    addon.deem_exchange_free(exchange);
    addon.deem_options_free(handle);
  };
  try {
    const status = start(addon, exchange, options(addon, handle) ?? null);
    if (status !== STATUS.OK) throw submitError(addon, status);
  } catch (error) {
    free();
    throw error;
  }
  drive(addon, exchange, call, fetch).then(() => {
    if (!call.settled) settle(addon, exchange, call);
  }).catch((error) => call.fail(error)).finally(free);
}

module.exports = { run };
