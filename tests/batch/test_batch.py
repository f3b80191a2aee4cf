"""deemster batch against the mock: forms in and out, errors of rows and of runs, packs, pace, money, Ctrl-C, resume."""
import csv
import io
import json
import os
import signal
import subprocess
import time
import unittest

import batches
import command
from batches import Mock, lines, rows_of, steady
from command import Folder, rows

HEADER = "id,subject,text\n"
CELLS = HEADER + '00123,"a, b","line\r\none ""quoted"""\r\n7,é,x\n'
FAILED = r"(?:deemster: \d+ rows written, .*\n)"
FIRST = r"(?:deemster: the first that failed: .*\n)"
CLASH = {"status": {"type": "noul", "instructions": "?"}}
CLASHES = {"a": {"type": "choice", "instructions": "?", "criteria": {"x": None, "y": None}},
           "a.p.x": {"type": "noul", "instructions": "?"}}
FORMULA = {"team": {"type": "choice", "instructions": "?", "criteria": {"=1+1": None, "=2": None}}}


def usage(text):
    return rf"deemster batch: {text}\n.*"


# expect: for each row of a JSON Lines output (id, status, attempts) or a part of it; out and err: patterns.
TABLE = [
    dict(name="JSON Lines from a file", files={"in.jsonl": lines(3)}, arguments=["in.jsonl"],
         expect=[dict(row=n + 1, id=n, status="ok", attempts=1) for n in range(3)], sent=3),
    dict(name="JSON Lines from standard input", stdin=lines(2), arguments=["-"], expect=[dict(id=0), dict(id=1)], sent=2),
    dict(name="no line end at the end, CRLF, a mark", stdin=b'\xef\xbb\xbf{"id":"a"}\r\n{"id":"b"}', arguments=["-"],
         expect=[dict(id="a", status="ok"), dict(id="b", status="ok")], sent=2),
    dict(name="no rows", stdin="", arguments=["-"], expect=[], sent=0),
    dict(name="blank and malformed lines are rows that fail", code=9, sent=3, err=FAILED + FIRST,
         stdin='{"id":1,"text":"a"}\n\n{"id":2\n5\n[1]\n{"id":3,"x":1e999}', arguments=["-"],
         expect=[dict(row=1, id=1, status="ok"), dict(row=2, status="error", error="DEEM_E_STATE"),
                 dict(row=3, status="error", error="DEEM_E_STATE"), dict(row=4, status="error", error="DEEM_E_STATE"),
                 dict(row=5, status="ok"), dict(row=6, id=3, status="ok")]),
    dict(name="a field of JSON is sent in the bytes it has", stdin='{"id":[1, 2.50],"s":{"n": 1.10}}\n', sent=1,
         arguments=["-", "--state", "s"], expect=[dict(id=[1, 2.5], status="ok")], state={"n": 1.10}, raw_id="[1, 2.50]"),
    dict(name="a string of JSON is text", stdin='{"s":"caf\\u00e9"}\n', arguments=["-", "--state", "s"], state="café", sent=1,
         expect=[dict(status="ok")]),
    dict(name="a field that is missing, a number, twice", code=9, err=FAILED + FIRST, sent=0,
         stdin='{"t":1}\n{"s":5}\n{"s":"a","s":"b"}\n', arguments=["-", "--state", "s"],
         expect=[dict(status="error"), dict(status="error"), dict(status="error")]),
    dict(name="a template over fields", stdin='{"a":"x","b":[1, 2],"id":1}\n', arguments=["-", "--state", "{{{a}}}: {b}"],
         state="{x}: [1, 2]", sent=1, expect=[dict(id=1)]),
    dict(name="the id may have another name", stdin='{"key":"k1"}\n', arguments=["-", "--id", "key"], expect=[dict(id="k1")], sent=1),
    dict(name="lines", stdin="first\r\n\nthird", arguments=["-", "--from", "lines"], code=9, err=FAILED + FIRST, sent=2,
         expect=[dict(row=1, status="ok"), dict(row=2, status="error"), dict(row=3, status="ok")], state="third"),
    dict(name="lines have no fields", stdin="x", arguments=["-", "--from", "lines", "--state", "a"], code=2, sent=0,
         err=usage("plain lines have no fields .*")),
    dict(name="CSV: cells stay strings, quoted line ends", files={"in.csv": CELLS}, arguments=["in.csv"], sent=2,
         expect=[dict(row=1, id="00123", status="ok"), dict(row=2, id="7")], ),
    dict(name="CSV: a column", files={"in.csv": CELLS}, arguments=["in.csv", "--state", "text", "--limit", "1"], sent=1,
         state='line\r\none "quoted"', expect=[dict(id="00123")]),
    dict(name="CSV: a template", files={"in.csv": CELLS}, arguments=["in.csv", "--state", "{subject}: {text}", "--limit", "1"],
         state='a, b: line\r\none "quoted"', sent=1, expect=[dict(id="00123")]),
    dict(name="CSV: whole rows are objects of strings", files={"in.csv": CELLS}, arguments=["in.csv", "--limit", "1"], sent=1,
         state={"id": "00123", "subject": "a, b", "text": 'line\r\none "quoted"'}, expect=[dict(id="00123")]),
    dict(name="CSV: blanks around cells are kept", stdin="a,b\n x , y\n", arguments=["-", "--from", "csv", "--state", "{a}|{b}"],
         state=" x | y", sent=1, expect=[dict(status="ok")]),
    dict(name="CSV: no header", stdin="x,y\n", arguments=["-", "--from", "csv", "--no-header", "--state", "{2}", "--id", "1"],
         state="y", sent=1, expect=[dict(id="x")]),
    dict(name="CSV: ragged and blank rows fail", stdin="a,b\n1,2\n1\n\n1,2,3\n4,5", arguments=["-", "--from", "csv"], code=9, sent=2,
         err=FAILED + FIRST, expect=[dict(row=1, status="ok"), dict(row=2, status="error"), dict(row=3, status="error"),
                                     dict(row=4, status="error"), dict(row=5, status="ok")]),
    dict(name="CSV: a quote that never ends", stdin='a,b\n1,2\n1,"2\n3,4\n', arguments=["-", "--from", "csv"], code=9, sent=1,
         err=FAILED + FIRST, expect=[dict(status="ok"), dict(status="error")]),
    dict(name="CSV: header with a name twice", files={"in.csv": "a,b,a\n1,2,3\n"}, arguments=["in.csv"], code=2, sent=0,
         err=r"deemster: in\.csv: columns 1 and 3 of the header have the same name\n"),
    dict(name="CSV: a column that is not there", files={"in.csv": CELLS}, arguments=["in.csv", "--state", "body"], code=2, sent=0,
         err=r"deemster: in\.csv: --state: there is no column 'body'\n"),
    dict(name="CSV: a template with a column that is not there", files={"in.csv": CELLS}, code=2, sent=0,
         arguments=["in.csv", "--state", "{subject} {body}"], err=r"deemster: in\.csv: --state: there is no column 'body'\n"),
    dict(name="TSV", stdin="id\ttext\n1\ta,b\n", arguments=["-", "--from", "tsv", "--state", "text"], state="a,b", sent=1,
         expect=[dict(id="1")]),
    dict(name="a file in Latin-1 is refused before anything is sent", files={"in.jsonl": b'{"id":1}\n{"id":"caf\xe9"}\n'}, code=2,
         arguments=["in.jsonl"], sent=0, err=r"deemster: in\.jsonl: the input is not UTF-8 at byte 19: save it as UTF-8\n"),
    dict(name="a file in UTF-16 is refused", files={"in.csv": HEADER.encode("utf-16")}, code=2, arguments=["in.csv"], sent=0,
         err=r"deemster: in\.csv: the input is UTF-16 \(byte 0\): save it as UTF-8\n"),
    dict(name="a file in UTF-16 without a mark is refused", files={"in.csv": HEADER.encode("utf-16-le")}, code=2, sent=0,
         arguments=["in.csv"], err=r"deemster: in\.csv: the input looks like UTF-16 .*\n"),
    dict(name="a stream in Latin-1 is refused where it is met", stdin=b'{"id":"caf\xe9"}\n', code=2, arguments=["-"], sent=0,
         err=r"deemster: the input is not UTF-8 at byte 10: save it as UTF-8\n.*"),
    dict(name="a cut character at the end", stdin=b'{"id":1}\n{"id":"\xc3', code=2, arguments=["-"], sent=None,
         err=r"deemster: the input is not UTF-8 at byte 16: .*", expect=None),

    dict(name="output: CSV", files={"in.csv": CELLS}, arguments=["in.csv", "--to", "csv"], sent=2,
         out=r"row,id,status,error,urgent,team,team\.confidence,team\.p\.billing,team\.p\.tech,model,request_id,attempts\n"
             r"1,00123,ok,,[\d.]+,(billing|tech),[\d.]+,[\d.]+,[\d.]+,jev-1\.13\.0,req_\w+,1\n2,7,ok,.*\n"),
    dict(name="output: TSV", files={"in.csv": CELLS}, arguments=["in.csv", "--to", "tsv", "--limit", "1"], sent=1,
         out=r"row\tid\tstatus\terror\turgent\t.*\n1\t00123\tok\t\t[\d.]+\t.*\n"),
    dict(name="output: a failed row is no empty cell", stdin="a\n\"x\"", arguments=["-", "--to", "csv"], code=9, sent=1,
         err=FAILED + FIRST, out=r'row,.*\n1,,error,"DEEM_E_STATE: The line [^\n]*",#ERROR,#ERROR,,,,,,0\n2,,ok,,[\d.]+,.*\n'
         .replace('"DEEM_E_STATE: The line [^\\n]*"', r'"?DEEM_E_STATE: The line [^\n]*')),
    dict(name="output: a clash of names", stdin=lines(1), files={"questions.json": CLASH}, arguments=["-", "--to", "csv"], code=2,
         sent=0, err=r"deemster: two columns of the output would be called 'status': .*\n"),
    dict(name="output: a clash with a probability", stdin=lines(1), files={"questions.json": CLASHES}, code=2, sent=0,
         arguments=["-", "--to", "csv"], err=r"deemster: two columns of the output would be called 'a\.p\.x': .*\n"),
    dict(name="output: formulas as they are", stdin='{"id":"@x"}\n', files={"questions.json": FORMULA}, sent=1,
         arguments=["-", "--to", "csv"], out=r"row,id,.*\n1,@x,ok,,=.*\n"),
    dict(name="output: formulas escaped", stdin='{"id":"@x"}\n', files={"questions.json": FORMULA}, sent=1,
         arguments=["-", "--to", "csv", "--escape-formulas"], out=r"row,id,.*\n1,'@x,ok,,'=.*\n"),

    dict(name="equal rows are asked once", stdin='{"a":1}\n{"a":2}\n{"a":1}\n{"a":1}\n', arguments=["-"], sent=2,
         expect=[dict(status="ok"), dict(), dict(duplicate=True), dict(duplicate=True)]),
    dict(name="or as often as they come", stdin='{"a":1}\n{"a":1}\n', arguments=["-", "--no-dedupe"], sent=2, expect=[{}, {}]),
    dict(name="a limit of rows", stdin=lines(100), arguments=["-", "--limit", "7"], expect=[dict(id=n) for n in range(7)], sent=7),

    dict(name="retries go through", stdin=lines(6), faults=["500@1", "reset@3", "cut@4"], arguments=["-"], sent=9,
         expect=[dict(status="ok")] * 6),
    dict(name="retries run out", stdin=lines(1), faults=["503@every"], arguments=["-", "--retries", "1"], sent=2, code=9,
         err=FAILED + FIRST, expect=[dict(status="error", error="DEEM_E_HTTP_SERVER", attempts=2)]),
    dict(name="the deadline ends them", stdin=lines(1), faults=["503@every"], arguments=["-", "--retries", "9", "--deadline", "0.6"],
         sent=None, code=9, err=FAILED + FIRST, expect=[dict(status="error", error="DEEM_E_DEADLINE")]),
    dict(name="a row the server refuses", stdin=lines(3), faults=["400@2"], arguments=["-", "--concurrency", "1"], sent=3, code=9,
         err=FAILED + FIRST, expect=[dict(status="ok"), dict(status="error", error="DEEM_E_HTTP_BAD_REQUEST"), dict(status="ok")]),
    dict(name="an invalid reply", stdin=lines(2), faults=["out-of-range@1"], arguments=["-", "--concurrency", "1"], sent=2, code=9,
         err=FAILED + FIRST, expect=[dict(status="error", error="DEEM_E_INVALID_REPLY"), dict(status="ok")]),
    dict(name="lenient keeps the good answers", stdin=lines(1), faults=["out-of-range@1"], arguments=["-", "--lenient"], sent=1,
         expect=[dict(status="ok", problems=True)]),
    dict(name="a wrong key stops the run", stdin=lines(200), variables={"TYPESAFE_API_KEY": "wrong-key"}, code=3, sent=(3, 12),
         arguments=["-"], expect=None, out=r'(\{"row":\d+,"id":\d+,"status":"error","error":\{"kind":"DEEM_E_HTTP_AUTHENTICATION".*\n){3,12}',
         err=FAILED + FIRST + r"deemster: \d+ rows that were read were not asked; .*\n"),
    dict(name="an unknown model stops the run", stdin=lines(200), code=5, sent=(3, 12), arguments=["-", "-m", "nope"], expect=None,
         out=r"(.*Unknown model.*\n){3,12}", err=FAILED + FIRST + r"deemster: \d+ rows .*\n"),
    dict(name="402 stops the run", stdin=lines(200), faults=["402@every"], code=3, sent=(3, 12), arguments=["-"], expect=None,
         out=r"(.*DEEM_E_HTTP_PAYMENT.*\n){3,12}", err=FAILED + FIRST + r"deemster: \d+ rows .*\n"),
    dict(name="no such route stops the run", stdin=lines(200), code=5, sent=None, expect=None,
         arguments=["-", "--base-url", "{url}/elsewhere"], out=r"(.*DEEM_E_HTTP_NOT_FOUND.*\n){3,12}",
         err=FAILED + FIRST + r"deemster: \d+ rows .*\n"),
    dict(name="too many failed rows stop the run", stdin=lines(500), faults=["400@every"], code=9, sent=(3, 40), expect=None,
         arguments=["-", "--max-errors", "2", "--concurrency", "2"], out=r"(.*DEEM_E_HTTP_BAD_REQUEST.*\n){3,40}",
         err=r"deemster: stopping, since more than 2 rows failed\n" + FAILED + FIRST + r"deemster: \d+ rows .*\n"),
    dict(name="nobody listens", stdin=lines(2), code=9, sent=None, arguments=["-", "--base-url", "http://127.0.0.1:1", "--retries", "0"],
         err=FAILED + FIRST, expect=[dict(status="error", error="DEEM_E_REFUSED")] * 2),
    dict(name="a model that changes is warned about once", stdin=lines(30), faults=["model:jev-2@3-9"], arguments=["-"], sent=30,
         err=r"deemster: the model changed in mid run from jev-1\.13\.0 to jev-2: .*\n", expect=[{}] * 30),

    dict(name="dry run", stdin=lines(40) + "\n" + lines(1), arguments=["-", "--dry-run", "--pack", "question:16"], sent=0,
         variables={"TYPESAFE_API_KEY": None}, expect=None,
         out=r"rows: 42\nrows that cannot be asked: 1\nequal rows: 1\nrows in the journal: 0\nrequests: 3\n"
             r"input tokens, estimated: \d{4}\ncost, estimated: unknown \(give --price\)\n"),
    dict(name="dry run with a price", stdin=lines(1), arguments=["-", "--dry-run", "--price", "1000000"], sent=0, expect=None,
         out=r"rows: 1\n.*requests: 1\ninput tokens, estimated: (\d+)\ncost, estimated: \1\.000000\n"),
    dict(name="a cap on cost needs a price", stdin="", arguments=["-", "--max-cost", "1"], code=2, sent=0,
         err=usage("--max-cost needs --price: an unknown price is not 0")),
    dict(name="a cap on cost is not passed", stdin=lines(50), arguments=["-", "--price", "1000000", "--max-cost", "3500"], code=9,
         sent=(8, 10), expect=None, out=r'(\{"row":\d+,"id":\d+,"status":"ok".*\n){8,10}',
         err=FAILED + r"deemster: stopped before the next request could pass --max-cost\ndeemster: \d+ rows .*\n"),
    dict(name="resume needs an output", stdin="", arguments=["-", "--resume"], code=2, sent=0, err=usage("--resume needs --output .*")),
    dict(name="pack options need --pack", stdin="", arguments=["-", "--pack-by", "a"], code=2, sent=0, err=usage("the --pack-.*")),
    dict(name="a shape there is not", stdin="", arguments=["-", "--pack", "rows:3"], code=2, sent=0,
         err=usage(r"--pack is question\|state, not 'rows'")),
    dict(name="no packs of nothing", stdin="", arguments=["-", "--pack", "state:0"], code=2, sent=0, err=usage("--pack needs .*")),
    dict(name="a band needs a file", stdin="", arguments=["-", "--review", "0.4..0.6"], code=2, sent=0, err=usage("--review .*")),
    dict(name="an input that is not there", arguments=["nowhere.csv"], code=2, sent=0,
         err=r"deemster: cannot open 'nowhere\.csv': .*\n"),
    dict(name="no input", arguments=[], code=2, sent=0, err=usage("name the input: .*")),
    dict(name="an output that cannot be written", stdin="", arguments=["-", "-o", "nowhere/out"], code=2, sent=0,
         err=r"deemster: The journal 'nowhere/out\.journal' .*\n"),
]


def run_row(test, arguments, stdin="", files=None, variables=None, faults=(), code=0, out=None, err="", expect=(), sent=None, state=None,
            raw_id=None):
    """sent: requests that reach the route: a number, a range, or None for any."""
    test.write({"questions.json": batches.QUESTIONS, **(files or {})})
    test.plan(faults)
    end = test.batch(*(text.replace("{url}", test.mock.url) for text in arguments), stdin=stdin, **(variables or {}))
    count = test.mock.stats()["requests"] - test.before
    least, most = sent if isinstance(sent, tuple) else (sent, sent)
    if sent is not None:
        test.assertTrue(least <= count <= most, f"{count} requests; {end}")
    test.check(end, code, ".*" if out is None else out, err)
    if out is None and expect is not None:
        test.rows(end[1], expect)
    if state is not None:
        test.assertEqual(test.last()["state"], state)
    if raw_id is not None:
        test.assertIn(f'"id":{raw_id},'.encode(), end[1])


class Base(Folder):
    options = ("--quiet",)

    @classmethod
    def setUpClass(cls):
        cls.mock = Mock(*cls.options)
        cls.mock.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.mock.__exit__()

    def setUp(self):
        super().setUp()
        self.write({"questions.json": batches.QUESTIONS})

    def plan(self, faults):
        self.assertEqual(self.mock.call("POST", "/control/faults", list(faults)).status, 200)
        self.before = self.mock.stats()["requests"]

    def count(self):
        """Requests since the plan."""
        return self.mock.stats()["requests"] - self.before

    def last(self):
        return json.loads(self.mock.call("GET", "/control/last").json()["body"])

    def batch(self, *more, stdin="", rpm="0", code=None, **variables):
        done = subprocess.run(batches.arguments(*more, rpm=rpm), input=stdin if isinstance(stdin, bytes) else stdin.encode(),
                              capture_output=True, timeout=120, cwd=self.folder,
                              env={name: value for name, value in {**batches.variables(self.mock), **variables}.items()
                                   if value is not None})
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return done.returncode, done.stdout, done.stderr

    def start(self, *more, rpm="0", **pipes):
        return subprocess.Popen(batches.arguments(*more, rpm=rpm), cwd=self.folder, env=batches.variables(self.mock), **pipes)

    def rows(self, output, expect):
        found = rows_of(output)
        self.assertEqual(len(found), len(expect), output)
        for row, wanted in zip(found, expect):
            error = wanted.get("error")
            if error is not None:
                self.assertEqual(row["error"]["kind"], error, row)
            if "problems" in wanted:
                self.assertEqual("problems" in row, wanted["problems"], row)
            if row["status"] == "error":
                self.assertNotIn("values", row)
            else:
                self.assertEqual(row["model"][:4], "jev-")
            for name in wanted.keys() - {"error", "problems"}:
                self.assertEqual(row.get(name), wanted[name], row)


@lambda cls: rows(cls, TABLE, run_row)
class Rows(Base):
    pass


class Order(Base):
    def test_input_order_is_kept_behind_a_slow_row(self):
        self.plan(["delay:700@3", "delay:300@7"])
        end = self.batch("-", "--window", "40", stdin=lines(300), code=0)
        self.assertEqual([row["id"] for row in rows_of(end[1])], list(range(300)))
        self.assertEqual([row["row"] for row in rows_of(end[1])], list(range(1, 301)))

    def test_unordered_rows_do_not_wait(self):
        self.plan(["delay:700@1"])
        end = self.batch("-", "--unordered", stdin=lines(300), code=0)
        ids = [row["id"] for row in rows_of(end[1])]
        self.assertEqual(sorted(ids), list(range(300)))
        self.assertNotEqual(ids, sorted(ids))
        self.assertGreater(ids.index(0), 40)

    def test_answers_belong_to_their_rows(self):
        """What a row is answered does not depend on pace, order, neighbours or how often it was sent."""
        self.plan([])
        plain = {row["id"]: row["values"] for row in rows_of(self.batch("-", stdin=lines(200), code=0)[1])}
        self.plan(["503@5", "reset@9", "429@20"])
        again = {row["id"]: row["values"] for row in rows_of(self.batch("-", "--unordered", stdin=lines(200), code=0)[1])}
        self.assertEqual(plain, again)

    def test_memory_of_a_stream_that_stays_open(self):
        """Rows come out while the input is still open."""
        self.plan([])
        with self.start("-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            process.stdin.write(lines(3).encode())
            deadline = time.monotonic() + 20
            while self.count() < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(self.count(), 3)
            process.stdin.close()
            self.assertEqual(len(rows_of(process.stdout.read())), 3)
            self.assertEqual(process.wait(20), 0)


class Packs(Base):
    def packed(self, shape, rows, *more, faults=(), code=0, requests=None, **pipes):
        self.plan(faults)
        end = self.batch("-", "--pack", f"{shape}:{rows}", *more, code=code, **pipes)
        if requests is not None:
            self.assertEqual(self.count(), requests)
        return rows_of(end[1])

    def test_both_shapes(self):
        for shape in ("question", "state"):
            found = self.packed(shape, 8, stdin=lines(20), requests=3)
            self.assertEqual([row["pack"] for row in found],
                             [dict(id=n - n % 8 + 1, place=n % 8 + 1, size=8 if n < 16 else 4, shape=shape) for n in range(20)])
            self.assertEqual([row["id"] for row in found if "usage" in row], [0, 8, 16])
            self.assertEqual({row["status"] for row in found}, {"ok"})
            for row in found:
                self.assertEqual(set(row["values"]), {"urgent", "team"})
                self.assertEqual(set(row["answers"]["team"]["probabilities"]), {"billing", "tech"})

    def test_the_request(self):
        self.packed("question", 2, stdin=lines(2))
        sent = self.last()
        self.assertIsInstance(sent["state"], str)
        self.assertEqual(list(sent["questions"]), ["r0q0", "r0q1", "r1q0", "r1q1"])
        self.assertEqual(sent["questions"]["r1q0"]["instructions"], {"record": {"id": 1, "text": "row 1"}, "question": "Is `text` urgent?"})
        self.assertEqual(sent["questions"]["r1q1"]["criteria"], batches.QUESTIONS["team"]["criteria"])
        self.packed("state", 2, stdin=lines(2))
        sent = self.last()
        self.assertEqual(sent["state"], {"rows": [{"id": 0, "text": "row 0"}, {"id": 1, "text": "row 1"}]})
        self.assertRegex(sent["questions"]["r1q0"]["instructions"], r"`rows\[1\]`.* Is `rows\[1\]\.text` urgent\?$")
        self.assertEqual(sent["model"], "jev-latest")

    def test_paths_that_cannot_be_bound_are_warned_about(self):
        self.plan([])
        end = self.batch("-", "--pack", "state:2", stdin='{"body":"x"}\n{"body":"y"}\n', code=0)
        self.assertEqual(end[2].decode(),
                         "deemster: warning: questions.urgent: `text` is left as it stands: a row has no field of that name\n")

    def test_answers_are_found_by_key(self):
        """Whatever order the mock answers in, a packed row has the answers of its own keys."""
        texts = ["".join(json.dumps({"id": n, "text": f"row {n}"}) + "\n") for n in range(6)]
        alone = [self.packed("question", 1, stdin=text)[0]["values"] for text in texts]
        together = [row["values"] for row in self.packed("question", 6, stdin="".join(texts), requests=1)]
        self.assertEqual(alone, together)

    def test_a_bad_answer_fails_its_row_alone(self):
        for fault, reason in (("missing-answer", "DEEM_REASON_MISSING"), ("out-of-range", "DEEM_REASON_RANGE"),
                              ("duplicate-keys", "DEEM_REASON_DUPLICATE"), ("wrong-kind", "DEEM_REASON_WRONG_KIND")):
            found = self.packed("question", 8, faults=[f"{fault}@1"], code=9, stdin=lines(8), requests=1)
            self.assertEqual([row["status"] for row in found].count("error"), 1, fault)
            bad = next(row for row in found if row["status"] == "error")
            self.assertEqual(bad["error"]["kind"], "DEEM_E_INVALID_REPLY")
            (key, problem), = bad["problems"].items()
            self.assertEqual(problem["reason"], reason)
            self.assertRegex(problem["path"], rf"^answers\.{key}")

    def test_too_large_packs_are_halved(self):
        for fault in ("413@1", "413@1-3"):
            found = self.packed("question", 8, faults=[fault], stdin=lines(8))
            self.assertEqual({row["status"] for row in found}, {"ok"})
            self.assertEqual([row["id"] for row in found], list(range(8)))
        self.assertEqual([row["pack"]["size"] for row in found], [2] * 8)
        self.assertEqual([row["attempts"] for row in found], [3] * 8)
        self.assertEqual(self.count(), 7)
        self.assertEqual([row["pack"]["id"] for row in found], [1, 1, 3, 3, 5, 5, 7, 7])

    def test_a_token_limit_halves(self):
        with Mock("--quiet", "--token-limit", "1500") as small:
            self.plan([])
            done = subprocess.run(batches.arguments("-", "--pack", "question:64"), input=lines(64).encode(), capture_output=True,
                                  cwd=self.folder, env=batches.variables(small), timeout=60)
            found = rows_of(done.stdout)
            self.assertEqual((done.returncode, len(found), {row["status"] for row in found}), (0, 64, {"ok"}), done.stderr)
            self.assertTrue(1 < len({row["pack"]["id"] for row in found}) <= 16)
            self.assertGreater(small.stats()["by_status"]["400"], 0)

    def test_a_row_alone_that_is_too_large_fails(self):
        found = self.packed("question", 4, faults=["413@every"], code=9, stdin=lines(4), requests=7)
        self.assertEqual([row["error"]["kind"] for row in found], ["DEEM_E_HTTP_TOO_LARGE"] * 4)

    def refusing(self, loc):
        """A fault that answers 422 with this loc."""
        body = json.dumps({"detail": [{"type": "string_type", "loc": loc, "msg": "Input should be a valid string"}]})
        self.write({"refusal": f"HTTP/1.1 422 X\r\nContent-Type: application/json\r\nx-request-id: req_422\r\n"
                               f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"})
        return f"raw:{self.folder / 'refusal'}@1"

    def test_a_row_that_a_422_names_is_dropped(self):
        for shape, loc, path in (("question", ["body", "questions", "r2q1", "choice", "criteria", "a"], "questions.team.criteria.a"),
                                 ("state", ["body", "state", "rows", 2, "text"], "state.rows[2].text")):
            found = self.packed(shape, 4, faults=[self.refusing(loc)], code=9, stdin=lines(4), requests=2)
            self.assertEqual([row["status"] for row in found], ["ok", "ok", "error", "ok"])
            self.assertEqual(found[2]["error"]["kind"], "DEEM_E_HTTP_UNPROCESSABLE")
            self.assertEqual(found[2]["error"]["path"], path)
            self.assertEqual(found[2]["request_id"], "req_422")
            self.assertEqual([row["pack"]["size"] for row in found], [3, 3, 4, 3])
            self.assertEqual([row["attempts"] for row in found], [2, 2, 1, 2])

    def test_a_422_about_no_row_fails_the_pack(self):
        found = self.packed("question", 4, faults=[self.refusing(["body", "model"])], code=9, stdin=lines(8), requests=2)
        self.assertEqual([row["status"] for row in found], ["error"] * 4 + ["ok"] * 4)

    def test_a_pack_is_retried_whole(self):
        found = self.packed("state", 4, faults=["429:retry-after=0@1", "503@2"], stdin=lines(8), requests=4)
        self.assertEqual({row["status"] for row in found}, {"ok"})
        self.assertEqual([row["pack"]["size"] for row in found], [4] * 8)

    def test_packs_are_cut(self):
        for more, sizes in ((["--pack-questions", "6"], [3, 3, 3, 1]), (["--pack-bytes", "900"], None),
                            (["--pack-tokens", "1200"], None)):
            found = self.packed("question", 8, *more, stdin=lines(10))
            got = [row["pack"]["size"] for row in found if row["pack"]["place"] == 1]
            self.assertEqual(sum(got), 10)
            self.assertTrue(max(got) < 8, got)
            if sizes:
                self.assertEqual(got, sizes)

    def test_equal_rows_are_left_out_before_packs_are_cut(self):
        found = self.packed("question", 4, stdin=lines(3) + lines(3) + lines(1, 3), requests=1)
        self.assertEqual([row["pack"]["size"] for row in found], [4] * 7)
        self.assertEqual([row["pack"]["place"] for row in found], [1, 2, 3, 1, 2, 3, 4])
        self.assertEqual([row.get("duplicate") for row in found], [None] * 3 + [True] * 3 + [None])

    def test_groups_are_kept_apart(self):
        stdin = "".join(json.dumps({"id": n, "tenant": "ab"[n % 2], "text": "same"}) + "\n" for n in range(20))
        found = self.packed("state", 4, "--pack-by", "tenant", "--state", "text", stdin=stdin)
        self.assertEqual(self.count(), 2)  # one row of each tenant: the others equal it
        self.assertNotEqual(found[0]["pack"]["id"], found[1]["pack"]["id"])
        stdin = "".join(json.dumps({"id": n, "tenant": "abc"[n % 3]}) + "\n" for n in range(24))
        found = self.packed("question", 4, "--pack-by", "tenant", stdin=stdin, requests=6)
        for row in found:
            self.assertEqual((row["pack"]["id"] - row["row"]) % 3, 0)

    def test_shuffled_packs(self):
        def places(seed):
            found = self.packed("question", 8, "--pack-shuffle", seed, stdin=lines(200), requests=25)
            self.assertEqual([row["id"] for row in found], list(range(200)))
            return [(row["pack"]["id"], row["pack"]["place"]) for row in found]
        one, again, other = places("1"), places("1"), places("2")
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)
        self.assertEqual(len(set(one)), 200)
        self.assertNotEqual([place for _, place in one], [n % 8 + 1 for n in range(200)])

    def test_rows_per_request_rise_with_the_pack(self):
        """Under a limit on requests the rows in a window rise in proportion to the pack."""
        counts = {}
        for size in (1, 8, 32):
            self.packed("question", size, stdin=lines(256))
            counts[size] = self.count()
        self.assertEqual(counts, {1: 256, 8: 32, 32: 8})


class Pace(Base):
    options = ("--quiet", "--rate", "20/500")

    def test_requests_in_a_window_stay_below_the_limit(self):
        """Retries and the halves of packs go through the same limiter: no window has more than it allows."""
        for more, faults in (([], []), ([], ["500@3", "reset@8", "503@15"]), (["--pack", "question:4"], ["413@2", "500@5", "413@9"])):
            self.plan(faults)
            self.mock.call("POST", "/count/reset")
            end = self.batch("-", *more, rpm="18/530ms", stdin=lines(60 * (4 if more else 1)), code=0)
            stats = self.mock.stats()
            self.assertEqual({row["status"] for row in rows_of(end[1])}, {"ok"})
            self.assertLessEqual(stats["max_in_window"], 20, more)
            self.assertNotIn("429", stats["by_status"])

    def test_a_server_that_is_slower_than_the_limit(self):
        self.plan([])
        self.mock.call("POST", "/count/reset")
        end = self.batch("-", stdin=lines(80), code=0)
        stats = self.mock.stats()
        self.assertEqual({row["status"] for row in rows_of(end[1])}, {"ok"})
        self.assertGreater(stats["by_status"]["429"], 0)
        self.assertEqual(stats["by_status"]["200"], 80)

    def test_a_pause_holds_all_rows(self):
        """After a Retry-After nothing is sent until it is over."""
        with Mock("--quiet", "--rate", "1000/700", "--fault", "429:retry-after-ms=900@1") as mock:
            done = subprocess.run(batches.arguments("-", "--concurrency", "1"), input=lines(5).encode(), capture_output=True,
                                  cwd=self.folder, env=batches.variables(mock), timeout=60)
            stats = mock.stats()
            self.assertEqual((done.returncode, stats["requests"]), (0, 6), done.stderr)
            self.assertEqual([row["attempts"] for row in rows_of(done.stdout)], [2, 1, 1, 1, 1])
            self.assertEqual(stats["max_in_window"], 5)


class Review(Base):
    def test_uncertain_rows_go_to_the_second_file(self):
        self.plan([])
        whole = rows_of(self.batch("-", stdin=lines(100), code=0)[1])
        end = self.batch("-", "--review", "0.4..0.6", "--review-output", "review.jsonl", stdin=lines(100), code=0)
        review = rows_of((self.folder / "review.jsonl").read_bytes())

        def inside(row):
            top = max(row["answers"]["team"]["probabilities"].values())
            return 0.4 <= row["values"]["urgent"] <= 0.6 or 0.4 <= top <= 0.6
        self.assertEqual(steady(review), steady([row for row in whole if inside(row)]))
        self.assertEqual(steady(rows_of(end[1])), steady([row for row in whole if not inside(row)]))
        self.assertGreater(len(review), 0)


class Progress(Base):
    def test_plain_lines_when_asked_for(self):
        self.plan(["delay:5500@2"])
        end = self.batch("-", "--progress", "plain", stdin=lines(5), code=0)
        self.assertRegex(end[2].decode(), r"\Adeemster: \d done, 0 failed, 0 retried, \d rows/s, \d+ tokens.*\n"
                                          r"deemster: 5 rows written, 0 failed; 5 requests, 0 retries, \d+ tokens in; cost unknown .*\n\Z")

    def test_nothing_without_a_terminal(self):
        self.plan([])
        self.assertEqual(self.batch("-", stdin=lines(5), code=0)[2], b"")

    def test_a_bar_on_a_terminal(self):
        self.plan(["delay:900@3"])
        self.write({"in.jsonl": lines(50)})
        leader, follower = os.openpty()
        with self.start("in.jsonl", "-o", "out.jsonl", stderr=follower, stdin=subprocess.DEVNULL) as process:
            os.close(follower)
            self.assertEqual(process.wait(30), 0)
        shown = os.read(leader, 65536).decode()
        os.close(leader)
        self.assertRegex(shown, r"\r#*\.* \d+ done, 0 failed")
        self.assertRegex(shown, r"50 rows written")


class Interrupt(Base):
    def wait_for(self, requests):
        deadline = time.monotonic() + 20
        while self.count() < requests and time.monotonic() < deadline:
            time.sleep(0.005)
        self.assertGreaterEqual(self.count(), requests)

    def test_the_first_lets_requests_finish(self):
        self.plan(["delay:300@every"])
        self.write({"in.jsonl": lines(200)})
        with self.start("in.jsonl", "-o", "out.jsonl", "--concurrency", "4", stderr=subprocess.PIPE) as process:
            self.wait_for(9)
            process.send_signal(signal.SIGINT)
            err = process.stderr.read().decode()
            self.assertEqual(process.wait(20), 130)
        written = rows_of((self.folder / "out.jsonl").read_bytes())
        self.assertEqual([row["id"] for row in written], list(range(self.count())), "every answer that came is written")
        self.assertRegex(err, r"finishing \d requests in flight; Ctrl-C again stops at once\n(.*\n)*.*with --resume goes on")
        self.plan([])
        self.batch("in.jsonl", "-o", "out.jsonl", "--resume", code=0)
        self.assertEqual(self.count(), 200 - len(written))
        self.assertEqual([row["id"] for row in rows_of((self.folder / "out.jsonl").read_bytes())], list(range(200)))

    def test_the_second_stops_at_once(self):
        self.plan(["hang@3-6"])
        self.write({"in.jsonl": lines(50)})
        with self.start("in.jsonl", "-o", "out.jsonl", "--concurrency", "4", stderr=subprocess.PIPE) as process:
            self.wait_for(6)
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            process.stderr.read()
            self.assertEqual(process.wait(5), 130)
        kinds = [row["status"] for row in rows_of((self.folder / "out.jsonl").read_bytes())]
        self.assertEqual(kinds[:2], ["ok", "ok"])
        self.assertEqual(set(kinds[2:]), {"error"})

    def test_an_ignored_interrupt_stays_ignored(self):
        self.plan(["delay:500@1"])
        self.write({"in.jsonl": lines(3)})
        with self.start("in.jsonl", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), stdout=subprocess.PIPE) as process:
            self.wait_for(1)
            process.send_signal(signal.SIGINT)
            self.assertEqual(len(rows_of(process.stdout.read())), 3)
            self.assertEqual(process.wait(20), 0)


class Resume(Base):
    def resumed(self, *more, code=0):
        end = self.batch("in.jsonl", "-o", "out.jsonl", "--resume", *more, code=code)
        return rows_of((self.folder / "out.jsonl").read_bytes()), end

    def test_failed_rows_are_asked_again(self):
        self.write({"in.jsonl": lines(40)})
        for more, faults, asked in ((["--no-dedupe"], ["400@3", "400@9"], 2), (["--pack", "state:8"], ["400@3"], 1)):
            self.plan(faults)
            self.batch("in.jsonl", "-o", "out.jsonl", *more, code=9)
            self.plan([])
            found, _ = self.resumed(*more)
            self.assertEqual(self.count(), asked)
            self.assertEqual([(row["id"], row["status"]) for row in found], [(n, "ok") for n in range(40)])
            self.plan([])
            again, _ = self.resumed(*more)
            self.assertEqual(self.count(), 0)
            self.assertEqual(again, found)
            os.remove(self.folder / "out.jsonl.journal")

    def test_a_changed_row_is_asked_again(self):
        self.plan([])
        self.write({"in.jsonl": lines(10)})
        self.batch("in.jsonl", "-o", "out.jsonl", code=0)
        self.write({"in.jsonl": lines(4) + '{"id":4,"text":"changed"}\n' + lines(7, 5)})
        self.plan([])
        found, _ = self.resumed()
        self.assertEqual((self.count(), len(found)), (3, 12))

    def test_what_is_refused(self):
        self.plan([])
        self.write({"in.jsonl": lines(3), "other.json": {"q": {"type": "noul", "instructions": "Other?"}}})
        self.batch("in.jsonl", "-o", "out.jsonl", code=0)
        kept = (self.folder / "out.jsonl").read_bytes()
        for more, says in (([], "add --resume"), (["--resume", "-m", "jev-preview"], "another model"),
                           (["--resume", "-q", "other.json"], "another question set"),
                           (["--resume", "--pack", "state:4"], "with other packs")):
            self.plan([])
            end = self.batch("in.jsonl", "-o", "out.jsonl", *more, code=2)
            self.assertIn(says, end[2].decode())
            self.assertEqual((self.folder / "out.jsonl").read_bytes(), kept, "the output is untouched")
            self.assertEqual(self.count(), 0)

    def test_two_runs_on_one_journal_are_refused(self):
        self.plan(["delay:800@1"])
        self.write({"in.jsonl": lines(3)})
        with self.start("in.jsonl", "-o", "out.jsonl") as first:
            deadline = time.monotonic() + 20
            while self.count() < 1 and time.monotonic() < deadline:
                time.sleep(0.005)
            end = self.batch("in.jsonl", "-o", "out.jsonl", "--resume", code=2)
            self.assertRegex(end[2].decode(), "in use by another run")
            self.assertEqual(first.wait(20), 0)
        self.assertEqual(len(rows_of((self.folder / "out.jsonl").read_bytes())), 3)

    def test_dry_run_knows_the_journal(self):
        self.plan([])
        self.write({"in.jsonl": lines(10)})
        self.batch("in.jsonl", "-o", "out.jsonl", "--limit", "4", code=0)
        kept = (self.folder / "out.jsonl").read_bytes()
        end = self.batch("in.jsonl", "-o", "out.jsonl", "--resume", "--dry-run", code=0)
        self.assertRegex(end[1].decode(), r"rows in the journal: 4\nrequests: 6\n")
        self.assertEqual((self.folder / "out.jsonl").read_bytes(), kept)

    def test_csv_in_and_out(self):
        self.plan(["400@2"])
        self.write({"in.csv": CELLS})
        self.batch("in.csv", "-o", "out.csv", "--concurrency", "1", code=9)
        self.plan([])
        self.batch("in.csv", "-o", "out.csv", "--resume", code=0)
        self.assertEqual(self.count(), 1)
        table = list(csv.DictReader(io.StringIO((self.folder / "out.csv").read_text())))
        self.assertEqual([(row["id"], row["status"]) for row in table], [("00123", "ok"), ("7", "ok")])


if __name__ == "__main__":
    command.main()
