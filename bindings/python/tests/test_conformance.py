"""The shared cases of replies: the verdict is the one that C gives, for blocking and asynchronous calls."""

import asyncio
import base64
import email.utils
import json
import time
from pathlib import Path

import pytest
from conftest import Scripted

import deemster
from deemster import RetryPolicy
from deemster._library import lib, reason_name

CASES = json.loads((Path(__file__).parents[3] / "tests/conformance/replies.json").read_text(encoding="utf-8"))
RUNS = [(case, kind) for case in CASES for kind in ("expect", "lenient") if kind in case]
STATE = "Is it so, or is it not?"


class Closing(Scripted):
    """Sends what a case says to each attempt, byte for byte, and closes."""

    def serve(self, connection):
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536) or b"\r\n\r\n"
            start, _, body = head.partition(b"\r\n\r\n")
            length = next((int(row.split(b":")[1]) for row in start.split(b"\r\n") if row.lower().startswith(b"content-length")), 0)
            while len(body) < length:
                body += connection.recv(65536)
            self.requests.append((start, body))
            connection.sendall(self.replies[min(len(self.requests), len(self.replies)) - 1])
            connection.shutdown(1)
            while connection.recv(256):
                pass


def scripted_bytes(attempt):
    if "b64" in attempt:
        return base64.b64decode(attempt["b64"])
    date = email.utils.formatdate(time.time() + attempt["retry_after_date_in_s"], usegmt=True)
    return f"HTTP/1.1 429 Too Many Requests\r\nRetry-After: {date}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode()


def outcome(case, kind, url, asynchronous):
    """The code and the response of one call."""
    settings = {"api_key": "conformance-key-0123456789", "base_url": url, "strict": kind == "expect",
                "retry": RetryPolicy(backoff_initial=0.001, backoff_max=0.002, backoff_jitter=0)}  # fmt: skip

    async def call():
        async with deemster.AsyncTypeSafeClient(**settings) as client:
            return await client.system_one(STATE, case["questions"])

    try:
        if asynchronous:
            return "DEEM_OK", "", asyncio.run(call())
        with deemster.TypeSafeClient(**settings) as client:
            return "DEEM_OK", "", client.system_one(STATE, case["questions"])
    except deemster.TypeSafeError as error:
        return error.code, str(error), error.response


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async"])
@pytest.mark.parametrize(("case", "kind"), RUNS, ids=lambda value: value["name"] if isinstance(value, dict) else value)
def test_verdict(case, kind, asynchronous):
    expected = case[kind]
    server = Closing(*map(scripted_bytes, case["attempts"]))
    try:
        code, message, response = outcome(case, kind, server.url, asynchronous)
    finally:
        server.stop()
    got = {
        "code": code,
        "reason": lib.deem_response_reason(response._held.handle),
        "path": response._held.path(),
        "attempts": response.attempts,
        "http_status": response.status or 0,
        "usage": [-1 if count is None else count for count in (response.usage.input_tokens, response.usage.output_tokens)],
        "extra": list(response.extra_answers),
        "request_id": response.request_id,
        "model": response.model,
        "cost": response.cost,
        "retry_after_ms": deemster._errors.retry_after_ms(response.headers),
    }
    words = {"reason": lambda number: "DEEM_ANSWER_OK" if not number else "DEEM_REASON_" + reason_name(number).upper()}
    for field, value in expected.items():
        if field == "message":
            assert value in (message or response._held.message()) or value in response._held.message()
        elif field == "answers":
            for name, wanted in value.items():
                compare(response, name, wanted)
        else:
            assert words.get(field, lambda same: same)(got[field]) == value, field


def compare(response, name, wanted):
    answer, problem = response.answers.get(name), response.problems.get(name)
    if "status" in wanted:
        assert ("DEEM_REASON_" + problem.reason.upper() if problem else "DEEM_ANSWER_OK") == wanted["status"]
    readable = {
        "noul": lambda: {"value": answer.noul, "confidence": getattr(answer, "confidence", None)},
        "choice": lambda: {
            "label": answer.choice, "confidence": answer.confidence, "probabilities": list(answer.probabilities.values()),
            "value": answer.probabilities.get(answer.choice),
            "top": list(answer.probabilities).index(answer.top) if answer.probabilities else -1,
        },
        "score": lambda: {
            "value": answer.score, "level": answer.level, "confidence": answer.confidence,
            "probabilities": list(answer.probabilities.values()), "top": answer.level if answer.probabilities else -1,
        },
    }  # fmt: skip
    rest = {field: value for field, value in wanted.items() if field != "status"}
    if answer is None:
        assert set(rest.values()) <= {None}
    else:
        got = readable[answer.type]()
        assert {field: got[field] for field in rest} == rest
