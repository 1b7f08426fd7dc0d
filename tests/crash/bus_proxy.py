# SPDX-License-Identifier: BSD-3-Clause
"""A proxy between the nodes of a cluster and their peers, which records each message of the bus.

A node announces a bus port at which the proxy listens on the node's own address. What comes there
goes on to the node's real bus port, from the address from which it came, so that nodes see each
other's addresses, and cuts between addresses cut the proxy's links, too. Bytes go through as they
are. The proxy is a process of its own, because threads of the test would hold it up, and it
records in a file, which the test reads when it wants to."""
import multiprocessing
import selectors
import signal
import socket
import struct
import time

from processes import START_SECONDS, end_with_parent

REAL_PORT_MORE = 10000
READ_BYTES = 1 << 16
SIGNATURE, PREFIX_BYTES = b"RCmb", 8
# A record: when, by which link and direction, from whom, to whom, how many bytes follow.
RECORD = struct.Struct(">dI4s4sI")


class Frames:
    """Cuts one direction of a link into messages."""

    def __init__(self):
        self.data = bytearray()

    def add(self, data):
        """Yields the messages that are whole; bytes that are none, as they are."""
        self.data += data
        while len(self.data) >= PREFIX_BYTES:
            length = int.from_bytes(self.data[4:8], "big")
            if self.data[:4] != SIGNATURE or length < PREFIX_BYTES:
                length = len(self.data)
            if len(self.data) < length:
                return
            yield bytes(self.data[:length])
            del self.data[:length]


class Side:
    """One of the two sockets of a link; `sender` and `receiver` are the hosts of what it brings."""

    def __init__(self, one, sender, receiver, number):
        self.number = number
        self.socket, self.sender, self.receiver = one, sender, receiver
        self.frames, self.waiting, self.other = Frames(), bytearray(), None
        one.setblocking(False)


class Relay:
    """What the proxy's process does."""

    def __init__(self, hosts, port, announced_port, path):
        self.bus_port, self.links = port + REAL_PORT_MORE, 0
        self.selector, self.file = selectors.DefaultSelector(), open(path, "wb")
        for host in hosts:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, announced_port))
            listener.listen(64)
            listener.setblocking(False)
            self.selector.register(listener, selectors.EVENT_READ, host)

    def serve_all(self):
        while True:
            for key, events in self.selector.select():
                if isinstance(key.data, str):
                    self.accept(key.fileobj, key.data)
                elif key.data.socket.fileno() >= 0:
                    self.serve(key.data, events)
            self.file.flush()

    def accept(self, listener, host):
        try:
            incoming, (peer, _) = listener.accept()
        except OSError:
            return
        outgoing = socket.socket()
        self.links += 2
        near = Side(incoming, peer, host, self.links)
        far = Side(outgoing, host, peer, self.links + 1)
        near.other, far.other = far, near
        try:
            outgoing.bind((peer, 0))
            outgoing.connect((host, self.bus_port))
        except BlockingIOError:
            pass
        except OSError:
            incoming.close()
            outgoing.close()
            return
        for side in (near, far):
            self.selector.register(side.socket, selectors.EVENT_READ, side)

    def serve(self, side, events):
        try:
            if events & selectors.EVENT_WRITE:
                self.flush(side)
            if events & selectors.EVENT_READ:
                data = side.socket.recv(READ_BYTES)
                if not data:
                    raise ConnectionError
                self.record(side, data)
                side.other.waiting += data
                self.flush(side.other)
        except BlockingIOError:
            pass
        except OSError:
            self.close(side)

    def flush(self, side):
        """Sends what waits; what cannot be sent yet goes when the socket takes it."""
        try:
            if side.waiting:
                del side.waiting[:side.socket.send(side.waiting)]
        except BlockingIOError:
            pass
        self.selector.modify(side.socket, selectors.EVENT_READ |
                             (selectors.EVENT_WRITE if side.waiting else 0), side)

    def record(self, side, data):
        for message in side.frames.add(data):
            self.file.write(RECORD.pack(time.time(), side.number, socket.inet_aton(side.sender),
                                        socket.inet_aton(side.receiver), len(message)))
            self.file.write(message)

    def close(self, side):
        for one in (side, side.other):
            if one.socket.fileno() >= 0:
                self.selector.unregister(one.socket)
                one.socket.close()


def relay(ready, *arguments):
    end_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    one = Relay(*arguments)
    ready.set()
    one.serve_all()


class Proxy:
    """The proxy's process, and what it has recorded in the file of that path."""

    def __init__(self, hosts, port, announced_port, path):
        self.path, self.place = path, 0
        ready = multiprocessing.Event()
        self.process = multiprocessing.Process(target=relay, daemon=True, args=(
            ready, hosts, port, announced_port, path))
        self.process.start()
        if not ready.wait(START_SECONDS):
            raise TimeoutError("the proxy does not start")

    def heard(self):
        """Yields (when, link, sender, receiver, bytes) of what was recorded since the last call.
        `link` differs between connections and directions; sender and receiver are hosts."""
        with open(self.path, "rb") as file:
            file.seek(self.place)
            while len(head := file.read(RECORD.size)) == RECORD.size:
                when, link, sender, receiver, length = RECORD.unpack(head)
                data = file.read(length)
                if len(data) < length:
                    return
                self.place = file.tell()
                yield when, link, socket.inet_ntoa(sender), socket.inet_ntoa(receiver), data

    def end(self):
        self.process.terminate()
        self.process.join()
