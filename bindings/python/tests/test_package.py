"""What lies in the package: declarations, imports, documentation, types."""

import inspect
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import deemster
from deemster._library import ffi, lib

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parents[1]
PACKAGE = Path(deemster.__file__).parent


def in_fresh_python(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def header(name):
    return re.sub(r"/\*.*?\*/", "", (ROOT / "abi/include" / name).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("name", ["deemster.h", "deemster_experimental.h"])
def test_every_declaration_of_the_header_is_there(name):
    text = header(name)
    functions = set(re.findall(r"\b(deem_\w+)\(", text))
    constants = dict(re.findall(r"^#define (DEEM_[A-Z0-9_]+) (\d+)u?\s*$", text, re.MULTILINE))
    assert len(functions) > 10 and len(constants) >= 3
    assert {function for function in functions if not hasattr(lib, function)} == set()
    assert {constant: getattr(lib, constant) for constant in constants} == {constant: int(value) for constant, value in constants.items()}


def test_the_record_is_read_as_the_header_lays_it_out():
    from deemster._reply import _RECORD

    fields = [(name, field.offset) for name, field in ffi.typeof("deem_answer").fields]
    assert fields == [("question", 0), ("kind", 4), ("status", 8), ("flags", 12), ("value", 16), ("confidence", 24), ("chosen", 32),
                      ("top", 36), ("first_probability", 40), ("probability_count", 44), ("reserved", 48)]  # fmt: skip
    assert _RECORD.size == ffi.sizeof("deem_answer") == 64


def test_import_starts_nothing_and_is_light():
    program = """
import json, sys
before = set(sys.modules)
import threading, deemster
print(threading.active_count(), *sorted(set(sys.modules) - before))
"""
    threads, *modules = in_fresh_python(program)
    heavy = {"asyncio", "logging", "dataclasses", "inspect", "pydantic", "httpx2", "ssl", "socket", "subprocess", "pytest", "cffi", "tqdm", "email"}
    assert threads == "1" and heavy & set(modules) == set()
    assert in_fresh_python("import deemster; print(sum('libcurl' in line for line in open('/proc/self/maps')))") == ["0"]


def test_a_client_in_use_loads_no_more():
    program = """
import sys, deemster
client = deemster.TypeSafeClient(api_key="test-key", base_url="http://127.0.0.1:9", deadline=0.01)
try: client.system_one({"a": 1}, {"q": deemster.Noul(instructions="?")})
except deemster.TypeSafeAPIConnectionError: print(*{"asyncio", "logging", "dataclasses", "email"} & set(sys.modules), "end")
"""
    assert in_fresh_python(program) == ["end"]


def test_names():
    assert sorted(set(dir(deemster)) & set(deemster.__all__)) == sorted(deemster.__all__) == sorted(set(deemster.__all__))
    with pytest.raises(AttributeError):
        deemster.nothing


def public():
    for name in deemster.__all__:
        value = getattr(deemster, name)
        if isinstance(value, type):
            yield name, value
            for inner, member in vars(value).items():
                if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, (property, classmethod))):
                    yield f"{name}.{inner}", member


@pytest.mark.parametrize(("name", "value"), list(public()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_public_object_has_a_docstring(name, value):
    assert (inspect.getdoc(value) or "").strip()


@pytest.mark.parametrize("name", ["TypeSafeClient", "AsyncTypeSafeClient", "QuestionSet", "Noul", "Choice", "Score", "RetryPolicy"])
def test_signatures(name):
    assert len(inspect.signature(getattr(deemster, name)).parameters) >= 2
    assert "Args" in getattr(deemster, name).__doc__ or "Example" in getattr(deemster, name).__doc__ or "TypeSafeClient" in getattr(deemster, name).__doc__


def test_errors_are_one_tree_and_can_be_pickled():
    headers = deemster.Headers({"x-request-id": "r"})
    classes = [value for name, value in vars(deemster).items() if isinstance(value, type) and issubclass(value, BaseException)]
    assert len(classes) == 22
    for kind in classes:
        assert issubclass(kind, deemster.TypeSafeError)
        if issubclass(kind, deemster.TypeSafeAPIError):
            made = kind(418, {"a": 1}, headers, "text", "POST http://h")
        else:
            made = kind("text")
        made.code, made.attempts = "DEEM_E_TIMEOUT", 3
        again = pickle.loads(pickle.dumps(made))
        assert (type(again), str(again), again.args, again.code, again.attempts) == (kind, str(made), made.args, "DEEM_E_TIMEOUT", 3)


def test_the_library_beside_the_extension_is_found_by_a_relative_path():
    extension = next(PACKAGE.glob("_native*.so"))
    shown = subprocess.run(["readelf", "-d", extension], capture_output=True, text=True, check=True).stdout
    assert extension.name == "_native.abi3.so" and "[libdeemster.so.0.1]" in shown
    assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", shown) == ["$ORIGIN"]
    assert (PACKAGE / "libdeemster.so.0.1").is_file() and (PACKAGE / "py.typed").is_file()


def test_mypy_strict():
    for target in (HERE / "deemster", HERE / "tests/usage.py"):  # the second one meets the installed package, as users do
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, str(target)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE)
        assert done.returncode == 0, done.stdout


def test_pyright():
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(HERE / "deemster"), str(HERE / "tests/usage.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert [row["message"] for row in report["generalDiagnostics"] if row["severity"] == "error"] == []
    assert report["summary"]["filesAnalyzed"] > 20


def test_every_public_type_is_known(tmp_path):
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "pyright", "--verifytypes", "deemster", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment)
    report = json.loads(done.stdout[done.stdout.index("{") :])["typeCompleteness"]
    assert report["completenessScore"] == 1 and report["exportedSymbolCounts"]["withKnownType"] > 90
