"""The asyncio client: the library's descriptor in the running loop, one C client per loop from one set of settings."""

from __future__ import annotations

import asyncio
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _log
from ._call import OK, Call, encoded_state, new_options, overridden, response_class, response_of, whole_body, with_assets
from ._client import next_wait, no_compression
from ._config import Config, settings_error
from ._errors import TypeSafeClosedError, TypeSafeError
from ._library import NULL, lib, new, process, text
from ._reply import Cell, Reply
from ._response import ListModelsResponse, SystemOneResponse
from ._sets import QuestionSet, compiled

if TYPE_CHECKING:
    import os

    from typing_extensions import Self

    from contextlib import AbstractContextManager

    from ._assets import Image
    from ._retry import RetryPolicy
    from ._types import Content, JSONValue, Question

M = TypeVar("M")


class LoopClient:
    """The C client of one event loop. Used by the loop's own thread alone, but for close_from_outside()."""

    def __init__(self, config: Config, loop: asyncio.AbstractEventLoop) -> None:
        self.config = config
        self.handle = config.make_client()
        self.generation = process.generation
        self.loop = weakref.ref(loop)
        self.waiting: dict[int, tuple[asyncio.Future[tuple[Reply, int]], Any]] = {}
        self.spare: list[Cell] = []
        self.options: Any = None
        self.identity = new("uint64_t *")
        self.closed = False
        self.stepping = False
        out = new("int32_t *")
        code = lib.deem_client_fd(self.handle, out)
        if code != OK:
            raise settings_error(code, "The library cannot serve an event loop.")
        self.descriptor: int = out[0]
        loop.add_reader(self.descriptor, self.ready)

    def submit(self, function: Any, arguments: tuple[Any, ...], questions: Any, call: Call | None) -> tuple[int, asyncio.Future[Any]]:
        """Starts a call; its future gets the reply and the code."""
        if self.closed:
            raise TypeSafeClosedError("The client is closed.")
        options = NULL
        if call is not None:
            if self.options is None:
                self.options = new_options()
            else:
                lib.deem_options_reset(self.options)
            options = self.options
            call.fill(options, self.config)
        code = function(self.handle, *arguments, options, self.identity)
        if code != OK:
            raise settings_error(code, (text(lib.deem_options_error, options) if options is not NULL else None) or "")
        loop = self.loop() or asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        identity: int = self.identity[0]
        self.waiting[identity] = (future, questions)
        if not self.stepping:
            self.stepping = True
            loop.call_soon(self.ready)
        return identity, future

    def ready(self) -> None:
        """Does the work that is due and hands out what is finished."""
        self.stepping = False
        lib.deem_client_step(self.handle)
        spare, waiting, identity = self.spare, self.waiting, self.identity
        while True:
            cell = spare.pop() if spare else Cell()
            code = lib.deem_client_next(self.handle, identity, cell.pointer)
            number = identity[0] if code == OK else 0
            if not number:
                spare.append(cell)
                break
            future, questions = waiting.pop(number, (None, None))
            reply = Reply(cell, spare, questions)
            if future is not None and not future.done():
                future.set_result((reply, reply.code))
        if self.closed and not waiting:
            self.retire()

    def retire(self) -> None:
        """Takes the descriptor out of the loop."""
        loop = self.loop()
        if loop is not None and self.descriptor >= 0 and not loop.is_closed():
            loop.remove_reader(self.descriptor)
        self.descriptor = -1

    def close_inside(self) -> None:
        """Closes from the loop's own thread: every call under way ends now."""
        self.closed = True
        lib.deem_client_close(self.handle)
        self.ready()
        for future, _ in self.waiting.values():
            if not future.done():
                future.set_exception(TypeSafeClosedError("The client was closed while the call was under way."))
        self.waiting.clear()
        self.retire()

    def close_from_outside(self) -> None:
        """Closes from any thread, also when the loop is gone; a loop that still runs ends the calls itself."""
        loop = self.loop()
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self.close_inside)
            except RuntimeError:  # it was closed this very moment
                pass
        self.closed = True
        lib.deem_client_close(self.handle)


class AsyncModels:
    """The models that the account may use, as `client.models`."""

    __slots__ = ("_client",)

    def __init__(self, client: AsyncTypeSafeClient) -> None:
        self._client = client

    async def list(
        self,
        *,
        retry: RetryPolicy | None = None,
        timeout: Any = None,
        deadline: float | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> ListModelsResponse:
        """The models; arguments and errors as for Models.list().

        Example:
            >>> models = (await client.models.list()).models
        """
        return await self._client._list_models(Call(None, retry, timeout, deadline, None, extra_headers, None))


class AsyncTypeSafeClient:
    """An asyncio client. One client serves any number of event loops, also at the same time and one after another.

    Arguments and errors are those of TypeSafeClient; `transport` and `http_client` are httpx2's asynchronous ones.
    A cancelled task cancels its request at once.

    Example:
        >>> async def main():
        ...     async with AsyncTypeSafeClient() as client:
        ...         return await client.system_one("I was charged twice.", {"billing": Noul(instructions="About billing?")})
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        model: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: Any = None,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
        http_client: Any = None,
        base_url: str | None = None,
        compression: Literal["zstd", False] | None = None,
        deadline: float | None = None,
        strict: bool = True,
        proxy: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        max_connections: int | None = None,
    ) -> None:
        if transport is not None and http_client is not None:
            raise ValueError("transport and http_client are mutually exclusive.")
        no_compression(compression)
        if timeout is None and http_client is not None:
            timeout = http_client.timeout
        self._config = Config(
            api_key=api_key, base_url=base_url, model=model, timeout=timeout, deadline=deadline, retry=retry, headers=headers,
            strict=strict, proxy=proxy, ca_file=ca_file, max_connections=max_connections,
        )  # fmt: skip
        checked = self._config.make_client()
        self._open()
        if transport is not None or http_client is not None:
            from ._hosted import AsyncHosted

            self._hosted = AsyncHosted(self._config, checked, transport, http_client)

    _hosted: Any

    def _open(self) -> None:
        self._hosted = None
        self._closed = False
        self._last: LoopClient | None = None
        self._lock = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopClient] = weakref.WeakKeyDictionary()

    @property
    def models(self) -> AsyncModels:
        """The models that the account may use."""
        return AsyncModels(self)

    def attach_assets(self, assets: Image | Sequence[Image]) -> AbstractContextManager[None]:
        """Attaches images for the length of a `with` block, so that their references may stand in any text.

        Raises:
            TypeSafeError: Something given is no image.

        Example:
            >>> with client.attach_assets(photo):
            ...     client.system_one(f"Product: {photo}", questions)
        """
        from ._assets import attached

        return attached(assets)

    @overload
    async def system_one(
        self,
        state: Content,
        questions: Mapping[str, Question] | QuestionSet[Any],
        *,
        model: str | None = None,
        assets: Mapping[str, Image] | None = None,
        retry: RetryPolicy | None = None,
        timeout: Any = None,
        extra_headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, JSONValue | None] | None = None,
        response_model: None = None,
        deadline: float | None = None,
        strict: bool | None = None,
    ) -> SystemOneResponse: ...

    @overload
    async def system_one(
        self,
        state: Content,
        questions: Mapping[str, Question] | QuestionSet[Any],
        *,
        model: str | None = None,
        assets: Mapping[str, Image] | None = None,
        retry: RetryPolicy | None = None,
        timeout: Any = None,
        extra_headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, JSONValue | None] | None = None,
        response_model: type[M],
        deadline: float | None = None,
        strict: bool | None = None,
    ) -> M: ...

    async def system_one(
        self,
        state: Content,
        questions: Mapping[str, Question] | QuestionSet[Any],
        *,
        model: str | None = None,
        assets: Mapping[str, Image] | None = None,
        retry: RetryPolicy | None = None,
        timeout: Any = None,
        extra_headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, JSONValue | None] | None = None,
        response_model: Any = None,
        deadline: float | None = None,
        strict: bool | None = None,
    ) -> Any:
        """Asks questions about a state; arguments, result and errors are those of TypeSafeClient.system_one().

        Example:
            >>> result = await client.system_one("I was charged twice.", triage)
        """
        if extra_body is not None:
            state, questions, model, extra_body = overridden(state, questions, model, extra_body)
        call = Call.of(model, retry, timeout, deadline, strict, extra_headers, extra_body)
        question_set = questions if type(questions) is QuestionSet else compiled(questions)
        payload, is_text = encoded_state(state)
        if assets is not None or question_set._whole is not None or "deemster._assets" in sys.modules:
            call = with_assets(call, assets, payload, question_set)
        kind, whole = (SystemOneResponse, None) if response_model is None else response_class(response_model)
        if _log.listener(10) is not None:
            _log.sending("POST", self._config.base_url, [*self._config.headers, *(extra_headers or {}).items()], payload)
        policy = retry or self._config.retry
        if policy is not None and policy.own_rules:

            async def attempt() -> Any:
                return response_of(*await self._evaluate(question_set, payload, is_text, call), kind, self._config, call)

            response = await with_rules(policy, attempt)
        elif self._hosted is not None:
            reply, code = await self._evaluate(question_set, payload, is_text, call)
            response = response_of(reply, code, kind, self._config, call)
        else:  # as _evaluate(), without its two further coroutines
            client = self._loop_client()
            submit = lib.deem_submit_text if is_text else lib.deem_submit_json
            identity, future = client.submit(submit, (question_set._handle, payload, len(payload)), question_set, call)
            try:
                reply, code = await future
            except asyncio.CancelledError:
                lib.deem_client_cancel(client.handle, identity)
                raise
            response = response_of(reply, code, kind, self._config, call)
        return response if whole is None else whole_body(response, whole)

    async def _evaluate(self, question_set: QuestionSet[Any], payload: bytes, is_text: bool, call: Call | None) -> tuple[Reply, int]:
        if self._hosted is not None:
            found: tuple[Reply, int] = await self._hosted.evaluate(question_set, payload, is_text, call)
            return found
        submit = lib.deem_submit_text if is_text else lib.deem_submit_json
        return await self._run(submit, (question_set._handle, payload, len(payload)), question_set, call)

    async def _list_models(self, call: Call) -> ListModelsResponse:
        async def attempt() -> ListModelsResponse:
            if self._hosted is not None:
                reply, code = await self._hosted.request(b"GET", b"/v1/models", call)
            else:
                reply, code = await self._run(lib.deem_submit_request, (b"GET", 3, b"/v1/models", 10, NULL, 0), None, call)
            return response_of(reply, code, ListModelsResponse, self._config, call)

        policy = call.retry or self._config.retry
        if policy is not None and policy.own_rules:
            return await with_rules(policy, attempt)  # type: ignore[no-any-return]
        return await attempt()

    async def _run(self, submit: Any, arguments: tuple[Any, ...], questions: Any, call: Call | None) -> tuple[Reply, int]:
        client = self._loop_client()
        identity, future = client.submit(submit, arguments, questions, call)
        try:
            reply, code = await future
            return reply, code
        except asyncio.CancelledError:
            lib.deem_client_cancel(client.handle, identity)
            raise

    def _loop_client(self) -> LoopClient:
        loop = asyncio.get_running_loop()
        client = self._last
        if client is None or client.loop() is not loop:
            client = self._loops.get(loop)
        if client is not None and client.generation == process.generation and not client.closed:
            self._last = client
            return client
        if self._closed:
            raise TypeSafeClosedError("The client is closed.")
        with self._lock:
            self._last = None
            for other in [other for other in self._loops if other.is_closed()]:
                del self._loops[other]
            if client is not None and client.generation == process.generation:
                client.retire()
            client = self._loops[loop] = LoopClient(self._config, loop)
        return client

    async def aclose(self) -> None:
        """Cancels calls under way in every loop and closes connections, and a given transport or http_client.

        May be called again, from any loop, also when the loops that used the client are gone.
        """
        self._closed = True
        running = asyncio.get_running_loop()
        with self._lock:
            clients = list(self._loops.items())
            self._loops.clear()
            self._last = None
        for loop, client in clients:
            if client.generation != process.generation:
                continue
            if loop is running:
                client.close_inside()
            else:
                client.close_from_outside()
        if self._hosted is not None:
            await self._hosted.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self._config.base_url[:500]!r}, model={self._config.model[:200]!r})"

    def __getstate__(self) -> dict[str, Any]:
        if self._hosted is not None:
            raise TypeSafeError("A client with a transport or http_client of its own cannot be pickled.")
        return {"config": self._config}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._config = state["config"]
        self._open()


async def with_rules(policy: RetryPolicy, attempt: Any) -> Any:
    """Repeats attempts under a policy with exceptions or a predicate, which only Python can ask."""
    import time

    started, retry = time.monotonic(), 0
    while True:
        try:
            return await attempt()
        except Exception as error:
            wait = next_wait(policy, error, retry, started)
            if wait is None:
                raise
        await asyncio.sleep(wait)
        retry += 1
