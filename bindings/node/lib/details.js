"use strict";
// The particulars of a reply, packed by the addon (src/results.c) or read from a response handle, unpacked when asked for.

const NUMBERS = ["status", "attempts", "inputTokens", "outputTokens", "sent", "received", "reused"];
const TIMINGS = ["total", "queue", "dns", "connect", "tls", "firstByte", "waits"];

function count(bytes, index) {
  const value = bytes.readBigInt64LE(index * 8);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Takes the addon's string apart. */
function unpack(packed) {
  const bytes = Buffer.from(packed, "latin1");
  const details = { timings: {} };
  NUMBERS.forEach((name, index) => (details[name] = count(bytes, index)));
  TIMINGS.forEach((name, index) => (details.timings[name] = count(bytes, NUMBERS.length + index) / 1000));
  details.reused = details.reused === 1;
  const texts = packed.slice((NUMBERS.length + TIMINGS.length) * 8).split("\0");
  details.requestId = texts[0] || undefined;
  details.url = texts[1];
  details.headers = [];
  for (let i = 2; i + 1 < texts.length; i += 2) details.headers.push([texts[i], texts[i + 1]]);
  return details;
}

/** Reads the same out of a response handle. */
function read(native, response) {
  const value = (result) => result[1];
  const [, sent, received, reused] = native.deem_response_traffic(response);
  const [, inputTokens, outputTokens] = native.deem_response_usage(response);
  const details = {
    status: value(native.deem_response_http_status(response)),
    attempts: value(native.deem_response_attempts(response)),
    inputTokens, outputTokens, sent, received,
    reused: reused === 1,
    timings: {},
    requestId: value(native.deem_response_request_id(response)) || undefined,
    url: native.deem_response_endpoint(response)[2] || "",
    headers: [],
  };
  TIMINGS.forEach((name, index) => (details.timings[name] = value(native.deem_response_timing(response, index)) / 1000));
  for (let i = 0; ; i++) {
    const [status, name, header] = native.deem_response_header_at(response, i);
    if (status !== 0) return details;
    details.headers.push([name, header]);
  }
}

/** The questions that have no good answer, each with its path and reason. */
function problems(native, response) {
  const found = [];
  for (let index = 0; ; index++) {
    const [status, reason, path, message] = native.deem_response_problem(response, index);
    if (status !== 0) return found;
    if (reason !== 0) found.push({ question: index, reason: native.deem_reason_name(reason), path, message });
  }
}

/** The headers as the web has them; one that it refuses is left out. */
function toHeaders(pairs) {
  const headers = new Headers();
  for (const [name, value] of pairs) {
    try {
      headers.append(name, value);
    } catch {
      // a name or value that Headers does not take
    }
  }
  return headers;
}

/** A Response that holds the whole body. */
function toResponse(details, body) {
  const bodyless = [204, 205, 304].includes(details.status) || body === "";
  const response = new Response(bodyless ? null : body, {
    status: details.status >= 200 && details.status <= 599 ? details.status : 200,
    headers: toHeaders(details.headers),
  });
  Object.defineProperty(response, "url", { value: details.url });
  return response;
}

module.exports = { problems, read, toHeaders, toResponse, unpack };
