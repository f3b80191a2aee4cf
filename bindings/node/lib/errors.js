"use strict";
// The error tree: the official SDK's classes and fields, and named ones for what it leaves generic.
const STATUS = require("./status.js");

/** The base of every error of this package. */
class TypeSafeError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The question set has errors; `findings` names each with its path. */
class QuestionSetError extends TypeSafeError {
  constructor(findings) {
    const errors = findings.filter((finding) => finding.severity === "error");
    const first = errors[0];
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more: see .findings)` : "";
    super(first ? `${first.path}: ${first.message} ${first.advice}${more}` : "the question set cannot be used");
    this.findings = findings;
  }
}

const isObject = (value) => typeof value === "object" && value !== null;

/** The text that an error body gives: wire contract section 4.2, and then the error's type. */
function describeBody(body) {
  if (typeof body === "string") return body;
  if (!isObject(body)) return undefined;
  const { error, message, detail } = body;
  for (const text of [error, error?.message, message, detail, detail?.message]) {
    if (typeof text === "string") return text;
  }
  if (Array.isArray(detail)) {
    const issues = detail.filter((issue) => typeof issue?.msg === "string").map(({ loc, msg }) => {
      const path = Array.isArray(loc) ? loc.filter((part) => part !== "body").join(".") : "";
      return path === "" ? msg : `${path}: ${msg}`;
    });
    if (issues.length > 0) return issues.join("; ");
  }
  return typeof detail?.error_type === "string" ? detail.error_type : undefined;
}

function describe(status, body) {
  const text = describeBody(body);
  if (text) return `${status} ${text}`;
  if (body === undefined || body === "") return `${status} status code (no body)`;
  const raw = JSON.stringify(body);
  return `${status} ${raw.length > 200 ? `${raw.slice(0, 200)}…` : raw}`;
}

/** The wait that a server asked for: blank, negative, non-finite, hexadecimal or other text counts as absent. */
function retryAfterMs(headers) {
  const decimal = (text) => (/^\s*\d+(\.\d+)?\s*$/.test(text ?? "") ? Number(text) : undefined);
  const ms = decimal(headers.get("retry-after-ms"));
  if (ms !== undefined) return ms;
  const value = headers.get("retry-after");
  const seconds = decimal(value);
  if (seconds !== undefined) return seconds * 1000;
  const date = /[a-z]/i.test(value ?? "") ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** A reply with a status other than 2xx, or (APIResponseValidationError) one that must not be believed. */
class APIError extends TypeSafeError {
  #headers;

  constructor(status, body, headers, message) {
    super(message ?? describe(status, body));
    this.status = status;
    this.body = body;
    this.#headers = headers; // a Headers, or the function that makes it
    const id = typeof headers === "function" ? undefined : headers?.get?.("x-typesafe-request-id");
    this.requestId = id ?? undefined;
    this.code = undefined;
    this.path = undefined;
    this.attempts = undefined;
  }

  /** The reply's headers, built when first asked for. */
  get headers() {
    if (typeof this.#headers === "function") this.#headers = this.#headers();
    return this.#headers;
  }

  static fromResponse(status, body, headers) {
    return new (classFor(status))(status, body, headers);
  }
}

class BadRequestError extends APIError {}
class AuthenticationError extends APIError {}
class PaymentRequiredError extends APIError {}
class PermissionDeniedError extends APIError {}
class NotFoundError extends APIError {}
class ConflictError extends APIError {}
class RequestTooLargeError extends APIError {}
class UnprocessableEntityError extends APIError {}
class InternalServerError extends APIError {}
class OverloadedError extends InternalServerError {}

class RateLimitError extends APIError {
  #retryAfterMs;
  #known = false;

  /** The wait in milliseconds that the server asked for, or undefined. */
  get retryAfterMs() {
    if (!this.#known) {
      this.#retryAfterMs = this.headers ? retryAfterMs(this.headers) : undefined;
      this.#known = true;
    }
    return this.#retryAfterMs;
  }
}

/** A 2xx reply that failed a check: `path` and `reason` say which, `response` holds it. */
class APIResponseValidationError extends APIError {
  #makeResponse;
  #response;

  constructor(status, body, headers, message, makeResponse) {
    super(status, body, headers, message);
    this.reason = undefined;
    this.problems = [];
    this.#makeResponse = makeResponse;
  }

  /** The reply as a Response whose body can be read. */
  get response() {
    return (this.#response ??= this.#makeResponse?.());
  }
}

const BY_STATUS = new Map([
  [400, BadRequestError],
  [401, AuthenticationError],
  [402, PaymentRequiredError],
  [403, PermissionDeniedError],
  [404, NotFoundError],
  [409, ConflictError],
  [413, RequestTooLargeError],
  [422, UnprocessableEntityError],
  [429, RateLimitError],
  [529, OverloadedError],
]);

function classFor(status) {
  return BY_STATUS.get(status) ?? (status >= 500 ? InternalServerError : APIError);
}

/** No reply: the connection could not be made, or broke. `code` is as Node's own, where it has one. */
class APIConnectionError extends TypeSafeError {
  constructor(message = "Connection error.", options) {
    super(message, options);
    this.code = undefined;
    this.attempts = undefined;
  }
}

/** One attempt took longer than `timeoutMs`. */
class APITimeoutError extends APIConnectionError {
  constructor(timeoutMs, options) {
    super(`The request timed out after ${timeoutMs} ms.`, options);
    this.timeoutMs = timeoutMs;
    this.code = "ETIMEDOUT";
  }
}

/** The call as a whole took longer than its deadline of `timeoutMs`; the message holds the last cause. */
class APIDeadlineError extends APITimeoutError {
  constructor(timeoutMs, message, options) {
    super(timeoutMs, options);
    if (message) this.message = message;
  }
}

/** The caller aborted the call, or closed the client. */
class APIUserAbortError extends TypeSafeError {
  constructor(message = "Request was aborted.", options) {
    super(message, options);
  }
}

/** Node's names for what went wrong with a connection. */
const CONNECTION_CODES = new Map([
  [STATUS.CONNECTION, "ECONNABORTED"],
  [STATUS.DNS, "ENOTFOUND"],
  [STATUS.REFUSED, "ECONNREFUSED"],
  [STATUS.TLS, "ERR_TLS_HANDSHAKE"],
  [STATUS.TRUNCATED, "ECONNRESET"],
  [STATUS.PROXY, "ERR_PROXY"],
  [STATUS.HTTP_FRAMING, "ERR_HTTP_FRAMING"],
]);

const classes = {
  TypeSafeError, APIError, BadRequestError, AuthenticationError, PaymentRequiredError, PermissionDeniedError, NotFoundError,
  ConflictError, RequestTooLargeError, UnprocessableEntityError, RateLimitError, InternalServerError, OverloadedError,
  APIResponseValidationError, APIConnectionError, APITimeoutError, APIDeadlineError, APIUserAbortError, QuestionSetError,
};

module.exports = { ...classes, CONNECTION_CODES, classFor, classes };
