// One implementation for both module systems: instanceof holds across them.
import deemster from "./index.cjs";

export const {
  APIConnectionError, APIDeadlineError, APIError, APIPromise, APIResponseValidationError, APITimeoutError, APIUserAbortError,
  AuthenticationError, BadRequestError, ConflictError, ENV, InternalServerError, LOG_LEVELS, NotFoundError, OverloadedError,
  PaymentRequiredError, PermissionDeniedError, QuestionSet, QuestionSetError, RateLimitError, RequestTooLargeError,
  TypeSafeClient, TypeSafeError, UnprocessableEntityError, VERSION, choice, noul, score,
} = deemster;
