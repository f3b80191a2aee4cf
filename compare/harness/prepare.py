"""Builds and installs what the contestants need. What cannot be had is a reason, never an error of the run."""
import hashlib
import os
import re
import shutil
import subprocess
import sys

from places import BUILD, CLIENTS, ENVIRONMENTS, HARNESS, ROOT
from process import environment

# Folders whose sources make up what is installed, besides the contestant's own.
OURS = {
    "deemster-python": ("core", "abi", "bindings/python"),
    "deemster-node": ("core", "abi", "bindings/node"),
    "deemster-c": ("core", "abi"),
    "deemster-cli": ("core", "abi", "bindings/cli"),
}
SKIPPED = {"node_modules", "__pycache__", "tests", "test", "prebuilds", "build"}
LIMIT_S = 1200


class NotAvailable(Exception):
    """The reason why a contestant cannot take part."""


def step(command, cwd=ROOT, **more):
    try:
        done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, errors="replace", timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, env=environment({"PATH": os.environ.get("PATH", "") + tools(), **more}))
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise NotAvailable(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        telling = [line for line in lines if re.search(r"\berror\b[:\[ ]|ERR", line) and "-Werror" not in line]
        said = (telling or lines[-1:] or ["failed"])[0].replace(f"{ROOT}/", "")
        raise NotAvailable(f"{os.path.basename(str(command[0]))}: {said[:200]}")


def tools():
    return f":{os.path.expanduser('~/.cargo/bin')}:/usr/local/go/bin"


def files(folder):
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - SKIPPED)
        yield from (os.path.join(base, name) for name in sorted(names))


def digest(*folders):
    total = hashlib.sha256()
    for folder in folders:
        for name in files(folder):
            total.update(name.encode())
            with open(name, "rb") as file:
                total.update(file.read())
    return total.hexdigest()


def build_c(targets):
    step(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DDEEMSTER_COMPARE=ON", "-DDEEMSTER_TESTS=OFF", "-DDEEMSTER_BENCH=OFF"])
    step(["cmake", "--build", BUILD, "--target", *targets])


def virtual_environment(place, requirements):
    shutil.rmtree(place, ignore_errors=True)
    step([sys.executable, "-m", "venv", place])
    pip = [place / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    step([*pip, "-r", requirements])
    return pip


def python(folder):
    pip = virtual_environment(ENVIRONMENTS / folder, CLIENTS / folder / "requirements.txt")
    if folder == "deemster-python":
        step([*pip, ROOT / "bindings" / "python"])


def node(folder):
    if folder == "deemster-node":
        wrapper = ROOT / "bindings" / "node"
        if not (wrapper / "package.json").exists():
            raise NotAvailable("the Node wrapper is not in the project yet")
        return step(["bash", wrapper / "scripts" / "build-native.sh"], cwd=wrapper)
    return step(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=CLIENTS / folder)


def go(folder):
    step(["go", "build", "-o", BUILD / "bin" / f"compare-{folder}", "."], cwd=CLIENTS / folder)


def rust(folder):
    step(["cargo", "build", "--release", "--locked"], cwd=CLIENTS / folder, CARGO_TARGET_DIR=str(BUILD / "rust"))


def prepare_one(folder):
    """Prepares one folder of compare/clients unless nothing changed since the last time."""
    name, _, _ = folder.partition("-")
    kind = {"c": "c", "deemster": folder.split("-")[1]}.get(name, name)
    if folder in ("deemster-c", "deemster-cli") or kind == "c":
        targets = {"c-raw": ["compare-raw-socket", "compare-raw-epoll"], "c-curl": ["compare-curl-easy", "compare-curl-multi"],
                   "deemster-c": ["compare-deemster-blocking", "compare-deemster-engine"], "deemster-cli": ["deemster-command"]}[folder]
        return build_c(targets)
    common = [CLIENTS / "common"] if kind in ("go", "rust") else []
    sources = [ROOT / source for source in OURS.get(folder, ())]
    stamp = ENVIRONMENTS / f"{folder}.stamp"
    now = digest(CLIENTS / folder, *common, *sources)
    if stamp.exists() and stamp.read_text() == now:
        return None
    {"python": python, "node": node, "go": go, "rust": rust}[kind](folder)
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    stamp.write_text(now)
    return None


def prepare(contestants, say):
    """Returns {folder: reason} of the folders that cannot take part."""
    say("building the mock")
    build_c(["deemster-mock"])
    reasons = {}
    folders = list(dict.fromkeys(contestant.environment for contestant in contestants))
    if any(contestant.language == "Node 24" for contestant in contestants):
        folders.insert(0, "node-24")
    for folder in folders:
        say(f"preparing {folder}")
        try:
            prepare_one(folder)
        except NotAvailable as reason:
            reasons[folder] = str(reason)
    return reasons


def jevcompat():
    """The program jevcompat, whose mock server has the faults of the verdicts; in an environment of its own."""
    place, wanted = ENVIRONMENTS / "jevcompat", (HARNESS / "jevcompat.txt").read_text()
    stamp = ENVIRONMENTS / "jevcompat.stamp"
    if not stamp.exists() or stamp.read_text() != wanted:
        virtual_environment(place, HARNESS / "jevcompat.txt")
        stamp.write_text(wanted)
    return place / "bin" / "jevcompat"
