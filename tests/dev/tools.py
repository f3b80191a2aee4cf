"""Small helpers of ./dev: where things are, how a step is run, how a failure is told."""
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("DEEMSTER_BUILD", "build")
VENV = ROOT / ".venv"
JOBS = str(os.cpu_count() or 2)
HEARTBEAT_S = 30


class Failure(Exception):
    """A step that failed; its text is one sentence that says what to do."""


def say(text):
    print(text, flush=True)


def variant(name):
    """The build folder of another configuration, beside the default one."""
    return BUILD.with_name(f"{BUILD.name}-{name}")


def environment(**more):
    """The environment of every step: the project's own Python and built programs come first."""
    env = dict(os.environ, **more)
    first = [str(VENV / "bin"), str(BUILD / "bin")]
    cargo = Path.home() / ".cargo" / "bin"
    last = [str(cargo), "/usr/local/go/bin"]
    env["PATH"] = os.pathsep.join(first + [env.get("PATH", "")] + last)
    return env


def run(command, what, advice, cwd=ROOT, env=None):
    """Runs a step, keeping its output in a log; on a terminal the output is shown as it comes.
    Raises Failure, after showing the end of the log, when the step does not exit with 0."""
    command = [str(part) for part in command]
    env = env or environment()
    if sys.stdout.isatty():
        code = subprocess.run(command, cwd=cwd, env=env).returncode
        tail = ""
    else:
        code, output = logged(command, what, cwd, env)
        tail = "\n".join(output.splitlines()[-80:]) + "\n"
    if code != 0:
        raise Failure(f"{tail}{what} failed: {advice}")


def logged(command, what, cwd=ROOT, env=None):
    """Runs a step without showing its output, with a sign of life on long ones: (code, output)."""
    logs = BUILD / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    path = logs / ("".join(c if c.isalnum() else "-" for c in what)[:60] + ".log")
    start = time.monotonic()
    with open(path, "w+b") as log:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=env or environment(), stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT)
        while True:
            try:
                code = process.wait(timeout=HEARTBEAT_S)
                break
            except subprocess.TimeoutExpired:
                say(f"    … {what}, {time.monotonic() - start:.0f} s so far")
        log.seek(0)
        return code, log.read().decode("utf-8", "replace")
