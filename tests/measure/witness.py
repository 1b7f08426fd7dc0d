#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""When the machine itself stands still: what no server can help.

A host that gives a virtual machine only so much of each 100 ms stops all its processors at once for
some milliseconds, and the kernel inside books that time to whatever thread ran. So a turn of a
server's loop looks long though nothing was done in it. A witness is a process on another core: it
sleeps for a millisecond again and again, and wakes late where the machine stood still. What it
waited for its core, others being on it, is no such thing and is subtracted; it goes before them
where the system lets it.

  witness.py    until its input ends; a line for each time: "<end, monotonic seconds> <seconds>"
"""
import os
import select
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import servers  # noqa: E402

SLEEP_S = 0.001
STILL_S = 0.001  # less is how late timers are
# A turn is booked when it ends, and then sampled: so long after a stop it may be seen first.
BOOKED_WITHIN_S = 0.02
PRIORITY = 10  # a lab that runs under `chrt -f 1` included


def waited_s(file):
    """How long this process stood runnable without a core."""
    return int(os.pread(file, 64, 0).split()[1]) / 1e9


def watch(over, tell):
    file = os.open('/proc/self/schedstat', os.O_RDONLY)
    waited, before = waited_s(file), time.monotonic()
    while not over():
        time.sleep(SLEEP_S)
        now, waited_now = time.monotonic(), waited_s(file)
        still = now - before - SLEEP_S - (waited_now - waited)
        if still >= STILL_S:
            tell(now, still)
        waited, before = waited_now, time.monotonic()


class Witness:
    """One of its own, from its making to `stops()`."""

    def __init__(self, core):
        self.process = servers.start_process([sys.executable, __file__], core=core, text=True,
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def stops(self):
        """(end in monotonic seconds, seconds) of each. Once."""
        try:
            told, _ = self.process.communicate('\n', timeout=10)
            return [tuple(map(float, line.split())) for line in told.splitlines()]
        finally:
            servers.end_process(self.process)


def longest_turn_apart(turns, at, stops):
    """The longest turn, in ms, of the samples that no stop of the machine touched; None where there
    is none. `turns`: of each sample the longest so far and the histogram, as INFO has them. Where
    the longest so far is a stop's, the histogram says what else there was: up to the end of its
    class."""
    longest, before_usec, before, since = None, 0.0, {}, None
    for moment, (most_usec, text) in zip(at, turns):
        classes = {int(name): int(count) for name, count in
                   (part.split('=') for part in text.split(';') if part)}
        touched = since is None or any(end > since - BOOKED_WITHIN_S and end - length < moment
                                       for end, length in stops)
        more = [low for low, count in classes.items() if count > before.get(low, 0)]
        if not touched and more:
            most = most_usec if most_usec > before_usec else min(2 * max(more), most_usec)
            longest = max(longest or 0, most / 1e3)
        before_usec, before, since = most_usec, classes, moment
    return longest


def main():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        pass
    watch(lambda: select.select([sys.stdin], [], [], 0)[0],
          lambda end, length: print(f'{end:.6f} {length:.6f}', flush=True))


if __name__ == '__main__':
    main()
