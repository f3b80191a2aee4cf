"""The question classes: Noul, Choice, Score and Box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ._errors import TypeSafeValidationError
from ._model import Field, Model, literal

if TYPE_CHECKING:
    from ._types import Content, NoulCriteria

_CONTENT = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}]}
_OPTIONAL_CONTENT = {"anyOf": [*_CONTENT["anyOf"], {"type": "null"}]}


def _mapping(value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        raise TypeSafeValidationError("An object is needed here: labels and what they mean.", path)
    return value


def _outcomes(value: Any, path: str) -> Any:
    if value is not None and not (isinstance(value, Mapping) and set(value) <= {"true", "false"}):
        raise TypeSafeValidationError('An object with "true" and "false" is needed here, or None.', path)
    return value


def _levels(value: Any, path: str) -> Any:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise TypeSafeValidationError("A list of levels is needed here, lowest first.", path)
    if not value:
        raise TypeSafeValidationError("At least one level is needed here.", path)
    return value


def _content(value: Any, path: str) -> Any:
    if isinstance(value, (bool, int, float)):
        raise TypeSafeValidationError("Text, an object or a list is needed here.", path)
    return value


class _Question(Model):
    __slots__ = ("criteria", "instructions", "type")
    type: Any
    instructions: Any

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # questions can be changed

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The question as it is sent: fields that are None are left out."""
        return super().model_dump(**{**options, "exclude_none": False}, exclude=_unset(self, options.pop("exclude", None)))

    def _wire(self) -> dict[str, Any]:
        return {name: value for name, value in self._values().items() if value is not None}


def _unset(question: Model, exclude: Any) -> Any:
    empty = {name for name in question.model_fields if getattr(question, name) is None}
    if isinstance(exclude, Mapping):
        return {**exclude, **dict.fromkeys(empty, True)}
    return empty | set(exclude or ())


class Noul(_Question):
    """A yes/no question, answered by the probability of yes.

    Args:
        instructions: The question: text, an object or a list. May be None when `criteria` says what an outcome means.
        criteria: What "true" and "false" mean, both optional.

    Raises:
        TypeSafeValidationError: A field is unknown or of the wrong kind.

    Example:
        >>> Noul(instructions="Is this message about billing?")
        Noul(type='noul', instructions='Is this message about billing?', criteria=None)
    """

    __slots__ = ()
    type: Literal["noul"]
    instructions: Content | None
    criteria: NoulCriteria | None
    model_fields: ClassVar[dict[str, Field]] = {
        "type": literal("noul"),
        "instructions": Field(_content, _OPTIONAL_CONTENT, None),
        "criteria": Field(_outcomes, {"anyOf": [{"type": "object"}, {"type": "null"}]}, None),
    }

    def __init__(
        self, *, type: Literal["noul"] = "noul", instructions: Content | None = None, criteria: NoulCriteria | None = None
    ) -> None:
        self.type = literal("noul").check(type, "type")
        self.instructions = _content(instructions, "instructions")
        self.criteria = _outcomes(criteria, "criteria")


class Choice(_Question):
    """A choice between named options, answered by one label and a probability for each.

    Args:
        criteria: Label to meaning (text, an object or a list), or to None where the label speaks for itself; 1 to 255.
        instructions: What is to be decided: text, an object or a list.

    Raises:
        TypeSafeValidationError: A field is missing, unknown or of the wrong kind.

    Example:
        >>> Choice(criteria={"calm": None, "angry": "Upset or hostile"}).criteria["calm"] is None
        True
    """

    __slots__ = ()
    type: Literal["choice"]
    criteria: Mapping[str, Content | None]
    instructions: Content | None
    model_fields: ClassVar[dict[str, Field]] = {
        "type": literal("choice"),
        "instructions": Field(_content, _OPTIONAL_CONTENT, None),
        "criteria": Field(_mapping, {"type": "object", "additionalProperties": _OPTIONAL_CONTENT}),
    }

    def __init__(
        self, *, criteria: Mapping[str, Content | None], type: Literal["choice"] = "choice", instructions: Content | None = None
    ) -> None:
        self.type = literal("choice").check(type, "type")
        self.instructions = _content(instructions, "instructions")
        self.criteria = _mapping(criteria, "criteria")


class Score(_Question):
    """A position on ordered levels, answered by a number from 0 to the number of levels less one.

    Args:
        criteria: What each level means, lowest first; 1 to 10.
        instructions: What is to be rated: text, an object or a list.

    Raises:
        TypeSafeValidationError: A field is missing, unknown or of the wrong kind.

    Example:
        >>> len(Score(criteria=["can wait", "this week", "today"]).criteria)
        3
    """

    __slots__ = ()
    type: Literal["score"]
    criteria: Sequence[Content]
    instructions: Content | None
    model_fields: ClassVar[dict[str, Field]] = {
        "type": literal("score"),
        "instructions": Field(_content, _OPTIONAL_CONTENT, None),
        "criteria": Field(_levels, {"type": "array", "items": _CONTENT, "minItems": 1}),
    }

    def __init__(
        self, *, criteria: Sequence[Content], type: Literal["score"] = "score", instructions: Content | None = None
    ) -> None:
        self.type = literal("score").check(type, "type")
        self.instructions = _content(instructions, "instructions")
        self.criteria = _levels(criteria, "criteria")


class Box(_Question):
    """A place in the request's image (an experiment of the server), answered by four edges.

    Args:
        instructions: What is to be found: text, an object or a list.

    Example:
        >>> Box(instructions="The dog").type
        'box'
    """

    __slots__ = ()
    type: Literal["box"]
    instructions: Content | None
    model_fields: ClassVar[dict[str, Field]] = {
        "type": literal("box"),
        "instructions": Field(_content, _OPTIONAL_CONTENT, None),
    }

    def __init__(self, *, type: Literal["box"] = "box", instructions: Content | None = None) -> None:
        self.type = literal("box").check(type, "type")
        self.instructions = _content(instructions, "instructions")
