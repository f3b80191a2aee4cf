"""Counts that do not depend on how busy the machine is: system calls, instructions, allocations."""
import re
import shutil
import signal
import subprocess
import time

from places import WORK
from process import ContestantFailed, Running


def system_calls(contestant, cores, mock, work, calls):
    """System calls per request by strace, attached to a warm process; None without strace."""
    if not shutil.which("strace"):
        return None
    running, table = Running(contestant, cores), WORK / "strace.txt"
    try:
        running.open(mock.url, work)
        running.ask("latency", calls=min(50, calls))
        tracer = subprocess.Popen(["strace", "-f", "-c", "-o", str(table), "-p", str(running.process.pid)], stderr=subprocess.PIPE)
        tracer.stderr.readline()  # it says when it is attached
        time.sleep(0.05)
        running.ask("latency", calls=calls, limit=120)
        tracer.send_signal(signal.SIGINT)
        tracer.wait(timeout=20)
        tracer.stderr.close()
        rows = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z_0-9]+)$", table.read_text(), re.M)
        by_name = {name: int(count) for count, name in rows if name != "total"}
        top = dict(sorted(((name, round(count / calls, 2)) for name, count in by_name.items()), key=lambda pair: -pair[1])[:8])
        return {"per_call": round(sum(by_name.values()) / calls, 2), "most": top}
    finally:
        running.stop()


def under_valgrind(contestant, cores, mock, work, calls, *tool):
    log = WORK / "valgrind.txt"
    running = Running(contestant, cores, wrapper=["valgrind", f"--log-file={log}", *tool], limit=120)
    running.open(mock.url, work)
    running.ask("latency", calls=calls, limit=120)
    running.stop()
    return log.read_text()


def instructions_and_allocations(contestant, cores, mock, work, counts):
    """Per request, as the difference of two runs of different length; None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    few, many = counts
    found = {}
    for name, tool, pattern in (
        ("instructions", ("--tool=callgrind", "--callgrind-out-file=/dev/null"), r"Collected : (\d+)"),
        ("allocations", ("--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"), r"total heap usage: ([\d,]+) allocs"),
    ):
        totals = []
        for calls in (few, many):
            match = re.search(pattern, under_valgrind(contestant, cores, mock, work, calls, *tool))
            if not match:
                raise ContestantFailed(f"valgrind counted no {name}")
            totals.append(int(match.group(1).replace(",", "")))
        found[name] = round((totals[1] - totals[0]) / (many - few), 1)
    return found
