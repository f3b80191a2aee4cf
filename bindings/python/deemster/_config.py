"""The settings of a client: resolved once, from which any number of C clients are made."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._errors import TypeSafeClosedError, TypeSafeConfigurationError, TypeSafeError, TypeSafeQuestionError, TypeSafeStateError
from ._library import ffi, lib, new, text
from .constants import API_KEY_ENV, BASE_URL_ENV, DEFAULT_BASE_URL, DEFAULT_DEADLINE, DEFAULT_MODEL, DEFAULT_MODEL_ENV, DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from ._retry import RetryPolicy

RUNTIME = "python/{}.{}.{} ({}; {})".format(*sys.version_info[:3], sys.platform, os.uname().machine)
_HOUR_MS = 3_600_000


def seconds(value: Any, name: str) -> float | None:
    """A limit in seconds out of a number, None, or an object with connect, read and write (httpx2.Timeout): the longest of them."""
    if hasattr(value, "connect") and hasattr(value, "read"):
        parts = (value.connect, value.read, value.write)
        return None if None in parts else float(max(parts))
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise TypeSafeConfigurationError(f"{name} must be a finite number of seconds above 0.")
    return float(value)


def milliseconds(value: float | None) -> int:
    """Seconds as the library takes them: 0 for no limit."""
    return 0 if value is None else min(max(1, round(value * 1000)), 2**62)


class Config:
    """Everything that a client was told. Pickled without the key."""

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None,
        model: str | None,
        timeout: Any,
        deadline: float | None,
        retry: RetryPolicy | None,
        headers: Mapping[str, str] | None,
        strict: bool,
        proxy: str | None,
        ca_file: str | os.PathLike[str] | None,
        max_connections: int | None,
    ) -> None:
        self.api_key = _key(api_key)
        self.base_url = (base_url if base_url is not None else _environment(BASE_URL_ENV) or DEFAULT_BASE_URL).rstrip("/")
        self.model = model if model is not None else _environment(DEFAULT_MODEL_ENV) or DEFAULT_MODEL
        self.timeout_given = DEFAULT_TIMEOUT if timeout is None else timeout
        self.timeout = seconds(self.timeout_given, "timeout")
        self.deadline_given = deadline
        self.retry = retry
        self.headers = [(str(name), str(value)) for name, value in (headers or {}).items()]
        self.strict = strict
        self.proxy = proxy
        self.ca_file = ca_file
        self.max_connections = max_connections

    def deadline(self, timeout: float | None, retry: RetryPolicy | None, given: float | None) -> float | None:
        """The limit of a call as a whole: the given one, else the policy's, and never less than one attempt may take."""
        if given is None:
            given = self.deadline_given
        if given is not None:
            return seconds(given, "deadline")
        budget = DEFAULT_DEADLINE if retry is None else retry.timeout
        return None if budget is None or timeout is None else max(budget, timeout)

    def make_client(self) -> Any:
        """A new C client."""
        out = new("deem_config **")
        _memory(lib.deem_config_new(out))
        config = ffi.gc(out[0], lib.deem_config_free)
        self._set(config, lib.deem_config_set_api_key, self.api_key)
        self._set(config, lib.deem_config_set_base_url, self.base_url)
        self._set(config, lib.deem_config_set_model, self.model)
        self._set(config, lib.deem_config_set_runtime, RUNTIME)
        _settled(config, lib.deem_config_set_log_level(config, lib.DEEM_LOG_OFF))  # Python's logging serves instead
        if self.proxy is not None:
            self._set(config, lib.deem_config_set_proxy, self.proxy)
        if self.ca_file is not None:
            self._set(config, lib.deem_config_set_ca_file, os.fspath(self.ca_file))
        if self.max_connections is not None:
            _settled(config, lib.deem_config_set_max_connections(config, self.max_connections))
        _settled(config, lib.deem_config_set_attempt_ms(config, milliseconds(self.timeout)))
        _settled(config, lib.deem_config_set_deadline_ms(config, milliseconds(self.deadline(self.timeout, self.retry, None))))
        _settled(config, lib.deem_config_set_check(config, lib.DEEM_CHECK_STRICT if self.strict else lib.DEEM_CHECK_LENIENT))
        if self.retry is not None:
            set_retry(self.retry, "config", config, _settled)
        for name, value in self.headers:
            add_header(lib.deem_config_add_header, config, name, value, _settled)
        client = new("deem_client **")
        _settled(config, lib.deem_client_new(config, client))
        return ffi.gc(client[0], lib.deem_client_free)

    @staticmethod
    def _set(config: Any, setter: Any, value: str) -> None:
        try:
            raw = value.encode()
        except UnicodeEncodeError:
            raise TypeSafeConfigurationError("A setting is not valid Unicode text.") from None
        _settled(config, setter(config, raw, len(raw)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "api_key": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, api_key=_key(None))


def set_retry(retry: RetryPolicy, kind: str, handle: Any, settled: Any) -> None:
    """Writes a policy into a config or options handle."""

    def call(name: str, *values: Any) -> None:
        settled(handle, getattr(lib, f"deem_{kind}_set_{name}")(handle, *values))

    statuses = sorted(retry.http_statuses)
    flags = (
        (lib.DEEM_RETRY_CONNECTION if retry.api_connection_error else 0)
        | (lib.DEEM_RETRY_TIMEOUT if retry.api_timeout_error else 0)
        | (lib.DEEM_RETRY_OBEY_SERVER if retry.respect_retry_after else 0)
    )
    call("max_retries", 0 if retry.own_rules else min(retry.max_retries, 100))
    call("backoff", _wait_ms(retry.backoff_initial), _wait_ms(retry.backoff_max), float(retry.backoff_jitter))
    call("retry_flags", flags)
    call("retry_statuses", new("int32_t[]", statuses), len(statuses))


def add_header(setter: Any, handle: Any, name: str, value: str, settled: Any) -> None:
    """Adds a header to a config or options handle."""
    try:
        raw_name, raw_value = name.encode("ascii"), value.encode("latin-1")
    except UnicodeEncodeError:
        raise TypeSafeConfigurationError(f"Header {name[:100]!r}: names are ASCII and values Latin-1.") from None
    settled(handle, setter(handle, raw_name, len(raw_name), raw_value, len(raw_value)))


def settings_error(code: int, message: str) -> Exception:
    """The exception of a code that came back before anything was sent."""
    if code == lib.DEEM_E_MEMORY:
        return MemoryError()
    if code == lib.DEEM_E_QUESTIONS:
        return TypeSafeQuestionError(message)
    if code == lib.DEEM_E_STATE:
        return TypeSafeStateError(message)
    if code == lib.DEEM_E_CANCELLED:
        return TypeSafeClosedError(message or "The client is closed.")
    if 100 <= code < 200:
        return TypeSafeConfigurationError(message)
    return TypeSafeError(message or f"The library refused the call with code {code}.")


def _settled(config: Any, code: int) -> None:
    if code != 0:
        raise settings_error(code, text(lib.deem_config_error, config) or "")


def _memory(code: int) -> None:
    if code != 0:
        raise MemoryError


def _wait_ms(value: float) -> int:
    return min(round(value * 1000), _HOUR_MS)


def _environment(name: str) -> str:
    return os.environ.get(name, "").strip()


def _key(given: str | None) -> str:
    key = (given if given is not None else _environment(API_KEY_ENV)).strip()
    if not key:
        raise TypeSafeConfigurationError(f"No API key was given: pass api_key or set the {API_KEY_ENV} environment variable.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise TypeSafeConfigurationError("The API key may hold printable ASCII characters only, and no white space.")
    return key
