"""systemone-client, a Python client by other people; it never tries twice. Variants: sync, async."""

import os
import sys
from time import perf_counter_ns

start = perf_counter_ns()
import systemone as sdk  # noqa: E402

imported = perf_counter_ns() - start
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from protocol import serve  # noqa: E402

VARIANT = sys.argv[1]


class Base:
    def __init__(self, setup):
        self.setup = setup
        if setup.ca:
            os.environ["SSL_CERT_FILE"] = setup.ca
        self.client = (sdk.Client if VARIANT == "sync" else sdk.AsyncClient)(setup.url, api_key=setup.key)

    def create(self):
        return self.client.system_one(self.setup.state, self.setup.questions, model=self.setup.model)


class Sync(Base):
    def call(self):
        return self.setup.picked_typed(self.create())

    def answer(self):
        return self.setup.whole_typed(self.create())

    def close(self):
        self.client.close()


class Async(Base):
    async def call(self):
        return self.setup.picked_typed(await self.create())

    async def answer(self):
        return self.setup.whole_typed(await self.create())

    async def close(self):
        await self.client.aclose()


if __name__ == "__main__":
    from importlib.metadata import version

    serve(Sync if VARIANT == "sync" else Async, "systemone-client", version("systemone-client"), imported)
