# SPDX-License-Identifier: BSD-3-Clause
"""Requests that cannot be compared, because chance or time decides about the data: left out.

What only the reply shows of chance or time is no risk; compare.py knows it. Families send some of
these on purpose, with actions behind them that make the data equal again.
"""
import known

# A deadline nearer than this may pass while a round runs.
NEAR_S = 60
NEAR_MS = 60_000
NEAR_IDLE_MS = 3_600_000
FAR = 1_000_000
# Commands that no generator may draw: they end, hold or slow a server, or need files.
NEVER = {b'SHUTDOWN', b'DEBUG', b'MONITOR', b'SYNC', b'PSYNC', b'REPLICAOF', b'SLAVEOF', b'SAVE',
         b'BGSAVE', b'BGREWRITEAOF', b'FAILOVER', b'MODULE', b'MIGRATE', b'DUMP', b'RESTORE',
         b'EVAL', b'EVALSHA', b'SCRIPT', b'CLUSTER', b'READONLY', b'READWRITE', b'ASKING',
         b'ROLE', b'LASTSAVE', b'REPLCONF', b'RESTORE-ASKING'}


def risky(args):
    if not args:
        return True
    name = args[0].upper()
    rule = RULES.get(name)
    return name in NEVER or (rule is not None and rule(args)) or known.avoided(args)


def number(arg):
    """The integer of an argument, or None."""
    try:
        return int(arg) if arg.strip() == arg else None
    except ValueError:
        return None


def is_near(arg, bound):
    value = number(arg)
    return value is not None and 0 < value < bound


def deadline(place, bound):
    return lambda args: len(args) > place and is_near(args[place], bound)


def deadline_options(args):
    """EX and PX of SET and GETEX."""
    for option, value in zip(args, args[1:]):
        near = {b'EX': NEAR_S, b'PX': NEAR_MS}.get(option.upper())
        if near and is_near(value, near):
            return True
    return False


def waits(args):
    """A timeout that would pass: everything but 0, or what is refused."""
    try:
        return 0 < float(args[-1]) < NEAR_S * 1000
    except ValueError:
        return False


def waits_block(args):
    return any(option.upper() == b'BLOCK' and is_near(value, NEAR_MS)
               for option, value in zip(args, args[1:]))


def wait_of_replicas(args):
    return len(args) > 2 and (number(args[1]) or 0) > 0


def idle_claim(args):
    times = any(option.upper() in (b'TIME', b'IDLE') and is_near(value, NEAR_IDLE_MS)
                for option, value in zip(args, args[1:]))
    return times or (len(args) > 4 and is_near(args[4], NEAR_IDLE_MS))


def idle_pending(args):
    return any(option.upper() == b'IDLE' and is_near(value, NEAR_IDLE_MS)
               for option, value in zip(args, args[1:]))


def kills_all(args):
    """CLIENT KILL whose filters fit everybody, also our own connection."""
    words = [arg.upper() for arg in args]
    filters = {b'ID', b'ADDR', b'LADDR', b'USER', b'TYPE'}
    return words[1:2] == [b'KILL'] and len(args) > 3 and (
        not filters & set(words[2::2]) or any(number(arg) == 0 for arg in args))


def part_scan(args):
    """Whether a part of the keys holds one that is due is chance, and that one is deleted. From
    another cursor on TYPE counts a hit for each key that the server's own order has there."""
    if args[1:2] != [b'0']:
        return b'TYPE' in [arg.upper() for arg in args]
    return b'100000' not in args


def far_offset(args):
    """An offset that makes a string of many megabytes: right, but slow to compare."""
    return any((number(arg.lstrip(b'#')) or 0) > FAR for arg in args[2:])


def random_flood(args):
    """Millions of members, drawn with repetition."""
    return len(args) > 2 and (number(args[2]) or 0) < -1000


def stored_order(args):
    """SORT of what has no order, stored: the list's order is the table's."""
    words = [arg.upper() for arg in args]
    return b'STORE' in words and (b'BY' in words or b'ALPHA' not in words)


RULES = {
    b'SPOP': lambda args: True,
    b'XADD': lambda args: b'*' in args[2:-1],
    b'EXPIRE': deadline(2, NEAR_S), b'SETEX': deadline(2, NEAR_S),
    b'PEXPIRE': deadline(2, NEAR_MS), b'PSETEX': deadline(2, NEAR_MS),
    b'SET': deadline_options, b'GETEX': deadline_options,
    b'XREAD': waits_block, b'XREADGROUP': waits_block, b'WAIT': wait_of_replicas,
    b'XCLAIM': idle_claim, b'XAUTOCLAIM': idle_claim, b'XPENDING': idle_pending,
    b'SORT': stored_order, b'SRANDMEMBER': random_flood, b'HRANDFIELD': random_flood,
    b'ZRANDMEMBER': random_flood, b'SCAN': part_scan,
    b'CLIENT': kills_all,
    b'SETRANGE': far_offset, b'SETBIT': far_offset, b'BITFIELD': far_offset,
}
for _name in (b'BLPOP', b'BRPOP', b'BRPOPLPUSH', b'BLMOVE', b'BZPOPMIN', b'BZPOPMAX'):
    RULES[_name] = waits
