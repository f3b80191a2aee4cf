"""Signals, fork, spawn, interpreter exit, garbage collection: no hang, no crash, no message. Each case is a process."""

import os
import subprocess
import sys

import pytest
from conftest import KEY

HEAD = """
import asyncio, gc, os, signal, sys, threading, time
import deemster
from deemster import AsyncTypeSafeClient, Noul, QuestionSet, RetryPolicy, TypeSafeClient
URL, KEY = sys.argv[1:3]
Q = QuestionSet({"q": Noul(instructions="Is it?")})
def after(seconds, function, *arguments):
    timer = threading.Timer(seconds, function, arguments); timer.daemon = True; timer.start()
"""


def run(program, url, *options, code=0):
    """Runs a program in a fresh interpreter; its exit code and its silence on stderr are checked, its output is returned."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TYPESAFE_")}
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", *options, "-c", HEAD + program, url, KEY],
        capture_output=True, text=True, timeout=60, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, ""), done.stderr
    return done.stdout.split()


SIGNALS = {
    "a handler that returns lets the call finish": (
        """
calls = []
signal.signal(signal.SIGUSR1, lambda *_: calls.append(1))
for delay in (0.1, 0.2): after(delay, os.kill, os.getpid(), signal.SIGUSR1)
with TypeSafeClient(api_key=KEY, base_url=URL) as client:
    print(client.system_one("x", Q).attempts, len(calls))
""",
        ["1", "2"],
    ),
    "Ctrl-C ends the call at once": (
        """
after(0.1, os.kill, os.getpid(), signal.SIGINT)
client = TypeSafeClient(api_key=KEY, base_url=URL)
start = time.monotonic()
try: client.system_one("x", Q)
except KeyboardInterrupt: print("interrupted", time.monotonic() - start < 0.45)
print(client.system_one("x", Q).attempts)
""",
        ["interrupted", "True", "1"],
    ),
    "a handler that raises cancels the call": (
        """
class Own(Exception): pass
def handler(*_): raise Own
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
client = TypeSafeClient(api_key=KEY, base_url=URL)
try: client.system_one("x", Q)
except Own: print("own")
for _ in range(3): print(client.system_one("x", Q).attempts)
""",
        ["own", "1", "1", "1"],
    ),
    "a handler that makes a call of its own": (
        """
client = TypeSafeClient(api_key=KEY, base_url=URL)
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(client.system_one("inner", Q).status))
after(0.1, os.kill, os.getpid(), signal.SIGUSR1)
print(client.system_one("outer", Q).status, seen[0])
""",
        ["200", "200"],
    ),
    "a signal while a thread calls": (
        """
client = TypeSafeClient(api_key=KEY, base_url=URL)
signal.signal(signal.SIGUSR1, lambda *_: None)
seen = []
threads = [threading.Thread(target=lambda: seen.append(client.system_one("x", Q).status)) for _ in range(4)]
[t.start() for t in threads]
time.sleep(0.1); os.kill(os.getpid(), signal.SIGUSR1)
[t.join() for t in threads]
print(*seen)
""",
        ["200"] * 4,
    ),
    "Ctrl-C in asyncio": (
        """
async def main():
    async with AsyncTypeSafeClient(api_key=KEY, base_url=URL) as client:
        await client.system_one("x", Q)
after(0.1, os.kill, os.getpid(), signal.SIGINT)
try: asyncio.run(main())
except KeyboardInterrupt: print("interrupted")
""",
        ["interrupted"],
    ),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name, mock_with):
    program, expected = SIGNALS[name]
    assert run(program, mock_with("--latency=500")) == expected


FORKS = {
    "a client from before the fork works in parent and child": """
client = TypeSafeClient(api_key=KEY, base_url=URL)
first = client.system_one("parent", Q).request_id
child = os.fork()
if child == 0:
    identities = {client.system_one("child", Q).request_id for _ in range(5)}
    os._exit(0 if len(identities) == 5 and first not in identities else 3)
after = {client.system_one("parent", Q).request_id for _ in range(5)}
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(after))
""",
    "a fork while threads call": """
client = TypeSafeClient(api_key=KEY, base_url=URL)
stop, seen = threading.Event(), []
def work():
    while not stop.is_set(): seen.append(client.system_one("x", Q).status)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
codes = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if client.system_one("child", Q).status == 200 else 3)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set(); [t.join() for t in threads]
print(max(codes), 5 if set(seen) == {200} else seen)
""",
    "an async client from before the fork": """
client = AsyncTypeSafeClient(api_key=KEY, base_url=URL)
async def once(): return (await client.system_one("x", Q)).status
asyncio.run(once())
child = os.fork()
if child == 0:
    os._exit(0 if asyncio.run(once()) == 200 else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 5 if asyncio.run(once()) == 200 else 0)
asyncio.run(client.aclose())
""",
}


@pytest.mark.parametrize("name", FORKS)
def test_forks(name, mock):
    options = ("-W", "ignore::DeprecationWarning") if sys.version_info >= (3, 12) else ()
    assert run(FORKS[name], mock, *options) == ["0", "5"]


WORKERS = """
import concurrent.futures, multiprocessing
def work(client): return client.system_one("x", Q).status
def pool(method):
    client = TypeSafeClient(api_key=KEY, base_url=URL)
    client.system_one("x", Q)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as executor:
        return list(executor.map(work, [client] * 4))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, mock, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(HEAD + WORKERS + f"\nif __name__ == '__main__': print(*pool({method!r}))\n")
    environment = {**os.environ, "TYPESAFE_API_KEY": KEY}
    done = subprocess.run([sys.executable, str(file), mock, KEY], capture_output=True, text=True, timeout=60, env=environment)
    assert (done.stdout.split(), done.returncode) == (["200"] * 4, 0), done.stderr


EXITS = {
    "from the main thread with a call in a daemon thread": """
client = TypeSafeClient(api_key=KEY, base_url=URL)
threading.Thread(target=lambda: client.system_one("x", Q), daemon=True).start()
time.sleep(0.1); print("done")
""",
    "with many calls in daemon threads and the client dropped": """
client = TypeSafeClient(api_key=KEY, base_url=URL)
for _ in range(16): threading.Thread(target=client.system_one, args=("x", Q), daemon=True).start()
time.sleep(0.1); del client; print("done")
""",
    "with an open async client and calls under way": """
client = AsyncTypeSafeClient(api_key=KEY, base_url=URL)
async def main():
    tasks = [asyncio.ensure_future(client.system_one("x", Q)) for _ in range(5)]
    await asyncio.sleep(0.05)
    [task.cancel() for task in tasks]
    await asyncio.gather(*tasks, return_exceptions=True)
asyncio.run(main()); print("done")
""",
    "with clients in a reference cycle": """
class Holder: pass
for _ in range(20):
    holder = Holder(); holder.self = holder; holder.client = TypeSafeClient(api_key=KEY, base_url=URL)
    holder.response = None
del holder; gc.collect(); print("done")
""",
    "with responses in module globals": """
client = TypeSafeClient(api_key=KEY, base_url=URL, deadline=5)
kept = [client.system_one("x", Q)]
kept[0].answers
print("done")
""",
    "by sys.exit in a thread's shadow": """
client = TypeSafeClient(api_key=KEY, base_url=URL)
thread = threading.Thread(target=lambda: client.system_one("x", Q), daemon=True); thread.start()
time.sleep(0.05); print("done"); sys.exit(0)
""",
}


@pytest.mark.parametrize("name", EXITS)
def test_exits(name, mock_with):
    latency = "300" if "responses" in name else "30000"
    assert run(EXITS[name], mock_with(f"--latency={latency}")) == ["done"]


def test_clients_are_collected(mock):
    program = """
def descriptors(): return len(os.listdir("/proc/self/fd"))
def once():
    client = TypeSafeClient(api_key=KEY, base_url=URL)
    client.system_one("x", Q)
once(); gc.collect(); before = descriptors()
for _ in range(50): once()
gc.collect(); print(descriptors() <= before)
async def main():
    client = AsyncTypeSafeClient(api_key=KEY, base_url=URL)
    await client.system_one("x", Q)
asyncio.run(main()); gc.collect(); before = descriptors()
for _ in range(20): asyncio.run(main())
gc.collect(); print(descriptors() <= before + 1)
"""
    assert run(program, mock) == ["True", "True"]


def test_a_hundred_thousand_calls_leave_memory_flat(mock_with):
    program = """
def resident():
    with open("/proc/self/statm") as file: return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
client = TypeSafeClient(api_key=KEY, base_url=URL)
plain = {"q": Noul(instructions="Is it?"), "c": {"type": "choice", "criteria": {"a": None, "b": None}}}
def calls(count):
    for number in range(count):
        response = client.system_one({"number": number}, plain if number % 2 else Q)
        response.nouls["q"].noul, response.request_id
calls(20_000); gc.collect(); before = resident()
calls(100_000); gc.collect()
grown = resident() - before
print("flat" if grown < 1 << 20 else grown)
"""
    assert run(program, mock_with()) == ["flat"]
