"""The stages of ./dev test. A stage is a function that returns (passed, failed); a Failure counts one failed."""
import json
import re
import sys
import time
import xml.etree.ElementTree as ElementTree

import lint
from tools import BUILD, JOBS, ROOT, Failure, environment, logged, run, say, variant

TEST_TIMEOUT_S = 300
CLANG = {"CMAKE_C_COMPILER": "clang-14", "CMAKE_CXX_COMPILER": "clang++-14"}


def configure(folder, options=None):
    """Configures (again) one configuration."""
    define = [f"-D{name}={value}" for name, value in (options or {}).items()]
    run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *define], f"configure {folder.name}",
        "read the message above; ./dev setup installs what is missing.")


def configure_and_build(folder, options=None, targets=()):
    """Configures (again) and builds one configuration."""
    configure(folder, options)
    say(f"  building {folder.name}")
    run(["cmake", "--build", folder, "-j", JOBS, *(["--target", *targets] if targets else [])], f"build {folder.name}",
        "mend the first error above.")


def ctest(folder, what, *selection, env=None):
    """Runs the chosen tests of a configuration and counts their cases."""
    report = folder / f"{what}.xml"
    report.unlink(missing_ok=True)
    code, output = logged(
        ["ctest", "--test-dir", folder, "-j", JOBS, "--timeout", TEST_TIMEOUT_S, "--output-junit", report,
         "--test-output-size-passed", 100000, "--test-output-size-failed", 100000, *selection], f"ctest {what} {folder.name}",
        env=environment(**(env or {})))
    if not report.exists():
        raise Failure(f"{output}\nctest made no report of {what}: run it by hand in {folder.name}.")
    passed = failed = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        text = case.findtext("system-out") or ""
        good, bad = count_cases(text)
        if case.get("status") != "run":
            bad = max(bad, 1)
            tail = "\n".join(text.splitlines()[-60:])
            say(f"  FAILED {case.get('name')} ({folder.name})\n{tail}")
        elif good + bad == 0:
            good = 1
        passed, failed = passed + good, failed + bad
    if code != 0 and failed == 0:
        raise Failure(f"ctest {what} ended with {code}:\n{output}")
    return passed, failed


def count_cases(text):
    """The cases that a runner counted itself (Criterion, ours, pytest, Node), or (0, 0)."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = re.findall(r"Tested: \d+ \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)", text)
    if found:
        return sum(int(row[0]) for row in found), sum(int(row[1]) + int(row[2]) for row in found)
    ours = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.M)
    if ours:
        return int(ours[-1][0]), int(ours[-1][1])
    pytest = re.findall(r"^=+ (.*) in [\d.]+s.* =+$", text, re.M)
    if pytest:
        numbers = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)", pytest[-1])}
        return numbers.pop("passed", 0), sum(numbers.values())
    node_pass, node_fail = (re.findall(rf"^[#ℹ] {word} (\d+)$", text, re.M) for word in ("pass", "fail"))
    return sum(map(int, node_pass)), sum(map(int, node_fail))


def stage_gcc():
    """gcc build with warnings as errors; unit, conformance and command tests"""
    configure_and_build(BUILD)
    return ctest(BUILD, "tests", "-LE", "abi|docs|dlopen")


def stage_abi():
    """exported names, abidiff and its mutants, layout, header dialects, old clients, installed tree"""
    configure_and_build(BUILD)
    return ctest(BUILD, "abi", "-L", "abi")


def stage_docs():
    """every code block of the documentation, compiled and run"""
    configure_and_build(BUILD)
    return ctest(BUILD, "docs", "-L", "docs")


def stage_dlopen():
    """the library opened with no wrapper from other languages"""
    configure_and_build(BUILD)
    return ctest(BUILD, "dlopen", "-L", "dlopen")


def stage_lint():
    """format, folder rules, clang-tidy, cppcheck, documentation of the header"""
    configure(lint.COMPILED, CLANG)
    return lint.all_checks()


def stage_clang():
    """clang build with the same warnings"""
    configure_and_build(variant("clang"), CLANG)
    return 1, 0


def build_sanitized():
    folder = variant("asan")
    configure_and_build(folder, {**CLANG, "DEEMSTER_SANITIZE": "address,undefined", "DEEMSTER_FUZZ": "ON", "DEEMSTER_BENCH": "OFF"})
    return folder


def fuzz_targets(folder):
    return sorted(path for path in (folder / "bin").glob("fuzz_*") if path.is_file())


def stage_asan():
    """AddressSanitizer and UBSan: unit tests and the fuzzers' corpora"""
    return ctest(build_sanitized(), "asan", "-LE", "abi|docs|dlopen|slow")


def stage_tsan():
    """ThreadSanitizer: the tests that use threads"""
    folder = variant("tsan")
    configure_and_build(folder, {**CLANG, "DEEMSTER_SANITIZE": "thread", "DEEMSTER_BENCH": "OFF"})
    return ctest(folder, "tsan", "-L", "threads",
                 env={"TSAN_OPTIONS": f"suppressions={ROOT}/tests/lint/tsan.supp second_deadlock_stack=1"})


def stage_scan():
    """the build without C++: the pure C scanner reads the replies"""
    folder = variant("scan")
    configure_and_build(folder, {"DEEMSTER_JSON": "scan", "DEEMSTER_BENCH": "OFF"})
    return ctest(folder, "scan", "-LE", "abi|docs|dlopen|slow")


def stage_bindings():
    """the tests of the Python and Node wrappers, where they exist"""
    passed = failed = 0
    for script in sorted((ROOT / "bindings").glob("*/test.sh")):
        code, output = logged(["bash", script], f"{script.parent.name} tests",
                              env=environment(DEEMSTER_ROOT=str(ROOT), DEEMSTER_BUILD=str(BUILD)))
        good, bad = count_cases(output)
        if code != 0:
            bad = max(bad, 1)
            say("\n".join(output.splitlines()[-80:]))
        elif good == 0:
            raise Failure(f"bindings/{script.parent.name}/test.sh ran no test: its output must end with the runner's counts.")
        passed, failed = passed + good, failed + bad
    return passed, failed


def stage_coverage():
    """line coverage of the core, and a check that no public function is untested"""
    folder = variant("coverage")
    configure_and_build(folder, {"DEEMSTER_COVERAGE": "ON", "CMAKE_BUILD_TYPE": "Debug", "DEEMSTER_BENCH": "OFF"})
    for old in folder.rglob("*.gcda"):
        old.unlink()
    result = ctest(folder, "coverage", "-LE", "abi|docs|dlopen|slow")
    report = folder / "coverage.json"
    run(["gcovr", "-r", ROOT, "--gcov-ignore-parse-errors", "--filter", "core/", "--filter", "abi/src/", "--json", report, "--json-summary",
         folder / "summary.json", folder], "gcovr", "read the message above.")
    summary = json.loads((folder / "summary.json").read_text())
    for file in summary["files"]:
        say(f"    {file['line_percent']:5.1f} % {file['filename']}")
    say(f"    lines {summary['line_percent']} %, branches {summary['branch_percent']} %")
    untested = untested_functions(json.loads(report.read_text()))
    for name in untested:
        say(f"  FAILED {name} is public and no test calls it")
    return result[0] + (not untested), result[1] + len(untested)


def untested_functions(report):
    """The exported functions that no test entered."""
    called = {function["name"] for file in report["files"] for function in file["functions"] if function["execution_count"] > 0}
    public = re.findall(r"^\s+(deem_\w+);", (ROOT / "abi" / "deemster.map").read_text(), re.M)
    return sorted(set(public) - called)


STAGES = {function.__name__[len("stage_"):]: function for function in
          (stage_gcc, stage_abi, stage_docs, stage_dlopen, stage_lint, stage_clang, stage_asan, stage_tsan, stage_scan,
           stage_bindings, stage_coverage)}


def test(names):
    """Runs the stages, prints what each took, and ends with the counts."""
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        raise Failure(f"there is no stage {unknown[0]!r}; the stages are {', '.join(STAGES)}.")
    table, chosen = [], list(names or STAGES)
    for number, name in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {name}: {STAGES[name].__doc__}")
        start = time.monotonic()
        try:
            passed, failed = STAGES[name]()
        except Failure as failure:
            say(f"  FAILED {failure}")
            passed, failed = 0, 1
        table.append((name, time.monotonic() - start, passed, failed))
        say(f"  {passed} passed, {failed} failed, {table[-1][1]:.0f} s")
    say(f"\n{'stage':10} {'seconds':>8} {'passed':>8} {'failed':>8}")
    for name, seconds, passed, failed in table:
        say(f"{name:10} {seconds:8.1f} {passed:8} {failed:8}")
    passed, failed = sum(row[2] for row in table), sum(row[3] for row in table)
    say(f"{'all':10} {sum(row[1] for row in table):8.1f}\n")
    sys.stdout.flush()
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
