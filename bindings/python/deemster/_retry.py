"""How failed calls are tried again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ._errors import TypeSafeAPIConnectionError, TypeSafeAPIError, TypeSafeAPITimeoutError, TypeSafeConfigurationError


@dataclass(frozen=True)
class RetryPolicy:
    """How failed calls are tried again; durations are in seconds.

    Raises:
        TypeSafeConfigurationError: A value is out of range.

    Example:
        >>> RetryPolicy(max_retries=0).max_retries
        0
    """

    max_retries: int = 2
    """How often a call is tried again after its first attempt; 0 for never, at most 100."""

    backoff_initial: float = 0.5
    """The first wait, doubled for each further one; 0 for no waits."""

    backoff_max: float = 5.0
    """The longest wait; 0 for no waits."""

    backoff_jitter: float = 0.25
    """The share of each wait, 0 to 1, of which a random part is taken off."""

    http_statuses: set[int] = field(default_factory=lambda: {408, 429, *range(500, 600)})
    """The statuses that are retried, each 300 to 599."""

    respect_retry_after: bool = True
    """Whether Retry-After and retry-after-ms are obeyed."""

    api_connection_error: bool = True
    """Whether connection errors are retried."""

    api_timeout_error: bool = True
    """Whether attempts that took too long are retried."""

    exceptions: set[type[BaseException]] = field(default_factory=set)
    """Further exceptions that are retried."""

    predicate: Callable[[BaseException], bool] | None = None
    """Asked about every other exception: True retries it."""

    timeout: float | None = 30.0
    """The limit of the call as a whole, attempts and waits; None for none. A `deadline` given to the client or the call beats it."""

    def __post_init__(self) -> None:
        if isinstance(self.max_retries, bool) or not isinstance(self.max_retries, int) or self.max_retries < 0:
            raise TypeSafeConfigurationError("max_retries must be a whole number, 0 or more.")
        for name in ("backoff_initial", "backoff_max"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise TypeSafeConfigurationError(f"{name} must be a finite number of seconds, 0 or more.")
        if not 0 <= self.backoff_jitter <= 1:
            raise TypeSafeConfigurationError("backoff_jitter must be between 0 and 1.")
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout > 0):
            raise TypeSafeConfigurationError("timeout must be a finite number of seconds above 0, or None.")

    @property
    def own_rules(self) -> bool:
        """Whether exceptions or the predicate decide, which the library cannot ask."""
        return bool(self.exceptions) or self.predicate is not None

    def retries(self, error: BaseException) -> bool:
        """Whether an error is retried under this policy."""
        if isinstance(error, TypeSafeAPITimeoutError):
            known = self.api_timeout_error
        elif isinstance(error, TypeSafeAPIConnectionError):
            known = self.api_connection_error
        else:
            known = isinstance(error, TypeSafeAPIError) and error.status in self.http_statuses
        return known or isinstance(error, tuple(self.exceptions)) or (self.predicate is not None and self.predicate(error))

    def wait(self, retry: int, asked_ms: float | None) -> float:
        """Seconds before retry number `retry` (0 for the first), when the server asked for `asked_ms`."""
        import random

        if asked_ms is not None and self.respect_retry_after:
            return asked_ms / 1000
        longest = min(self.backoff_initial * 2.0 ** min(retry, 60), self.backoff_max)
        return longest * (1 - random.random() * self.backoff_jitter)
