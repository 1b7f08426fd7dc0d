# SPDX-License-Identifier: BSD-3-Clause
"""A script that shows a difference, made as short as we can (delta debugging, Zeller's ddmin).

First whole parts of the script go, then ops, then single actions of ops and lines of programs,
then the marks that send an op by itself or in pieces. A shorter script counts if it shows a
difference of the same name.
"""
import time

import lua
from script import Op

PROGRAM_LINES_MAX = 10


class Shrinker:
    """run(script) gives the name of the difference that a script shows, or None."""

    def __init__(self, run, signature, seconds):
        self.run = run
        self.signature = signature
        self.until = time.monotonic() + seconds
        self.trials = 0

    def shows(self, script):
        if time.monotonic() > self.until:
            return False
        self.trials += 1
        return self.run(script) == self.signature

    def shrink(self, script):
        script = self.without_parts(script)
        for at in range(len(script) - 1, -1, -1):
            script = self.without_actions(script, at)
            script = self.without_lines(script, at)
        return self.without_marks(script)

    def without_parts(self, script):
        parts = 2
        while len(script) > 1 and time.monotonic() < self.until:
            size = max(1, (len(script) + parts - 1) // parts)
            # From the end: the last ops are what the difference needs, those before may go.
            for first in range(0, len(script), size):
                rest = script[:first] + script[first + size:]
                if rest and self.shows(rest):
                    script = rest
                    parts = max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    return script
                parts = min(parts * 2, len(script))
        return script

    def without_actions(self, script, at):
        op = script[at]
        for place in range(len(op.actions) - 1, -1, -1):
            if len(op.actions) == 1:
                break
            fewer = op.with_actions(op.actions[:place] + op.actions[place + 1:])
            shorter = script[:at] + [fewer] + script[at + 1:]
            if self.shows(shorter):
                script, op = shorter, fewer
        return script

    def without_lines(self, script, at):
        """Of an op's programs."""
        for place, (kind, content) in enumerate(script[at].actions):
            for _ in range(PROGRAM_LINES_MAX if kind == 'call' else 0):
                for fewer in lua.shorter(script[at].actions[place][1]):
                    actions = list(script[at].actions)
                    actions[place] = (kind, fewer)
                    shorter = script[:at] + [script[at].with_actions(actions)] + script[at + 1:]
                    if self.shows(shorter):
                        script = shorter
                        break
                else:
                    break
        return script

    def without_marks(self, script):
        for at, op in enumerate(script):
            if op.alone or op.cut:
                shorter = script[:at] + [Op(op.client, op.actions)] + script[at + 1:]
                if self.shows(shorter):
                    script = shorter
        return script
