# SPDX-License-Identifier: BSD-3-Clause
"""One append only file that servers of both kinds start on in turn, each of which adds to it, and
writes it anew in every other turn."""
import tempfile
import time

from values import Server, score, text

DATABASES = (0, 3)
KEYS = 60
OPS = 150
WAIT_SECONDS = 60
# What expires at once.
SHORT_MSEC = 1
SCRIPTS = (
    b"return redis.call('SET', KEYS[1], ARGV[1])",
    b"redis.call('DEL', KEYS[1]) for i = 1, 40 do redis.call('RPUSH', KEYS[1], i, ARGV[1]) end",
    b"redis.replicate_commands() redis.call('SET', KEYS[1], redis.call('TIME')[2]) "
    b"redis.call('SELECT', 3) redis.call('HSET', 'of:' .. KEYS[1], 'f', ARGV[1])",
    b"redis.pcall('SADD', KEYS[1], 'x', ARGV[1]) redis.pcall('LPUSH', KEYS[1], 'x')",
)


def start(binary, folder, draw):
    return Server(binary, folder, "--appendonly", "yes",
                  "--appendfsync", draw.choice(("always", "everysec", "no")),
                  "--aof-use-rdb-preamble", draw.choice(("yes", "no")),
                  "--lua-replicate-commands", draw.choice(("yes", "no")))


def requests_of(draw, server):
    """One thing that is done, of one or several commands."""
    def key():
        return f"key:{draw.randrange(KEYS)}"
    value, number = text(draw), draw.randrange(100)
    return draw.choice((
        (("SET", key(), value, "PX", draw.choice((SHORT_MSEC, 10**8))),),
        (("SETEX", key(), 10**6, value),),
        (("GETEX", key(), "EX", 10**6),), (("GETDEL", key()),), (("APPEND", key(), value),),
        (("INCRBYFLOAT", key(), "0.1"),), (("SETRANGE", key(), number, value),),
        (("SETBIT", key(), number, 1), ("BITOP", "NOT", key(), key())),
        (("MSET", key(), value, key(), number),), (("PFADD", key(), value, number),),
        (("PFMERGE", key(), key(), key()),), (("RPUSH", key(), value, number, value),),
        (("LPUSH", key(), value),), (("LMOVE", key(), key(), "LEFT", "RIGHT"),),
        (("LINSERT", key(), "AFTER", number, value),), (("RPUSH", key(), 1), ("BLPOP", key(), 1)),
        (("SADD", key(), value, number),), (("SPOP", key()),), (("SPOP", key(), 10),),
        (("SINTERSTORE", key(), key(), key()),), (("SMOVE", key(), key(), number),),
        (("HSET", key(), number, value),), (("HINCRBYFLOAT", key(), number, "1e3"),),
        (("ZADD", key(), score(draw), number, score(draw), value),), (("ZPOPMAX", key(), 2),),
        (("ZUNIONSTORE", key(), 2, key(), key(), "WEIGHTS", 2, "0.5"),),
        (("ZRANGESTORE", key(), key(), 0, 10),), (("GEOADD", key(), "13.4", "52.5", value),),
        (("XADD", key(), "MAXLEN", "~", 50, "*", "f", value),),
        (("XADD", key(), "*", "f", value),),
        (("XGROUP", "CREATE", key(), "g", 0, "MKSTREAM"),), (("XGROUP", "SETID", key(), "g", 0),),
        (("XREADGROUP", "GROUP", "g", f"c{number % 3}", "COUNT", 5, "STREAMS", key(), ">"),),
        (("XREADGROUP", "GROUP", "group1", "c0", "NOACK", "COUNT", 5, "STREAMS", key(), ">"),),
        (("XAUTOCLAIM", key(), "g", f"c{number % 3}", 0, 0),), (("XTRIM", key(), "MAXLEN", 30),),
        (("XGROUP", "DELCONSUMER", key(), "g", "c1"),), (("XSETID", key(), f"{2**60}-1"),),
        (("EXPIRE", key(), 10**6),), (("PERSIST", key()),), (("EXPIREAT", key(), 1),),
        (("RENAME", key(), key()),), (("COPY", key(), key(), "DB", 3, "REPLACE"),),
        (("MOVE", key(), 3),), (("DEL", key(), key()),), (("UNLINK", key()),), (("SWAPDB", 0, 3),),
        (("SORT", key(), "ALPHA", "STORE", key()),), (("PUBLISH", "channel", value),),
        (("MULTI",), ("INCR", key()), ("SELECT", 3), ("SET", key(), value), ("EXEC",)),
        (("MULTI",), ("SET", key(), value), ("DISCARD",)), (("MULTI",), ("GET", key()), ("EXEC",)),
        (("EVAL", draw.choice(SCRIPTS), 1, key(), value),),
        (("EVALSHA", server("SCRIPT", "LOAD", draw.choice(SCRIPTS)), 1, key(), value),)))


def write(draw, server):
    for _ in range(OPS):
        server("SELECT", draw.choice(DATABASES))
        for request in requests_of(draw, server):
            server(*request)


def info(server, field):
    for line in server("INFO", "persistence").decode().split("\r\n"):
        if line.startswith(field + ":"):
            return line.split(":", 1)[1]
    raise KeyError(field)


def write_anew(draw, server):
    """While it is written to. Returns faults."""
    server("CONFIG", "SET", "aof-use-rdb-preamble", draw.choice(("yes", "no")))
    server("BGREWRITEAOF")
    write(draw, server)
    until = time.monotonic() + WAIT_SECONDS
    while info(server, "aof_rewrite_in_progress") == "1" or info(server, "aof_rewrite_scheduled") \
            == "1":
        if time.monotonic() > until:
            return ["the rewrite does not end"]
        time.sleep(0.01)
    status = info(server, "aof_last_bgrewrite_status")
    return [] if status == "ok" else [f"the rewrite: {status}"]


def await_expired(server):
    """What is due is gone: digests count it until then."""
    until = time.monotonic() + WAIT_SECONDS
    time.sleep(SHORT_MSEC / 500)
    for database in DATABASES:
        server("SELECT", database)
        while server("DBSIZE") != len(server("KEYS", "*")) and time.monotonic() < until:
            time.sleep(0.01)


def take_turns(draw, binaries, fill, data_of, differing):
    """Four turns, so that each kind of server reads what the other has written twice over."""
    before, faults = None, []
    with tempfile.TemporaryDirectory() as home:
        for turn, binary in enumerate(binaries * 2):
            server = start(binary, home, draw)
            if turn == 0:
                fill(draw, server)
            else:
                await_expired(server)
                faults += differing(f"turn {turn} of a log", before, data_of(server, of_log=True))
            write(draw, server)
            if draw.random() < 0.5:
                faults += write_anew(draw, server)
            write(draw, server)
            await_expired(server)
            before = data_of(server, of_log=True)
            server.end()
        last = start(binaries[0], home, draw)
        await_expired(last)
        faults += differing("the last turn of a log", before, data_of(last, of_log=True))
        last.end()
    return faults
