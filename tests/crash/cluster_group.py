# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a cluster as processes, ours and stock's mixed, and clients that follow what nodes
say about slots."""
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))

from processes import Client, Node  # noqa: E402
from slots import slot_of  # noqa: E402

CREATE_SECONDS = 120
FIX_SECONDS = 120
RESHARD_SECONDS = 25
MIGRATE_MS = 2000
REDIRECTIONS = 8
POLL_SECONDS, OPEN_SECONDS = 0.5, 30
# How 6.2 ends on a full disk: it cannot write nodes.conf, or the log that it needs after a copy.
ENDS_ON_FULL_DISK = re.compile(r"can't update cluster config file|AOF can't be turned on|"
                               r"append only file.* Exiting|Can't open.*Exiting")


class Line:
    """A line of CLUSTER NODES."""

    def __init__(self, text):
        self.id, address, flags, self.primary, _, _, epoch, link, *slots = text.split()
        self.is_linked = link == "connected"
        self.host = address.partition(":")[0]
        self.bus_port = int(address.partition("@")[2])
        self.flags, self.epoch = set(flags.split(",")), int(epoch)
        self.open = [word for word in slots if word[0] == "["]
        self.slots = set()
        for word in slots:
            if word[0] != "[":
                first, _, last = word.partition("-")
                self.slots.update(range(int(first), int(last or first) + 1))

    def known(self, but=frozenset()):
        """What all nodes must agree on, but for these slots."""
        return (self.id, self.host, self.bus_port, frozenset(self.flags - {"myself"}),
                self.primary, self.epoch, frozenset(self.slots - but))


class ClusterNode(Node):
    """`programs` has the path of a redis-server of ours, True, and of stock's, False; the node is
    one of them, and may become the other one."""

    def __init__(self, programs, is_ours, address, folder, log):
        super().__init__(programs[is_ours], is_ours, address, folder, log)
        self.programs, self.id = programs, None

    def __str__(self):
        return f"node {self.address[0]} ({'ours' if self.is_ours else 'stock'})"

    def become(self, is_ours):
        self.is_ours, self.program = is_ours, self.programs[is_ours]

    def prepare(self, timeout_ms, announced_bus_port, lines):
        self.write_file("save \"\"", "cluster-enabled yes", f"cluster-node-timeout {timeout_ms}",
                        f"cluster-announce-bus-port {announced_bus_port}", *lines)

    def lines(self):
        """The nodes that it knows, by their ids; {} where it does not answer."""
        text = self.ask("CLUSTER", "NODES")
        if not isinstance(text, bytes):
            return {}
        lines = [Line(line) for line in text.decode().splitlines()]
        return {line.id: line for line in lines}

    def fields(self, *command):
        """Of CLUSTER INFO, or of INFO replication."""
        text = self.ask(*command)
        if not isinstance(text, bytes):
            return {}
        return dict(line.split(":", 1) for line in text.decode().split("\r\n") if ":" in line)

    def is_replica(self):
        role = self.ask("ROLE")
        return isinstance(role, list) and role[0] == b"slave"

    def may_end_on_full_disk(self):
        return not self.is_ours and bool(ENDS_ON_FULL_DISK.search(self.text_of_log()[-2000:]))


class Group:
    """`kinds` says of each node whether it is ours; the first half begins as primaries."""

    def __init__(self, programs, kinds, addresses, folders, logs):
        self.made = [ClusterNode(programs, *place)
                     for place in zip(kinds, addresses, folders, logs)]

    def nodes(self):
        return self.made

    def parts(self):
        """Sets of nodes by their names, from which a strike may cut a node off."""
        half = len(self.made) // 2
        return {"all": self.made, "first": self.made[:half], "second": self.made[half:],
                "even": self.made[::2]}

    def node_of(self, host):
        return next(node for node in self.made if node.address[0] == host)

    def start(self, timeout_ms, announced_bus_port, lines, redis_cli):
        for node in self.made:
            node.prepare(timeout_ms, announced_bus_port, lines)
            node.start()
        for node in self.made:
            node.await_start()
            node.id = node.ask("CLUSTER", "MYID").decode()
        words = [f"{host}:{port}" for host, port in (node.address for node in self.made)]
        said = self.manage(redis_cli, CREATE_SECONDS, "create", *words, "--cluster-replicas", "1",
                           "--cluster-yes")
        # The check at its end finds nodes that a busy machine lets fail.
        if "Performing Cluster Check" not in said:
            raise OSError(f"{redis_cli} makes no cluster: {said}")

    @staticmethod
    def manage(redis_cli, seconds, *words):
        """redis-cli --cluster with these words; what it says. It is killed after these seconds."""
        try:
            done = subprocess.run([redis_cli, "--cluster", *words], timeout=seconds, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
        except subprocess.TimeoutExpired as error:
            return (error.stdout or b"").decode("utf-8", "replace") + "\nkilled"
        return done.stdout + f"\nexit {done.returncode}"

    def reshard(self, redis_cli, source, target, slots):
        """Moves slots from the shard of a node to that of another."""
        seen = next((lines for node in self.made if (lines := node.lines())), {})

        def primary(node):
            line = seen.get(node.id)
            return node.id if not line or line.primary == "-" else line.primary

        entry = next((node for node in self.made if node.ask("PING") == "PONG"), self.made[0])
        return self.manage(redis_cli, RESHARD_SECONDS, "reshard", "%s:%d" % entry.address,
                           "--cluster-from", primary(source), "--cluster-to", primary(target),
                           "--cluster-slots", str(slots), "--cluster-yes",
                           "--cluster-timeout", str(MIGRATE_MS))

    def fix(self, redis_cli):
        return self.manage(redis_cli, FIX_SECONDS, "fix", "%s:%d" % self.made[0].address,
                           "--cluster-timeout", str(MIGRATE_MS))

    def fault(self, under_load):
        """What is not as it is at rest: all nodes are linked, name the same owners, roles and
        epochs, and find the cluster ok; replicas follow, and have all of their primaries' stream
        where there is no load. None where nothing is missing. Open slots, whose owners an
        operator names, are not a fault here."""
        seen = []
        for node in self.made:
            fields, lines = node.fields("CLUSTER", "INFO"), node.lines()
            if (fields.get("cluster_state"), len(lines)) != ("ok", len(self.made)):
                return f"{node}: state {fields.get('cluster_state')}, knows {len(lines)} nodes"
            seen.append(lines.values())
            unfit = [line for line in lines.values() if not line.is_linked or
                     line.flags & {"fail", "fail?", "handshake", "noaddr"}]
            if unfit:
                return f"{node}: {unfit[0].id} is {unfit[0].flags}, linked: {unfit[0].is_linked}"
        marks = " ".join(mark for lines in seen for line in lines for mark in line.open)
        opened = {int(slot) for slot in re.findall(r"\[(\d+)-", marks)}
        views = [sorted(line.known(opened) for line in lines) for lines in seen]
        for node, view in zip(self.made, views):
            if view != views[0]:
                return f"{node} and {self.made[0]} differ: " + difference(view, views[0])
        epochs = [line[5] for line in views[0] if line[4] == "-"]
        if len(set(epochs)) < len(epochs):
            return f"primaries have the epochs {epochs}"
        return self.replication_fault(views[0], under_load)

    def replication_fault(self, view, under_load):
        """Primaries are asked first, so that a replica must have as much of the stream, or a ping
        more."""
        nodes = {node.id: node for node in self.made}
        offsets = {}
        for name, _, _, _, primary, _, _ in sorted(view, key=lambda line: line[4] != "-"):
            fields = nodes[name].fields("INFO", "replication")
            offsets[name] = int(fields.get("master_repl_offset", -1))
            if (primary == "-") != (fields.get("role") == "master"):
                return f"{nodes[name]} has the role {fields.get('role')}"
            if primary != "-" and (fields.get("master_link_status") != "up" or
                                   not under_load and offsets[name] < offsets[primary]):
                return f"{nodes[name]}: {fields.get('master_link_status')} {offsets[name]}, " \
                       f"its primary {offsets[primary]}"
        return None

    def open_slots(self):
        return [f"{node}: {mark}" for node in self.made for line in node.lines().values()
                for mark in line.open]

    def await_rest(self, seconds, under_load=False):
        """Returns how long it took; raises TimeoutError with what is missing. Where slots are open
        an operator is awaited no longer than OPEN_SECONDS."""
        begin = time.monotonic()
        while fault := self.fault(under_load):
            waited = time.monotonic() - begin
            if waited > seconds or waited > OPEN_SECONDS and self.open_slots():
                raise TimeoutError(f"no rest within {seconds} s: {fault}")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - begin

    def primaries(self):
        """{node: the set of its slots}, at rest."""
        lines = self.made[0].lines()
        return {node: lines[node.id].slots for node in self.made if lines[node.id].primary == "-"}

    def replicas(self, primary):
        lines = self.made[0].lines()
        return [node for node in self.made if lines[node.id].primary == primary.id]

    def end(self):
        for node in self.made:
            if node.process and not node.log.closed:
                node.kill()


def difference(view, other):
    found = []
    for mine, theirs in zip(view, other):
        if mine != theirs:
            found.append(f"{mine[0]} " + " / ".join(
                f"{line[1]} {','.join(sorted(line[3]))} {line[4]} epoch {line[5]} "
                f"{len(line[6])} slots" for line in (mine, theirs)))
    return "; ".join(found)


class ClusterClient:
    """One client of the cluster: a connection to each node that it needs, and whom it has been told
    to ask about a slot."""

    def __init__(self, nodes, seconds):
        self.addresses, self.seconds = [node.address for node in nodes], seconds
        self.connections, self.owners, self.turn = {}, {}, 0

    def write(self, key, command, replicas, wait_ms):
        """The command, and how many replicas have it: (reply, replicas, address). The reply is an
        Exception, and replicas 0, where the cluster has not taken it. OSError and ValueError say
        that it is not known."""
        slot, address, asking = slot_of(key), None, False
        for _ in range(REDIRECTIONS):
            address = address or self.owners.get(slot) or self.some()
            reply, count = self.exchange(address, asking, command, replicas, wait_ms)
            kind, _, rest = str(reply).partition(" ")
            if not isinstance(reply, Exception) or kind not in ("MOVED", "ASK"):
                if isinstance(reply, Exception):
                    self.owners.pop(slot, None)
                    count = 0
                return reply, count, address
            host, _, port = rest.rpartition(" ")[2].rpartition(":")
            address, asking = (host, int(port)), kind == "ASK"
            if not asking:
                self.owners[slot] = address
        return Exception("REDIRECTIONS do not end"), 0, address

    def some(self):
        self.turn += 1
        return self.addresses[self.turn % len(self.addresses)]

    def exchange(self, address, asking, command, replicas, wait_ms):
        try:
            if address not in self.connections:
                self.connections[address] = Client(address, self.seconds)
            client = self.connections[address]
            if asking:
                client.send("ASKING")
            client.send(*command)
            client.send("WAIT", replicas, wait_ms)
            if asking:
                client.reply()
            reply, count = client.reply(), client.reply()
            return reply, count if isinstance(count, int) else 0
        except (OSError, ValueError):
            self.leave(address)
            raise

    def leave(self, address):
        client = self.connections.pop(address, None)
        if client:
            client.close()
        self.owners = {slot: owner for slot, owner in self.owners.items() if owner != address}

    def end(self):
        for address in list(self.connections):
            self.leave(address)
