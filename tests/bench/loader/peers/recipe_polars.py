"""Polars: the tasks R1 to R15s as lazy queries of the streaming engine, batches out through collect_batches, to Arrow without a copy, collated with numpy."""
import os

import recipe_common as recipes

args = recipes.Arguments(__doc__).parse_args()
os.environ["POLARS_MAX_THREADS"] = str(args.threads)
import polars as pl  # noqa: E402


def ids(columns):
    """{name: buckets} as ids: 0 for null, else 1 + a hash."""
    return [pl.when(pl.col(c).is_null()).then(0).otherwise(pl.col(c).hash() % (buckets - 1) + 1).cast(pl.Int64).alias(c) for c, buckets in columns.items()]


def dense(**columns):
    return [e.cast(pl.Float32).fill_null(0).alias(name) for name, e in columns.items()]


def plain(*names):
    return dense(**{n: pl.col(n) for n in names})


def bucketize(name):
    column, boundaries = recipes.BOUNDARIES[name]
    return (1 + sum((pl.col(column) >= b).cast(pl.Int8) for b in boundaries)).fill_null(0).cast(pl.Int64).alias(name)


def criteo(q):
    return q.select("label", *(pl.col(c).log1p().cast(pl.Float32).fill_null(0) for c in recipes.recipe_tasks.COUNTS),
                    *ids(dict.fromkeys(recipes.recipe_tasks.TEXTS, recipes.BUCKETS)), *map(bucketize, recipes.BOUNDARIES))


def texts(q):
    return q.select("label", *ids(dict.fromkeys(recipes.recipe_tasks.TEXTS, recipes.BUCKETS)))


def regexp(q):
    q = q.select("label", "x", item_id=pl.col("url").str.extract("item-([0-9]+)", 1), browser=pl.col("agent").str.extract("(Chrome|Firefox|Edg|OPR)/([0-9]+)", 2))
    return q.select("label", *plain("x"), *ids(recipes.HASHED["R3"]))


def join(q):
    users = pl.scan_parquet(recipes.table(args, "users"))
    return q.select("label", "k", "x", "user").join(users, on="user", how="left").select("label", "k", *plain("x", "age", "score"))


def as_of(q):
    prices = pl.scan_parquet(recipes.table(args, "prices"))
    q = q.select("label", "k", "x", "time", "item").join_asof(prices, left_on="time", right_on="since", by="item", strategy="backward", check_sortedness=False)
    return q.select("label", "k", *plain("x", "price"))


def csv(q):
    return q.select("label", "k", *dense(amount=pl.col("y").log1p(), x=pl.col("x"), n=pl.col("n"), hour=pl.col("time").dt.hour()), *ids(recipes.HASHED["R6"]))


def times(q):
    time, seen = pl.col("time"), pl.col("seen")
    return q.select("label", time.dt.truncate("1d").cast(pl.Int64).alias("day"),
                    *dense(hour=time.dt.hour(), weekday=time.dt.weekday() % 7, idle=(time.dt.truncate("1h") - seen.dt.truncate("1h")).dt.total_hours(), seconds=seen.dt.epoch("us") / 1e6))


def case(q):
    y = pl.col("y")
    band = pl.when(y < 1).then(0).when(y < 3).then(1).when((y < 10) & (pl.col("n") > 500)).then(2).otherwise(3)
    return q.select("label", *dense(band=band, root=y.pow(0.3), decay=(-y.sqrt()).exp(), mobile=pl.col("agent").str.contains("Android", literal=True),
                                    by_mail=pl.col("url").str.contains("ref=mail", literal=True)))


def small(q):
    return q.select("label", "k", *dense(amount=pl.col("y").log1p(), x=pl.col("x"), n=pl.col("n")), *ids(recipes.HASHED["R9"]))


def wide(q):
    return q.select("label", *plain(*recipes.recipe_tasks.TASKS["R10"].dense))


def filtered(q):
    return q.filter((pl.col("city") == "city-001") & (pl.col("n") < 235)).select("label", "k", *plain("x", "y"), *ids(recipes.HASHED["R11"]))


def anti(q):
    blocked = pl.scan_parquet(recipes.table(args, "blocked"))
    return q.select("label", "k", "x", "y", "n", "user").join(blocked, on="user", how="anti").select("label", "k", *plain("x", "y", "n"))


def text(q):
    q = q.select("label", "x", prefix=pl.col("user").str.slice(0, 4), shop=pl.col("url").str.splitn("/", 4).struct.field("field_2"), town=pl.col("city").str.to_uppercase(),
                 pair=pl.concat_str("city", pl.lit("/"), pl.col("agent").str.slice(13, 8), ignore_nulls=True))
    return q.select("label", *plain("x"), *ids(recipes.HASHED["R13"]))


def lists(q):
    return q.select("label", "k", *(pl.col(c).list.tail(100).list.eval((pl.element().hash() % 99_999 + 1).cast(pl.Int64)) for c in recipes.recipe_tasks.TASKS["R14"].lists))


QUERIES = {"R1": criteo, "R2": texts, "R3": regexp, "R4": join, "R5": as_of, "R6": csv, "R7": times, "R8": case, "R9": small, "R10": wide, "R11": filtered,
           "R12": anti, "R13": text, "R14": lists}


def scan():
    paths = recipes.files(args)
    return pl.scan_csv(paths, try_parse_dates=True) if args.task == "R6" else pl.scan_parquet(paths)


def record_batches():
    for frame in QUERIES[args.task](scan()).collect_batches(chunk_size=65536, maintain_order=False, engine="streaming"):
        yield from frame.to_arrow().to_batches()


def export():
    q = scan().select(recipes.recipe_tasks.EXPORTED)
    (q.sort("user") if args.task == "R15s" else q).sink_parquet(args.output, compression="zstd", compression_level=1, engine="streaming")


if args.task in QUERIES:
    recipes.measure("polars", pl.__version__, args, record_batches)
else:
    recipes.measure_export("polars", pl.__version__, args, export)
