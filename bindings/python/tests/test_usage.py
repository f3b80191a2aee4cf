"""The typed programs of usage.py run; so do the test helpers that the package offers."""

import asyncio
import sys
import types

import pytest
import usage

import deemster
import deemster.compat
import deemster.testing
from deemster import Choice, Noul, QuestionSet, Score
from deemster.testing import AsyncCanned, Canned, canned, replayed

pytest_plugins = ()


def test_typed_program(mock):
    share, label, levels, identity, billing, tone, urgency = usage.program(mock)
    assert 0 <= share <= 1 and label in ("calm", "angry") and sorted(levels) == [0, 1] and identity
    assert billing in (True, False) and tone in ("calm", "angry") and 0 <= urgency <= 1


def test_typed_async_program(mock):
    rows = asyncio.run(usage.several(mock))
    assert len(rows) == 3 and all(row[0] in ("calm", "angry") and row[1] == "score" for row in rows)


QUESTIONS = QuestionSet(
    {"n": Noul(instructions="?"), "c": Choice(criteria={"a": None, "b": None}), "s": Score(criteria=["low", "middle", "high"])}
)


def test_canned_answers_in_short_and_in_full():
    response = canned(QUESTIONS, {"n": 0.9, "c": "b", "s": 1.5})
    assert (response.nouls["n"].noul, response.choices["c"].choice, response.scores["s"].score) == (0.9, "b", 1.5)
    assert response.scores["s"].probabilities == {0: 0.0, 1: 0.5, 2: 0.5} and response.model == "canned"
    full = {"type": "choice", "choice": "a", "confidence": 0.5, "probabilities": {"a": 0.5, "b": 0.5}}
    assert canned(QUESTIONS, {"n": 0, "c": full, "s": 0}).choices["c"].model_dump() == full


@pytest.mark.parametrize(
    ("answers", "path"),
    [({"n": 1.5, "c": "a", "s": 0}, "answers.n.noul"), ({"n": 0, "c": "x", "s": 0}, "answers.c.choice"), ({"n": 0, "c": "a"}, "answers.s"),
     ({"n": 0, "c": {"type": "choice", "choice": "a", "probabilities": {"a": 0.1, "b": 0.9}}, "s": 0}, "answers.c.choice")],
)  # fmt: skip
def test_canned_answers_are_checked(answers, path):
    with pytest.raises(deemster.TypeSafeAPIResponseValidationError) as caught:
        canned(QUESTIONS, answers)
    assert caught.value.field_path == path
    assert caught.value.response.problems


def test_canned_clients():
    client = Canned({"n": 0.25, "c": "a", "s": 2})
    with client as entered:
        assert entered.system_one("state", {"n": Noul(instructions="?")}).nouls["n"].noul == 0.25
    assert client.calls[0][0] == "state"

    async def main():
        async with AsyncCanned({"c": "a"}) as client:
            return (await client.system_one("state", {"c": Choice(criteria={"a": None})})).choices["c"].choice

    assert asyncio.run(main()) == "a"


def test_a_recorded_error_is_raised():
    with pytest.raises(deemster.TypeSafeRateLimitError):
        replayed(QUESTIONS, b'{"detail":"slow"}', status=429)


def test_the_fixtures_of_the_plugin(deemster_client, deemster_mock):
    assert deemster_client.system_one("x", QUESTIONS).status == 200 and deemster_mock.startswith("http://127.0.0.1:")


def test_compat(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("typesafe_sdk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(deemster._log, "name", "deemster")
    monkeypatch.setitem(sys.modules, "typesafe_sdk", types.ModuleType("typesafe_sdk"))
    with pytest.raises(RuntimeError, match="imported already"):
        deemster.compat.install()
    deemster.compat.install(replace=True)
    from typesafe_sdk import TypeSafeClient, constants

    assert TypeSafeClient is deemster.TypeSafeClient and constants.DEFAULT_TIMEOUT == 10.0
    assert deemster._log.name == "typesafe_sdk"
    deemster.compat.install()
    for name in ("typesafe_sdk", "typesafe_sdk.constants"):
        monkeypatch.delitem(sys.modules, name)
