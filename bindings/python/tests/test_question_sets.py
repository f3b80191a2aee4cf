"""Question sets: every way to make one, the findings, the cache, results as instances of a class."""

import base64
import copy
import dataclasses
import enum
import json
import pickle
from pathlib import Path
from typing import Annotated, Literal

import pydantic
import pytest
from conftest import GOOD, client_of, reply

import deemster
from deemster import Choice, ChoiceAnswer, Noul, NoulAnswer, QuestionSet, Score, ScoreAnswer, TypeSafeQuestionError, _sets

CASES = json.loads((Path(__file__).parents[3] / "tests/conformance/question_sets.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", [case for case in CASES if "script" not in case], ids=lambda case: case["name"])
def test_conformance(case):
    """The verdicts that C gives, out of the shared cases (scripts of builder calls are C's own)."""
    document = case.get("document") or base64.b64decode(case.get("document_base64", ""))
    try:
        made = QuestionSet.from_json(document, unknown_fields=case.get("open", False))
        findings, questions, identity = made.findings, made.json, made.identity
    except TypeSafeQuestionError as error:
        findings, questions, identity = error.findings, None, None
    assert [[finding.rule, finding.severity, finding.path] for finding in findings] == case["findings"]
    assert questions == case.get("questions")
    assert identity == case.get("identity")


def test_from_code_dict_json_and_file_are_one(tmp_path):
    code = QuestionSet({"q": Noul(instructions="i"), "c": Choice(criteria={"a": None}, instructions="j")})
    plain = {"q": {"type": "noul", "instructions": "i"}, "c": {"type": "choice", "criteria": {"a": None}, "instructions": "j"}}
    file = tmp_path / "set.json"
    file.write_text(json.dumps({"questions": plain}))
    same = [QuestionSet(plain), QuestionSet.from_json(json.dumps(plain)), QuestionSet.from_file(file)]
    for other in same:
        assert (other.names, other.kinds, other.labels) == (code.names, code.kinds, code.labels)
    assert code.names == ("q", "c") and code.kinds == ("noul", "choice") and code.labels == ((), ("a",))
    assert json.loads(code.json) == plain
    assert len(code) == 2 and list(code) == ["q", "c"] and "q" in code and "x" not in code


def test_equality_hash_pickle_and_copy():
    one = QuestionSet({"q": Noul(instructions="i")}, model="m")
    two = QuestionSet({"q": {"type": "noul", "instructions": "i"}}, model="m")
    assert one == two and hash(one) == hash(two) and one != QuestionSet({"q": Noul(instructions="j")}, model="m")
    again = pickle.loads(pickle.dumps(one))
    assert again == one and again.model == "m" and copy.deepcopy(one) == one


def test_names_of_any_kind():
    names = ["", "a.b", "ü", "u\u0308", "questions", "model", "10", "2", "__proto__", "x\x00y", "😀"]
    made = QuestionSet({name: Noul(instructions="i") for name in names if name})
    assert list(made.names) == names[1:]
    labels = [name for name in names]
    assert QuestionSet({"c": Choice(criteria=dict.fromkeys(labels))}).labels[0] == tuple(labels)


@pytest.mark.parametrize(
    ("questions", "path"),
    [({"q": {"type": "choice", "criteria": {}}}, "questions.q.criteria"), ({"q": {"type": "score", "criteria": []}}, "questions.q.criteria"),
     ({"q": {"type": "choice"}}, "questions.q.criteria"), ({"q": {"type": "choice", "criteria": None}}, "questions.q.criteria"),
     ({"q": {"type": "unheard"}}, "questions.q.type"), ({"q": {"type": "score", "criteria": [None]}}, "questions.q.criteria[0]"),
     ({"q": Choice(criteria={str(i): None for i in range(256)})}, "questions.q.criteria")],
)  # fmt: skip
def test_findings(questions, path):
    with pytest.raises(TypeSafeQuestionError) as caught:
        QuestionSet(questions)
    errors = [finding for finding in caught.value.findings if finding.severity == "error"]
    assert path in [finding.path for finding in errors]
    assert str(caught.value).startswith(errors[0].path)
    assert pickle.loads(pickle.dumps(caught.value)).findings == caught.value.findings


@pytest.mark.parametrize("questions", [None, [], "text", {}, {"q": None}, {"q": {"no": "type"}}, {"q": {"type": "noul", "instructions": object()}}])
def test_what_is_no_question(questions):
    with pytest.raises(TypeSafeQuestionError):
        QuestionSet(questions)


def test_a_long_name_does_not_flood_a_message():
    with pytest.raises(TypeSafeQuestionError) as caught:
        QuestionSet({"x" * 100_000: {"type": "choice", "criteria": {}}})
    assert len(str(caught.value)) < 2000


def test_the_cache_is_bounded_and_by_content(monkeypatch):
    monkeypatch.setattr(_sets, "_cache", {})
    monkeypatch.setattr(_sets, "CACHED_SETS", 3)
    first = _sets.compiled({"q": Noul(instructions="i0")})
    assert _sets.compiled({"q": Noul(instructions="i0")}) is first
    assert _sets.compiled({"q": {"type": "noul", "instructions": "i0"}}) == first
    for number in range(10):
        _sets.compiled({"q": Noul(instructions=f"i{number}")})
    assert len(_sets._cache) == 3
    Text = type("Text", (str,), {})  # noqa: N806 - a type that marshal does not know
    odd = _sets.compiled({"q": Noul(instructions=Text("i"))})
    assert _sets.compiled({"q": Noul(instructions=Text("i"))}) is odd and len(_sets._cache) == 3
    question = Noul(instructions="one")
    one = _sets.compiled({"q": question})
    question.instructions = "two"
    assert _sets.compiled({"q": question}) is not one


class Tone(enum.Enum):
    CALM = "calm"
    ANGRY = "angry"


@dataclasses.dataclass
class Ticket:
    billing: bool = dataclasses.field(metadata={"instructions": "Is this about billing?"})
    spam: Annotated[float, "Is this spam?"] = 0.0
    team: Literal["sales", "support"] = "sales"
    tone: Annotated[Tone, "Which tone?"] = Tone.CALM
    urgency: Annotated[float, Score(criteria=["low", "high"], instructions="How urgent?")] = 0.0
    level: Annotated[int, Score(criteria=["low", "high"])] = 0
    whole: Annotated[ChoiceAnswer, Choice(criteria={"a": None, "b": None})] = None
    share: Annotated[NoulAnswer, "Is it shared?"] = None


ANSWERS = {
    "billing": {"type": "noul", "noul": 0.75},
    "spam": {"type": "noul", "noul": 0.25},
    "team": {"type": "choice", "choice": "support", "confidence": 0.9, "probabilities": {"sales": 0.1, "support": 0.9}},
    "tone": {"type": "choice", "choice": "angry", "confidence": 0.9, "probabilities": {"calm": 0.1, "angry": 0.9}},
    "urgency": {"type": "score", "score": 0.75, "confidence": 0.9, "legend": {"0": "low", "1": "high"}, "probabilities": {"0": 0.25, "1": 0.75}},
    "level": {"type": "score", "score": 0.75, "confidence": 0.9, "legend": {"0": "low", "1": "high"}, "probabilities": {"0": 0.25, "1": 0.75}},
    "whole": {"type": "choice", "choice": "a", "confidence": 0.9, "probabilities": {"a": 0.9, "b": 0.1}},
    "share": {"type": "noul", "noul": 0.5},
}


def test_a_dataclass_is_a_question_set(scripted):
    made = QuestionSet.from_class(Ticket)
    assert made.names == tuple(ANSWERS)
    assert made.kinds == ("noul", "noul", "choice", "choice", "score", "score", "choice", "noul")
    sent = json.loads(made.json)
    assert sent["billing"] == {"type": "noul", "instructions": "Is this about billing?"}
    assert sent["tone"] == {"type": "choice", "instructions": "Which tone?", "criteria": {"calm": None, "angry": None}}
    server = scripted(reply(body=json.dumps({"model": "m", "answers": ANSWERS, "usage": {}}).encode()))
    with client_of(server) as client:
        ticket = made.read(client.system_one("x", made))
    assert (ticket.billing, ticket.spam, ticket.team, ticket.tone) == (True, 0.25, "support", Tone.ANGRY)
    assert (ticket.urgency, ticket.level, ticket.whole.choice, ticket.share.noul) == (0.75, 1, "a", 0.5)
    assert pickle.loads(pickle.dumps(made)).read is not None


def test_a_pydantic_model_is_a_question_set(scripted):
    class Triage(pydantic.BaseModel):
        q: bool = pydantic.Field(description="Is it?")

    made = QuestionSet.from_class(Triage)
    assert json.loads(made.json) == {"q": {"type": "noul", "instructions": "Is it?"}}
    with client_of(scripted(reply(body=GOOD))) as client:
        assert made.read(client.system_one("x", made)) == Triage(q=True)


@pytest.mark.parametrize("hint", [str, list, Literal[1, 2], Annotated[str, Score(criteria=["a"])], Annotated[int, Noul(instructions="i")]])
def test_fields_that_are_no_question(hint):
    made = dataclasses.make_dataclass("Made", [("field", hint)])
    with pytest.raises(TypeSafeQuestionError, match="Made.field"):
        QuestionSet.from_class(made)


def test_reading_a_set_that_has_no_class(client):
    made = QuestionSet({"q": Noul(instructions="i")})
    with pytest.raises(deemster.TypeSafeError, match="not made from a class"):
        made.read(client.system_one("x", made))


def test_level_text_is_found_by_index_not_by_its_number():
    levels = ["20", "21", "22", "23", "24"]
    answer = deemster.testing.canned({"q": Score(criteria=levels)}, {"q": 3.67}).scores["q"]
    assert isinstance(answer, ScoreAnswer)
    assert (answer.score, answer.level, levels[answer.level], answer.legend[answer.level]) == (3.67, 4, "24", "24")


import deemster.testing  # noqa: E402
