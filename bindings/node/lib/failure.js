"use strict";
// From a response that is no success to the error that tells it.
const { problems, read, toHeaders, toResponse } = require("./details.js");
const errors = require("./errors.js");
const STATUS = require("./status.js");

/** A body as the official SDK shows it: the JSON value, else the text, else undefined. */
function bodyValue(text) {
  if (text === null || text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The error for a response handle, which stays the caller's. `call` gives the limits that applied (timeout, deadline),
 * and the signal's reason where it was aborted.
 */
function failure(native, response, body, call) {
  const code = native.deem_response_code(response);
  const message = native.deem_response_message(response)[1];
  const details = read(native, response);
  const [, retryAfter] = native.deem_response_retry_after_ms(response);
  const finish = (error) => {
    error.attempts = details.attempts;
    const path = native.deem_response_path(response)[1];
    if (path && error instanceof errors.APIError) error.path = path;
    return error;
  };
  if (code === STATUS.CANCELLED) return finish(new errors.APIUserAbortError(message || undefined, { cause: call.cause }));
  if (code === STATUS.DEADLINE) return finish(new errors.APIDeadlineError(call.deadline, message));
  if (code === STATUS.TIMEOUT) return finish(new errors.APITimeoutError(call.timeout));
  if (code >= STATUS.CONNECTION && code < STATUS.TIMEOUT) {
    const error = new errors.APIConnectionError(`Connection error: ${message}`, { cause: call.cause });
    error.code = errors.CONNECTION_CODES.get(code);
    return finish(error);
  }
  if (code === STATUS.INVALID_REPLY) {
    const error = new errors.APIResponseValidationError(details.status, bodyValue(body), () => toHeaders(details.headers), message,
      () => toResponse(details, body));
    error.requestId = details.requestId;
    error.reason = native.deem_reason_name(native.deem_response_reason(response));
    error.problems = problems(native, response);
    return finish(error);
  }
  if (details.status > 0 && code >= STATUS.HTTP_REDIRECT && code < STATUS.INVALID_REPLY) {
    const value = code === STATUS.HTTP_REDIRECT ? undefined : bodyValue(body);
    const Class = errors.classFor(details.status);
    const error = new Class(details.status, value, () => toHeaders(details.headers), value === undefined && message ? message : undefined);
    error.requestId = details.requestId;
    if (retryAfter > call.deadline && !error.message.includes("retry")) error.message += ` (the server asks for ${retryAfter} ms)`;
    return finish(error);
  }
  const error = new errors.TypeSafeError(message || native.deem_status_name(code));
  error.code = native.deem_status_name(code);
  return error;
}

module.exports = { failure };
