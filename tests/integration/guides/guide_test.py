#!/usr/bin/env python3
"""Runs the commands that a guide shows and holds what it prints against them.

    guide_test.py BIN SOURCE GUIDE

A block whose first line is `$ millrace ...` is run in SOURCE; the lines below it must stand in the output
in one piece each, cut at lines `...`.
"""

import os
import re
import subprocess
import sys


def blocks(text):
    for match in re.finditer(r"^```\n(\$ millrace .*?)\n(.*?)^```$", text, re.M | re.S):
        yield match.group(1)[2:], match.group(2)


def pieces(shown):
    """The shown lines, cut where the guide leaves something out."""
    for piece in re.split(r"^\.\.\.\n", shown, flags=re.M):
        if piece.strip():
            yield piece.rstrip("\n")


def main():
    bin_dir, source, guide = sys.argv[1:4]
    with open(os.path.join(source, guide), encoding="utf-8") as file:
        text = file.read()
    environment = dict(os.environ, PATH=bin_dir + ":" + os.environ["PATH"], COLUMNS="160",
                       NO_COLOR="1")
    outputs, wrong, checked = {}, 0, 0
    for command, shown in blocks(text):
        if command not in outputs:
            done = subprocess.run(command, shell=True, cwd=source, env=environment, text=True,
                                  capture_output=True, check=False)
            outputs[command] = done.stdout + done.stderr
        for piece in pieces(shown):
            checked += 1
            if piece not in outputs[command]:
                wrong += 1
                print(f"{guide} shows for `{command}`:\n{piece}\n\nbut the tool prints:\n"
                      f"{outputs[command]}")
    print(f"{checked} pieces of output checked, {wrong} differ")
    sys.exit(1 if wrong or not checked else 0)


if __name__ == "__main__":
    main()
