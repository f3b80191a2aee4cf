"""The answer classes. Those of a reply are made by _response.py without checking again what the library has checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from ._model import Field, FrozenModel, anything, level, literal, mapping_of, number, optional, string, whole

_NUMBER = {"type": "number"}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}


class Problem(FrozenModel):
    """Why a question has no good answer.

    `reason` is a short word such as "missing", "range" or "sum"; `path` says where in the reply; `message` is a sentence.
    """

    __slots__ = ("message", "path", "reason")
    reason: str
    path: str
    message: str
    model_fields: ClassVar[dict[str, Field]] = {
        "reason": Field(string, {"type": "string"}),
        "path": Field(string, {"type": "string"}),
        "message": Field(string, {"type": "string"}),
    }


class _Answer(FrozenModel):
    __slots__ = ("problem",)
    problem: Problem | None
    """None for a good answer. In a lenient call, what is doubtful about this one."""

    @classmethod
    def _make(cls, values: dict[str, Any]) -> Any:
        return super()._make({"problem": None, **values})

    def __init__(self, **values: Any) -> None:
        for name, value in {"problem": None, **self._checked(values, "")}.items():
            object.__setattr__(self, name, value)


class NoulAnswer(_Answer):
    """The answer to a noul: `noul` is the probability of yes, 0 to 1. A noul has no confidence."""

    __slots__ = ("noul", "type")
    type: Literal["noul"]
    noul: float
    model_fields: ClassVar[dict[str, Field]] = {"type": literal("noul"), "noul": Field(number, _NUMBER)}


class ChoiceAnswer(_Answer):
    """The answer to a choice: `choice` is the chosen label, `confidence` 0 to 1 or None when the server gave none,
    `probabilities` label to probability in the order of the request (empty when the server gave none)."""

    __slots__ = ("_probabilities", "choice", "confidence", "type")
    type: Literal["choice"]
    choice: str
    confidence: float | None
    _probabilities: dict[str, float] | Callable[[], dict[str, float]]
    model_fields: ClassVar[dict[str, Field]] = {
        "type": literal("choice"),
        "choice": Field(string, {"type": "string"}),
        "confidence": Field(optional(number), _NUMBER),
        "probabilities": Field(mapping_of(string, number), {"type": "object", "additionalProperties": _NUMBER}),
    }

    @property
    def probabilities(self) -> dict[str, float]:
        """Label to probability, 0 to 1."""
        return _settled(self, "_probabilities")

    @property
    def top(self) -> str | None:
        """The most probable label (the first of equals); None when there are no probabilities."""
        shares = self.probabilities
        return max(shares, key=shares.__getitem__) if shares else None

    @classmethod
    def _make(cls, values: dict[str, Any]) -> Any:
        return super()._make(_private(values, "probabilities"))

    def __init__(self, **values: Any) -> None:
        for name, value in {"problem": None, **_private(self._checked(values, ""), "probabilities")}.items():
            object.__setattr__(self, name, value)


class ScoreAnswer(_Answer):
    """The answer to a score: `score` is a position on the levels, 0 to their number less one, and may be fractional.

    `confidence` is 0 to 1 or None; `legend` and `probabilities` have the levels' indices as keys (empty when the server
    gave none). A level's text is never read as a number.
    """

    __slots__ = ("_legend", "_probabilities", "confidence", "score", "type")
    type: Literal["score"]
    score: float
    confidence: float | None
    _legend: dict[int, Any] | Callable[[], dict[int, Any]]
    _probabilities: dict[int, float] | Callable[[], dict[int, float]]
    model_fields: ClassVar[dict[str, Field]] = {
        "type": literal("score"),
        "score": Field(number, _NUMBER),
        "confidence": Field(optional(number), _NUMBER),
        "legend": Field(mapping_of(level, anything), {"type": "object"}),
        "probabilities": Field(mapping_of(level, number), {"type": "object", "additionalProperties": _NUMBER}),
    }

    @property
    def legend(self) -> dict[int, Any]:
        """Level index to what the server says the level means: text, an object or a list."""
        return _settled(self, "_legend")

    @property
    def probabilities(self) -> dict[int, float]:
        """Level index to probability, 0 to 1."""
        return _settled(self, "_probabilities")

    @property
    def level(self) -> int:
        """The index of the most probable level (the lower of equals), or of the one nearest to the position."""
        shares = self.probabilities
        return max(shares, key=shares.__getitem__) if shares else int(self.score + 0.5)

    @classmethod
    def _make(cls, values: dict[str, Any]) -> Any:
        return super()._make(_private(values, "probabilities", "legend"))

    def __init__(self, **values: Any) -> None:
        for name, value in {"problem": None, **_private(self._checked(values, ""), "probabilities", "legend")}.items():
            object.__setattr__(self, name, value)


class BoxCoordinates(FrozenModel):
    """A box's edges as shares of the image's height (`top`, `bottom`) and width (`left`, `right`)."""

    __slots__ = ("bottom", "left", "right", "top")
    top: float
    bottom: float
    left: float
    right: float
    model_fields: ClassVar[dict[str, Field]] = {name: Field(number, _SHARE) for name in ("top", "bottom", "left", "right")}

    def __init__(self, **values: float) -> None:
        for name, value in self._checked(values, "").items():
            object.__setattr__(self, name, value)


class BoxAnswer(_Answer):
    """The answer to a box question: `box` is the place, `confidence` 0 to 1 or None."""

    __slots__ = ("box", "confidence", "type")
    type: Literal["box"]
    box: BoxCoordinates
    confidence: float | None
    model_fields: ClassVar[dict[str, Field]] = {
        "type": literal("box"),
        "box": Field(BoxCoordinates._from, BoxCoordinates.model_json_schema()),
        "confidence": Field(optional(number), _NUMBER, None),
    }


class Usage(FrozenModel):
    """Token counts of a call: `input_tokens` and `output_tokens`, None where the server gave none."""

    __slots__ = ("input_tokens", "output_tokens")
    input_tokens: int | None
    output_tokens: int | None
    model_fields: ClassVar[dict[str, Field]] = {
        "input_tokens": Field(optional(whole), {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        "output_tokens": Field(optional(whole), {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
    }

    def __init__(self, *, input_tokens: int | None = None, output_tokens: int | None = None) -> None:
        object.__setattr__(self, "input_tokens", optional(whole)(input_tokens, "input_tokens"))
        object.__setattr__(self, "output_tokens", optional(whole)(output_tokens, "output_tokens"))


ANSWER_TYPES: dict[str, type[_Answer]] = {"noul": NoulAnswer, "choice": ChoiceAnswer, "score": ScoreAnswer, "box": BoxAnswer}


def _settled(answer: Any, name: str) -> dict[Any, Any]:
    """A field's value, worked out at the first question for it."""
    value: Any = getattr(answer, name)
    if callable(value):
        value = value()
        object.__setattr__(answer, name, value)
    return value  # type: ignore[no-any-return]


def _private(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {f"_{name}" if name in names else name: value for name, value in values.items()}
