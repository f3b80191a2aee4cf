"""What every contestant written in Python shares: one JSON object a line in, one a line out (README.md has the operations).

A contestant calls serve() with a class. Its instance is made with the setup; `call()` makes one call and returns the checked
choice (None when none is asked) and noul; `answer()` makes one and returns the whole answer; `close()` ends it. All three may
be coroutines.
"""

import asyncio
import inspect
import json
import os
import platform
import resource
import sys
import threading
from time import perf_counter_ns as now


class Setup:
    """What a client is opened with; `workload` holds state, model, questions."""

    def __init__(self, line):
        self.__dict__.update(line)
        with open(os.path.join(line["folder"], "workload.json"), encoding="utf-8") as file:
            workload = json.load(file)
        self.state, self.questions = workload["state"], workload["questions"]
        self.want = (self.want_choice if self.choice_key else None, self.want_noul)

    def question_objects(self, sdk):
        """The questions as the objects of an SDK with the official names."""
        kinds = {"noul": sdk.Noul, "choice": sdk.Choice, "score": sdk.Score}
        return {
            name: kinds[question["type"]](**{key: value for key, value in question.items() if key != "type"})
            for name, question in self.questions.items()
        }

    def picked(self, answers):
        """The two checked answers out of a decoded `answers` object."""
        return answers[self.choice_key]["choice"] if self.choice_key else None, answers[self.noul_key]["noul"]

    def whole(self, reply):
        """The whole answer out of a decoded reply."""
        answers = reply["answers"]
        whole = {"model": reply["model"], "noul": answers[self.noul_key]["noul"]}
        if self.choice_key:
            choice = answers[self.choice_key]
            whole.update(choice=choice["choice"], confidence=choice["confidence"], probabilities=choice["probabilities"])
        return whole


    def picked_typed(self, result):
        """As picked(), out of a result with the official SDK's views `choices` and `nouls`."""
        return result.choices[self.choice_key].choice if self.choice_key else None, result.nouls[self.noul_key].noul

    def whole_typed(self, result):
        whole = {"model": result.model, "noul": result.nouls[self.noul_key].noul}
        if self.choice_key:
            choice = result.choices[self.choice_key]
            whole.update(choice=choice.choice, confidence=choice.confidence, probabilities=dict(choice.probabilities))
        return whole


class Meter:
    """The calls of one operation: when each ended and how long it took, in nanoseconds."""

    def __init__(self, want, end=None, calls=0):
        self.want, self.end, self.left = want, end, calls
        self.finished, self.taken, self.failures, self.error = [], [], 0, ""

    def begin(self):
        if self.end is None:
            self.left -= 1
            return self.left >= 0 and now()
        time = now()
        return time < self.end and time

    def finish(self, begin, got):
        time = now()
        self.finished.append(time)
        self.taken.append(time - begin)
        if got != self.want:
            self.fail(f"wrong answer: {got}")

    def fail(self, error):
        self.failures += 1
        self.error = self.error or error

    def failed(self, begin, error):
        """Notes a call that raised."""
        time = now()
        self.finished.append(time)
        self.taken.append(time - begin)
        self.fail(described(error))

    def report(self, start, cpu, most):
        last = max(self.finished, default=start)
        buckets = [0] * ((last - start) // 100_000_000 + 1)
        for time in self.finished:
            buckets[(time - start) // 100_000_000] += 1
        stride = max(1, -(-len(self.taken) // most))
        return {
            "calls": len(self.taken), "failures": self.failures, "error": self.error, "elapsed_ns": last - start, "cpu_us": cpu,
            "samples": self.taken[::stride], "buckets": buckets,
        }  # fmt: skip


def described(error):
    status = getattr(error, "status_code", None) or getattr(error, "status", None) or ""
    return f"{type(error).__name__} {status} {error}"[:400]


def cpu_us():
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return int(total * 1e6)


def loop_sync(call, meter):
    while begin := meter.begin():
        try:
            meter.finish(begin, call())
        except Exception as error:
            meter.failed(begin, error)


async def loop_async(call, meter):
    while begin := meter.begin():
        try:
            meter.finish(begin, await call())
        except Exception as error:
            meter.failed(begin, error)


class Server:
    def __init__(self, factory):
        self.factory, self.client, self.setup = factory, None, None
        self.coroutines = inspect.iscoroutinefunction(factory.call)
        self.loop = asyncio.new_event_loop()

    def wait(self, result):
        """The value of a plain result or of a coroutine."""
        return self.loop.run_until_complete(result) if inspect.isawaitable(result) else result

    def run(self, meter, in_flight):
        call = self.client.call
        if self.coroutines:
            async def gather():
                await asyncio.gather(*(loop_async(call, meter) for _ in range(in_flight)))
            self.loop.run_until_complete(gather())
        elif in_flight == 1:
            loop_sync(call, meter)
        else:
            threads = [threading.Thread(target=loop_sync, args=(call, meter)) for _ in range(in_flight)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def measured(self, meter, in_flight, most):
        cpu, start = cpu_us(), now()
        self.run(meter, in_flight)
        return meter.report(start, cpu_us() - cpu, most)

    def op_open(self, line):
        self.setup = Setup(line)
        start = now()
        async def make():
            return self.factory(self.setup)
        try:
            self.client = self.loop.run_until_complete(make()) if self.coroutines else self.factory(self.setup)
        except Exception as error:
            return {"open_us": 0, "error": described(error)}
        return {"open_us": (now() - start) // 1000, "error": ""}

    def op_close(self, line):
        self.wait(self.client.close())
        self.client = None
        return {}

    def op_answer(self, line):
        return self.wait(self.client.answer())

    def op_verdict(self, line):
        begin = now()
        try:
            got = {"noul": self.wait(self.client.call())[1]}
        except Exception as error:
            got = {"error": described(error)}
        return {"taken_ns": now() - begin, **got}

    def op_latency(self, line):
        return self.measured(Meter(self.setup.want, calls=line["calls"]), 1, sys.maxsize)

    def op_load(self, line):
        warm = Meter(self.setup.want, end=now() + int(line["warm_s"] * 1e9))
        self.run(warm, line["in_flight"])
        meter = Meter(self.setup.want, end=now() + int(line["seconds"] * 1e9))
        return {"warm_calls": len(warm.taken), **self.measured(meter, line["in_flight"], line["samples"])}


def serve(factory, library, version, import_ns):
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # so that nothing a library prints is taken for a reply
    server = Server(factory)
    hello = {"library": library, "version": version, "runtime": f"Python {platform.python_version()}", "import_us": import_ns // 1000}
    print(json.dumps(hello), file=out, flush=True)
    for text in sys.stdin:
        line = json.loads(text)
        reply = getattr(server, "op_" + line["op"])(line)
        print(json.dumps(reply, default=float), file=out, flush=True)
    # What a client left open must not hold the process: the harness has all its numbers.
    os._exit(0)
