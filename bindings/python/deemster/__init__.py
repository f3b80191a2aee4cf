"""Native client for System One decision models; source-compatible with the official `typesafe_sdk`.

Importing it starts nothing: no thread, no connection, no event loop, no libcurl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import constants as constants
from ._answers import BoxAnswer, BoxCoordinates, ChoiceAnswer, NoulAnswer, Problem, ScoreAnswer, Usage
from ._client import Models, TypeSafeClient
from ._errors import (
    TypeSafeAPIConnectionError,
    TypeSafeAPIError,
    TypeSafeAPIResponseValidationError,
    TypeSafeAPITimeoutError,
    TypeSafeAuthenticationError,
    TypeSafeBadRequestError,
    TypeSafeClosedError,
    TypeSafeConfigurationError,
    TypeSafeConflictError,
    TypeSafeDeadlineError,
    TypeSafeError,
    TypeSafeInternalServerError,
    TypeSafeNotFoundError,
    TypeSafeOverloadedError,
    TypeSafePaymentRequiredError,
    TypeSafePermissionDeniedError,
    TypeSafeQuestionError,
    TypeSafeRateLimitError,
    TypeSafeRequestTooLargeError,
    TypeSafeStateError,
    TypeSafeUnprocessableEntityError,
    TypeSafeValidationError,
)
from ._headers import Headers
from ._library import LIBRARY_VERSION
from ._questions import Box, Choice, Noul, Score
from ._response import ListModelsResponse, ModelMetadata, SystemOneResponse
from ._sets import Finding, QuestionSet

if TYPE_CHECKING:
    from ._assets import Image
    from ._async import AsyncModels, AsyncTypeSafeClient
    from ._retry import RetryPolicy
    from ._types import (
        Answer,
        Asset,
        BoxModel,
        ChoiceModel,
        Content,
        ContentValue,
        JSONContent,
        JSONValue,
        NoulCriteria,
        NoulModel,
        Question,
        QuestionModel,
        Questions,
        ScoreModel,
    )

__version__ = "0.1.0"

_LATER = {
    "AsyncModels": "_async",
    "AsyncTypeSafeClient": "_async",
    "Image": "_assets",
    "RetryPolicy": "_retry",
    **dict.fromkeys(
        (
            "Answer", "Asset", "BoxModel", "ChoiceModel", "Content", "ContentValue", "JSONContent", "JSONValue", "NoulCriteria",
            "NoulModel", "Question", "QuestionModel", "Questions", "ScoreModel",
        ),
        "_types",
    ),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loads what most programs do not need (PEP 562)."""
    if name in _LATER:
        import importlib

        value = globals()[name] = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "LIBRARY_VERSION",
    "Answer",
    "Asset",
    "AsyncModels",
    "AsyncTypeSafeClient",
    "Box",
    "BoxAnswer",
    "BoxCoordinates",
    "BoxModel",
    "Choice",
    "ChoiceAnswer",
    "ChoiceModel",
    "Content",
    "ContentValue",
    "Finding",
    "Headers",
    "Image",
    "JSONContent",
    "JSONValue",
    "ListModelsResponse",
    "ModelMetadata",
    "Models",
    "Noul",
    "NoulAnswer",
    "NoulCriteria",
    "NoulModel",
    "Problem",
    "Question",
    "QuestionModel",
    "QuestionSet",
    "Questions",
    "RetryPolicy",
    "Score",
    "ScoreAnswer",
    "ScoreModel",
    "SystemOneResponse",
    "TypeSafeAPIConnectionError",
    "TypeSafeAPIError",
    "TypeSafeAPIResponseValidationError",
    "TypeSafeAPITimeoutError",
    "TypeSafeAuthenticationError",
    "TypeSafeBadRequestError",
    "TypeSafeClient",
    "TypeSafeClosedError",
    "TypeSafeConfigurationError",
    "TypeSafeConflictError",
    "TypeSafeDeadlineError",
    "TypeSafeError",
    "TypeSafeInternalServerError",
    "TypeSafeNotFoundError",
    "TypeSafeOverloadedError",
    "TypeSafePaymentRequiredError",
    "TypeSafePermissionDeniedError",
    "TypeSafeQuestionError",
    "TypeSafeRateLimitError",
    "TypeSafeRequestTooLargeError",
    "TypeSafeStateError",
    "TypeSafeUnprocessableEntityError",
    "TypeSafeValidationError",
    "Usage",
    "constants",
]
