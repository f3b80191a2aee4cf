"""From Python values to JSON bytes. Nothing is guessed: what has no plain JSON form is an error that says where it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from ._errors import TypeSafeStateError

MOST_DEPTH = 200
_KEPT = (str, int, float, bool, type(None))


def encode(value: Any, root: str = "state") -> bytes:
    """A value as compact JSON in UTF-8.

    `root` names the value in errors. Raises TypeSafeStateError with the path of what cannot be sent.
    """
    try:
        return _fast(value).encode()
    except Exception:  # noqa: BLE001 - the walk below finds out what and where, and settles it
        walk = _Walk()
        return _fast(walk.plain(value, root, 0)).encode()


def _surprise(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


_fast = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=True, separators=(",", ":"), default=_surprise).encode


def refused(path: str, why: str) -> TypeSafeStateError:
    """The error about a value at a path."""
    error = TypeSafeStateError(f"{path} {why}")
    error.path = path
    return error


class _Walk:
    """Makes a value plain, step by step, so that the place of every problem is known."""

    def plain(self, value: Any, path: str, depth: int) -> Any:
        if depth > MOST_DEPTH:
            raise refused(short(path), f"is nested deeper than {MOST_DEPTH} levels, or contains itself.")
        kind = type(value)
        if kind in _KEPT or isinstance(value, (str, int, float)) and not isinstance(value, Enum):
            return self.scalar(value, path)
        if isinstance(value, Enum):
            return self.plain(value.value, path, depth + 1)
        if isinstance(value, Mapping):
            return self.object(value, path, depth)
        if isinstance(value, (set, frozenset)):
            raise refused(path, "is a set, which has no order: pass a sorted list.")
        if isinstance(value, (bytes, bytearray, memoryview)):
            raise refused(path, f"is {kind.__name__}: decode it to text first.")
        if isinstance(value, Sequence):
            return [self.plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        return self.plain(self.simpler(value, path), path, depth + 1)

    def scalar(self, value: Any, path: str) -> Any:
        if isinstance(value, str):
            value = str.__str__(value)
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise refused(path, f"is no valid Unicode text: character {error.start} is half of a surrogate pair.") from None
            return value
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return int(value)
        if value != value or value in (float("inf"), float("-inf")):
            raise refused(path, f"is {float(value)}, which JSON cannot say: pass None or leave it out.")
        return float(value)

    def object(self, value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in value.items():
            name = key.value if isinstance(key, Enum) else key
            if isinstance(name, str):
                name = str.__str__(name)
            elif isinstance(name, (bool, int, float, type(None))):
                name = _fast(self.scalar(name, f"the key {name!r} of {path}"))
            else:
                raise refused(path, f"has a key of type {type(key).__name__}: keys are text or numbers.")
            here = f"{path}.{name}" if len(name) <= 100 else f"{path}.{name[:100]}…"
            self.scalar(name, f"the key of {here!r}")
            if name in result:
                raise refused(here, "is there twice.")
            result[name] = self.plain(item, here, depth + 1)
        return result

    def simpler(self, value: Any, path: str) -> Any:
        """One step from an object with fields or a value of a well-known type towards plain JSON."""
        kind = type(value)
        wire = getattr(value, "_wire", None)
        if wire is not None and kind.__module__.startswith("deemster."):
            return wire()
        if hasattr(kind, "__dataclass_fields__"):
            import dataclasses

            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        dump = getattr(kind, "model_dump", None)
        if dump is not None:
            return dump(value, mode="json", by_alias=True)
        module = kind.__module__.partition(".")[0]
        if module == "numpy":
            return self.numpy(value, path)
        names = {(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__}
        if ("decimal", "Decimal") in names:
            if not value.is_finite():
                raise refused(path, f"is {value}, which JSON cannot say: pass None or leave it out.")
            return str(value)
        if names & {("datetime", "datetime"), ("datetime", "date"), ("datetime", "time")}:
            text: str = value.isoformat()
            return text[:-6] + "Z" if text.endswith("+00:00") else text
        if names & {("uuid", "UUID"), ("pathlib", "PurePath")}:
            return str(value)
        raise refused(path, f"is of type {kind.__module__}.{kind.__qualname__}, which has no JSON form: convert it first.")

    def numpy(self, value: Any, path: str) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, numpy.generic):
            raise refused(path, f"is a numpy {type(value).__name__}: pass .tolist() of it.")
        if isinstance(value, (numpy.datetime64, numpy.timedelta64, numpy.complexfloating, numpy.void)):
            raise refused(path, f"is a numpy {type(value).__name__}, which has no JSON form: convert it first.")
        return value.item()


def short(path: str) -> str:
    """A path cut to a readable length."""
    return path if len(path) <= 200 else path[:200] + "…"
