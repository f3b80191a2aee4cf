"""Logging under the logger "deemster". Nothing is imported and nothing formatted when no one listens."""

from __future__ import annotations

import os
import sys
from typing import Any

from ._headers import redacted
from .constants import LOG_LEVEL_ENV

MOST_BODY = 4096  # bytes of a body that a debug line shows
_LEVELS = {"debug": 10, "info": 20, "warn": 30, "warning": 30, "error": 40, "off": 51}
name = "deemster"
_prepared: Any = None


def listener(level: int) -> Any:
    """The logger when somebody listens to that level, else None. Without `import logging` nobody can."""
    logging = sys.modules.get("logging")
    if logging is None:
        return None
    global _prepared
    if _prepared is None or _prepared.name != name:
        try:
            logger = logging.getLogger(name)
            logger.addHandler(logging.NullHandler())
        except AttributeError:  # logging is only half imported yet
            return None
        wanted = _LEVELS.get((os.environ.get(LOG_LEVEL_ENV) or "").strip().lower())
        if wanted is not None:
            logger.setLevel(wanted)
        _prepared = logger
    return _prepared if _prepared.isEnabledFor(level) else None


def finished(reply: Any, error: BaseException | None) -> None:
    """One line about a finished call: method, URL, outcome, time, attempts, request id; at debug also headers and body."""
    logger = listener(20)
    if logger is None:
        return
    method, url = reply.endpoint() or ("POST", "-")
    status = reply.status()
    logger.info(
        "%s %s <- %s in %.0fms (request %s, attempts %s)",
        method,
        url,
        status if status is not None else type(error).__name__ if error is not None else "-",
        reply.timings().get("total", 0.0) * 1000,
        reply.request_id() or "-",
        reply.attempts(),
    )
    if logger.isEnabledFor(10):
        logger.debug("%s %s <- headers=%s body=%s", method, url, redacted(reply.headers().multi_items()), shown(reply.body()))


def sending(method: str, url: str, headers: list[tuple[str, str]], body: bytes | None) -> None:
    """At debug level, what is about to be sent: the caller's own headers and the state's bytes."""
    logger = listener(10)
    if logger is not None:
        logger.debug("%s %s -> headers=%s body=%s", method, url, redacted([("Authorization", ""), *headers]), shown(body))


def shown(body: bytes | None) -> str:
    """A body as a debug line shows it."""
    if body is None:
        return "None"
    rest = len(body) - MOST_BODY
    return repr(body[:MOST_BODY]) + (f" (+{rest} bytes)" if rest > 0 else "")
