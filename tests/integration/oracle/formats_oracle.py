#!/usr/bin/env python3
"""Random formats of strptime over random texts, by the loader's evaluator and by DuckDB.

    formats_oracle.py PROBE WHEELS [SEED [TEXTS]]

Ends with 0 when both agree on every time, null and refused format, except for DIFFERENCES.
"""

import json
import random
import subprocess
import sys
import tempfile

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
NUMBERS = {"Y": (0, 9999, 4), "y": (0, 99, 2), "m": (1, 13, 2), "d": (1, 31, 2), "j": (1, 366, 3),
           "H": (0, 24, 2), "I": (0, 13, 2), "M": (0, 60, 2), "S": (0, 60, 2), "f": (0, 999999, 6),
           "g": (0, 999, 3)}
FIELDS = ["%Y", "%y", "%m", "%d", "%b", "%B", "%j", "%H", "%I", "%p", "%M", "%S", "%f", "%g",
          "%z", "%a", "%A", "%%", "%-y", "%-m", "%-d", "%-j", "%-H", "%-I", "%-M", "%-S"]
REFUSED = ["%Q", "%-b", "%-Y", "%-", "%é"]
BETWEEN = ["", " ", "  ", "/", ".", "-", ":", ", ", "T", "é", "'"]
USUAL = ["%d.%m.%Y", "%m/%d/%y", "%b %d, %Y %I:%M %p", "%d%b%Y", "%Y-%m-%d %H:%M:%S.%f",
         "%d/%b/%Y:%H:%M:%S %z", "%A, %d %B %Y", "%Y%m%d", "%Y %j"]

# Documented differences (docs/reference/spec.md), and what is left out of the comparison for each. %n
# is left out as well: DuckDB makes a timestamp_ns of it, which has fewer years.
DIFFERENCES = {
    "day 366 of a year of 365 days is null": lambda form, text: "366" in text and "j" in form,
    "a second day of the year is not refused": lambda form, text: form.count("j") > 1,
    "a format without fields is refused": lambda form, text: "%" not in form.replace("%%", ""),
}


def number(rng, field):
    least, most, width = NUMBERS[field]
    value = rng.randint(1900, 2100) if field == "Y" and rng.random() < 0.6 else rng.randint(least, most)
    return str(value).zfill(width) if rng.random() < 0.5 or field in "fg" else str(value)


def written(rng, field):
    """A text that a field mostly reads."""
    if rng.random() < 0.02:
        return rng.choice(["", "x", "-1", "é", "0", "31", " 5"])
    letter = field[-1]
    if letter in NUMBERS:
        return number(rng, letter)
    name = {"b": rng.choice(MONTHS)[:3], "B": rng.choice(MONTHS), "a": rng.choice(DAYS)[:3],
            "A": rng.choice(DAYS), "p": rng.choice(["AM", "PM"]), "%": "%"}.get(letter)
    if name is None:
        return rng.choice("+-") + rng.choice(["02", "0230", "02:30", "02:30:15", "023", "2", "02:"])
    return rng.choice([name, name.lower(), name.upper(), name.swapcase()])


def parts_of(form):
    """'%d.%m' -> ['%d', '.', '%m']"""
    parts, at = [], 0
    while at < len(form):
        size = 1 if form[at] != "%" else 3 if form[at + 1:at + 2] == "-" else 2
        parts.append(form[at:at + size])
        at += size
    return parts


def random_case(rng):
    """(format, text), both as literals of SQL."""
    fields = FIELDS + (REFUSED if rng.random() < 0.05 else [])
    form = rng.choice(USUAL) if rng.random() < 0.5 else "".join(
        rng.choice(fields) + rng.choice(BETWEEN) for _ in range(rng.randint(1, 6)))
    text = ""
    for part in parts_of(form):
        blank = rng.choice([" ", " ", "  ", "\t", ""]) if part == " " else part
        text += written(rng, part) if part[0] == "%" else blank
    if rng.random() < 0.1:
        text = rng.choice(["", " ", "\t "]) + text + rng.choice(["", "  ", "x", "1", "é"])
    return tuple("'" + part.replace("'", "''") + "'" for part in (form, text))


def ask_duckdb(connection, form, text):
    try:
        query = f"select epoch_us(try_strptime({text}, {form})::timestamp)"
        return connection.execute(query).fetchone()[0]
    except Exception as error:  # every refusal of DuckDB is an exception
        return str(error).splitlines()[0]


def main():
    probe, wheels = sys.argv[1], sys.argv[2]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20260701
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 8000
    sys.path.insert(0, wheels)
    try:
        import duckdb
    except ImportError:
        sys.exit(f"duckdb is not in {wheels}: run packaging/setup --tests")
    print(f"seed {seed}, DuckDB {duckdb.__version__}, {count} texts")
    rng = random.Random(seed)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("set timezone = 'UTC'")
    cases = [random_case(rng) for _ in range(count)]
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/one.parquet"
        connection.execute(f"copy (select 1 as one) to '{path}' (format parquet)")
        lines = subprocess.run([probe, path], text=True, capture_output=True, check=True,
                               input="\n".join(f"strptime({text}, {form})" for form, text in cases)
                               ).stdout.splitlines()
    failures = times = excepted = 0
    for (form, text), line in zip(cases, lines):
        if any(differs(form, text) for differs in DIFFERENCES.values()):
            excepted += 1
            continue
        answer = json.loads(line)
        ours = answer["error"] if "error" in answer else answer["values"][0]
        theirs = ask_duckdb(connection, form, text)
        times += isinstance(ours, int)
        if ours != theirs and not (isinstance(ours, str) and isinstance(theirs, str)):
            failures += 1
            print(f"strptime({text}, {form})\n    the loader: {ours}; DuckDB: {theirs}")
    print(f"{len(lines)} of {count} texts, {times} times, {excepted} excepted, {failures} differ")
    if len(lines) != count or failures or times < count // 3:
        sys.exit(1)


if __name__ == "__main__":
    main()
