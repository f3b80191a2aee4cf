"""Starts deemster-mock and talks to it over plain sockets, so that a test sees the very bytes."""
import json
import os
import socket
import ssl
import subprocess

PROGRAM = os.environ["DEEMSTER_MOCK"]

QUESTIONS = {
    "n": {"type": "noul", "instructions": "Is it urgent?"},
    "c": {"type": "choice", "criteria": {"billing": "Money", "tech": {"what": "Faults"}, "other": None}},
    "s": {"type": "score", "criteria": ["none", {"what": "some", "n": [1, 2]}, ["all"]]},
}


def body(questions=None, state="My invoice is wrong", **more):
    """A request body; a field given as ... is left out."""
    fields = {"model": "jev-latest", "state": state, "questions": QUESTIONS if questions is None else questions}
    fields.update(more)
    return {name: value for name, value in fields.items() if value is not ...}


class Reply:
    """One reply, split into its parts."""

    def __init__(self, raw):
        self.raw = raw
        self.head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = self.head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1]) if raw else 0
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()

    def json(self):
        return json.loads(self.body)


def whole(raw):
    """True once raw holds a reply with all the bytes of its Content-Length."""
    head, blank, rest = raw.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return bool(blank) and len(rest) >= int(line.partition(b":")[2])
    return False


class Mock:
    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self.process = subprocess.Popen([PROGRAM, *self.options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().rstrip("\n")
        self.host, self.port = self.url.split("//")[1].split("/")[0].rsplit(":", 1)
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.stop()

    def stop(self):
        """Ends the mock; returns (exit status, rest of stdout, stderr)."""
        self.process.terminate()
        return self.wait()

    def wait(self):
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err

    def connect(self, timeout=20):
        plain = socket.create_connection((self.host.strip("[]"), int(self.port)), timeout=timeout)
        if not self.url.startswith("https"):
            return plain
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(plain)

    def request(self, method, path, content=None, key="any", headers=(), keep=False):
        """The bytes of a request. key None sends no Authorization."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        if key is not None:
            lines.append(f"Authorization: {key if ' ' in key else 'Bearer ' + key}")
        if content is not None:
            content = content if isinstance(content, bytes) else json.dumps(content).encode()
            lines.append(f"Content-Length: {len(content)}")
            if not any(name.lower() == "content-type" for name, _ in headers):
                lines.append("Content-Type: application/json")
        lines += [f"{name}: {value}" for name, value in headers]
        if not keep:
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + (content or b"")

    def call(self, method, path, content=None, **more):
        """One request on a connection of its own; everything up to its end."""
        with self.connect() as connection:
            connection.sendall(self.request(method, path, content, **more))
            return Reply(read_all(connection))

    def ask(self, content=None, **more):
        return self.call("POST", "/v1/systemone", body() if content is None else content, **more)

    def exchange(self, connection, content=None):
        """One POST on a kept connection whose reply has a length."""
        connection.sendall(self.request("POST", "/v1/systemone", body() if content is None else content, keep=True))
        raw = b""
        while not whole(raw):
            more = connection.recv(65536)
            if not more:
                break
            raw += more
        return Reply(raw)

    def stats(self):
        return self.call("GET", "/control/stats").json()


def read_all(connection):
    """What comes until the peer closes or resets."""
    raw = b""
    try:
        while True:
            more = connection.recv(65536)
            if not more:
                return raw
            raw += more
    except ConnectionResetError:
        return raw
