"""Fixtures for pytest: `deemster_mock` is the URL of a mock server, `deemster_client` a client of it.

The mock is the program `deemster-mock`: the one that DEEMSTER_MOCK names, else the one on PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ._client import TypeSafeClient


class MockServer:
    """A running mock server; `url` is its base URL."""

    def __init__(self, *options: str) -> None:
        program = os.environ.get("DEEMSTER_MOCK") or shutil.which("deemster-mock")
        if program is None:
            raise RuntimeError("The mock server is not there: set DEEMSTER_MOCK to the program deemster-mock, or put it on PATH.")
        self.process: subprocess.Popen[str] = subprocess.Popen(
            [program, "--port", "0", "--quiet", *options], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        words = self.process.stdout.readline().split()
        self.url: str = next((word for word in words if word.startswith("http")), "")
        if not self.url:
            self.stop()
            raise RuntimeError(f"{program} printed no URL: run it by hand to see why.")

    def stop(self) -> None:
        """Ends the server."""
        self.process.terminate()
        self.process.wait(timeout=10)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture(scope="session")
def deemster_mock() -> Iterator[str]:
    """The base URL of a mock server that runs as long as the tests."""
    server = MockServer()
    yield server.url
    server.stop()


@pytest.fixture
def deemster_client(deemster_mock: str) -> Iterator[TypeSafeClient]:
    """A client of the mock server."""
    from . import TypeSafeClient

    with TypeSafeClient(api_key="test", base_url=deemster_mock) as client:
        yield client
