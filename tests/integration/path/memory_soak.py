#!/usr/bin/env python3
"""An hour of loading with flat memory: the loader of the MovieLens example through its ring, epoch after epoch.

Label soak: not in the default run (ctest --test-dir build/release -L soak). MILLRACE_SOAK_MINUTES says how long (60).
Fails when the memory of the loader and its reader grows after the first quarter of the time, or when either dies or does
not end when it is asked to.
"""
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

from harness import BIN, Failed, Place, poll

MINUTES = float(os.environ.get("MILLRACE_SOAK_MINUTES", "60"))
SLACK = 1.03  # greatest ratio of the last quarter's median to the second's: memory in flight varies
SLACK_BYTES = 4e6  # for a page table or one more log line


def tree(pid):
    """The process and its children, and theirs."""
    found = [pid]
    for p in found:
        try:
            for task in pathlib.Path(f"/proc/{p}/task").iterdir():
                found += [int(c) for c in (task / "children").read_text().split() if int(c) not in found]
        except OSError:
            pass
    return found


def memory_bytes(pid):
    """Proportional set size of the tree: a shared page counts once."""
    total = 0
    for p in tree(pid):
        try:
            lines = pathlib.Path(f"/proc/{p}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def sample(process, seconds):
    """Memory twice a second, until `seconds` have passed."""
    seen, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Failed(f"the loader ended by itself with {process.returncode}")
        seen.append(memory_bytes(process.pid))
        poll.pause(0.5)
    return seen


def main():
    place = Place()
    try:
        command = [BIN / "millrace-loader", "stream", place.spec, "--json", "--through-ring", "--threads", "2", "--epochs", "1000000"]
        with open(place.dir / "out", "w") as out, open(place.dir / "err", "w") as err:
            process = subprocess.Popen(command, env=place.env, stdout=out, stderr=err, cwd=place.dir)
            try:
                seen = sample(process, 60 * MINUTES)
                process.send_signal(signal.SIGINT)
                code = process.wait(60)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        if code != 3:
            raise Failed(f"a stopped stream ends with 3, this one with {code}: {(place.dir / 'err').read_text()[-2000:]}")
        report = json.loads((place.dir / "out").read_text())
        quarter = len(seen) // 4
        quarters = [seen[q * quarter:(q + 1) * quarter] for q in range(4)]
        early, late = statistics.median(quarters[1]), statistics.median(quarters[3])
        print(f"{MINUTES:g} minutes, {report['rows_delivered']:,} rows delivered; memory in MB by quarter, median (most): "
              + ", ".join(f"{statistics.median(q) / 1e6:.1f} ({max(q) / 1e6:.1f})" for q in quarters))
        if late > early * SLACK + SLACK_BYTES:
            raise Failed(f"memory grew from {early / 1e6:.1f} to {late / 1e6:.1f} MB")
    finally:
        place.close()


if __name__ == "__main__":
    try:
        main()
    except Failed as e:
        sys.exit(f"FAILED: {e}")
