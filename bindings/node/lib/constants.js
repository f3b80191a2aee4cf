"use strict";

/** Names of the environment variables; an option given in code beats them. */
const ENV = Object.freeze({
  apiKey: "TYPESAFE_API_KEY",
  baseURL: "TYPESAFE_BASE_URL",
  defaultModel: "TYPESAFE_DEFAULT_MODEL",
  logLevel: "TYPESAFE_LOG_LEVEL",
});

/** Log levels, the most talkative first. */
const LOG_LEVELS = Object.freeze(["debug", "info", "warn", "error", "off"]);

const VERSION = "0.1.0";

/** The value of an environment variable without surrounding white space; undefined when it is unset or blank. */
function fromEnvironment(name) {
  return globalThis.process?.env?.[name]?.trim() || undefined;
}

/** What the X-TypeSafe-Runtime header says. */
function runtime() {
  const { process, Bun, Deno } = globalThis;
  const platform = process?.platform ? ` (${process.platform}; ${process.arch})` : "";
  if (Bun?.version) return `bun/${Bun.version}${platform}`;
  if (Deno?.version?.deno) return `deno/${Deno.version.deno}${platform}`;
  return `node/${process.versions.node}${platform}`;
}

module.exports = { ENV, LOG_LEVELS, VERSION, fromEnvironment, runtime };
