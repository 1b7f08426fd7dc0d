# SPDX-License-Identifier: BSD-3-Clause
"""What clients of the soak do with their lives.

A life is a connection, a role, and a way to end. A role is a coroutine of a Link: it sends, and may
read what comes; what it does not read waits. Nothing is known of the data, so replies are not
looked at but for their form, and for that each request has one.
"""
import asyncio
import os
import socket
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../diff"))
sys.path.insert(0, os.path.join(HERE, "../crash"))

import pools  # noqa: E402
import wire  # noqa: E402
from writers import PROGRAMS, draw_request  # noqa: E402

# Commands that would wait: for those there is a role.
WAITING = {b"BLPOP", b"BRPOP", b"BLMOVE", b"BRPOPLPUSH", b"BZPOPMIN", b"BZPOPMAX", b"WAIT"}
# A bound for a reply under sanitizers and load, not a measure.
REPLY_SECONDS = 120
PATIENCE_SECONDS = 3
READ_BYTES = 1 << 16
LARGE_BYTES = 2_000_000
# Options that may have any of these values at any time.
OPTIONS = (("maxmemory-policy", ("noeviction", "allkeys-lru", "allkeys-lfu", "volatile-ttl")),
           ("maxmemory", ("0", "60mb", "100mb")), ("maxmemory-clients", ("0", "20mb", "5%")),
           ("hz", ("10", "100")), ("timeout", ("0", "1")), ("appendonly", ("yes", "no")),
           ("appendfsync", ("always", "everysec", "no")), ("snapshot-method", ("fork", "walk")),
           ("slowlog-log-slower-than", ("0", "10000")), ("latency-monitor-threshold", ("0", "1")),
           ("notify-keyspace-events", ("", "KEA")), ("tracking-table-max-keys", ("10", "1000000")),
           ("client-output-buffer-limit", ("normal 0 0 0", "normal 1mb 500kb 2")))
# What the server began with, for those that the end is to find so.
BUILT_IN = (("maxmemory", "0"), ("maxmemory-clients", "0"), ("timeout", "0"), ("appendonly", "no"),
            ("slowlog-log-slower-than", "10000"), ("latency-monitor-threshold", "0"))


def waits(request):
    name = request[0].upper()
    return name in WAITING or (name.startswith(b"XREAD") and
                               any(word.upper() == b"BLOCK" for word in request))


class Cut(Exception):
    """The server has closed the connection, as others asked it to, or a limit."""


class Link:
    """One connection, and what came of it."""

    def __init__(self, reader, writer, roles):
        self.reader, self.writer, self.roles = reader, writer, roles
        self.marks = 0

    def send(self, *requests):
        self.roles.requests += len(requests)
        self.writer.write(b"".join(wire.encode([w if isinstance(w, bytes) else str(w).encode()
                                                for w in request]) for request in requests))

    async def take(self, seconds):
        """What comes within the time: some bytes, or none."""
        try:
            got = await asyncio.wait_for(self.reader.read(READ_BYTES), seconds)
        except asyncio.TimeoutError:
            return b""
        if not got:
            raise Cut
        return got

    async def listen(self, seconds):
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while loop.time() < until:
            await self.take(until - loop.time() + 0.01)

    async def answered(self):
        """Returns when all that was sent has its reply: the last one is known by its text."""
        self.marks += 1
        mark = b"mark:%d:%d" % (id(self), self.marks)
        self.send([b"ECHO", mark])
        text = b"$%d\r\n%s\r\n" % (len(mark), mark)
        tail = b""
        while not tail.endswith(text):
            got = await self.take(REPLY_SECONDS)
            if not got:
                self.roles.find(f"no reply within {REPLY_SECONDS} s; the last bytes were "
                                f"{tail[-200:]!r}")
                raise Cut
            tail = (tail + got)[-len(text):]

    async def replies(self, count):
        """So many, each of the protocol's form."""
        data = b""
        while count:
            at = 0
            try:
                while count:
                    _, at = wire.parse(data, at)
                    count -= 1
            except wire.Incomplete:
                data = data[at:]
                got = await self.take(REPLY_SECONDS)
                if not got:
                    self.roles.find(f"{count} replies are missing behind {data[-200:]!r}")
                    raise Cut
                data += got
            except (wire.NotProtocol, ValueError, IndexError):
                self.roles.find(f"no reply begins so: {data[at:at + 200]!r}")
                raise Cut


# ---- roles: coroutines of a link and its chance ----

def drawn(draw):
    world = pools.World(draw, pools.TYPES)
    while True:
        request = draw_request(world)
        if not waits(request):
            return request


async def ordinary(link, draw):
    if draw.random() < 0.3:
        link.send(["HELLO", draw.choice((2, 3))])
    for _ in range(draw.randrange(1, 30)):
        requests = [drawn(draw) for _ in range(draw.choice((1, 1, 2, 10, 60)))]
        way = draw.random()
        if way < 0.15:
            requests = [["MULTI"], *requests, [draw.choice(("EXEC", "EXEC", "DISCARD"))]]
        elif way < 0.3:
            program, keys, words = PROGRAMS.draw(pools.World(draw, pools.TYPES))
            requests.append([b"EVAL", program, b"%d" % len(keys), *keys, *words])
        elif way < 0.4:
            requests.append(["PUBLISH", f"channel:{draw.randrange(5)}", "m" * draw.randrange(300)])
        link.send(*requests)
        await link.answered()


async def counted(link, draw):
    """Requests whose replies are taken apart and counted."""
    link.send(["HELLO", draw.choice((2, 3))])
    await link.replies(1)
    for _ in range(draw.randrange(1, 10)):
        requests = [drawn(draw) for _ in range(draw.randrange(1, 40))]
        link.send(*requests)
        await link.replies(len(requests))


async def large(link, draw):
    key, value = f"large:{draw.randrange(3)}", draw.randbytes(1000) * draw.randrange(30, 2000)
    link.send(["SET", key, value, "EX", 5], ["APPEND", key, value[:70000]], ["GET", key])
    if draw.random() < 0.7:
        await link.answered()


async def slow(link, draw):
    """Asks for much and reads nothing of it for a while."""
    link.send(*[draw.choice((["GET", "large:0"], ["LRANGE", "fixed:list", 0, -1],
                             ["HGETALL", "fixed:hash"], ["ZRANGE", "fixed:zset", 0, 3000]))
                for _ in range(draw.randrange(1, 30))])
    await asyncio.sleep(draw.random() * PATIENCE_SECONDS)
    if draw.random() < 0.5:
        await link.listen(draw.random())


async def listener(link, draw):
    if draw.random() < 0.5:
        link.send(["HELLO", 3])
    link.send(["SUBSCRIBE", *(f"channel:{i}" for i in range(draw.randrange(1, 5)))],
              ["PSUBSCRIBE", "chan*", "__key*"][:draw.randrange(2, 4)])
    await link.listen(draw.random() * PATIENCE_SECONDS)
    if draw.random() < 0.5:
        link.send(["UNSUBSCRIBE"], ["PUNSUBSCRIBE"], ["PING"])
        await link.listen(0.1)


async def tracker(link, draw):
    how = draw.choice(([], ["BCAST"], ["BCAST", "PREFIX", "string"], ["OPTIN"], ["NOLOOP"]))
    link.send(["HELLO", 3], ["CLIENT", "TRACKING", "ON", *how])
    for _ in range(draw.randrange(1, 20)):
        link.send(*(drawn(draw) for _ in range(draw.randrange(1, 20))))
        await link.listen(draw.random() * 0.2)


async def monitor(link, draw):
    link.send(["MONITOR"])
    await link.listen(draw.random())


async def blocker(link, draw):
    timeout = draw.choice((0, 0, 0.01, 0.3))
    link.send(draw.choice((
        ["BLPOP", "queue", "list:0", "nokey:0", timeout], ["BRPOP", "queue", timeout],
        ["BLMOVE", "queue", "queue2", "LEFT", "RIGHT", timeout],
        ["BZPOPMIN", "zset:0", "nokey:1", timeout], ["WAIT", 1, int(timeout * 1000) or 10],
        ["XREAD", "BLOCK", int(timeout * 1000), "STREAMS", "stream:0", "$"])), ["PING"])
    await link.listen(draw.random() * PATIENCE_SECONDS / 2)


async def pusher(link, draw):
    for _ in range(draw.randrange(1, 20)):
        link.send(["RPUSH", "queue", *range(draw.randrange(1, 5))], ["DEL", "queue2"],
                  ["XADD", "stream:0", "*", "f", "v"], ["XTRIM", "stream:0", "MAXLEN", 50])
        await link.answered()


async def killer(link, draw):
    link.send(["CLIENT", "ID"], ["CLIENT", "LIST"], ["CLIENT", "SETNAME", "killer"],
              ["CLIENT", "PAUSE", draw.randrange(30), draw.choice(("WRITE", "ALL"))])
    await link.answered()
    link.send(*(["CLIENT", "KILL", "ID", link.roles.lives + draw.randrange(-600, 100)]
                for _ in range(20)),
              ["CLIENT", "KILL", "TYPE", draw.choice(("normal", "pubsub"))]
              if draw.random() < 0.02 else ["CLIENT", "UNPAUSE"])
    await link.answered()


async def operator(link, draw):
    name, values = draw.choice(OPTIONS)
    link.send(["CONFIG", "SET", name, draw.choice(values)])
    link.send(*draw.choice((
        [["INFO", "all"]], [["BGSAVE"]], [["BGREWRITEAOF"]], [["MEMORY", "STATS"]],
        [["MEMORY", "DOCTOR"]], [["LATENCY", "DOCTOR"]], [["SLOWLOG", "GET"]], [["FLUSHDB"]],
        [["FLUSHALL", "ASYNC"]], [["SWAPDB", 0, 1]], [["COMMAND"]], [["SCRIPT", "FLUSH"]],
        [["CLIENT", "LIST"]], [["ACL", "SETUSER", "u", "on", ">p", "~*", "+@all"],
                               ["AUTH", "u", "p"], ["ACL", "DELUSER", "u"]])))
    await link.answered()


ROLES = ((ordinary, 40), (counted, 10), (large, 5), (slow, 6), (listener, 8), (tracker, 10),
         (monitor, 1), (blocker, 8), (pusher, 6), (killer, 2), (operator, 1))


# ---- ends ----

def close(link, draw):
    link.writer.close()


def reset(link, draw):
    """Whatever is under way, the other side learns of it as an error."""
    raw = link.writer.get_extra_info("socket")
    if raw:  # the server has not closed it already
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.writer.transport.abort()


def half(link, draw):
    whole = wire.encode([b"SET", b"half", draw.randbytes(draw.choice((10, 50000, 300000)))])
    link.writer.write(whole[:draw.randrange(len(whole))])
    draw.choice((close, reset))(link, draw)


def unread(link, draw):
    link.send(*([b"LRANGE", b"fixed:list", b"0", b"-1"] for _ in range(draw.randrange(1, 5))))
    draw.choice((close, reset))(link, draw)


def leave(link, draw):
    link.send([b"QUIT"])
    link.writer.close()


ENDS = (close, close, reset, half, unread, leave)


class Roles:
    """Where to connect, and what was done so far. `find` hears of what must not be."""

    def __init__(self, port, tls_port, context, find):
        self.port, self.tls_port, self.context, self.find = port, tls_port, context, find
        self.lives = self.requests = self.cut = 0

    async def _connect(self, draw):
        """Over TLS in half of the lives, where there is any; the handshake may be resumed."""
        if self.context and draw.random() < 0.5:
            return await asyncio.open_connection("127.0.0.1", self.tls_port, ssl=self.context)
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def _babble(self, draw):
        """What is no protocol, at either port; or the beginning of a handshake."""
        port = draw.choice((self.port, self.tls_port or self.port))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        writer.write(draw.choice((draw.randbytes(draw.randrange(1, 3000)), hello, b"PING\r\n",
                                  hello + draw.randbytes(508), b"*1000000\r\n$",
                                  b"*3\r\n$3\r\nSET\r\n$400000000\r\n")))
        await asyncio.sleep(draw.random() * 0.3)
        writer.transport.abort()

    async def live(self, draw):
        self.lives += 1
        try:
            if draw.random() < 0.04:
                await self._babble(draw)
                return
            reader, writer = await self._connect(draw)
        except OSError:  # also what SSL says of a connection that was cut
            self.cut += 1
            await asyncio.sleep(0.1)
            return
        link = Link(reader, writer, self)
        role = draw.choices([role for role, _ in ROLES], [weight for _, weight in ROLES])[0]
        try:
            await role(link, draw)
            draw.choice(ENDS)(link, draw)
        except (Cut, OSError, asyncio.IncompleteReadError):
            self.cut += 1
        finally:
            writer.transport.abort() if draw.random() < 0.5 else writer.close()
