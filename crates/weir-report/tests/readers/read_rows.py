"""Reads rows of a study with DuckDB, and prints a line for each trial: of its rows, then of its
metadata; then one for each name of a request.

    python read_rows.py FILE.parquet
"""

import sys

import duckdb

rows = f"read_parquet('{sys.argv[1]}')"
trials = f"""
    SELECT trial, coalesce(variant, '-'), count(*), max(ended_at - intended_at), min(status)
    FROM {rows} WHERE phase = 'measured' GROUP BY ALL ORDER BY trial
"""
metadata = f"""
    SELECT unnest(from_json(decode(value), '[{{"trial": "UINTEGER", "rows": "UBIGINT"}}]'),
                  recursive := true)
    FROM parquet_kv_metadata('{sys.argv[1]}') WHERE decode(key) = 'weir.trials'
"""
names = f"SELECT name, count(*) FROM {rows} GROUP BY name ORDER BY name"
for query in (trials, metadata, names):
    for values in duckdb.sql(query).fetchall():
        print(*values)
