"""Canned answers for tests: checked as a server's reply would be, with no server and no network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._call import error_of
from ._config import Config
from ._errors import TypeSafeValidationError
from ._hosted import Exchange
from ._library import lib
from ._response import SystemOneResponse
from ._sets import QuestionSet, compiled

if TYPE_CHECKING:
    from ._types import Question

MODEL = "canned"


def canned(
    questions: Mapping[str, Question] | QuestionSet[Any], answers: Mapping[str, Any], *, model: str = MODEL
) -> SystemOneResponse:
    """A response with the given answers, checked against the questions.

    Args:
        questions: What is asked.
        answers: Name to answer: a number for a noul, a label for a choice, a level for a score, or the answer's whole
            object as a server sends it. What is left out of a short form is filled in: the named label or the level
            (rounded down and up) gets all the probability.
        model: What the response says as its model.

    Raises:
        TypeSafeAPIResponseValidationError: The answers do not fit the questions; `field_path` says where.

    Example:
        >>> response = canned({"billing": {"type": "noul", "instructions": "?"}}, {"billing": 0.9})
        >>> response.nouls["billing"].noul
        0.9
    """
    question_set = compiled(questions)
    body = {"model": model, "answers": full_answers(question_set, answers), "usage": {"input_tokens": 0, "output_tokens": 0}}
    return replayed(question_set, json.dumps(body).encode())


def replayed(questions: Mapping[str, Question] | QuestionSet[Any], body: bytes, *, status: int = 200) -> SystemOneResponse:
    """The response to a recorded body, checked as if it had just arrived. Raises what a call would raise."""
    question_set = compiled(questions)
    config = _settings()
    exchange = Exchange(config.make_client(), config)
    exchange.start(lib.deem_exchange_start_text, (question_set._handle, b"", 0), None)
    exchange.next()
    lib.deem_exchange_reply(exchange.handle, status, body, len(body))
    exchange.next()
    reply, code = exchange.take(question_set)
    if code != 0:
        raise error_of(reply, code, SystemOneResponse, config, None)
    return SystemOneResponse._of(reply)


def full_answers(question_set: QuestionSet[Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Answers in their short forms as the objects that a server sends."""
    asked = dict(zip(question_set.names, zip(question_set.kinds, question_set.labels)))
    return {name: _full(name, *asked.get(name, ("", ())), value) for name, value in answers.items()}


def _full(name: str, kind: str, labels: tuple[str, ...], value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    if kind == "noul":
        return {"type": "noul", "noul": value}
    if kind == "choice":
        shares = {label: 1.0 if label == value else 0.0 for label in labels}
        return {"type": "choice", "choice": value, "confidence": 1.0, "probabilities": shares}
    if kind == "score" and isinstance(value, (int, float)):
        low = int(value)
        levels = {str(level): 0.0 for level in range(len(labels))}
        levels[str(low)] = 1 - (value - low)
        if value > low:
            levels[str(low + 1)] = value - low
        legend = {str(level): text for level, text in enumerate(labels)}
        return {"type": "score", "score": value, "confidence": 1.0, "legend": legend, "probabilities": levels}
    raise TypeSafeValidationError("There is no such question, or this is no answer to it.", f"answers.{name}")


def _settings() -> Config:
    from ._retry import RetryPolicy

    return Config(
        api_key="canned", base_url="http://127.0.0.1:1", model=MODEL, timeout=None, deadline=None, retry=RetryPolicy(max_retries=0),
        headers=None, strict=True, proxy=None, ca_file=None, max_connections=None,
    )  # fmt: skip


class Canned:
    """Answers calls in place of a client: give it to the code under test instead of a TypeSafeClient.

    Args:
        answers: The answers of every call, as for canned().

    Example:
        >>> client = Canned({"billing": 0.9})
        >>> client.system_one("any text", {"billing": {"type": "noul", "instructions": "?"}}).nouls["billing"].noul
        0.9
    """

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.calls: list[tuple[Any, Any]] = []
        """State and questions of each call so far."""

    def system_one(self, state: Any, questions: Any, **_options: Any) -> SystemOneResponse:
        """The canned answers to the questions."""
        self.calls.append((state, questions))
        question_set = compiled(questions)
        return canned(question_set, {name: self.answers[name] for name in question_set.names if name in self.answers})

    def close(self) -> None:
        """Does nothing."""

    def __enter__(self) -> Canned:
        return self

    def __exit__(self, *_error: object) -> None:
        pass


class AsyncCanned(Canned):
    """Canned for code that awaits its calls."""

    async def system_one(self, state: Any, questions: Any, **options: Any) -> SystemOneResponse:  # type: ignore[override]
        """The canned answers to the questions."""
        return Canned.system_one(self, state, questions, **options)

    async def aclose(self) -> None:
        """Does nothing."""

    async def __aenter__(self) -> AsyncCanned:
        return self

    async def __aexit__(self, *_error: object) -> None:
        pass
