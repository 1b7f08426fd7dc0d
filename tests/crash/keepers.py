# SPDX-License-Identifier: BSD-3-Clause
"""What keeps a server's data while it is written to, and which data may be there afterwards."""
import math
import os
import re
import shutil
import time

import writers
from history import History, first_out_of_order

NOTHING = "0" * 40
# How long the data is kept and written to before something strikes.
SECONDS = (0.05, 0.8)


def fields(client, section):
    lines = client("INFO", section).decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def info(client, section, field):
    return fields(client, section)[field]


class Snapshots:
    """SAVE and BGSAVE, of which each has a moment: the digest of the data that it saves."""

    options = ("--stop-writes-on-bgsave-error", "no")
    filled = 0.4  # of the keys, before it begins
    seconds = SECONDS
    rules = ()
    power = False
    may_die = False

    def __init__(self, draw, strike):
        self.draw = draw
        self.begun = []  # digests of saves that may have come through, later than `kept`
        self.kept = NOTHING
        self.child = None  # the digest that a child saves at the moment
        self.saved = self.failed = 0

    @staticmethod
    def turns():
        return [writers.change, writers.change]

    def _ask(self, client, quiet, command):
        """The digest, and the reply of a save at the same moment. The digest must be known before
        the save begins, which may come through without a reply."""
        with quiet():
            digest = client("DEBUG", "DIGEST")
            self.begun.append(digest)
            return digest, client(command)

    def _has_come_through(self, digest):
        del self.begun[:self.begun.index(digest) + 1]
        self.kept = digest
        self.saved += 1

    def step(self, client, quiet):
        """One thing more; raises OSError where the server is gone. Nobody writes within
        `quiet()`."""
        if self.child:
            self.look(client)
        elif self.draw.random() < 0.3:
            digest, reply = self._ask(client, quiet, "SAVE")
            if reply == "OK":
                self._has_come_through(digest)
            else:
                self.failed += 1
        else:
            digest, reply = self._ask(client, quiet, "BGSAVE")
            if reply == "Background saving started":
                self.child = digest
            else:
                self.failed += 1

    def look(self, client):
        """Takes notice of a child's end."""
        if info(client, "persistence", "rdb_bgsave_in_progress") != "0":
            return
        if info(client, "persistence", "rdb_last_bgsave_status") == "ok":
            self._has_come_through(self.child)
        else:
            self.failed += 1
        self.child = None

    def finish(self, client, quiet):
        """The system works again: so must a save, of whatever kind comes first."""
        while self.child:
            self.look(client)
        digest, reply = self._ask(client, quiet, "SAVE")
        if reply != "OK":
            raise AssertionError(f"SAVE after the faults: {reply}")
        self._has_come_through(digest)

    @staticmethod
    def leftovers(folder):
        """Makes of the folder what a server is to be started on, once for each time that it
        yields: whether that may be refused."""
        yield False

    def judge(self, server, oracle, struck):
        """What is wrong with what a server has that was started on what is left; None = nothing.
        The oracle is a server without faults, for whatever is to be compared with it."""
        digest, allowed = server("DEBUG", "DIGEST"), {self.kept, *self.begun}
        return None if digest in allowed else f"{digest} is none of {len(allowed)} allowed ones"

    @staticmethod
    def report(keepers):
        """Of all rounds."""
        return [f"{sum(k.saved for k in keepers)} saves came through, "
                f"{sum(k.failed for k in keepers)} failed"]


# Of appendfsync: the last is changed from one to another all the time.
POLICIES = (("always",), ("everysec",), ("no",), ("always", "everysec", "no"))
# Syncs take so long, for some; 0 = no time at all, since they are pretended.
SLOW_MSEC = {"always": (0, 0, 3, 30), "everysec": (0, 300, 900), "no": (0,)}
# appendfsync everysec promises, in seconds: a sync begins this long after the last one did; so old
# becomes what waits for one (aof-queue-age-max); and how late this test's own busy machine may be.
PERIOD, AGE, LATE = 1, 2, 1
STEP_SECONDS = 0.005
FINISH_SECONDS = 60
REMEMBERING = 2
DEPTHS = (1, 1, 4, 20)
CUTS = 5
# Where the snapshot ends that a log begins with.
PREAMBLE_END = re.compile(rb"\xff.{8}(?=\*2\r\n\$6\r\nSELECT\r\n|$)", re.DOTALL)


class Log:
    """The append only file, and rewrites of it in every other round. Writers remember what they
    did, so that it can be told what is missing."""

    filled = 0.1
    power = True  # syncs are pretended, also where the power stays
    preambles = ("yes", "no")
    policies_to_draw = POLICIES

    def __init__(self, draw, strike):
        self.draw, self.strike = draw, strike
        self.policies = draw.choice(self.policies_to_draw)
        self.may_die = "always" in self.policies and strike == "faults"
        self.rewrites = draw.random() < 0.5
        self.slow_msec = draw.choice(SLOW_MSEC[self.policies[-1]])
        self.seconds = SECONDS
        if "everysec" in self.policies and strike in ("kill", "power") and draw.random() < 0.7:
            self.seconds = (0.8, 3.5)
        self.options = (
            "--appendonly", "yes", "--appendfsync", self.policies[0],
            "--aof-use-rdb-preamble", draw.choice(self.preambles),
            "--aof-write-thread", draw.choice(("yes", "no", "no")),
            "--aof-queue-bytes-max", draw.choice(("64kb", "256mb")),
            "--auto-aof-rewrite-min-size", "100kb",
            "--auto-aof-rewrite-percentage", "20" if self.rewrites else "0")
        # What is pipelined and refused in part has no order that a history can tell.
        whole = strike == "faults"
        self.depths = (1,) if whole else DEPTHS
        self.histories = [History(f"w{i}", draw, ("transaction", "script") if whole else
                                  ("transaction", "script", "plain")) for i in range(REMEMBERING)]
        self.child = False
        self.saved = self.failed = self.lost = self.refused = 0
        self.oldest = 0.0

    @property
    def rules(self):
        return (f"slow {self.slow_msec} appendonly",) if self.slow_msec else ()

    def turns(self):
        return [self._turn(history) for history in self.histories] + [writers.change_by_chance]

    def _turn(self, history):
        def turn(draw, client):
            sent = [history.send(client) for _ in range(draw.choice(self.depths))]
            for op, before in sent:
                history.take_reply(client, op, before)
        return turn

    def step(self, client, quiet):
        time.sleep(STEP_SECONDS)
        if len(self.policies) > 1 and self.draw.random() < 0.1:
            client("CONFIG", "SET", "appendfsync", self.draw.choice(self.policies))
        if self.child:
            self._look(client)
        elif self.rewrites:
            client("CONFIG", "SET", "aof-use-rdb-preamble", self.draw.choice(self.preambles))
            self._begin(client)

    def _begin(self, client):
        if isinstance(client("BGREWRITEAOF"), Exception):
            self.failed += 1
        else:
            self.child = True

    def _look(self, client):
        told = fields(client, "persistence")
        if (told["aof_rewrite_in_progress"], told["aof_rewrite_scheduled"]) != ("0", "0"):
            return
        if told["aof_last_bgrewrite_status"] == "ok":
            self.saved += 1
        else:
            self.failed += 1
        self.child = False

    def finish(self, client, quiet):
        """The system works again: all is written, and a rewrite goes well."""
        until = time.monotonic() + FINISH_SECONDS
        with quiet():
            for what, wanted in (("aof_last_write_status", "ok"), ("aof_buffer_length", "0"),
                                 ("aof_rewrite_scheduled", "0"), ("aof_rewrite_in_progress", "0")):
                while info(client, "persistence", what) != wanted:
                    if time.monotonic() > until:
                        raise AssertionError(f"{what} does not become {wanted}")
                    time.sleep(STEP_SECONDS)
        if not self.rewrites:
            return
        self._begin(client)
        failed = self.failed
        while self.child:
            if time.monotonic() > until:
                raise AssertionError("the rewrite does not end")
            self._look(client)
        if self.failed > failed:
            raise AssertionError("a rewrite after the faults failed")

    @staticmethod
    def leftovers(folder):
        yield False

    def may_lose(self, struck):
        """Writes that were answered this long before the strike, in seconds, may be gone."""
        slow = self.slow_msec / 1000
        if self.policies == ("always",):
            return 0
        if self.strike == "power":
            return PERIOD + slow + LATE if self.policies == ("everysec",) else math.inf
        # What waits while a sync holds the file; the first one begins after a second.
        early = struck.alive < PERIOD and "always" not in self.policies
        held = 0 if early or self.policies == ("no",) else min(slow, AGE) + LATE
        return held if struck.recovered else max(held, struck.failing)

    def judge(self, server, oracle, struck):
        for history in self.histories:
            oracle("FLUSHALL")
            fault = history.judge(server, oracle)
            if fault:
                return fault
        fault = first_out_of_order(self.histories)
        if fault:
            return fault
        lost = [op for history in self.histories for op in history.lost]
        self.lost = len(lost)
        self.oldest = max((struck.at - op.answered for op in lost), default=0.0)
        may = self.may_lose(struck)
        if lost and self.oldest >= may:
            return f"{len(lost)} writes are lost, of up to {self.oldest:.3f} s before; " \
                f"of no more than {may:.3f} s may be"
        return None

    @staticmethod
    def report(keepers):
        lines = []
        for policies in POLICIES:
            some = [k for k in keepers if k.policies == policies]
            answered = sum(1 for k in some for h in k.histories for op in h.ops
                           if op.answered and not op.refused)
            losses = [k for k in some if k.lost]
            lines.append(
                f"{'/'.join(policies)}: {len(some)} rounds, {answered} writes answered, "
                f"{sum(k.lost for k in some)} lost in {len(losses)} rounds, the oldest "
                f"{max((k.oldest for k in some), default=0):.3f} s before; rewrites: "
                f"{sum(k.rewrites for k in some)} rounds, {sum(k.saved for k in some)} came "
                f"through, {sum(k.failed for k in some)} failed; "
                f"{sum(k.refused for k in some)} starts refused")
        return lines


# A rename of the new file takes so many milliseconds before it has its name, and so many after.
SLOW_RENAMES = (None, None, (0, 5), (20, 0), (0, 50), (30, 300), (0, 300))
METHODS = ("fork", "fork", "walk")


class SwitchedLog(Log):
    """The log is switched on and off all the time, and all that says how it is written. What was
    answered under `always` must be there from the moment on in which the first file has its name;
    what was answered before the log is switched off stays in the old file."""

    policies_to_draw = POLICIES + (("always",),) * 4

    def __init__(self, draw, strike):
        super().__init__(draw, strike)
        self.rename = draw.choice(SLOW_RENAMES)
        self.seconds = (0.1, 2.5)
        self.always_only = self.policies == ("always",)
        self.on = self.in_place = True
        self.before = None  # the file of that name when the log was last switched on
        self.kept_until = 0.0  # what was answered before this is in the old file
        self.found = False  # the first file, after the strike
        self.switched = 0

    @property
    def rules(self):
        slow = (f"rename {self.rename[0]} {self.rename[1]} appendonly",) if self.rename else ()
        return (*super().rules, *slow)

    @staticmethod
    def _identity(folder):
        try:
            return os.stat(os.path.join(folder, "appendonly.aof")).st_ino
        except FileNotFoundError:
            return None

    def _switch_on(self, client, folder):
        self.before = self._identity(folder)
        self.on, self.in_place = True, False
        if isinstance(client("CONFIG", "SET", "appendonly", "yes"), Exception):
            self.on = False

    def _switch_off(self, client):
        if self.on and self.in_place:
            self.kept_until = time.monotonic()
        self.on = self.in_place = False
        client("CONFIG", "SET", "appendonly", "no")
        self.switched += 1

    def _look_whether_in_place(self, client):
        told = fields(client, "persistence")
        if (told["aof_enabled"], told["aof_rewrite_in_progress"],
                told["aof_rewrite_scheduled"]) == ("1", "0", "0"):
            self.in_place = True

    def step(self, client, quiet):
        time.sleep(STEP_SECONDS)
        draw = self.draw
        if self.on and not self.in_place:
            self._look_whether_in_place(client)
        way = draw.random()
        if way < 0.1 and self.on:
            self._switch_off(client)
        elif way < 0.4 and not self.on:
            self._switch_on(client, client("CONFIG", "GET", "dir")[1].decode())
        elif way < 0.25:
            client("CONFIG", "SET", "appendfsync", draw.choice(self.policies))
        elif way < 0.3:
            client("CONFIG", "SET", "snapshot-method", draw.choice(METHODS))
        elif way < 0.35:
            client("CONFIG", "SET", "aof-use-rdb-preamble", draw.choice(self.preambles))
        elif way < 0.45 and self.on and self.rewrites:
            client("BGREWRITEAOF")

    def finish(self, client, quiet):
        until = time.monotonic() + FINISH_SECONDS
        if not self.on:
            self._switch_on(client, client("CONFIG", "GET", "dir")[1].decode())
        while not self.in_place:
            if time.monotonic() > until:
                raise AssertionError("the log's first file is not written")
            self._look_whether_in_place(client)
            time.sleep(STEP_SECONDS)
        super().finish(client, quiet)

    def leftovers(self, folder):
        self.found = self._identity(folder) not in (None, self.before)
        yield False

    def may_lose(self, struck):
        if not self.always_only:
            return math.inf
        kept = self.on and (self.in_place or self.found)
        return 0 if kept else struck.at - self.kept_until

    @staticmethod
    def report(keepers):
        return [f"{sum(k.switched for k in keepers)} times off; at the strike the log was on in "
                f"{sum(k.on and k.in_place for k in keepers)} rounds, off in "
                f"{sum(not k.on for k in keepers)}; its first file was found, and not told, in "
                f"{sum(k.on and not k.in_place and k.found for k in keepers)}",
                *Log.report(keepers)]


class CutLog(Log):
    """The log, cut off at any byte: what is left of it is a beginning of the history. Only one cut
    within the snapshot that it begins with is refused. (One that begins with the keys as commands
    has some of the keys, if it is cut there; no crash does that, for they are synced first.)"""

    preambles = ("yes",)

    def leftovers(self, folder):
        path = os.path.join(folder, "appendonly.aof")
        with open(path, "rb") as file:
            whole = file.read()
        begins = PREAMBLE_END.search(whole) if whole.startswith(b"REDIS") else None
        preamble = begins.end() if begins else 0
        shutil.copyfile(path, path + ".whole")
        for number in range(CUTS):
            first = 0 if number == 0 else min(preamble, len(whole))
            length = self.draw.randint(first, len(whole))
            with open(path, "wb") as file:
                file.write(whole[:length])
            yield 0 < length < preamble

    def may_lose(self, struck):
        return math.inf
