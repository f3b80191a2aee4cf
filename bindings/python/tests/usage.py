"""How typed programs use the package: checked by mypy --strict and pyright, and run by test_usage.py."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Annotated, Literal

from deemster import (
    AsyncTypeSafeClient,
    Choice,
    ChoiceAnswer,
    Noul,
    NoulAnswer,
    Question,
    QuestionSet,
    RetryPolicy,
    Score,
    SystemOneResponse,
    TypeSafeClient,
    TypeSafeError,
    TypeSafeRateLimitError,
)


class Triage(SystemOneResponse):
    billing: NoulAnswer
    tone: ChoiceAnswer


@dataclasses.dataclass
class Ticket:
    billing: Annotated[bool, "Is this about billing?"]
    tone: Annotated[Literal["calm", "angry"], "Which tone?"]
    urgency: Annotated[float, Score(criteria=["can wait", "today"], instructions="How urgent?")]


def program(url: str) -> tuple[float, str, dict[int, float], str | None, bool, Literal["calm", "angry"], float]:
    questions: dict[str, Question] = {
        "billing": Noul(instructions="Is this about billing?"),
        "tone": {"type": "choice", "criteria": {"calm": None, "angry": "Upset"}},
        "urgency": Score(criteria=["can wait", "today"]),
    }
    with TypeSafeClient(api_key="test-key", base_url=url, retry=RetryPolicy(max_retries=1), timeout=5.0) as client:
        try:
            response = client.system_one({"text": "I was charged twice.", "numbers": [1, 2]}, questions)
        except TypeSafeRateLimitError as error:
            raise SystemExit(f"{error.retry_after_ms} {error.request_id}") from error
        except TypeSafeError:
            raise
        typed = client.system_one("I was charged twice.", questions, response_model=Triage)
        tickets = QuestionSet.from_class(Ticket)
        ticket = tickets.read(client.system_one("I was charged twice.", tickets))
    assert isinstance(typed, Triage)
    share: float = typed.billing.noul
    label: str = response.choices["tone"].choice
    return share, label, response.scores["urgency"].probabilities, response.request_id, ticket.billing, ticket.tone, ticket.urgency


def patterns(response: SystemOneResponse) -> list[str]:
    seen = []
    for answer in response.answers.values():
        match answer:
            case NoulAnswer(noul=share):
                seen.append(f"{share:.2f}")
            case ChoiceAnswer(choice=label):
                seen.append(label)
            case _:
                seen.append(answer.type)
    return seen


async def several(url: str) -> list[list[str]]:
    made: QuestionSet[None] = QuestionSet({"tone": Choice(criteria={"calm": None, "angry": None}), "urgency": Score(criteria=["low", "high"])})
    async with AsyncTypeSafeClient(api_key="test-key", base_url=url) as client:
        responses = await asyncio.gather(*(client.system_one(f"row {row}", made) for row in range(3)))
        models = await client.models.list()
    assert models.models[0].name
    return [patterns(response) for response in responses]
