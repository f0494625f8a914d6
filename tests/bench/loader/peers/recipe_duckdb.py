"""DuckDB: the tasks R1 to R15s in SQL over the files, streamed out as Arrow record batches, collated with numpy in the consumer."""
import duckdb

import recipe_common as recipes
from recipe_common import recipe_tasks


def ids(columns):
    """{name: (expression, buckets)} as ids: 0 for null, else 1 + a hash."""
    return ", ".join(f"case when {e} is null then 0 else (hash({e}) % {buckets - 1} + 1)::bigint end as {name}" for name, (e, buckets) in columns.items())


def hashed(task, **expressions):
    return ids({name: (expressions.get(name, name), buckets) for name, buckets in recipes.HASHED[task].items()})


def dense(**columns):
    return ", ".join(f"coalesce(({e})::float, 0) as {name}" for name, e in columns.items())


def plain(*names):
    return dense(**{n: n for n in names})


def bucketize(name):
    column, boundaries = recipes.BOUNDARIES[name]
    return f"coalesce(1 + {' + '.join(f'({column} >= {b})::tinyint' for b in boundaries)}, 0)::bigint as {name}"


def texts():
    return ids({c: (c, recipes.BUCKETS) for c in recipe_tasks.TEXTS})


def select(args):
    """The query of a task; {files} is what it scans."""
    table = lambda name: f"read_parquet('{recipes.table(args, name)}')"  # noqa: E731
    logs = dense(amount="ln(1 + y)", x="x", n="n", hour="hour(time)")
    return {
        "R1": f"select label, {dense(**{c: f'ln(1 + {c})' for c in recipe_tasks.COUNTS})}, {texts()}, {', '.join(map(bucketize, recipes.BOUNDARIES))} from {{files}}",
        "R2": f"select label, {texts()} from {{files}}",
        "R3": f"select label, {plain('x')}, {hashed('R3')} from (select label, x, regexp_extract(url, 'item-([0-9]+)', 1) as item_id, "
              "regexp_extract(agent, '(Chrome|Firefox|Edg|OPR)/([0-9]+)', 2) as browser from {files})",
        "R4": f"select label, k, {plain('x', 'age', 'score')} from {{files}} t left join {table('users')} u on t.user = u.user",
        "R5": f"select label, k, {plain('x', 'price')} from {{files}} t asof left join {table('prices')} p on t.item = p.item and t.time >= p.since",
        "R6": f"select label, k, {logs}, {hashed('R6')} from {{files}}",
        "R7": "select label, epoch_us(date_trunc('day', time)) as day, "
              + dense(hour="hour(time)", weekday="dayofweek(time)", idle="date_diff('hour', seen, time)", seconds="epoch(seen)") + " from {files}",
        "R8": "select label, " + dense(band="case when y < 1 then 0 when y < 3 then 1 when y < 10 and n > 500 then 2 else 3 end", root="pow(y, 0.3)", decay="exp(-sqrt(y))",
                                       mobile="agent like '%Android%'", by_mail="url like '%ref=mail%'") + " from {files}",
        "R9": f"select label, k, {dense(amount='ln(1 + y)', x='x', n='n')}, {hashed('R9')} from {{files}}",
        "R10": f"select label, {plain(*recipe_tasks.TASKS['R10'].dense)} from {{files}}",
        "R11": f"select label, k, {plain('x', 'y')}, {hashed('R11')} from {{files}} where city = 'city-001' and n < 235",
        "R12": f"select label, k, {plain('x', 'y', 'n')} from {{files}} t anti join {table('blocked')} b on t.user = b.user",
        "R13": f"select label, {plain('x')}, {hashed('R13')} from (select label, x, substr(user, 1, 4) as prefix, split_part(url, '/', 3) as shop, upper(city) as town, "
               "concat(city, '/', substr(agent, 14, 8)) as pair from {files})",
        "R14": "select label, k, " + ", ".join(f"list_transform(list_slice({c}, -100, -1), lambda v: (hash(v) % 99999 + 1)::bigint) as {c}"
                                               for c in recipe_tasks.TASKS["R14"].lists) + " from {files}",
    }.get(args.task, f"select {', '.join(recipe_tasks.EXPORTED)} from {{files}}" + (" order by user" if args.task == "R15s" else ""))


def main():
    args = recipes.Arguments(__doc__).parse_args()
    paths = recipes.files(args)
    source = f"read_csv({paths!r})" if args.task == "R6" else f"read_parquet({paths!r})"
    sql = select(args).replace("{files}", source)

    def connect():
        con = duckdb.connect()
        con.execute(f"set threads={args.threads}")
        return con

    def record_batches():
        con = connect()
        con.execute("set preserve_insertion_order=false")
        yield from con.sql(sql).to_arrow_reader(recipes.common.BATCH)

    def export():
        connect().execute(f"copy ({sql}) to '{args.output}' (format parquet, compression zstd, compression_level 1)")

    if recipe_tasks.TASKS[args.task].exports:
        recipes.measure_export("duckdb", duckdb.__version__, args, export)
    else:
        recipes.measure("duckdb", duckdb.__version__, args, record_batches)


if __name__ == "__main__":
    main()
