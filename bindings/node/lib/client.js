"use strict";
const { APIPromise } = require("./api_promise.js");
const { Call, getEngine } = require("./engine.js");
const { TypeSafeError } = require("./errors.js");
const { filtered, masked, resolveLevel } = require("./logging.js");
const { native } = require("./native.js");
const { compile } = require("./question_set.js");
const settings = require("./settings.js");
const { stateText } = require("./state.js");
const STATUS = require("./status.js");

/** What a client and its calls share beside the caller's own object, so that this one can be collected. */
class Core {
  handle = null; // the core's client, until a slot takes it over
  slot = -1;
  closed = false;
  pending = new Map(); // calls by their ids
  batches = new Set(); // evaluateMany() under way
  calls = 0;

  constructor(fields, givenDeadline) {
    this.givenDeadline = givenDeadline;
    this.timeout = fields.timeout;
    this.deadline = fields.deadline;
    this.retry = fields.retry;
    this.logger = fields.logger;
    this.debugs = fields.logLevel === "debug";
    this.talks = this.debugs || fields.logLevel === "info";
  }

  /** The addon's slot for this client; the first call makes it. */
  open() {
    if (this.closed) throw new TypeSafeError("the client is closed");
    if (this.slot < 0) {
      const engine = getEngine();
      this.slot = engine.addon.openClient(this.handle);
      this.handle = null;
      engine.cores[this.slot] = this;
    }
    return this.slot;
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    const { slot, handle } = this;
    this.slot = -1;
    this.handle = null;
    for (const batch of this.batches) batch.abort("the client was closed");
    if (slot >= 0) native().closeClient(slot);
    else if (handle !== null) native().deem_client_free(handle);
  }

  tell(call, details, body) {
    const { logger } = this;
    const id = details.requestId ? ` (request ${details.requestId})` : "";
    logger.info(`${call.tag} <- ${details.status} in ${Math.round(details.timings.total)}ms, attempt ${details.attempts}${id}`);
    if (this.debugs) logger.debug(`${call.tag} <- body`, body);
  }

  tellFailure(call, error) {
    this.logger.info(`${call.tag} failed: ${error.name}: ${error.message}`);
  }
}

/** The part of the client that lists models. */
class Models {
  #request;

  constructor(request) {
    this.#request = request;
  }

  /** The models that the account may use. */
  list(options) {
    return this.#request("GET", "/v1/models", options, models);
  }
}

function models(body) {
  if (Array.isArray(body?.models)) return body.models;
  if (Array.isArray(body?.data)) return body.data.map((entry) => ({ name: entry?.id, ...entry }));
  throw new TypeSafeError("GET /v1/models answered with something that is no list of models.");
}

const unused = new FinalizationRegistry((core) => core.close());

const isBrowser = () => globalThis.window?.document !== undefined && globalThis.navigator !== undefined;

class TypeSafeClient {
  #core;
  #fetch;
  #newHandle; // another client of the core with the same settings

  constructor(config = {}) {
    if (typeof config !== "object" || config === null) throw new TypeSafeError("TypeSafeClient takes an object of options.");
    if (isBrowser() && !config.dangerouslyAllowBrowser) {
      throw new TypeSafeError("TypeSafeClient would show your API key to everyone who opens this page: call it from a server, " +
        "or pass dangerouslyAllowBrowser: true.");
    }
    const { ENV } = settings;
    const apiKey = settings.fromOption(config.apiKey, ENV.apiKey);
    if (apiKey === undefined && config.auth !== "none") {
      throw new TypeSafeError(`There is no API key: pass apiKey to TypeSafeClient, or set ${ENV.apiKey}.`);
    }
    this.baseURL = settings.text("baseURL", settings.fromOption(config.baseURL, ENV.baseURL) ?? "https://api.typesafe.ai").replace(/\/+$/, "");
    this.defaultModel = settings.fromOption(config.defaultModel, ENV.defaultModel) ?? "jev-latest";
    this.logLevel = resolveLevel(config.logLevel);
    this.logger = filtered(config.logger, this.logLevel);
    this.retry = settings.mergeRetry(settings.DEFAULT_RETRY, config.retry);
    this.timeout = config.timeout === undefined ? settings.DEFAULT_TIMEOUT : settings.limit("timeout", config.timeout);
    this.deadline = settings.deadlineFor(config.deadline, this.timeout, this.retry);
    this.defaultHeaders = { ...config.defaultHeaders };
    if (config.fetch !== undefined && typeof config.fetch !== "function") throw new TypeSafeError("`fetch` must be a function.");
    this.fetch = config.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#fetch = config.fetch;
    this.#core = new Core(this, config.deadline);
    const own = { ...config };
    this.#newHandle = () => settings.newClient(native(), own, this, apiKey);
    this.#core.handle = this.#newHandle();
    unused.register(this, this.#core, this);
    this.models = new Models((...request) => this.#request(...request));
  }

  /** Answers questions about a state. Rejects, and never throws, whatever is wrong. */
  systemOne(request, options) {
    const call = new Call(this, this.#core);
    const promise = new APIPromise(call);
    try {
      this.#evaluate(call, request, options);
    } catch (error) {
      call.fail(error);
    }
    return promise;
  }

  #evaluate(call, request, options) {
    if (typeof request !== "object" || request === null) throw new TypeSafeError("systemOne takes { state, questions }.");
    const core = this.#core;
    const { state } = request;
    const set = compile(request.questions);
    const model = request.model === null ? undefined : request.model;
    if (model !== undefined && typeof model !== "string") throw new TypeSafeError("`model` must be a string.");
    let json = false;
    let text = state;
    if (typeof state !== "string") {
      text = stateText(state);
      json = true;
    }
    const extra = extraFields(request);
    if (core.talks) this.#tellStart(call, "POST /v1/systemone", options, request);
    if (options?.signal && !call.watch(options.signal)) return;
    if (this.#fetch) {
      const start = (addon, exchange, given) => json
        ? addon.deem_exchange_start_json(exchange, set.handle, text, given) : addon.deem_exchange_start_text(exchange, set.handle, text, given);
      require("./fetch_exchange.js").run(call, this.#fetch, start, (addon, handle) => this.#options(call, addon, handle, options, model, extra));
      return;
    }
    const slot = core.open();
    const engine = getEngine();
    const handle = options === undefined && model === undefined && extra === undefined
      ? undefined : this.#options(call, engine.addon, engine.options, options, model, extra);
    engine.submitted(call, engine.addon.submit(slot, set.slot, json, text, handle));
  }

  /**
   * Answers questions about many states: an async iterator of rows, each with its result or its error. Breaking off, or
   * aborting the signal, cancels what is in flight. Rejects at the first row, and never throws, when an argument is wrong.
   */
  evaluateMany(inputs, questions, options = {}) {
    const call = new Call(this, this.#core);
    return new (require("./batch.js").Evaluations)(call, inputs, options ?? {}, (batch) => this.#openBatch(call, questions, options ?? {}, batch));
  }

  #openBatch(call, questions, options, batch) {
    const core = this.#core;
    if (core.closed) throw new TypeSafeError("the client is closed");
    if (this.#fetch) throw new TypeSafeError("evaluateMany has a transport of its own: a client with the fetch option cannot do it.");
    const engine = getEngine();
    const { addon } = engine;
    const set = compile(questions);
    const own = require("./batch.js").newSettings(addon, options, this.#options(call, addon, engine.options, options, options.model));
    const handle = this.#newHandle(); // a batch has its own connections
    let made = null;
    try {
      const [status, opened] = addon.deem_batch_new(handle, set.handle, own);
      made = opened;
      if (status !== STATUS.OK) throw settings.settingError(addon, status, addon.deem_batch_settings_error(own)[1]);
      const slot = addon.openBatch(made, handle);
      engine.cores[slot] = batch;
      core.batches.add(batch);
      batch.onEnd = () => core.batches.delete(batch);
      return slot;
    } catch (error) {
      addon.deem_batch_free(made);
      addon.deem_client_free(handle);
      throw error;
    } finally {
      addon.deem_batch_settings_free(own);
    }
  }

  #request(method, path, options, change) {
    const call = new Call(this, this.#core);
    const promise = new APIPromise(call);
    call.change = change;
    try {
      if (this.#core.talks) this.#tellStart(call, `${method} ${path}`, options);
      if (options?.signal && !call.watch(options.signal)) return promise;
      if (this.#fetch) {
        const start = (addon, exchange, given) => addon.deem_exchange_start_request(exchange, method, path, undefined, given);
        require("./fetch_exchange.js").run(call, this.#fetch, start, (addon, handle) => this.#options(call, addon, handle, options));
        return promise;
      }
      const slot = this.#core.open();
      const engine = getEngine();
      const handle = options === undefined ? undefined : this.#options(call, engine.addon, engine.options, options);
      engine.submitted(call, engine.addon.submitRequest(slot, method, path, undefined, handle));
    } catch (error) {
      call.fail(error);
    }
    return promise;
  }

  /** The call's own settings in an options handle; undefined when there is nothing of its own. */
  #options(call, addon, handle, options, model, extra) {
    const core = this.#core;
    if (options !== undefined && options !== null) {
      if (typeof options !== "object") throw new TypeSafeError("the options of a call must be an object.");
      const retry = settings.mergeRetry(core.retry, options.retry);
      call.timeout = options.timeout === undefined ? core.timeout : settings.limit("timeout", options.timeout);
      call.deadline = settings.deadlineFor(options.deadline ?? core.givenDeadline, call.timeout, retry);
      const changed = retry !== core.retry || call.timeout !== core.timeout || call.deadline !== core.deadline;
      if (!changed && model === undefined && extra === undefined && options.headers === undefined && options.check === undefined) return undefined;
      return settings.callOptions(addon, handle, { timeout: call.timeout, deadline: call.deadline, retry, changed }, options, model, extra);
    }
    return settings.callOptions(addon, handle, { changed: false }, undefined, model, extra);
  }

  #tellStart(call, route, options, body) {
    const core = this.#core;
    call.tag = `#${++core.calls} ${route}`;
    if (core.debugs) core.logger.debug(`${call.tag} ->`, { headers: masked({ ...this.defaultHeaders, ...options?.headers }), body });
  }

  /** Cancels the calls in flight and gives back what the client holds. May be called again. */
  async close() {
    unused.unregister(this);
    this.#core.close();
  }

  async [asyncDispose()]() {
    await this.close();
  }
}

function asyncDispose() {
  return Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
}

/** Fields of a request that the core does not know, as [name, JSON] pairs; undefined when there are none. */
function extraFields(request) {
  let extra;
  for (const name in request) {
    if (name === "state" || name === "questions" || name === "model" || !Object.hasOwn(request, name)) continue;
    let json;
    try {
      json = JSON.stringify(request[name]);
    } catch (cause) {
      throw new TypeSafeError(`${name} cannot be written as JSON: ${cause.message}`, { cause });
    }
    if (json !== undefined) (extra ??= []).push([name, json]);
  }
  return extra;
}

module.exports = { TypeSafeClient };
