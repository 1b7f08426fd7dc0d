# SPDX-License-Identifier: BSD-3-Clause
"""Messages of the cluster's bus as Redis 6.2 sends them: bytes to fields, and what must be true of
each message of a node whose facts are known. src/bus/message.h has the format."""
import struct

from bus_proxy import SIGNATURE

HEADER = struct.Struct(">4sIHHHHQQQ40s2048s40s46s32sHHHB3s")
ENTRY = struct.Struct(">40sII46sHHHHH")
TYPES = ("PING", "PONG", "MEET", "FAIL", "PUBLISH", "AUTH_REQUEST", "AUTH_ACK", "UPDATE", "MFSTART",
         "MODULE")
HEARTBEATS = ("PING", "PONG", "MEET")
# What follows the header, where its length does not depend on the message.
BODY_BYTES = {"FAIL": 40, "AUTH_REQUEST": 0, "AUTH_ACK": 0, "UPDATE": 8 + 40 + 2048, "MFSTART": 0}
PRIMARY, REPLICA, SUSPECTED, FAILED, MYSELF = 1, 2, 4, 8, 16
HANDSHAKE, NO_ADDRESS, MEET, MIGRATE_TO, NO_FAILOVER = 32, 64, 128, 256, 512
FLAG_NAMES = {PRIMARY: "master", REPLICA: "slave", SUSPECTED: "fail?", FAILED: "fail",
              MYSELF: "myself", HANDSHAKE: "handshake", NO_ADDRESS: "noaddr", MEET: "meet",
              MIGRATE_TO: "migrate-to", NO_FAILOVER: "nofailover"}
PAUSED, FORCE_ACK = 1, 2
SAID_LEAST = 3  # nodes of which a heartbeat speaks, or a tenth of all


def text_of(padded):
    return padded.rstrip(b"\0").decode("latin-1")


def flags_text(flags):
    names = [name for flag, name in FLAG_NAMES.items() if flags & flag]
    return ",".join(names) or "-"


class Entry:
    """What a heartbeat says of a node."""

    def __init__(self, data):
        (name, self.ping_sent, self.pong_received, host, self.port, self.bus_port, self.flags,
         self.plain_port, self.unused) = ENTRY.unpack(data)
        self.id, self.host = text_of(name), text_of(host)


class Message:
    """One message; ValueError where the bytes are none."""

    def __init__(self, data):
        self.data = data
        (signature, self.length, self.version, self.port, number, self.count, self.current_epoch,
         self.config_epoch, self.offset, sender, self.slots, primary, host, self.unused,
         self.plain_port, self.bus_port, self.flags, self.state, self.marks) = \
            HEADER.unpack_from(data)
        if signature != SIGNATURE or self.length != len(data) or number >= len(TYPES):
            raise ValueError(f"no message: {data[:16]!r} of {len(data)} bytes")
        self.type = TYPES[number]
        self.sender, self.primary, self.host = map(text_of, (sender, primary, host))
        self.body, self.entries = data[HEADER.size:], []
        if self.type in HEARTBEATS:
            if len(self.body) != self.count * ENTRY.size:
                raise ValueError(f"{self.type} with {self.count} entries has {len(data)} bytes")
            self.entries = [Entry(self.body[at:at + ENTRY.size])
                            for at in range(0, len(self.body), ENTRY.size)]

    def shape(self):
        """What is comparable between all nodes: which type with which flags, state and marks."""
        return (self.type, flags_text(self.flags), self.state, self.marks[0],
                "slots" if any(self.slots) else "-", "primary" if self.primary else "-")


def faults_of(message, name, port, bus_port, nodes):
    """What is wrong with a message of the node of this id and these ports, in a cluster of so many
    nodes without TLS, announced hosts and modules; in words."""
    found = []

    def want(right, text):
        if not right:
            found.append(text)

    want(message.version == 1, f"version {message.version}")
    want(message.sender == name, f"sender {message.sender}, not {name}")
    want(message.port == port, f"port {message.port}")
    want(message.bus_port == bus_port, f"bus port {message.bus_port}")
    want(message.plain_port == 0, f"plain port {message.plain_port}")
    want(message.host == "", f"host {message.host}")
    want(not any(message.unused), "unused bytes of the header are not 0")
    want(message.state in (0, 1), f"state {message.state}")
    want(message.marks[0] <= PAUSED | FORCE_ACK and not any(message.marks[1:]),
         f"marks {message.marks!r}")
    want(not message.marks[0] & FORCE_ACK or message.type == "AUTH_REQUEST",
         f"FORCEACK in {message.type}")
    want(message.flags & MYSELF, f"flags {flags_text(message.flags)}")
    want(message.flags & (PRIMARY | REPLICA) in (PRIMARY, REPLICA),
         f"flags {flags_text(message.flags)}")
    want(not message.flags & ~sum(FLAG_NAMES), f"flags {message.flags:#x}")
    want(not (message.flags & PRIMARY and message.primary), "a primary with a primary")
    want(message.config_epoch <= message.current_epoch,
         f"epoch {message.config_epoch} above the greatest, {message.current_epoch}")
    if message.type in HEARTBEATS:
        found += gossip_faults(message, nodes)
    else:
        want(message.count == 0, f"count {message.count}")
        body = BODY_BYTES.get(message.type)
        want(body in (None, len(message.body)), f"{message.type} with {len(message.body)} bytes")
    return found


def gossip_faults(message, nodes):
    suspected = sum(bool(entry.flags & SUSPECTED) for entry in message.entries)
    others = len(message.entries) - suspected
    names = [entry.id for entry in message.entries]
    wanted = min(max(SAID_LEAST, nodes // 10), max(nodes - 2, 0))
    found = []
    if others > wanted:
        found.append(f"speaks of {others} nodes of {nodes}, and of {suspected} suspected ones")
    if len(set(names)) < len(names):
        found.append("speaks twice of a node")
    if message.sender in names:
        found.append("speaks of itself")
    for entry in message.entries:
        if entry.unused or entry.plain_port or not entry.host or \
                entry.flags & (MYSELF | HANDSHAKE | MEET) or \
                entry.flags & (PRIMARY | REPLICA) not in (PRIMARY, REPLICA):
            found.append(f"entry {entry.id} {entry.host} {flags_text(entry.flags)} "
                         f"{entry.plain_port} {entry.unused}")
    return found
