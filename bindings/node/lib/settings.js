"use strict";
// Options of a client and of a call: checked here, because C takes whole numbers, and written into the core's settings.
const { ENV, fromEnvironment, runtime } = require("./constants.js");
const { TypeSafeError } = require("./errors.js");
const STATUS = require("./status.js");

const DEFAULT_TIMEOUT = 10_000;
const DEFAULT_DEADLINE = 30_000;
const LONGEST = 2 ** 40; // milliseconds; some 35 years
const LONGEST_WAIT = 3_600_000;
const MOST_RETRIES = 100;

const DEFAULT_RETRY = {
  maxRetries: 2,
  backoffInitialMs: 500,
  backoffMaxMs: 5000,
  backoffJitter: 0.25,
  httpStatuses: new Set([408, 429, ...Array.from({ length: 100 }, (_, index) => 500 + index)]),
  respectRetryAfter: true,
  maxRetryAfterMs: Infinity, // the deadline is the only cap: a longer wait fails at once, and says so
  apiConnectionError: true,
  apiTimeoutError: true,
};

function refuse(name, what, value) {
  throw new TypeSafeError(`\`${name}\` must be ${what}, not ${typeof value === "string" ? JSON.stringify(value) : String(value)}.`);
}

/** A limit in milliseconds, above 0. */
function limit(name, value) {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) refuse(name, "a number of milliseconds above 0", value);
  return value;
}

function wait(name, value, infinite = false) {
  if (typeof value !== "number" || !(value >= 0) || (!infinite && !Number.isFinite(value))) refuse(name, "a number of milliseconds, 0 or more", value);
  return value;
}

function flag(name, value) {
  if (typeof value !== "boolean") refuse(name, "true or false", value);
  return value;
}

function statuses(name, value) {
  let list;
  try {
    list = new Set(value);
  } catch {
    refuse(name, "a Set or array of HTTP statuses", value);
  }
  for (const status of list) if (!Number.isInteger(status) || status < 100 || status > 999) refuse(name, "HTTP statuses", status);
  return list;
}

const CHECKS = {
  maxRetries: (name, value) => (Number.isInteger(value) && value >= 0 ? value : refuse(name, "a whole number, 0 or more", value)),
  backoffInitialMs: wait,
  backoffMaxMs: wait,
  backoffJitter: (name, value) => (typeof value === "number" && value >= 0 && value <= 1 ? value : refuse(name, "from 0 to 1", value)),
  httpStatuses: statuses,
  respectRetryAfter: flag,
  maxRetryAfterMs: (name, value) => wait(name, value, true),
  apiConnectionError: flag,
  apiTimeoutError: flag,
};

/** A retry policy: `base` with the fields of `changes` that are given. */
function mergeRetry(base, changes) {
  if (changes === undefined || changes === null) return base;
  if (typeof changes !== "object") refuse("retry", "an object", changes);
  const merged = { ...base };
  for (const name of Object.keys(CHECKS)) {
    if (changes[name] !== undefined && changes[name] !== null) merged[name] = CHECKS[name](`retry.${name}`, changes[name]);
  }
  merged.httpStatuses = new Set(merged.httpStatuses);
  return merged;
}

/**
 * The limit of a call as a whole. Where none is given it is 30 s, or what the attempts may take when a longer timeout was
 * asked for, so that a timeout never loses its meaning.
 */
function deadlineFor(given, timeout, retry) {
  if (given === null || given === Infinity) return Infinity;
  if (given !== undefined) return limit("deadline", given);
  return timeout <= DEFAULT_TIMEOUT ? DEFAULT_DEADLINE : Math.max(DEFAULT_DEADLINE, timeout * (retry.maxRetries + 1));
}

const milliseconds = (value) => (value === Infinity ? 0 : Math.min(LONGEST, Math.max(1, Math.round(value))));
const waitMilliseconds = (value) => Math.min(LONGEST_WAIT, Math.round(value));

/** Writes limits and retries through the setters of the core's config or options ("deem_config", "deem_options"). */
function applyLimits(set, timeout, deadline, retry) {
  set("attempt_ms", milliseconds(timeout));
  set("deadline_ms", milliseconds(deadline));
  set("max_retries", Math.min(MOST_RETRIES, retry.maxRetries));
  set("backoff", waitMilliseconds(retry.backoffInitialMs), waitMilliseconds(retry.backoffMaxMs), retry.backoffJitter);
  set("retry_flags", (retry.apiConnectionError ? STATUS.RETRY_CONNECTION : 0) | (retry.apiTimeoutError ? STATUS.RETRY_TIMEOUT : 0) |
    (retry.respectRetryAfter ? STATUS.RETRY_OBEY_SERVER : 0));
  set("retry_statuses", [...retry.httpStatuses].filter((status) => status >= 300 && status <= 599));
  set("retry_after_cap_ms", retry.maxRetryAfterMs === Infinity ? 0 : milliseconds(retry.maxRetryAfterMs));
}

const AUTH = { bearer: STATUS.AUTH_BEARER, "x-api-key": STATUS.AUTH_API_KEY, none: STATUS.AUTH_NONE };
const CHECK = { strict: STATUS.CHECK_STRICT, lenient: STATUS.CHECK_LENIENT };

function named(table, name, value) {
  if (!Object.hasOwn(table, value)) refuse(name, Object.keys(table).map((key) => JSON.stringify(key)).join(" or "), value);
  return table[value];
}

function text(name, value) {
  if (typeof value !== "string") refuse(name, "a string", value);
  return value;
}

/** [name, value] pairs of the headers given, those with undefined left out. */
function headerPairs(name, headers) {
  if (headers === undefined || headers === null) return [];
  if (typeof headers !== "object") refuse(name, "an object of header values by name", headers);
  const entries = typeof headers.entries === "function" ? [...headers.entries()] : Object.entries(headers);
  return entries.filter(([, value]) => value !== undefined).map(([key, value]) => [key, String(value)]);
}

/** A handle's setters as a function (name, …values) that turns a refusal into a TypeSafeError. */
function setter(addon, prefix, handle) {
  return (name, ...values) => {
    const status = (addon[`${prefix}_set_${name}`] ?? addon[`${prefix}_${name}`])(handle, ...values);
    if (status !== STATUS.OK) throw settingError(addon, status, addon[`${prefix}_error`](handle)[1]);
  };
}

function settingError(addon, status, message) {
  const error = new TypeSafeError(message || `a setting was refused (${addon.deem_status_name(status)})`);
  error.code = addon.deem_status_name(status);
  return error;
}

/** A client of the core from checked settings; the handle is the caller's. */
function newClient(addon, options, fields, apiKey) {
  const [, config] = addon.deem_config_new();
  try {
    const set = setter(addon, "deem_config", config);
    if (apiKey !== undefined) set("api_key", text("apiKey", apiKey));
    if (options.auth !== undefined) set("auth", named(AUTH, "auth", options.auth));
    set("base_url", fields.baseURL);
    set("model", fields.defaultModel);
    set("log_level", 0); // this package logs by itself
    set("runtime", runtime());
    applyLimits(set, fields.timeout, fields.deadline, fields.retry);
    for (const [name, value] of headerPairs("defaultHeaders", fields.defaultHeaders)) set("add_header", name, value);
    if (options.check !== undefined) set("check", named(CHECK, "check", options.check));
    if (options.evaluatePath !== undefined) set("evaluate_path", text("evaluatePath", options.evaluatePath));
    if (options.proxy !== undefined) set("proxy", text("proxy", options.proxy ?? ""));
    if (options.noProxy !== undefined) set("no_proxy", text("noProxy", options.noProxy));
    if (options.ca !== undefined) set("ca_file", text("ca", options.ca));
    if (options.maxConnections !== undefined) set("max_connections", options.maxConnections);
    if (options.idleTimeout !== undefined) set("idle_ms", Math.round(wait("idleTimeout", options.idleTimeout)));
    if (options.maxReplyBytes !== undefined) set("max_reply_bytes", options.maxReplyBytes);
    if (options.userAgentSuffix !== undefined) set("user_agent_suffix", text("userAgentSuffix", options.userAgentSuffix));
    const [status, client] = addon.deem_client_new(config);
    if (status !== STATUS.OK) throw settingError(addon, status, addon.deem_config_error(config)[1]);
    return client;
  } catch (error) {
    if (error instanceof TypeError) throw new TypeSafeError(error.message, { cause: error });
    throw error;
  } finally {
    addon.deem_config_free(config);
  }
}

/**
 * The options of one call in a handle that is used again and again, or undefined when nothing differs from the client.
 * `extra` holds the fields of the request that the core does not know.
 */
function callOptions(addon, handle, limits, options, model, extra) {
  const { timeout, deadline, retry } = limits;
  addon.deem_options_reset(handle);
  const set = setter(addon, "deem_options", handle);
  if (limits.changed) applyLimits(set, timeout, deadline, retry);
  if (model !== undefined) set("model", model);
  if (options?.check !== undefined) set("check", named(CHECK, "check", options.check));
  for (const [name, value] of headerPairs("headers", options?.headers)) set("add_header", name, value);
  for (const [name, json] of extra ?? []) set("add_field", name, json);
  return handle;
}

const fromOption = (option, variable) => option ?? fromEnvironment(variable);

module.exports = { DEFAULT_RETRY, DEFAULT_TIMEOUT, ENV, callOptions, deadlineFor, fromOption, limit, mergeRetry, newClient, settingError, setter, text };
