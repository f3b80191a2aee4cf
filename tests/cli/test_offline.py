"""What the command does without a server: help, usage errors, check."""
import json
import subprocess

import command
from command import Folder, deemster, rows

NOUL = {"q": {"type": "noul", "instructions": "Is it?"}}
TYPO = {"team": {"type": "choice", "instructions": "Which?", "critera": {"a": None, "b": None}}}
USAGE = r"deemster(?: \w+)?: {}\nTry `deemster(?: \w+)? --help' or `deemster(?: \w+)? --usage' for more\sinformation\.\n"


def usage(text):
    return USAGE.replace("{}", text)


TABLE = [
    dict(name="version", arguments=["--version"], out=r"deemster \d+\.\d+\.\d+ \(library \d+\.\d+\.\d+, ABI \d+\.\d+\)\n"),
    dict(name="help", arguments=["--help"],
         out=r"Usage: deemster .*\n  check +find .*\n  evaluate +ask .*\n  models +list .*\n  mock +run .*--version.*"),
    dict(name="no command", arguments=[], code=2, err=usage("name a command")),
    dict(name="unknown command", arguments=["decide"], code=2, err=usage("there is no command 'decide'")),
    dict(name="unknown option", arguments=["--nope"], code=2, err=usage("unrecognized option '--nope'")),
    dict(name="check: help", arguments=["check", "--help"], out=r"Usage: deemster check \[OPTION\.\.\.\] FILE\.\.\..*"),
    dict(name="evaluate: help", arguments=["evaluate", "--help"], out=r"Usage: deemster evaluate .*--threshold.*130.*"),
    dict(name="models: help", arguments=["models", "--help"], out=r"Usage: deemster models .*--base-url.*"),
    dict(name="mock: help", arguments=["mock", "--help"], out=r"Usage: deemster-mock .*--fault.*"),
    dict(name="mock: version", arguments=["mock", "--version"], out=r"deemster-mock \d+\.\d+\.\d+\n"),
    dict(name="mock: its exit code", arguments=["mock", "--port", "x"], code=2, err=r"deemster-mock: --port .*"),

    dict(name="check: no file", arguments=["check"], code=2, err=usage("name at least one file")),
    dict(name="check: missing file", arguments=["check", "nowhere"], code=2,
         err=r"deemster: cannot open 'nowhere': No such file or directory\n"),
    dict(name="check: a missing file cuts no document", arguments=["check", "--json", "q.json", "nowhere"], files={"q.json": NOUL},
         code=2, err=r"deemster: cannot open 'nowhere': .*\n"),
    dict(name="check: a folder", arguments=["check", "."], code=2, err=r"deemster: cannot read '\.': Is a directory\n"),
    dict(name="check: good", arguments=["check", "q.json"], files={"q.json": NOUL},
         out=["q.json: 1 question, 0 errors, 0 warnings\n"]),
    dict(name="check: stdin", arguments=["check", "-"], stdin=json.dumps(NOUL).encode(),
         out=["-: 1 question, 0 errors, 0 warnings\n"]),
    dict(name="check: a warning is no error", arguments=["check", "q.json"],
         files={"q.json": {"q": {"type": "choice", "criteria": {"a": None}}}},
         out=r"q\.json: warning instructions-missing questions\.q\.instructions: .*\n"
             r"q\.json: warning one-option questions\.q\.criteria: .*\nq\.json: 1 question, 0 errors, 2 warnings\n"),
    dict(name="check: errors", arguments=["check", "q.json"], files={"q.json": TYPO}, code=2,
         out=r'q\.json: error unknown-field questions\.team\.critera: .*Did you mean "criteria"\?.*\n'
             r"q\.json: error no-options questions\.team\.criteria: .*\nq\.json: 2 errors, 0 warnings\n"),
    dict(name="check: open", arguments=["check", "--open", "q.json"],
         files={"q.json": {"q": {"type": "noul", "instructions": "x", "weight": 0.5}}},
         out=["q.json: 1 question, 0 errors, 0 warnings\n"]),
    dict(name="check: every file, one bad", arguments=["check", "bad.json", "q.json"],
         files={"q.json": NOUL, "bad.json": "{"}, code=2,
         out=r"bad\.json: error invalid-json: .*\nbad\.json: 1 error, 0 warnings\nq\.json: 1 question, 0 errors, 0 warnings\n"),
    dict(name="check: not UTF-8", arguments=["check", "q.json"], files={"q.json": b'{"q":{"type":"noul","instructions":"\xff"}}'},
         code=2, out=r"q\.json: error invalid-utf8: .*offset.*\nq\.json: 1 error, 0 warnings\n"),
    dict(name="check: control bytes in a key and a huge key stay harmless", arguments=["check", "q.json"], code=2,
         files={"q.json": {"\x1b]0;x\x07a": {"type": "noul", "instructions": 5}, "k" * 100000: {"type": "noul", "instructions": 5}}},
         out=r"[^\x00-\x09\x0b-\x1f\x7f]{,900}"),
    dict(name="check: control bytes in a file name", arguments=["check", "\x1b[31m\u202e"], files={"\x1b[31m\u202e": NOUL},
         out=["\\x1b[31m\\u202e: 1 question, 0 errors, 0 warnings\n"]),

    dict(name="evaluate: nothing asked", arguments=["evaluate", "x"], code=2, err=usage("ask something: .*")),
    dict(name="evaluate: no state", arguments=["evaluate", "--noul", "Is it?"], code=2, err=usage("give the state: .*")),
    dict(name="evaluate: two states", arguments=["evaluate", "--noul", "Is it?", "x", "y"], code=2,
         err=usage("give one state, not several")),
    dict(name="evaluate: state file missing", arguments=["evaluate", "--noul", "Is it?", "@nowhere"], code=2,
         err=r"deemster: cannot open 'nowhere': .*\n"),
    dict(name="evaluate: option without choice", arguments=["evaluate", "--noul", "x", "--option", "a", "s"], code=2,
         err=usage("--option stands behind the --choice it belongs to")),
    dict(name="evaluate: level without score", arguments=["evaluate", "--level", "a", "s"], code=2,
         err=usage("--level stands behind the --score it belongs to")),
    dict(name="evaluate: key without question", arguments=["evaluate", "--noul", "x", "--key", "a", "s"], code=2,
         err=usage("--key stands before the question it belongs to")),
    dict(name="evaluate: threshold above 1", arguments=["evaluate", "--noul", "x", "s", "--threshold", "1.5"], code=2,
         err=usage("--threshold needs a probability .*")),
    dict(name="evaluate: threshold nan", arguments=["evaluate", "--noul", "x", "s", "--threshold", "nan"], code=2,
         err=usage("--threshold needs a probability .*")),
    dict(name="evaluate: band without threshold", arguments=["evaluate", "--noul", "x", "s", "--review", "0.1..0.2"], code=2,
         err=usage("--review needs --threshold")),
    dict(name="evaluate: band reversed", arguments=["evaluate", "--noul", "x", "s", "--review", "0.3..0.2"], code=2,
         err=usage("--review needs LOW\\.\\.HIGH.*")),
    dict(name="evaluate: band with one end", arguments=["evaluate", "--noul", "x", "s", "--review", "0.3"], code=2,
         err=usage("--review needs LOW\\.\\.HIGH.*")),
    dict(name="evaluate: threshold outside the band",
         arguments=["evaluate", "--noul", "x", "s", "--threshold", "0.5", "--review", "0.6..0.7"], code=2,
         err=usage("the threshold lies outside the review band")),
    dict(name="evaluate: threshold for a choice",
         arguments=["evaluate", "--choice", "x", "--option", "a", "--option", "b", "s", "--threshold", "0.5"], code=2,
         err=["deemster: --threshold needs a noul\n"]),
    dict(name="evaluate: threshold for several", arguments=["evaluate", "-q", command.TRIAGE, "s", "--threshold", "0.5"], code=2,
         err=["deemster: --threshold needs --question KEY: the set has 3 questions\n"]),
    dict(name="evaluate: no such question", arguments=["evaluate", "-q", command.TRIAGE, "s", "--question", "tem"], code=2,
         err=["deemster: --question: the question set has no such key\n"]),
    dict(name="evaluate: bad time", arguments=["evaluate", "--noul", "x", "s", "--deadline", "5 days"], code=2,
         err=usage("--deadline needs a time such as .*")),
    dict(name="evaluate: negative time", arguments=["evaluate", "--noul", "x", "s", "--attempt", "-1"], code=2,
         err=usage("--attempt needs a time such as .*")),
    dict(name="evaluate: bad retries", arguments=["evaluate", "--noul", "x", "s", "--retries", "101"], code=2,
         err=usage("--retries needs a whole number .*")),
    dict(name="evaluate: header without colon", arguments=["evaluate", "--noul", "x", "s", "--header", "a"], code=2,
         err=usage("--header needs NAME:VALUE")),
    dict(name="evaluate: line end in a header", arguments=["evaluate", "--noul", "x", "s", "--header", "a:b\r\nc:d"], code=2,
         err=r"deemster: [^\r]*\n"),
    dict(name="evaluate: field without value", arguments=["evaluate", "--noul", "x", "s", "--field", "a"], code=2,
         err=usage("--field needs NAME=JSON")),
    dict(name="evaluate: field that is no JSON", arguments=["evaluate", "--noul", "x", "s", "--field", "a={"], code=2,
         err=usage("--field: .*")),
    dict(name="evaluate: unknown auth", arguments=["evaluate", "--noul", "x", "s", "--auth", "basic"], code=2,
         err=usage("--auth is bearer, .*")),
    dict(name="evaluate: base URL", arguments=["evaluate", "--noul", "x", "s", "--base-url", "ftp://x"], code=2,
         err=r"deemster: .*ftp.*\n|deemster: .*http.*\n"),
    dict(name="evaluate: no key", arguments=["evaluate", "--noul", "x", "s"], code=3, err=r"deemster: .*TYPESAFE_API_KEY.*\n"),
    dict(name="evaluate: a key with a blank in it is not shown", arguments=["evaluate", "--noul", "x", "s", "--api-key-file", "key"],
         files={"key": "tiger lily\n"}, code=3, err=r"deemster: (?!.*(?:tiger|lily)).*key.*\n"),
    dict(name="models: no key", arguments=["models"], code=3, err=r"deemster: .*TYPESAFE_API_KEY.*\n"),
    dict(name="evaluate: refused set", arguments=["evaluate", "-q", "q.json", "s"], files={"q.json": TYPO}, code=2,
         err=r"deemster: error unknown-field .*\ndeemster: error no-options .*\n"),
]


def run(test, arguments, code=0, out="", err="", files=None, stdin=b""):
    test.write(files or {})
    test.check(deemster(*arguments, stdin=stdin, cwd=test.folder), code, out, err)


@lambda cls: rows(cls, TABLE, run)
class Offline(Folder):
    def test_check_json(self):
        self.write({"q.json": {"model": "m", "questions": NOUL}, "bad.json": TYPO})
        code, out, err = deemster("check", "--json", "q.json", "bad.json", cwd=self.folder)
        document = json.loads(out)
        self.assertEqual((code, err), (2, b""))
        good, bad = document["files"]
        self.assertEqual({**good, "identity": len(good["identity"])},
                         {"file": "q.json", "errors": 0, "warnings": 0, "questions": 1, "identity": 64, "model": "m", "findings": []})
        self.assertEqual([(f["severity"], f["rule"], f["path"]) for f in bad["findings"]],
                         [("error", "unknown-field", "questions.team.critera"), ("error", "no-options", "questions.team.criteria")])
        self.assertTrue(all(f["message"] and f["advice"] for f in bad["findings"]))
        self.assertEqual((bad["errors"], bad["warnings"], "identity" in bad), (2, 0, False))

    def test_check_json_escapes_what_json_cannot_hold(self):
        name = b'\xff"\\\n'
        (self.folder / "x").mkdir()
        with open(bytes(self.folder) + b"/" + name, "w") as file:
            json.dump(NOUL, file)
        code, out, _ = deemster("check", "--json", name, cwd=self.folder)
        self.assertEqual((code, json.loads(out)["files"][0]["file"]), (0, '\ufffd"\\\n'))

    def test_refused_set_as_json(self):
        self.write({"q.json": TYPO})
        code, out, err = deemster("evaluate", "--json", "-q", "q.json", "s", cwd=self.folder)
        document = json.loads(out)
        self.assertEqual((code, document["code"], len(document["findings"])), (2, "DEEM_E_QUESTIONS", 2))
        self.assertIn(b"unknown-field", err)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([command.PROGRAM, "check", command.TRIAGE], stdout=full, stderr=subprocess.PIPE,
                                  env=command.environment())
        self.assertEqual((done.returncode, done.stderr), (8, b"deemster: cannot write the output: No space left on device\n"))


if __name__ == "__main__":
    command.main()
