"""Ours, as the drop-in call and with a compiled set. Variants: sync, async, sync-set, async-set."""

import os
import sys
from time import perf_counter_ns

start = perf_counter_ns()
import deemster as sdk  # noqa: E402

if "async" in sys.argv[1]:
    sdk.AsyncTypeSafeClient  # loaded on first use
imported = perf_counter_ns() - start
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from protocol import serve  # noqa: E402

VARIANT = sys.argv[1]


def settings(setup):
    given = {"api_key": setup.key, "base_url": setup.url, "model": setup.model}
    if setup.retries >= 0:
        given["retry"] = sdk.RetryPolicy(max_retries=setup.retries)
    if setup.ca:
        given["ca_file"] = setup.ca
    if setup.in_flight > 256:
        given["max_connections"] = setup.in_flight
    return given


class Base:
    def __init__(self, setup):
        self.setup = setup
        self.questions = setup.question_objects(sdk)
        if VARIANT.endswith("-set"):
            self.questions = sdk.QuestionSet(self.questions)


class Sync(Base):
    def __init__(self, setup):
        super().__init__(setup)
        self.client = sdk.TypeSafeClient(**settings(setup))

    def call(self):
        return self.setup.picked_typed(self.client.system_one(self.setup.state, self.questions))

    def answer(self):
        return self.setup.whole_typed(self.client.system_one(self.setup.state, self.questions))

    def close(self):
        self.client.close()


class Async(Base):
    def __init__(self, setup):
        super().__init__(setup)
        self.client = sdk.AsyncTypeSafeClient(**settings(setup))

    async def call(self):
        return self.setup.picked_typed(await self.client.system_one(self.setup.state, self.questions))

    async def answer(self):
        return self.setup.whole_typed(await self.client.system_one(self.setup.state, self.questions))

    async def close(self):
        await self.client.aclose()


if __name__ == "__main__":
    serve(Async if "async" in VARIANT else Sync, "deemster", sdk.__version__, imported)
