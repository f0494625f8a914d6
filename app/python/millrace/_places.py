"""Finds the C library and the programs: in the environment, the installed wheels, PATH, in this order. Also specs, and the
directory of feeds' sockets."""

from __future__ import annotations

import os
import stat

from ._errors import MillraceError, SpecError

LIBRARY = "libmillrace_feed.so"


def library() -> str:
    """The path of the C library."""
    named = os.environ.get("MILLRACE_FEED_LIBRARY")
    if named:
        return _existing(named, "MILLRACE_FEED_LIBRARY")
    tried = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lib", LIBRARY)]
    bin_dir = os.environ.get("MILLRACE_BIN_DIR")
    if bin_dir:
        tried.insert(0, os.path.join(bin_dir, "..", "lib", LIBRARY))
    for path in tried:
        if os.path.exists(path):
            return path
    raise MillraceError(
        f"{LIBRARY} is not in {' nor in '.join(os.path.dirname(path) for path in tried)}: "
        "install the wheel of millrace, or name the file in MILLRACE_FEED_LIBRARY")


def program(name: str) -> str:
    """The path of one of Millrace's programs."""
    bin_dir = os.environ.get("MILLRACE_BIN_DIR")
    if bin_dir:
        return _existing(os.path.join(bin_dir, name), "MILLRACE_BIN_DIR")
    from importlib.util import find_spec
    found = find_spec("millrace_loader")
    for folder in (found.submodule_search_locations or []) if found else []:
        path = os.path.join(folder, "bin", name)
        if os.path.exists(path):
            _make_executable(path)
            return path
    from shutil import which
    on_path = which(name)
    if on_path:
        return on_path
    raise MillraceError(f"{name} is not installed: `pip install millrace-loader` brings it, "
                        "or MILLRACE_BIN_DIR names its directory")


def spec(given: str) -> str:
    """The absolute path of a spec. A relative one begins at the working directory, also in a run."""
    path = os.path.abspath(given)
    own = os.environ.get("MILLRACE_SPEC", "")
    if not os.path.exists(path):
        missing = f"{path}: this file does not exist"
        if os.path.isabs(given):
            raise SpecError(f"{missing}; the spec is a YAML file")
        raise SpecError(f"{missing}, as {given!r} is relative to the working directory; "
                        + (f"the spec of this run is {own}, which os.environ['MILLRACE_SPEC'] names" if own else
                           f"os.path.join(os.path.dirname(__file__), {given!r}) is beside the script"))
    if own and os.path.basename(given) == os.path.basename(own) and os.path.realpath(path) != os.path.realpath(own):
        import warnings
        warnings.warn(f"{path} is not the spec of this run, which is {own}: its stream has a feed of its own, and its rows do "
                      "not count for the run", RuntimeWarning, stacklevel=3)
    return path


def _existing(path: str, variable: str) -> str:
    if not os.path.exists(path):
        raise MillraceError(f"{path}: this file does not exist; {variable} of the environment names it")
    return path


def _make_executable(path: str) -> None:
    """Cloud images may lose the executable bit; if this user may not set it, starting the program fails."""
    if not os.access(path, os.X_OK):
        try:
            os.chmod(path, os.stat(path).st_mode | 0o111)
        except OSError:
            pass


def sockets() -> str:
    """The directory of feeds' sockets, for this user only; created if it does not exist."""
    import tempfile
    base = os.path.join(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), f"millrace-{os.geteuid()}")
    own_directory(base)
    return base


def own_directory(path: str) -> None:
    """Creates a directory that only this user can enter, or checks that an existing one is such a directory."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise MillraceError(f"{path}: {error.strerror}; the socket of a feed is there: XDG_RUNTIME_DIR or TMPDIR "
                            "name another place") from None
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise MillraceError(f"{path} is not a directory of this user alone (mode 0700): remove it, or name another "
                            "place in XDG_RUNTIME_DIR")
