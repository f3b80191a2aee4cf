"""Writes docs/performance.md and its plots out of the two newest reports in compare/results.

`python compare/harness/report.py` writes them; with --check it only says whether they are what the reports give.
"""
import json
import sys

import gates
import plots
from places import PAGE, PLOTS, RESULTS
from tables import number, table

MINOS = {"latency": {"js": 7.1, "python": 11.2}, "throughput": {"js": 11.3, "python": 53.8}}
OFFICIAL = {"js": {"latency": "node20-official", "throughput": "node20-official"},
            "python": {"latency": "python-official-sync", "throughput": "python-official-async"}}
SIGNS = {"accepted": "A", "refused": "R", "refused, unclear why": "r", "wrong value handed on": "**W**", "good reply refused": "**S**",
         "hang": "**H**", "crash": "**C**"}


def newest(count=2):
    """The newest full reports, newest first."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"), reverse=True)[:count]]


def title(run, name):
    one = run["contestants"][name]
    text = f"{one['language']}: {one['title']}"
    return f"**{text}**" if one["kind"] == "ours" else text


def took_part(run):
    return [name for name in run["contestants"] if run["results"][name].get("latency")]


def identity(runs):
    rows = []
    for label, run in zip(("newest run", "run before"), runs):
        source = run["run"]["commit"][:12] + (" with changes not committed" if run["run"]["changed_since"] else "")
        noisy = [phase["others_cores"] for phase in run["phases"]]
        rows.append([label, run["run"]["started"], run["run"]["ended"], source, " ".join(map(str, run["run"]["load_before"])),
                     " ".join(map(str, run["run"]["load_after"])), f"{max(noisy):.2f}", str(run["order"]["rotation"])])
    machine, cores = runs[0]["machine"], runs[0]["cores"]
    return [
        table(["", "started", "ended", "commit", "load before (1, 5, 15 min)", "load after", "most of a core that others used in a phase", "rotation"], rows),
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['os']}, kernel {machine['kernel']}. "
        f"The mock has core {', '.join(map(str, cores['mock']))}, the contestants core {', '.join(map(str, cores['clients']))}. "
        f"{machine['compiler']}, {machine['flags']}; {machine['libc']}; Python {machine['python']}; Node {machine['node']}; {machine['go']}; {machine['rust']}.",
        f"Order: {runs[0]['order']['rounds']} rounds of {runs[0]['order']['calls_per_round']} calls, the first contestant moving on by one each round, "
        "starting at the one the rotation names; throughput in the same rotated order.",
    ]


def goals(runs):
    outcomes = [{one["id"]: one for one in run["outcomes"]} for run in runs]
    rows = []
    for gate in runs[0]["gates"]["gates"]:
        row = [gate["text"]]
        for found in outcomes:
            one = found.get(gate["id"], {"outcome": gates.ABSENT, "why": ""})
            value = f"{one['value']:.2f} ({one['interval'][0]:.2f} to {one['interval'][1]:.2f})" if "value" in one else ""
            row += [value, one["outcome"] + (f": {one['why']}" if one["why"] else "")]
        rows.append(row)
    heads = ["goal, written down before the run"]
    for label in ("newest run", "run before")[:len(runs)]:
        heads += [f"{label}: how many times (interval)", "outcome"]
    return [table(heads, rows), "The rules, also written down before:", "\n".join(f"- {rule}" for rule in runs[0]["gates"]["rules"])]


def published(run):
    ceiling = (run["ceiling"] or {}).get("per_second")
    rows = []
    for name in took_part(run):
        result = run["results"][name]
        latency, load = result["latency"], result.get("throughput", {})
        share = f"{number(load['per_second'] / ceiling * 100)} %" if ceiling and load else "–"
        rows.append([title(run, name), result["library"]["version"], *[number(latency[key]) for key in ("mean", "p50", "p95", "p99")],
                     "{} to {}".format(*map(number, latency["median_interval"])), number(load.get("per_second"), 0), share,
                     number(latency["cpu_us"]), number(load.get("cpu_us"))])
    text = [table(["contestant", "version", "mean µs", "p50", "p95", "p99", "interval of the median", "calls/s, 16 in flight", "of the ceiling",
                   "CPU µs/call, 1 in flight", "CPU µs/call, 16"], rows)]
    if ceiling:
        text.append(f"Ceiling of the mock, measured with raw epoll: {number(ceiling, 0)} calls/s "
                    f"({', '.join(f'{rate:,.0f} with {workers}' for workers, rate in run['ceiling']['by_workers'].items())}).")
    return text


def ratios(run):
    rows = []
    for name in took_part(run):
        if run["contestants"][name]["kind"] != "ours":
            continue
        row = [title(run, name)]
        for metric in ("latency", "throughput"):
            for sdk in ("js", "python"):
                ours, theirs = run["results"][name].get(metric), run["results"].get(OFFICIAL[sdk][metric], {}).get(metric)
                if not ours or not theirs:
                    row.append("–")
                elif metric == "latency":
                    row.append(f"{theirs['mean'] / ours['mean']:.1f}× ({theirs['p50'] / ours['p50']:.1f}×)")
                else:
                    row.append(f"{ours['per_second'] / theirs['per_second']:.1f}×")
        rows.append(row)
    rows.append(["*Minos.NET, as it published them, on another machine*", *[f"*{MINOS[metric][sdk]}×*" for metric in MINOS for sdk in ("js", "python")]])
    return [table(["", "mean latency (median) lower than @typesafe-ai/sdk, Node 20", "than typesafe-sdk, sync", "throughput of @typesafe-ai/sdk, Node 20",
                   "of typesafe-sdk, async"], rows),
            "The last row is what Minos.NET's page states for its own client against the same two SDKs (0.6.0 and 0.7.2) on a Xeon 8573C with two cores "
            "for the clients: another machine, another run; it stands here for scale alone."]


def costs(run):
    rows = []
    for name in took_part(run):
        result = run["results"][name]
        cold, calls, counted = result.get("cold", {}), result.get("system_calls") or {}, result.get("counted") or {}
        rows.append([title(run, name), number(calls.get("per_call")), number(counted.get("instructions"), 0), number(counted.get("allocations")),
                     number(result.get("bytes_sent"), 0), number(result.get("new_connections"), 0),
                     number((result.get("peak_rss_kb") or 0) / 1024 or None), number(cold.get("start_us", 0) / 1000 or None),
                     number(cold.get("import_us", 0) / 1000), number(cold.get("open_us", 0) / 1000), number(cold.get("first_call_us", 0) / 1000)])
    return [table(["contestant", "system calls/call", "instructions/call", "allocations/call", "bytes sent/call", "connections opened under load",
                   "peak RSS MiB", "process start ms", "import ms", "client made ms", "first call ms"], rows),
            "System calls are counted by strace in a warm process with one call in flight; instructions and allocations by valgrind, as the difference "
            "of two runs of different length, for C alone; they include the harness's own loop (a clock read and a comparison). Connections are those "
            "opened during the 16-in-flight measurement by a client that had already served 16 at once."]


def levels(run):
    text = []
    for scenario in dict.fromkeys(name for result in run["results"].values() for name in result.get("levels", {})):
        found = {name: run["results"][name]["levels"][scenario] for name in took_part(run) if scenario in run["results"][name].get("levels", {})}
        steps = sorted({int(level) for one in found.values() for level in one if level.isdigit()})
        rows = []
        for name, one in found.items():
            row = [title(run, name)]
            for step in steps:
                cell = one.get(str(step), {})
                if "failed" in cell or "skipped" in one:
                    row.append("failed: " + cell["failed"][:60] if "failed" in cell else "–")
                elif cell:
                    row.append(f"{number(cell['per_second'], 0)} / {number(cell['p50'] / 1000)} / {number(cell['p99'] / 1000)} / {number(cell['cpu_us'], 0)}")
                else:
                    row.append("–")
            rows.append(row)
        text += [f"### {scenario}", table(["contestant: calls/s / p50 ms / p99 ms / CPU µs per call", *[f"{step} in flight" for step in steps]], rows)]
    return text


def waits(run):
    rows = []
    for name in took_part(run):
        idle, stale = run["results"][name].get("idle"), run["results"][name].get("stale")
        row = [title(run, name), number(idle["p50"] / 1000) if idle else "–", str(idle["new_connections"]) if idle else "–"]
        for way in ("closed", "dies"):
            one = (stale or {}).get(way)
            row.append(f"{one['said'][:60]}, {number(one['taken_ms'])} ms, {one['connections']} connections" if one else "–")
        rows.append(row)
    return [table(["contestant", "call after the idle gap, ms", "new connections in the gaps", "second call when the server closed the idle connection",
                   "second call when the connection dies on use"], rows)]


def verdicts(run):
    found = run["verdicts"]
    names = list(found["replies"])
    rows = []
    handed = [case for case, origin in found["from"].items() if origin.startswith("P-")]
    for name in names:
        row = [title(run, name)]
        for cases in (found["replies"][name], found["faults"][name]):
            row.append(f"{sum(one[0] in ('accepted', 'refused') for one in cases.values())} of {len(cases)}")
            row += [str(sum(one[0] == kind for one in cases.values())) for kind in list(SIGNS)[2:]]
        rows.append(row)
    kinds = ["unclear", "wrong", "good refused", "hang", "crash"]
    text = [table(["contestant", "odd replies right", *kinds, "jevcompat's faults right", *kinds], rows),
            "A: accepted, rightly. R: refused, with the right reason. r: refused, the reason unclear. W: a wrong value was handed on. S: a good reply was "
            "refused. H: no end within 12 s. C: the process died. Contestants whose retries can be set have two; what is written by "
            "hand has none, and none offers gzip unless its library does: hence many of its refusals. A reply that the rules leave open counts as right "
            "either way."]
    short = [run["contestants"][name]["title"] for name in names]
    for heading, part, cases in (("Odd replies, one by one", found["replies"], handed), ("jevcompat's faults, one by one", found["faults"], None)):
        listed = cases or list(next(iter(part.values()), {}))
        body = [[f"`{case}`", *[SIGNS[part[name][case][0]] for name in names]] for case in listed]
        text += [f"### {heading}", table(["", *short], body)]
    return text


def left_out(run):
    notes = [[title(run, name), one["licence"], one["note"]] for name, one in run["contestants"].items() if one["note"]]
    rows = [[name, language, reason] for name, language, reason in run["left_out"]]
    return [table(["contestant", "licence", "note"], notes), "Left out:", table(["library", "language", "reason"], rows)]


def page(runs):
    run = runs[0]
    parts = [
        "# Performance",
        "*Written by `./dev compare` out of the reports in `compare/results`; a test fails when they differ. Edit neither by hand.*",
        "Every contestant ran on one machine in one run against one mock server, which counts the requests it answers; a phase whose count differs from the "
        "calls made fails the run. `compare/README.md` says how each number is obtained and how to run it again.",
        "## The runs", *identity(runs), "## Goals", *goals(runs),
        "## The published experiment", "One call at a time, then 16 in flight: the request, the recorded answer and the numbers of calls are those of the "
        "experiment that Minos.NET publishes.", *published(run), *images(), "## Beside the official SDKs", *ratios(run), "## What a call costs", *costs(run),
        "## Calls in flight", *levels(run), "## Pauses and dead connections", *waits(run), "## Verdicts", *verdicts(run), "## Who takes part", *left_out(run),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def images():
    return [f"![{text}](performance/{name}.svg)" for name, text in plots.TITLES.items()]


def outputs():
    """{path: bytes} of everything that is generated."""
    runs = newest()
    made = {PAGE: page(runs).encode()}
    made.update({PLOTS / f"{name}.svg": data for name, data in plots.draw(runs[0]).items()})
    return made


def write():
    PLOTS.mkdir(parents=True, exist_ok=True)
    for path, data in outputs().items():
        path.write_bytes(data)


def differing():
    return [path.name for path, data in outputs().items() if not path.exists() or path.read_bytes() != data]


def summary(run, say):
    for name in took_part(run):
        result = run["results"][name]
        load = result.get("throughput", {})
        say(f"{name:32} p50 {result['latency']['p50']:10.2f} µs   {load.get('per_second', 0):12.1f} calls/s   CPU {load.get('cpu_us', 0):8.2f} µs/call")
    for one in run["outcomes"]:
        if one["outcome"] != gates.ABSENT:
            say(f"{one['outcome']:13} {one['id']:28} {one['value']:8.2f} {one['interval']} {one['why']}")


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        wrong = differing()
        print("\n".join(f"{name} is not what the reports give: run compare/harness/report.py" for name in wrong) or "the page is what the reports give")
        sys.exit(1 if wrong else 0)
    write()
