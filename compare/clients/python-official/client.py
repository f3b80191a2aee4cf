"""The official SDK. Variants: sync, async, http2 (the async client over a transport that offers HTTP/2)."""

import os
import sys
from time import perf_counter_ns

start = perf_counter_ns()
import typesafe_sdk as sdk  # noqa: E402

imported = perf_counter_ns() - start
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from protocol import serve  # noqa: E402

VARIANT = sys.argv[1]


def settings(setup):
    given = {"api_key": setup.key, "base_url": setup.url, "model": setup.model}
    if setup.retries >= 0:
        given["retry"] = sdk.RetryPolicy(max_retries=setup.retries)
    if setup.ca:
        os.environ["SSL_CERT_FILE"] = setup.ca
    return given


class Base:
    def __init__(self, setup):
        self.setup, self.questions = setup, setup.question_objects(sdk)


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
        given = settings(setup)
        if VARIANT == "http2":
            import httpx2

            given["http_client"] = httpx2.AsyncClient(http2=True)
        self.client = sdk.AsyncTypeSafeClient(**given)

    async def call(self):
        return self.setup.picked_typed(await self.client.system_one(self.setup.state, self.questions))

    async def answer(self):
        return self.setup.whole_typed(await self.client.system_one(self.setup.state, self.questions))

    async def close(self):
        await self.client.aclose()


if __name__ == "__main__":
    from importlib.metadata import version

    serve(Sync if VARIANT == "sync" else Async, "typesafe-sdk", version("typesafe-sdk"), imported)
