"""Polling of other processes: the only place where Python tests pause, always until a condition holds."""
import os
import select
import time


def pause(seconds=0.02):
    """Pauses between two looks at another process; also the clock of a bench."""
    time.sleep(seconds)


def wait_for(what, condition, seconds=60, step=0.02, failure=AssertionError):
    """Polls until condition() is true and returns its value; raises `failure` with `what` after `seconds`. `what` may be a
    function that describes the present state."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise failure(f"not within {seconds} s: {what() if callable(what) else what}")
        pause(step)


def is_gone(pid):
    """Whether the process and all its threads have ended, even if its parent has not waited for it: an init may take seconds
    to reap orphans."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ended = select.poll()
        ended.register(fd, select.POLLIN)
        return bool(ended.poll(0))
    finally:
        os.close(fd)
