"""The conformance cases through the command: the same findings and the same verdicts as in C."""
import base64
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import command
from command import ROOT, Folder, deemster, rows

KEY = "conformance-key-0123456789"
STATE = "Is it so, or is it not?"


def cases(name):
    return json.loads((ROOT / "tests" / "conformance" / name).read_text())


# The cases that are documents; the others are scripts of builder calls, which a command line has not.
DOCUMENTS = [case for case in cases("question_sets.json") if "script" not in case]
VERDICTS = [(case, verdict) for case in cases("replies.json") for verdict in ("expect", "lenient") if verdict in case]


def check_document(test, case):
    content = case.get("document")
    content = base64.b64decode(case["document_base64"]) if content is None else content.encode()
    test.write({"q.json": content})
    code, out, err = deemster("check", "--json", *(["--open"] if case.get("open") else []), "q.json", cwd=test.folder)
    [found] = json.loads(out)["files"]
    errors = any(severity == "error" for _, severity, _ in case["findings"])
    test.assertEqual([[f["rule"], f["severity"], f["path"]] for f in found["findings"]], case["findings"])
    test.assertEqual((code, err, found.get("identity")), (2 if errors else 0, b"", case.get("identity")))
    test.assertEqual(found.get("model"), None if errors else case.get("model"))


@lambda cls: rows(cls, [dict(name=case["name"], case=case) for case in DOCUMENTS], check_document)
class QuestionSets(Folder):
    def test_there_are_cases(self):
        self.assertGreater(len(DOCUMENTS), 50)


class Server(threading.Thread):
    """Sends the bytes of each attempt, the last for all that follow, and closes."""

    def __init__(self, attempts):
        super().__init__(daemon=True)
        self.attempts = attempts
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.start()

    def run(self):
        for number in range(100):
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            with connection:
                self.read_request(connection)
                try:
                    connection.sendall(self.bytes_of(self.attempts[min(number, len(self.attempts) - 1)]))
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(4096):
                        pass
                except OSError:
                    pass

    @staticmethod
    def bytes_of(attempt):
        if "b64" in attempt:
            return base64.b64decode(attempt["b64"])
        date = formatdate(time.time() + attempt["retry_after_date_in_s"], usegmt=True)
        return (f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: {date}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}").encode()

    @staticmethod
    def read_request(connection):
        got = b""
        while True:
            head, blank, body = got.partition(b"\r\n\r\n")
            if blank:
                [length] = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                if len(body) >= length:
                    return
            more = connection.recv(65536)
            if not more:
                return
            got += more

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def evaluate(case, verdict):
    server = Server(case["attempts"])
    try:
        return deemster("evaluate", "--json", "--questions", "-", STATE, *(["--lenient"] if verdict == "lenient" else []),
                        "--base-url", server.url, stdin=json.dumps(case["questions"]).encode(), TYPESAFE_API_KEY=KEY)
    finally:
        server.close()


def check_answer(test, key, question, wanted, document):
    """`top` alone is not shown by the command: the answer's own probabilities show it."""
    status = wanted.get("status", "DEEM_ANSWER_OK")
    test.assertEqual(document["problems"].get(key, {}).get("reason", "DEEM_ANSWER_OK"), status, "status")
    answer = document["answers"].get(key, {})
    if "label" in wanted:
        test.assertEqual(document["values"][key], wanted["label"])
    if "value" in wanted:
        choice = question["type"] == "choice"
        test.assertEqual(answer["probabilities"][answer["choice"]] if choice else document["values"][key], wanted["value"])
    if "confidence" in wanted:
        test.assertEqual(document["confidences"].get(key), wanted["confidence"])
    if "level" in wanted:
        test.assertEqual(document["levels"][key], wanted["level"])
    if "probabilities" in wanted:
        labels = question["criteria"] if question["type"] == "choice" else map(str, range(len(question["criteria"])))
        test.assertEqual([answer["probabilities"][label] for label in labels], wanted["probabilities"])


def check_verdict(test, case, verdict):
    end = test.ends[VERDICTS.index((case, verdict))].result()
    document, wanted = json.loads(end[1]), case[verdict]
    known = {"code", "reason", "path", "attempts", "http_status", "answers", "usage", "model", "message", "extra", "retry_after_ms",
             "cost", "request_id"}
    test.assertEqual(set(wanted) - known, set(), "the case tells what this runner does not check")
    shown = {**document, "reason": document["reason"] or "DEEM_ANSWER_OK", "http_status": document["http_status"] or 0}
    same = set(wanted) & {"code", "reason", "path", "attempts", "http_status", "model", "retry_after_ms", "cost", "request_id"}
    test.assertEqual({name: shown[name] for name in same}, {name: wanted[name] for name in same})
    test.assertIn(wanted.get("message", ""), document["message"])
    if "usage" in wanted:
        test.assertEqual(list(document["usage"].values()), [None if count < 0 else count for count in wanted["usage"]])
    if "extra" in wanted:
        test.assertEqual(list(document["extra_answers"]), wanted["extra"])
    for key, answer in wanted.get("answers", {}).items():
        check_answer(test, key, case["questions"][key], answer, document)
    test.assertEqual(end[0] == 0, document["code"] == "DEEM_OK" and document["problems"] == {})
    test.assertNotIn(KEY.encode(), end[1] + end[2])


@lambda cls: rows(cls, [dict(name=f"{case['name']} {verdict}", case=case, verdict=verdict) for case, verdict in VERDICTS],
                  check_verdict)
class Replies(Folder):
    """Most of the time goes into waits before retries: the calls are made side by side beforehand."""

    @classmethod
    def setUpClass(cls):
        cls.pool = ThreadPoolExecutor(24)
        cls.ends = [cls.pool.submit(evaluate, *one) for one in VERDICTS]

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()

    def test_there_are_cases(self):
        self.assertGreater(len(VERDICTS), 100)


if __name__ == "__main__":
    command.main()
