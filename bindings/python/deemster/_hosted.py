"""A caller's own transport under the library's retries, waits, deadline and checks: the hosted exchange."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

from ._call import OK, Call, new_options
from ._config import Config, settings_error
from ._errors import TypeSafeClosedError, TypeSafeConfigurationError
from ._library import NULL, ffi, lib, new, unpack
from ._reply import Cell, Reply

SEND, DONE = lib.DEEM_EXCHANGE_SEND, lib.DEEM_EXCHANGE_DONE
_UNSENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol", "LocalProtocolError"}


class Attempt:
    """One request that the transport is to carry."""

    __slots__ = ("body", "headers", "method", "seconds", "url")

    def __init__(self, exchange: Any, milliseconds: int) -> None:
        texts, lengths = new("const char *[3]"), new("size_t[3]")
        lib.deem_exchange_attempt(exchange, texts, lengths, texts + 1, lengths + 1, texts + 2, lengths + 2)
        self.method = unpack(texts[0], lengths[0]).decode()
        self.url = unpack(texts[1], lengths[1]).decode()
        self.body: bytes | None = None if texts[2] == NULL else unpack(texts[2], lengths[2])
        self.seconds = None if milliseconds < 0 else milliseconds / 1000
        self.headers: list[tuple[str, str]] = []
        while lib.deem_exchange_attempt_header(exchange, len(self.headers), texts, lengths, texts + 1, lengths + 1) == OK:
            self.headers.append((unpack(texts[0], lengths[0]).decode("latin-1"), unpack(texts[1], lengths[1]).decode("latin-1")))


class Exchange:
    """One call, step by step: what is to be done next, and what came of it."""

    def __init__(self, client: Any, config: Config) -> None:
        out = new("deem_exchange **")
        code = lib.deem_exchange_new(client, out)
        if code != OK:
            raise settings_error(code, "The library has no hosted exchange.")
        self.handle = ffi.gc(out[0], lib.deem_exchange_free)
        self.config = config
        self.cause: BaseException | None = None

    def start(self, function: Any, arguments: tuple[Any, ...], call: Call | None) -> None:
        """Starts the call."""
        options = NULL
        if call is not None:
            options = new_options()
            call.fill(options, self.config)
        code = function(self.handle, *arguments, options)
        if code != OK:
            raise settings_error(code, "")

    def next(self) -> tuple[int, int]:
        """The action that is due and its milliseconds."""
        action, wait = new("int32_t *"), new("int64_t *")
        code = lib.deem_exchange_next(self.handle, action, wait)
        if code != OK:
            raise settings_error(code, "")
        return action[0], wait[0]

    def replied(self, response: Any, body: bytes) -> None:
        """Hands in an httpx response."""
        self.cause = None
        for name, value in response.headers.multi_items():
            raw_name, raw_value = name.encode("latin-1"), value.encode("latin-1")
            if name.lower() not in ("content-encoding", "content-length", "transfer-encoding"):
                lib.deem_exchange_reply_header(self.handle, raw_name, len(raw_name), raw_value, len(raw_value))
        lib.deem_exchange_reply(self.handle, response.status_code, body, len(body))

    def failed(self, error: BaseException) -> bool:
        """Hands in a failure of the transport; False when the error is none of httpx's, and must go to the caller."""
        names = {base.__name__ for base in type(error).__mro__ if base.__module__.partition(".")[0] in ("httpx2", "httpx")}
        if "RequestError" not in names:
            lib.deem_exchange_cancel(self.handle)
            return False
        code = lib.DEEM_E_TIMEOUT if "TimeoutException" in names else lib.DEEM_E_CONNECTION
        self.cause = redacted_copy(error, self.config.api_key)
        message = str(self.cause).encode("utf-8", "replace")
        lib.deem_exchange_fail(self.handle, code, 0 if names & _UNSENT else 1, message, len(message))
        return True

    def take(self, questions: Any) -> tuple[Reply, int]:
        """The response of the call that is over."""
        cell = Cell()
        code = lib.deem_exchange_take(self.handle, cell.pointer)
        if code != OK:
            raise settings_error(code, "")
        reply = Reply(cell, None, questions)
        reply.cause = self.cause
        return reply, reply.code


def redacted_copy(error: BaseException, key: str) -> BaseException:
    """The error without its request and with the key masked."""
    message = str(error).replace(key, "***")
    try:
        return type(error)(message)
    except Exception:  # noqa: BLE001 - its constructor may want more than a message
        return ConnectionError(f"{type(error).__name__}: {message}")


def _client_of(transport: Any, name: str) -> Any:
    """An httpx client around a bare transport, of the package that the transport belongs to."""
    packages = [base.__module__.partition(".")[0] for base in type(transport).__mro__]
    for package in [*(found for found in packages if found in ("httpx2", "httpx")), "httpx2", "httpx"]:
        try:
            module = sys.modules.get(package) or importlib.import_module(package)
        except ImportError:
            continue
        return getattr(module, name)(transport=transport)
    raise TypeSafeConfigurationError("transport needs httpx2 to be installed.")


class _Base:
    def __init__(self, config: Config, client: Any, http_client: Any) -> None:
        self.config = config
        self.client = client
        self.http_client = http_client
        self.closed = False

    def begin(self, function: Any, arguments: tuple[Any, ...], call: Call | None) -> Exchange:
        if self.closed:
            raise TypeSafeClosedError("The client is closed.")
        exchange = Exchange(self.client, self.config)
        exchange.start(function, arguments, call)
        return exchange

    def limit(self, attempt: Attempt, call: Call | None) -> Any:
        """The transport's own timeout: the caller's Timeout object as it is, else what is left for the attempt."""
        given = call.timeout if call is not None and call.timeout is not None else self.config.timeout_given
        return given if hasattr(given, "connect") else attempt.seconds


def _evaluation(question_set: Any, payload: bytes, is_text: bool) -> tuple[Any, tuple[Any, ...]]:
    start = lib.deem_exchange_start_text if is_text else lib.deem_exchange_start_json
    return start, (question_set._handle, payload, len(payload))


def _raw(method: bytes, path: bytes) -> tuple[Any, tuple[Any, ...]]:
    return lib.deem_exchange_start_request, (method, len(method), path, len(path), NULL, 0)


class Hosted(_Base):
    """The exchange over a blocking httpx client."""

    def __init__(self, config: Config, client: Any, transport: Any, http_client: Any) -> None:
        super().__init__(config, client, http_client if http_client is not None else _client_of(transport, "Client"))

    def evaluate(self, question_set: Any, payload: bytes, is_text: bool, call: Call | None) -> tuple[Reply, int]:
        """One evaluation."""
        return self.run(self.begin(*_evaluation(question_set, payload, is_text), call), question_set, call)

    def request(self, method: bytes, path: bytes, call: Call | None) -> tuple[Reply, int]:
        """One call without a body."""
        return self.run(self.begin(*_raw(method, path), call), None, call)

    def run(self, exchange: Exchange, question_set: Any, call: Call | None) -> tuple[Reply, int]:
        """Does what is due until the call is over."""
        while True:
            action, wait = exchange.next()
            if action == DONE:
                return exchange.take(question_set)
            if action != SEND:
                time.sleep(wait / 1000)
                continue
            attempt = Attempt(exchange.handle, wait)
            try:
                response = self.http_client.request(
                    attempt.method, attempt.url, content=attempt.body, headers=attempt.headers,
                    timeout=self.limit(attempt, call), auth=None,
                )  # fmt: skip
                body = bytes(response.content)
            except BaseException as error:
                if not exchange.failed(error):
                    raise
            else:
                exchange.replied(response, body)

    def close(self) -> None:
        """Closes the httpx client too."""
        self.closed = True
        self.http_client.close()


class AsyncHosted(_Base):
    """The exchange over an asynchronous httpx client."""

    def __init__(self, config: Config, client: Any, transport: Any, http_client: Any) -> None:
        super().__init__(config, client, http_client if http_client is not None else _client_of(transport, "AsyncClient"))

    async def evaluate(self, question_set: Any, payload: bytes, is_text: bool, call: Call | None) -> tuple[Reply, int]:
        """One evaluation."""
        return await self.run(self.begin(*_evaluation(question_set, payload, is_text), call), question_set, call)

    async def request(self, method: bytes, path: bytes, call: Call | None) -> tuple[Reply, int]:
        """One call without a body."""
        return await self.run(self.begin(*_raw(method, path), call), None, call)

    async def run(self, exchange: Exchange, question_set: Any, call: Call | None) -> tuple[Reply, int]:
        """Does what is due until the call is over."""
        import asyncio

        while True:
            action, wait = exchange.next()
            if action == DONE:
                return exchange.take(question_set)
            if action != SEND:
                await asyncio.sleep(wait / 1000)
                continue
            attempt = Attempt(exchange.handle, wait)
            try:
                response = await self.http_client.request(
                    attempt.method, attempt.url, content=attempt.body, headers=attempt.headers,
                    timeout=self.limit(attempt, call), auth=None,
                )  # fmt: skip
                body = bytes(response.content)
            except BaseException as error:
                if not exchange.failed(error):
                    raise
            else:
                exchange.replied(response, body)

    async def aclose(self) -> None:
        """Closes the httpx client too."""
        self.closed = True
        await self.http_client.aclose()
