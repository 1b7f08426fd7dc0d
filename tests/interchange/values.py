# SPDX-License-Identifier: BSD-3-Clause
"""Servers, connections to them, and random values of every type, encoding and size."""
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

START_SECONDS = 60
PR_SET_PDEATHSIG = 1
SIZES = (1, 2, 3, 10, 60, 127, 128, 129, 200, 511, 512, 513, 600, 1500)
SCORES = ("inf", "-inf", "0", "-0", "1e17", "9007199254740993", "4503599627370497")


class Client:
    """One connection. What is replied with an error is an Exception."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def __call__(self, *words):
        self.send(*words)
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            return Exception(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self._bytes(int(rest))
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest.decode()

    def _bytes(self, length):
        found = self.file.read(length + 2)
        if len(found) < length + 2:
            raise ConnectionError
        return found[:-2]


def _end_with_us():
    """In the server's process: it does not outlive who started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server(Client):
    """A process of its own with one connection."""

    def __init__(self, binary, folder, *options, environment=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = open(os.path.join(folder, "log"), "ab")
        self.process = subprocess.Popen(
            [binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", folder,
             *options], stdout=self.log, stderr=self.log, env=environment, start_new_session=True,
            preexec_fn=_end_with_us)
        until = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if time.monotonic() > until or self.process.poll() is not None:
                sys.exit(f"{binary} does not start: see {folder}/log")
            time.sleep(0.01)

    def _is_ready(self):
        try:
            super().__init__(self.port)
            while self("PING") != "PONG":  # it is loading
                time.sleep(0.01)
            return True
        except OSError:
            return False

    def end(self, how="NOSAVE"):
        """How: SAVE or NOSAVE."""
        self.socket.sendall(f"SHUTDOWN {how}\r\n".encode())
        self.file.read()
        self.socket.close()
        self.process.wait()
        self.log.close()


def text(draw):
    """What each way of saving a text can meet: integers, repeats, random bytes, names."""
    kind = draw.randrange(8)
    if kind == 0:
        return b""
    if kind == 1:
        return b"%d" % draw.randrange(-300, 300)
    if kind == 2:
        return b"%d" % draw.randrange(-2**63, 2**63)
    if kind == 3:
        return bytes([draw.randrange(256)]) * draw.randrange(1, 400)
    if kind == 4:
        return draw.randbytes(draw.randrange(1, 90))
    if kind == 5:
        return b"%d" % (draw.choice((1, -1)) * 2**draw.randrange(63) + draw.randrange(-1, 2))
    if kind == 6 and draw.random() < 0.1:
        return bytes(draw.randrange(4) for _ in range(draw.randrange(1, 20000)))
    return b"name:%d" % draw.randrange(1000)


def score(draw):
    kind = draw.randrange(4)
    if kind == 0:
        return draw.randrange(-10, 10)
    if kind == 1:
        return repr(draw.random() * 10.0**draw.randrange(-20, 20))
    return draw.choice(SCORES) if kind == 2 else draw.randrange(-2**53, 2**53)


def make_stream(draw, server, key, size):
    ids, msec = [], draw.randrange(1, 1 << 40)
    fields = [text(draw)[:50] for _ in range(3)]
    for i in range(size):
        msec += draw.randrange(3)
        pairs = [w for f in (fields if draw.random() < 0.7 else [text(draw)])
                 for w in (f, text(draw)[:200])]
        ids.append(f"{msec}-{i}")
        server("XADD", key, ids[-1], *pairs)
    for one in ids:
        if draw.random() < 0.1:
            server("XDEL", key, one)
    for number in range(draw.randrange(4)):
        group = b"group%d" % number if number else b""
        server("XGROUP", "CREATE", key, group, 0)
        for consumer in range(draw.randrange(4)):
            server("XREADGROUP", "GROUP", group, f"c{consumer}", "COUNT", draw.randrange(1, 40),
                   "STREAMS", key, ">")
        for one in ids:
            if draw.random() < 0.05:
                server("XACK", key, group, one)


def groups_of(server, key, of_log=False):
    """A stream's groups with who has what pending; `of_log`: without what a log does not tell of,
    entries that were deleted and consumers that have nothing else."""
    there = {one[0] for one in server("XRANGE", key, "-", "+")} if of_log else ()
    groups = []
    for group in server("XINFO", "GROUPS", key):
        about = dict(zip(group[::2], group[1::2]))
        name = about[b"name"]
        pending = [(p[0], p[1], p[3]) for p in server("XPENDING", key, name, "-", "+", 1 << 30)]
        consumers = [c[:4] for c in server("XINFO", "CONSUMERS", key, name)]
        if of_log:
            pending = [p for p in pending if p[0] in there]
            about, consumers = about[b"last-delivered-id"], None
        groups.append((name, about, pending, consumers))
    return groups


def make(draw, server, key):
    size = draw.choice(SIZES)
    kind = draw.choice(("string", "list", "set", "intset", "hash", "zset", "stream"))
    longest = 64 if draw.random() < 0.6 else None
    if kind == "string":
        server("SET", key, text(draw))
    elif kind == "list":
        server("RPUSH", key, *[text(draw) for _ in range(size)])
    elif kind == "set":
        server("SADD", key, *[text(draw) for _ in range(size)])
    elif kind == "intset":
        bound = draw.choice((100, 30000, 2**30, 2**62))
        server("SADD", key, *[draw.randrange(-bound, bound) for _ in range(size)])
    elif kind == "hash":
        server("HSET", key, *[text(draw)[:longest] for _ in range(2 * size)])
    elif kind == "zset":
        # One by one: ours takes the large form at once for many arguments.
        for _ in range(size):
            server("ZADD", key, score(draw), text(draw)[:longest])
    else:
        make_stream(draw, server, key, size)
    if draw.random() < 0.3:
        server("EXPIRE", key, 100000)
