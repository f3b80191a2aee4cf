"""./dev compare: runs the contestants and writes one JSON report; then compare/harness/report.py writes the page.

usage: ./dev compare [--smoke] [--only NAME…] [--rotation N] [--out FILE] [--no-page] | --list
"""
import argparse
import json
import subprocess
import sys

import counting
import gates
import identity
import report
import verdicts
import workload
from contestants import ALL, LEFT_OUT
from experiment import FULL, SMOKE, Failed, Run
from places import RESULTS, WORK
from prepare import jevcompat, prepare
from process import ContestantFailed, Mock

FORMAT = 1


def say(text):
    print(text, flush=True)


def chosen(names):
    known = {contestant.name for contestant in ALL} | {contestant.environment for contestant in ALL}
    unknown = set(names) - known
    if unknown:
        raise SystemExit(f"./dev compare knows no contestant {sorted(unknown)[0]!r}; --list names them.")
    return [one for one in ALL if not names or one.name in names or one.environment in names]


def certificates():
    """A certificate authority and a server's certificate for the TLS measurements, made when missing."""
    folder = WORK / "tls"
    folder.mkdir(parents=True, exist_ok=True)
    authority, certificate, key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
    if not authority.exists():
        subprocess.run([*new, "-subj", "/CN=compare", "-keyout", folder / "ca-key.pem", "-out", authority], check=True, capture_output=True)
        subprocess.run([*new, "-subj", "/CN=localhost", "-CA", authority, "-CAkey", folder / "ca-key.pem",
                        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return authority, certificate, key


def scenarios(run):
    plan = run.plan
    big, reply = workload.big(WORK)
    authority, certificate, key = certificates()
    mocks = [
        ("small, at once", run.minos, plan.small, plan.level_s, "", ["--fixed", "minos"]),
        (f"small, after {plan.slow_ms} ms", run.minos, plan.slow, plan.slow_s, "", ["--fixed", "minos", "--latency", plan.slow_ms]),
        ("big, at once", big, plan.big, plan.level_s, "", ["--fixed", reply]),
        ("small, TLS", workload.one_noul(WORK), plan.tls, plan.level_s, str(authority), ["--tls", certificate, key]),
    ]
    for title, work, levels, seconds, ca, options in mocks:
        say(f"in flight: {title}, {', '.join(map(str, levels))}")
        mock = Mock(run.mock_cores, *options)
        try:
            run.levels(title, mock, work, levels, seconds, ca)
        finally:
            mock.stop()


def counts(run):
    """Fresh processes alone: system calls for all, instructions and allocations for C."""
    for contestant in run.contestants:
        result = run.results[contestant.name]
        if not result.get("latency") or contestant.process_per_call:
            continue
        try:
            result["system_calls"] = counting.system_calls(contestant, run.client_cores, run.mock, run.minos, run.plan.traced)
            if contestant.counted:
                result["counted"] = counting.instructions_and_allocations(contestant, run.client_cores, run.mock, run.minos, run.plan.counted)
        except (ContestantFailed, subprocess.TimeoutExpired) as reason:
            result.setdefault("system_calls", None)
            say(f"  {contestant.name}: not counted: {reason}")


def odd(run, smoke):
    able = [one for one in run.contestants if one.verdict and run.results[one.name].get("latency")]
    every = verdicts.cases()
    if smoke:
        every = [case for case in every if case["name"] in ("plain", "onepoint2", "s401")]
    say(f"verdicts: {len(every)} odd replies, {len(able)} contestants")
    found = {"replies": verdicts.odd_replies(able, run.client_cores, every),
             "from": {case["name"]: case.get("from", "") for case in every}}
    say("verdicts: jevcompat's faults")
    found["faults"] = verdicts.faults(able, run.client_cores, jevcompat(), ["noul-range", "xssi-200"] if smoke else None)
    say("verdicts: stale connections")
    for contestant in able:
        run.results[contestant.name]["stale"] = verdicts.stale(contestant, run.client_cores)
    return found


def measure(run, smoke):
    run.start_mock()
    try:
        say(f"published experiment: {len(run.contestants)} contestants, rotation {run.rotation}")
        run.published()
        say("idle gap")
        run.idle()
        run.close_all()
        say("fresh processes")
        run.cold()
        scenarios(run)
        say("counts")
        counts(run)
        return odd(run, smoke)
    finally:
        for running in run.running.values():
            running.kill()
        run.mock.stop()


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev compare", description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="seconds instead of half an hour; checks the harness, measures nothing")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these contestants, by name or by folder")
    parser.add_argument("--rotation", type=int, help="which contestant goes first (default: drawn)")
    parser.add_argument("--out", help="file of the report (default: a new one in compare/results, for a full run of all)")
    parser.add_argument("--no-page", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--list", action="store_true", help="list the contestants and end")
    options = parser.parse_args(arguments)
    if options.list:
        for contestant in ALL:
            say(f"{contestant.name:32} {contestant.language:8} {contestant.kind:9} {contestant.title}")
        return 0
    wanted = chosen(options.only)
    goals, started = gates.written(), identity.moment()
    cores = identity.split_cores()
    load_before = identity.load()
    reasons = prepare(wanted, say)
    node24 = reasons.pop("node-24", None)
    left_out = [(one.name, one.language, reasons.get(one.environment) or node24) for one in wanted
                if one.environment in reasons or (node24 and one.language == "Node 24")]
    for name, _, reason in left_out:
        say(f"  {name} is not available: {reason}")
    able = [one for one in wanted if one.name not in {name for name, _, _ in left_out}]
    run = Run(able, SMOKE if options.smoke else FULL, cores, say, options.rotation)
    try:
        found = measure(run, options.smoke)
    except Failed as failure:
        say(f"./dev compare: {failure}")
        return 1
    document = {
        "format": FORMAT,
        "run": {"mode": "smoke" if options.smoke else "full", "started": started, "ended": identity.moment(), "load_before": load_before,
                "load_after": identity.load(), **identity.source()},
        "machine": identity.machine(), "cores": {"mock": cores[0], "clients": cores[1]},
        "order": {"rotation": run.rotation, "names": [one.name for one in run.contestants], "rounds": run.plan.rounds,
                  "calls_per_round": run.plan.calls},
        "contestants": {one.name: {"title": one.title, "language": one.language, "kind": one.kind, "licence": one.licence, "note": one.note}
                        for one in run.contestants},
        "left_out": [list(row) for row in [*LEFT_OUT, *left_out, *run.left_out]],
        "phases": run.phases, "ceiling": run.best, "results": run.results, "verdicts": found,
        "gates": goals, "outcomes": gates.judge_all(goals, run.results),
    }  # fmt: skip
    RESULTS.mkdir(parents=True, exist_ok=True)
    default = RESULTS / f"{started.replace(':', '-')}.json"
    path = options.out or (default if not options.smoke and not options.only else WORK / "report.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    say(f"report: {path}")
    report.summary(document, say)
    if path == default and not options.no_page:
        report.write()
        say("page: docs/performance.md")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
