"""The library opened from another language with no wrapper: each program loads it, asks the mock, and must read what
the command reads. usage: run.py LANGUAGE LIBRARY COMMAND MOCK WORK-FOLDER [JAVA]"""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "dev"))
from mock import Mock  # noqa: E402
from tools import environment  # noqa: E402

STATES = ["Production has been down since 9:00, call me now.", "", "Grüße aus Köln 🙂"]


def program(language, library, work, java):
    """What to run, after building it where the language needs that; arguments follow."""
    if language == "python":
        return [sys.executable, HERE / "evaluate.py"]
    if language == "luajit":
        return ["luajit", HERE / "evaluate.lua"]
    if language == "java":
        return [java, "--enable-native-access=ALL-UNNAMED", HERE / "Evaluate.java"]
    work.mkdir(parents=True, exist_ok=True)
    built = work / "evaluate"
    if language == "rust":
        command, env = ["rustc", "--edition=2021", "-O", "-o", built, HERE / "evaluate.rs"], environment()
    else:
        folder = Path(library).parent
        command = ["go", "build", "-o", built, HERE / "evaluate.go"]
        env = environment(CGO_ENABLED="1", GOTOOLCHAIN="local", CGO_CFLAGS=f"-I{ROOT}/abi/include",
                          CGO_LDFLAGS=f"-L{folder} -ldeemster -Wl,-rpath,{folder}")
    subprocess.run(command, check=True, env=env)
    return [built]


def main(language, library, command, mock, work, java=None):
    run, questions = program(language, library, Path(work), java), (HERE / "questions.json").read_text()
    passed = failed = 0
    with Mock(mock) as server:
        env = environment(**server.variables())
        for state in STATES:
            done = subprocess.run([*run, library, questions, state], env=env, capture_output=True, text=True, encoding="utf-8")
            lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
            told = subprocess.run([command, "evaluate", "--questions", HERE / "questions.json", "--value", "--state", state], env=env, check=True,
                                  capture_output=True, text=True, encoding="utf-8").stdout
            expected = dict(line.split("\t", 1) for line in told.splitlines())
            good = (done.returncode == 0 and lines["abi"] == "0 1" and lines["team"] == expected["team"]
                    and abs(float(lines["urgent"]) - float(expected["urgent"])) < 1e-6)
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"FAILED {language}, state {state!r}: expected {told!r}, got {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
