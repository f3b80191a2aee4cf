"""deemster batch killed with SIGKILL at random moments and gone on with: the output must be that of a run that was
left alone, nothing journalled may be asked again, and no more than what was in flight.
usage: test_kill.py [ROWS KILLS]; a few rows by default, ./dev soak runs the long one."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import batches
from batches import Mock, lines, rows_of, steady

WAYS = {"plain": [], "question": ["--pack", "question:16"], "state shuffled": ["--pack", "state:8", "--pack-shuffle", "5"],
        "unordered": ["--unordered"]}
CONCURRENCY = 8


def journalled(path):
    """Positions of the rows in the whole records of a journal; a torn record at the end counts for nothing."""
    if not path.exists():
        return set()
    data = path.read_bytes()
    found, at = set(), 0
    key = re.match(rb"deemster-journal 1 \S+ \S+ (\d+)\n", data)
    if key is None:
        return found
    at = key.end() + int(key[1]) + 1
    while True:
        head = re.match(rb"R (\d+) ([0-9a-f]+)\n", data[at:at + 64])
        if head is None or at + head.end() + int(head[1]) > len(data):
            return found
        body = data[at + head.end():at + head.end() + int(head[1])]
        at += head.end() + int(head[1])
        first, _, rest = body.partition(b"\n")
        rest = rest[sum(map(int, first.split()[-2:])):]
        while rest:
            line, _, rest = rest.partition(b"\n")
            fields = line.split()
            found.add(int(fields[0]))
            rest = rest[int(fields[-1]) + 1:]


class Kills:
    def __init__(self, mock, folder, more, rows):
        self.mock, self.folder, self.rows = mock, Path(folder), rows
        self.command = batches.arguments("in.jsonl", "-o", "out.jsonl", "--concurrency", str(CONCURRENCY), "--resume", *more)
        self.journal = self.folder / "out.jsonl.journal"
        self.pack_of = range(rows)
        (self.folder / "in.jsonl").write_text(lines(rows))
        (self.folder / "questions.json").write_text(json.dumps(batches.QUESTIONS))

    def start(self):
        return subprocess.Popen(self.command, cwd=self.folder, env=batches.variables(self.mock), stderr=subprocess.PIPE)

    def requests(self):
        return self.mock.stats()["requests"]

    def finish(self):
        """Runs to the end; returns (rows, requests made, seconds)."""
        before, begun = self.requests(), time.monotonic()
        process = self.start()
        err = process.stderr.read()
        assert process.wait(300) == 0, err
        return rows_of((self.folder / "out.jsonl").read_bytes()), self.requests() - before, time.monotonic() - begun

    def forget(self):
        for name in ("out.jsonl", "out.jsonl.journal"):
            (self.folder / name).unlink(missing_ok=True)

    def kill(self, after):
        """Kills one run after so many seconds; returns the rows that its requests asked about beyond the journal's."""
        known, before = journalled(self.journal), self.requests()
        process = self.start()
        time.sleep(after)
        process.kill()
        process.wait()
        process.stderr.close()
        self.settle()
        now = journalled(self.journal)
        assert known <= now, "a journalled row was lost"
        answered, asked = self.packs(now - known), self.requests() - before
        assert answered <= asked <= answered + CONCURRENCY, f"{asked} requests for {answered} journalled ones"
        return len(now)

    def packs(self, positions):
        """How many requests the rows at these positions make."""
        return len({self.pack_of[position] for position in positions})

    def settle(self):
        """Waits until the mock has counted what the killed run had sent."""
        last = -1
        while last != self.requests():
            last = self.requests()
            time.sleep(0.02)


def run(name, more, rows, kills, chance):
    with Mock("--quiet", "--latency", "2") as mock, tempfile.TemporaryDirectory() as folder:
        test = Kills(mock, folder, more, rows)
        whole, requests, seconds = test.finish()
        if "--unordered" in more:
            whole.sort(key=lambda row: row["row"])
        assert len(whole) == rows
        test.pack_of = [row.get("pack", {"id": row["row"]})["id"] for row in whole]
        assert test.packs(range(rows)) == requests
        test.forget()
        done, rounds = 0, 0
        for _ in range(kills):
            kept = test.kill(chance.uniform(0.003, seconds / 4 + 0.05))
            done += 1
            if kept < rows and done < kills:
                continue
            left = set(range(rows)) - journalled(test.journal)
            found, asked, _ = test.finish()
            if "--unordered" in more:
                found.sort(key=lambda row: row["row"])
            assert asked == test.packs(left), f"{asked} requests for {len(left)} rows"
            assert steady(found) == steady(whole), f"{name}: the output differs after {rounds} rounds"
            rounds += 1
            test.forget()
        print(f"{name}: {rows} rows in {requests} requests, killed {done} times over {rounds} resumed runs", flush=True)


def main(rows=600, kills=15):
    seed = int(os.environ.get("SEED", time.time_ns() % 100000))
    chance = random.Random(seed)
    passed = failed = 0
    for name, more in WAYS.items():
        try:
            run(name, more, int(rows), max(1, int(kills) // len(WAYS)), chance)
            passed += 1
        except AssertionError as error:
            print(f"FAILED {name} (SEED={seed}): {error}")
            failed += 1
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
