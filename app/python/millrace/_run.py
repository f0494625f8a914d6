"""The run that this process is a rank of, if Millrace's launcher started it (`command:` of a spec).

The launcher's information is in the job.json that MILLRACE_JOB names. All child processes inherit that variable. Only the
first process that asks is the rank: it holds a lock for as long as it lives. Processes that it starts or forks are not
ranks.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
from typing import Any

from ._errors import MillraceError


class Run:
    """The run and this rank of it, as the launcher describes them."""

    def __init__(self, path: str, job: dict[str, Any]) -> None:
        folder = os.path.dirname(path)
        self.job = path
        self.id: str = job["run"]
        self.attempt: int = job["attempt"]
        self.spec: dict[str, Any] = job["spec"]
        self.has_dataset = "dataset" in self.spec
        """Whether the run has a stream, and so a feed."""
        self.spec_hash: str = job["spec_hash"]
        self.stream_hash: str = job["stream_hash"]
        self.rank_socket: str = job["rank_socket"]
        self.feed_socket: str = job["feed_socket"]
        self.checkpoints: str = job["checkpoint_dir"]
        self.resume: str | None = job.get("resume")
        """The checkpoint that this attempt resumes from."""
        self.page = os.path.join(folder, "steps.page")
        self.spill = os.path.join(folder, f"rank{os.environ['RANK']}", "lines.spill")
        """The directory for lines that wait for the daemon."""
        self.rank = int(os.environ["RANK"])
        self.world = int(os.environ["WORLD_SIZE"])
        self.is_on_one_machine = os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]
        self.spec_file = os.environ.get("MILLRACE_SPEC", "")
        self.pid = os.getpid()
        self._lock = os.open(os.path.join(folder, f"rank{self.rank}", "script.lock"),
                             os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def claim(self) -> bool:
        """Whether this process is the rank, from now on to its end."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            return False
        return True


def find() -> Run | None:
    """Claims and returns the run of this process; None if no launcher started it, or another process is the rank."""
    path = os.environ.get("MILLRACE_JOB")
    if not path:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            job = json.load(file)
        if job.get("version") != 1:
            raise MillraceError(f"{path} is of version {job.get('version')}; this module reads version 1: install the "
                                "module and the daemon from one release")
        run = Run(path, job)
    except (OSError, ValueError, KeyError) as error:
        raise MillraceError(f"{path}: what the launcher wrote cannot be read ({error}); MILLRACE_JOB names it") from None
    return run if run.claim() else None


def script_facts() -> dict[str, Any]:
    """The part of the run's receipt about the script: its file and its interpreter."""
    facts = {"interpreter": sys.executable or "", "python": sys.version.split()[0]}
    path = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.isfile(path):
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        facts.update(path=path, sha256=digest.hexdigest())
    return facts


def packages() -> dict[str, str]:
    """Names and versions of the installed packages, like `pip freeze`; taken from the names of directories only."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            stem, dot, kind = name.rpartition(".")
            if dot and kind in ("dist-info", "egg-info"):
                parts = stem.split("-")
                if len(parts) >= 2:
                    found.setdefault(parts[0].lower().replace("_", "-"), parts[1])
    return dict(sorted(found.items())[:1500])
