"""Stands in for the official package where a library imports `typesafe_sdk` itself."""

from __future__ import annotations

import importlib
import sys

from . import _log


def install(*, replace: bool = False) -> None:
    """Registers deemster as `typesafe_sdk`, so that later imports of that name get this package.

    Log lines then go to the logger "typesafe_sdk".

    Args:
        replace: Whether an official package that is loaded already is replaced; what imported it before keeps it.

    Raises:
        RuntimeError: The official package is loaded already and `replace` is False.

    Example:
        >>> import deemster.compat
        >>> deemster.compat.install()
        >>> from typesafe_sdk import TypeSafeClient
    """
    own = importlib.import_module(__package__ or "deemster")
    loaded = sys.modules.get("typesafe_sdk")
    if loaded is not None and loaded is not own and not replace:
        raise RuntimeError("typesafe_sdk is imported already: call deemster.compat.install() before, or with replace=True.")
    for name in [name for name in sys.modules if name.startswith("typesafe_sdk.")]:
        del sys.modules[name]
    sys.modules["typesafe_sdk"] = own
    sys.modules["typesafe_sdk.constants"] = importlib.import_module(".constants", own.__name__)
    _log.name = "typesafe_sdk"
