# SPDX-License-Identifier: BSD-3-Clause
"""Strikes: what happens to the processes of a round, drawn before it begins, so that one seed draws
the same whoever plays; and how each is done and mended.

| strike | what |
| --- | --- |
| kill | SIGKILL, and a new start on the same files |
| stop | SIGSTOP, and SIGCONT |
| cut | packets to some others are lost, in both directions or one |
| full | its disk is full for a while |
| full-kill | its disk is full, and then it is killed, and starts with room |
"""
import signal
import subprocess
import threading
import time

from namespaces import Cuts, fill_disk, free_disk

BEGIN_SECONDS = 4


class Strike:
    """One fault: `kind` happens `at` seconds after the beginning to the node of this number, and
    is mended after `lasts`. `peers` are the names of sets of nodes, of which a cut takes one; "one"
    is one node."""

    def __init__(self, draw, kinds, node, longest, peers):
        self.kind, self.node = draw.choice(kinds), node
        self.at, self.lasts = draw.uniform(0, BEGIN_SECONDS), draw.choice(
            (draw.uniform(0.1, 1.5), draw.uniform(1, longest), draw.uniform(1, longest)))
        # For a cut: from whom, and in which direction.
        self.peers = draw.choice(peers)
        self.one, self.way = draw.random(), draw.choice(("both", "both", "sends", "hears"))

    def __str__(self):
        more = f" {self.peers} {self.way}" if self.kind == "cut" else ""
        return f"{self.kind}{more} {self.node} at {self.at:.1f} for {self.lasts:.1f}"

    def directions(self, group):
        nodes = group.nodes()
        mine = nodes[self.node]
        others = [nodes[int(self.one * len(nodes))]] if self.peers == "one" \
            else group.parts()[self.peers]
        hosts = [node.address[0] for node in others if node is not mine]
        sends = [(mine.address[0], host) for host in hosts]
        hears = [(host, mine.address[0]) for host in hosts]
        return {"both": sends + hears, "sends": sends, "hears": hears}[self.way]


class Striker:
    """Strikes the nodes of a group, which has nodes() and parts(), the sets by their names. What
    cannot be done is a text in `faults`."""

    def __init__(self, group, faults):
        self.group, self.cuts, self.faults = group, Cuts(), faults

    def strike_all(self, strikes):
        """Returns when all is mended."""
        do_all([lambda strike=strike: self.strike(strike) for strike in strikes])

    def strike(self, strike):
        try:
            time.sleep(strike.at)
            node = self.group.nodes()[strike.node]
            if strike.kind == "cut":
                self.cut(strike)
                return
            with node.lock:
                {"kill": self.kill, "stop": self.stop, "full": self.full,
                 "full-kill": self.full_kill}[strike.kind](node, strike)
        except (OSError, subprocess.SubprocessError) as error:
            self.faults.append(f"{strike}: {error!r}")

    def kill(self, node, strike):
        node.kill()
        time.sleep(strike.lasts)
        node.start()

    def stop(self, node, strike):
        node.send(signal.SIGSTOP)
        time.sleep(strike.lasts)
        node.send(signal.SIGCONT)

    def cut(self, strike):
        directions = strike.directions(self.group)
        self.cuts.change(directions, 1)
        time.sleep(strike.lasts)
        self.cuts.change(directions, -1)

    def full(self, node, strike):
        fill_disk(node.folder)
        time.sleep(strike.lasts)
        free_disk(node.folder)
        if node.process.poll() is not None and node.may_end_on_full_disk():
            node.kill()
            node.start()

    def full_kill(self, node, strike):
        """What it has done meanwhile is not on disk, and forgotten."""
        fill_disk(node.folder)
        time.sleep(strike.lasts)
        node.kill()
        free_disk(node.folder)
        node.start()


def do_all(deeds):
    """Calls all at the same time, and returns when the last has returned."""
    threads = [threading.Thread(target=deed, daemon=True) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
