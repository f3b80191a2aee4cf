"""The base of questions, answers and responses: plain slotted objects with the methods of a pydantic model.

pydantic is never imported here; where it is loaded, the classes also work as its field types.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._errors import TypeSafeValidationError

if TYPE_CHECKING:
    from typing_extensions import Self

M = TypeVar("M", bound="Model")
SHOWN = 1800  # the longest repr, in characters

Check = Callable[[Any, str], Any]
REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "<required>"})()


class Field:
    """How one field is checked, described in a JSON schema, and what it is when left out."""

    __slots__ = ("check", "default", "schema")

    def __init__(self, check: Check, schema: dict[str, Any], default: Any = REQUIRED) -> None:
        self.check = check
        self.schema = schema
        self.default = default

    def is_required(self) -> bool:
        """Whether the field must be given."""
        return self.default is REQUIRED


class Model:
    """A record with named fields."""

    __slots__ = ()
    model_fields: ClassVar[dict[str, Field]] = {}
    """The fields by name, in the order they are dumped."""

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields}

    @property
    def model_fields_set(self) -> set[str]:
        """The names of the fields that differ from their defaults."""
        return {name for name, field in self.model_fields.items() if field.is_required() or getattr(self, name) != field.default}

    @classmethod
    def model_validate(cls, obj: Any, **_options: Any) -> Self:
        """An instance from a mapping or another instance; raises TypeSafeValidationError naming the first bad field."""
        return cls._from(obj, "")

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **_options: Any) -> Self:
        """An instance from JSON text; raises TypeSafeValidationError."""
        try:
            value = json.loads(json_data)
        except ValueError as error:
            raise TypeSafeValidationError(f"This is not JSON: {error}.") from None
        return cls._from(value, "")

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """An instance from values that are taken as they are."""
        defaults = {name: field.default for name, field in cls.model_fields.items() if not field.is_required()}
        return cls._make({**defaults, **values})

    @classmethod
    def _from(cls, obj: Any, path: str) -> Self:
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping):
            raise TypeSafeValidationError(f"This is no {cls.__name__}: an object is needed, not {type(obj).__name__}.", path)
        return cls._make(cls._checked(obj, path))

    @classmethod
    def _checked(cls, obj: Mapping[str, Any], path: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            here = f"{path}.{name}" if path else name
            if name in obj:
                values[name] = field.check(obj[name], here)
            elif field.is_required():
                raise TypeSafeValidationError("This field is required.", here)
            else:
                values[name] = copy.copy(field.default)
        return values

    @classmethod
    def _make(cls, values: dict[str, Any]) -> Self:
        self = cls.__new__(cls)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    def model_dump(
        self,
        *,
        mode: str = "python",
        include: Any = None,
        exclude: Any = None,
        exclude_none: bool = False,
        exclude_unset: bool = False,
        exclude_defaults: bool = False,
        **_options: Any,
    ) -> dict[str, Any]:
        """The fields as plain dicts, lists and scalars. `mode="json"` gives only what JSON knows (string keys)."""
        result = {}
        for name, value in self._values().items():
            inner_include, inner_exclude = _inside(include, name), _inside(exclude, name)
            if (include is not None and name not in include) or (exclude is not None and name in exclude and inner_exclude is None):
                continue
            if exclude_none and value is None:
                continue
            if (exclude_unset or exclude_defaults) and name not in self.model_fields_set:
                continue
            result[name] = _plain(value, mode, inner_include, inner_exclude, exclude_none, exclude_unset or exclude_defaults)
        return result

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """The fields as JSON text, compact unless `indent` is given."""
        separators = None if indent is not None else (",", ":")
        return json.dumps(self.model_dump(mode="json", **options), ensure_ascii=False, indent=indent, separators=separators)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with fields replaced by `update` (taken as they are)."""
        values = copy.deepcopy(self._values()) if deep else self._values()
        return self._make({**values, **(update or {})})

    @classmethod
    def model_json_schema(cls, *_arguments: Any, **_options: Any) -> dict[str, Any]:
        """The JSON schema of the type."""
        required = [name for name, field in cls.model_fields.items() if field.is_required()]
        schema: dict[str, Any] = {
            "title": cls.__name__,
            "type": "object",
            "properties": {name: {"title": name.replace("_", " ").title(), **field.schema} for name, field in cls.model_fields.items()},
        }
        if required:
            schema["required"] = required
        return schema

    def to_json_dict(self) -> dict[str, Any]:
        """As `model_dump(mode="json")`."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """As `model_dump_json()`."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, data: str | bytes) -> Self:
        """As `model_validate_json()`."""
        return cls.model_validate_json(data)

    def __iter__(self) -> Any:
        return iter(self._values().items())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *map(_hashable, self._values().values())))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__name__}({inside if len(inside) <= SHOWN else inside[:SHOWN] + '…'})"

    def __copy__(self) -> Self:
        return self.model_copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.model_copy(deep=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._values())

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Lets pydantic (and FastAPI) use the class as a field type; called by pydantic alone."""
        from pydantic_core import core_schema

        def check(value: Any) -> Any:
            return cls.model_validate(value)

        serializer = core_schema.plain_serializer_function_ser_schema(
            lambda value, info: value.model_dump(mode=info.mode) if isinstance(value, Model) else value, info_arg=True
        )
        return core_schema.no_info_plain_validator_function(check, serialization=serializer)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        return cls.model_json_schema()


class FrozenModel(Model):
    """A record that cannot be changed."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise TypeSafeValidationError(f"A {type(self).__name__} cannot be changed: make a copy with model_copy(update=...).", name)

    def __delattr__(self, name: str) -> None:
        raise TypeSafeValidationError(f"A {type(self).__name__} cannot be changed.", name)


def _rebuild(cls: type[M], values: dict[str, Any]) -> M:
    return cls._make(values)


def _inside(selection: Any, name: str) -> Any:
    """What an include or exclude mapping says about the inside of a field; None when it means the whole field."""
    if isinstance(selection, Mapping):
        inner = selection.get(name)
        return inner if isinstance(inner, (Mapping, set, frozenset)) else None
    return None


def _plain(value: Any, mode: str, include: Any, exclude: Any, exclude_none: bool, exclude_unset: bool) -> Any:
    if isinstance(value, Model):
        return value.model_dump(mode=mode, include=include, exclude=exclude, exclude_none=exclude_none, exclude_unset=exclude_unset)
    if isinstance(value, Mapping):
        return {
            str(key) if mode == "json" else key: _plain(
                item, mode, _inside(include, key), _inside(exclude, key), exclude_none, exclude_unset
            )
            for key, item in value.items()
            if (include is None or key in include) and (exclude is None or key not in exclude or _inside(exclude, key) is not None)
        }
    if isinstance(value, (list, tuple)):
        items = [_plain(item, mode, None, None, exclude_none, exclude_unset) for item in value]
        return items if mode == "json" or isinstance(value, list) else tuple(items)
    if mode == "json" and isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return value


# The checks of fields.


def literal(word: str) -> Field:
    """A field that can only be one word, which is also its default."""

    def check(value: Any, path: str) -> str:
        if value != word:
            raise TypeSafeValidationError(f"This must be {word!r}.", path)
        return word

    return Field(check, {"const": word, "type": "string", "default": word}, word)


def number(value: Any, path: str) -> float:
    """A finite number that is no boolean."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeSafeValidationError("A finite number is needed here.", path)
    return float(value)


def whole(value: Any, path: str) -> int:
    """A whole number that is no boolean."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeSafeValidationError("A whole number is needed here.", path)
    return int(value)


def string(value: Any, path: str) -> str:
    """Text."""
    if not isinstance(value, str):
        raise TypeSafeValidationError(f"Text is needed here, not {type(value).__name__}.", path)
    return value


def optional(check: Check) -> Check:
    """A check that lets None through."""
    return lambda value, path: None if value is None else check(value, path)


def mapping_of(key: Check, item: Check) -> Check:
    """A check of a mapping's keys and values."""

    def check(value: Any, path: str) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise TypeSafeValidationError("An object is needed here.", path)
        return {key(name, path): item(entry, f"{path}.{name}") for name, entry in value.items()}

    return check


def level(value: Any, path: str) -> int:
    """A level's index, also as the canonical decimal text that JSON keys have."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and (value == "0" or value[0] != "0"):
        return int(value)
    return whole(value, path)


def anything(value: Any, path: str) -> Any:
    """Any value."""
    return value


def sequence_of(item: Check) -> Check:
    """A check of a sequence's items."""

    def check(value: Any, path: str) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise TypeSafeValidationError("A list is needed here.", path)
        return tuple(item(entry, f"{path}.{index}") for index, entry in enumerate(value))

    return check
