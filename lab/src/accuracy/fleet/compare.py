"""Compares the histograms of a merged document with the sum of those of its parts, which
HdrHistogram's Python package decodes and adds.

    python compare.py MERGED PART...

It prints a line for each histogram of the merged document or of a part: metric, outcome, requests
in the merged document, its buckets, and the buckets whose counts differ.
"""

import json
import pathlib
import sys

from hdrh.histogram import HdrHistogram

METRICS = ("response_time", "service_time")
OUTCOMES = ("ok", "bad", "failed_at", "censored")

merged, *parts = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:])


def histogram(document, metric, outcome):
    """Returns a histogram of a document, which is absent there if it is empty."""
    text = document["results"][metric]["histograms"].get(outcome)
    return HdrHistogram.decode(text) if text else HdrHistogram(1, 3_600_000_000_000, 3)


def buckets(of):
    """Returns the count of each bucket by its highest value."""
    steps = of.get_recorded_iterator()
    return {step.value_iterated_to: step.count_added_in_this_iter_step for step in steps}


for metric in METRICS:
    for outcome in OUTCOMES:
        total = HdrHistogram(1, 3_600_000_000_000, 3)
        for part in parts:
            total.add(histogram(part, metric, outcome))
        theirs, own = buckets(total), buckets(histogram(merged, metric, outcome))
        if theirs or own:
            different = sum(theirs.get(at) != own.get(at) for at in theirs.keys() | own.keys())
            print(metric, outcome, sum(own.values()), len(own), different)
