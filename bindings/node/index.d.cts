// Types of the package deemster. index.d.mts re-exports this file, so that there is one set of types.

// --- JSON and what callers may hand in ------------------------------------------------------------------------------

/** A JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A text, a JSON object or array, or null, as replies hold it. */
export type EntryType = string | { [key: string]: JsonValue } | JsonValue[] | null;

/** A text, or anything that JSON.stringify makes an object or array of: interfaces, dates inside, optional fields. */
export type EntryInput = string | object | null;

/** What a label or level means; null says that it speaks for itself. */
export type Description = EntryInput;

// --- Questions ------------------------------------------------------------------------------------------------------

/** A yes/no question. */
export interface NoulQuestion {
  type: "noul";
  /** The question. Needed unless there are criteria. */
  instructions?: EntryInput | undefined;
  /** What yes (`true`) and no (`false`) mean. */
  criteria?: { true?: EntryInput | undefined; false?: EntryInput | undefined } | null | undefined;
}

/** 1 to 255 labels with their descriptions. Pairs and maps keep the order of whole-number labels; objects do not. */
export type ChoiceCriteria =
  | { readonly [label: string]: Description }
  | ReadonlyMap<string, Description>
  | readonly (readonly [label: string, description: Description])[];

/** A question that is answered by one of its labels. */
export interface ChoiceQuestion<T extends ChoiceCriteria = ChoiceCriteria> {
  type: "choice";
  instructions?: EntryInput | undefined;
  criteria: T;
}

/** 1 to 10 levels, lowest first. */
export type ScoreCriteria = readonly EntryInput[];

/** A question that is answered by a position on its levels. */
export interface ScoreQuestion<T extends ScoreCriteria = ScoreCriteria> {
  type: "score";
  instructions?: EntryInput | undefined;
  criteria: T;
}

export type Question = NoulQuestion | ChoiceQuestion | ScoreQuestion;

/** Questions by the names under which their answers come back. */
export interface Questions {
  [name: string]: Question;
}

/** The labels of a choice. */
export type LabelOf<T extends ChoiceCriteria> =
  T extends ReadonlyMap<infer K, unknown> ? K & string
    : T extends readonly (readonly [infer K, unknown])[] ? K & string
      : `${keyof T & (string | number)}`;

/** The levels of a score as the keys of its answer: "0", "1", … for a tuple, else any number. */
export type ScoreOf<T extends ScoreCriteria> = number extends T["length"] ? number : Extract<keyof T, `${number}`>;

export declare function noul(instructions?: EntryInput, criteria?: NoulQuestion["criteria"]): NoulQuestion;
export declare function choice<const T extends ChoiceCriteria>(instructions: EntryInput, criteria: T): ChoiceQuestion<T>;
export declare function score<const T extends ScoreCriteria>(instructions: EntryInput, criteria: T): ScoreQuestion<T>;

/** A finding of the offline check. */
export interface Finding {
  readonly severity: "error" | "warning";
  /** The rule's id, such as "duplicate-key". */
  readonly rule: string;
  /** Where, such as `questions.team.criteria`. */
  readonly path: string;
  readonly message: string;
  readonly advice: string;
}

/** Questions, checked and compiled once. May be shared by the clients of a thread; the quickest form to ask with. */
export declare class QuestionSet<const Q extends Questions = Questions> {
  /** @throws {QuestionSetError} The set has errors. */
  constructor(
    questions: Q | ReadonlyMap<string, Question> | readonly (readonly [name: string, question: Question])[],
    options?: { model?: string },
  );
  /** From a question file's text: the `questions` object, or `{"model": …, "questions": …}`. */
  static fromJSON(text: string): QuestionSet;
  /** All findings of the offline check, errors and warnings. */
  static check(questions: Questions | ReadonlyMap<string, Question> | readonly (readonly [string, Question])[]): Finding[];
  readonly names: (keyof Q & string)[];
  readonly kinds: ("noul" | "choice" | "score")[];
  /** The model that calls with this set ask for when they name none. */
  readonly model: string | undefined;
  /** The SHA-256 of the bytes that are sent. */
  readonly identity: string;
  /** The bytes that are sent. */
  readonly json: string;
  readonly warnings: Finding[];
  private readonly questions: Q;
}

// --- Answers --------------------------------------------------------------------------------------------------------

export interface NoulResponse {
  readonly type: "noul";
  /** The probability of yes, 0 to 1. */
  readonly noul: number;
}

export interface ChoiceResponse<T extends ChoiceCriteria = ChoiceCriteria> {
  readonly type: "choice";
  /** The chosen label. */
  readonly choice: LabelOf<T>;
  /** 0 to 1. */
  readonly confidence: number;
  readonly probabilities: { readonly [label in LabelOf<T>]: number };
}

export type ScoreLegend<T extends ScoreCriteria> = { readonly [level in ScoreOf<T>]: T[level] };

export interface ScoreResponse<T extends ScoreCriteria = ScoreCriteria> {
  readonly type: "score";
  /** The position on the levels, 0 to their number less one; may lie between two. */
  readonly score: number;
  /** 0 to 1. */
  readonly confidence: number;
  readonly legend: ScoreLegend<T>;
  readonly probabilities: { readonly [level in ScoreOf<T>]: number };
}

/** The answer to a question. */
export type ResultFor<T extends Question> =
  T extends { type: "noul" } ? NoulResponse
    : T extends { type: "score"; criteria: infer S extends ScoreCriteria } ? ScoreResponse<S>
      : T extends { type: "choice"; criteria: infer C extends ChoiceCriteria } ? ChoiceResponse<C>
        : never;

/** Token counts. (One above 2^53 arrives as a bigint, so that it stays exact.) */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

export interface SystemOneResult<Q extends Questions> {
  /** The model that answered. */
  readonly model: string;
  readonly answers: { readonly [K in keyof Q]: ResultFor<Q[K]> };
  readonly usage: Usage;
}

export interface ModelCard {
  readonly name: string;
  readonly description: string;
  readonly release_date: string;
}

// --- Calls ----------------------------------------------------------------------------------------------------------

/** A state and the questions about it. Further fields are sent as they stand; undefined ones are left out. */
export interface SystemOneRequest<Q extends Questions = Questions> {
  /** A text, an object or an array. */
  state: EntryInput;
  questions: Q | QuestionSet<Q>;
  model?: string | undefined;
}

/** The body of POST /v1/systemone. */
export interface SystemOneRequestPayload extends SystemOneRequest {
  model: string;
}

export interface RetryPolicy {
  /** How often a failed call is tried again. Default 2. */
  readonly maxRetries: number;
  /** The first wait in milliseconds, doubled each time. Default 500. */
  readonly backoffInitialMs: number;
  /** The longest such wait in milliseconds. Default 5000. */
  readonly backoffMaxMs: number;
  /** The random share taken off a wait, 0 to 1. Default 0.25. */
  readonly backoffJitter: number;
  /** Default 408, 429 and 500 to 599. */
  readonly httpStatuses: ReadonlySet<number>;
  /** Obey Retry-After and retry-after-ms. Default true. */
  readonly respectRetryAfter: boolean;
  /** A longer server-given wait counts as absent. Default Infinity: only the deadline bounds it, and then the call fails at once. */
  readonly maxRetryAfterMs: number;
  /** Retry connection errors. Default true. */
  readonly apiConnectionError: boolean;
  /** Retry attempts that took too long. Default true. */
  readonly apiTimeoutError: boolean;
}

export interface RequestOptions {
  /** Cancels the call, whatever it is doing. */
  signal?: AbortSignal | undefined;
  /** The limit of each attempt in milliseconds, the whole body included. */
  timeout?: number | undefined;
  /** The limit of the call as a whole in milliseconds; null or Infinity for none. */
  deadline?: number | null | undefined;
  /** Fields given here replace the client's; the others stay. */
  retry?: Partial<RetryPolicy> | undefined;
  headers?: Record<string, string> | undefined;
  /** Whether a reply that fails a check fails the call. */
  check?: "strict" | "lenient" | undefined;
}

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;
export type LogLevel = "debug" | "info" | "warn" | "error" | "off";

export interface Logger {
  debug(message: string, ...args: unknown[]): void;
  info(message: string, ...args: unknown[]): void;
  warn(message: string, ...args: unknown[]): void;
  error(message: string, ...args: unknown[]): void;
}

/** Options of a client. What is not given comes from the environment, then from the default. */
export interface TypeSafeClientConfig {
  /** TYPESAFE_API_KEY. Checked at once, and never shown. */
  apiKey?: string | undefined;
  /** TYPESAFE_BASE_URL, then https://api.typesafe.ai. A path prefix is kept. */
  baseURL?: string | undefined;
  /** TYPESAFE_DEFAULT_MODEL, then jev-latest. */
  defaultModel?: string | undefined;
  /** TYPESAFE_LOG_LEVEL, then warn. `info` gives a line per call, `debug` headers (credentials masked) and bodies. */
  logLevel?: LogLevel | undefined;
  /** Where log lines go; default console. */
  logger?: Logger | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  /** The limit of each attempt in milliseconds. Default 10,000. */
  timeout?: number | undefined;
  /**
   * The limit of a call as a whole in milliseconds, waits and retries included; null or Infinity for none. Default 30,000, or
   * timeout × attempts when a timeout above 10,000 is given.
   */
  deadline?: number | null | undefined;
  defaultHeaders?: Record<string, string> | undefined;
  dangerouslyAllowBrowser?: boolean | undefined;
  /** A transport of your own: attempts, waits, deadline and checks stay the client's. */
  fetch?: Fetch | undefined;
  /** How the key is sent. Default "bearer"; "none" needs no key. */
  auth?: "bearer" | "x-api-key" | "none" | undefined;
  /** Whether a reply that fails a check fails the call. Default "strict". */
  check?: "strict" | "lenient" | undefined;
  /** The route that evaluates, default /v1/systemone. */
  evaluatePath?: string | undefined;
  /** An http:// URL; "" for none. Default: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY. */
  proxy?: string | undefined;
  /** Hosts reached without the proxy. Default: NO_PROXY. */
  noProxy?: string | undefined;
  /** A PEM file with the CA certificates to trust, in place of the system's. */
  ca?: string | undefined;
  /** Default 256; further calls wait their turn. */
  maxConnections?: number | undefined;
  /** How long an unused connection is kept, in milliseconds. Default 60,000. */
  idleTimeout?: number | undefined;
  /** The largest reply, also after decompression. Default 16 MiB. */
  maxReplyBytes?: number | undefined;
  /** Added to the User-Agent. */
  userAgentSuffix?: string | undefined;
}

/** Durations in milliseconds; 0 for a step that did not happen. */
export interface Timings {
  readonly total: number;
  readonly queue: number;
  readonly dns: number;
  readonly connect: number;
  readonly tls: number;
  readonly firstByte: number;
  readonly waits: number;
}

/** A question without a good answer. */
export interface Problem {
  /** Its index in the question set. */
  readonly question: number;
  /** Such as DEEM_REASON_RANGE. */
  readonly reason: string;
  /** Where in the reply. */
  readonly path: string;
  readonly message: string;
}

export interface WithResponse<T> {
  data: T;
  response: Response;
  requestId: string | undefined;
  /** How often the request was sent or tried to be sent. */
  attempts?: number;
  timings?: Timings;
  /** Bytes of all attempts, heads included. */
  sent?: number;
  received?: number;
  /** Whether the last attempt used a kept connection. */
  reused?: boolean;
  /** What a lenient call let pass. */
  problems?: Problem[];
}

/** The promise of a result that also gives the HTTP response. The request is sent at once, not when it is awaited. */
export declare class APIPromise<T> extends Promise<T> {
  constructor(responsePromise: Promise<Response>, parseResponse: (response: Response) => Promise<T>);
  /** The response with its whole body, unread; awaiting the result afterwards works. */
  asResponse(): Promise<Response>;
  withResponse(): Promise<WithResponse<T>>;
  map<U>(fn: (data: T) => U): APIPromise<U>;
}

export declare class Models {
  private constructor();
  list(options?: RequestOptions): APIPromise<ModelCard[]>;
}

/** Options of evaluateMany(). The limits of a call count from the moment that the limiter releases its row. */
export interface EvaluateManyOptions<T = unknown> extends RequestOptions {
  model?: string | undefined;
  /** Makes the state of an input; default: the input is the state. */
  state?: ((input: T, index: number) => EntryInput) | undefined;
  /** Rows of different groups never share a request or an answer. */
  group?: ((input: T, index: number) => string) | undefined;
  /** At most so many requests in any window; null for no limit. Default 1,000 in 60,000 ms. */
  requestRate?: { requests: number; perMs: number } | null | undefined;
  /** At most so many tokens in any window; null for no limit. Default 100,000 in 1,000 ms. */
  tokenRate?: { tokens: number; perMs: number } | null | undefined;
  /** The most requests in flight. Default 64; fewer while more do not pay. */
  concurrency?: number | undefined;
  /** How many rows are read ahead of the one that is taken. Default 4,096. */
  window?: number | undefined;
  /** How many bytes of states are held. Default 64 MiB. */
  windowBytes?: number | undefined;
  /** Rows in the order of the inputs (default), or as they are done. */
  ordered?: boolean | undefined;
  /** Among how many different states an equal one is looked for, which is not asked again; false for never. Default 4,096. */
  dedupe?: number | false | undefined;
  /** Many rows in one request: each question brings its row along, or the state holds the rows. Default "none". */
  pack?: "none" | "question" | "state" | undefined;
  /** The most rows in a request that packs. Default 20. */
  packRows?: number | undefined;
  /** Mixes the rows among the packs, the same way for the same seed. */
  packShuffle?: number | undefined;
  /** A file that every good row is written to before it is handed out. */
  journal?: string | undefined;
  /** Go on with what the journal holds: only what is missing is asked. */
  resume?: boolean | undefined;
  /** The most input tokens: nothing is sent that could pass it. */
  maxTokens?: number | undefined;
  /** Check, pack and count everything, and send nothing. */
  rehearsal?: boolean | undefined;
  /** Told how the batch stands, some ten times a second and at the end. */
  onProgress?: ((stats: BatchStats) => void) | undefined;
}

/** How a batch stands. */
export interface BatchStats {
  /** Rows read, done, and of these failed, taken from the journal, equal to an earlier one, never sent. */
  readonly pushed: number;
  readonly done: number;
  readonly failed: number;
  readonly restored: number;
  readonly duplicates: number;
  readonly unsent: number;
  /** Requests sent, retries among them. */
  readonly requests: number;
  readonly retries: number;
  /** Packs that were halved and asked again. */
  readonly splits: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly estimatedTokens: number;
  /** As the replies state; undefined when none did. */
  readonly cost: number | undefined;
  /** How much longer nothing is sent because the server asked so. */
  readonly pausedMs: number;
  readonly inFlight: number;
  readonly concurrency: number;
  /** Nothing more is sent: the token cap, or an error that hits every row. */
  readonly stopped: boolean;
}

/** A row of evaluateMany(): a result or an error, never both. */
export type Row<Q extends Questions, T> = {
  readonly index: number;
  readonly input: T;
  /** The answers come from the journal. */
  readonly restored: boolean;
  /** The state equals an earlier one and has its answers. */
  readonly duplicate: boolean;
  /** The row was never sent. */
  readonly unsent: boolean;
} & ({ readonly result: SystemOneResult<Q>; readonly error: undefined } | { readonly result: undefined; readonly error: TypeSafeError });

/** The rows of an evaluateMany(). Goes with the first next(); breaking off cancels what is in flight. */
export interface Evaluations<Q extends Questions, T> extends AsyncIterableIterator<Row<Q, T>> {
  readonly stats: BatchStats;
}

export declare class TypeSafeClient {
  readonly baseURL: string;
  readonly defaultModel: string;
  readonly logLevel: LogLevel;
  readonly logger: Logger;
  readonly retry: RetryPolicy;
  readonly timeout: number;
  readonly deadline: number;
  readonly defaultHeaders: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly models: Models;
  /** @throws {TypeSafeError} There is no key, or an option is wrong. */
  constructor(config?: TypeSafeClientConfig);
  /** Answers questions about a state. Rejects, and never throws, whatever is wrong. */
  systemOne<const Q extends Questions, E extends object = {}>(
    request: SystemOneRequest<Q> & E,
    options?: RequestOptions,
  ): APIPromise<SystemOneResult<Q>>;
  /**
   * Answers questions about many states: rows are read as fast as they are taken, requests are limited, packed and tried again
   * by the core. A row that fails has an error and does not end the others.
   */
  evaluateMany<const Q extends Questions, T>(
    inputs: Iterable<T> | AsyncIterable<T>,
    questions: Q | QuestionSet<Q>,
    options?: EvaluateManyOptions<T>,
  ): Evaluations<Q, T>;
  /** Cancels the calls in flight. May be called again; a client that is never closed does no harm. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// --- Errors ---------------------------------------------------------------------------------------------------------

export declare class TypeSafeError extends Error {
  constructor(message: string, options?: ErrorOptions);
}

/** The question set has errors. */
export declare class QuestionSetError extends TypeSafeError {
  readonly findings: Finding[];
  private constructor();
}

/** A status other than 2xx. */
export declare class APIError extends TypeSafeError {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON value, the text, or undefined. */
  readonly body: unknown;
  readonly requestId: string | undefined;
  readonly code: string | undefined;
  /** What a 422 is about, such as `questions.team.criteria`; of an invalid reply, where in it. */
  readonly path: string | undefined;
  readonly attempts: number | undefined;
  constructor(status: number, body: unknown, headers: Headers, message?: string);
  static fromResponse(status: number, body: unknown, headers: Headers): APIError;
}
/** 400 */
export declare class BadRequestError extends APIError {}
/** 401 */
export declare class AuthenticationError extends APIError {}
/** 402 */
export declare class PaymentRequiredError extends APIError {}
/** 403 */
export declare class PermissionDeniedError extends APIError {}
/** 404 */
export declare class NotFoundError extends APIError {}
/** 409 */
export declare class ConflictError extends APIError {}
/** 413 */
export declare class RequestTooLargeError extends APIError {}
/** 422 */
export declare class UnprocessableEntityError extends APIError {}
/** 429 */
export declare class RateLimitError extends APIError {
  readonly retryAfterMs: number | undefined;
}
/** 5xx */
export declare class InternalServerError extends APIError {}
/** 529 */
export declare class OverloadedError extends InternalServerError {}

/** A 2xx reply that must not be believed. */
export declare class APIResponseValidationError extends APIError {
  /** Such as DEEM_REASON_RANGE. */
  readonly reason: string | undefined;
  /** Every question without a good answer. */
  readonly problems: Problem[];
  readonly response: Response | undefined;
}

/** No reply. `code` is as Node's own where it has one (ECONNREFUSED, ENOTFOUND, ECONNRESET). */
export declare class APIConnectionError extends TypeSafeError {
  readonly code: string | undefined;
  readonly attempts: number | undefined;
  constructor(message?: string, options?: ErrorOptions);
}
/** An attempt took longer than `timeoutMs`. */
export declare class APITimeoutError extends APIConnectionError {
  readonly timeoutMs: number;
  constructor(timeoutMs: number, options?: ErrorOptions);
}
/** The call as a whole took longer than `timeoutMs`. */
export declare class APIDeadlineError extends APITimeoutError {}
/** The caller aborted the call, or closed the client. */
export declare class APIUserAbortError extends TypeSafeError {
  constructor(message?: string, options?: ErrorOptions);
}

// --- Constants ------------------------------------------------------------------------------------------------------

export declare const ENV: {
  readonly apiKey: "TYPESAFE_API_KEY";
  readonly baseURL: "TYPESAFE_BASE_URL";
  readonly defaultModel: "TYPESAFE_DEFAULT_MODEL";
  readonly logLevel: "TYPESAFE_LOG_LEVEL";
};
export type EnvVar = (typeof ENV)[keyof typeof ENV];
export declare const LOG_LEVELS: readonly LogLevel[];
export declare const VERSION: string;
