"""What one would write by hand. Variants: http.client, httpx, httpx-async, aiohttp."""

import os
import sys
from time import perf_counter_ns

VARIANT = sys.argv[1]
start = perf_counter_ns()
import json  # noqa: E402

if VARIANT == "http.client":
    import http.client
elif VARIANT == "aiohttp":
    import aiohttp
else:
    import httpx

imported = perf_counter_ns() - start
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from protocol import serve  # noqa: E402


class Base:
    def __init__(self, setup):
        self.setup = setup
        self.url = setup.url + "/v1/systemone"
        self.headers = {"Authorization": "Bearer " + setup.key, "Content-Type": "application/json"}
        if setup.ca:
            import ssl

            self.tls = ssl.create_default_context(cafile=setup.ca)
        else:
            self.tls = True

    def body(self):
        setup = self.setup
        document = {"state": setup.state, "model": setup.model, "questions": setup.questions}
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()

    def read(self, status, body):
        if status != 200:
            raise RuntimeError(f"HTTP {status}: {body[:100]!r}")
        return json.loads(body)


class Sync(Base):
    def call(self):
        return self.setup.picked(self.request()["answers"])

    def answer(self):
        return self.setup.whole(self.request())


class Async(Base):
    async def call(self):
        return self.setup.picked((await self.request())["answers"])

    async def answer(self):
        return self.setup.whole(await self.request())


class HttpClient(Sync):
    """One connection a thread."""

    def __init__(self, setup):
        import threading
        from urllib.parse import urlsplit

        super().__init__(setup)
        self.local, self.target = threading.local(), urlsplit(self.url)

    def request(self):
        local = self.local
        if not hasattr(local, "connection"):
            kind = {} if self.target.scheme == "http" else {"context": self.tls}
            make = http.client.HTTPConnection if self.target.scheme == "http" else http.client.HTTPSConnection
            local.connection = make(self.target.hostname, self.target.port, timeout=10, **kind)
        try:
            local.connection.request("POST", self.target.path, self.body(), self.headers)
            reply = local.connection.getresponse()
            return self.read(reply.status, reply.read())
        except Exception:
            local.connection.close()
            raise

    def close(self):
        pass


class Httpx(Sync):
    def __init__(self, setup):
        super().__init__(setup)
        self.client = httpx.Client(timeout=10, verify=self.tls, limits=httpx.Limits(max_connections=setup.in_flight + 1))

    def request(self):
        reply = self.client.post(self.url, content=self.body(), headers=self.headers)
        return self.read(reply.status_code, reply.content)

    def close(self):
        self.client.close()


class HttpxAsync(Async):
    def __init__(self, setup):
        super().__init__(setup)
        self.client = httpx.AsyncClient(timeout=10, verify=self.tls, limits=httpx.Limits(max_connections=setup.in_flight + 1))

    async def request(self):
        reply = await self.client.post(self.url, content=self.body(), headers=self.headers)
        return self.read(reply.status_code, reply.content)

    async def close(self):
        await self.client.aclose()


class Aiohttp(Async):
    def __init__(self, setup):
        super().__init__(setup)
        self.client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=setup.in_flight + 1, ssl=self.tls), timeout=aiohttp.ClientTimeout(total=10))

    async def request(self):
        async with self.client.post(self.url, data=self.body(), headers=self.headers) as reply:
            return self.read(reply.status, await reply.read())

    async def close(self):
        await self.client.close()


if __name__ == "__main__":
    factory = {"http.client": HttpClient, "httpx": Httpx, "httpx-async": HttpxAsync, "aiohttp": Aiohttp}[VARIANT]
    module = {"aiohttp": "aiohttp"}.get(VARIANT, "httpx")
    if VARIANT == "http.client":
        serve(factory, "http.client", sys.version.split()[0], imported)
    else:
        serve(factory, module, sys.modules[module].__version__, imported)
