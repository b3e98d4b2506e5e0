"""Compares the bounds that weir states with the log of the mock language model, for a client that
was stopped at random.

    stopped.py LOG DOCUMENT.json FIRST_LIMIT_NS GAP_LIMIT_NS [PLANT]

Prints a JSON array of rows, each with a figure, its bound, the least and greatest value that weir
states for it, and those that the log allows. With PLANT the gaps of the log are 30% longer.

A gap lies between the inner and the outer stamps of its two tokens. The target's own time to the
first token is at most that from the planned time, and at least that from the server's reading of
the request. Values without a bound are exact to 5%, and 100 µs, as METHOD 1.26.8 has it.
"""

import json
import math
import sys

from model import BUCKET, Truth, headline, rank

PART, LEAST_NS = 0.05, 100e3


class Target(Truth):
    """The target's own figures, without the lateness of the client."""

    def firsts(self, is_most):
        begin = "planned" if is_most else "read_ns"
        return [
            s["tokens"][0][is_most] - s[begin] if s["tokens"] else math.inf for s in self.measured
        ]

    def good_count(self, first_limit, gap_limit, is_most):
        firsts = self.firsts(not is_most)
        gaps = [rank(self.gaps(stream, not is_most), 99) for stream in self.measured]
        # A stream of one token has no gap, which then meets no condition.
        return sum(
            stream["end"] == "complete" and first < first_limit and gap < gap_limit
            for stream, first, gap in zip(self.measured, firsts, gaps)
        )


def ends(bound, value, stated, slack):
    """Returns the least and the greatest value that a bound leaves."""
    if bound == "exact":
        return value - slack, value + slack
    least = stated["low"] if stated else -math.inf
    most = stated["high"] if stated else math.inf
    if bound == "upper":
        return least, min(value, most) if stated else value
    if bound == "lower":
        return value, most
    return least, most


def main():
    log, document_path, first_limit, gap_limit, *planted = sys.argv[1:]
    head, *streams = [json.loads(line) for line in open(log)]
    for stream in streams if planted else []:
        begin = stream["tokens"][0][0] if stream["tokens"] else 0
        stream["tokens"] = [[ns + (ns - begin) * 0.3 for ns in pair] for pair in stream["tokens"]]
    document = json.load(open(document_path))
    target, rows = Target(0, document, head, streams), []

    def add(figure, bound, stated, truth):
        is_true = stated[0] <= truth[1] and truth[0] <= stated[1]
        # JSON has no infinite numbers.
        low, high = [value if math.isfinite(value) else None for value in stated]
        rows.append({"figure": figure, "bound": bound, "low": low, "high": high,
                     "truth_low": truth[0], "truth_high": truth[1], "is_true": is_true})

    times, goodput = document["results"]["messages"], document["messages"]["goodput"]
    for name, time in (("first_message", "first"), ("message_gap", "gap")):
        for entry in headline(times[time])["percentiles"]:
            p, value = entry["p"], entry["ns"]
            if p > 99:
                continue
            if name == "first_message":
                truth = [rank(target.firsts(is_most), p) for is_most in (False, True)]
            else:
                truth = [target.gap(p, is_most) for is_most in (False, True)]
            width = value * BUCKET
            stated = entry.get("range")
            stated = stated and {"low": stated["low_ns"] - width, "high": stated["high_ns"] + width}
            limits = ends(entry["bound"], value, stated, max(value * PART, LEAST_NS) + width)
            # The histogram rounds up.
            add(f"{name} p{p:g}", entry["bound"], [limits[0] - width, limits[1] + width], truth)
    planned = len(target.measured)
    limits = [float(first_limit), float(gap_limit)]
    truth = [target.good_count(*limits, is_most) / planned for is_most in (False, True)]
    bound, share = goodput.get("bound", "exact"), goodput["share"]
    # No rounding: shares are as counted.
    stated = ends(bound, share, goodput.get("range"), PART * share)
    add("goodput", bound, [stated[0] - 1e-9, stated[1] + 1e-9], truth)
    print(json.dumps(rows))


main()
