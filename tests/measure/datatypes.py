# SPDX-License-Identifier: BSD-3-Clause
"""The part "collections": CPU time a command of the other data types, and bytes a member.

A scenario is a command on a collection of so many members; its requests are drawn once, written to
a file and sent to both servers in turn (load.c --script). A command that ours does not have yet is
reported as missing. (Not named collections.py: that would stand before Python's own module.)
"""
import os
import random
import statistics
import struct
import time

from bench_report import Row
from servers import (LOAD_CORE, SERVER_CORE, MeasureError, Server, encode, run_load,
                     scratch_folder)

PIPELINE = 16
CONNECTIONS = 10
SIZES = (10, 1000, 1_000_000)
QUICK_LARGE = 100_000
# So many different requests for each size, so that a large collection is met all over.
REQUESTS = {10: 500, 1000: 5000, 1_000_000: 200_000, QUICK_LARGE: 50_000}
WALK_MAX = 1000  # commands that walk the whole collection run up to this size
FILL_ARGUMENTS = 200
CPU_BOUND, CPU_MEDIAN_BOUND, BYTES_BOUND = 1.0, 0.7, 0.7
SPAN_DEGREES = 10.0  # places lie in a square of this side, of some 1,110 km
KM_PER_DEGREE = 111.0


def field(i):
    return b'field:%06d' % i


def member(i):
    return b'member:%06d' % i


def place(generator):
    return [f'{generator.uniform(0, SPAN_DEGREES):.6f}' for _ in ('longitude', 'latitude')]


# ---- collections: how each is filled; a key is the letter and the size ----

def geo_words(i):
    return [*place(random.Random(i)), member(i)]


# Key letter: command, words before the members, words of member i, most members a request.
FILLS = {
    'l': ('RPUSH', [], lambda i: [member(i)], FILL_ARGUMENTS),
    'h': ('HSET', [], lambda i: [field(i), b'value%05d' % (i % 100000)], FILL_ARGUMENTS),
    's': ('SADD', [], lambda i: [member(i)], FILL_ARGUMENTS),
    'z': ('ZADD', [], lambda i: [i, member(i)], FILL_ARGUMENTS),
    'x': ('XADD', [], lambda i: [f'{i + 1}-1', b'f', b'value%05d' % (i % 100000)], 1),
    'p': ('PFADD', [], lambda i: [member(i)], FILL_ARGUMENTS),
    'g': ('GEOADD', [], geo_words, FILL_ARGUMENTS),
    'n': ('RPUSH', [], lambda i: [i * 7919 % 1000003], FILL_ARGUMENTS),
}
BYTES_LABELS = {'h': 'hash, fields of 12 and values of 10 bytes', 's': 'set, members of 13 bytes',
                'z': 'sorted set, members of 13 bytes'}


def fill_requests(letter, size):
    command, before, words, most = FILLS[letter]
    for start in range(0, size, most):
        request = [command, f'{letter}{size}', *before]
        for i in range(start, min(start + most, size)):
            request += words(i)
        yield encode(request)


def fill(server, letter, size):
    server.wire.many(fill_requests(letter, size), 500 if FILLS[letter][3] == 1 else 20)


# ---- scenarios: the commands needed, the collection's letter, the largest size, one request ----

def in_turn(*makers):
    """The makers' requests one after the other, so that the collection keeps its size."""
    def make(n, generator, i):
        return makers[i % len(makers)](n, generator, i)
    return make


def radius_km(n, wanted=10):
    side = SPAN_DEGREES * KM_PER_DEGREE
    return min(side, side * (wanted / n / 3.14) ** 0.5)


def score_window(n, generator):
    low = generator.randrange(n)
    return low, low + 100


def request_makers():
    def some(n, generator):
        return generator.randrange(n)
    return {
        'LPUSH, LPOP': ('LPUSH LPOP', 'l', None, in_turn(
            lambda n, r, i: ['LPUSH', f'l{n}', member(i)], lambda n, r, i: ['LPOP', f'l{n}'])),
        'LRANGE 100': ('LRANGE', 'l', None, lambda n, r, i: ['LRANGE', f'l{n}', 0, 99]),
        'HSET': ('HSET', 'h', None, lambda n, r, i: [
            'HSET', f'h{n}', field(some(n, r)), b'other%05d' % some(99999, r)]),
        'HGET': ('HGET', 'h', None, lambda n, r, i: ['HGET', f'h{n}', field(some(n, r))]),
        'HGETALL': ('HGETALL', 'h', WALK_MAX, lambda n, r, i: ['HGETALL', f'h{n}']),
        'SADD, SREM': ('SADD SREM', 's', None, in_turn(
            lambda n, r, i: ['SADD', f's{n}', b'other:%06d' % (i // 2)],
            lambda n, r, i: ['SREM', f's{n}', b'other:%06d' % (i // 2)])),
        'SISMEMBER': ('SISMEMBER', 's', None,
                      lambda n, r, i: ['SISMEMBER', f's{n}', member(some(2 * n, r))]),
        'SINTER with a set of 10': ('SINTER', 's', None,
                                    lambda n, r, i: ['SINTER', 's10', f's{n}']),
        'ZADD': ('ZADD', 'z', None,
                 lambda n, r, i: ['ZADD', f'z{n}', some(n, r), member(some(n, r))]),
        'ZRANGE 10': ('ZRANGE', 'z', None,
                      lambda n, r, i: ['ZRANGE', f'z{n}', (low := some(n, r)), low + 9]),
        'ZRANGEBYSCORE, limit 10': ('ZRANGEBYSCORE', 'z', None, lambda n, r, i: [
            'ZRANGEBYSCORE', f'z{n}', *score_window(n, r), 'LIMIT', 0, 10]),
        'ZRANK': ('ZRANK', 'z', None, lambda n, r, i: ['ZRANK', f'z{n}', member(some(n, r))]),
        'XADD, MAXLEN ~': ('XADD', 'x', None, lambda n, r, i: [
            'XADD', f'x{n}', 'MAXLEN', '~', n, '*', 'f', b'value%05d' % (i % 100000)]),
        'XREAD 10': ('XREAD', 'x', None, lambda n, r, i: [
            'XREAD', 'COUNT', 10, 'STREAMS', f'x{n}', f'{some(n, r)}-0']),
        'PFADD': ('PFADD', 'p', None, lambda n, r, i: ['PFADD', f'p{n}', member(some(2 * n, r))]),
        'GEOSEARCH, about 10': ('GEOSEARCH', 'g', None, lambda n, r, i: [
            'GEOSEARCH', f'g{n}', 'FROMLONLAT', *place(r), 'BYRADIUS', f'{radius_km(n):.3f}',
            'km']),
        'SORT, limit 10': ('SORT', 'n', WALK_MAX,
                           lambda n, r, i: ['SORT', f'n{n}', 'LIMIT', 0, 10]),
    }


def sizes_of(config):
    return SIZES[:-1] + (QUICK_LARGE if config.quick else SIZES[-1],)


class Scenario:
    def __init__(self, label, size, folder):
        commands, self.letter, _, self.make = request_makers()[label]
        self.label, self.size, self.commands = label, size, commands.split()
        name = ''.join(c if c.isalnum() else '_' for c in f'{label}-{size}')
        self.path = os.path.join(folder, name)

    def write_script(self):
        if os.path.exists(self.path):
            return
        generator = random.Random(self.label + str(self.size))
        with open(self.path, 'wb') as out:
            for i in range(REQUESTS[self.size]):
                request = encode(self.make(self.size, generator, i))
                out.write(struct.pack('<I', len(request)) + request)


def scenarios(config, folder):
    found = []
    for label, (_, _, most, _) in request_makers().items():
        for size in sizes_of(config):
            if not most or size <= most:
                found.append(Scenario(label, size, folder))
    return found


# ---- measuring ----

def run_seconds(config):
    return config.seconds / 5


def plan(config):
    large = sizes_of(config)[-1]
    count = len(scenarios(config, ''))
    return [(f'collections: filling both servers, up to {large:,} members', large / 12e3 + 5)] + [
        (f'collections: round {i + 1} of {config.rounds}', 2 * count * (run_seconds(config) + 0.06))
        for i in range(config.rounds)]


def missing_commands(server):
    names = sorted({c for commands, *_ in request_makers().values() for c in commands.split()}
                   | {fill[0] for fill in FILLS.values()})
    infos = server.wire.command('COMMAND', 'INFO', *names)
    return {name for name, info in zip(names, infos) if not info}


def fill_pair(pair, missing, config):
    """Fills all that the servers can; returns bytes a member of the large ones, by letter."""
    taken = {}
    for letter, (command, *_) in FILLS.items():
        for size in sizes_of(config):
            for server in pair:
                if command in missing[server.name]:
                    continue
                before = server.steady_memory() if size == sizes_of(config)[-1] else 0
                fill(server, letter, size)
                if before:
                    taken[letter, server.name] = (server.steady_memory() - before) / size
    return taken


def sample(config, server, scenario):
    """CPU nanoseconds a command of one run, the other server standing still."""
    server.resume()
    before = server.cpu()[0]
    result = run_load(server, LOAD_CORE, script=scenario.path, pipeline=PIPELINE,
                      connections=CONNECTIONS, seconds=run_seconds(config))
    time.sleep(0.005)  # until the server sleeps again: see Server.cpu
    after = server.cpu()[0]
    server.pause()
    return (after - before) / result['requests']


def cpu_rows(pair, todo, samples, missing):
    rows, last = [], None
    for scenario in todo:
        figures = {server.name: samples.get((scenario.path, server.name), []) for server in pair}
        lacking = [c for c in scenario.commands if c in missing['ours']]
        rows.append(Row(scenario.label if scenario.label != last else '',
                        f'{scenario.size:,} members, CPU ns a command', figures['ours'],
                        figures['baseline'], limit=('ratio', '<=', CPU_BOUND),
                        remark=f'missing: {" ".join(lacking)}' if lacking else ''))
        last = scenario.label
    medians = [statistics.median(row.ratios) for row in rows if row.ratios]
    middle = [statistics.median(medians)] if medians else []
    return rows + [Row('all of these', 'median of the ratios', middle, form='{:.3f}',
                       limit=('ours', '<=', CPU_MEDIAN_BOUND))]


def bytes_rows(config, taken):
    size = sizes_of(config)[-1]
    return [Row(f'{label}: {size:,}', 'bytes a member',
                *([taken[letter, name]] if (letter, name) in taken else []
                  for name in ('ours', 'baseline')), '{:.1f}', ('ratio', '<=', BYTES_BOUND))
            for letter, label in BYTES_LABELS.items()]


def measure(config, progress):
    folder = scratch_folder()
    progress.next()
    pair = [Server('ours', config.ours), Server('baseline', config.baseline)]
    missing = {server.name: missing_commands(server) for server in pair}
    if missing['baseline']:
        raise MeasureError(f'the baseline lacks {" ".join(sorted(missing["baseline"]))}')
    taken = fill_pair(pair, missing, config)
    todo = scenarios(config, folder)
    for scenario in todo:
        scenario.write_script()
    for server in pair:
        server.pin(SERVER_CORE)
        server.pause()
    samples = {}
    for number in range(config.rounds):
        progress.next()
        for scenario in todo:
            for server in pair if number % 2 else reversed(pair):
                if missing[server.name].isdisjoint(scenario.commands):
                    samples.setdefault((scenario.path, server.name), []).append(
                        sample(config, server, scenario))
    for server in pair:
        server.stop()
    return cpu_rows(pair, todo, samples, missing) + bytes_rows(config, taken)


def notes(config):
    return [f'{config.rounds} rounds, the servers in turn, runs of {run_seconds(config):g} s; '
            'ratios are taken round by round: median [min..max].',
            f'Pipeline {PIPELINE}, {CONNECTIONS} connections, closed loop. CPU time is the main '
            'thread\'s, with that of the network, from schedstat. Members are drawn at random from '
            f'{REQUESTS[sizes_of(config)[-1]]:,} requests on the largest collections; two commands '
            'in one row take turns.',
            'Bytes a member: the growth of used_memory by filling the largest collection.']
