"""The plots of the page, as SVG that is the same whenever the numbers are."""
import io

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as pyplot  # noqa: E402

matplotlib.rcParams.update({"svg.hashsalt": "deemster", "svg.fonttype": "none", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False})

TITLES = {"latency": "Latency of one call at a time by contestant", "throughput": "Calls per second with 16 in flight by contestant",
          "cpu": "CPU per call by number in flight"}
COLOURS = {"ours": "#0b6e4f", "official": "#c1440e", "hand": "#5b7a9d", "floor": "#9a9a9a", "peer": "#a58a3f"}
# Drawn over the number in flight: ours and the official ones, and the floor.
LINES = ["c-raw-epoll", "deemster-c-blocking", "deemster-c-engine", "deemster-python-async-set", "python-official-async", "deemster-node20-set",
         "node20-official", "node20-http", "go-nethttp", "rust-reqwest"]


def label(run, name):
    one = run["contestants"][name]
    return f"{one['language']}: {one['title']}"


def saved(figure):
    data = io.BytesIO()
    figure.savefig(data, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return data.getvalue()


def bars(run, values, errors, text, best_low):
    names = sorted(values, key=values.get, reverse=best_low)
    figure, axes = pyplot.subplots(figsize=(8, 0.22 * len(names) + 0.8))
    colours = [COLOURS[run["contestants"][name]["kind"]] for name in names]
    spread = [[max(0.0, values[name] - errors[name][0]) for name in names], [max(0.0, errors[name][1] - values[name]) for name in names]]
    axes.barh(range(len(names)), [values[name] for name in names], color=colours, xerr=spread, error_kw={"elinewidth": 0.7})
    axes.set_yticks(range(len(names)), [label(run, name) for name in names])
    axes.set_xscale("log")
    axes.set_xlabel(text)
    axes.legend(handles=[matplotlib.patches.Patch(color=colour, label=kind) for kind, colour in COLOURS.items()], loc="best", frameon=False)
    return saved(figure)


def draw(run):
    """{name: SVG} of one report."""
    found = run["results"]
    latency = {name: one["latency"] for name, one in found.items() if one.get("latency")}
    load = {name: one["throughput"] for name, one in found.items() if one.get("throughput")}
    figure, axes = pyplot.subplots(figsize=(8, 4.2))
    for name in LINES:
        steps = found.get(name, {}).get("levels", {}).get("small, at once", {})
        points = sorted((int(step), one["cpu_us"]) for step, one in steps.items() if step.isdigit() and "cpu_us" in one)
        if points:
            ours = run["contestants"][name]["kind"] == "ours"
            axes.plot(*zip(*points), marker="o", markersize=3, label=label(run, name), linewidth=1.8 if ours else 1, linestyle="-" if ours else "--")
    axes.set(xscale="log", yscale="log", xlabel="calls in flight", ylabel="CPU per call, µs (user + system)")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return {
        "latency": bars(run, {name: one["p50"] for name, one in latency.items()}, {name: one["median_interval"] for name, one in latency.items()},
                        "median latency of one call at a time, µs (logarithmic; interval of the median)", True),
        "throughput": bars(run, {name: one["per_second"] for name, one in load.items()}, {name: one["interval"] for name, one in load.items()},
                           "calls per second with 16 in flight (logarithmic; interval)", False),
        "cpu": saved(figure),
    }
