"""Writes the files of a case, and reads what the loader exported, in each of the formats."""
import datetime
import gzip
import random
import re

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

import reference
import tables

# The type as which a column of a CSV file is read.
CSV_TYPES = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "uint8": pa.uint8(), "uint32": pa.uint32(),
             "uint64": pa.uint64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "bool": pa.bool_(), "date": pa.date32(),
             "timestamp": pa.timestamp("us")}
NULL_WORDS = ("NA", "N/A", "NaN", "null", "NULL", "None")
CSV_CLASS = {"int": ("int64",), "big": ("int64",), "real": ("double",), "text": ("string",), "bool": ("bool",), "date": ("date",),
             "time": ("timestamp",)}


def time_text(value, r):
    """One way to write a time; with an offset it writes the local time of that offset."""
    offset, mark = r.choice([(0, ""), (0, ""), (0, "Z"), (120, "+02"), (-330, "-05:30"), (60, "+0100")])
    local = value + datetime.timedelta(minutes=offset)
    seconds = "" if local.second == local.microsecond == 0 and r.random() < 0.3 else f":{local.second:02}"
    fraction = f".{local.microsecond:06}".rstrip("0") if local.microsecond else ""
    return f"{local:%Y-%m-%d}{r.choice(' T')}{local:%H:%M}{seconds}{fraction if seconds else ''}{mark}"


def csv_token(value, kind, r):
    """The text of a value, without quotes; None is null."""
    if value is None:
        return r.choice([None, None, "", *NULL_WORDS]) if kind not in ("s", "text") else None
    if isinstance(value, bool):
        return r.choice(["true", "True", "TRUE"] if value else ["false", "False", "FALSE"])
    if isinstance(value, datetime.datetime):
        return time_text(value, r)
    return repr(value) if isinstance(value, float) else str(value)


def csv_field(token, delimiter, r):
    if token is None:
        return ""
    if token == "" or any(c in token for c in f'{delimiter}"\r\n') or r.random() < 0.1:
        return '"' + token.replace('"', '""') + '"'
    return token


class CsvText:
    """The files of a case as texts, and their columns' types by docs/guides/sources.md."""

    def __init__(self, case):
        r = random.Random(case.seed + 1)
        self.delimiter = r.choice([",", ",", ";", "|", "\t"])
        self.ending = r.choice(["\n", "\n", "\r\n"])
        data, self.texts, self.types, self.declared = case.data, {}, {}, {}
        kinds = {n: k for n, k in data.kinds.items() if n != "p"}
        tokens = {name: {n: [csv_token(v, kinds[n], r) for v in table.column(n).to_pylist()] for n in kinds} for name, table, _ in data.files}
        for column, kind in kinds.items():
            values = [t for of_file in tokens.values() for t in of_file[column] if t not in (None, "", *NULL_WORDS)]
            found = None if reference.has_bad_values(values) else reference.csv_type(values)
            wanted = str(tables.TYPES[kind]).split("[")[0].replace("date32", "date")
            declared = "double" if wanted.startswith("decimal") else wanted
            is_guessed = found in CSV_CLASS[tables.CLASS[kind]] and r.random() < 0.7
            self.types[column] = found if is_guessed else declared
            if not is_guessed:
                self.declared[column] = declared
        for name, columns in tokens.items():
            rows = [list(columns), *zip(*columns.values())]
            self.texts[name] = "".join(self.delimiter.join(csv_field(t, self.delimiter, r) for t in row) + self.ending for row in rows)

    @property
    def options(self):
        given = {"delimiter": self.delimiter} if self.delimiter != "," else {}
        return {**given, **({"types": self.declared} if self.declared else {})}


def write_parquet(table, path, rows, r, has_dictionaries):
    options = {"compression": r.choice(["snappy", "zstd", "none"]), "data_page_version": r.choice(["1.0", "2.0"]),
               "use_dictionary": has_dictionaries, "write_page_index": r.random() < 0.6, "write_page_checksum": r.random() < 0.3}
    if r.random() < 0.4:
        options |= {"max_rows_per_page": r.choice([5, 8]), "write_batch_size": 1}
    if r.random() < 0.2:
        options["bloom_filter_options"] = {n: {"ndv": 200} for n in ("k", "i64", "s") if n in table.column_names}
    if r.random() < 0.3:
        options["dictionary_pagesize_limit"] = r.choice([16, 64])  # plain pages follow the dictionary
    pq.write_table(table, path, row_group_size=rows, **options)


def write_arrow(table, path, rows):
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)


def write_csv(table, path, r):
    rows = [table.column_names, *zip(*([csv_token(v, "text", r) for v in c.to_pylist()] for c in table.columns))]
    path.write_text("".join(",".join(csv_field(t, ",", r) for t in row) + "\n" for row in rows), newline="")


def write_case(case, directory, has_dictionaries=True):
    """Writes the files of a case, and sets `case.text` to the texts of CSV files. `has_dictionaries`: for columns of Parquet
    files."""
    case.text = CsvText(case) if case.data.format == "csv" else None
    texts = case.text.texts if case.text else {}
    r = random.Random(case.seed + 2)
    for name, table, rows in case.data.files:
        path = directory / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in texts:
            data = texts[name].encode()
            path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
        elif case.data.format == "parquet":
            write_parquet(table, path, rows, r, has_dictionaries)
        else:
            write_arrow(table, path, rows)
    for name, table in case.sides.items():
        path = directory / name
        if name.endswith(".parquet"):
            pq.write_table(table, path)
        elif name.endswith(".arrow"):
            write_arrow(table, path, 1000)
        else:
            write_csv(table, path, r)


# Exported tables.

CSV_FIELD = re.compile(r'(?:"((?:[^"]|"")*)"|((?:[^",\n][^,\n]*)?))([,\n])')


def csv_rows(text):
    """The records of a CSV table as Arrow writes it: an empty field without quotes is null."""
    rows, row, at = [], [], 0
    while at < len(text):
        field = CSV_FIELD.match(text, at)
        if field is None:
            raise ValueError(f"no CSV at character {at}: {text[at:at + 40]!r}")
        quoted, plain, end = field.groups()
        row.append((plain or None) if quoted is None else quoted.replace('""', '"'))
        if end == "\n":
            rows.append(row)
            row = []
        at = field.end()
    return rows


def moment(text):
    return datetime.datetime.fromisoformat(text.removesuffix("Z"))


class Exported:
    """The columns of one or more exported directories, one after the other."""

    def __init__(self, sink, directories):
        self.sink, self.columns, self.types, self.rows = sink, {}, {}, 0
        for part in (part for directory in directories for part in sorted(directory.glob(f"part-*.{sink}"))):
            self.rows += self.add(part)

    def add(self, part):
        if self.sink == "csv":
            names, *rows = csv_rows(part.read_bytes().decode())
            for at, name in enumerate(names):
                self.columns.setdefault(name, []).extend(row[at] for row in rows)
                self.types[name] = "text"
            return len(rows)
        if self.sink == "parquet":
            table = pq.ParquetFile(part).read()
        else:
            table = pa.ipc.open_file(part).read_all()
            table.validate(full=True)
        for field in table.schema:
            self.columns.setdefault(field.name, []).extend(table.column(field.name).to_pylist())
            self.types[field.name] = str(field.type)
        return table.num_rows

    def values(self, name, kind):
        """The values of a column; texts become values of the kind."""
        values = self.columns[name]
        if self.sink != "csv":
            return values
        parse = {"int": int, "big": int, "real": float, "single": float, "text": str, "bool": lambda t: {"true": True, "false": False}[t],
                 "date": datetime.date.fromisoformat, "time": moment,
                 "list": lambda t: [int(v) if v else None for v in t.split("|")] if t else [],
                 "reals": lambda t: [float(v) for v in t.split("|")] if t else []}[kind]
        return [None if v is None else parse(v) for v in values]
