"""Every Python block of the guide and the README runs, and every row of the guide's table of differences is a test."""

import os
import re
import subprocess
import sys
from pathlib import Path

import differences
import pytest

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/python.md").read_text(encoding="utf-8")
README = (ROOT / "bindings/python/README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE + README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block(number, mock):
    environment = {**os.environ, "TYPESAFE_BASE_URL": mock, "TYPESAFE_API_KEY": "docs-key"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", BLOCKS[number]], capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_there_are_blocks():
    assert len(BLOCKS) >= 11


def test_every_row_is_a_test():
    table = GUIDE.partition("## Moving from typesafe_sdk")[2]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")][2:]
    assert rows == list(differences.ROWS)


@pytest.mark.parametrize("row", differences.ROWS)
@pytest.mark.filterwarnings("ignore")
def test_difference(row, scripted):
    differences.ROWS[row](scripted)
