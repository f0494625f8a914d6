"""Random data: the files of a dataset and tables to join with, a pure function of a random.Random."""
import datetime
import decimal

import pyarrow as pa

TEXTS = ["a", "b", "", "äöü", "x y", "2024-02-29", "2024-02-29xyz", "2023-12-31", "17", "-3", "4.5", "1e3", "abc", "ABC", "long " * 8,
         'say "hi"', "a,b;c|d", "two\nlines", " blank", "NA"]
DECIMALS = [decimal.Decimal(cents) / 100 for cents in (57, 115, 435, 870, 995, 1999, 9999, 1, 10, -57, 0, 123456)]
EPOCH = datetime.datetime(1970, 1, 1)
BEGIN = datetime.datetime(2023, 12, 30)

TYPES = {"i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(), "u8": pa.uint8(), "u32": pa.uint32(),
         "f32": pa.float32(), "f64": pa.float64(), "b": pa.bool_(), "s": pa.string(), "dec": pa.decimal128(9, 2),
         "d": pa.date32(), "ts": pa.timestamp("us"), "l": pa.list_(pa.int64()), "fs": pa.list_(pa.int32(), 2),
         "lv": pa.list_view(pa.int64()), "wi": pa.list_(pa.int64()), "ww": pa.list_(pa.float32())}
# The class that a column has in expressions.
CLASS = {"i8": "int", "i16": "int", "i32": "int", "i64": "big", "u8": "int", "u32": "big", "f32": "real", "f64": "real", "b": "bool",
         "s": "text", "dec": "real", "d": "date", "ts": "time", "l": "list", "fs": "list", "lv": "list", "wi": "pair", "ww": "pair"}
LISTS = ("l", "fs", "lv", "wi", "ww")
CLUSTERED = ("k", "c", "tm", "o")  # neighbouring rows have close values
NO_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"


def value_maker(kind, r):
    return {
        "i8": lambda: r.randint(-9, 9), "i16": lambda: r.randint(-99, 99), "i32": lambda: r.randint(-999, 999),
        "i64": lambda: r.choice([r.randint(-99, 99), r.randint(-2**53, 2**53), 2**63 - 1, -2**63]),
        "u8": lambda: r.randint(0, 200), "u32": lambda: r.randint(0, 2**32 - 1),
        "f32": lambda: r.choice([0.0, 0.5, -1.25, float(r.randint(-50, 50)), 3.0e10]),
        "f64": lambda: r.choice([0.0, -0.0, 0.1, 1 / 3, r.uniform(-100, 100), 1e300, -2.0]),
        "b": lambda: r.random() < 0.5, "s": lambda: r.choice(TEXTS), "dec": lambda: r.choice(DECIMALS),
        "d": lambda: datetime.date(1960, 1, 1) + datetime.timedelta(days=100 * r.randint(0, 300)),
        "ts": lambda: EPOCH + datetime.timedelta(microseconds=r.choice([1, 1000000]) * (r.randint(-10**14, 2 * 10**15) // 1000000)),
        "l": lambda: [None if r.random() < 0.05 else r.randint(-5, 99) for _ in range(r.randint(0, 4))],
        "fs": lambda: [r.randint(-5, 99) for _ in range(2)],
        "lv": lambda: [r.randint(-5, 99) for _ in range(r.randint(0, 4))],
        "wi": lambda: [r.randint(0, 20) for _ in range(r.randint(0, 3))],
    }[kind]


def values_of(kind, r, rows, requests):
    """`rows` values of a column; a tenth are null. `requests`: the first rows of the requests that share a value, or None."""
    make = value_maker(kind, r)
    values = []
    for row in range(rows):
        repeats = requests is not None and requests[row] != row
        values.append(values[-1] if repeats else None if r.random() < 0.1 else make())
    return values


def request_values(kind, r, rows):
    """Runs of one value; neighbours differ, some are null."""
    values, last = [], None
    while len(values) < rows:
        value = last
        while value == last:
            value = None if r.random() < 0.1 else r.randint(0, 60)
        run = 1 if value is None else r.randint(1, 6)
        values += [value if value is None or kind != "s" else f"r{value}"] * run
        last = value
    return values[:rows]


def starts_of(values):
    starts = []
    for row, value in enumerate(values):
        starts.append(starts[-1] if row > 0 and value is not None and values[row - 1] == value else row)
    return starts


def partition_value(kind, r):
    day = datetime.date(2024, 1, 1) + datetime.timedelta(days=r.randint(0, 4))
    return {"i32": lambda: r.randint(-2, 3), "s": lambda: r.choice(["de", "fr", "x y", "us"]), "d": lambda: day}[kind]()


class Data:
    """`files`: [(path below the directory, table, rows of a split)] in the order of the dataset; `kinds`: kind of each column;
    `directory`: value of column `p` for each path, if the files are in directories named after `p`."""

    def __init__(self, r, without):
        self.format = r.choice(["parquet", "parquet", "parquet", "parquet", "arrow", "csv", "csv"])
        of_format = {"parquet": ("lv",), "arrow": (), "csv": LISTS}[self.format]
        kinds = [k for k in TYPES if k not in without and k not in of_format and k not in ("wi", "ww") and r.random() < 0.7]
        self.kinds = {"k": "i32", "c": "i32", **{k: k for k in kinds}}
        if r.random() < 0.5:
            self.kinds["tm"] = "ts"
        if r.random() < 0.4:
            self.kinds["q"] = r.choice(["i32", "i64", "s"])
        if self.format != "csv" and r.random() < 0.4:
            self.kinds |= {"wi": "wi", "ww": "ww"}
        if self.format == "parquet" and r.random() < 0.4:
            self.kinds["o"] = r.choice(["i32", "s", "d"])
        if r.random() < 0.25:
            self.kinds["p"] = r.choice(["i32", "s", "d"])
        self.listsOfRequests = "q" in self.kinds and r.random() < 0.5
        self.splitRows, self.directory, self.files = r.choice([16, 40, 1000]), {}, []
        first, ending = 0, ".csv.gz" if self.format == "csv" and r.random() < 0.2 else "." + self.format
        for number in range(r.randint(1, 4)):
            rows, size = r.randint(1, 160), self.splitRows if self.format == "csv" else r.choice([16, 40, 1000])
            name = f"part-{number}{ending}"
            if "p" in self.kinds:
                value = None if number > 0 and r.random() < 0.15 else partition_value(self.kinds["p"], r)
                name = f"p={NO_DIRECTORY if value is None else str(value).replace(' ', '%20')}/{name}"
                self.directory[name] = value
            self.files.append((name, self.table(r, first, rows, size), size))
            first += rows
        self.files.sort(key=lambda file: file[0].encode())
        self.rows = first

    def table(self, r, first, rows, size):
        columns = {"k": list(range(first, first + rows)), "c": [(first + i) // 16 for i in range(rows)]}
        if "tm" in self.kinds:
            columns["tm"] = [BEGIN + datetime.timedelta(minutes=30 * (first + i)) for i in range(rows)]
        if "q" in self.kinds:
            columns["q"] = request_values(self.kinds["q"], r, rows)
        if "o" in self.kinds:
            of_group = [None if r.random() < 0.1 else partition_value(self.kinds["o"], r) for _ in range(0, rows, size)]
            columns["o"] = [of_group[i // size] for i in range(rows)]
        starts = starts_of(columns["q"]) if self.listsOfRequests else None
        for name, kind in self.kinds.items():
            if name not in columns and name not in ("p", "ww"):
                columns[name] = values_of(kind, r, rows, starts if kind in LISTS else None)
        if "ww" in self.kinds:
            columns["ww"] = [None if ids is None else [float(i) / 4 for i in ids] for ids in columns["wi"]]
        return pa.table({n: pa.array(columns[n], TYPES[self.kinds[n]]) for n in self.kinds if n != "p"})


# Tables to join with: a key, a time for as_of, values. Nulls never match, whatever the key.

def keys_for(name, column_class, r):
    """(the column, values of its kind, their type) for a table that is joined on the column."""
    if name == "dec" and column_class == "real" and r.random() < 0.8:
        return name, sorted(set(DECIMALS)), pa.decimal128(r.choice([10, 12]), r.choice([2, 4, 6]))
    if column_class in ("real", "pair", "list", "big", "time"):
        return "c", list(range(0, 20, 2)), pa.int64()
    values, kind = {
        "int": (list(range(-20, 60, r.randint(1, 3))), r.choice([pa.int32(), pa.int64()])),
        "text": (sorted({*TEXTS[::2], "de", "x y", "r7", "r20", "r33"}), pa.string()), "bool": ([True], pa.bool_()),
        "date": ([datetime.date(1960, 1, 1) + datetime.timedelta(days=i) for i in range(0, 30001, 100)], pa.date32()),
    }[column_class]
    return name, values, kind


def time_for(column_class, r):
    """(function that makes a time, its type) for a table's as_of column."""
    if column_class in ("int", "big"):
        return lambda: r.randint(-120, 300), r.choice([pa.int32(), pa.int64()])
    def moment():
        near = BEGIN + datetime.timedelta(minutes=r.randint(-3000, 9000))
        return near if r.random() < 0.5 else EPOCH + datetime.timedelta(days=r.randint(-3000, 19000), seconds=r.randint(0, 86399))
    if r.random() < 0.5:
        return moment, pa.timestamp("us")
    return lambda: moment().date(), pa.date32()


def side_table(r, keys, kind, repeats, time=None):
    """A table to join with. `repeats`: keys (with `time`: keys and times) may occur twice."""
    keys = r.sample(keys, max(1, min(2000, len(keys) * 3 // 4)))
    if time is not None:
        keys = [key for key in keys[:40] for _ in range(r.randint(1, 4))]
    elif repeats:
        keys += r.sample(keys, len(keys) // 3)
    keys += [None] * r.randint(0, 2)
    r.shuffle(keys)
    columns = {"key": pa.array(keys, kind), "v": pa.array(range(len(keys)), pa.int64()),
               "w": pa.array([f"w{i % 5}" for i in range(len(keys))])}
    if time is not None:
        make, type_of_time = time
        taken, times = set(), []
        for key in keys:
            at = None if r.random() < 0.05 else make()
            while not repeats and (key, at) in taken and at is not None:
                at = make()
            taken.add((key, at))
            times.append(at)
        columns["since"] = pa.array(times, type_of_time)
    return pa.table(columns)
