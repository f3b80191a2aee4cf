"""The goals, which gates.json holds since before the run, and what a run says of each."""
import json

import figures
from places import GATES

QUIET_CORES = 0.05  # what others may use of the machine during a measurement that decides a gate

PASSED, MISSED, OPEN, ABSENT = "passed", "failed", "inconclusive", "not measured"


def written():
    return json.loads(GATES.read_text())


def draws(result, metric):
    """(value, resampled values, what others used) of one contestant; bigger is better for throughput alone."""
    if metric == "latency":
        found = result.get("latency")
        return found and (found["p50"], figures.latency_draws(found["rounds_ns"]) / 1000, found["others_cores"])
    found = result.get("throughput")
    return found and (found["per_second"], figures.rate_draws(found["buckets"]), found["others_cores"])


def ratio(ours, theirs, metric):
    """How many times better ours is than theirs, with the interval; above 1 is ahead."""
    (mine, my_draws, my_others), (other, their_draws, their_others) = ours, theirs
    if metric == "latency":
        value, drawn = other / mine, their_draws / my_draws
    else:
        value, drawn = mine / other, my_draws / their_draws
    return value, figures.interval(drawn), max(my_others, their_others)


def decide(value, interval, others, least):
    if others > QUIET_CORES:
        return OPEN, f"others used {others:.2f} of a core"
    if interval[0] < least <= interval[1]:
        return OPEN, "the interval holds the goal"
    return (PASSED if value >= least else MISSED), ""


def judge(gate, results):
    """One gate's outcome. `ours` and `against` name contestants; with `all_of` ours must be ahead of the best of a language."""
    ours = [draws(results[name], gate["metric"]) for name in gate["ours"] if name in results]
    theirs = [(name, draws(results[name], gate["metric"])) for name in gate["against"] if name in results]
    ours, theirs = [one for one in ours if one], [(name, one) for name, one in theirs if one]
    if not ours or not theirs:
        return {"id": gate["id"], "outcome": ABSENT, "why": "a contestant did not take part"}
    lower = gate["metric"] == "latency"
    best = (min if lower else max)(ours, key=lambda one: one[0])
    name, rival = (min if lower else max)(theirs, key=lambda pair: pair[1][0])
    value, interval, others = ratio(best, rival, gate["metric"])
    outcome, why = decide(value, interval, others, gate["least"])
    return {"id": gate["id"], "outcome": outcome, "why": why, "value": round(value, 3), "interval": [round(one, 3) for one in interval],
            "rival": name, "others_cores": others}


def judge_all(gates, results):
    return [judge(gate, results) for gate in gates["gates"]]
