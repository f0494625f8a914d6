"""The programs of Millrace, as files in `bin`: millrace, millraced, millrace-loader, millrace-data and millrace-exec.

`main` is the command `millrace` of the environment that this package is installed in.
"""

import os
import sys

BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def program(name):
    """The path of one of the programs. Copying the package may have lost the executable bits. They are set again for
    all programs, because these start each other."""
    for entry in os.scandir(BIN):
        if not os.access(entry.path, os.X_OK):
            try:
                os.chmod(entry.path, entry.stat().st_mode | 0o111)
            except OSError as error:
                raise SystemExit(f"millrace: {entry.path} is not executable, and it cannot be made so: "
                                 f"{error.strerror}; `chmod +x {BIN}/*` as its owner does that") from None
    return os.path.join(BIN, name)


def main():
    """Becomes the program `millrace`."""
    path = program("millrace")
    os.execv(path, ["millrace", *sys.argv[1:]])
