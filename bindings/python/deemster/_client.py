"""The blocking client."""

from __future__ import annotations

import _thread
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _log
from ._call import (
    INTERRUPTED,
    MEMORY,
    MISUSE,
    Call,
    encoded_state,
    new_options,
    overridden,
    response_class,
    response_of,
    whole_body,
    with_assets,
)
from ._config import Config, settings_error
from ._errors import TypeSafeClosedError, TypeSafeConfigurationError, TypeSafeError, retry_after_ms
from ._library import NULL, lib, new, process
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


class Models:
    """The models that the account may use, as `client.models`."""

    __slots__ = ("_client",)

    def __init__(self, client: TypeSafeClient) -> None:
        self._client = client

    def list(
        self,
        *,
        retry: RetryPolicy | None = None,
        timeout: Any = None,
        deadline: float | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> ListModelsResponse:
        """The models.

        Args:
            retry: The policy of this call instead of the client's.
            timeout: Seconds that one attempt may take.
            deadline: Seconds that the call may take as a whole.
            extra_headers: Headers of this request.

        Raises:
            TypeSafeAPIError: The server answered with an error.
            TypeSafeAPIConnectionError: No answer was got.

        Example:
            >>> [model.name for model in client.models.list().models]
            ['jev-latest', 'jev-preview']
        """
        return self._client._list_models(Call(None, retry, timeout, deadline, None, extra_headers, None))


class TypeSafeClient:
    """A blocking client. Safe to share between threads; connections are made at the first call and kept.

    Args:
        api_key: The key; else the environment's TYPESAFE_API_KEY. Checked at once, never shown.
        model: The model; else TYPESAFE_DEFAULT_MODEL, else "jev-latest".
        retry: How failed calls are tried again.
        timeout: Seconds that one attempt may take, the whole reply included; 10 by default. A `httpx2.Timeout` is taken
            as its longest part.
        headers: Headers of every request.
        transport: An httpx2 transport that carries the requests instead of the library; closed with the client.
        http_client: An httpx2 client that does so; closed with the client.
        base_url: The server; else TYPESAFE_BASE_URL, else https://api.typesafe.ai. A path prefix is kept.
        compression: Accepted for compatibility: None or False. Bodies are sent uncompressed.
        deadline: Seconds that a call may take as a whole; else the policy's timeout (30), and at least `timeout`.
        strict: Whether a reply that fails a check is an error (default), or is handed out with `problems`.
        proxy: The proxy's URL, or "" for none; else the environment's HTTPS_PROXY, HTTP_PROXY, NO_PROXY.
        ca_file: A PEM file with the certificates to trust; else SSL_CERT_FILE or the system's.
        max_connections: The most connections at once, 256 by default; further calls wait their turn.

    Raises:
        TypeSafeConfigurationError: A setting is missing or malformed.
        ValueError: Both `transport` and `http_client` are given.

    Example:
        >>> from deemster import Noul, TypeSafeClient
        >>> with TypeSafeClient() as client:
        ...     result = client.system_one("I was charged twice.", {"billing": Noul(instructions="Is this about billing?")})
        ...     result.nouls["billing"].noul > 0.5
        True
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
        self._hosted: Any = None
        self._open()
        if transport is not None or http_client is not None:
            from ._hosted import Hosted

            self._hosted = Hosted(self._config, self._handle, transport, http_client)

    def _open(self) -> None:
        self._handle = self._config.make_client()
        self._spare: list[Cell] = []
        self._spare_options: list[Any] = []
        self._closed = False

    @property
    def models(self) -> Models:
        """The models that the account may use."""
        return Models(self)

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
    def system_one(
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
    def system_one(
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

    def system_one(
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
        """Asks questions about a state and waits for the answers.

        Args:
            state: Text, an object or a list; dataclasses, pydantic models, enums, dates, decimals and numpy scalars in it
                are converted, anything else is an error that says where it is.
            questions: A QuestionSet (quickest), or names to questions.
            model: The model of this call.
            assets: Images by the name that stands for them in the state or the questions.
            retry: The policy of this call instead of the client's.
            timeout: Seconds that one attempt may take.
            extra_headers: Headers of this request.
            extra_body: Further top-level fields of the request; "state", "questions" and "model" replace the arguments.
            response_model: A subclass of SystemOneResponse with fields named like questions, or a pydantic model of the
                whole body.
            deadline: Seconds that the call may take as a whole.
            strict: Whether a reply that fails a check is an error.

        Returns:
            The response, or an instance of `response_model`.

        Raises:
            TypeSafeQuestionError: The questions cannot be sent.
            TypeSafeStateError: The state cannot be sent.
            TypeSafeAPIError: The server answered with an error, after any retries.
            TypeSafeAPIConnectionError: No answer was got, after any retries.
            TypeSafeAPIResponseValidationError: The reply fails a check; `response` holds what is good in it.

        Example:
            >>> result = client.system_one("I was charged twice.", triage)
            >>> result.nouls["billing"].noul
            0.93
        """
        if extra_body is not None:
            state, questions, model, extra_body = overridden(state, questions, model, extra_body)
        call = Call.of(model, retry, timeout, deadline, strict, extra_headers, extra_body)
        question_set = questions if type(questions) is QuestionSet else compiled(questions)
        payload, is_text = encoded_state(state)
        if assets is not None or question_set._whole is not None or "deemster._assets" in sys.modules:
            call = with_assets(call, assets, payload, question_set)
        if response_model is None:
            kind, whole = SystemOneResponse, None
        else:
            kind, whole = response_class(response_model)
        if _log.listener(10) is not None:
            _log.sending("POST", self._config.base_url, [*self._config.headers, *(extra_headers or {}).items()], payload)

        def attempt() -> Any:
            if self._hosted is not None:
                reply, code = self._hosted.evaluate(question_set, payload, is_text, call)
            else:
                evaluate = lib.deem_evaluate_text if is_text else lib.deem_evaluate_json
                reply, code = self._run(evaluate, (question_set._handle, payload, len(payload)), question_set, call)
            return response_of(reply, code, kind, self._config, call)

        policy = retry or self._config.retry
        response = attempt() if policy is None or not policy.own_rules else with_rules(policy, attempt)
        return response if whole is None else whole_body(response, whole)

    def _list_models(self, call: Call) -> ListModelsResponse:
        def attempt() -> ListModelsResponse:
            if self._hosted is not None:
                reply, code = self._hosted.request(b"GET", b"/v1/models", call)
            else:
                reply, code = self._run(lib.deem_list_models, (), None, call)
            return response_of(reply, code, ListModelsResponse, self._config, call)

        policy = call.retry or self._config.retry
        return attempt() if policy is None or not policy.own_rules else with_rules(policy, attempt)

    def _run(self, function: Any, arguments: tuple[Any, ...], questions: Any, call: Call | None) -> tuple[Reply, int]:
        """Makes one blocking call of the library; Ctrl-C is honoured on the main thread."""
        if self._closed:
            raise TypeSafeClosedError("The client is closed.")
        client, options = self._handle, NULL
        spare = self._spare
        try:
            cell = spare.pop()
        except IndexError:
            cell = Cell()
        out = cell.pointer
        if _thread.get_ident() != process.main_thread:
            if call is not None:
                options = self._options(call)
            code = function(client, *arguments, options, out)
        else:
            options = self._options(call)
            number = new("uint64_t *")
            lib.deem_client_call_id(client, number)
            identity = number[0]
            lib.deem_options_set_call_id(options, identity)
            lib.deem_options_set_interruptible(options, 1)
            try:
                code = function(client, *arguments, options, out)
                while code == INTERRUPTED:  # Python's own handlers run here, between two calls
                    code = function(client, *arguments, options, out)
            except BaseException:
                lib.deem_client_cancel(client, identity)
                spare.append(cell)
                raise
        if options is not NULL:
            self._spare_options.append(options)
        if code == MEMORY or code == MISUSE:
            spare.append(cell)
            raise settings_error(code, "The library was called against its rules.")
        return Reply(cell, spare, questions), code

    def _options(self, call: Call | None) -> Any:
        try:
            options = self._spare_options.pop()
        except IndexError:
            options = new_options()
        else:
            lib.deem_options_reset(options)
        if call is not None:
            call.fill(options, self._config)
        return options

    def close(self) -> None:
        """Cancels calls under way and closes connections, and a given transport or http_client. May be called again."""
        self._closed = True
        lib.deem_client_close(self._handle)
        if self._hosted is not None:
            self._hosted.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self._config.base_url[:500]!r}, model={self._config.model[:200]!r})"

    def __getstate__(self) -> dict[str, Any]:
        if self._hosted is not None:
            raise TypeSafeError("A client with a transport or http_client of its own cannot be pickled.")
        return {"config": self._config}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._config = state["config"]
        self._hosted = None
        self._open()


def no_compression(compression: Any) -> None:
    """Refuses to promise what is not done."""
    if compression not in (None, False):
        raise TypeSafeConfigurationError("compression: request bodies are sent uncompressed; pass None or False.")


def next_wait(policy: RetryPolicy, error: BaseException, retry: int, started: float) -> float | None:
    """Seconds before the next attempt under a policy with rules of its own; None to give up."""
    if retry >= policy.max_retries or not policy.retries(error):
        return None
    wait = policy.wait(retry, retry_after_ms(getattr(error, "headers", {})))
    if policy.timeout is not None and time.monotonic() - started + wait >= policy.timeout:
        return None
    return wait


def with_rules(policy: RetryPolicy, attempt: Any) -> Any:
    """Repeats attempts under a policy with exceptions or a predicate, which only Python can ask."""
    started, retry = time.monotonic(), 0
    while True:
        try:
            return attempt()
        except Exception as error:
            wait = next_wait(policy, error, retry, started)
            if wait is None:
                raise
        time.sleep(wait)
        retry += 1
