# SPDX-License-Identifier: BSD-3-Clause
"""Threads that write to a server until it is gone or they are stopped."""
import contextlib
import random
import threading

from values import Client, score, text

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
