"""Reads an interval log with HdrHistogram's Python package, and prints a line for each interval.

    python read_histograms.py FILE.hlog
"""

import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

log = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3_600_000_000_000, 3))
while (interval := log.get_next_interval_histogram()) is not None:
    print(
        interval.get_tag() or "-",
        round(interval.get_start_time_stamp()),
        round(interval.get_end_time_stamp()),
        interval.get_total_count(),
        *(interval.get_value_at_percentile(p) for p in (50, 90, 99)),
    )
