"""What the machine, the tools and the sources of a run are, and whether anything else was at work."""
import datetime
import os
import platform
import re
import subprocess
import time
from pathlib import Path

from places import BUILD, ROOT
from process import cpu_seconds


def said(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, cwd=ROOT)
        return (done.stdout or done.stderr).strip().splitlines()[0] if done.returncode == 0 else ""
    except (FileNotFoundError, subprocess.TimeoutExpired, IndexError):
        return ""


def cached(name):
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return found.group(1) if found else ""


def machine():
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text()).group(1))
    system = re.search(r'PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text())
    kind = cached("CMAKE_BUILD_TYPE") or "RelWithDebInfo"
    return {
        "cpu": cpu.group(1) if cpu else platform.machine(), "cores": os.cpu_count(), "memory_gib": round(memory / 2**20),
        "os": system.group(1) if system else "", "kernel": platform.release(),
        "compiler": said("cc", "--version"), "flags": f"{kind}: {cached(f'CMAKE_C_FLAGS_{kind.upper()}')}",
        "python": platform.python_version(), "node": said("node", "--version"), "go": said("go", "version") or said("/usr/local/go/bin/go", "version"),
        "rust": said("rustc", "--version") or said(os.path.expanduser("~/.cargo/bin/rustc"), "--version"), "libc": " ".join(platform.libc_ver()),
    }  # fmt: skip


def source():
    changed = said("git", "status", "--porcelain", "--untracked-files=no", "--", "core", "abi", "bindings", "compare")
    return {"commit": said("git", "rev-parse", "HEAD"), "changed_since": bool(changed)}


def moment():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def load():
    return [round(value, 2) for value in os.getloadavg()]


def split_cores():
    """Cores of the mock and of the clients: lower and upper half, SMT siblings kept together."""
    ours, cores = os.sched_getaffinity(0), {}
    for cpu in sorted(ours):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.setdefault(siblings.read_text().strip() if siblings.exists() else str(cpu), []).append(cpu)
    whole = list(cores.values())
    if len(whole) == 1 and len(whole[0]) > 1:
        whole = [[cpu] for cpu in whole[0]]  # two threads of one core: better than one for both
    if len(whole) < 2:
        raise RuntimeError("a comparison needs two cores: one for the mock, one for the clients")
    half = len(whole) // 2
    return [cpu for core in whole[:half] for cpu in core], [cpu for core in whole[half:] for cpu in core]


class Watch:
    """How much of the machine others used during a phase, in cores."""

    def __init__(self, pids):
        self.pids = pids
        self.start = time.monotonic()
        self.busy, self.own = self.machine(), self.ours()

    def machine(self):
        fields = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
        user, nice, system, steal = (int(fields[index]) for index in (0, 1, 2, 7))
        return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")

    def ours(self):
        return {pid: cpu_seconds(pid) for pid in [os.getpid(), *self.pids()]}

    def others(self):
        elapsed = time.monotonic() - self.start
        now = self.ours()
        own = sum(used - self.own.get(pid, 0.0) for pid, used in now.items())
        return round(max(0.0, (self.machine() - self.busy - own) / elapsed), 3) if elapsed > 0 else 0.0
