"""Where things lie."""
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / "compare" / "harness"
CLIENTS = ROOT / "compare" / "clients"
RESULTS = ROOT / "compare" / "results"
GATES = ROOT / "compare" / "gates.json"
BUILD = ROOT / os.environ.get("DEEMSTER_COMPARE_BUILD", "build-compare")
ENVIRONMENTS = BUILD / "env"
WORK = BUILD / "run"
PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "performance"
