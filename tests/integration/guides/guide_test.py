#!/usr/bin/env python3
"""Runs the commands that a page shows and compares what they print with what the page shows.

    guide_test.py BIN SOURCE PAGE

Each block whose first line is `$ millrace ...` is run, in the order of the page, with a daemon of the test's own, in an empty
directory that has SOURCE's resources. A command must end with 0, unless the page shows its error or it names a run (which has
ended here). What follows a command must be in its output, cut at lines `...`. Figures that differ from
machine to machine (times, rates, memory, ids of runs, metrics) are compared by form; row counts of `dataset` and `sample`, and all
hashes, must be equal. A full-screen view is not compared: without a terminal the command prints lines.
"""

import os
import re
import subprocess
import sys
import tempfile

# Commands that only read: what they print is the same everywhere.
EXACT = ("sample", "dataset", "check")
RUN = re.compile(r"\br-[a-z0-9]{5}\b")
HASH = re.compile(r"\b[0-9a-f]{12,}\b")


def blocks(text):
    """(command, what is shown below it) of each command in a block."""
    for block in re.findall(r"^```\n(\$ millrace .*?)^```$", text, re.M | re.S):
        for command, shown in re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", block, re.M):
            yield command, shown


def pieces(shown):
    """The shown lines, cut where the page leaves something out."""
    return [piece.rstrip("\n") for piece in re.split(r"^\.\.\.\n", shown, flags=re.M) if piece.strip()]


def form_of(text):
    """The text with hashes, and without figures, ids, bars and the width of columns."""
    hashes = HASH.findall(text)
    text = RUN.sub("RUN", HASH.sub("HASH", text))
    text = re.sub(r"[▏▎▍▌▋▊▉█░]+", "BAR", text)
    text = re.sub(r"\(pid \d+, runs in [^)]*\)|unix:\S+", "PLACE", text)
    text = re.sub(r"\d[\d,.]*", "N", text)
    text = re.sub(r"N (?:s|min|h) ago|just now", "AGE", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines()), hashes


def is_shown(piece, output, is_exact):
    if is_exact:
        return piece in output
    form, hashes = form_of(piece)
    return form in form_of(output)[0] and all(h in output for h in hashes)


class Place:
    """A directory for the commands of a page, and a daemon of its own."""

    def __init__(self, folder, bin_dir, source):
        self.folder, self.runs = folder, []
        os.symlink(os.path.join(source, "resources"), os.path.join(folder, "resources"))
        self.environment = dict(os.environ, PATH=bin_dir + ":" + os.environ["PATH"], COLUMNS="160", NO_COLOR="1",
                                HOME=folder, **{f"XDG_{name}_HOME": os.path.join(folder, name) for name in ("STATE", "CACHE", "CONFIG")},
                                XDG_RUNTIME_DIR=os.path.join(folder, "run"))
        os.mkdir(self.environment["XDG_RUNTIME_DIR"], 0o700)
        with open(os.path.join(source, "resources/examples/movielens/movielens.yaml"), encoding="utf-8") as file:
            text = file.read().replace("  - filter: rating is", "  - filter: raitng is")
        with open(os.path.join(folder, "spec.yaml"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"(path|table|users?): (\w+\.csv)", rf"\1: {source}/resources/examples/movielens/\2", text))

    def run(self, command):
        """Output of a command; the page's ids of runs become that of a run of this place."""
        if RUN.search(command) and self.runs:
            command = RUN.sub(self.runs[-1], command)
        if command.startswith("millrace run ") and "--watch" not in command:
            command += " --watch"  # on a terminal it is the default
        done = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        if command.startswith("millrace run "):
            self.runs += RUN.findall(done.stdout)[:1]
        self.code = done.returncode
        return done.stdout + done.stderr

    def close(self):
        self.run("millrace down")


def main():
    bin_dir, source, page = sys.argv[1:4]
    with open(os.path.join(source, page), encoding="utf-8") as file:
        shown = list(blocks(file.read()))
    outputs, wrong, checked = {}, 0, 0
    with tempfile.TemporaryDirectory(prefix="millrace-guide-", ignore_cleanup_errors=True) as folder:
        place = Place(folder, bin_dir, source)
        try:
            for command, text in shown:
                if command not in outputs:
                    outputs[command] = place.run(command)
                    checked += 1
                    if place.code != 0 and not RUN.search(command) and ": " not in text:
                        wrong += 1
                        print(f"{page}: `{command}` ends with {place.code}:\n{outputs[command]}\n")
                if re.search("[▁▂▃▄▅▆▇]", text):
                    continue  # a full-screen view
                for piece in pieces(text):
                    checked += 1
                    if not is_shown(piece, outputs[command], command.split()[1] in EXACT):
                        wrong += 1
                        print(f"{page} shows for `{command}`:\n{piece}\n\nbut the tool prints:\n{outputs[command]}\n")
        finally:
            place.close()
    print(f"{checked} commands and pieces of output checked, {wrong} wrong")
    sys.exit(1 if wrong or not checked else 0)


if __name__ == "__main__":
    main()
