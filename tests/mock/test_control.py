"""How the mock is started, driven and counted."""
import base64
import json
import os
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from server import PROGRAM, Mock, Reply, body, read_all


class Control(unittest.TestCase):
    def test_start_line(self):
        for options, start in [([], "http://127.0.0.1:"), (["--listen", "127.0.0.2"], "http://127.0.0.2:"),
                               (["--prefix", "/a/b"], "http://127.0.0.1:"), (["--port", "0"], "http://127.0.0.1:")]:
            with self.subTest(options=options), Mock(*options) as mock:
                self.assertTrue(mock.url.startswith(start), mock.url)
                self.assertEqual(mock.call("GET", "/count").body, b"0")
                self.assertEqual(mock.stop(), (0, "", ""))

    def test_chosen_port(self):
        with Mock() as first:
            port = first.port
            run = subprocess.run([PROGRAM, "--port", port], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertIn(f"cannot listen on 127.0.0.1 port {port}", run.stderr)
        with Mock("--port", port) as second:
            self.assertEqual(second.url, f"http://127.0.0.1:{port}")

    def test_wrong_arguments(self):
        for arguments, status, word in [
                (["--port", "65536"], 2, "--port"), (["--port", "x"], 2, "--port"), (["--rate", "5"], 2, "--rate"),
                (["--rate", "0/5"], 2, "--rate"), (["--prefix", "x"], 2, "--prefix"), (["--tls", "a"], 2, "--tls"),
                (["--fixed", "minos", "--rate", "1/1"], 2, "--fixed"), (["stray"], 2, "Too many arguments"), (["--nonsense"], 2, "--nonsense"),
                (["--fixed", "/nonexistent"], 1, "cannot read /nonexistent"), (["--listen", "localhost"], 1, "numeric"),
                (["--tls", "/nonexistent", "/nonexistent"], 1, "cannot read /nonexistent")]:
            with self.subTest(arguments=arguments):
                run = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual((run.returncode, run.stdout), (status, ""))
                self.assertIn(word, run.stderr)

    def test_exit_with_stdin(self):
        for options in (["--exit-with-stdin"], ["--exit-with-stdin", "--fixed", "minos"]):
            with self.subTest(options=options), Mock(*options) as mock:
                mock.process.stdin.write("still open\n")
                mock.process.stdin.flush()
                self.assertEqual(mock.call("GET", "/count").body, b"0")
                mock.process.stdin.close()
                mock.process.stdin = None
                self.assertEqual(mock.wait(), (0, "", ""))
        with Mock("--exit-with-stdin", "--fault", "529@1") as mock:
            mock.process.stdin.close()
            mock.process.stdin = None
            self.assertEqual(mock.wait()[0], 3)

    def test_verbose(self):
        with Mock("--verbose") as mock:
            mock.ask()
            self.assertEqual(mock.stop(), (0, "", "deemster-mock: POST /v1/systemone 200\n"))

    def test_count(self):
        with Mock("--fault", "529@2", "--fault", "close@3") as mock:
            for expected in (0, 0):
                self.assertEqual(mock.call("GET", "/count").body, b"%d" % expected)
            mock.ask()
            mock.ask()
            mock.ask()
            mock.ask(key="wrong-key")
            mock.ask(b"{")
            mock.call("GET", "/v1/models")
            self.assertEqual(mock.call("GET", "/count").body, b"5")
            stats = mock.stats()
            self.assertEqual(stats["requests"], 5)
            self.assertEqual(stats["by_status"], {"none": 1, "200": 1, "401": 1, "422": 1, "529": 1})
            self.assertEqual((stats["faults_fired"], stats["connections_opened"], stats["connections_open"]), (2, 10, 1))
            self.assertEqual(mock.call("POST", "/count/reset").body, b"0")
            self.assertEqual(mock.stats()["requests"], 0)

    def test_connections(self):
        with Mock() as mock, mock.connect() as connection:
            for _ in range(5):
                self.assertEqual(mock.exchange(connection).status, 200)
            stats = mock.stats()
            self.assertEqual((stats["requests"], stats["connections_opened"], stats["connections_open"]), (5, 2, 2))

    def test_last(self):
        with Mock() as mock:
            content = body(state="caf\u00e9")
            mock.ask(content, key="sk-secret", headers=[("X-Api-Key", "sk-other"), ("X-Plain", "shown")])
            reply = mock.call("GET", "/control/last")
            last = reply.json()
            headers = dict(last["headers"])
            self.assertEqual((headers["Authorization"], headers["X-Api-Key"], headers["X-Plain"]), ("Bearer ***", "***", "shown"))
            self.assertNotIn(b"sk-", reply.body)
            self.assertEqual(last["path"], "/v1/systemone")
            self.assertEqual(json.loads(last["body"]), content)
            self.assertEqual(json.loads(base64.b64decode(last["body_base64"])), content)
            for raw, text in [(b"\xff\x00", None), (b"", "")]:
                mock.ask(raw)
                last = mock.call("GET", "/control/last").json()
                self.assertEqual((base64.b64decode(last["body_base64"]), last["body"]), (raw, text))

    def test_replacing_the_plan(self):
        with Mock("--fault", "529@1", "--fault", "503@9") as mock:
            self.assertEqual(mock.ask().status, 529)
            self.assertEqual(mock.call("POST", "/control/faults", ["429@1"]).json(), {"faults": 1, "unfired": ["503@9"]})
            self.assertEqual([mock.ask().status, mock.ask().status], [429, 200])
            self.assertEqual(mock.call("POST", "/control/faults", ["500@1", "bad"]).status, 400)
            self.assertEqual(mock.ask().status, 200)
            for content in (b"{}", b"[1]", b"x", b""):
                self.assertEqual(mock.call("POST", "/control/faults", content).status, 400)
            self.assertEqual(mock.call("POST", "/control/faults", []).json(), {"faults": 0, "unfired": []})
            self.assertEqual(mock.stop()[0], 0)

    def test_rate(self):
        with Mock("--rate", "3/60000") as mock:
            replies = [mock.ask() for _ in range(5)]
            self.assertEqual([reply.status for reply in replies], [200, 200, 200, 429, 429])
            self.assertIn(int(replies[3].headers["retry-after"]), (59, 60))
            self.assertTrue(59 * 990 < int(replies[3].headers["retry-after-ms"]) <= 60000)
            stats = mock.stats()
            self.assertEqual((stats["max_in_window"], stats["max_accepted_in_window"], stats["window_ms"]), (5, 3, 60000))
        with Mock("--rate", "2/100") as mock:
            accepted = 0
            while accepted < 6:
                reply = mock.ask()
                accepted += reply.status == 200
                if reply.status == 429:
                    self.assertEqual(reply.headers["retry-after"], "1")
                    time.sleep(int(reply.headers["retry-after-ms"]) / 1000)
            self.assertEqual(mock.stats()["max_accepted_in_window"], 2)

    def test_many_at_once(self):
        """Delayed replies overlap on one thread, and none is crossed."""
        with Mock("--latency", "20", "--fault", "hang@1") as mock, mock.connect() as hung, ThreadPoolExecutor(32) as pool:
            hung.sendall(mock.request("POST", "/v1/systemone", body()))
            expected = [mock.ask(body(state=str(i))).body for i in range(8)]
            answers = list(pool.map(lambda i: mock.ask(body(state=str(i % 8))).body, range(320)))
            self.assertEqual(answers, expected * 40)
            self.assertEqual(mock.stats()["by_status"], {"none": 1, "200": 328})
            self.assertGreater(mock.stats()["max_in_window"], 8)

    def test_large_bodies(self):
        with Mock("--token-limit", "0") as mock:
            self.assertEqual(mock.ask(body(state="x" * (8 << 20))).status, 200)
            with mock.connect() as connection:
                request = mock.request("POST", "/v1/systemone", body(state="y" * 200000), headers=[("Expect", "100-continue")])
                head, _, content = request.partition(b"\r\n\r\n")
                connection.sendall(head + b"\r\n\r\n")
                self.assertEqual(connection.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
                connection.sendall(content)
                self.assertEqual(Reply(read_all(connection)).status, 200)
            chunked = mock.request("POST", "/v1/systemone", headers=[("Transfer-Encoding", "chunked"),
                                                                     ("Content-Type", "application/json")])
            content = json.dumps(body()).encode()
            with mock.connect() as connection:
                connection.sendall(chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content))
                self.assertEqual(Reply(read_all(connection)).body, mock.ask().body)

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                            "-subj", "/CN=localhost", "-days", "2"], check=True, capture_output=True)
            with Mock() as mock:
                plain = mock.ask()
            with Mock("--tls", certificate, key, "--fault", "cut:9@2", "--fault", "close@3", "--fault", "drip:1@4") as mock:
                self.assertTrue(mock.url.startswith("https://127.0.0.1:"))
                self.assertEqual(mock.ask().body, plain.body)
                self.assertEqual(self.tolerant(mock).body, plain.body[:9])
                self.assertEqual(self.tolerant(mock).raw, b"")
                self.assertEqual(self.tolerant(mock).body, plain.body)
                with mock.connect() as connection:
                    self.assertEqual([mock.exchange(connection).body for _ in range(3)], [plain.body] * 3)

    @staticmethod
    def tolerant(mock):
        """A reply whose TLS may end without close_notify."""
        with mock.connect() as connection:
            connection.suppress_ragged_eofs = True
            connection.sendall(mock.request("POST", "/v1/systemone", body()))
            return Reply(read_all(connection))

    def test_broken_requests_do_no_harm(self):
        with Mock() as mock:
            for raw, status in [
                    (b"\r\n\r\n", None), (b"\x16\x03\x01\x02\x00", None), (b"GET /count HT", None),
                    (b"POST /v1/systemone HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc", None),
                    (b"POST /v1/systemone HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400), (b"A" * 100000, 414),
                    (b"POST /v1/systemone HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400)]:
                with self.subTest(raw=raw[:70]), mock.connect() as connection:
                    connection.sendall(raw)
                    if status:  # else the request is not whole, and the client goes away
                        self.assertEqual(Reply(read_all(connection)).status, status)
            self.assertEqual(mock.ask().status, 200)
            self.assertEqual(mock.call("GET", "/count").body, b"1")


if __name__ == "__main__":
    unittest.main()
