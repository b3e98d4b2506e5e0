"""Computes the figures of a run from the log of the mock language model, and compares weir's.

    model.py STOP_NS LOG DOCUMENT.json REPORT.txt REPORT.html [PLANT]

Prints a JSON object of rows, each with the figure, its source, weir's value, and the least and
greatest value that the log allows. A planted error changes the log first, so that it can be seen
that the comparison notices it. Nothing here is taken from weir but the times of its plan.

The server stamps each token before and after its write, and over loopback the token reaches the
client between the two. Percentiles are monotonic, so the true figure lies between those of both
stamps. To this come the bounds that weir states itself: 0.1% for the width of its buckets, and the
client's overhead at that percentile, which the document has as `client_ns`. Counts within the
window, and streams that meet the goodput, may differ by those that are as close to a limit as the
client's greatest share of a gap, or its longest stop, and at the begin of the window, where stops
are not stated before it, by those within STOP_NS. Printed times are rounded up.
"""

import html
import json
import math
import re
import sys

BUCKET = 0.001
FIRST_LIMIT_NS, GAP_LIMIT_NS = 500e6, 50e6
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def plant(kind, streams):
    """Changes the log as a wrong count, or a wrong clock, would have it."""
    for stream in streams:
        tokens = stream["tokens"]
        if kind == "a lost token" and stream["id"] % 50 == 49:
            tokens[2:3] = []
        if kind == "first tokens 3 ms later" and tokens:
            tokens[0] = [ns + 3e6 for ns in tokens[0]]
        if kind == "gaps 1% longer" and tokens:
            begin = tokens[0][0]
            stream["tokens"] = [[ns + (ns - begin) * 0.01 for ns in pair] for pair in tokens]
        if kind == "cut streams complete" and stream["end"] == "cut":
            stream |= {"end": "complete", "eof_ns": stream["ended_ns"]}


def rank(values, p):
    """Returns the percentile by the nearest rank; infinite values are those without a message."""
    values = sorted(values)
    return values[max(0, math.ceil(p / 100 * len(values)) - 1)] if values else math.nan


class Truth:
    """The figures of the log, each as the least and the greatest value."""

    def __init__(self, stop_ns, document, head, streams):
        self.document, self.streams = document, streams
        [phases] = document["phases"]
        plan = document["plan"]
        rate = plan["load"]["due"]["curve"]["parts"][0]["from"]
        # Times of the plan are since the epoch of the run, those of the log monotonic.
        epoch = document["run"]["epoch_unix_ns"] - head["unix_less_monotonic_ns"]
        begin_ns = epoch + phases["start_ns"]
        self.t0 = begin_ns + plan["load"]["warmup"]["span_ns"]
        self.t1 = self.t0 + plan["load"]["duration_ns"]
        self.window_s = plan["load"]["duration_ns"] / 1e9
        interval_ns = 1e9 * rate["denominator"] / rate["numerator"]
        begin = document["accounting"]["sent"]["warmup"]
        end = begin + document["results"]["planned"]
        self.measured = [stream for stream in streams if begin <= stream["id"] < end]
        for stream in streams:
            # METHOD 1.3.2.
            stream["planned"] = begin_ns + (stream["id"] + 0.5) * interval_ns
        # How late the client reads at most, as the document states it: its greatest share of a gap,
        # of a sample, and the longest time in which it could not run.
        share = document["messages"]["stamps"]["gap_share"]["max_ns"]
        self.late_ns = max(share, phases["usage"]["gap_max_ns"])
        # No stops are stated before the window: what is read so late is counted in it.
        self.late_before_ns = max(self.late_ns, stop_ns)

    def first(self, p, stamp):
        firsts = [
            stream["tokens"][0][stamp] - stream["planned"] if stream["tokens"] else math.inf
            for stream in self.measured
        ]
        return rank(firsts, p)

    def gaps(self, stream, is_most):
        """Returns the least or the greatest gaps of a stream: between its inner or outer stamps."""
        pairs = zip(stream["tokens"], stream["tokens"][1:])
        return [b[is_most] - a[not is_most] for a, b in pairs]

    def gap(self, p, is_most):
        return rank([gap for stream in self.measured for gap in self.gaps(stream, is_most)], p)

    def mean_gap(self, is_most):
        late = self.late_ns if is_most else -self.late_ns
        complete = [s["tokens"] for s in self.measured if s["end"] == "complete"]
        means = [
            (tokens[-1][is_most] - tokens[0][not is_most] + late) / (len(tokens) - 1)
            for tokens in complete
            if len(tokens) > 1
        ]
        return rank(means, 50)

    def received(self):
        """Returns the least and the greatest number of messages within the window."""
        late, stamps = self.late_ns, [pair for s in self.streams for pair in s["tokens"]]
        least = sum(a >= self.t0 and b + late < self.t1 for a, b in stamps)
        most = sum(b + self.late_before_ns >= self.t0 and a < self.t1 for a, b in stamps)
        return least, most

    def good(self, streams, is_most):
        """Counts the streams that surely meet the goodput, or those that may."""
        late = 0 if is_most else self.late_ns
        count = 0
        for stream in streams:
            if stream["end"] != "complete" or not stream["tokens"]:
                continue
            first = stream["tokens"][0][not is_most] - stream["planned"] + late
            gap = rank(self.gaps(stream, not is_most), 99) + late
            count += first < FIRST_LIMIT_NS and gap < GAP_LIMIT_NS
        return count

    def completed(self, is_most):
        late = self.late_ns
        if is_most:
            begin = self.t0 - self.late_before_ns
            within = lambda s: s["ended_ns"] >= begin and s["eof_ns"] < self.t1
        else:
            within = lambda s: s["eof_ns"] >= self.t0 and s["ended_ns"] + late < self.t1
        ended = [s for s in self.streams if s["end"] == "complete" and within(s)]
        return self.good(ended, is_most)


def headline(metric):
    """Returns the summary that reports show: over all requests if some have no message."""
    return metric.get("all") or metric["ok"]


def percentile(metric, p):
    """Returns a percentile in ns, and the part of it that weir states as the client's."""
    [value] = [value for value in headline(metric)["percentiles"] if value["p"] == p]
    return value["ns"], value.get("client_ns") or 0


class Rows:
    def __init__(self):
        self.rows = []

    def add(self, figure, source, value, low, high, unit):
        self.rows.append({"figure": figure, "source": source, "unit": unit, "value": value,
                          "low": low, "high": high, "is_within": low <= value <= high})


def printed(text):
    """Reads a printed figure: its value, and the unit of its last digit, for rounding."""
    number, unit = re.match(r"([\d,]*\.?\d+) ?(ns|µs|ms|s|%)?", text).groups()
    digits = number.replace(",", "")
    decimals = len(digits.split(".")[1]) if "." in digits else 0
    scale = {"%": 0.01, None: 1}.get(unit) or UNITS[unit]
    return float(digits) * scale, 10**-decimals * scale


def in_text(text):
    """Returns the printed figures of a report by name."""
    # Columns are aligned at their right ends.
    title = re.search(r"^ *Timing +first token \(TTFT\) .*$", text, re.M)
    names = list(re.finditer(r"first token \(TTFT\)|gap \(ITL\)|95% interval", title[0]))
    begins = [len("  p99.9")] + [name.end() for name in names]
    found = {}
    for p in (50, 99):
        row = re.search(rf"^ *p{p} .*$", text[title.end():], re.M)[0]
        for begin, name in zip(begins, names):
            cell = row[begin:name.end()].strip(" ~≤")
            found[f"{name[0].split()[0]} p{p}"] = cell
    found["tokens/s"] = re.search(r"^ *Chunks +([\d.,]+)/s", text, re.M)[1]
    found["goodput/s"] = re.search(r"^ *Goodput +([\d.,]+)/s", text, re.M)[1]
    found["goodput share"] = re.search(r"([\d.]+%) of\s+the\s+requests\s+with first", text)[1]
    return found


def in_html(page):
    """Returns the same figures of the page."""
    plain = lambda cell: html.unescape(re.sub(r"<[^>]*>", "", cell)).strip()
    tables = [table for table in page.split("<table")[1:] if ">first token (TTFT)<" in table]
    table = tables[0].split("</table>")[0]
    titles = [plain(cell) for cell in re.findall(r"<th scope=\"col\">(.*?)</th>", table)]
    found = {}
    for name, title in (("first", "first token (TTFT)"), ("gap", "gap (ITL)")):
        for p in (50, 99):
            row = re.search(rf"<th scope=\"row\">p{p}</th>(.*?)</tr>", table, re.S)[1]
            cells = [plain(cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.S)]
            found[f"{name} p{p}"] = cells[titles.index(title)].lstrip("~≤ ")
    facts = {plain(a): plain(b) for a, b in re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", page, re.S)}
    found["tokens/s"] = re.match(r"([\d.,]+)/s", facts["Chunks"])[1]
    found["goodput/s"] = re.match(r"([\d.,]+)/s", facts["Goodput"])[1]
    found["goodput share"] = re.search(r"([\d.]+%) of the requests", facts["Goodput"])[1]
    return found


def counts(rows, truth):
    """Compares what has no tolerance."""
    document, measured = truth.document, truth.measured
    results, messages = document["results"], document["messages"]
    outcomes = results["outcomes"]
    ends = [stream["end"] for stream in measured]
    exact = [
        ("requests", document["accounting"]["sent"]["total"], len(truth.streams)),
        ("measured requests", results["planned"], len(measured)),
        ("complete streams", outcomes["ok"], ends.count("complete")),
        ("cut streams", outcomes["transport_error"], ends.count("cut")),
        ("tokens", messages["measured"], sum(len(stream["tokens"]) for stream in measured)),
        ("end marks", results["messages"]["end_marks"], sum(stream["done"] for stream in measured)),
    ]
    for figure, value, count in exact:
        rows.add(figure, "JSON", value, count, count, "count")


def main():
    stop_ns, log, document_path, text_path, html_path, *planted = sys.argv[1:]
    head, *streams = [json.loads(line) for line in open(log)]
    plant(planted[0] if planted else None, streams)
    document = json.load(open(document_path))
    truth, rows = Truth(float(stop_ns), document, head, streams), Rows()
    counts(rows, truth)
    times, messages = document["results"]["messages"], document["messages"]
    limits = {}

    def time(figure, metric, p, low, high):
        value, client_ns = percentile(metric, p)
        below = client_ns if figure.startswith("gap") else 0
        limits[figure] = low * (1 - BUCKET) - below, high * (1 + BUCKET) + client_ns, "ns"
        rows.add(figure, "JSON", value, *limits[figure])

    for p in (50, 99):
        first = [truth.first(p, stamp) for stamp in (0, 1)]
        time(f"first p{p}", times["first"], p, *first)
        gap = [truth.gap(p, is_most) for is_most in (False, True)]
        time(f"gap p{p}", times["gap"], p, *gap)
    low, high = [truth.mean_gap(is_most) for is_most in (False, True)]
    value, _ = percentile(messages["mean_gap"], 50)
    rows.add("mean gap p50", "JSON", value, low * (1 - BUCKET), high * (1 + BUCKET), "ns")
    least, most = truth.received()
    limits["tokens/s"] = least / truth.window_s, most / truth.window_s, "1/s"
    rows.add("tokens/s", "JSON", times["per_second"], *limits["tokens/s"])
    goodput, planned = messages["goodput"], len(truth.measured)
    good = [truth.good(truth.measured, is_most) for is_most in (False, True)]
    rows.add("good streams", "JSON", goodput["good"], *good, "count")
    limits["goodput share"] = good[0] / planned, good[1] / planned, "share"
    rows.add("goodput share", "JSON", goodput["share"], *limits["goodput share"])
    completed = [truth.completed(is_most) / truth.window_s for is_most in (False, True)]
    limits["goodput/s"] = *completed, "1/s"
    rows.add("goodput/s", "JSON", goodput["per_second"], *limits["goodput/s"])
    reports = {"text": in_text(open(text_path).read()), "HTML": in_html(open(html_path).read())}
    for source, figures in reports.items():
        for figure, [low, high, unit] in limits.items():
            # What is unknown states nothing.
            if figures[figure] == "unknown":
                continue
            value, rounding = printed(figures[figure])
            rows.add(figure, source, value, low - rounding, high + rounding, unit)
    print(json.dumps(rows.rows))


if __name__ == "__main__":
    main()
