"""Other languages open the library with no wrapper: each program asks a mock the same questions through the C ABI and prints
its answers, which must be those of the mock's own reply (asked for here over plain HTTP) and the same in every language.
usage: run.py LIBRARY MOCK WORK-FOLDER RUNTIME [TOOL]"""
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "abi" / "include"
NOUL, CHOICE = 1, 2
HAS_BOTH = 3  # flags: DEEM_ANSWER_HAS_CONFIDENCE and DEEM_ANSWER_HAS_PROBABILITIES
LIMIT = 300  # seconds: a first Go build compiles its own runtime
OPTIONS = {"Büro": "Money, invoices, refunds", "Wärme": "Heating and faults"}
BODY = {"model": "jev-latest", "state": "The heating has failed, send somebody now.", "questions": {
    "urgent": {"type": "noul", "instructions": "Is help needed right away?"},
    "team": {"type": "choice", "instructions": "Who should take it?", "criteria": OPTIONS}}}


def expected(url):
    """What a program must print, from the raw reply."""
    request = urllib.request.Request(url + "/v1/systemone", json.dumps(BODY, ensure_ascii=False).encode(),
                                     {"Authorization": "Bearer key", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        answers = json.load(reply)["answers"]
    noul, team = answers["urgent"]["noul"], answers["team"]
    chances = [team["probabilities"][label] for label in OPTIONS]
    chosen = list(OPTIONS).index(team["choice"])
    records = [[0, NOUL, 0, 0, noul, None, -1, -1, 0, 0],
               [1, CHOICE, 0, HAS_BOTH, chances[chosen], team["confidence"], chosen, chances.index(max(chances)), 0, 2]]
    return {"noul": noul, "label": team["choice"], "confidence": team["confidence"], "records": records, "submitted": records}


def command(runtime, tool, library, work):
    """The program of a runtime as a command (built first where it must be), and its environment."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
    if runtime == "ctypes":
        return [sys.executable, HERE / "ctypes_client.py"], environment
    if runtime == "luajit":
        return [tool, HERE / "luajit_client.lua"], environment
    if runtime == "java":
        return [tool, "--enable-native-access=ALL-UNNAMED", HERE / "JavaClient.java"], environment
    program = work / f"{runtime}_client"
    if runtime == "rust":
        build = [tool, "--edition", "2021", "-o", program, HERE / "rust_client.rs"]
    else:
        build = [tool, "build", "-o", program, HERE / "go_client.go"]
        environment |= {"CGO_ENABLED": "1", "CGO_CFLAGS": f"-I{INCLUDE}", "CGO_LDFLAGS": str(library),
                        "GOCACHE": str(work / "go-cache"), "GOTOOLCHAIN": "local"}
    subprocess.run(build, check=True, timeout=LIMIT, env=environment, cwd=work)
    return [program], environment


def answers(runtime, tool, library, work, url):
    program, environment = command(runtime, tool, library, work)
    ran = subprocess.run([*program, library, url], capture_output=True, encoding="utf-8", timeout=60, env=environment)
    if ran.returncode != 0:
        return f"exit status {ran.returncode}: {ran.stdout}{ran.stderr}"
    return json.loads(ran.stdout)


def main(library, mock, work, runtime, tool=""):
    library, work, passed, failed = Path(library).resolve(), Path(work), 0, 0
    if runtime != "ctypes" and not shutil.which(tool):
        print(f"FAILED {runtime} is not installed: ./dev setup installs it\n0 passed, 1 failed")
        return 1
    work.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen([mock, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        wanted = expected(url)
        printed = answers(runtime, tool, library, work, url)
        if not isinstance(printed, dict):
            print(f"FAILED {runtime}: {printed}")
            printed, failed = {}, 1
        elif printed.keys() != wanted.keys():
            print(f"FAILED {runtime} printed {sorted(printed)}")
            failed += 1
        for name in [name for name in wanted if name in printed]:
            good = printed[name] == wanted[name]
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"FAILED {runtime}: {name} is {printed[name]} in place of {wanted[name]}")
    finally:
        server.terminate()
        server.wait()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
