#!/usr/bin/env python3
"""Medians of tests/bench/loader/run: wall and processor seconds of one pass, and whether the rows agree."""
import json
import statistics
import sys


def totals(checksum, epochs):
    """rows, labels and list lengths of one pass: the parts of a checksum that add up exactly."""
    return [int(part) // epochs for part in checksum.split(":")[:3]]


def main():
    path, epochs = sys.argv[1], int(sys.argv[2])
    walls, cpus, rows = {}, {}, set()
    for line in open(path):
        run = json.loads(line)
        ours = "stream_hash" in run
        key = ("millrace-loader" if ours else "arrow scan", run["threads"])
        # The first pass warms up; our processor time is of all passes and the start.
        walls.setdefault(key, []).extend(run["epoch_seconds"][1:] if ours else run["seconds"])
        cpus.setdefault(key, []).extend([run["cpu_seconds"] / epochs] if ours else run["cpu_seconds"])
        rows.add(tuple(totals(run["checksum"], epochs if ours else 1)))
    print(f"{'':18}{'threads':>8}{'wall s':>9}{'(range)':>16}{'cpu s':>8}")
    for key in sorted(walls, key=lambda k: (k[1], k[0])):
        wall = walls[key]
        spread = f"({min(wall):.2f}-{max(wall):.2f})"
        print(f"{key[0]:18}{key[1]:>8}{statistics.median(wall):>9.2f}{spread:>16}"
              f"{statistics.median(cpus[key]):>8.2f}")
    for threads in sorted({k[1] for k in walls}):
        ratio = (statistics.median(walls[("arrow scan", threads)])
                 / statistics.median(walls[("millrace-loader", threads)]))
        cpu = (statistics.median(cpus[("arrow scan", threads)])
               / statistics.median(cpus[("millrace-loader", threads)]))
        print(f"{threads} threads: {ratio:.2f}x the Arrow scan's rows/s, {cpu:.2f}x per CPU second")
    print("same rows" if len(rows) == 1 else f"DIFFERENT ROWS: {rows}")
    sys.exit(0 if len(rows) == 1 else 1)


if __name__ == "__main__":
    main()
