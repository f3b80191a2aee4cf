"""The C library, loaded once: its version checked, and the helpers that every module needs."""

from __future__ import annotations

import _thread
import os
from typing import Any

try:
    from ._native import ffi as ffi
    from ._native import lib as lib
except ImportError as error:
    raise ImportError(
        f"The native part of deemster could not be loaded ({error}): install the deemster wheel for this platform "
        "(Linux, CPython 3.10 or newer with the GIL), or build it from a checkout."
    ) from error

NULL = ffi.NULL
new = ffi.new
unpack = ffi.unpack


def _check_version() -> None:
    numbers = new("uint32_t[3]")
    lib.deem_abi_version(numbers, numbers + 1, numbers + 2)
    major, minor, oldest = numbers
    if major != lib.DEEM_ABI_MAJOR or not oldest <= lib.DEEM_ABI_MINOR <= minor:
        raise ImportError(
            f"deemster was built for version {lib.DEEM_ABI_MAJOR}.{lib.DEEM_ABI_MINOR} of its C library, but the one beside it "
            f"serves {major}.{oldest} to {major}.{minor}: reinstall the deemster package."
        )


_check_version()

LIBRARY_VERSION: str = ffi.string(lib.deem_version()).decode()


def has(feature: str) -> bool:
    """Whether the library was built with a feature, such as "engine" or "curl"."""
    name = feature.encode()
    return bool(lib.deem_has(name, len(name)))


def text(getter: Any, *arguments: Any) -> str | None:
    """Asks a getter whose last two out-parameters are a text and its length; None when there is none."""
    raw = octets(getter, *arguments)
    return None if raw is None else raw.decode("utf-8", "replace")


def octets(getter: Any, *arguments: Any) -> bytes | None:
    """As text(), but the bytes as they are."""
    pointer, length = new("const char **"), new("size_t *")
    if getter(*arguments, pointer, length) != 0 or pointer[0] == NULL:
        return None
    result: bytes = unpack(pointer[0], length[0])
    return result


def status_name(status: int) -> str:
    """A status code's name, such as "DEEM_E_TIMEOUT"."""
    name: str = ffi.string(lib.deem_status_name(status)).decode()
    return name


_REASONS: dict[int, str] = {}


def reason_name(reason: int) -> str:
    """A reason's short name, such as "range"."""
    name = _REASONS.get(reason)
    if name is None:
        full: str = ffi.string(lib.deem_reason_name(reason)).decode()
        name = _REASONS[reason] = full.removeprefix("DEEM_REASON_").removeprefix("DEEM_ANSWER_").lower()
    return name


class Process:
    """What is true of this process only, kept up to date over forks."""

    __slots__ = ("generation", "main_thread")

    def __init__(self) -> None:
        import threading

        self.generation = 0
        self.main_thread = threading.main_thread().ident

    def forked(self) -> None:
        """Runs in the child: the thread that forked is its main one."""
        self.generation += 1
        self.main_thread = _thread.get_ident()


process = Process()
os.register_at_fork(after_in_child=process.forked)
