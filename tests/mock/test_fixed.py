"""The fixed-body mode: one body for every POST, over a bare event loop."""
import hashlib
import json
import tempfile
import unittest

from server import Mock, Reply, body, read_all


def read_replies(connection, count):
    """Reads that many replies with a Content-Length off one connection."""
    raw, replies = b"", []
    while len(replies) < count:
        head, blank, rest = raw.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) if blank else 0
        if blank and len(rest) >= length:
            replies.append(Reply(head + blank + rest[:length]))
            raw = rest[length:]
            continue
        more = connection.recv(65536)
        if not more:
            raise AssertionError(f"closed after {len(replies)} replies")
        raw += more
    return replies


class Fixed(unittest.TestCase):
    def test_minos(self):
        with Mock("--fixed", "minos") as mock:
            reply = mock.ask(key=None)
            self.assertEqual((reply.status, reply.headers), (200, {"content-type": "application/json", "content-length": "565"}))
            self.assertEqual(hashlib.sha256(reply.body).hexdigest(), "27448aca3720198b6444053c8968e0fba8293d280d7319cc10393c88c96dd868")
            self.assertEqual(json.loads(reply.body)["answers"]["travels_within24_hours"], {"type": "noul", "noul": 0.86})
            self.assertEqual(mock.stop(), (0, "", ""))

    def test_file_and_routes(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"any \x00 bytes")
            file.flush()
            with Mock("--fixed", file.name, "--prefix", "/p") as mock:
                for method, path, status, content in [
                        ("GET", "/count", 200, b"0"), ("POST", "/p/v1/systemone", 200, b"any \x00 bytes"), ("GET", "/p/count", 200, b"1"),
                        ("POST", "/v1/systemone", 404, b"Not Found"), ("GET", "/p/v1/systemone", 404, b"Not Found"),
                        ("GET", "/count", 200, b"1"), ("POST", "/count/reset", 200, b"0"), ("GET", "/count", 200, b"0")]:
                    with self.subTest(method=method, path=path):
                        reply = mock.call(method, path, b"{}" if method == "POST" else None)
                        self.assertEqual((reply.status, reply.body), (status, content))

    def test_kept_and_split_requests(self):
        """Any cut of the request bytes gives the same replies, and pipelined requests keep their order."""
        with Mock("--fixed", "minos") as mock:
            one = mock.request("POST", "/v1/systemone", body(state="x\r\n\r\nPOST /v1/systemone HTTP/1.1\r\n\r\n"), keep=True)
            two = one + mock.request("GET", "/count", keep=True)
            for cut in range(1, len(two), 23):
                with mock.connect() as connection:
                    connection.sendall(two[:cut])
                    connection.sendall(two[cut:])
                    first, second = read_replies(connection, 2)
                    self.assertEqual(len(first.body), 565)
                    self.assertEqual(second.headers["content-type"], "text/plain")
            with mock.connect() as connection:
                connection.sendall(one * 40)
                self.assertEqual([len(reply.body) for reply in read_replies(connection, 40)], [565] * 40)
            with mock.connect() as connection:
                connection.sendall(mock.request("POST", "/v1/systemone", b"x" * 300000))
                self.assertEqual(len(Reply(read_all(connection)).body), 565)

    def test_slow_reader(self):
        """More replies than the socket takes are kept, not lost."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"y" * 400000)
            file.flush()
            with Mock("--fixed", file.name) as mock, mock.connect() as connection:
                connection.sendall(mock.request("POST", "/v1/systemone", b"{}", keep=True) * 30)
                self.assertEqual({len(reply.body) for reply in read_replies(connection, 30)}, {400000})
                self.assertEqual(mock.call("GET", "/count").body, b"30")

    def test_latency(self):
        with Mock("--fixed", "minos", "--latency", "30") as mock:
            one = mock.request("POST", "/v1/systemone", body(), keep=True)
            connections = [mock.connect() for _ in range(20)]
            for connection in connections:
                connection.sendall(one)
            gone = connections.pop()
            gone.close()  # its reply is dropped
            for connection in connections:
                self.assertEqual(len(read_replies(connection, 1)[0].body), 565)
                connection.close()
            self.assertEqual(len(mock.ask().body), 565)
            self.assertEqual(mock.call("GET", "/count").body, b"21")

    def test_refused(self):
        with Mock("--fixed", "minos") as mock:
            for raw, start in [(b"POST /v1/systemone HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 411 "),
                               (b"A" * 70000, b""), (b"\r\n\r\n", b"HTTP/1.1 404 ")]:
                with self.subTest(raw=raw[:40]), mock.connect(timeout=5) as connection:
                    try:
                        connection.sendall(raw)
                        connection.shutdown(1)
                    except OSError:
                        pass
                    self.assertEqual(read_all(connection)[:len(start)], start)
            self.assertEqual(mock.call("GET", "/count").body, b"0")


if __name__ == "__main__":
    unittest.main()
