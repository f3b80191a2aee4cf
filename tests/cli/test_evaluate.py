"""deemster evaluate and models against the mock: output, exit codes, what reaches the server."""
import base64
import json
import os
import pty
import signal
import subprocess
import time

import command
from command import Folder, deemster, rows
from server import Mock

KEY = "demo-key"
ID = r"req_[0-9a-f]+"
FOOTER = rf"\njev-1\.13\.0, \d+ tokens in, \d+ tokens out, request {ID}, 1 attempt, \d+ ms\n"
NOUL = ["--noul", "Is it urgent?", "My text"]
ESCAPE = "\x1b]0;x\x07a"
ODD = {ESCAPE: {"type": "choice", "instructions": "Which?", "criteria": {"\x1b[2J\n": None}}}
QUICK = ["--retries", "0"]


def failed(text):
    return rf"deemster: {text} \[request {ID}\]\n"


TABLE = [
    dict(name="table", arguments=["-q", command.TRIAGE, "@" + command.TICKET],
         out=r"QUESTION              ANSWER +CONFIDENCE\n"
             r"asks_for_credentials  yes: 0\.\d+ +-\n"
             r"team                  (?:billing|account|technical|other) \([01][.\d]*\)(?:, then \w+ \(0\.\d+\))? +[01][.\d]*\n"
             r"urgency               [0-3][.\d]*: (?:Can wait|This week|Today|At once) +[01][.\d]*\n" + FOOTER),
    dict(name="one question of the table", arguments=["-q", command.TRIAGE, "@" + command.TICKET, "--question", "urgency"],
         out=r"QUESTION +ANSWER +CONFIDENCE\nurgency +[^\n]*\n" + FOOTER),
    dict(name="values", arguments=["-q", command.TRIAGE, "@" + command.TICKET, "--value"],
         out=r"asks_for_credentials\t[01][.\d]*\nteam\t\w+\nurgency\t[0-3][.\d]*\n"),
    dict(name="one value", arguments=["-q", command.TRIAGE, "@" + command.TICKET, "--value", "--question", "team"],
         out=r"(?:billing|account|technical|other)\n"),
    dict(name="quiet", arguments=[*NOUL, "--quiet"]),
    dict(name="inline questions", out=r"a\t[01][.\d]*\nchoice\t(?:x|y)\nscore\t[01][.\d]*\n",
         arguments=["--key", "a", "--noul", "Is it?", "--choice", "Which?", "--option", "x=the x", "--option", "y", "--score",
                    "How?", "--level", "low", "--level", "high", "s", "--value"]),
    dict(name="a file and an inline question", arguments=["-q", command.TRIAGE, "--noul", "Is it?", "s", "--value"],
         out=r"(?:\w+\t[^\n]+\n){4}"),
    dict(name="a key twice", arguments=["--noul", "x", "--noul", "y", "s"], code=2, sent=None,
         err=r"deemster: error duplicate-key questions\.noul: .*\n"),
    dict(name="a warning goes to stderr", arguments=["--choice", "Which?", "--option", "x", "s", "--value"], out=["x\n"],
         err=r"deemster: warning one-option .*\n"),

    dict(name="yes", arguments=[*NOUL, "--threshold", "0", "--quiet"]),
    dict(name="no", arguments=[*NOUL, "--threshold", "1", "--quiet"], code=1),
    dict(name="review", arguments=[*NOUL, "--threshold", "0.5", "--review", "0..1", "--quiet"], code=7),
    dict(name="outside the band", arguments=[*NOUL, "--threshold", "1", "--review", "1..1", "--quiet"], code=1),
    dict(name="decision in the table", arguments=[*NOUL, "--threshold", "0"], out=r"QUESTION.*\ndecision: yes\njev.*"),
    dict(name="threshold for one of several", code=1,
         arguments=["-q", command.TRIAGE, "s", "--question", "asks_for_credentials", "--threshold", "1", "--quiet"]),
    dict(name="no decision by a failed call", arguments=[*NOUL, "--threshold", "0", *QUICK], faults=["500@1"], code=4,
         err=failed(".*500.*")),
    dict(name="no decision by a doubtful answer", arguments=[*NOUL, "--threshold", "0", "--lenient", "--quiet"],
         faults=["out-of-range@1"], code=6),

    dict(name="wrong key", arguments=NOUL, variables={"TYPESAFE_API_KEY": "wrong-key"}, code=3, err=failed(".*401.*")),
    dict(name="an echoed key is not shown", arguments=NOUL, faults=["echo-key@1"], code=3, err=rf"deemster: (?!.*{KEY}).*\n"),
    dict(name="no credentials sent", arguments=[*NOUL, "--auth", "none"], variables={"TYPESAFE_API_KEY": None}, code=3,
         err=failed(".*403.*")),
    dict(name="payment", arguments=NOUL, faults=["402@1"], code=3, err=failed(".*402.*")),
    dict(name="rate limit", arguments=[*NOUL, *QUICK], faults=["429:retry-after=9@1"], code=4, err=failed(".*429.*")),
    dict(name="server error", arguments=[*NOUL, *QUICK], faults=["503@1"], code=4, err=failed(".*503.*")),
    dict(name="overloaded", arguments=[*NOUL, *QUICK], faults=["529@1"], code=4, err=failed(".*529.*")),
    dict(name="a retry is told when asked", arguments=[*NOUL, "--quiet", "--verbose"], faults=["503:retry-after-ms=1@1"], sent=2,
         err=r".*503.*"),
    dict(name="connection closed", arguments=[*NOUL, *QUICK], faults=["close@1"], code=4, err=r"deemster: .*\n"),
    dict(name="nobody listens", arguments=[*NOUL, *QUICK, "--base-url", "http://127.0.0.1:1"], code=4, sent=None,
         err=r"deemster: .*127\.0\.0\.1:1.*\n"),
    dict(name="attempt limit", arguments=[*NOUL, *QUICK, "--attempt", "50ms"], faults=["hang@1"], code=4, err=r"deemster: .*\n"),
    dict(name="deadline", arguments=[*NOUL, "--deadline", "0.05"], faults=["hang@1"], code=4, err=r"deemster: .*\n"),
    dict(name="refused request", arguments=NOUL, faults=["400@1"], code=5, err=failed(".*400.*")),
    dict(name="unknown model", arguments=[*NOUL, "--model", "nope"], code=5, err=failed(".*nope.*")),
    dict(name="no such route", arguments=[*NOUL, "--base-url", "{url}/elsewhere"], code=5, sent=None,
         err=r"deemster: .*/elsewhere/v1/systemone.*\n"),
    dict(name="private text of a 422 is not shown", arguments=["--noul", "Is it?", "secret text"], faults=["echo-state@1"], code=5,
         err=r"deemster: (?!.*secret).*\n"),
    dict(name="redirect", arguments=NOUL, faults=["redirect@1"], code=5, err=r"deemster: .*\n"),
    dict(name="invalid reply", arguments=NOUL, faults=["out-of-range@1"], code=6, err=failed(r".*answers\.noul\.noul.*")),
    dict(name="missing answer", arguments=NOUL, faults=["missing-answer@1"], code=6, err=failed(".*noul.*")),
    dict(name="empty body", arguments=NOUL, faults=["empty@1"], code=6, err=r"deemster: .*\n"),
    dict(name="lenient shows the good answers", faults=["missing-answer@1"], code=6,
         arguments=["-q", command.TRIAGE, "s", "--lenient"],
         out=r"QUESTION .*\nasks_for_credentials +no answer +[^\n]+\nteam +\w+ [^\n]*\nurgency .*"),
    dict(name="lenient values leave out what is missing", faults=["missing-answer@1"], code=6,
         arguments=["-q", command.TRIAGE, "s", "--lenient", "--value"], out=r"team\t[^\n]+\nurgency\t[^\n]+\n",
         err=r"deemster: .*asks_for_credentials.*\n"),
    dict(name="lenient is good for a question that is good", faults=["missing-answer@1"],
         arguments=["-q", command.TRIAGE, "s", "--lenient", "--value", "--question", "team"], out=r"\w+\n"),
    dict(name="state is no JSON", arguments=["--noul", "Is it?", "--state-json", "5"], code=2, err=r"deemster: .*\n", sent=None),
    dict(name="state is no UTF-8", arguments=["--noul", "Is it?", "-"], stdin=b"a\xffb", code=2, err=r"deemster: .*\n", sent=None),

    dict(name="control bytes in the table", arguments=["-q", "odd.json", "s"], files={"odd.json": ODD},
         out=r"QUESTION +ANSWER +CONFIDENCE\n\\x1b\]0;x\\x07a +\\x1b\[2J\\n \(1\) +1\n" + FOOTER,
         err=r"deemster: warning [^\x1b\x07]*\n"),
    dict(name="a single value in a pipe is exact", arguments=["-q", "odd.json", "s", "--value"], files={"odd.json": ODD},
         out=["\x1b[2J\n\n"], err=r".*one-option.*"),
    dict(name="several values are escaped", arguments=["-q", "odd.json", "--noul", "Is it?", "s", "--value"],
         files={"odd.json": ODD}, out=r"\\x1b\]0;x\\x07a\t\\x1b\[2J\\n\nnoul\t[01][.\d]*\n", err=r".*one-option.*"),
    dict(name="control bytes of a server's message", arguments=[*NOUL, "--model", "no\u202epe"], code=5,
         err=failed(r"[^\u202e]*no\\u202epe[^\u202e]*")),
    dict(name="control bytes in the model", arguments=[*NOUL, "--model", "no\x1b[31m"], code=2, sent=None,
         err=r"deemster evaluate: --model: [^\x1b]*"),

    dict(name="models", arguments=["models"], sent=0, out=r"(?:[\w.-]+\t\d{4}-\d\d-\d\d[^\t\n]*\t[^\t\n]+\n)+"),
    dict(name="models: wrong key", arguments=["models"], variables={"TYPESAFE_API_KEY": "wrong-key"}, code=3, err=failed(".*401.*")),
    dict(name="models: nobody listens", arguments=["models", "--base-url", "http://127.0.0.1:1", *QUICK], code=4, sent=None,
         err=r"deemster: .*\n"),
]


def run(test, arguments, code=0, out="", err="", files=None, stdin=b"", faults=(), variables=None, sent=1):
    """sent: how many requests reach the evaluate route; None: any number."""
    test.write(files or {})
    test.plan(faults)
    if arguments[0] != "models":
        arguments = ["evaluate", *arguments]
    arguments = [word.replace("{url}", test.mock.url) for word in arguments]
    test.check(test.ask(*arguments, stdin=stdin, **(variables or {})), code, out, err)
    stats = test.mock.stats()
    test.assertEqual([fault["fired"] > 0 for fault in stats["faults"]], [True] * len(faults), "faults fired")
    if sent is not None and arguments[0] == "evaluate":
        test.assertEqual(stats["requests"] - test.before, sent, "requests")


@lambda cls: rows(cls, TABLE, run)
class Evaluate(Folder):
    @classmethod
    def setUpClass(cls):
        cls.mock = Mock("--quiet")
        cls.mock.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.mock.__exit__()

    def plan(self, faults):
        self.assertEqual(self.mock.call("POST", "/control/faults", list(faults)).status, 200)
        self.before = self.mock.stats()["requests"]

    def ask(self, *arguments, stdin=b"", **variables):
        variables = {"TYPESAFE_BASE_URL": self.mock.url, "TYPESAFE_API_KEY": KEY, **variables}
        return deemster(*arguments, stdin=stdin, cwd=self.folder, **variables)

    def last(self):
        """What the server got last: (headers in lower case, body)."""
        last = self.mock.call("GET", "/control/last").json()
        headers = last["headers"]
        pairs = headers.items() if isinstance(headers, dict) else headers
        return {name.lower(): value for name, value in pairs}, json.loads(base64.b64decode(last["body_base64"]))

    def test_json(self):
        self.plan([])
        code, out, err = self.ask("evaluate", "-q", command.TRIAGE, "@" + command.TICKET, "--json")
        d = json.loads(out)
        self.assertEqual((code, err), (0, b""))
        self.assertEqual({name: d[name] for name in ("code", "message", "reason", "path", "http_status", "retry_after_ms", "attempts",
                                                     "model", "cost", "problems", "extra_answers")},
                         {"code": "DEEM_OK", "message": "", "reason": None, "path": "", "http_status": 200, "retry_after_ms": None,
                          "attempts": 1, "model": "jev-1.13.0", "cost": None, "problems": {}, "extra_answers": {}})
        self.assertRegex(d["request_id"], ID)
        self.assertGreater(d["usage"]["input_tokens"], 0)
        self.assertGreater(d["usage"]["output_tokens"], 0)
        self.assertEqual(list(d["answers"]), ["asks_for_credentials", "team", "urgency"])
        self.assertEqual(d["values"], {"asks_for_credentials": d["answers"]["asks_for_credentials"]["noul"],
                                       "team": d["answers"]["team"]["choice"], "urgency": d["answers"]["urgency"]["score"]})
        self.assertEqual(d["confidences"], {key: d["answers"][key]["confidence"] for key in ("team", "urgency")})
        odds = d["answers"]["urgency"]["probabilities"]
        self.assertEqual(d["levels"], {"urgency": max(range(4), key=lambda level: odds[str(level)])})
        self.assertEqual(d["answers"]["urgency"]["legend"], {"0": "Can wait", "1": "This week", "2": "Today", "3": "At once"})

    def test_json_of_a_failed_call(self):
        self.plan(["429:retry-after-ms=250@1"])
        code, out, err = self.ask("evaluate", *NOUL, "--json", *QUICK)
        d = json.loads(out)
        self.assertEqual((code, d["code"], d["http_status"], d["retry_after_ms"], d["attempts"], d["values"], d["usage"], d["model"]),
                         (4, "DEEM_E_HTTP_RATE_LIMIT", 429, 250, 1, {}, {"input_tokens": None, "output_tokens": None}, None))
        self.assertTrue(d["message"])
        self.assertRegex(err, b"deemster: .*429")

    def test_json_of_an_invalid_reply(self):
        for lenient in ([], ["--lenient"]):
            self.plan(["out-of-range@1"])
            code, out, _ = self.ask("evaluate", "-q", command.TRIAGE, "s", "--json", *lenient)
            d = json.loads(out)
            self.assertEqual((code, d["code"], list(d["problems"])),
                             (6, "DEEM_OK" if lenient else "DEEM_E_INVALID_REPLY", ["asks_for_credentials"]))
            problem = d["problems"]["asks_for_credentials"]
            self.assertEqual((problem["reason"], problem["path"]), ("DEEM_REASON_RANGE", "answers.asks_for_credentials.noul"))
            self.assertEqual((set(d["values"]), set(d["answers"])), ({"team", "urgency"},) * 2)

    def test_json_of_a_doubtful_answer(self):
        choice = ["--choice", "Which?", "--option", "a", "--option", "b", "s", "--json"]
        for lenient in ([], ["--lenient"]):
            self.plan(["wrong-choice@1"])
            code, out, _ = self.ask("evaluate", *choice, *lenient)
            d = json.loads(out)
            self.assertEqual((code, d["problems"]["choice"]["reason"]), (6, "DEEM_REASON_NOT_TOP"))
            self.assertEqual((list(d["values"]), list(d["answers"])), (["choice"] if lenient else [],) * 2)

    def test_json_keeps_control_bytes_and_extra_answers(self):
        self.write({"odd.json": ODD})
        self.plan(["extra-answer:more@1"])
        code, out, _ = self.ask("evaluate", "-q", "odd.json", "s", "--json")
        d = json.loads(out)
        self.assertEqual((code, d["values"], d["answers"][ESCAPE]["choice"], list(d["extra_answers"])),
                         (0, {ESCAPE: "\x1b[2J\n"}, "\x1b[2J\n", ["more"]))
        self.assertNotRegex(out, rb"[\x00-\x09\x0b-\x1f\x7f]")

    def test_json_of_one_question_with_a_decision(self):
        self.plan([])
        code, out, _ = self.ask("evaluate", "-q", command.TRIAGE, "s", "--json", "--question", "asks_for_credentials",
                                "--threshold", "1", "--review", "0..1")
        d = json.loads(out)
        self.assertEqual((code, d["decision"], list(d["answers"])), (7, "review", ["asks_for_credentials"]))

    def test_models_json(self):
        code, out, err = self.ask("models", "--json")
        d = json.loads(out)
        self.assertEqual((code, err, d["code"], d["attempts"]), (0, b"", "DEEM_OK", 1))
        self.assertIn("jev-latest", [model["name"] for model in d["models"]])
        self.assertEqual(set(d["models"][0]), {"name", "description", "release_date"})

    def test_where_the_state_comes_from(self):
        text = "Zürich 😀 \r\n\t“x”\n"
        self.write({"state": text, "json": '{"a": 1.0, "b": [1e3]}'})
        table = [(["{state}"], b"", text), (["--state", "@state"], b"", "@state"), (["--state", "-"], b"x", "-"),
                 (["@state"], b"", text), (["-"], text.encode(), text), (["@-"], text.encode(), text), ([""], b"", ""),
                 (["--state-json", "@json"], b"", {"a": 1.0, "b": [1000.0]}), (["--state-json", '["x"]'], b"", ["x"])]
        for locale in ("C", "de_DE.ISO-8859-1", "C.UTF-8"):
            for words, stdin, wanted in table:
                self.plan([])
                end = self.ask("evaluate", "--noul", "Is it?", *[w.replace("{state}", text) for w in words], "--quiet",
                               stdin=stdin, LC_ALL=locale)
                self.assertEqual((end, self.last()[1]["state"]), ((0, b"", b""), wanted), f"{words} {locale}")

    def test_what_is_sent(self):
        self.write({"key": "wrong-key\n", "q.json": {"model": "jev-preview", "questions": {"q": {"type": "noul", "instructions": "x"}}}})
        self.plan([])
        self.ask("evaluate", "-q", "q.json", "s", "--header", "X-Trace:  a:b", "--field", 'user={"id": 7}')
        headers, body = self.last()
        self.assertEqual((headers["authorization"], headers["x-trace"]), ("Bearer ***", "a:b"))
        self.assertIn("deemster-cli", headers["user-agent"])
        self.assertEqual(body, {"state": "s", "model": "jev-preview", "questions": {"q": {"type": "noul", "instructions": "x"}},
                                "user": {"id": 7}})
        self.ask("evaluate", "-q", "q.json", "s", "--auth", "api-key", "--model", "jev-latest")
        headers, body = self.last()
        self.assertEqual(("x-api-key" in headers, "authorization" in headers, body["model"]), (True, False, "jev-latest"))
        self.assertEqual(self.ask("evaluate", "-q", "q.json", "s", "--api-key-file", "key")[0], 3)

    def test_unknown_fields_are_sent_when_open(self):
        self.write({"q.json": {"q": {"type": "noul", "instructions": "x", "weight": 0.5}}})
        self.plan([])
        self.ask("evaluate", "--open", "-q", "q.json", "s")
        self.assertEqual(self.last()[1]["questions"]["q"]["weight"], 0.5)

    def test_a_proxy_is_used(self):
        """The mock is no proxy, but only through it can its request id come from that address."""
        end = self.ask("evaluate", *NOUL, *QUICK, "--base-url", "http://192.0.2.1:81", "--proxy", self.mock.url)
        self.check(end, 5, "", failed(r".*http://192\.0\.2\.1:81/v1/systemone.*"))

    def test_a_label_on_a_terminal_is_escaped(self):
        self.write({"odd.json": ODD})
        self.plan([])
        ours, theirs = pty.openpty()
        subprocess.run([command.PROGRAM, "evaluate", "-q", "odd.json", "s", "--value"], stdout=theirs, stderr=subprocess.DEVNULL,
                       cwd=self.folder, check=True, timeout=60,
                       env=command.environment(TYPESAFE_BASE_URL=self.mock.url, TYPESAFE_API_KEY=KEY))
        os.close(theirs)
        shown = os.read(ours, 1000)
        os.close(ours)
        self.assertEqual(shown, b"\\x1b[2J\\n\r\n")

    def test_interrupt_ends_the_call(self):
        """The deadline is far away: only Ctrl-C can end the call in time."""
        self.plan(["hang@1"])
        with subprocess.Popen([command.PROGRAM, "evaluate", *NOUL, "--json", "--deadline", "0", "--attempt", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=command.environment(TYPESAFE_BASE_URL=self.mock.url, TYPESAFE_API_KEY=KEY)) as process:
            self.wait_for_call()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, json.loads(out)["code"], json.loads(out)["attempts"]), (130, "DEEM_E_CANCELLED", 1))
        self.assertRegex(err, rb"\Adeemster: [^\n]*cancelled[^\n]*\n\Z")

    def test_an_ignored_interrupt_stays_ignored(self):
        self.plan(["delay:500@1"])
        with subprocess.Popen([command.PROGRAM, "evaluate", *NOUL, "--value"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
                              env=command.environment(TYPESAFE_BASE_URL=self.mock.url, TYPESAFE_API_KEY=KEY)) as process:
            self.wait_for_call()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, bool(out), err), (0, True, b""))

    def wait_for_call(self):
        for _ in range(3000):
            if self.mock.stats()["requests"] > self.before:
                return
            time.sleep(0.01)
        self.fail("the call did not arrive")


if __name__ == "__main__":
    command.main()
