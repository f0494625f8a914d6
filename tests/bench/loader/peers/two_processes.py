#!/usr/bin/env python3
"""Runs two processes of one command side by side, each on its own core, to measure what the machine gives two threads of work.

  two_processes.py COMMAND...   (`millrace-loader stream ... --json`, on the first two cores of the affinity mask)

"{process}" in an argument becomes 0 and 1, so that each process can write to its own place.

Prints a line of JSON with the peers' keys: the rows of both processes, the time of the slower one, the processor time of both. They
share only the machine. So if two threads of one process are slower, the cause is in the process.
"""
import json
import os
import subprocess
import sys


def main():
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2 or len(sys.argv) < 2:
        sys.exit("two_processes.py: wants a command and two cores")
    running = [subprocess.Popen([argument.replace("{process}", str(n)) for argument in sys.argv[1:]], stdout=subprocess.PIPE, text=True, preexec_fn=lambda core=core: os.sched_setaffinity(0, {core}))
               for n, core in enumerate(cores)]
    texts = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        sys.exit(max(process.returncode for process in running))
    lines = [json.loads(text) for text in texts]
    passes = lines[0]["epochs"]
    print(json.dumps({"system": "millrace", "threads": 2, "rows_scanned": sum(line["rows_scanned"] for line in lines) // passes,
                      "seconds": [max(line["seconds"] for line in lines) / passes], "cpu_seconds": [sum(line["cpu_seconds"] for line in lines) / passes]}))


if __name__ == "__main__":
    main()
