# SPDX-License-Identifier: BSD-3-Clause
"""When a processor itself stood still: what no server on it can help.

A host that gives a virtual machine only so much of each 100 ms, or runs another on the same
processor, stops it for some milliseconds, and the kernel inside books that time to whatever thread
ran, and little of it as steal. So a turn of a server's loop looks long though nothing was done in
it. A witness (witness.c) on the server's core sees it: it sleeps for a millisecond again and again,
and tells when it woke late though nobody was before it.
"""
import os
import subprocess

import servers

# A turn is booked when it ends, and then sampled: so long after a stop it may be seen first.
BOOKED_WITHIN_S = 0.02


class Witness:
    """One of its own, from its making to `stops()`."""

    def __init__(self, core):
        program = servers.build_program(os.path.join(servers.HERE, 'witness.c'))
        self.process = servers.start_process([program], core=core, text=True,
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def stops(self):
        """(end in monotonic seconds, seconds) of each. Once."""
        try:
            told, _ = self.process.communicate('\n', timeout=10)
            return [tuple(map(float, line.split())) for line in told.splitlines()]
        finally:
            servers.end_process(self.process)


def longest_turn_apart(turns, at, stops):
    """The longest turn, in ms, of the samples that no stop touched; None where there is none.
    `turns`: of each sample the longest so far and the histogram, as INFO has them. Where the
    longest so far is a stop's, the histogram says what else there was: up to the end of its
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
