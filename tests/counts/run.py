"""Counts that repeat, as gates: instructions (callgrind) and system calls (strace) of one warm evaluation.

Usage: run.py WARM_CALLS MOCK. The cost of one call is the difference of two run lengths, divided. Prints each count
beside its budget; exits 1 when one is passed. A budget is only ever lowered, or raised with a reason in the commit.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

INSTRUCTIONS = {"blocking": 13_000, "engine": 14_500}  # user space, valgrind's processor (no AVX-512); the
# engine's share of steps depends on how replies fall together, hence its room
SYSTEM_CALLS = {  # of one blocking call, exactly
    "sendto": 1, "poll": 1, "recvfrom": 1,
}
SHORT, LONG = 500, 1500


def instructions(program, url, way, count, folder):
    out = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, url, way, str(count)],
        capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", out.stderr).group(1))


def system_calls(program, url, count, folder):
    report = Path(folder) / "strace"
    subprocess.run(["strace", "-f", "-c", "-o", report, program, url, "blocking", str(count)], check=True)
    calls = {}
    for line in report.read_text().splitlines():
        parts = line.split()
        if len(parts) >= 5 and parts[3].isdigit() and parts[-1] != "total":
            calls[parts[-1]] = int(parts[3])
    return calls


def main(program, mock):
    server = subprocess.Popen([mock, "--port", "0", "--fixed", "minos"], stdout=subprocess.PIPE, text=True)
    failed = 0
    try:
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            for way, budget in INSTRUCTIONS.items():
                counted = (instructions(program, url, way, LONG, folder) -
                           instructions(program, url, way, SHORT, folder)) / (LONG - SHORT)
                good = counted <= budget
                failed += not good
                print(f"{'ok  ' if good else 'FAIL'} {way}: {counted:.0f} instructions per call (budget {budget})")
            short, long = (system_calls(program, url, n, folder) for n in (SHORT, LONG))
            for name in sorted(set(short) | set(long)):
                counted = (long.get(name, 0) - short.get(name, 0)) / (LONG - SHORT)
                good = counted == SYSTEM_CALLS.get(name, 0)
                failed += not good
                if counted or not good:
                    print(f"{'ok  ' if good else 'FAIL'} blocking: {counted:g} {name} per call")
    finally:
        server.terminate()
        server.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
