"""What the tests of deemster batch share: a mock of one's own, inputs, runs and what came out of them."""
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
sys.path.insert(0, str(ROOT / "tests" / "mock"))

import command  # noqa: E402
from server import Mock  # noqa: E402

KEY = "key-of-the-tests"
QUESTIONS = {
    "urgent": {"type": "noul", "instructions": "Is `text` urgent?"},
    "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "Money", "tech": None}},
}
# What an interrupted and resumed run may say otherwise than one that ran through.
VARYING = ("request_id", "attempts")


def lines(count, first=0):
    """Rows as JSON Lines; every one different."""
    return "".join(json.dumps({"id": i, "text": f"row {i}"}) + "\n" for i in range(first, first + count))


def rows_of(output):
    return [json.loads(line) for line in output.splitlines()]


def steady(rows):
    """The rows without what may vary from run to run."""
    return [{name: value for name, value in row.items() if name not in VARYING} for row in rows]


def variables(mock, **more):
    return command.environment(TYPESAFE_BASE_URL=mock.url, TYPESAFE_API_KEY=KEY, **more)


def arguments(*more, rpm="0"):
    """A command line with the shared questions and (unless asked otherwise) no limit on the pace."""
    return [os.environ["DEEMSTER"], "batch", "-q", "questions.json", "--rpm", rpm, "--tps", "0", *more]
