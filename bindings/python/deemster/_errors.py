"""The errors: one tree under TypeSafeError. Every one can be pickled, and none shows the key or the caller's state."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._headers import Headers

if TYPE_CHECKING:
    from ._response import SystemOneResponse

REQUEST_ID_HEADERS = ("x-typesafe-request-id", "x-request-id", "request-id", "cf-ray")
SHOWN_BODY = 200  # characters of an unknown error body that a message quotes


class TypeSafeError(Exception):
    """Any failure of this package; raised itself when a request is refused before it is sent.

    Errors of a call carry what is known about it: `code` (such as "DEEM_E_TIMEOUT"), `attempts` and `response`,
    which is readable also after a failure (usage, request id, good answers, raw body).
    """

    code: str | None = None
    """The name of the library's status code; None for errors that are not about a call."""
    attempts: int | None = None
    """How often the request was sent or tried to be sent."""
    response: SystemOneResponse | None = None
    """Everything known about the call; None when nothing was tried."""


class TypeSafeConfigurationError(TypeSafeError, ValueError):
    """A setting is missing, malformed or out of range. The message names it and never shows the key."""


class TypeSafeQuestionError(TypeSafeError, ValueError):
    """A question set cannot be used. `findings` names every problem with its path."""

    findings: tuple[Any, ...] = ()


class TypeSafeStateError(TypeSafeError, ValueError):
    """The state is not text, a JSON object or an array, or holds something that has no JSON form. `path` says where."""

    path: str = ""


class TypeSafeValidationError(TypeSafeError, ValueError):
    """Data does not fit a type of this package; `field_path` says where (raised by `model_validate` and constructors)."""

    def __init__(self, message: str, field_path: str = "") -> None:
        super().__init__(message, field_path)
        self.field_path = field_path
        """Dotted path of the first field that does not fit."""

    def __str__(self) -> str:
        return f"{self.field_path}: {self.args[0]}" if self.field_path else str(self.args[0])

    def errors(self, **_options: Any) -> list[dict[str, Any]]:
        """The problem as a list of one entry with `loc`, `msg` and `type`."""
        return [{"loc": tuple(self.field_path.split(".")) if self.field_path else (), "msg": self.args[0], "type": "value_error"}]


class TypeSafeClosedError(TypeSafeError, RuntimeError):
    """The client is closed, or was closed while the call was under way."""


class TypeSafeAPIError(TypeSafeError):
    """The server answered with an error status, or with something that must not be believed.

    Example:
        >>> try:
        ...     client.system_one(state, questions)
        ... except TypeSafeAPIError as error:
        ...     print(error.status, error.request_id)
    """

    def __init__(
        self, status: int, body: Any, headers: Mapping[str, str], message: str | None = None, endpoint: str | None = None
    ) -> None:
        super().__init__(status, body, headers, message, endpoint)
        self.status = status
        """The HTTP status."""
        self.body = body
        """The body: parsed JSON, or text, or None when it was empty. May quote what was sent."""
        self.headers = headers
        """The reply's headers, names compared without regard to case."""
        self.endpoint = endpoint
        """Method and URL, without credentials and query; None when unknown."""
        self._message = message if message is not None else describe_body(body)

    @property
    def request_id(self) -> str | None:
        """The id that the server gave the request, or None. Never raises."""
        for name in REQUEST_ID_HEADERS:
            value = self.headers.get(name)
            if value:
                return value
        return None

    def __str__(self) -> str:
        message = f"{self.status} {self._message}" if self._message else str(self.status)
        if self.endpoint is not None:
            message = f"{self.endpoint}: {message}"
        return message if self.request_id is None else f"{message} (request_id={self.request_id})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)[:1500]!r})"


class TypeSafeBadRequestError(TypeSafeAPIError):
    """400: the server refused the request. Not retried."""


class TypeSafeAuthenticationError(TypeSafeAPIError):
    """401: the API key is wrong. Not retried."""


class TypeSafePaymentRequiredError(TypeSafeAPIError):
    """402: billing. Not retried."""


class TypeSafePermissionDeniedError(TypeSafeAPIError):
    """403: not allowed, or no key was sent. Not retried."""


class TypeSafeNotFoundError(TypeSafeAPIError):
    """404: no such route or model. Not retried."""


class TypeSafeConflictError(TypeSafeAPIError):
    """409: conflict. Not retried."""


class TypeSafeRequestTooLargeError(TypeSafeAPIError):
    """413: the request is too large for the server. Not retried."""


class TypeSafeUnprocessableEntityError(TypeSafeAPIError):
    """422: the server found the request invalid. Not retried."""


class TypeSafeRateLimitError(TypeSafeAPIError):
    """429: too many requests. Retried."""

    def __init__(
        self, status: int, body: Any, headers: Mapping[str, str], message: str | None = None, endpoint: str | None = None
    ) -> None:
        super().__init__(status, body, headers, message, endpoint)
        self.retry_after_ms: float | None = retry_after_ms(headers)
        """The wait that the server asked for in milliseconds, or None."""


class TypeSafeInternalServerError(TypeSafeAPIError):
    """5xx: the server failed. Retried."""


class TypeSafeOverloadedError(TypeSafeInternalServerError):
    """529: the server is overloaded. Retried."""


class TypeSafeAPIResponseValidationError(TypeSafeAPIError):
    """A 2xx reply that fails a check. `field_path` says where; `response` holds all that is good in it."""

    reason: str = ""
    """Which check failed, such as "range" or "sum"."""

    def __init__(
        self, status: int, body: Any, headers: Mapping[str, str], field_path: str, endpoint: str | None = None,
        message: str | None = None,
    ) -> None:  # fmt: skip
        self.field_path = field_path
        """Dotted path of the first bad field, such as `answers.tone.confidence`; empty when the body as a whole is bad."""
        super().__init__(status, body, headers, message or f"The reply is not valid at {field_path or 'its top level'!r}.", endpoint)
        self.args: tuple[Any, ...] = (status, body, headers, field_path, endpoint, message)


class TypeSafeAPIConnectionError(TypeSafeError, ConnectionError):
    """The request got no HTTP reply: name, connection, TLS, proxy or a reply cut short. Retried."""


class TypeSafeAPITimeoutError(TypeSafeAPIConnectionError, TimeoutError):
    """An attempt took longer than `timeout` seconds. Retried."""

    def __init__(self, timeout: Any) -> None:
        super().__init__(timeout)
        self.timeout = timeout
        """The limit of one attempt, in seconds (or the Timeout object that was given)."""

    def __str__(self) -> str:
        return f"Request timed out (timeout={self.timeout})."

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class TypeSafeDeadlineError(TypeSafeAPITimeoutError):
    """The call as a whole took longer than its deadline. `cause_text` says what the last attempt came to."""

    cause_text: str = ""

    def __str__(self) -> str:
        return self.cause_text or f"The call took longer than its deadline ({self.timeout} s)."


STATUS_ERRORS: dict[int, type[TypeSafeAPIError]] = {
    400: TypeSafeBadRequestError,
    401: TypeSafeAuthenticationError,
    402: TypeSafePaymentRequiredError,
    403: TypeSafePermissionDeniedError,
    404: TypeSafeNotFoundError,
    409: TypeSafeConflictError,
    413: TypeSafeRequestTooLargeError,
    422: TypeSafeUnprocessableEntityError,
    429: TypeSafeRateLimitError,
    529: TypeSafeOverloadedError,
}


def status_error(status: int) -> type[TypeSafeAPIError]:
    """The class of an HTTP error status."""
    return STATUS_ERRORS.get(status) or (TypeSafeInternalServerError if status >= 500 else TypeSafeAPIError)


def describe_body(body: Any) -> str:
    """One sentence out of an error body (the shapes that servers are known to use)."""
    if body is None:
        return "status code (no body)"
    found = _message_in(body)
    if found:
        return found
    raw = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=str)
    return raw if len(raw) <= SHOWN_BODY else raw[:SHOWN_BODY] + "…"


def _message_in(body: Any) -> str | None:
    if isinstance(body, str):
        return body or None
    if not isinstance(body, Mapping):
        return None
    for name in ("error", "message", "detail"):
        value = body.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, Mapping) and isinstance(value.get("message"), str):
            return str(value["message"])
        if name == "detail" and isinstance(value, list):
            return "; ".join(_issue(item) for item in value if isinstance(item, Mapping) and isinstance(item.get("msg"), str)) or None
        if name == "detail" and isinstance(value, Mapping) and isinstance(value.get("error_type"), str):
            return str(value["error_type"])
    return None


def _issue(item: Mapping[str, Any]) -> str:
    place = item.get("loc")
    path = ".".join(str(step) for step in place if step != "body") if isinstance(place, list) else ""
    return f"{path}: {item['msg']}" if path else str(item["msg"])


def retry_after_ms(headers: Mapping[str, str]) -> float | None:
    """The wait that a reply's headers ask for in milliseconds; None when they ask for none that makes sense."""
    for name, factor in (("retry-after-ms", 1.0), ("retry-after", 1000.0)):
        raw = (headers.get(name) or "").strip()
        if not raw:
            continue
        try:
            value = float(raw) * factor
        except ValueError:
            if factor == 1.0:
                continue
            from email.utils import parsedate_to_datetime

            try:
                return max(0.0, (parsedate_to_datetime(raw).timestamp() - time.time()) * 1000)
            except (ValueError, TypeError, OverflowError):
                return None
        if math.isfinite(value) and value >= 0:
            return value
    return None
