"""Programs written for the official SDK run unchanged, with equal results."""

import importlib
import warnings

import programs
import pytest

import deemster

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    official = importlib.import_module("typesafe_sdk")


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings("ignore")
def test_same_result(program, mock):
    assert program(deemster, mock) == program(official, mock)


def test_every_official_name_is_there():
    assert set(official.__all__) - set(deemster.__all__) == set()
    assert {name for name in official.__all__ if not hasattr(deemster, name)} == set()


@pytest.mark.parametrize("name", ["TypeSafeClient", "AsyncTypeSafeClient"])
@pytest.mark.parametrize("method", ["__init__", "system_one", "attach_assets"])
def test_every_official_argument_is_there(name, method):
    import inspect

    theirs = inspect.signature(getattr(getattr(official, name), method)).parameters
    ours = inspect.signature(getattr(getattr(deemster, name), method)).parameters
    for argument, parameter in theirs.items():
        assert argument in ours
        assert (ours[argument].kind, ours[argument].default) == (parameter.kind, parameter.default)
