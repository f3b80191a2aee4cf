"""Type names for annotations: questions, answers, JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union

from ._answers import BoxAnswer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from ._assets import Image
from ._questions import Box, Choice, Noul, Score

Asset = Image
"""Something that is sent beside the text; for now only images."""

JSONValue = Union[str, int, float, bool, Sequence[Any], Mapping[str, Any]]
"""A JSON value; inner values may be None."""

JSONContent = Union[str, Mapping[str, Any], Sequence[Any]]
"""Text, a JSON object or a JSON array."""

ContentValue = Union[str, int, float, bool, Sequence[Any], Mapping[str, Any], Image]
"""A JSON value that may hold images."""

Content = Union[str, Mapping[str, Any], Sequence[Any], Image]
"""Text, an object, an array or an image."""


class NoulCriteria(TypedDict, total=False):
    """What yes and no mean; both optional."""

    true: Content | None
    false: Content | None


class _Instructed(TypedDict, total=False):
    instructions: Content | None


class _Outcomes(TypedDict, total=False):
    criteria: NoulCriteria | None


class NoulModel(_Instructed, _Outcomes):
    """A noul as a dictionary."""

    type: Literal["noul"]


class ChoiceModel(_Instructed):
    """A choice as a dictionary."""

    type: Literal["choice"]
    criteria: Mapping[str, Content | None]


class ScoreModel(_Instructed):
    """A score as a dictionary."""

    type: Literal["score"]
    criteria: Sequence[Content]


class BoxModel(_Instructed):
    """A box question as a dictionary."""

    type: Literal["box"]


QuestionModel = Union[NoulModel, ChoiceModel, ScoreModel, BoxModel]
"""A question as a dictionary, told apart by its `type`."""

Question = Union[Noul, Choice, Score, Box, NoulModel, ChoiceModel, ScoreModel, BoxModel]
"""A question, as an object or a dictionary."""

Questions = Mapping[str, Question]
"""Questions by the names that their answers will have."""

Answer = Union[NoulAnswer, ChoiceAnswer, ScoreAnswer, BoxAnswer]
"""An answer, told apart by its `type`."""
