"""Question sets: compiled once, used by any number of calls, threads and clients."""

from __future__ import annotations

import _thread
import marshal
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ._encode import encode
from ._errors import TypeSafeError, TypeSafeQuestionError, TypeSafeStateError
from ._library import NULL, ffi, lib, new, octets, text, unpack
from ._model import Field, FrozenModel, string
from ._questions import Choice, Noul, Score, _Question

if TYPE_CHECKING:
    from ._response import SystemOneResponse
    from ._types import Question

T = TypeVar("T")
KINDS = {1: "noul", 2: "choice", 3: "score"}
CACHED_SETS = 256  # sets of plain question objects that are kept compiled


class Finding(FrozenModel):
    """A problem of a question set: `severity` ("error" or "warning"), `rule`, `path`, `message` and `advice`."""

    __slots__ = ("advice", "message", "path", "rule", "severity")
    severity: str
    rule: str
    path: str
    message: str
    advice: str
    model_fields: ClassVar[dict[str, Field]] = {name: Field(string, {"type": "string"}) for name in ("severity", "rule", "path", "message", "advice")}

    def __str__(self) -> str:
        return f"{self.path}: {self.message} {self.advice} [{self.rule}]" if self.path else f"{self.message} {self.advice} [{self.rule}]"


class QuestionSet(Generic[T]):
    """Questions that were checked and compiled; immutable, and shared freely between threads and clients.

    Args:
        questions: Names to questions: `Noul`, `Choice`, `Score`, or dictionaries with a `type`.
        model: The model that calls with this set ask for when the call itself names none.

    Raises:
        TypeSafeQuestionError: The set has errors; `findings` on the error names each with its path.

    Example:
        >>> from deemster import Noul, QuestionSet
        >>> triage = QuestionSet({"billing": Noul(instructions="Is this about billing?")})
        >>> triage.names
        ('billing',)
    """

    __slots__ = ("__weakref__", "_handle", "_whole", "boxes", "_reader", "findings", "kinds", "labels", "names")
    names: tuple[str, ...]
    """The questions' names in order."""
    kinds: tuple[str, ...]
    """Their kinds: "noul", "choice" or "score"."""
    labels: tuple[tuple[str, ...], ...]
    """Their labels (choice) or levels' texts (score), in the order of the request; empty for a noul."""
    boxes: tuple[str, ...]
    """The names of box questions, which the server is asked besides."""
    findings: tuple[Finding, ...]
    """Warnings about the set."""

    def __init__(self, questions: Mapping[str, Question], *, model: str | None = None) -> None:
        self._compile(*documents(questions), model, None)

    @classmethod
    def from_json(cls, document: str | bytes, *, model: str | None = None, unknown_fields: bool = False) -> QuestionSet[None]:
        """A set from a JSON document: the API's `questions` object, or `{"model": …, "questions": …}` around it.

        Unknown fields of a question are errors, as they are mostly misspelt; with `unknown_fields` they are sent.
        """
        self: QuestionSet[None] = QuestionSet.__new__(QuestionSet)
        raw = document.encode() if isinstance(document, str) else bytes(document)
        self._compile(raw, None, (), model, None, strict=not unknown_fields)
        return self

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, model: str | None = None) -> QuestionSet[None]:
        """A set from a JSON file (UTF-8); see from_json()."""
        with open(path, "rb") as file:
            return cls.from_json(file.read(), model=model)

    @classmethod
    def from_class(cls, source: type[T], *, model: str | None = None) -> QuestionSet[T]:
        """A set from a dataclass or pydantic model whose fields are the questions; read() gives instances of it.

        `Literal[...]` and `Enum` fields become choices, `bool` a noul read at one half, `float` a noul's probability;
        `Annotated[..., Noul(...)]`, `Choice` and `Score` say everything. The instructions are the field's
        `metadata["instructions"]`, its pydantic `description`, or a text in `Annotated`.
        """
        from ._typed import questions_of

        questions, reader = questions_of(source)
        self: QuestionSet[T] = QuestionSet.__new__(QuestionSet)
        self._compile(*documents(questions), model, reader)
        return self

    def read(self, response: SystemOneResponse) -> T:
        """The answers of a response as an instance of the class that the set was made from."""
        if self._reader is None:
            raise TypeSafeError("This question set was not made from a class: read response.answers instead.")
        result: T = self._reader(response)
        return result

    def _compile(
        self, document: bytes, whole: bytes | None, boxes: tuple[str, ...], model: str | None, reader: Any, strict: bool = False
    ) -> None:
        out = new("deem_question_set_builder **")
        _checked(lib.deem_question_set_builder_new(out))
        builder = ffi.gc(out[0], lib.deem_question_set_builder_free)
        add = lib.deem_question_set_builder_json if strict else lib.deem_question_set_builder_json_open
        _checked(add(builder, document, len(document)))
        if model is not None:
            raw = model.encode()
            _checked(lib.deem_question_set_builder_model(builder, raw, len(raw)))
        handle = new("deem_question_set **")
        code = lib.deem_question_set_new(builder, handle)
        findings = _findings(builder)
        if code != 0:
            errors = [finding for finding in findings if finding.severity == "error"]
            first = str(errors[0]) if errors else f"The question set was refused with code {code}."
            more = f" ({len(errors) - 1} more in .findings)" if len(errors) > 1 else ""
            error = TypeSafeQuestionError(first + more)
            error.findings = findings
            raise error
        self._handle = ffi.gc(handle[0], lib.deem_question_set_free)
        self._reader = reader
        self._whole = whole
        self.boxes = boxes
        self.findings = findings
        self._describe()

    def _describe(self) -> None:
        names, kinds, labels = [], [], []
        count, kind, key, length = new("size_t *"), new("int32_t *"), new("const char **"), new("size_t[2]")
        lib.deem_question_set_count(self._handle, count)
        for index in range(count[0]):
            lib.deem_question_set_question(self._handle, index, kind, key, length, length + 1)
            names.append(unpack(key[0], length[0]).decode())
            kinds.append(KINDS[kind[0]])
            labels.append(tuple(text(lib.deem_question_set_label, self._handle, index, label) or "" for label in range(length[1])))
        self.names, self.kinds, self.labels = tuple(names), tuple(kinds), tuple(labels)

    @property
    def json(self) -> str:
        """The JSON that is sent as the value of `questions`."""
        return text(lib.deem_question_set_json, self._handle) or ""

    @property
    def model(self) -> str | None:
        """The model that the set names, or None."""
        return text(lib.deem_question_set_model, self._handle)

    @property
    def identity(self) -> str:
        """The SHA-256 of the bytes that are sent, as 64 hexadecimal digits."""
        return text(lib.deem_question_set_identity, self._handle) or ""

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuestionSet):
            return NotImplemented
        return self.json == other.json and self.model == other.model

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {kind}" for name, kind in zip(self.names, self.kinds))
        return f"QuestionSet({{{shown if len(shown) <= 1500 else shown[:1500] + '…'}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        document = octets(lib.deem_question_set_json, self._handle) or b""
        return _unpickled, (document, self._whole, self.boxes, self.model, getattr(self._reader, "source", None))


def _unpickled(document: bytes, whole: bytes | None, boxes: tuple[str, ...], model: str | None, source: Any) -> QuestionSet[Any]:
    if source is not None:
        return QuestionSet.from_class(source, model=model)
    self: QuestionSet[Any] = QuestionSet.__new__(QuestionSet)
    self._compile(_wrapped(document), whole, boxes, model, None)
    return self


def _wrapped(questions: bytes) -> bytes:
    """The document around the questions, so that no question's name can be taken for the wrapper's."""
    return b'{"questions":' + questions + b"}"


def documents(questions: Mapping[str, Any]) -> tuple[bytes, bytes | None, tuple[str, ...]]:
    """The document of plain questions; with box questions also the whole of them as it is sent, and the boxes' names.

    Raises TypeSafeQuestionError for what is no question at all.
    """
    if not isinstance(questions, Mapping):
        raise TypeSafeQuestionError(f"questions must be a mapping of names to questions, not {type(questions).__name__}.")
    plain: dict[str, Any] = {}
    boxes: dict[str, Any] = {}
    for name, question in questions.items():
        if isinstance(question, _Question):
            question = question._wire()
        elif not isinstance(question, Mapping) or not isinstance(question.get("type"), str):
            raise TypeSafeQuestionError(f'Question {str(name)[:100]!r} must be a question object or a dictionary with a "type".')
        (boxes if question["type"] == "box" else plain)[name] = question
    if not plain:
        raise TypeSafeQuestionError("At least one question is required" + (" besides box questions." if boxes else "."))
    try:
        whole = encode({**plain, **boxes}, "questions") if boxes else None
        return _wrapped(encode(plain, "questions")), whole, tuple(map(str, boxes))
    except TypeSafeStateError as error:
        raise TypeSafeQuestionError(str(error)) from None


_cache: dict[bytes, QuestionSet[Any]] = {}
_cache_lock = _thread.allocate_lock()
_EXACT = {Noul, Choice, Score}


def compiled(questions: Any) -> QuestionSet[Any]:
    """The compiled set of whatever a caller gave as questions; plain ones are kept by their encoded bytes.

    The bytes are marshal's where the questions are of built-in types alone (a sixth of JSON's time), else the JSON sent.
    """
    if isinstance(questions, QuestionSet):
        return questions
    key = b""
    if type(questions) is dict:
        parts: list[Any] = []
        for name, question in questions.items():
            exact = type(question) in _EXACT
            parts.append((name, question.type, question.instructions, question.criteria) if exact else (name, question))
        try:
            key = marshal.dumps(parts, 0)
        except ValueError:  # something that only the JSON encoder knows
            pass
        else:
            found = _cache.get(key)
            if found is not None:
                return found
    document, whole, boxes = documents(questions)
    key = key or whole or document
    found = _cache.get(key)
    if found is None:
        found = QuestionSet.__new__(QuestionSet)
        found._compile(document, whole, boxes, None, None)
        with _cache_lock:
            while len(_cache) >= CACHED_SETS:
                _cache.pop(next(iter(_cache)), None)
            _cache[key] = found
    return found


def _findings(builder: Any) -> tuple[Finding, ...]:
    severity, rule, texts, lengths = new("int32_t *"), new("const char **"), new("const char *[3]"), new("size_t[3]")
    found: list[Finding] = []
    while (
        lib.deem_question_set_builder_finding(
            builder, len(found), severity, rule, texts, lengths, texts + 1, lengths + 1, texts + 2, lengths + 2
        )
        == 0
    ):
        path, message, advice = (
            unpack(texts[i], lengths[i]).decode("utf-8", "replace") if texts[i] != NULL else "" for i in range(3)
        )
        found.append(
            Finding._make(
                {
                    "severity": "error" if severity[0] == lib.DEEM_SEVERITY_ERROR else "warning",
                    "rule": ffi.string(rule[0]).decode(),
                    "path": path,
                    "message": message,
                    "advice": advice,
                }
            )
        )
    return tuple(found)


def _checked(code: int) -> None:
    if code == lib.DEEM_E_MEMORY:
        raise MemoryError
    if code != 0:
        raise TypeSafeError(f"The library refused a step of building a question set with code {code}.")
