"""What the tests of the interface share: where it is written down, and how results are counted."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "abi" / "include"
STABLE, EXPERIMENTAL = "deemster.h", "deemster_experimental.h"
MAP = ROOT / "abi" / "deemster.map"
SONAME = "libdeemster.so.0.1"
PROTOTYPE = re.compile(r"/\*\*(?P<doc>(?:(?!\*/).)*)\*/\s*DEEM_API (?P<type>[^;()]*?)(?P<name>deem_\w+)\((?P<arguments>[^;]*)\);", re.S)


class Results:
    """Counts checks; end() prints the counts and gives the exit code."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, text):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAILED {text}")
        return good

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)


def prototypes(text):
    """The exported functions of a header's text: match objects with doc, type, name, arguments."""
    return list(PROTOTYPE.finditer(text))


def constants(text):
    """The constants of a header's text: {name: value}."""
    return dict(re.findall(r"^#define (DEEM_\w+) (\(?-?\w+\)?)$", text, re.M))


def nodes():
    """The version script: {name: node}."""
    found = {}
    for node, body in re.findall(r"^(DEEMSTER_\w[\w.]*) \{(.*?)^\}", MAP.read_text(), re.S | re.M):
        for name in re.findall(r"^\s+(deem_\w+);", body, re.M):
            assert name not in found, f"{name} is in two nodes"
            found[name] = node
    return found


def output(*command, **options):
    """What a command prints on standard output; its failure is an error."""
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout
