"""Writes the duckdb_*.parquet files beside it, with the DuckDB of packaging/test-deps.lock.

    PYTHONPATH=.deps/test-wheels python3 tests/golden/parquet/make_duckdb_files.py
"""

import pathlib

import duckdb

ROWS = """
select
    case when i % 5 = 0 then null else i % 2 = 0 end as flag,
    i::tinyint as tiny, i::utinyint as utiny, (i * 300)::smallint as small, (i * 70000)::int as medium,
    case when i % 7 = 0 then null else i * 5000000000 end as big, (i * 4)::ubigint as ubig,
    i::hugeint as huge, i::float / 3 as single, i::double / 7 as real,
    (i * 1.25)::decimal(4, 2) as dec4, (i * 1.25)::decimal(9, 2) as dec9,
    (i * 1.25)::decimal(18, 4) as dec18, (i * 1.25)::decimal(38, 6) as dec38,
    date '2024-01-01' + i::int as day, time '12:00:00' + to_seconds(i) as clock,
    timestamp '2024-01-01' + to_microseconds(i) as at_us, (timestamp_ms '2024-01-01 00:00:00.001') as at_ms,
    (timestamp_ns '2024-01-01 00:00:00.000001999') as at_ns, (timestamptz '2024-01-01 00:00:00+02') as at_zone,
    case when i % 3 = 0 then null else 'text ' || i end as text, ('raw ' || i)::blob as raw,
    (case when i % 2 = 0 then 'red' else 'blue' end)::enum('red', 'blue') as color,
    '00000000-0000-0000-0000-000000000001'::uuid as uuid,
    case when i % 4 = 0 then null when i % 4 = 1 then [] else [i, null, i + 1] end as ids,
    [('w' || i), 'x'] as words, [1.5, 2.5]::float[2] as pair,
    case when i % 3 = 0 then null else {'age': case when i % 2 = 0 then null else i end,
        'home': {'zip': 'z' || i, 'tags': [i, i]}} end as user,
    map {'k': i} as pairs, [{'a': i}] as structs, [[i]] as nested, to_days(i::int) as span
from range(60) t(i)
"""

here = pathlib.Path(__file__).parent
for name, options in {
    "duckdb_v1_snappy": "parquet_version v1, compression snappy, row_group_size 2048",
    "duckdb_v2_zstd": "parquet_version v2, compression zstd, row_group_size 2048",
}.items():
    duckdb.sql(f"copy ({ROWS}) to '{here / name}.parquet' (format parquet, {options})")
