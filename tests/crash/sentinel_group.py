# SPDX-License-Identifier: BSD-3-Clause
"""Servers and the Sentinels that watch them, as processes, ours and stock's mixed."""
import os
import re
import time

from processes import LOCAL, Node, end_with_parent, free_port

NAME = "m"
# A bound for Sentinels that find each other: a hello each 2 s, INFO each 10 s.
KNOWN_SECONDS = 60


def pairs(words):
    """A flat list of names and values, as SENTINEL MASTER answers, as a dictionary of texts."""
    words = [word.decode() if isinstance(word, bytes) else str(word) for word in words]
    return dict(zip(words[::2], words[1::2]))


class Server(Node):
    def prepare(self, *lines, primary=None):
        follow = (f"replicaof {primary.address[0]} {primary.address[1]}",) if primary else ()
        self.write_file("save \"\"", *follow, *lines)

    def info(self, *names):
        text = self.ask("INFO", "replication")
        if not isinstance(text, bytes):
            return (None,) * len(names)
        fields = dict(line.split(":", 1) for line in text.decode().split("\r\n") if ":" in line)
        return tuple(fields.get(name) for name in names)

    def follows(self, primary):
        host, port = primary.address
        return self.info("role", "master_host", "master_port", "master_link_status") == \
            ("slave", host, str(port), "up")


class Sentinel(Node):
    arguments = ("--sentinel",)

    def prepare(self, primary, quorum, down_after_ms, failover_timeout_ms):
        host, port = primary.address
        self.write_file(f"sentinel monitor {NAME} {host} {port} {quorum}",
                        f"sentinel down-after-milliseconds {NAME} {down_after_ms}",
                        f"sentinel failover-timeout {NAME} {failover_timeout_ms}")

    def watched(self):
        """The fields of the primary; {} where the Sentinel does not answer."""
        reply = self.ask("SENTINEL", "MASTER", NAME)
        return pairs(reply) if isinstance(reply, list) else {}

    def primary_address(self):
        reply = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        return (reply[0].decode(), int(reply[1])) if isinstance(reply, list) else None

    def knows(self, replicas, others):
        fields = self.watched()
        return (fields.get("flags"), fields.get("num-slaves"), fields.get("num-other-sentinels")) \
            == ("master", str(replicas), str(others))

    def votes(self):
        """{(run id, epoch)} that its log names, in order, over all its starts."""
        return re.findall(r"\+vote-for-leader ([0-9a-f]{40}) (\d+)", self.text_of_log())


class Group:
    """`programs` are pairs (path, is it ours) of the servers, of which the first begins as the
    primary, and of the Sentinels; `addresses` and `folders` give each its own."""

    def __init__(self, servers, sentinels, addresses, folders, logs):
        places = list(zip([*servers, *sentinels], addresses, folders, logs))
        made = [(Server if number < len(servers) else Sentinel)(*program, *place)
                for number, (program, *place) in enumerate(places)]
        self.servers, self.sentinels = made[:len(servers)], made[len(servers):]

    def nodes(self):
        return self.servers + self.sentinels

    def parts(self):
        """Sets of nodes by their names, from which a strike may cut a node off."""
        return {"all": self.nodes(), "servers": self.servers, "sentinels": self.sentinels}

    def start(self, quorum, down_after_ms, failover_timeout_ms, lines=()):
        primary = self.servers[0]
        for server in self.servers:
            server.prepare(*lines, primary=primary if server is not primary else None)
        for sentinel in self.sentinels:
            sentinel.prepare(primary, quorum, down_after_ms, failover_timeout_ms)
        for node in self.nodes():
            node.start()
        for node in self.nodes():
            node.await_start()
        self.await_rest(KNOWN_SECONDS)

    def fault(self):
        """What is not yet as it is at rest: one primary that every Sentinel names, all others
        follow it, all know each other; None where nothing is missing."""
        named = {sentinel.primary_address() for sentinel in self.sentinels}
        primaries = [s for s in self.servers if s.info("role") == ("master",)]
        if len(named) > 1 or None in named:
            return f"Sentinels name {sorted(map(str, named))}"
        if [server.address for server in primaries] != list(named):
            return f"named is {named}, primaries are {[str(server) for server in primaries]}"
        for server in self.servers:
            if server is not primaries[0] and not server.follows(primaries[0]):
                return f"{server}: " + str(server.info("role", "master_host", "master_port",
                                                       "master_link_status"))
        for sentinel in self.sentinels:
            if not sentinel.knows(len(self.servers) - 1, len(self.sentinels) - 1):
                return f"{sentinel}: {sentinel.watched()}"
        epochs = {sentinel.watched().get("config-epoch") for sentinel in self.sentinels}
        return f"configuration epochs {epochs}" if len(epochs) > 1 else None

    def await_rest(self, seconds):
        """Returns how long it took; raises TimeoutError with what is missing."""
        begin = time.monotonic()
        while fault := self.fault():
            if time.monotonic() - begin > seconds:
                raise TimeoutError(f"no rest within {seconds} s: {fault}")
            time.sleep(0.25)
        return time.monotonic() - begin

    def primary(self):
        return next(s for s in self.servers if s.info("role") == ("master",))

    def end(self):
        for node in self.nodes():
            if node.process and not node.log.closed:
                node.kill()


def local_group(servers, sentinels, home):
    """A group on 127.0.0.1, at free ports, with a folder for each process below `home`."""
    count = len(servers) + len(sentinels)
    folders = [os.path.join(home, str(number)) for number in range(count)]
    for folder in folders:
        os.mkdir(folder)
    ports = set()
    while len(ports) < count:
        ports.add(free_port())
    group = Group(servers, sentinels, [(LOCAL, port) for port in ports], folders,
                  [os.path.join(folder, "log") for folder in folders])
    for node in group.nodes():
        node.before_exec = end_with_parent
    return group
