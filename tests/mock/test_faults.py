"""Each fault of --list-faults: the shape of its bytes, and the plan that says when it comes."""
import copy
import email.utils
import json
import socket
import subprocess
import tempfile
import time
import unittest
import zlib

from server import PROGRAM, Mock, body, read_all, whole

AUTHENTICATION = "authentication_error"


def changed(change):
    """The good reply with one thing changed."""
    def expect(good):
        wanted = copy.deepcopy(good)
        change(wanted)
        return wanted
    return expect


def put(*path, value):
    def change(reply):
        for step in path[:-1]:
            reply = reply[step]
        reply[path[-1]] = value
    return changed(change)


def drop(*path):
    def change(reply):
        for step in path[:-1]:
            reply = reply[step]
        del reply[path[-1]]
    return changed(change)


def integers(reply):
    answers = reply["answers"]
    answers["n"]["noul"] = int(answers["n"]["noul"] + 0.5)
    for answer in (answers["c"], answers["s"]):
        p = answer["probabilities"]
        top = max(p, key=p.get)
        answer["probabilities"] = {name: int(name == top) for name in p}
        answer["confidence"] = 1
    answers["s"]["score"] = int(top)



def extra(reply):
    reply.update(id="gen-1", provider="TypeSafe")
    reply["usage"]["cost"] = 0.0000134
    reply["answers"]["n"].update(probabilities={"yes": 0.5, "no": 0.5}, confidence=0.9,
                                 diagnostics={"label_mass": 0.98, "argmax_is_label": True})


BOX = {"type": "box", "box": {"top": 0.12, "bottom": 0.4, "left": 0.2, "right": 0.65}, "confidence": 0.9}

# Faults worked into the answers to n (noul), c (choice) and s (score), --seed 0: fault -> expected JSON from the good one.
ANSWERS = [
    ("unknown-type", put("answers", "n", value=BOX)),
    ("refusal", put("answers", "n", value={"type": "refusal"})),
    ("boolean", put("answers", "n", value={"type": "boolean", "probability": 0.9})),
    ("wrapped", changed(lambda r: r["answers"].update(n={"result": r["answers"]["n"]}))),
    ("wrong-kind", put("answers", "n", value={"type": "choice", "choice": "a", "confidence": 1.0, "probabilities": {"a": 1.0}})),
    ("no-type", drop("answers", "n", "type")),
    ("missing-answer", drop("answers", "n")),
    ("extra-answer", put("answers", "__proto__", value={"type": "noul", "noul": 0.1})),
    ("extra-answer:more", put("answers", "more", value={"type": "noul", "noul": 0.1})),
    ("empty-answers", put("answers", value={})),
    ("answers-array", put("answers", value=[])),
    ("answers-null", put("answers", value=None)),
    ("no-answers", drop("answers")),
    ("out-of-range", put("answers", "n", "noul", value=1.2)),
    ("negative", put("answers", "n", "noul", value=-0.1)),
    ("null-number", put("answers", "n", "noul", value=None)),
    ("string-number", put("answers", "n", "noul", value="0.9")),
    ("huge-number", put("answers", "n", "noul", value=float("inf"))),
    ("integers", changed(integers)),
    ("unlisted-choice", put("answers", "c", "choice", value="never offered")),
    ("extra-option", put("answers", "c", "probabilities", "never offered", value=0.0)),
    ("no-confidence", drop("answers", "c", "confidence")),
    ("no-probabilities", drop("answers", "c", "probabilities")),
    ("no-legend", drop("answers", "s", "legend")),
    ("null-usage", put("usage", value=None)),
    ("no-usage", drop("usage")),
    ("float-usage", put("usage", value={"input_tokens": 12.0, "output_tokens": 1.5})),
    ("big-usage", put("usage", "input_tokens", value=2**63)),
    ("other-usage", put("usage", value={"prompt_tokens": 385, "completion_tokens": 60})),
    ("model:jev-9.9.9", put("model", value="jev-9.9.9")),
    ("no-model", drop("model")),
    ("extra-fields", changed(extra)),
    ("envelope", lambda good: {"result": good, "success": True, "errors": [], "messages": []}),
    ("big:70000", put("answers", "n", "x", value="x" * 70000)),
]

CHOICE = body({"q": {"type": "choice", "criteria": {"a": None, "b": None, "c": None}}})
SCORE = body({"q": {"type": "score", "criteria": ["a", "b", "c"]}})
# The same, where the first question is of another kind or the change needs the good reply's numbers.
NUMBERS = [
    ("out-of-range", CHOICE, lambda bad, good: (max(bad["probabilities"].values()), 1.3)),
    ("out-of-range", SCORE, lambda bad, good: (bad["score"], 2.2)),
    ("negative", CHOICE, lambda bad, good: (bad["probabilities"][good["choice"]], -0.1)),
    ("null-number", SCORE, lambda bad, good: (bad["score"], None)),
    ("wrong-kind", SCORE, lambda bad, good: (bad, {"type": "noul", "noul": 0.9})),
    ("wrong-choice", CHOICE, lambda bad, good: (bad["choice"], min(good["probabilities"], key=good["probabilities"].get))),
    ("missing-option", CHOICE, lambda bad, good: (len(bad["probabilities"]), 2)),
    ("missing-option", SCORE, lambda bad, good: (len(bad["probabilities"]), 2)),
    ("bad-sum", CHOICE, lambda bad, good: (abs(sum(bad["probabilities"].values()) - 0.5) < 0.02, True)),
    ("bad-score", SCORE, lambda bad, good: (round(abs(bad["score"] - good["score"]), 2), 0.3)),
    ("bad-level-key", SCORE, lambda bad, good: (sorted(bad["probabilities"]), ["00", "1", "2"])),
]


def json_reply(status, content, **headers):
    return lambda reply: [(reply.status, status), (reply.headers["content-type"], "application/json"), (reply.json(), content),
                          *((reply.headers.get(name.replace("_", "-")), value) for name, value in headers.items())]


def page(status):
    return lambda reply: [(reply.status, status), (reply.headers["content-type"], "text/html; charset=utf-8"),
                          (reply.body[:15], b"<!doctype html>"), ("x-typesafe-request-id" in reply.headers, status in (503, 504))]


def error(kind, message):
    return {"detail": {"error_type": kind, "message": message}}


SLOW_DOWN = error("rate_limit_exceeded", "(mock) slow down")
# Whole replies: fault -> (actual, expected) pairs.
REPLIES = [
    ("429", json_reply(429, SLOW_DOWN, retry_after=None)),
    ("429:retry-after=1", json_reply(429, SLOW_DOWN, retry_after="1", retry_after_ms=None)),
    ("429:retry-after=0.5,retry-after-ms=120", json_reply(429, SLOW_DOWN, retry_after="0.5", retry_after_ms="120")),
    ("429:retry-after=", json_reply(429, SLOW_DOWN, retry_after="")),
    ("429:retry-after=-5", json_reply(429, SLOW_DOWN, retry_after="-5")),
    ("429:retry-after=1e999", json_reply(429, SLOW_DOWN, retry_after="1e999")),
    ("529", json_reply(529, error("overloaded", "(mock) overloaded"))),
    ("503:retry-after=nan,x-should-retry=false", lambda r: page(503)(r) + [(r.headers["retry-after"], "nan"),
                                                                          (r.headers["x-should-retry"], "false")]),
    ("504", page(504)),
    ("500", lambda r: [(r.status, 500), (r.body, b"Internal Server Error"), (r.headers["content-type"][:10], "text/plain")]),
    ("599", json_reply(599, {"detail": "Unknown"})),
    ("408", json_reply(408, {"detail": "Request Timeout"})),
    ("401", lambda r: [(r.status, 401), (r.json()["detail"]["error_type"], AUTHENTICATION)]),
    ("403", lambda r: [(r.status, 403), (r.json()["detail"]["error_type"], AUTHENTICATION)]),
    ("422", lambda r: [(r.status, 422), (r.json()["detail"][0]["loc"], ["body", "state"])]),
    ("302:location=/x", lambda r: [(r.status, 302), (r.headers["location"], "/x")]),
    ("html", page(200)),
    ("html-502", page(502)),
    ("html-403", page(403)),
    ("empty", lambda r: [(r.status, 200), (r.body, b""), (r.headers["content-length"], "0")]),
    ("no-content", lambda r: [(r.status, 204), (r.body, b""), ("content-type" in r.headers, False)]),
    ("redirect", lambda r: [(r.status, 307), (r.headers["location"], "/elsewhere")]),
    ("redirect:http://localhost:9/x", lambda r: [(r.status, 307), (r.headers["location"], "http://localhost:9/x")]),
    ("echo-key", json_reply(401, error(AUTHENTICATION, "No such key: Bearer any"))),
    ("echo-state", lambda r: [(r.status, 422), (r.json()["detail"][0]["input"], body())]),
    ("openai", lambda r: [(r.status, 400), (set(r.json()["error"]), {"message", "type", "param", "code"}),
                          (r.headers["x-request-id"], "mock-1")]),
    ("openai:504", lambda r: [(r.status, 504)]),
    ("openrouter", lambda r: [(r.status, 400), (r.json()["error"]["code"], 400), (r.json()["user_id"], "user_1"),
                              ("x-typesafe-request-id" in r.headers, False)]),
    ("openrouter:200", lambda r: [(r.status, 200), (r.json()["error"]["code"], 400)]),
    ("ollama", json_reply(404, {"error": "(mock) model not found"})),
    ("llamacpp", lambda r: [(r.status, 422), (set(r.json()["error"]), {"code", "message", "type"})]),
    ("opper", lambda r: [(r.status, 400), (r.json()["error"]["code"], "invalid_request"), (r.json()["meta"], {})]),
    ("vercel", json_reply(400, {"message": "(mock) model not available", "error_type": "api_usage_error"})),
    ("cloudflare", lambda r: [(r.status, 400), (r.json()["success"], False), (r.headers["cf-ray"], "mock-1")]),
    ("body-array", json_reply(200, [])),
    ("body-null", json_reply(200, None)),
]


def unpacked(reply, window_bits):
    return zlib.decompressobj(window_bits).decompress(reply.body)


# Bytes: fault -> (actual, expected) pairs of the reply and the good one's body.
BYTES = [
    ("nan", lambda r, g: [(b'"noul":NaN' in r.body, True)]),
    ("duplicate-keys", lambda r, g: [(r.body.count(b'"n":{"type":"noul"'), 2), (r.json(), json.loads(g)),
                                     (len(r.body) > len(g), True)]),
    ("deep:3000", lambda r, g: [(b'"x":' + b"[" * 3000 + b"]" * 3000 in r.body, True), (len(r.body), len(g) + 6005)]),
    ("truncated-json", lambda r, g: [(r.body, g[:len(g) // 2])]),
    ("two-documents", lambda r, g: [(r.body, g + g)]),
    ("trailing-text", lambda r, g: [(r.body, g + b"xyz")]),
    ("trailing-space", lambda r, g: [(r.body, g + b" \r\n\t\n")]),
    ("bad-utf8", lambda r, g: [(r.body, g.replace(b'"jev', b'"j\xff\xfeev', 1))]),
    ("lone-surrogate", lambda r, g: [(r.body, g.replace(b'"jev', b'"j\\ud800ev', 1))]),
    ("bom", lambda r, g: [(r.body, b"\xef\xbb\xbf" + g)]),
    ("utf16", lambda r, g: [(r.body.decode("utf-16").encode(), g), (r.body[:2], b"\xff\xfe")]),
    ("nul", lambda r, g: [(r.body, g + b"\0")]),
    ("gzip", lambda r, g: [(zlib.decompress(r.body, 31), g), (r.headers["content-encoding"], "gzip")]),
    ("gzip-truncated", lambda r, g: [(unpacked(r, 31), g), (r.body[-4:] == len(g).to_bytes(4, "little"), False)]),
    ("gzip-half", lambda r, g: [(g.startswith(unpacked(r, 31)), True), (len(unpacked(r, 31)) < len(g), True)]),
    ("gzip-trailing", lambda r, g: [(zlib.decompress(r.body[:-3], 31), g), (r.body[-3:], b"xyz")]),
    ("deflate", lambda r, g: [(zlib.decompress(r.body), g), (r.headers["content-encoding"], "deflate")]),
    ("zstd-label", lambda r, g: [(r.body, g), (r.headers["content-encoding"], "zstd")]),
    ("no-content-type", lambda r, g: [(r.body, g), ("content-type" in r.headers, False)]),
    ("delay:1", lambda r, g: [(r.body, g)]),
    ("drip:1", lambda r, g: [(r.body, g), (r.headers["content-length"], str(len(g)))]),
    ("cut", lambda r, g: [(r.body, g[:len(g) // 2]), (r.headers["content-length"], str(len(g)))]),
    ("cut:1", lambda r, g: [(r.body, g[:1]), (r.headers["content-length"], str(len(g)))]),
    ("cut-head:20", lambda r, g: [(r.raw, b"HTTP/1.1 200 OK\r\nCon")]),
    ("gzip-length", lambda r, g: [(zlib.decompress(r.body, 31), g), (r.headers["content-length"], str(len(g))),
                                  (len(r.body) < len(g), True)]),
    ("reset", lambda r, g: [(r.raw, b"")]),
    ("reset-body", lambda r, g: [(r.body, g[:len(g) // 2])]),
    ("close", lambda r, g: [(r.raw, b"")]),
    ("close-after", lambda r, g: [(r.body, g)]),
    ("chunked:100", lambda r, g: [(r.headers["transfer-encoding"], "chunked"), (unchunk(r.body)[0], g),
                                  (unchunk(r.body)[1], [100] * (len(g) // 100) + [len(g) % 100]),
                                  (unchunk(r.body)[2], b"Server-Timing: mock;dur=1\r\nX-Trailer: mock\r\n\r\n")]),
    ("chunked-cut", lambda r, g: [(r.body, b"%x\r\n%s\r\n" % (len(g), g))]),
    ("no-length", lambda r, g: [(r.body, g), ("content-length" in r.headers, False), ("transfer-encoding" in r.headers, False)]),
    ("no-length-cut", lambda r, g: [(r.body, g[:len(g) // 2]), ("content-length" in r.headers, False)]),
    ("continue", lambda r, g: [(r.status, 102), (r.body.count(b"HTTP/1.1 "), 2), (r.body.endswith(g), True)]),
]


def unchunk(raw):
    """(content, sizes, what follows the last chunk)"""
    content, sizes = b"", []
    while True:
        size, _, raw = raw.partition(b"\r\n")
        size = int(size, 16)
        if not size:
            return content, sizes, b"\r\n".join(sorted(raw.split(b"\r\n")[:-2])) + b"\r\n\r\n"
        content += raw[:size]
        sizes.append(size)
        raw = raw[size + 2:]


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mock = Mock("--seed", "0").__enter__()
        cls.good = cls.mock.ask().body
        cls.tried = set()

    @classmethod
    def tearDownClass(cls):
        status, _, err = cls.mock.stop()
        assert status == 0, err

    def plan(self, *faults):
        reply = self.mock.call("POST", "/control/faults", list(faults))
        self.assertEqual(reply.status, 200, reply.body)
        self.tried.update(fault.split(":")[0].split("@")[0] for fault in faults)
        return reply.json()

    def faulty(self, fault, content=None):
        self.plan(fault + "@1")
        reply = self.mock.ask(content)
        self.assertEqual(self.mock.stats()["faults"], [{"fault": fault + "@1", "fired": 1}])
        return reply

    def test_answers(self):
        good = json.loads(self.good)
        for fault, expected in ANSWERS:
            with self.subTest(fault=fault):
                self.assertEqual(self.faulty(fault).json(), expected(good))

    def test_numbers(self):
        for fault, content, facts in NUMBERS:
            with self.subTest(fault=fault):
                self.plan()
                good = self.mock.ask(content).json()["answers"]["q"]
                actual, expected = facts(self.faulty(fault, content).json()["answers"]["q"], good)
                self.assertEqual(actual, expected)

    def test_replies(self):
        for fault, facts in REPLIES:
            with self.subTest(fault=fault):
                for actual, expected in facts(self.faulty(fault)):
                    self.assertEqual(actual, expected)

    def test_bytes(self):
        for fault, facts in BYTES:
            with self.subTest(fault=fault):
                for actual, expected in facts(self.faulty(fault), self.good):
                    self.assertEqual(actual, expected)

    def test_dates(self):
        for word, form in [("date", "%a, %d %b %Y %H:%M:%S GMT"), ("date850", "%A, %d-%b-%y %H:%M:%S GMT"),
                           ("dateasc", "%a %b %d %H:%M:%S %Y")]:
            for seconds in (30, -30):
                with self.subTest(word=word, seconds=seconds):
                    reply = self.faulty(f"429:retry-after={word}{seconds:+d}")
                    sent = email.utils.parsedate_to_datetime(reply.headers["date"]).timestamp()
                    parts = time.strptime(" ".join(reply.headers["retry-after"].split()), form)
                    asked = email.utils.mktime_tz(parts[:9] + (0,))
                    self.assertIn(asked - sent, (seconds - 1, seconds, seconds + 1))

    def test_raw_file(self):
        content = b"HTTP/1.1 200 OK\r\nX: \xff\r\n\r\nany bytes\0at all"
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            self.assertEqual(self.faulty(f"raw:{file.name}").raw, content)
            name = file.name
        self.plan(f"raw:{name}@1")
        self.assertEqual(self.mock.ask().status, 500)
        self.assertEqual(self.mock.stats()["faults"][0]["fired"], 0)

    def test_silence(self):
        for fault, facts in [("hang", lambda raw: raw == b""), ("hang-body:5", lambda raw: raw.endswith(b"\r\n\r\n" + self.good[:5]))]:
            with self.subTest(fault=fault), self.mock.connect(timeout=0.3) as connection:
                self.plan(fault + "@1")
                connection.sendall(self.mock.request("POST", "/v1/systemone", body()))
                raw = b""
                with self.assertRaises(socket.timeout):
                    while True:
                        more = connection.recv(65536)
                        self.assertNotEqual(more, b"")
                        raw += more
                self.assertTrue(facts(raw), raw)

    def test_reset_is_a_reset(self):
        for fault in ("reset", "reset-body"):
            with self.subTest(fault=fault), self.mock.connect() as connection:
                self.plan(fault + "@1")
                connection.sendall(self.mock.request("POST", "/v1/systemone", body()))
                with self.assertRaises(ConnectionResetError):
                    while connection.recv(65536):
                        pass

    def test_kept_connections(self):
        """These leave the connection usable; close-after promises so and closes it."""
        for fault, status, kept in [("chunked:9", 200, True), ("429:retry-after=1", 429, True), ("gzip", 200, True),
                                    ("no-content", 204, True), ("close-after", 200, False)]:
            with self.subTest(fault=fault), self.mock.connect() as connection:
                self.plan(fault + "@1")
                request = self.mock.request("POST", "/v1/systemone", body(), keep=True)
                connection.sendall(request)
                raw = connection.recv(65536)
                while not (whole(raw) or raw.endswith(b"\r\n\r\n") and (b"chunked" not in raw or b"X-Trailer" in raw)):
                    raw += connection.recv(65536)
                self.assertTrue(raw.startswith(b"HTTP/1.1 %d " % status), raw)
                self.assertNotIn(b"close", raw.partition(b"\r\n\r\n")[0].lower())
                if kept:
                    self.assertEqual(self.mock.exchange(connection).body, self.good)
                else:
                    self.assertEqual(connection.recv(1), b"")

    def test_occurrences(self):
        for faults, statuses in [
                (["529@2"], [200, 529, 200, 200]),
                (["529@2-3"], [200, 529, 529, 200]),
                (["529@every"], [529] * 4),
                (["429@1", "503@2", "delay:1@every"], [429, 503, 200, 200]),
                (["429@1-2", "529@every"], [429, 429, 529, 529])]:
            with self.subTest(faults=faults):
                self.plan(*faults)
                self.assertEqual([self.mock.ask().status for _ in range(4)], statuses)

    def test_a_fault_that_does_not_fit_does_not_fire(self):
        noul = body({"q": {"type": "noul"}})
        for fault, content in [("wrong-choice", noul), ("bad-score", noul), ("missing-option", noul), ("boolean", SCORE),
                               ("unknown-type", body(model="jev-9"))]:
            self.plan(fault + "@1")
            self.mock.ask(content)
            self.assertEqual(self.mock.stats()["faults"], [{"fault": fault + "@1", "fired": 0}])

    def test_every_listed_fault_is_tried(self):
        listed = subprocess.run([PROGRAM, "--list-faults"], capture_output=True, text=True, check=True).stdout.splitlines()
        names = {line.split()[0].split("[")[0] for line in listed}
        tables = [row[0] for table in (ANSWERS, NUMBERS, REPLIES, BYTES) for row in table]
        tried = {name.split(":")[0] for name in tables} | {"hang", "hang-body", "raw"}
        self.assertEqual(names - tried, {"STATUS"})
        for line in listed:
            self.assertGreater(len(line[27:]), 5, line)

    def test_exit_status(self):
        for options, asked, status, error in [
                ([], 0, 0, ""),
                (["--fault", "529@1"], 1, 0, ""),
                (["--fault", "529@2", "-f", "gzip@1"], 1, 3, "deemster-mock: planned fault never fired: 529@2\n"),
                (["--fault", "hang@every"], 0, 3, "deemster-mock: planned fault never fired: hang@every\n"),
                (["--quiet", "--fault", "529@2"], 1, 3, "")]:
            with self.subTest(options=options), Mock(*options) as mock:
                for _ in range(asked):
                    mock.ask()
                self.assertEqual(mock.stop(), (status, "", error))

    def test_stops_with_hanging_connections(self):
        with Mock("--fault", "hang@1", "--fault", "drip:100000@2", "--fault", "delay:100000@3") as mock:
            connections = [mock.connect() for _ in range(3)]
            for count, connection in enumerate(connections, 1):
                connection.sendall(mock.request("POST", "/v1/systemone", body()))
                while mock.call("GET", "/count").body != b"%d" % count:
                    pass
            self.assertEqual(mock.stop()[0], 0)
            for connection in connections:
                read_all(connection)
                connection.close()

    def test_mistakes(self):
        for fault, word in [("529", "@N"), ("529@", "@N"), ("529@0", "@N"), ("529@3-2", "@N"), ("529@x", "@N"), ("gone@1", "--list-faults"),
                            ("600@1", "--list-faults"), ("100@1", "--list-faults"), ("drip:x@1", "--list-faults"), ("bom:1@1", "--list-faults"),
                            ("raw@1", "--list-faults"), ("STATUS@1", "--list-faults"), ("@1", "--list-faults")]:
            with self.subTest(fault=fault):
                run = subprocess.run([PROGRAM, "--fault", fault], capture_output=True, text=True)
                self.assertEqual((run.returncode, run.stdout), (2, ""))
                self.assertIn(word, run.stderr)
                reply = self.mock.call("POST", "/control/faults", [fault])
                self.assertEqual(reply.status, 400)
                self.assertIn(word, reply.json()["detail"])


if __name__ == "__main__":
    unittest.main()
