"use strict";
const { LOG_LEVELS, ENV, fromEnvironment } = require("./constants.js");
const { TypeSafeError } = require("./errors.js");

const PREFIX = "[deemster]";
const silent = () => {};

const toConsole = {
  debug: (message, ...values) => console.debug(`${PREFIX} ${message}`, ...values),
  info: (message, ...values) => console.info(`${PREFIX} ${message}`, ...values),
  warn: (message, ...values) => console.warn(`${PREFIX} ${message}`, ...values),
  error: (message, ...values) => console.error(`${PREFIX} ${message}`, ...values),
};

/** The level from the option, else the environment, else "warn". */
function resolveLevel(option) {
  const [level, source] = option !== undefined ? [option, "the logLevel option"] : [fromEnvironment(ENV.logLevel) ?? "warn", ENV.logLevel];
  if (!LOG_LEVELS.includes(level)) {
    throw new TypeSafeError(`${source} is ${JSON.stringify(level)}; log levels are ${LOG_LEVELS.join(", ")}.`);
  }
  return level;
}

/** A logger that drops what is below the level. */
function filtered(logger = toConsole, level) {
  const from = LOG_LEVELS.indexOf(level);
  const only = (name) => (LOG_LEVELS.indexOf(name) >= from ? (message, ...values) => logger[name](message, ...values) : silent);
  return { debug: only("debug"), info: only("info"), warn: only("warn"), error: only("error") };
}

/** Headers for a log line: what looks like a credential is masked. */
function masked(headers) {
  const secret = /authorization|api-key|cookie|token|secret/i;
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, secret.test(name) ? "***" : value]));
}

module.exports = { filtered, masked, resolveLevel };
