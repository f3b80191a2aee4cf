"""The asyncio client: many loops and threads, cancelling, closing, other event loops."""

import asyncio
import contextvars
import gc
import logging
import os
import threading
import time

import pytest
from conftest import GOOD, KEY, Scripted, client_of, reply  # noqa: F401

import deemster
from deemster import AsyncTypeSafeClient, Noul, QuestionSet, RetryPolicy

Q = QuestionSet({"q": Noul(instructions="Is it?")})


def made(url, **settings):
    return AsyncTypeSafeClient(api_key=KEY, base_url=url, **settings)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


async def until(condition):
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def test_many_at_once(mock):
    async def main():
        async with made(mock) as client:
            responses = await asyncio.gather(*(client.system_one(f"state {number}", Q) for number in range(200)))
        return {response.request_id for response in responses}, {response.valid for response in responses}

    identities, valid = asyncio.run(main())
    assert len(identities) == 200 and valid == {True}


def test_one_client_for_100_loops_one_after_another(mock):
    client = made(mock)

    async def once():
        return (await client.system_one("x", Q)).status

    asyncio.run(once())
    gc.collect()
    before = descriptors()
    assert {asyncio.run(once()) for _ in range(100)} == {200}
    gc.collect()
    assert descriptors() <= before + 8
    asyncio.run(client.aclose())
    assert len(client._loops) == 0


def test_eight_threads_with_a_loop_each_on_one_client(mock):
    client = made(mock)
    seen = []

    async def work():
        for _ in range(10):
            seen.extend([response.status for response in await asyncio.gather(*(client.system_one("x", Q) for _ in range(5)))])

    threads = [threading.Thread(target=asyncio.run, args=(work(),)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert seen == [200] * 400
    asyncio.run(client.aclose())


def test_errors(scripted):
    server = scripted(reply(401, b'{"detail":"no"}'))

    async def main():
        async with made(server.url) as client:
            with pytest.raises(deemster.TypeSafeAuthenticationError):
                await client.system_one("x", Q)
            with pytest.raises(deemster.TypeSafeStateError):
                await client.system_one(object(), Q)
            with pytest.raises(deemster.TypeSafeQuestionError):
                await client.system_one("x", {})
            with pytest.raises(deemster.TypeSafeAuthenticationError):
                await client.models.list()

    asyncio.run(main())


def test_cancelling_a_task_cancels_its_request(scripted):
    server = scripted(None)

    async def main():
        async with made(server.url, retry=RetryPolicy()) as client:
            task = asyncio.create_task(client.system_one("x", Q))
            await until(lambda: server.requests)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            inside = client._loop_client()
            await until(lambda: not inside.waiting)
        return len(server.requests)

    assert asyncio.run(main()) == 1


def test_timeout_around_a_call(scripted):
    server = scripted(None, reply())

    async def main():
        async with made(server.url) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.system_one("x", Q), 0.05)
            return (await client.system_one("x", Q)).nouls["q"].noul

    assert asyncio.run(main()) == 0.9


def test_limits_of_the_library(scripted):
    server = scripted(None)

    async def main():
        async with made(server.url, retry=RetryPolicy(max_retries=0)) as client:
            with pytest.raises(deemster.TypeSafeAPITimeoutError):
                await client.system_one("x", Q, timeout=0.05)
            with pytest.raises(deemster.TypeSafeDeadlineError):
                await client.system_one("x", Q, deadline=0.05)

    asyncio.run(main())


def test_close_ends_what_is_under_way(scripted):
    server = scripted(None)

    async def main():
        client = made(server.url)
        tasks = [asyncio.create_task(client.system_one("x", Q)) for _ in range(5)]
        await until(lambda: len(server.requests) == 5)
        await client.aclose()
        await client.aclose()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(deemster.TypeSafeClosedError):
            await client.system_one("x", Q)
        return {type(outcome) for outcome in outcomes}

    assert asyncio.run(main()) == {deemster.TypeSafeClosedError}


def test_close_from_another_loop_while_the_first_one_runs(scripted):
    server = scripted(None)
    client = made(server.url)
    outcome = []

    async def call():
        try:
            await client.system_one("x", Q)
        except deemster.TypeSafeError as error:
            outcome.append(type(error))

    thread = threading.Thread(target=asyncio.run, args=(call(),))
    thread.start()
    while not server.requests:
        time.sleep(0.005)
    asyncio.run(client.aclose())
    thread.join(5)
    assert outcome == [deemster.TypeSafeClosedError]


def test_close_after_the_loop_is_gone(mock):
    client = made(mock)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(client.system_one("x", Q))
    loop.close()
    asyncio.run(client.aclose())
    asyncio.run(client.aclose())


def test_a_loop_closed_with_a_call_under_way(scripted):
    server = scripted(None)
    client = made(server.url)
    loop = asyncio.new_event_loop()
    task = loop.create_task(client.system_one("x", Q))
    loop.run_until_complete(until(lambda: server.requests))
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
    asyncio.run(client.aclose())


def test_a_sync_client_inside_a_running_loop(mock):
    async def main():
        with deemster.TypeSafeClient(api_key=KEY, base_url=mock) as client:
            return client.system_one("x", Q).status

    assert asyncio.run(main()) == 200


def test_contextvars_reach_logging(mock):
    variable = contextvars.ContextVar("variable")
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(variable.get())

    logger, handler = logging.getLogger("deemster"), Handler()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)

    async def call(client, number):
        variable.set(number)
        await client.system_one("x", Q)

    async def main():
        async with made(mock) as client:
            await asyncio.gather(*(call(client, number) for number in range(5)))

    try:
        asyncio.run(main())
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert sorted(seen) == [0, 1, 2, 3, 4]


def test_uvloop(mock):
    uvloop = pytest.importorskip("uvloop")

    async def main():
        async with made(mock) as client:
            return [response.status for response in await asyncio.gather(*(client.system_one("x", Q) for _ in range(50)))]

    loop = uvloop.new_event_loop()
    try:
        assert loop.run_until_complete(main()) == [200] * 50
    finally:
        loop.close()


def test_anyio_on_asyncio(mock):
    import anyio

    async def main():
        statuses = []
        async with made(mock) as client:

            async def call():
                statuses.append((await client.system_one("x", Q)).status)

            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(call)
            with anyio.move_on_after(0):
                await client.system_one("x", Q)
        return statuses

    assert anyio.run(main) == [200] * 10


def test_own_retry_rules(scripted):
    server = scripted(reply(418), reply(418), reply())

    async def main():
        policy = RetryPolicy(backoff_initial=0, predicate=lambda error: getattr(error, "status", None) == 418)
        async with made(server.url, retry=policy) as client:
            return (await client.system_one("x", Q)).status

    assert asyncio.run(main()) == 200 and len(server.requests) == 3


def test_a_client_is_pickled_without_its_key(monkeypatch):
    import pickle

    data = pickle.dumps(made("http://127.0.0.1:1", model="m"))
    assert KEY.encode() not in data
    monkeypatch.setenv("TYPESAFE_API_KEY", "from-environment")
    again = pickle.loads(data)
    assert repr(again) == "AsyncTypeSafeClient(base_url='http://127.0.0.1:1', model='m')" and again._config.api_key == "from-environment"
