"""The responses: what a caller reads after a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from ._answers import ANSWER_TYPES, BoxAnswer, ChoiceAnswer, NoulAnswer, Problem, ScoreAnswer, Usage
from ._errors import REQUEST_ID_HEADERS, TypeSafeError, TypeSafeValidationError
from ._headers import Headers
from ._model import Field, FrozenModel, _rebuild, mapping_of, optional, sequence_of, string
from ._reply import Reply

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._types import Answer

V = TypeVar("V")


class Lazy(Generic[V]):
    """An attribute that is worked out at the first question for it and then kept in the object's __dict__."""

    def __init__(self, make: Callable[[Any], V]) -> None:
        self.make = make
        self.__doc__ = make.__doc__
        self.name: str = make.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> Lazy[V]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> V: ...
    def __get__(self, instance: Any, owner: type) -> Lazy[V] | V:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.make(instance)
        return value


def _answer_of(value: Any, path: str) -> Any:
    if isinstance(value, tuple(ANSWER_TYPES.values())):
        return value
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in ANSWER_TYPES:
        raise TypeSafeValidationError("This is no answer of a known type.", f"{path}.type")
    return ANSWER_TYPES[kind]._from(value, path)


class Response(FrozenModel):
    """What responses have in common: the facts of the call."""

    __slots__ = ("__dict__",)

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            self.__dict__.update(self._checked(values, ""))

    @classmethod
    def _of(cls, reply: Reply) -> Self:
        self = cls.__new__(cls)
        self.__dict__["_reply"] = reply
        return self

    @classmethod
    def _make(cls, values: dict[str, Any]) -> Self:
        self = cls.__new__(cls)
        self.__dict__.update(values)
        return self

    def _facts(self) -> dict[str, Any]:
        names = ("request_id", "status", "headers", "raw", "attempts", "timings", "bytes_sent", "bytes_received", "endpoint")
        return {name: getattr(self, name) for name in names} if self._held is not None else {
            name: self.__dict__[name] for name in names if name in self.__dict__
        }  # fmt: skip

    @property
    def _held(self) -> Reply | None:
        reply: Reply | None = self.__dict__.get("_reply")
        return reply

    @Lazy
    def request_id(self) -> str | None:
        """The id that the server gave the request, or None. Never raises."""
        return self._held.request_id() if self._held else None

    @Lazy
    def status(self) -> int | None:
        """The HTTP status, or None when there was no reply."""
        return self._held.status() if self._held else None

    @Lazy
    def headers(self) -> Headers:
        """The headers of the reply."""
        return self._held.headers() if self._held else Headers()

    @Lazy
    def raw(self) -> bytes:
        """The body of the reply as it came, decompressed; error bodies are cut at 64 KiB."""
        return (self._held.body() if self._held else None) or b""

    @Lazy
    def attempts(self) -> int:
        """How often the request was sent or tried to be sent."""
        return self._held.attempts() if self._held else 0

    @Lazy
    def timings(self) -> dict[str, float]:
        """Seconds by step: total, queue, dns, connect, tls, first_byte, waits."""
        return self._held.timings() if self._held else {}

    @Lazy
    def bytes_sent(self) -> int:
        """Bytes sent by all attempts, heads included."""
        return self._held.traffic()[0] if self._held else 0

    @Lazy
    def bytes_received(self) -> int:
        """Bytes received by all attempts, heads included."""
        return self._held.traffic()[1] if self._held else 0

    @Lazy
    def endpoint(self) -> str | None:
        """Method and URL that were called, without credentials and query."""
        found = self._held.endpoint() if self._held else None
        return None if found is None else " ".join(found)

    @property
    def raw_http_response(self) -> Any:
        """The reply as an `httpx2.Response` (or httpx); needs httpx2 to be installed. Use `raw`, `headers`, `status` without it."""
        if self.status is None:
            raise TypeSafeError("The response was not created from an HTTP reply.")
        httpx = _httpx()
        method, _, url = (self.endpoint or "GET http://unknown").partition(" ")
        names = [(name, value) for name, value in self.headers.multi_items() if name.lower() not in ("content-encoding", "transfer-encoding")]
        return httpx.Response(self.status, headers=names, content=self.raw, request=httpx.Request(method, url))

    @classmethod
    def from_http_response(cls, response: Any) -> Self:
        """An instance from an httpx2 (or httpx) response; a status that is no success raises the matching TypeSafeAPIError."""
        headers = Headers(list(response.headers.multi_items()))
        try:
            request = response.request
            endpoint = f"{request.method} {str(request.url).partition('?')[0]}"
        except RuntimeError:
            endpoint = None
        return cls._parsed(response.status_code, headers, bytes(response.content), endpoint)

    @classmethod
    def _parsed(cls, status: int, headers: Headers, body: bytes, endpoint: str | None) -> Self:
        from ._errors import TypeSafeAPIResponseValidationError, status_error

        data = parsed_body(body)
        if not 200 <= status < 300:
            raise status_error(status)(status, data, headers, endpoint=endpoint)
        try:
            self = cls._from(data, "")
        except TypeSafeValidationError as error:
            raise TypeSafeAPIResponseValidationError(status, data, headers, error.field_path, endpoint) from error
        found = next((headers[name] for name in REQUEST_ID_HEADERS if name in headers), None)
        self.__dict__.update(status=status, headers=headers, raw=body, endpoint=endpoint, request_id=found)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), {**self._values(), **self._facts()})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with fields replaced by `update` (taken as they are)."""
        import copy

        values = copy.deepcopy(self._values()) if deep else self._values()
        return self._make({**values, **self._facts(), **(update or {})})


class SystemOneResponse(Response):
    """The answers of one evaluation.

    `answers` holds every readable answer by question name; `nouls`, `choices`, `scores` and `boxes` are views of it by
    kind. Subclass it with annotated fields named like questions to read them as attributes:

    Example:
        >>> class Triage(SystemOneResponse):
        ...     billing: NoulAnswer
    """

    __slots__ = ()
    model_fields: ClassVar[dict[str, Field]] = {
        "model": Field(string, {"type": "string"}),
        "usage": Field(Usage._from, Usage.model_json_schema()),
        "answers": Field(mapping_of(string, _answer_of), {"type": "object"}, {}),
    }
    _answer_fields: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._answer_fields = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, SystemOneResponse) and base is not SystemOneResponse:
                for name, kind in base.__dict__.get("__annotations__", {}).items():
                    if not name.startswith("_") and "ClassVar" not in str(kind):
                        cls._answer_fields[name] = (kind, base.__dict__.get(name, ...), base)
        cls.model_fields = {**SystemOneResponse.model_fields, **{name: Field(_answer_of, {"type": "object"}) for name in cls._answer_fields}}

    @Lazy
    def model(self) -> str:
        """The model that answered."""
        return (self._held.model() if self._held else None) or ""

    @Lazy
    def usage(self) -> Usage:
        """Token counts."""
        return self._held.usage() if self._held else Usage()

    @Lazy
    def _read(self) -> tuple[dict[str, Any], list[int]]:
        return self._held.answers() if self._held else ({}, [])

    @Lazy
    def answers(self) -> dict[str, Answer]:
        """Every readable answer by question name, in the order of the questions."""
        found = self._read[0]
        reply = self._held
        if reply is not None and reply.questions is not None and reply.questions.boxes:
            for name in reply.questions.boxes:
                if name in self.extra_answers:
                    found[name] = _answer_of(self.extra_answers[name], f"answers.{name}")
        return found

    @Lazy
    def nouls(self) -> dict[str, NoulAnswer]:
        """The nouls' answers by name."""
        return {name: answer for name, answer in self.answers.items() if isinstance(answer, NoulAnswer)}

    @Lazy
    def choices(self) -> dict[str, ChoiceAnswer]:
        """The choices' answers by name."""
        return {name: answer for name, answer in self.answers.items() if isinstance(answer, ChoiceAnswer)}

    @Lazy
    def scores(self) -> dict[str, ScoreAnswer]:
        """The scores' answers by name."""
        return {name: answer for name, answer in self.answers.items() if isinstance(answer, ScoreAnswer)}

    @Lazy
    def boxes(self) -> dict[str, BoxAnswer]:
        """The boxes' answers by name."""
        return {name: answer for name, answer in self.answers.items() if isinstance(answer, BoxAnswer)}

    @Lazy
    def problems(self) -> dict[str, Problem]:
        """Why questions have no good answer, by name; empty when all are good."""
        reply = self._held
        if reply is None or reply.questions is None:
            return {}
        found = {reply.questions.names[index]: reply.problem(index) for index in self._read[1]}
        return {name: problem for name, problem in found.items() if problem is not None}

    @property
    def valid(self) -> bool:
        """Whether every question has a good answer."""
        return not self.problems

    @Lazy
    def extra_answers(self) -> dict[str, Any]:
        """Answers that nobody asked for, and of kinds that nobody knows, as plain Python values."""
        return self._held.extra_answers() if self._held else {}

    @Lazy
    def cost(self) -> float | None:
        """The cost that the server states, in its own unit; None when it states none."""
        return self._held.cost() if self._held else None

    @classmethod
    def _checked(cls, obj: Mapping[str, Any], path: str) -> dict[str, Any]:
        answers = obj.get("answers")
        lifted = {name: answers[name] for name in cls._answer_fields if name in answers} if isinstance(answers, Mapping) else {}
        if isinstance(answers, Mapping):
            obj = {**obj, "answers": {name: answer for name, answer in answers.items() if not _unknown(answer)}}
        defaults = {name: default for name, (_, default, _) in cls._answer_fields.items() if default is not ...}
        return super()._checked({**defaults, **lifted, **obj}, path)

    def _lift(self) -> None:
        """Sets the fields of a subclass; raises TypeSafeValidationError when an answer is missing or of another kind."""
        for name, (kind, default, base) in self._answer_fields.items():
            answer = self.answers.get(name, default)
            if answer is ...:
                raise TypeSafeValidationError("This field is required.", name)
            expected = _resolved(kind, base)
            if isinstance(expected, type) and answer is not None and not isinstance(answer, expected):
                raise TypeSafeValidationError(f"This answer is no {expected.__name__}.", f"{name}.type")
            self.__dict__[name] = answer


class ModelMetadata(FrozenModel):
    """A model that the account may use: `name`, `description` and `release_date`, the latter two None when not given."""

    __slots__ = ("description", "name", "release_date")
    name: str
    description: str | None
    release_date: str | None
    model_fields: ClassVar[dict[str, Field]] = {
        "name": Field(string, {"type": "string"}),
        "description": Field(optional(string), {"type": "string"}, None),
        "release_date": Field(optional(string), {"type": "string"}, None),
    }


class ListModelsResponse(Response):
    """The models that the account may use."""

    __slots__ = ()
    model_fields: ClassVar[dict[str, Field]] = {
        "models": Field(sequence_of(ModelMetadata._from), {"type": "array", "items": ModelMetadata.model_json_schema()})
    }

    @Lazy
    def models(self) -> tuple[ModelMetadata, ...]:
        """The models."""
        listed = self._held.listed_models() if self._held else []
        return tuple(
            ModelMetadata._make({"name": name, "description": description, "release_date": date}) for name, description, date in listed
        )


def parsed_body(body: bytes) -> Any:
    """A body as parsed JSON, else as text, None when empty."""
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def _unknown(answer: Any) -> bool:
    return isinstance(answer, Mapping) and isinstance(answer.get("type"), str) and answer["type"] not in ANSWER_TYPES


def _resolved(kind: Any, base: type) -> Any:
    """The class that an annotation names; None when it cannot be told."""
    if isinstance(kind, str):
        import sys

        scope = vars(sys.modules.get(base.__module__, object()))
        return scope.get(kind, {answer.__name__: answer for answer in ANSWER_TYPES.values()}.get(kind))
    return kind


def _httpx() -> Any:
    import importlib
    import sys

    for name in ("httpx2", "httpx"):
        if name in sys.modules:
            return sys.modules[name]
    for name in ("httpx2", "httpx"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise TypeSafeError("raw_http_response needs httpx2: install it, or use raw, headers and status of the response.")
