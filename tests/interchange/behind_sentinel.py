# SPDX-License-Identifier: BSD-3-Clause
"""The way of docs/moving.md behind Sentinels: three Sentinels, a primary and a replica of one kind
become the other kind's, one process at a time, while a client writes that asks the Sentinels."""
import os
import signal
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../crash"))

from processes import LOCAL, Client, free_port  # noqa: E402
from sentinel_group import NAME, Server, local_group  # noqa: E402

QUORUM, DOWN_AFTER_MS, FAILOVER_TIMEOUT_MS = 2, 1000, 10000
# Bounds, not measures.
STEP_SECONDS = 90
LINES = ("repl-diskless-sync-delay 0",)
REPLICAS = 2  # of the new kind, at the moment of the failover
PACE_SECONDS = 0.005
PREFERRED = "10"  # below the default priority, 100


class Writer(threading.Thread):
    """Writes keys one after another where a Sentinel says that the primary is."""

    def __init__(self, group):
        super().__init__(daemon=True)
        self.group, self.stops, self.client = group, False, None
        self.count, self.last = 0, None
        self.kept = []          # writes that all replicas had
        self.gap_seconds = 0    # the longest time without an answered write
        self.start()

    def run(self):
        turn = 0
        while not self.stops:
            turn += 1
            try:
                if not self.client:
                    sentinel = self.group.sentinels[turn % len(self.group.sentinels)]
                    address = sentinel.primary_address()
                    self.client = Client(address, 1) if address else None
                if self.client:
                    self.write()
            except (OSError, ValueError):
                self.client = None
            time.sleep(PACE_SECONDS)

    def write(self):
        self.count += 1
        if self.client("SET", f"written:{self.count}", self.count) != "OK":
            self.client = None
            return
        now = time.monotonic()
        self.gap_seconds = max(self.gap_seconds, now - (self.last or now))
        self.last = now
        if self.client("WAIT", REPLICAS, 50) >= REPLICAS:
            self.kept.append(self.count)

    def end(self):
        self.stops = True
        self.join()


def wait_for(what, condition):
    until = time.monotonic() + STEP_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"{what}: not within {STEP_SECONDS} s")
        time.sleep(0.05)


def agree(group):
    """CKQUORUM says OK at every Sentinel, and each knows all others."""
    for sentinel in group.sentinels:
        answer = sentinel.ask("SENTINEL", "CKQUORUM", NAME)
        if not isinstance(answer, str) or not answer.startswith("OK 3 usable"):
            return False
    return True


def move_sentinels(group, program, is_ours):
    """One at a time: ended, and the other kind's started with the same file."""
    for sentinel in group.sentinels:
        sentinel.kill(signal.SIGTERM)
        sentinel.program, sentinel.is_ours = program, is_ours
        sentinel.start()
        sentinel.await_start()
        wait_for("CKQUORUM", lambda: agree(group))


def add_replicas(group, program, is_ours, home):
    """New servers follow the primary, are in step, and every Sentinel has found them."""
    added = []
    for _ in range(REPLICAS):
        port = free_port()
        folder = os.path.join(home, str(port))
        os.mkdir(folder)
        added.append(Server(program, is_ours, (LOCAL, port), folder, os.path.join(folder, "log")))
        added[-1].prepare(*LINES, primary=group.primary())
        added[-1].start()
        added[-1].await_start()
    group.servers += added
    wait_for("new replicas", lambda: group.fault() is None)
    return added


def end_servers(group, servers):
    """Ended, and forgotten by one Sentinel after the other."""
    for server in servers:
        group.servers.remove(server)
        server.kill(signal.SIGTERM)
    for sentinel in group.sentinels:
        sentinel.ask("SENTINEL", "RESET", NAME)
        wait_for("RESET", lambda s=sentinel: s.knows(len(group.servers) - 1,
                                                     len(group.sentinels) - 1))


def move_primary(group, to):
    """By SENTINEL FAILOVER to the server that its priority prefers."""
    old = group.primary()
    to.ask("CONFIG", "SET", "replica-priority", PREFERRED)
    wait_for("the priority", lambda: all(
        PREFERRED.encode() in [value for one in sentinel.ask("SENTINEL", "REPLICAS", NAME)
                               for name, value in zip(one[::2], one[1::2])
                               if name == b"slave-priority"] for sentinel in group.sentinels))
    wait_for("SENTINEL FAILOVER",
             lambda: group.sentinels[0].ask("SENTINEL", "FAILOVER", NAME) == "OK")
    wait_for("the failover", lambda: group.fault() is None and group.primary() is to)
    to.ask("CONFIG", "SET", "replica-priority", "100")
    return old


def move(group, binaries, to_ours, home):
    program = binaries[to_ours]
    move_sentinels(group, program, to_ours)
    added = add_replicas(group, program, to_ours, home)
    primary = group.primary()
    end_servers(group, [s for s in group.servers if s not in (primary, *added)])
    end_servers(group, [move_primary(group, added[0])])


def walk(binaries, home, first_is_ours):
    """There and back; returns what is wrong."""
    kind = (binaries[first_is_ours], first_is_ours)
    group = local_group([kind] * 2, [kind] * 3, home)
    problems = []
    try:
        group.start(QUORUM, DOWN_AFTER_MS, FAILOVER_TIMEOUT_MS, LINES)
        writer = Writer(group)
        for to_ours in (not first_is_ours, first_is_ours):
            move(group, binaries, to_ours, home)
        writer.end()
        client = Client(group.primary().address, 10)
        there = client("MGET", *(f"written:{number}" for number in writer.kept))
        lost = [number for number, value in zip(writer.kept, there) if value is None]
        print(f"     {writer.count} writes, {len(writer.kept)} at all replicas, longest stop "
              f"{writer.gap_seconds:.2f} s")
        if lost:
            problems.append(f"writes that all replicas had are gone: {lost}")
        if writer.gap_seconds * 1000 > DOWN_AFTER_MS + FAILOVER_TIMEOUT_MS:
            problems.append(f"no write for {writer.gap_seconds:.1f} s")
    except (OSError, ValueError, StopIteration) as error:
        problems.append(repr(error))
    finally:
        group.end()
    return problems
