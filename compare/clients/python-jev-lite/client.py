"""jev-lite, a Python client by other people. Variants: sync, async."""

import os
import sys
from time import perf_counter_ns

start = perf_counter_ns()
import jev_lite as sdk  # noqa: E402

imported = perf_counter_ns() - start
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from protocol import serve  # noqa: E402

VARIANT = sys.argv[1]


class Base:
    def __init__(self, setup):
        self.setup = setup
        self.questions = setup.question_objects(sdk)
        given = {"api_key": setup.key, "base_url": setup.url, "model": setup.model}
        if setup.retries >= 0:
            given["max_retries"] = setup.retries
        if setup.ca:
            os.environ["SSL_CERT_FILE"] = setup.ca
        self.client = (sdk.TypeSafe if VARIANT == "sync" else sdk.AsyncTypeSafe)(**given)

    def create(self):
        return self.client.system_one.create(state=self.setup.state, questions=self.questions)

    def close(self):
        return self.client.close()


class Sync(Base):
    def call(self):
        return self.setup.picked_typed(self.create())

    def answer(self):
        return self.setup.whole_typed(self.create())


class Async(Base):
    async def call(self):
        return self.setup.picked_typed(await self.create())

    async def answer(self):
        return self.setup.whole_typed(await self.create())


if __name__ == "__main__":
    from importlib.metadata import version

    serve(Sync if VARIANT == "sync" else Async, "jev-lite", version("jev-lite"), imported)
