"""Question sets out of classes: the fields of a dataclass or pydantic model are the questions, instances are the results."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ._answers import ChoiceAnswer, NoulAnswer, ScoreAnswer
from ._errors import TypeSafeQuestionError
from ._questions import Choice, Noul, Score, _Question

if TYPE_CHECKING:
    from ._response import SystemOneResponse

Take = Callable[[Any], Any]


class Reader:
    """Makes an instance of `source` from the answers of a response."""

    def __init__(self, source: type[Any], takes: dict[str, Take]) -> None:
        self.source = source
        self.takes = takes

    def __call__(self, response: SystemOneResponse) -> Any:
        answers = response.answers
        missing = [name for name in self.takes if name not in answers]
        if missing:
            raise TypeSafeQuestionError(f"The response has no good answer for {missing[0]!r}: see response.problems.")
        return self.source(**{name: take(answers[name]) for name, take in self.takes.items()})


def questions_of(source: type[Any]) -> tuple[dict[str, _Question], Reader]:
    """The questions that a class stands for, and what reads their answers into an instance."""
    hints = typing.get_type_hints(source, include_extras=True)
    texts = _instructions(source)
    questions: dict[str, _Question] = {}
    takes: dict[str, Take] = {}
    for name in texts:
        questions[name], takes[name] = _question(f"{source.__name__}.{name}", hints[name], texts[name])
    if not questions:
        raise TypeSafeQuestionError(f"{source.__name__} has no fields, so there is no question to ask.")
    return questions, Reader(source, takes)


def _instructions(source: type[Any]) -> dict[str, str | None]:
    """The fields in order, each with its instructions if it has any."""
    if dataclasses.is_dataclass(source):
        return {field.name: field.metadata.get("instructions") for field in dataclasses.fields(source) if field.init}
    fields = getattr(source, "model_fields", None)
    if isinstance(fields, dict) and hasattr(source, "model_validate"):
        return {name: getattr(field, "description", None) for name, field in fields.items()}
    raise TypeSafeQuestionError(f"{source!r} is neither a dataclass nor a pydantic model.")


def _question(where: str, hint: Any, instructions: str | None) -> tuple[_Question, Take]:
    given: _Question | None = None
    if typing.get_origin(hint) is typing.Annotated:
        hint, *extras = typing.get_args(hint)
        given = next((extra for extra in extras if isinstance(extra, _Question)), None)
        instructions = next((extra for extra in extras if isinstance(extra, str)), instructions)
    base = typing.get_origin(hint) or hint
    if base is typing.Literal:
        values = typing.get_args(hint)
        if not all(isinstance(value, str) for value in values):
            raise TypeSafeQuestionError(f"{where}: the values of a Literal must be text.")
        return given or Choice(criteria=dict.fromkeys(values), instructions=instructions), lambda answer: answer.choice
    if isinstance(base, type) and issubclass(base, enum.Enum):
        members = {str(member.value): member for member in base}
        return given or Choice(criteria=dict.fromkeys(members), instructions=instructions), lambda answer: members[answer.choice]
    if base is bool:
        return given or Noul(instructions=instructions), lambda answer: answer.noul >= 0.5
    if given is None and base in (float, NoulAnswer):
        given = Noul(instructions=instructions)
    if given is None:
        shown = getattr(hint, "__name__", hint) if not isinstance(hint, types.UnionType) else hint
        raise TypeSafeQuestionError(
            f"{where}: {shown} is no question; use Literal, Enum, bool or float, or Annotated[..., Noul(...)], Choice or Score."
        )
    if instructions is not None and given.instructions is None:
        given = given.model_copy(update={"instructions": instructions})
    if base in (NoulAnswer, ChoiceAnswer, ScoreAnswer):
        return given, lambda answer: answer
    if base is float:
        return given, {"noul": lambda answer: answer.noul, "score": lambda answer: answer.score}.get(given.type) or _none(where, given)
    if base is int and isinstance(given, Score):
        return given, lambda answer: answer.level
    if base is str and isinstance(given, Choice):
        return given, lambda answer: answer.choice
    _none(where, given)


def _none(where: str, question: _Question) -> NoReturn:
    raise TypeSafeQuestionError(f"{where}: the answer to a {question.type} cannot be read as this type.")
