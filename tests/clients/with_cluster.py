#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Three primaries of a cluster with a replica each: for tests of clients.

usage: with_cluster.py SERVER COMMAND...

Starts six nodes from one redis-server on files nodes.conf that are written here, runs COMMAND with
the host and the six ports behind it, the primaries' first, and ends them. A node that COMMAND ends
is started again once another one has taken its slots. Exit status: that of COMMAND.
"""
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../crash"))

from processes import LOCAL, Node, end_with_parent, free_port  # noqa: E402

PRIMARIES, SLOTS = 3, 16384
BUS = 10000
FIELDS_WITHOUT_SLOTS = 8   # of a line of CLUSTER NODES
NODE_TIMEOUT_MS = 1000
READY_SECONDS = 60


def free_pair():
    """A port that is free with its bus', which must be a port, too."""
    while True:
        port = free_port()
        if port + BUS > 65535:
            port -= BUS
        try:
            for each in (port, port + BUS):
                with socket.socket() as test:
                    test.bind((LOCAL, each))
            return port
        except OSError:
            continue


class Member(Node):
    """`number` below PRIMARIES is a primary's; others replicate number - PRIMARIES."""

    def __init__(self, program, number, port, home):
        folder = os.path.join(home, str(port))
        os.mkdir(folder)
        super().__init__(program, True, (LOCAL, port), folder, os.path.join(home, f"{port}.log"))
        self.number, self.id = number, f"{number + 1:040x}"
        self.before_exec = end_with_parent
        self.write_file("cluster-enabled yes", f"cluster-node-timeout {NODE_TIMEOUT_MS}",
                        'save ""', "repl-diskless-sync yes", "repl-diskless-sync-delay 0")

    def line(self, reader):
        """Its line in the nodes.conf of `reader`."""
        shard, port = self.number % PRIMARIES, self.address[1]
        me = "myself," if reader is self else ""
        if self.number >= PRIMARIES:
            return f"{self.id} {LOCAL}:{port}@{port + BUS} {me}slave {shard + 1:040x} 0 0 " \
                f"{shard + 1} connected"
        first, end = shard * SLOTS // PRIMARIES, (shard + 1) * SLOTS // PRIMARIES
        return f"{self.id} {LOCAL}:{port}@{port + BUS} {me}master - 0 0 {shard + 1} connected " \
            f"{first}-{end - 1}"

    def write_nodes(self, members):
        lines = [member.line(self) for member in members]
        lines.append(f"vars currentEpoch {PRIMARIES} lastVoteEpoch 0")
        with open(os.path.join(self.folder, "nodes.conf"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")

    def tells(self, text, *words):
        """Whether its answer to the words has the text in it."""
        reply = self.ask(*words)
        return isinstance(reply, bytes) and text in reply

    def is_ready(self):
        return self.tells(b"cluster_state:ok", "CLUSTER", "INFO") and (
            self.tells(b"role:master", "INFO", "replication") or
            self.tells(b"master_link_status:up", "INFO", "replication"))


def await_ready(members):
    until = time.monotonic() + READY_SECONDS
    while not all(member.is_ready() for member in members):
        if time.monotonic() > until:
            raise TimeoutError("the nodes make no cluster")
        time.sleep(0.05)


def is_replaced(member, members):
    """Whether a node that runs shows the member without slots."""
    for other in members:
        nodes = other.ask("CLUSTER", "NODES") if other.process.poll() is None else None
        for line in nodes.decode().split("\n") if isinstance(nodes, bytes) else ():
            if line.startswith(member.id):
                return len(line.split()) == FIELDS_WITHOUT_SLOTS
    return False


def start_again(members, ended):
    """Until all is over: starts again what has ended and was replaced."""
    while not ended.wait(0.1):
        for member in members:
            if member.process.poll() is not None and is_replaced(member, members):
                member.kill()
                member.start()


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as home:
        members = [Member(program, number, free_pair(), home)
                   for number in range(2 * PRIMARIES)]
        for member in members:
            member.write_nodes(members)
        ended = threading.Event()
        keeper = threading.Thread(target=start_again, args=(members, ended))
        try:
            for member in members:
                member.start()
            for member in members:
                member.await_start()
            await_ready(members)
            keeper.start()
            ports = [str(member.address[1]) for member in members]
            return subprocess.run([*sys.argv[2:], LOCAL, *ports], check=False).returncode
        finally:
            ended.set()
            if keeper.is_alive():
                keeper.join()
            for member in members:
                if member.process:
                    member.kill()


if __name__ == "__main__":
    sys.exit(main())
