"""Numbers out of samples."""
import math

import numpy

RESAMPLES = 1000
SEED = 20261201


def rank(ordered, percent):
    """The nearest-rank percentile of sorted values."""
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def summary(samples_ns):
    """Minimum to maximum of latencies, in microseconds."""
    if not samples_ns:
        return {}
    ordered = sorted(samples_ns)
    figures = {"min": ordered[0], "p50": rank(ordered, 50), "mean": sum(ordered) / len(ordered), "p95": rank(ordered, 95),
               "p99": rank(ordered, 99), "max": ordered[-1]}
    return {name: round(value / 1000, 2) for name, value in figures.items()}


def round_medians(rounds):
    return [float(numpy.median(samples)) for samples in rounds if len(samples)]


def resample(values, of):
    """`of` of bootstrap resamples of the values. Rounds and seconds are drawn whole: neighbours in time are alike."""
    generator = numpy.random.default_rng(SEED)
    values = numpy.asarray(values, dtype=float)
    drawn = values[generator.integers(0, len(values), (RESAMPLES, len(values)))]
    return of(drawn, axis=1)


def interval(draws):
    low, high = numpy.percentile(draws, (2.5, 97.5))
    return [float(low), float(high)]


def latency_draws(rounds):
    """Resampled medians of a latency measurement, by rounds."""
    return resample(round_medians(rounds), numpy.median)


def seconds(buckets):
    """Completions in each whole second out of those in tenths; the last part of a second is left out."""
    size = 10 if len(buckets) >= 30 else 1
    whole = len(buckets) // size * size
    whole -= size if whole == len(buckets) and whole > size else 0
    return [sum(buckets[at:at + size]) * (10 // size) for at in range(0, whole, size)] or [sum(buckets) * 10 / max(1, len(buckets))]


def rate_draws(buckets):
    return resample(seconds(buckets), numpy.mean)
