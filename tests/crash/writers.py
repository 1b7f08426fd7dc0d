# SPDX-License-Identifier: BSD-3-Clause
"""Threads that write to a server until it is gone or they are stopped."""
import contextlib
import os
import random
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../diff"))

import pools  # noqa: E402
from families import ALL_DATA, Family  # noqa: E402
from lua import Programs  # noqa: E402
from values import Client, score, text  # noqa: E402

KEYS = 150
PIPELINE = 10


class Writers:
    """Each has a connection of its own, and does `turn(draw, client)` again and again."""

    def __init__(self, draw, port, turns):
        self.stopped = False
        self.locks = [threading.Lock() for _ in turns]
        self.threads = [threading.Thread(target=self._write, daemon=True,
                                         args=(random.Random(draw.random()), port, turn, lock))
                        for turn, lock in zip(turns, self.locks)]
        for thread in self.threads:
            thread.start()

    def _write(self, draw, port, turn, lock):
        try:
            client = Client(port)
            while not self.stopped:
                with lock:
                    turn(draw, client)
        except (OSError, ValueError):
            pass  # the server was struck

    @contextlib.contextmanager
    def quiet(self):
        """Nobody writes: all that was sent is answered."""
        with contextlib.ExitStack() as held:
            for lock in self.locks:
                held.enter_context(lock)
            yield

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()


def change(draw, client):
    """Some writes to keys of whatever type, with and without effect."""
    for _ in range(PIPELINE):
        key, number = f"key:{draw.randrange(KEYS)}", draw.randrange(200)
        value = text(draw)[:300]
        client.send(*draw.choice((
            ("SET", key, value), ("APPEND", key, value), ("RPUSH", key, value, number),
            ("LPOP", key), ("SADD", key, number, value), ("SREM", key, number),
            ("HSET", key, number, value), ("HDEL", key, number), ("ZADD", key, score(draw), number),
            ("ZREM", key, number), ("XADD", key, "*", "f", value), ("XTRIM", key, "MAXLEN", 20),
            ("XGROUP", "CREATE", key, "g", 0), ("EXPIRE", key, 1000000), ("PERSIST", key),
            ("XREADGROUP", "GROUP", "g", "c", "COUNT", 3, "STREAMS", key, ">"),
            ("DEL", key), ("RENAME", key, f"key:{draw.randrange(KEYS)}"))))
    for _ in range(PIPELINE):
        client.reply()


def change_by_chance(draw, client):
    """What follows chance or time: keys that expire at once, members that are popped, ids that are
    made; and a client that is served."""
    key = f"key:{draw.randrange(KEYS)}"
    requests = draw.choice((
        (("SET", key, text(draw), "PX", draw.randrange(1, 30)),), (("SPOP", key, 2),),
        (("SADD", key, *range(20)), ("SPOP", key)), (("PEXPIRE", key, 5),),
        (("XADD", key, "*", "f", "v"),), (("RPUSH", key, 1, 2), ("BLPOP", key, 1)),
        (("EVAL", "return redis.call('set', KEYS[1], redis.call('time')[1])", 1, key),),
        (("DEL", key), ("SET", key, "v", "EX", 1), ("GET", key))))
    for request in requests:
        client.send(*request)
    for _ in requests:
        client.reply()


# What tests/diff draws: all families, and nothing by which servers of two kinds come apart.
ALL_FAMILIES = Family(None, ALL_DATA, pools.TYPES)


def draw_request(world):
    """Not PFCOUNT: on a replica (who was the primary may be one now) it keeps what it has counted
    within its own value, in 6.2 as in ours, and digests differ."""
    while True:
        request = ALL_FAMILIES.request(world)
        if request[0].upper() != b"PFCOUNT":
            return request


PROGRAMS = Programs(draw_request, True, False)


def change_any(draw, client):
    """Commands of all families, alone, in transactions and in scripts."""
    world = pools.World(draw, pools.TYPES)
    requests = [draw_request(world) for _ in range(draw.randrange(1, PIPELINE))]
    way = draw.random()
    if way < 0.2:
        requests = [[b"MULTI"], *requests, [b"EXEC"]]
    elif way < 0.4:
        program, keys, arguments = PROGRAMS.draw(world)
        requests.append([b"EVAL", program, b"%d" % len(keys), *keys, *arguments])
    for request in requests:
        client.send(*request)
    for _ in requests:
        client.reply()
