"""HTTP headers of a reply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_SECRET = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie", "set-cookie"})


def is_secret(name: str) -> bool:
    """Whether a header's value is hidden from logs and reprs."""
    lowered = name.lower()
    return lowered in _SECRET or "token" in lowered or "secret" in lowered


def redacted(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers as they may be shown."""
    return {name: "***" if is_secret(name) else value for name, value in headers}


class Headers(Mapping[str, str]):
    """Read-only headers: names are compared without regard to case, several values of a name are joined by commas.

    Example:
        >>> Headers([("Content-Type", "application/json")])["content-type"]
        'application/json'
    """

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] | Mapping[str, str] | None = None) -> None:
        items: Any = pairs.items() if isinstance(pairs, Mapping) else pairs or ()
        self._pairs: tuple[tuple[str, str], ...] = tuple((str(name), str(value)) for name, value in items)

    def get_list(self, name: str) -> list[str]:
        """All values of a name in the order received."""
        lowered = name.lower()
        return [value for key, value in self._pairs if key.lower() == lowered]

    def multi_items(self) -> list[tuple[str, str]]:
        """All names and values in the order received."""
        return list(self._pairs)

    def __getitem__(self, name: str) -> str:
        values = self.get_list(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(key.lower() == name.lower() for key, _ in self._pairs)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name.lower() for name, _ in self._pairs))

    def __len__(self) -> int:
        return len({name.lower() for name, _ in self._pairs})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        other = other if isinstance(other, Headers) else Headers(other)
        return sorted((name.lower(), value) for name, value in self._pairs) == sorted((name.lower(), value) for name, value in other._pairs)

    def __hash__(self) -> int:
        return hash(frozenset((name.lower(), value) for name, value in self._pairs))

    def __repr__(self) -> str:
        shown = repr(redacted(self._pairs))
        return f"Headers({shown if len(shown) <= 1500 else shown[:1500] + '…'})"

    def __reduce__(self) -> tuple[type[Headers], tuple[tuple[tuple[str, str], ...]]]:
        return Headers, (self._pairs,)
