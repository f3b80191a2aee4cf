"""The processes of a run: the mock on its cores, a contestant on the others."""
import http.client
import json
import os
import re
import resource
import select
import subprocess
import time
from pathlib import Path

from places import BUILD, ROOT, WORK


class ContestantFailed(Exception):
    """It died, hung or said that it cannot; the text is the reason."""


def clk(text):
    """utime + stime + those of ended children, in seconds, out of /proc/PID/stat."""
    fields = text.rsplit(")", 1)[1].split()
    return sum(int(value) for value in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    try:
        return clk(Path(f"/proc/{pid}/stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def pinned(cores):
    """What a child does before it starts: takes its cores, and as many descriptors as it may."""
    def prepare():
        os.sched_setaffinity(0, cores)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    return prepare


def environment(more=()):
    """The caller's environment without what would send a client elsewhere."""
    kept = {name: value for name, value in os.environ.items()
            if not re.match(r"(?i)(https?|all|no)_proxy$|typesafe_|deemster_|ssl_cert|node_(options|extra)", name)}
    kept["PATH"] = f"{kept.get('PATH', '')}:/usr/local/go/bin"
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", **dict(more)}


def tidy(text):
    """What a contestant said, without what differs from run to run or belongs to this machine: ports, addresses, places."""
    text = text.replace(f"{ROOT}/", "")
    text = re.sub(r"127\.0\.0\.1:\d+", "HOST", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
    text = re.sub(r"(?<![\w/.])/(?:home|opt|root|tmp|usr|var)/[^\s'\"]+", "…", text)
    return re.sub(r"\s+", " ", text)[:120]


class Mock:
    def __init__(self, cores, *options):
        command = [str(BUILD / "bin" / "deemster-mock"), "--port", "0", "--quiet", *map(str, options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                        preexec_fn=pinned(cores), env=environment())
        line = self.process.stdout.readline()
        found = re.search(r"https?://\S+", line)
        if not found:
            raise RuntimeError(f"the mock printed no URL but {line!r}")
        self.url, self.pid, self.tls = found.group(0).rstrip("/"), self.process.pid, found.group(0).startswith("https")
        self.fixed = "--fixed" in options
        self.connection = None

    def get(self, path):
        if self.connection is None:
            address = self.url.split("//")[1]
            if self.tls:
                import ssl
                self.connection = http.client.HTTPSConnection(address, context=ssl._create_unverified_context())
            else:
                self.connection = http.client.HTTPConnection(address)
        self.connection.request("GET", path)
        return self.connection.getresponse().read()

    def count(self):
        return int(self.get("/count"))

    def traffic(self):
        """Connections accepted and bytes received since the start; None for bytes where it does not know."""
        if self.fixed:
            connections, received = map(int, self.get("/count/traffic").split())
            return connections, received
        return json.loads(self.get("/control/stats"))["connections_opened"], None

    def stop(self):
        if self.connection:
            self.connection.close()
        self.process.terminate()
        self.process.wait(timeout=10)
        self.process.stdout.close()


class Running:
    """A contestant's process, spoken to in lines of JSON."""

    def __init__(self, contestant, cores, more=(), wrapper=(), limit=60):
        self.contestant, self.cores = contestant, cores
        self.started = time.monotonic()
        WORK.mkdir(parents=True, exist_ok=True)
        self.log = WORK / f"{contestant.name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*wrapper, *contestant.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=log, preexec_fn=pinned(cores), env=environment(more))
        self.buffer = b""
        try:
            self.hello = self.read(limit)
        except ContestantFailed:
            self.kill()
            raise
        self.start_us = int((time.monotonic() - self.started) * 1e6)

    def read(self, limit):
        deadline = time.monotonic() + limit
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ContestantFailed("hang")
            if not select.select([self.process.stdout], [], [], left)[0]:
                continue
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise ContestantFailed(self.death())
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            raise ContestantFailed(f"said what is not JSON: {line[:80]!r}") from None

    def death(self):
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = "?"
        lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip() and not line.startswith("Node.js")), "")
        return f"ended with {code}: {last}"[:300]

    def ask(self, op, limit=60, **more):
        try:
            self.process.stdin.write(json.dumps({"op": op, **more}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise ContestantFailed(self.death()) from None
        return self.read(limit)

    def open(self, url, workload, retries=0, in_flight=1, ca=""):
        reply = self.ask("open", url=url, retries=retries, in_flight=in_flight, ca=ca, **workload.opening)
        if reply["error"]:
            raise ContestantFailed(reply["error"])
        return reply

    def peak_rss_kb(self):
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(found.group(1)) if found else None

    def stop(self):
        """Ends it the polite way, then the other."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=5)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass
