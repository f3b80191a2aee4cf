"""Runs the deemster command and holds its end against a row of a table."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mock"))
PROGRAM = os.environ["DEEMSTER"]
TRIAGE = str(ROOT / "docs" / "examples" / "triage.json")
TICKET = str(ROOT / "docs" / "examples" / "ticket.txt")
KEPT = ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")


def environment(**more):
    """The variables of this process that a test may depend on, and more; None leaves one out."""
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env.update(more)
    return {name: value for name, value in env.items() if value is not None}


def deemster(*arguments, stdin=b"", cwd=None, **variables):
    """Runs the command; returns (exit code, stdout, stderr), the last two as bytes."""
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=60, cwd=cwd,
                          env=environment(**variables))
    return done.returncode, done.stdout, done.stderr


class Folder(unittest.TestCase):
    """Tests in a temporary folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, files):
        for name, content in files.items():
            content = json.dumps(content) if isinstance(content, (dict, list)) else content
            (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def check(self, end, code, out, err):
        """out and err are patterns over the whole text, or exact texts in a list."""
        self.assertEqual(end[0], code, f"exit code; stdout {end[1]!r}, stderr {end[2]!r}")
        for what, text, wanted in (("stdout", end[1], out), ("stderr", end[2], err)):
            text = text.decode()
            if isinstance(wanted, list):
                self.assertEqual(text, wanted[0], what)
            else:
                self.assertRegex(text, re.compile(rf"\A(?:{wanted})\Z", re.S), what)


def rows(cls, table, run):
    """Adds a test to the class for each row of the table: run(test, **row)."""
    for number, row in enumerate(table, 1):
        name = re.sub(r"\W+", "_", row.pop("name"))
        method = f"test_{number:03}_{name}"
        setattr(cls, method, lambda self, row=row: run(self, **row))
    return cls


def main():
    """Runs the tests of the calling file, ending with the counts that ./dev test reads."""
    program = unittest.main(module="__main__", exit=False)
    result = program.result
    bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.testsRun - bad} passed, {bad} failed", flush=True)
    sys.exit(bad != 0 or result.testsRun == 0)
