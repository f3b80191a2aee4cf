"use strict";
// The promise of a call's result that also gives the HTTP response.
const { toResponse, unpack } = require("./details.js");
const { APIResponseValidationError } = require("./errors.js");

/** What the addon said about a call that succeeded: the text of the body, and details not yet unpacked. */
class Reply {
  #details;

  constructor(body, packed) {
    this.body = body;
    this.packed = packed;
  }

  get details() {
    return (this.#details ??= typeof this.packed === "string" ? unpack(this.packed) : this.packed);
  }
}

class APIPromise extends Promise {
  /** then, catch and finally give plain promises: what they hold is no reply any more. */
  static get [Symbol.species]() {
    return Promise;
  }

  #call;
  #response;

  /**
   * `new APIPromise(responsePromise, parseResponse)` as in the official SDK. This package itself hands in a call, which gets
   * the functions `resolve` and `reject`; an executor makes a promise without a response (Promise's own static methods).
   */
  constructor(source, parse) {
    if (typeof source === "function") {
      super(source);
    } else if (parse === undefined && source !== null && typeof source === "object" && !(source instanceof Promise)) {
      super((resolve, reject) => {
        source.resolve = resolve;
        source.reject = reject;
      });
      this.#call = source;
    } else {
      super((resolve, reject) => {
        Promise.resolve(source).then((response) => parse(response.clone())).then(resolve, reject);
      });
      this.#response = Promise.resolve(source);
    }
  }

  /** The HTTP response with its whole body, unread. A reply that failed the checks is given too. */
  async asResponse() {
    if (this.#response) return (await this.#response).clone();
    try {
      await this;
    } catch (error) {
      if (error instanceof APIResponseValidationError && error.response) return error.response.clone();
      throw error;
    }
    const reply = this.#call?.reply;
    return reply ? toResponse(reply.details, reply.body) : new Response(null);
  }

  /** The result with its HTTP response, request id, number of attempts and timings. */
  async withResponse() {
    const data = await this;
    const reply = this.#call?.reply;
    const response = await this.asResponse();
    if (reply === undefined) {
      return { data, response, requestId: response.headers.get("x-typesafe-request-id") ?? undefined };
    }
    const { requestId, attempts, timings, sent, received, reused, problems = [] } = reply.details;
    return { data, response, requestId, attempts, timings, sent, received, reused, problems };
  }

  /** A promise of what `change` makes of the result, with the same HTTP response. */
  map(change) {
    const call = { reply: undefined, resolve: undefined, reject: undefined };
    const mapped = new APIPromise(call);
    if (this.#response) mapped.#response = this.#response;
    const source = this.#call;
    this.then((data) => {
      call.reply = source?.reply;
      return change(data);
    }).then(call.resolve, call.reject);
    return mapped;
  }
}

module.exports = { APIPromise, Reply };
