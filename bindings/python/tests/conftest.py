"""Fixtures: a mock server, and a small server that answers with scripted bytes."""

import gc
import socket
import threading

import pytest

import deemster
from deemster.pytest_plugin import MockServer

KEY = "test-key-4711"
GOOD = (
    b'{"model":"jev-1.13.0","answers":{"q":{"type":"noul","noul":0.9}},"usage":{"input_tokens":10,"output_tokens":2}}'
)


def reply(status=200, body=GOOD, *headers):
    """The bytes of a whole reply."""
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Scripted:
    """A server that gives each request the next reply of a list, the last one again and again; None never answers."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []
        self.stopped = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.serve, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def serve(self, connection):
        with connection:
            stream = connection.makefile("rb")
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    try:
                        line = stream.readline()
                    except OSError:
                        return
                    if not line:
                        return
                    head += line
                length = next((int(row.split(b":")[1]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length")), 0)
                body = stream.read(length)
                self.requests.append((head, body))
                answer = self.replies[min(len(self.requests), len(self.replies)) - 1]
                if answer is None:
                    self.stopped.wait()
                    return
                connection.sendall(answer)
                if b"Connection: close" in answer:
                    return

    def stop(self):
        self.stopped.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def head(self, index=-1):
        """The headers of a request, names in lower case."""
        rows = self.requests[index][0].decode("latin-1").split("\r\n")
        return {row.partition(":")[0].lower(): row.partition(":")[2].strip() for row in rows[1:] if row}


@pytest.fixture
def scripted():
    servers = []

    def start(*replies):
        servers.append(Scripted(*replies))
        return servers[-1]

    yield start
    gc.collect()
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def mock():
    server = MockServer()
    yield server.url
    server.stop()


@pytest.fixture
def mock_with():
    """Starts a mock server with options of its own."""
    servers = []

    def start(*options):
        servers.append(MockServer(*options))
        return servers[-1].url

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def client(mock):
    with deemster.TypeSafeClient(api_key=KEY, base_url=mock) as client:
        yield client


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """Tests see no settings of the machine."""
    for name in ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL", "TYPESAFE_DEFAULT_MODEL", "TYPESAFE_LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)


def client_of(server, **settings):
    """A client without retries of a scripted server."""
    settings.setdefault("retry", deemster.RetryPolicy(max_retries=0))
    return deemster.TypeSafeClient(api_key=KEY, base_url=server.url, **settings)
