"""One call: what is handed to the library, and what its outcome is in Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import _log
from ._config import Config, add_header, milliseconds, seconds, set_retry, settings_error
from ._encode import encode, refused
from ._errors import (
    TypeSafeAPIConnectionError,
    TypeSafeAPIResponseValidationError,
    TypeSafeAPITimeoutError,
    TypeSafeClosedError,
    TypeSafeConfigurationError,
    TypeSafeDeadlineError,
    TypeSafeStateError,
    TypeSafeValidationError,
    status_error,
)
from ._library import ffi, lib, new, status_name, text
from ._reply import Reply
from ._response import Response, SystemOneResponse, parsed_body

if TYPE_CHECKING:
    from ._retry import RetryPolicy
    from ._sets import QuestionSet

R = TypeVar("R", bound=Response)
OK, MEMORY, CANCELLED, INTERRUPTED = lib.DEEM_OK, lib.DEEM_E_MEMORY, lib.DEEM_E_CANCELLED, lib.DEEM_E_INTERRUPTED
MISUSE, INVALID_REPLY = lib.DEEM_E_MISUSE, lib.DEEM_E_INVALID_REPLY


_NOTHING = (None,) * 7


class Call:
    """The settings of one call. Those that are None are the client's."""

    __slots__ = ("deadline", "extra_body", "extra_headers", "model", "retry", "strict", "timeout")

    def __init__(
        self,
        model: str | None,
        retry: RetryPolicy | None,
        timeout: Any,
        deadline: float | None,
        strict: bool | None,
        extra_headers: Mapping[str, str] | None,
        extra_body: Mapping[str, Any] | None,
    ) -> None:
        self.model = model
        self.retry = retry
        self.timeout = timeout
        self.deadline = deadline
        self.strict = strict
        self.extra_headers = extra_headers
        self.extra_body = extra_body

    @classmethod
    def of(cls, *settings: Any) -> Call | None:
        """The settings of a call, or None when there are none of its own."""
        return None if settings == _NOTHING else cls(*settings)

    def fill(self, options: Any, config: Config) -> None:
        """Writes the settings into an options handle."""
        if self.model is not None:
            raw = self.model.encode()
            settled(options, lib.deem_options_set_model(options, raw, len(raw)))
        timeout = config.timeout
        if self.timeout is not None:
            timeout = seconds(self.timeout, "timeout")
            settled(options, lib.deem_options_set_attempt_ms(options, milliseconds(timeout)))
        if self.retry is not None:
            set_retry(self.retry, "options", options, settled)
        if self.timeout is not None or self.retry is not None or self.deadline is not None:
            limit = config.deadline(timeout, self.retry or config.retry, self.deadline)
            settled(options, lib.deem_options_set_deadline_ms(options, milliseconds(limit)))
        if self.strict is not None:
            check = lib.DEEM_CHECK_STRICT if self.strict else lib.DEEM_CHECK_LENIENT
            settled(options, lib.deem_options_set_check(options, check))
        for name, value in (self.extra_headers or {}).items():
            add_header(lib.deem_options_add_header, options, name, value, settled)
        for name, value in (self.extra_body or {}).items():
            raw, document = name.encode(), encode(value, name)
            settled(options, lib.deem_options_add_field(options, raw, len(raw), document, len(document)))


def new_options() -> Any:
    """An options handle that the garbage collector frees."""
    out = new("deem_options **")
    if lib.deem_options_new(out) != OK:
        raise MemoryError
    return ffi.gc(out[0], lib.deem_options_free)


def settled(options: Any, code: int) -> None:
    """Raises what an options setter refused."""
    if code != OK:
        raise settings_error(code, text(lib.deem_options_error, options) or "")


def encoded_state(state: Any) -> tuple[bytes, bool]:
    """The state's bytes, and whether they are text rather than JSON. Raises TypeSafeStateError."""
    if isinstance(state, str):
        try:
            return str.encode(state), True
        except UnicodeEncodeError as error:
            raise refused("state", f"is no valid Unicode text: character {error.start} is half of a surrogate pair.") from None
    if state is None:
        raise TypeSafeStateError("state is required: text, an object or a list.")
    document = encode(state)
    if document[:1] not in b'{["':
        raise refused("state", f"must be text, an object or a list, not {type(state).__name__}.")
    return document, False


def overridden(state: Any, questions: Any, model: str | None, extra_body: Mapping[str, Any] | None) -> tuple[Any, Any, Any, Any]:
    """State, questions, model and the rest of extra_body, which may replace any of the three."""
    if extra_body and not extra_body.keys().isdisjoint(("state", "questions", "model")):
        rest = dict(extra_body)
        state, questions, model = rest.pop("state", state), rest.pop("questions", questions), rest.pop("model", model)
        return state, questions, model, rest
    return state, questions, model, extra_body


def with_assets(call: Call | None, assets: Any, payload: bytes, questions: QuestionSet[Any]) -> Call | None:
    """The call with what the library does not know itself: images, and box questions."""
    module = sys.modules.get("deemster._assets")
    fields: dict[str, Any] = {}
    if module is not None and (assets or module._images) and not (call and call.extra_body and "assets" in call.extra_body):
        found = module.gathered(assets, payload, (questions.json if questions._whole is None else questions._whole.decode()).encode())
        if found:
            fields["assets"] = found
    if questions._whole is not None:
        fields["questions"] = json.loads(questions._whole)
    if fields:
        call = call or Call(None, None, None, None, None, None, None)
        call.extra_body = {**fields, **(call.extra_body or {})}
    return call


def response_of(reply: Reply, code: int, kind: type[R], config: Config, call: Call | None) -> R:
    """The response of a finished call; raises when it failed."""
    if code == OK:
        response = kind._of(reply)
        if kind is not SystemOneResponse and issubclass(kind, SystemOneResponse):
            try:
                response._lift()  # type: ignore[attr-defined]
            except TypeSafeValidationError as problem:
                raise mismatch(response, problem.field_path) from problem
        _log.finished(reply, None)
        return response
    error = error_of(reply, code, kind, config, call)
    _log.finished(reply, error)
    raise error from reply.cause


def mismatch(response: Response, path: str) -> TypeSafeAPIResponseValidationError:
    """The error of a good reply that does not fit the caller's own response model."""
    body = parsed_body(response.raw)
    error = TypeSafeAPIResponseValidationError(response.status or 0, body, response.headers, path, response.endpoint)
    error.response = response if isinstance(response, SystemOneResponse) else None
    error.attempts = response.attempts
    return error


def error_of(reply: Reply, code: int, kind: type[Response], config: Config, call: Call | None) -> Exception:
    """The exception of a failed call."""
    if code == MEMORY:
        return MemoryError()
    if code == MISUSE or 100 <= code < 300:
        return settings_error(code, reply.message())
    message, status = reply.message(), reply.status()
    error: Any
    timeout = call.timeout if call is not None and call.timeout is not None else config.timeout_given
    if code == CANCELLED:
        error = TypeSafeClosedError(message or "The client was closed.")
    elif code == INVALID_REPLY:
        endpoint = reply.endpoint()
        error = TypeSafeAPIResponseValidationError(
            status or 0, parsed_body(reply.body() or b""), reply.headers(), reply.path(), " ".join(endpoint) if endpoint else None, message
        )
        error.reason = reply.reason()
    elif code == lib.DEEM_E_DEADLINE and not (status and status >= 400):
        retry = call.retry if call is not None and call.retry is not None else config.retry
        limit = config.deadline(seconds(timeout, "timeout"), retry, call.deadline if call is not None else None)
        error = TypeSafeDeadlineError(limit)
        error.cause_text = message
    elif code == lib.DEEM_E_TIMEOUT:
        error = TypeSafeAPITimeoutError(timeout)
    elif status and code >= lib.DEEM_E_DEADLINE:
        endpoint = reply.endpoint()
        body = parsed_body(reply.body() or b"")
        error = status_error(status)(status, body, reply.headers(), None, " ".join(endpoint) if endpoint else None)
    else:
        error = TypeSafeAPIConnectionError(f"Connection error: {message}")
    error.code = status_name(code)
    error.attempts = reply.attempts()
    error.response = kind._of(reply) if issubclass(kind, SystemOneResponse) else None
    return error  # type: ignore[no-any-return]


def whole_body(response: Response, model: Any) -> Any:
    """A caller's own pydantic model of the whole body."""
    try:
        return model.model_validate_json(response.raw)
    except ValueError as error:
        errors = getattr(error, "errors", None)
        place: Any = errors()[0]["loc"] if callable(errors) else ()  # pyright: ignore[reportIndexIssue]
        raise mismatch(response, ".".join(str(step) for step in place if step != "[key]")) from error


def response_class(model: Any) -> tuple[type[Any], Any]:
    """The class that reads the reply, and the caller's own model of the whole body, if any."""
    if model is None:
        return SystemOneResponse, None
    if isinstance(model, type) and issubclass(model, SystemOneResponse):
        return model, None
    if hasattr(model, "model_validate_json"):
        return SystemOneResponse, model
    raise TypeSafeConfigurationError("response_model must be a subclass of SystemOneResponse or a pydantic model.")
