"""The measurements. Every phase compares the mock's count with the calls that the contestants report."""
import contextlib
import random
import time
from dataclasses import dataclass

import figures
import workload
from identity import Watch
from places import WORK
from process import ContestantFailed, Mock, Running, tidy


@dataclass(frozen=True)
class Plan:
    """How much is done; the full plan's published experiment is that of Minos.NET, call for call."""

    warm_s: float = 2
    warm_calls: int = 200
    rounds: int = 20
    calls: int = 100
    window_s: float = 10
    ceiling: tuple = (16, 32, 64)
    level_warm_s: float = 0.2
    level_s: float = 0.8
    slow_ms: int = 100
    slow_s: float = 1.0
    small: tuple = (1, 16, 64, 256, 1024)
    slow: tuple = (1, 16, 64, 256, 1024)
    big: tuple = (1, 16, 64)
    tls: tuple = (1, 16)
    idle_s: float = 5
    idle_times: int = 3
    cold: int = 3
    traced: int = 200
    counted: tuple = (200, 600)
    samples: int = 1000
    stale: bool = True
    verdicts: bool = True


FULL = Plan()
SMOKE = Plan(warm_s=0.1, warm_calls=10, rounds=4, calls=5, window_s=0.3, ceiling=(16,), level_warm_s=0.1, level_s=0.2, slow_ms=20, slow_s=0.2,
             small=(1, 16), slow=(16,), big=(1,), tls=(1,), idle_s=0.2, idle_times=1, cold=1, traced=20, counted=(20, 40), samples=100)
WORKERS = 16


class Failed(Exception):
    """The run as a whole is worth nothing; the text says why."""


class Run:
    def __init__(self, contestants, plan, cores, say, rotation=None):
        self.plan, self.say = plan, say
        self.mock_cores, self.client_cores = cores
        self.contestants = list(contestants)
        self.rotation = random.randrange(len(self.contestants)) if rotation is None else rotation % len(self.contestants)
        self.results = {contestant.name: {} for contestant in self.contestants}
        self.left_out = []
        self.running, self.phases = {}, []
        self.minos = workload.minos(WORK)
        self.mock = None

    def order(self, shift=0):
        """The contestants still there, starting at the one whose turn it is."""
        start = (self.rotation + shift) % len(self.contestants)
        return [one for one in self.contestants[start:] + self.contestants[:start] if one.name in self.running]

    def drop(self, contestant, reason):
        reason = tidy(reason)
        self.left_out.append((contestant.name, contestant.language, reason))
        self.say(f"  {contestant.name} is left out: {reason}")
        running = self.running.pop(contestant.name, None)
        if running:
            running.kill()

    @contextlib.contextmanager
    def phase(self, name, mock=None):
        """Notes how busy others were, and fails the run when calls and counts differ."""
        mock = mock or self.mock
        note = {"phase": name, "calls": 0}
        before, start = mock.count(), time.monotonic()
        watch = Watch(lambda: [mock.pid, *[one.process.pid for one in self.running.values()]])
        yield note
        note["seconds"] = round(time.monotonic() - start, 2)
        note["others_cores"] = watch.others()
        note["counted"] = mock.count() - before
        self.phases.append(note)
        if note["counted"] != note["calls"]:
            raise Failed(f"{name}: the mock counted {note['counted']} requests, the contestants made {note['calls']} calls")

    def measured(self, note, reply):
        """Adds a reply's calls to the phase; failed calls are an error of the contestant."""
        note["calls"] += reply["calls"] + reply.get("warm_calls", 0)
        if reply["failures"]:
            raise ContestantFailed(f"{reply['failures']} of {reply['calls']} calls failed: {reply['error']}")
        return reply

    def start_mock(self):
        self.mock = Mock(self.mock_cores, "--fixed", "minos")

    def published(self):
        """The experiment of Minos.NET: start-up, latency, throughput, ceiling."""
        self.start_up()
        self.latency()
        self.throughput()
        self.ceiling()

    def start_up(self):
        with self.phase("start-up") as note:
            for contestant in self.contestants:
                try:
                    self.running[contestant.name] = running = Running(contestant, self.client_cores)
                    opened = running.open(self.mock.url, self.minos, in_flight=64)
                    result = self.results[contestant.name]
                    result["library"] = {name: running.hello[name] for name in ("library", "version", "runtime")}
                    result["open_us"] = opened["open_us"]
                    for _ in range(3):
                        note["calls"] += 1
                        check(running.ask("answer"))
                    seconds = 0 if contestant.process_per_call else self.plan.warm_s
                    reply = running.ask("load", in_flight=WORKERS, warm_s=0, seconds=seconds, samples=1, limit=120)
                    self.measured(note, reply)
                except ContestantFailed as reason:
                    self.drop(contestant, str(reason))

    def latency(self):
        plan = self.plan
        with self.phase("latency") as note:
            rounds = {contestant.name: [] for contestant in self.order()}
            for contestant in self.order():
                calls = 3 if contestant.process_per_call else plan.warm_calls
                self.measured(note, self.running[contestant.name].ask("latency", calls=calls))
            cpu = dict.fromkeys(rounds, 0)
            for number in range(plan.rounds):
                for contestant in self.order(number):
                    calls = 2 if contestant.process_per_call else plan.calls
                    reply = self.measured(note, self.running[contestant.name].ask("latency", calls=calls))
                    rounds[contestant.name].append(reply["samples"])
                    cpu[contestant.name] += reply["cpu_us"]
        for name, samples in rounds.items():
            pooled = [value for one in samples for value in one]
            self.results[name]["latency"] = {
                **figures.summary(pooled), "median_interval": [round(value / 1000, 2) for value in figures.interval(figures.latency_draws(samples))],
                "cpu_us": round(cpu[name] / len(pooled), 2), "others_cores": note["others_cores"], "rounds_ns": samples,
            }  # fmt: skip

    def throughput(self):
        plan = self.plan
        for contestant in self.order():
            if contestant.process_per_call:
                continue
            running, result = self.running[contestant.name], self.results[contestant.name]
            with self.phase(f"throughput {contestant.name}") as note:
                connections, received = self.mock.traffic()
                reply = running.ask("load", in_flight=WORKERS, warm_s=plan.warm_s, seconds=plan.window_s, samples=plan.samples, limit=120)
                self.measured(note, reply)
                after, received_after = self.mock.traffic()
            result["throughput"] = {**self.rate(reply), "others_cores": note["others_cores"], "in_flight": WORKERS}
            # The connections of the whole life of the client so far are what it needs for 16 workers.
            result["bytes_sent"] = round((received_after - received) / (reply["calls"] + reply["warm_calls"]), 1)
            result["new_connections"] = after - connections
            result["peak_rss_kb"] = running.peak_rss_kb()

    def rate(self, reply):
        rate = reply["calls"] / reply["elapsed_ns"] * 1e9
        return {"per_second": round(rate, 1), "interval": [round(value, 1) for value in figures.interval(figures.rate_draws(reply["buckets"]))],
                "cpu_us": round(reply["cpu_us"] / max(1, reply["calls"]), 2), "calls": reply["calls"], **figures.summary(reply["samples"]),
                "buckets": reply["buckets"], "samples_ns": reply["samples"]}

    def ceiling(self):
        """The best rate of the raw client: what the mock can answer."""
        floor = next((one for one in self.contestants if one.name == "c-raw-epoll" and one.name in self.running), None)
        self.best = None
        if not floor:
            return
        running, rates = self.running[floor.name], {}
        with self.phase("ceiling") as note:
            self.measured(note, running.ask("load", in_flight=64, warm_s=0, seconds=self.plan.warm_s, samples=1))
            for workers in self.plan.ceiling:
                reply = running.ask("load", in_flight=workers, warm_s=0, seconds=self.plan.window_s, samples=1)
                rates[workers] = round(self.measured(note, reply)["calls"] / reply["elapsed_ns"] * 1e9, 1)
        self.best = {"per_second": max(rates.values()), "by_workers": rates, "others_cores": note["others_cores"]}

    def idle(self):
        """One call after a pause in which nobody called, and whether it needed a new connection."""
        plan = self.plan
        taken = {contestant.name: [] for contestant in self.order()}
        opened = dict.fromkeys(taken, 0)
        with self.phase("idle") as note:
            for contestant in self.order():
                self.measured(note, self.running[contestant.name].ask("latency", calls=1))
            for number in range(plan.idle_times):
                time.sleep(plan.idle_s)
                for contestant in self.order(number):
                    before = self.mock.traffic()[0]
                    reply = self.measured(note, self.running[contestant.name].ask("latency", calls=1))
                    taken[contestant.name] += reply["samples"]
                    opened[contestant.name] += self.mock.traffic()[0] - before
        for name, samples in taken.items():
            self.results[name]["idle"] = {"pause_s": plan.idle_s, "samples_ns": samples, "new_connections": opened[name], **figures.summary(samples)}

    def close_all(self):
        for running in self.running.values():
            running.stop()
        self.running.clear()

    def levels(self, title, mock, work, levels, seconds, ca=""):
        """Calls in flight, contestant by contestant, a fresh process each."""
        more = {"SSL_CERT_FILE": ca, "NODE_EXTRA_CA_CERTS": ca} if ca else {}
        names = [one for one in self.contestants if self.results[one.name].get("latency") and one.in_flight]
        for contestant in names[self.rotation % len(names):] + names[:self.rotation % len(names)]:
            found = self.results[contestant.name].setdefault("levels", {}).setdefault(title, {})
            if ca and not contestant.tls:
                found["skipped"] = contestant.note
                continue
            running = None
            for level in levels:
                try:
                    if running is None:
                        running = Running(contestant, self.client_cores, more)
                        if not mock.fixed:
                            expect_what_it_gets(running, mock, work, ca)
                        running.open(mock.url, work, in_flight=max(levels), ca=ca)
                    found[str(level)] = self.level(running, mock, level, seconds)
                except ContestantFailed as reason:
                    found[str(level)] = {"failed": tidy(str(reason))}
                    if running:
                        running.kill()
                    running = None
            if running:
                running.stop()

    def level(self, running, mock, level, seconds):
        watch = Watch(lambda: [mock.pid, running.process.pid])
        before, connections = mock.count(), mock.traffic()[0]
        reply = running.ask("load", in_flight=level, warm_s=self.plan.level_warm_s, seconds=seconds, samples=self.plan.samples)
        if reply["failures"]:
            raise ContestantFailed(f"{reply['failures']} of {reply['calls']} calls failed: {reply['error']}")
        made, counted = reply["calls"] + reply["warm_calls"], mock.count() - before
        if made != counted:
            raise ContestantFailed(f"{counted} requests arrived for {made} calls")
        found = {**self.rate(reply), "connections": mock.traffic()[0] - connections, "peak_rss_kb": running.peak_rss_kb(),
                 "others_cores": watch.others()}
        del found["buckets"]
        found["samples_ns"] = found["samples_ns"][::4]
        return found

    def cold(self):
        """Fresh processes: from their start to ready, the import, the client, the first call."""
        for contestant in [one for one in self.contestants if self.results[one.name].get("latency")]:
            seen = []
            for _ in range(self.plan.cold):
                running = Running(contestant, self.client_cores)
                opened = running.open(self.mock.url, self.minos)
                first = running.ask("latency", calls=1)["samples"][0]
                seen.append({"start_us": running.start_us, "import_us": running.hello["import_us"], "open_us": opened["open_us"],
                             "first_call_us": first / 1000})
                running.stop()
            middle = len(seen) // 2
            self.results[contestant.name]["cold"] = {key: round(sorted(one[key] for one in seen)[middle], 1) for key in seen[0]}


def expect_what_it_gets(running, mock, work, ca):
    """The faithful mock answers from the request, and libraries do not all write a question alike: asks once what the answer is."""
    running.open(mock.url, work, ca=ca)
    reply = running.ask("verdict")
    if not 0 <= reply.get("noul", -1) <= 1:
        raise ContestantFailed(reply.get("error", "no answer"))
    work.opening["want_noul"] = reply["noul"]
    running.ask("close")


def check(answer):
    """The full check of one answer; those who read by hand hand over the body as it came."""
    if "body" in answer:
        import json
        reply = json.loads(answer["body"])
        intent = reply["answers"]["intent"]
        answer = {"model": reply["model"], "noul": reply["answers"]["travels_within24_hours"]["noul"], "choice": intent["choice"],
                  "confidence": intent["confidence"], "probabilities": intent["probabilities"]}
    if answer.get("error"):
        raise ContestantFailed(answer["error"])
    if answer != workload.MINOS_ANSWER:
        raise ContestantFailed(f"a wrong answer: {answer}")
