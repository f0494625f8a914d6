#!/usr/bin/env python3
"""Local times of every zone of the machine's database, by the loader's evaluator and by Python's
zoneinfo, over times from 1900 to 2500 and around the changes of clocks.

    zones_oracle.py PROBE WHEELS [SEED]

Ends with 0 when both agree on every value.
"""

import datetime
import json
import random
import subprocess
import sys
import tempfile
import zoneinfo

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
SECOND = datetime.timedelta(seconds=1)


def random_times(rng, count):
    first, last = datetime.datetime(1900, 1, 1, tzinfo=UTC), datetime.datetime(2500, 1, 1, tzinfo=UTC)
    seconds = int((last - first).total_seconds())
    times = [first + rng.randrange(seconds) * SECOND for _ in range(count)]
    # Whole and half hours, and a second before each, on days on which clocks are changed.
    for year in (1918, 1945, 1980, 2007, 2024, 2037, 2038, 2100, 2400):
        for month in (3, 4, 9, 10, 11):
            day = datetime.datetime(year, month, rng.randint(1, 28), tzinfo=UTC)
            for half in range(48):
                times += [day + half * 1800 * SECOND, day + (half * 1800 - 1) * SECOND]
    for year in (2024, 2025, 2042):  # every change of these years, to the hour
        day = datetime.datetime(year, 1, 1, tzinfo=UTC)
        times += [day + hour * 3600 * SECOND for hour in range(0, 8760, 3)]
    return sorted(times)


def main():
    probe, wheels = sys.argv[1], sys.argv[2]
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 20260701)
    sys.path.insert(0, wheels)
    try:
        import duckdb
    except ImportError:
        sys.exit(f"duckdb is not in {wheels}: run packaging/setup --tests")
    zones = sorted(z for z in zoneinfo.available_timezones() if z != "localtime")
    if len(zones) < 300:
        sys.exit("this machine has no time zone database: apt install tzdata")
    times = random_times(rng, 4000)
    micros = [(t - EPOCH) // datetime.timedelta(microseconds=1) for t in times]
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/times.parquet"
        with open(f"{directory}/times.csv", "w", encoding="utf-8") as f:
            f.write("us\n" + "\n".join(map(str, micros)) + "\n")
        duckdb.execute(f"copy (select us from read_csv('{directory}/times.csv')) to '{path}' (format parquet)")
        lines = subprocess.run(
            [probe, path], text=True, capture_output=True, check=True,
            input="\n".join(f"make_timestamp(us) at time zone '{zone}'" for zone in zones)).stdout
    failures = compared = 0
    for zone, line in zip(zones, lines.splitlines()):
        answer = json.loads(line)
        if "error" in answer:
            failures += 1
            print(f"{zone}: {answer['error']}")
            continue
        rules = zoneinfo.ZoneInfo(zone)
        for time, us, local in zip(times, micros, answer["values"]):
            compared += 1
            wanted = us + time.astimezone(rules).utcoffset() // datetime.timedelta(microseconds=1)
            if wanted != local:
                failures += 1
                print(f"{zone}: {time.isoformat()}: the loader adds {(local - us) / 3.6e9} h, "
                      f"zoneinfo {(wanted - us) / 3.6e9} h")
                break
    print(f"{len(zones)} zones, {compared} times compared, {failures} zones differ")
    if failures or compared < len(zones) * len(times):
        sys.exit(1)


if __name__ == "__main__":
    main()
