// One implementation for both module systems: instanceof holds across them.
// (By require, because an import would have Node scan the file for its exports, which takes longer than to run it.)
import { createRequire } from "node:module";

const deemster = createRequire(import.meta.url)("./dist/index.cjs");

export const {
  APIConnectionError, APIDeadlineError, APIError, APIPromise, APIResponseValidationError, APITimeoutError, APIUserAbortError,
  AuthenticationError, BadRequestError, ConflictError, ENV, InternalServerError, LOG_LEVELS, NotFoundError, OverloadedError,
  PaymentRequiredError, PermissionDeniedError, QuestionSet, QuestionSetError, RateLimitError, RequestTooLargeError,
  TypeSafeClient, TypeSafeError, UnprocessableEntityError, VERSION, choice, noul, score,
} = deemster;
