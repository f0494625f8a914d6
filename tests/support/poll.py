"""Waiting for what other processes do: the one place where Python's tests pause, always towards a condition."""
import os
import select
import time


def pause(seconds=0.02):
    """Between two looks at another process; a bench's own clock."""
    time.sleep(seconds)


def wait_for(what, condition, seconds=60, step=0.02, failure=AssertionError):
    """The first true value of condition(), polled; raises `failure` with `what` after `seconds`. `what` may be a function
    that tells what was there instead."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise failure(f"not within {seconds} s: {what() if callable(what) else what}")
        pause(step)


def is_gone(pid):
    """The process has ended, and with it all its threads; whether its parent has noticed does not matter. An init may take
    seconds to reap orphans."""
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
