"""The commands of ./dev. Each may be repeated at any time, and says in one line what it does."""
import os
import subprocess
import sys

import setup as setup_step
import stages
from mock import Mock
from tools import BUILD, JOBS, ROOT, Failure, environment, run, say, variant

FUZZ_RUNS = 10_000_000


def setup(arguments):
    """install what is missing (Debian packages, Python packages, simdjson)"""
    setup_step.setup()


def build(arguments):
    """build everything into build/ (./dev build TARGET… builds only that)"""
    setup_step.setup()
    stages.configure_and_build(BUILD, targets=arguments)
    script = ROOT / "bindings/node/scripts/build-native.sh"
    if not arguments and script.exists():
        say("  building the Node addon")
        run(["bash", script], "Node addon", "read the message above.",
            env=environment(DEEMSTER_LIBRARY=str(BUILD / "abi" / "libdeemster.so"), DEEMSTER_BUILD=str(BUILD)))


def demo(arguments):
    """evaluate an example question set against the embedded mock server"""
    build([])
    command, example = built("deemster"), ROOT / "docs" / "examples"
    say("demo: a support ticket, three questions, a mock server on this machine")
    with Mock(built("deemster-mock")) as mock:
        subprocess.run([command, "evaluate", "--questions", example / "triage.json", f"@{example / 'ticket.txt'}"], check=True,
                       env=environment(**mock.variables()))
        if (ROOT / "bindings" / "python" / "env.sh").exists():
            say("\nthe same from Python")
            os.environ.update(mock.variables())
            interpreter("python", ["python"], [ROOT / "bindings/python/examples/demo.py", example / "triage.json", example / "ticket.txt"])
        if (ROOT / "bindings" / "node" / "env.sh").exists():
            say("\nthe same from Node")
            os.environ.update(mock.variables())
            interpreter("node", ["node"], [ROOT / "bindings/node/examples/demo.mjs", example / "triage.json", example / "ticket.txt"])


def test(arguments):
    """run every test (./dev test STAGE… runs only those stages); ends with `N passed, N failed`"""
    setup_step.setup()
    return stages.test(arguments)


def lint(arguments):
    """check format, folder rules, clang-tidy, cppcheck and the header's documentation"""
    setup_step.setup()
    return stages.test(["lint"])


def bench(arguments):
    """build and run the micro-benchmarks (./dev bench NAME… runs only those)"""
    build([])
    programs = sorted(path for path in (BUILD / "bench").glob("bench_*") if os.access(path, os.X_OK) and path.is_file())
    if not programs:
        raise Failure("There is no benchmark in bench/ yet.")
    for program in programs:
        if not arguments or program.name[len("bench_"):] in arguments:
            say(f"bench: {program.name}")
            subprocess.run([program], check=True, env=environment())


def compare(arguments):
    """compare Deemster with the official SDKs and others (./dev compare --help; a full run takes half an hour)"""
    setup_step.setup()
    return subprocess.run([ROOT / ".venv-compare/bin/python", ROOT / "compare/harness/run.py", *arguments], env=environment()).returncode


def fuzz(arguments):
    """fuzz each target for ten million runs (./dev fuzz NAME RUNS: one target, so many runs)"""
    setup_step.setup()
    folder = stages.build_sanitized()
    for program in stages.fuzz_targets(folder):
        name = program.name[len("fuzz_"):]
        if arguments and name != arguments[0]:
            continue
        runs = arguments[1] if len(arguments) > 1 else FUZZ_RUNS
        found = folder / "found" / name
        found.mkdir(parents=True, exist_ok=True)
        corpus = [folder for folder in [ROOT / "tests/fuzz/corpus" / name] if folder.is_dir()]
        say(f"fuzz: {name}, {runs} runs")
        code = subprocess.run([program, f"-runs={runs}", "-print_final_stats=1", f"-artifact_prefix={found}/", found] + corpus,
                              env=environment()).returncode
        if code != 0:
            raise Failure(f"{program.name} found a failing input: it lies in {found}.")


def soak(arguments):
    """kill a batch of 10,000 rows at 200 random moments and hold what it resumes to (./dev soak ROWS KILLS: others)"""
    build([])
    env = environment(DEEMSTER=str(built("deemster")), DEEMSTER_MOCK=str(built("deemster-mock")))
    rows, kills = (arguments + ["10000", "200"][len(arguments):])[:2]
    return subprocess.run(["python3", "-B", ROOT / "tests" / "batch" / "test_kill.py", rows, kills], env=env).returncode


def deemster(arguments):
    """run the built command: ./dev deemster …"""
    return subprocess.run([built("deemster")] + arguments, env=environment(), cwd=os.environ.get("PWD", ROOT)).returncode


def python(arguments):
    """run Python with the built wrapper importable: ./dev python …"""
    return interpreter("python", ["python3"], arguments)


def wheel(arguments):
    """build the Python wheel that is published, into build-wheel/dist (takes some minutes)"""
    setup_step.setup()
    return subprocess.run(["bash", ROOT / "bindings" / "python" / "wheel.sh"] + arguments, env=environment()).returncode


def node(arguments):
    """run Node with the built wrapper importable: ./dev node …"""
    return interpreter("node", ["node"], arguments)


def interpreter(name, command, arguments):
    """Each wrapper's folder holds env.sh, which names what its interpreter needs to find it."""
    script = ROOT / "bindings" / name / "env.sh"
    if not script.exists():
        raise Failure(f"The {name} wrapper is not in the project yet: there is no bindings/{name}/env.sh.")
    shell = 'set -e; . "$0"; exec "$@"'
    return subprocess.run(["bash", "-c", shell, script] + command + arguments, cwd=os.environ.get("PWD", ROOT),
                          env=environment(DEEMSTER_ROOT=str(ROOT), DEEMSTER_BUILD=str(BUILD))).returncode


def built(name):
    program = BUILD / "bin" / name
    if not program.exists():
        raise Failure(f"{name} is not built yet: run ./dev build first.")
    return program


COMMANDS = [setup, build, demo, test, lint, bench, compare, fuzz, soak, deemster, python, wheel, node]


def help_text():
    lines = ["usage: ./dev COMMAND …", ""]
    lines += [f"  {command.__name__:9} {command.__doc__}" for command in COMMANDS]
    lines += ["", "DEEMSTER_BUILD=FOLDER builds into another folder than build/."]
    return "\n".join(lines)


def main(arguments):
    names = {command.__name__: command for command in COMMANDS}
    if not arguments or arguments[0] in ("help", "-h", "--help"):
        say(help_text())
        return 0
    if arguments[0] not in names:
        print(f"./dev has no command {arguments[0]!r}; ./dev help lists them.", file=sys.stderr)
        return 2
    try:
        return names[arguments[0]](arguments[1:]) or 0
    except Failure as failure:
        print(f"./dev {arguments[0]}: {failure}", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"./dev {arguments[0]}: {os.path.basename(str(error.cmd[0]))} ended with {error.returncode}.", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"./dev {arguments[0]}: stopped.", file=sys.stderr)
        return 130
    return 1
