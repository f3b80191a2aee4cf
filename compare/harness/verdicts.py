"""What contestants make of odd replies: the conformance cases, jevcompat's faults, connections gone stale."""
import base64
import email.utils
import json
import re
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import workload
from places import ROOT, WORK
from process import ContestantFailed, Running, environment, tidy

LIMIT_S = 12
RETRIES = 2  # the official default; a library that cannot be told keeps its own

RIGHT, REASON, OTHER, WRONG, STRICT, HANG, CRASH = (
    "accepted", "refused", "refused, unclear why", "wrong value handed on", "good reply refused", "hang", "crash")
GOOD = (RIGHT, REASON)

# Where the rule is documented either way, an answer that is right or a refusal will do.
EITHER = {"zstd_label", "s425", "float_usage", "usage_null", "dup_keys", "no-usage", "choice-no-confidence", "score-no-legend", "float-usage"}

# What a refusal must speak of to have the right reason, by the code that the conformance case expects.
SPEAKS = {
    "INVALID_REPLY": r"valid|json|pars|decod|missing|miss|range|type|utf|shape|answer|expect|number|null|schema|field|key|eof|empty|body|noul|data|depth|recurs|finite|charact|unpack|subscript|property|undefined|coding|compress|incorrect header|not a |attribute|complet|204",
    "TRUNCATED": r"trunc|incomplete|clos|eof|terminat|end of|partial|reset|disconnect|premature|transfer|connection|complet|json|unexpected end|expecting|early|body",
    "HTTP_REDIRECT": r"30\d|redirect", "HTTP_BAD_REQUEST": r"400|bad request", "HTTP_AUTHENTICATION": r"401|authent|unauthor",
    "HTTP_PAYMENT": r"402|payment", "HTTP_PERMISSION": r"403|permission|forbidden", "HTTP_NOT_FOUND": r"404|not found",
    "HTTP_CONFLICT": r"409|conflict", "HTTP_TOO_LARGE": r"413|too large", "HTTP_UNPROCESSABLE": r"422|unprocessable",
    "HTTP_RATE_LIMIT": r"429|rate", "HTTP_OTHER": r"\b[1-4]\d\d\b", "HTTP_SERVER": r"50\d|server", "HTTP_OVERLOADED": r"529|overload",
    "HTTP_FRAMING": r"http|protocol|frame|framing|invalid|parse|malformed|status|connection|illegal",
}  # fmt: skip

# jevcompat's faults: what a client asked for a noul with one criterion, a choice with a bare option and an accented one, and a
# score must do. A fault that such a call cannot meet is to be answered like a good server.
REFUSED = {
    "wrong-route": "HTTP_NOT_FOUND", "xssi-200": "INVALID_REPLY", "auth-rejects-header": "HTTP_AUTHENTICATION",
    "reject-jev-latest": "HTTP_NOT_FOUND", "first-question-only": "INVALID_REPLY", "strict-ids": "HTTP_UNPROCESSABLE",
    "nfd-keys": "INVALID_REPLY", "noul-two-sided": "HTTP_UNPROCESSABLE", "no-null-description": "HTTP_UNPROCESSABLE",
    "boolean-type": "INVALID_REPLY", "nan": "INVALID_REPLY", "noul-range": "INVALID_REPLY", "choice-key-case": "INVALID_REPLY",
    "choice-sum": "INVALID_REPLY", "choice-second": "INVALID_REPLY", "legend-1-based": "INVALID_REPLY",
    "score-keys-1-based": "INVALID_REPLY", "score-sum": "INVALID_REPLY", "score-argmax": "INVALID_REPLY",
    "confidence-over": "INVALID_REPLY", "choice-no-confidence": "INVALID_REPLY", "score-no-legend": "INVALID_REPLY",
}  # fmt: skip


def cases():
    """The conformance cases that ask one noul `q` and nothing else."""
    every = json.loads((ROOT / "tests/conformance/replies.json").read_text(encoding="utf-8"))
    return [case for case in every if list(case["questions"]) == ["q"] and case["questions"]["q"]["type"] == "noul" and "config" not in case]


def attempt_bytes(attempt):
    if "b64" in attempt:
        return base64.b64decode(attempt["b64"])
    date = email.utils.formatdate(time.time() + attempt["retry_after_date_in_s"], usegmt=True)
    return (f"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: {date}\r\n"
            "Content-Length: 2\r\nConnection: close\r\n\r\n{}").encode()


class RawServer:
    """Answers each request with the next of the given replies and closes; the last one is repeated."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.attempts, self.served, self.lock = [], 0, threading.Lock()
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def serve(self, attempts):
        with self.lock:
            self.attempts, self.served = attempts, 0

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.handle, args=(connection,), daemon=True).start()

    def handle(self, connection):
        with connection:
            connection.settimeout(LIMIT_S)
            try:
                if not read_request(connection):
                    return
                with self.lock:
                    attempt = self.attempts[min(self.served, len(self.attempts) - 1)]
                    self.served += 1
                connection.sendall(attempt_bytes(attempt))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
            except OSError:
                pass

    def stop(self):
        self.listener.close()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    length = re.search(rb"(?i)\r\ncontent-length:\s*(\d+)", head)
    while length and len(body) < int(length.group(1)):
        part = connection.recv(65536)
        if not part:
            return None
        body += part
    return head


def judged(name, expected, value, reply):
    """One of the verdicts, for what a contestant said to a reply that must be answered with `value` or refused as `expected`."""
    if "error" in reply:
        if expected == "OK":
            return REASON if name in EITHER else STRICT
        return REASON if re.search(SPEAKS.get(expected, "."), reply["error"], re.I) else OTHER
    if name in EITHER and isinstance(reply["noul"], (int, float)) and 0 <= reply["noul"] <= 1:
        return RIGHT
    return RIGHT if expected == "OK" and (value is None or reply["noul"] == value) else WRONG


class Asker:
    """Asks a contestant one thing after another, starting it again when it dies or hangs."""

    def __init__(self, contestant, cores):
        self.contestant, self.cores, self.running = contestant, cores, None

    def ask(self, url, work):
        try:
            if self.running is None:
                self.running = Running(self.contestant, self.cores)
            self.running.open(url, work, retries=RETRIES)
            reply = self.running.ask("verdict", limit=LIMIT_S)
            self.running.ask("close", limit=LIMIT_S)
            return reply
        except ContestantFailed as reason:
            self.running.kill()
            self.running = None
            return {"ended": str(reason)}

    def stop(self):
        if self.running:
            self.running.stop()


def verdict(name, expected, value, reply):
    if "ended" in reply:
        return HANG if reply["ended"] == "hang" else CRASH if reply["ended"].startswith("ended") else STRICT
    return judged(name, expected, value, reply)


def odd_replies(contestants, cores, chosen):
    """{contestant: {case: [verdict, what it said]}}; eight contestants at a time, since nothing is timed."""
    work = workload.one_noul(WORK)

    def one(contestant):
        server, asker, row = RawServer(), Asker(contestant, cores), {}
        for case in chosen:
            server.serve(case["attempts"])
            reply = asker.ask(server.url, work)
            expect = case["expect"]
            value = expect.get("answers", {}).get("q", {}).get("value")
            code = expect["code"].removeprefix("DEEM_E_").removeprefix("DEEM_")
            said = reply.get("error") or reply.get("ended") or json.dumps(reply.get("noul"))
            row[case["name"]] = [verdict(case["name"], code, value, reply), tidy(said)]
        asker.stop()
        server.stop()
        return row

    with ThreadPoolExecutor(8) as pool:
        return dict(zip([contestant.name for contestant in contestants], pool.map(one, contestants)))


def faults(contestants, cores, program, names=None):
    """As odd_replies(), against jevcompat's mock with one fault after the other."""
    work = workload.three_kinds(WORK)
    listed = subprocess.run([program, "mock", "--list-faults"], capture_output=True, text=True, check=True, env=environment()).stdout
    every = names or re.findall(r"^([a-z0-9-]+)\s", listed, re.M)
    rows = {contestant.name: {} for contestant in contestants}
    askers = {contestant.name: Asker(contestant, cores) for contestant in contestants}
    for fault in every:
        port = free_port()
        server = subprocess.Popen([program, "mock", "--port", str(port), "--fault", fault], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=environment())
        try:
            wait_for(port)
            with ThreadPoolExecutor(8) as pool:
                replies = list(pool.map(lambda one: askers[one.name].ask(f"http://127.0.0.1:{port}", work), contestants))
        finally:
            server.terminate()
            server.wait()
        for contestant, reply in zip(contestants, replies):
            said = reply.get("error") or reply.get("ended") or "answered"
            rows[contestant.name][fault] = [verdict(fault, REFUSED.get(fault, "OK"), None, reply), tidy(said)]
    for asker in askers.values():
        asker.stop()
    return rows


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("jevcompat's mock did not start")


class StaleServer(RawServer):
    """A server that keeps connections and lets them go stale: `closed` while idle, or `dies` on the next request."""

    GOOD = b'{"model":"m","answers":{"q":{"type":"noul","noul":0.9}},"usage":{"input_tokens":1,"output_tokens":1}}'

    def __init__(self, way):
        self.way = way
        super().__init__()

    def handle(self, connection):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(self.GOOD)}\r\n\r\n".encode()
        first = self.connections == 1
        with connection:
            connection.settimeout(LIMIT_S)
            try:
                while read_request(connection):
                    connection.sendall(head + self.GOOD)
                    if first and self.way == "closed":
                        return
                    if first and read_request(connection):
                        return  # and answers nothing
            except OSError:
                pass


def stale(contestant, cores):
    """The second call over a connection that has gone: what it came to, after how long, on how many connections."""
    found, work = {}, workload.one_noul(WORK)
    for way in ("closed", "dies"):
        server, running = StaleServer(way), None
        try:
            running = Running(contestant, cores)
            running.open(server.url, work, retries=RETRIES)
            first = running.ask("verdict", limit=LIMIT_S)
            time.sleep(0.2)
            second = running.ask("verdict", limit=LIMIT_S)
            said = second.get("error") or ("answered" if first.get("noul") == second.get("noul") else "wrong")
            found[way] = {"said": tidy(said), "taken_ms": round(second["taken_ns"] / 1e6, 2), "connections": server.connections}
            running.stop()
        except ContestantFailed as reason:
            found[way] = {"said": tidy(str(reason)), "taken_ms": None, "connections": server.connections}
            if running:
                running.kill()
        server.stop()
    return found
