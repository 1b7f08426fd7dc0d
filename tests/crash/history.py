# SPDX-License-Identifier: BSD-3-Clause
"""What a writer has done to its keys, op by op, and how much of it a server has.

An op is one command, and its number at the end of a list, `done`, in the same database: both in a
transaction, both in a script, or one after the other. So the lists say which ops a server has, and
the same ops, given to a server without faults, say which data it must have.
"""
import time

from values import groups_of, score, text

DATABASES = (0, 3)
FORMS = ("transaction", "script", "plain")
# Of each type.
KEYS = 4
TYPES = ("string", "list", "set", "hash", "zset", "stream", "hll")
# Has several effects that are not framed, as with 6.2: a file may end between two of them.
UNFRAMED = ("XREADGROUP", "XAUTOCLAIM")
SCRIPT = "redis.pcall(unpack(ARGV, 2)) return redis.call('RPUSH', KEYS[1], ARGV[1])"
REPLAY_PIPELINE = 200


class Op:
    """One command. The times are those of time.monotonic()."""

    __slots__ = ("number", "database", "words", "form", "sent", "answered", "refused")

    def __init__(self, number, database, words, form):
        self.number, self.database, self.words, self.form = number, database, words, form
        self.sent = self.answered = None
        self.refused = False


class History:
    """The ops of one writer, in the order in which they are sent. Its keys begin with its name."""

    def __init__(self, name, draw, forms=FORMS):
        self.name, self.draw, self.forms = name, draw, forms
        self.ops = []
        self.database = None  # of the connection
        self.lost = []  # answered ops that were gone when it was judged last
        self.left = []  # the others, and those that were there without an answer

    # ---- writing

    def send(self, client):
        """Sends another op; returns it with how many replies come before the one that counts."""
        database = self.draw.choice(DATABASES)
        words = self._words(len(self.ops))
        form = self.draw.choice(self.forms)
        if words[0] in UNFRAMED and form == "plain":
            form = "transaction"
        op = Op(len(self.ops), database, words, form)
        self.ops.append(op)
        requests = [("SELECT", database)] if database != self.database else []
        self.database = database
        mark = ("RPUSH", self.done, op.number)
        if op.form == "transaction":
            requests += [("MULTI",), op.words, mark, ("EXEC",)]
        elif op.form == "script":
            requests.append(("EVAL", SCRIPT, 1, self.done, op.number, *op.words))
        else:
            requests += [op.words, mark]
        op.sent = time.monotonic()
        for request in requests:
            client.send(*request)
        return op, len(requests) - 1

    @staticmethod
    def take_reply(client, op, before):
        for _ in range(before):
            client.reply()
        reply = client.reply()
        op.refused = isinstance(reply, Exception)
        op.answered = time.monotonic()

    @property
    def done(self):
        return self.name + ":done"

    def _key(self, kind):
        """Of this type, nearly always."""
        if self.draw.random() < 0.1:
            kind = self.draw.choice(TYPES)
        return f"{self.name}:{kind}{self.draw.randrange(KEYS)}"

    def _words(self, number):
        """A command whose effect does not follow chance or time, on keys that may not be there, or
        be of another type."""
        draw, key = self.draw, self._key
        value, small, kind = text(draw), draw.randrange(30), draw.choice(TYPES)
        of_type = {
            "string": (("SET", key(kind), value), ("SET", key(kind), value, "EX", 100000),
                       ("APPEND", key(kind), value), ("SETRANGE", key(kind), small, value),
                       ("INCRBY", key(kind), small), ("INCRBYFLOAT", key(kind), "0.25"),
                       ("GETDEL", key(kind)), ("MSET", key(kind), value, key(kind), small),
                       ("SETBIT", key(kind), small, 1), ("GETEX", key(kind), "EX", 100000),
                       ("BITOP", "XOR", key(kind), key(kind), key(kind)),
                       ("SET", key(kind), bytes([65 + small]) * draw.choice((9000, 40000)))),
            "list": (("RPUSH", key(kind), value, small), ("LPUSH", key(kind), small),
                     ("LPOP", key(kind)), ("RPOP", key(kind), 2), ("LSET", key(kind), 0, value),
                     ("LINSERT", key(kind), "BEFORE", small, value), ("LTRIM", key(kind), 1, 40),
                     ("LMOVE", key(kind), key(kind), "LEFT", "RIGHT"),
                     ("SORT", key(kind), "ALPHA", "STORE", key(kind))),
            "set": (("SADD", key(kind), small, value), ("SREM", key(kind), small),
                    ("SMOVE", key(kind), key(kind), small),
                    ("SUNIONSTORE", key(kind), key(kind), key(kind))),
            "hash": (("HSET", key(kind), small, value), ("HDEL", key(kind), small),
                     ("HINCRBY", key(kind), small, 3), ("HINCRBYFLOAT", key(kind), "f", "0.5")),
            "zset": (("ZADD", key(kind), score(draw), small), ("ZREM", key(kind), small),
                     ("ZPOPMIN", key(kind)), ("ZINCRBY", key(kind), 2, small),
                     ("ZRANGESTORE", key(kind), key(kind), 0, 20),
                     ("ZUNIONSTORE", key(kind), 2, key(kind), key(kind))),
            "stream": (("XADD", key(kind), f"{number + 1}-1", "f", value),
                       ("XADD", key(kind), f"{number + 1}-2", "f", value),
                       ("XTRIM", key(kind), "MAXLEN", 20), ("XDEL", key(kind), f"{number // 2}-1"),
                       ("XGROUP", "CREATE", key(kind), "g", 0, "MKSTREAM"),
                       ("XREADGROUP", "GROUP", "g", f"c{small % 3}", "COUNT", 3, "STREAMS",
                        key(kind), ">"),
                       ("XAUTOCLAIM", key(kind), "g", f"c{small % 3}", 0, 0, "COUNT", 2),
                       ("XACK", key(kind), "g", f"{number // 2}-1")),
            "hll": (("PFADD", key(kind), value, small), ("PFMERGE", key(kind), key(kind))),
        }[kind]
        of_all = (("DEL", key(kind)), ("UNLINK", key(kind)), ("RENAME", key(kind), key(kind)),
                  ("COPY", key(kind), key(kind), "REPLACE"), ("EXPIRE", key(kind), 100000),
                  ("PERSIST", key(kind)), ("EXPIREAT", key(kind), 1))
        return draw.choice(of_all if draw.random() < 0.1 else of_type)

    # ---- judging

    def judge(self, server, oracle):
        """What is wrong with what the server has of it; None = nothing. `oracle` has no data, or
        another writer's."""
        fault = self._look_at_done(server)
        if fault:
            return fault
        self._replay(oracle, self.left)
        found, meant = self._state(server), self._state(oracle)
        if found != meant and (half := self._half_op()):
            oracle("SELECT", half.database)
            oracle(*half.words)
            meant = self._state(oracle)
        if found == meant:
            return None
        keys = [key for key in {**found, **meant} if found.get(key) != meant.get(key)]
        return f"{self.name}: other data after op {len(self.left)}: {keys[:5]}"

    def _look_at_done(self, server):
        numbers = []
        for database in DATABASES:
            server("SELECT", database)
            found = [int(word) for word in server("LRANGE", self.done, 0, -1)]
            if found != sorted(set(found)):
                return f"{self.name}: ops of database {database} in another order, or twice"
            numbers += found
        there = set(numbers)
        self.left = [op for op in self.ops if op.number in there]
        refused = [op.number for op in self.left if op.refused]
        if refused:
            return f"{self.name}: op {refused[0]} was refused, and is there"
        last = max(numbers, default=-1)
        good = [op for op in self.ops if op.answered and not op.refused]
        self.lost = [op for op in good if op.number not in there]
        if self.lost and self.lost[0].number < last:
            return f"{self.name}: op {self.lost[0].number} is gone, and {last} is there"
        return None

    def _half_op(self):
        """The op of which the command may be there, and its number not yet."""
        last = self.left[-1].number if self.left else -1
        after = [op for op in self.ops[last + 1:] if not op.refused]
        return after[0] if after and after[0].form == "plain" else None

    def _replay(self, oracle, ops):
        for at in range(0, len(ops), REPLAY_PIPELINE):
            part = ops[at:at + REPLAY_PIPELINE]
            for op in part:
                oracle.send("SELECT", op.database)
                oracle.send(*op.words)
                oracle.send("RPUSH", self.done, op.number)
            for _ in range(3 * len(part)):
                oracle.reply()

    def _state(self, server):
        """Digests of its keys, which tell of deadlines, too, and what digests do not tell of."""
        found = {}
        for database in DATABASES:
            server("SELECT", database)
            keys = sorted(server("KEYS", self.name + ":*"))
            digests = server("DEBUG", "DIGEST-VALUE", *keys) if keys else []
            for key, digest in zip(keys, digests):
                groups = groups_of(server, key, of_log=True) if server("TYPE", key) == "stream" \
                    else None
                found[database, key] = digest, groups
        return found


def first_out_of_order(histories):
    """An op that was answered before another one was sent, and is gone although that is there;
    None = there is none."""
    lost = min((op.answered for h in histories for op in h.lost), default=None)
    if lost is None:
        return None
    late = [f"{h.name}: {op.number}" for h in histories for op in h.left if op.sent > lost]
    return f"op {late[0]} is there, and one that was answered before it was sent is not" \
        if late else None
