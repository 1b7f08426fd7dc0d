# SPDX-License-Identifier: BSD-3-Clause
"""Pools that arguments are drawn from: small, so that commands meet the same keys and members.

A pool is a function of the world (its random numbers and the family's own keys) and gives an
argument or a list of them. Most of what a pool gives is valid; edges and faults come now and then.
"""

TYPES = ('string', 'bits', 'hll', 'list', 'set', 'hash', 'zset', 'geo', 'stream')
KEYS_A_TYPE = 4
LONG = [44, 45, 63, 64, 65, 66, 128, 252, 253, 254, 255, 256, 1000, 4096, 16000, 20000]
# Around what our server reads into a block of its own.
HUGE = [32767, 32768, 40000, 66000]
INTEGERS = [b'9223372036854775807', b'-9223372036854775808', b'9223372036854775808',
            b'-9223372036854775809', b'18446744073709551615', b'4294967296', b'2147483648',
            b'-2147483648', b'2147483647', b'65536', b'32768', b'-32769', b'128', b'-129', b'4095',
            b'4096', b'8388607', b'8388608', b'-8388609', b'12', b'13', b'-1', b'0']
FAULTY = [b'', b' ', b'abc', b'1.5', b' 1', b'1 ', b'01', b'+1', b'-0', b'0x10', b'1e3', b'--1',
          b'nan', b'inf', b'-inf', b'\x00', b'1\x00', b'-', b'+', b'(', b'[', b'*', b'$',
          b'99999999999999999999999', b'1' * 300]
FLOATS = [b'0', b'1', b'-1', b'1.5', b'-2.5', b'3', b'3.0', b'3.14159', b'0.1', b'1e3', b'1e-3',
          b'1e20', b'1e21', b'17', b'1e308', b'-1e308', b'inf', b'-inf', b'+inf',
          b'123456789012345678', b'0.30000000000000004', b'2.220446049250313e-16',
          b'-0', b'-0.0', b'9007199254740993', b'100', b'0x1p4', b'.5', b'5.']


class World:
    """What the pools know: random numbers, the family's types of keys, its clients."""

    def __init__(self, rng, types=TYPES, clients=1, faults=1.0):
        self.rng = rng
        self.types = types
        self.clients = clients
        self.faults = faults


def key_of(world, kind):
    """A key of that type, mostly; else one of another, or one that nobody creates by this name."""
    chance = world.rng.random() / world.faults
    if chance < 0.03:
        kind = world.rng.choice(TYPES)
    elif chance < 0.06:
        return b'nokey:%d' % world.rng.randrange(2)
    return b'%s:%d' % (kind.encode(), world.rng.randrange(KEYS_A_TYPE))


def any_key(world):
    return key_of(world, world.rng.choice(world.types))


def edge(world):
    """An argument that hardly any command takes."""
    return world.rng.choice(world.rng.choice((INTEGERS, FAULTY)))


def small_int(low, high, edges=0.06):
    def pool(world):
        if world.rng.random() < edges * world.faults:
            return edge(world)
        return b'%d' % world.rng.randint(low, high)
    return pool


def one_of(*words):
    return lambda world: world.rng.choice(words)


def words(text, *others):
    """One of some words, or of other arguments."""
    return one_of(*text.encode().split(), *others)


def floats(world):
    chance = world.rng.random()
    if chance < 0.03 * world.faults:
        return edge(world)
    if chance < 0.6:
        return b'%d' % world.rng.randint(-5, 20)
    return world.rng.choice(FLOATS)


def text(world):
    rng = world.rng
    chance = rng.random()
    length = rng.choice(HUGE if chance < 0.02 else LONG) if chance < 0.8 else rng.randrange(300)
    return bytes([rng.choice(b'abxyz01\x00\xff')]) * length


def value(world):
    chance = world.rng.random()
    if chance < 0.35:
        return b'%d' % world.rng.randint(-3, 12)
    if chance < 0.6:
        return world.rng.choice((b'a', b'b', b'abc', b'hello world', b'foobar', b'ohmytext',
                                 b'mynewtext', b'0', b'10', b'5.5', b'1e2'))
    if chance < 0.7:
        return world.rng.choice(FLOATS)
    if chance < 0.8:
        return edge(world)
    if chance < 0.9:
        return text(world)
    return bytes(world.rng.randrange(256) for _ in range(world.rng.randrange(1, 12)))


def member(world):
    chance = world.rng.random()
    if chance < 0.4:
        return b'%c' % world.rng.choice(b'abcdefghijkl')
    if chance < 0.8:
        return b'%d' % world.rng.randint(-3, 12)
    if chance < 0.9:
        return b'm%d' % world.rng.randrange(300)
    return edge(world) if chance < 0.96 else text(world)


def number_member(world):
    chance = world.rng.random()
    if chance < 0.9:
        return b'%d' % world.rng.randint(-5, 30)
    return world.rng.choice(INTEGERS) if chance < 0.97 else member(world)


def score_edge(world):
    """The end of a range of scores."""
    score = floats(world)
    return b'(' + score if world.rng.random() < 0.3 else score


def lex_edge(world):
    chance = world.rng.random()
    if chance < 0.25:
        return b'-'
    if chance < 0.5:
        return b'+'
    if chance < 0.95:
        return world.rng.choice((b'[', b'(')) + member(world)
    return edge(world)


def stream_id(world):
    chance = world.rng.random()
    if chance < 0.05 * world.faults:
        return world.rng.choice((b'', b'abc', b'1-', b'-1', b'1-2-3', b'1-a', b'0-0', b'0',
                                 b'18446744073709551615-18446744073709551615',
                                 b'18446744073709551615', b'18446744073709551616', b'01-1',
                                 b'1-18446744073709551616', b'$', b'>', b'-', b'+'))
    if chance < 0.5:
        return b'%d-%d' % (world.rng.randrange(1, 30), world.rng.randrange(4))
    return b'%d' % world.rng.randrange(1, 60)


def range_id(first):
    def pool(world):
        chance = world.rng.random()
        if chance < 0.4:
            return first
        return b'(' + stream_id(world) if chance < 0.5 else stream_id(world)
    return pool


def counted(pool):
    """A number of arguments and then these; now and then the number is wrong."""
    def draw(world):
        args = [pool(world) for _ in range(world.rng.randint(1, 3))]
        count = b'%d' % len(args)
        if world.rng.random() < 0.04 * world.faults:
            count = world.rng.choice((b'0', b'-1', b'4', b'100', edge(world)))
        return [count] + args
    return draw


def stream_reads(world):
    keys = [key_of(world, 'stream') for _ in range(world.rng.randint(1, 3))]
    last = [world.rng.choice((b'0', b'$', stream_id(world))) for _ in keys]
    return keys + last


def group_reads(world):
    keys = [key_of(world, 'stream') for _ in range(world.rng.randint(1, 2))]
    last = [world.rng.choice((b'>', b'>', b'>', b'0', stream_id(world))) for _ in keys]
    return keys + last


def weights(world):
    return [b'WEIGHTS'] + [floats(world) for _ in range(world.rng.randint(1, 3))]


def place(world):
    """Longitude and latitude, in a small region or anywhere."""
    rng = world.rng
    if rng.random() < 0.05 * world.faults:
        return [edge(world), floats(world)]
    if rng.random() < 0.7:
        return [b'%.4f' % rng.uniform(12, 16), b'%.4f' % rng.uniform(36, 39)]
    return [b'%.5f' % rng.uniform(-181, 181), b'%.5f' % rng.uniform(-86, 86)]


def bit_type(world):
    if world.rng.random() < 0.04 * world.faults:
        return world.rng.choice((b'u64', b'i65', b'u0', b'i0', b'x8', b'u', b'8', b'U8', b'i-1'))
    return b'%c%d' % (world.rng.choice(b'ui'), world.rng.randint(1, 63))


def bit_offset(world):
    if world.rng.random() < 0.04 * world.faults:
        return world.rng.choice((b'4294967296', b'-1', b'#-1', b'#', b'abc', b'#536870912'))
    return (b'#' if world.rng.random() < 0.3 else b'') + b'%d' % world.rng.randrange(90)


def client_id(world):
    if world.rng.random() < 0.04:
        return edge(world)
    return b'@id%d' % world.rng.randint(1, world.clients)


def client_address(world):
    return b'@addr%d' % world.rng.randint(1, world.clients)


def typed(kind):
    return lambda world: key_of(world, kind)


POOLS = {
    'x': one_of(b'x'), 'a': one_of(b'a'), 'b': one_of(b'b'),
    'key': any_key, 'value': value, 'text': text, 'member': member, 'number': number_member,
    'float': floats, 'score': floats, 'edge': edge,
    # Where no SORT is: it takes the fault of an earlier number for its own in 6.2.
    'tiny': one_of(b'5e-324', b'1e-320', b'-5e-324'), 'score_edge': score_edge,
    'score_min': lambda world: world.rng.choice((b'-inf', score_edge(world))),
    'score_max': lambda world: world.rng.choice((b'+inf', score_edge(world))),
    'lex': lex_edge, 'lex_min': lambda world: world.rng.choice((b'-', lex_edge(world))),
    'lex_max': lambda world: world.rng.choice((b'+', lex_edge(world))),
    'int': small_int(-4, 12), 'index': small_int(-12, 12), 'count': small_int(1, 9),
    'count_any': small_int(-6, 9), 'offset': small_int(0, 60, 0.02),
    'increment': small_int(-20, 20, 0.12), 'bit': one_of(b'0', b'1', b'1', b'2', b''),
    'low_offset': small_int(-3, 20), 'small_offset': one_of(b'0', b'1', b'5', b'30', b'-1', b'x'),
    'bit_index': small_int(0, 200, 0.01),
    # Deadlines lie far away, are passed already, or are at fault: none is met while a round runs.
    'seconds': one_of(b'100', b'1000', b'100000', b'0', b'-1', b'abc', b'9223372036854775807',
                      b'9223372036854775', b'9223372036854776', b'-9223372036854775808', b'1.5'),
    'seconds_ok': one_of(b'100', b'1000', b'100000'),
    'millis': one_of(b'100000', b'1000000', b'100000000', b'0', b'-1', b'abc',
                     b'9223372036854775807', b'9223370000000000000', b'-9223372036854775808'),
    'date': one_of(b'1', b'9999999999', b'4000000000', b'0', b'-1', b'abc',
                   b'9223372036854775807', b'9223372036854775', b'9223372036854776'),
    'date_ms': one_of(b'1', b'9999999999999', b'4000000000000', b'0', b'-1', b'abc',
                      b'9223372036854775807'),
    'id': stream_id, 'id_first': range_id(b'-'), 'id_last': range_id(b'+'),
    'group': one_of(b'g1', b'g1', b'g2', b'nogroup'), 'consumer': one_of(b'c1', b'c2', b'c3'),
    'idle': one_of(b'0', b'0', b'0', b'100000000', b'-1', b'abc'),
    'stream_reads': stream_reads, 'group_reads': group_reads,
    'weights': weights, 'place': place, 'unit': one_of(b'm', b'km', b'mi', b'ft', b'M', b'x'),
    'radius': one_of(b'0', b'1', b'100', b'200', b'500.5', b'20000', b'1e9', b'-1', b'abc', b'inf'),
    'bit_type': bit_type, 'bit_offset': bit_offset,
    'pattern': one_of(b'*', b'string:*', b'?????:0', b'[a-l]*', b'[^a]*', b'', b'\\*', b'[a', b'*1',
                      b'm1?', b'h[^', b'**', b'nokey'),
    'db': one_of(b'0', b'0', b'1', b'2', b'15', b'16', b'-1', b'abc', b'99999999999'),
    'channel': one_of(b'ch1', b'ch2', b'ch3', b''), 'channels': one_of(b'ch*', b'*', b'c?1', b'x'),
    'lexset': lambda world: b'lex:%d' % world.rng.randrange(2),
    'client_id': client_id, 'client_address': client_address,
    'scan_all': one_of(b'0', b'0', b'0', b'0', b'abc', b'-1', b'1 ', b''),
    'type': one_of(b'string', b'list', b'set', b'zset', b'hash', b'stream', b'x', b''),
    'sort_by': one_of(b'nosort', b'string:*', b'hash:*->a', b'x*', b'*', b'hash:*->', b''),
    'sort_get': one_of(b'#', b'string:*', b'hash:*->a', b'hash:*->1', b'*', b'->', b'x'),
    'geo_member': one_of(b'a', b'b', b'c', b'd', b'e', b'f', b'Palermo', b'nomember'),
    'hll_member': lambda world: b'e%d' % world.rng.randrange(4000),
    'user': one_of(b'u1', b'u2', b'u3', b'nouser'),
    'password': one_of(b'p1', b'p2', b'', b'wrong'),
    'name': one_of(b'n1', b'n2', b'', b'with blank', b'a\nb', b'x' * 200, b'\xff'),
    'timeout_forever': one_of(b'0', b'0', b'0', b'0', b'0.0', b'-1', b'abc', b'nan', b'', b'1e30',
                              b'inf'),
}
for _kind in TYPES:
    POOLS[_kind] = typed(_kind)
for _name in ('string', 'set', 'zset', 'hll', 'list', 'bits', 'stream'):
    POOLS[f'{_name}_counted'] = counted(POOLS[_name])
POOLS['member_counted'] = counted(member)
POOLS['key_counted'] = counted(any_key)
POOLS['id_counted'] = counted(stream_id)
