"""From Python values to the bytes that are sent."""

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import types
import uuid

import numpy
import pydantic
import pytest

from deemster import Image, Noul, TypeSafeStateError
from deemster._call import encoded_state
from deemster._encode import encode


class Colour(enum.Enum):
    RED = "red"


class Tone(str, enum.Enum):
    CALM = "calm"


class Size(enum.IntEnum):
    BIG = 3


class Text(str):
    pass


@dataclasses.dataclass
class Point:
    x: int
    tags: list


class Person(pydantic.BaseModel):
    name: str
    born: datetime.date = pydantic.Field(alias="b")


PLAIN = [
    ({"a": 1}, '{"a":1}'),
    ([], "[]"),
    ({}, "{}"),
    ({"n": [None, True, False, 0, -1.5, 1e300]}, '{"n":[null,true,false,0,-1.5,1e+300]}'),
    ({"big": 2**63, "bigger": 10**40}, '{"big":9223372036854775808,"bigger":10000000000000000000000000000000000000000}'),
    ({"u": "ü€😀\u2028\x00"}, '{"u":"ü€😀\u2028\\u0000"}'),
    ((1, (2,)), "[1,[2]]"),
    ({1: "a", Colour.RED: "b"}, '{"1":"a","red":"b"}'),
    ({"c": Colour.RED, "t": Tone.CALM, "s": Size.BIG}, '{"c":"red","t":"calm","s":3}'),
    ({Text("k"): Text("v")}, '{"k":"v"}'),
    (Point(1, [Colour.RED]), '{"x":1,"tags":["red"]}'),
    ([Person(name="A", b=datetime.date(2000, 1, 2))], '[{"name":"A","b":"2000-01-02"}]'),
    ([decimal.Decimal("1.10")], '["1.10"]'),
    ([datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)], '["2026-01-02T03:04:05Z"]'),
    ([datetime.datetime(2026, 1, 2, 3, 4, 5, 6)], '["2026-01-02T03:04:05.000006"]'),
    ([datetime.date(2026, 1, 2), datetime.time(1, 2)], '["2026-01-02","01:02:00"]'),
    ([uuid.UUID(int=1), pathlib.PurePosixPath("/a/b")], '["00000000-0000-0000-0000-000000000001","/a/b"]'),
    ([numpy.int64(2**62), numpy.float64(1.5), numpy.bool_(True), numpy.str_("s"), numpy.float32(0.5)], '[4611686018427387904,1.5,true,"s",0.5]'),
    (types.MappingProxyType({"a": range(3)}), '{"a":[0,1,2]}'),
    ([Noul(instructions="i")], '[{"type":"noul","instructions":"i"}]'),
]


@pytest.mark.parametrize(("value", "text"), PLAIN)
def test_bytes(value, text):
    assert encode(value).decode() == text


def cyclic():
    loop = []
    loop.append(loop)
    return loop


REFUSED = [
    ({"a": [1, object()]}, "state.a[1]"),
    ({"a": {"b": {1, 2}}}, "state.a.b"),
    ([b"bytes"], "state[0]"),
    ({"a": float("nan")}, "state.a"),
    ([[float("inf")]], "state[0][0]"),
    ([decimal.Decimal("NaN")], "state[0]"),
    ([numpy.float64("nan")], "state[0]"),
    ([numpy.arange(3)], "state[0]"),
    ([numpy.datetime64("2026-01-01", "ns")], "state[0]"),
    ({"a": "half \ud800"}, "state.a"),
    ({(1, 2): 1}, "state"),
    ([Point], "state[0]"),
    ({"g": (i for i in ())}, "state.g"),
    ([1j], "state[0]"),
    ({"x": Person}, "state.x"),
]


@pytest.mark.parametrize(("value", "path"), REFUSED)
def test_refused_with_the_place(value, path):
    with pytest.raises(TypeSafeStateError) as caught:
        encode(value)
    assert caught.value.path == path
    assert str(caught.value).startswith(path)


def test_a_value_inside_itself_is_refused():
    with pytest.raises(TypeSafeStateError, match="deeper than"):
        encode(cyclic())


@pytest.mark.parametrize("state", [None, 3, True, 1.5])
def test_what_is_no_state(state):
    with pytest.raises(TypeSafeStateError):
        encoded_state(state)


@pytest.mark.parametrize(
    ("state", "expected"),
    [("text", (b"text", True)), (Text("t"), (b"t", True)), (Tone.CALM, (b"calm", True)), ("", (b"", True)), ([1], (b"[1]", False)),
     (Colour.RED, (b'"red"', False)), (datetime.date(2026, 1, 2), (b'"2026-01-02"', False))],
)  # fmt: skip
def test_states(state, expected):
    assert encoded_state(state) == expected


def test_half_a_surrogate_pair_as_state():
    with pytest.raises(TypeSafeStateError, match="character 1"):
        encoded_state("a\ud83d")


def test_an_image_is_its_reference():
    image = Image(b"x")
    assert json.loads(encode({"photo": image})) == {"photo": str(image)}
