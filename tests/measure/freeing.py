#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The longest turn of the event loop when much is given up at once.

usage: freeing.py [--server PATH ...] [--scale PERCENT] [--rounds N] [--only CASE ...]

Each case fills a server, then sends one command and asks once a millisecond for INFO until all
memory is back. `turn` is eventloop_turn_cpu_usec_max since CONFIG RESETSTAT: the most CPU time of
the main thread in one turn, so another program on the same core adds nothing. `reply` is what the
client waited, `gone` when used_memory had fallen and nothing waited, both by the clock. With
several --server they take each case in turn. About two minutes a server; --scale 10 takes a tenth
of the data. Needs INFO's fields: a server of ours.
"""
import argparse
import os
import time

import servers

BATCH = 1000
LISTED = ['what', 'server', 'turn, CPU us', 'reply, ms', 'gone, ms']
PATIENCE_SECONDS = 120
# What is given up counts as free before it is: a queue's commands go in slices after that.
SETTLE_SECONDS = 0.5


def hash_of(wire, key, fields):
    def requests():
        for first in range(0, fields, BATCH):
            words = ['HSET', key]
            for i in range(first, min(first + BATCH, fields)):
                words += [f'field:{i}', f'value:{i}']
            yield servers.encode(words)
    wire.many(requests(), 10)


def queued(wire, commands):
    """One more connection, which has so many commands queued."""
    other = servers.Wire(int(wire.socket.getpeername()[1]))
    other.command('MULTI')
    other.many((servers.encode(['SET', f'key:{i}', 'x' * 32]) for i in range(commands)), BATCH)
    return other


def pending(wire, entries, consumers=1):
    wire.command('XGROUP', 'CREATE', 's', 'g', '0', 'MKSTREAM')
    wire.many((servers.encode(['XADD', 's', f'{i + 1}-0', 'f', 'v']) for i in range(entries)),
              BATCH)
    for first in range(0, entries, BATCH):
        name = f'c{first // BATCH % consumers}'
        wire.command('XREADGROUP', 'GROUP', 'g', name, 'COUNT', BATCH, 'STREAMS', 's', '>')


def discard(wire, size):
    other = queued(wire, size)
    return lambda: other.command('DISCARD')


def abort(wire, size):
    """EXEC finds a watched key changed."""
    other = servers.Wire(int(wire.socket.getpeername()[1]))
    other.command('WATCH', 'watched')
    other.command('MULTI')
    other.many((servers.encode(['SET', f'key:{i}', 'x' * 32]) for i in range(size)), BATCH)
    wire.command('SET', 'watched', '1')
    return lambda: other.command('EXEC')


def close(wire, size):
    other = queued(wire, size)
    return other.close


def destroy(wire, size):
    pending(wire, size)
    return lambda: wire.command('XGROUP', 'DESTROY', 's', 'g')


def delconsumer(wire, size):
    pending(wire, size)
    return lambda: wire.command('XGROUP', 'DELCONSUMER', 's', 'g', 'c0')


def del_stream(wire, size):
    pending(wire, size, 10)
    return lambda: wire.command('DEL', 's')


def del_hash(wire, size):
    hash_of(wire, 'h', size)
    return lambda: wire.command('DEL', 'h')


def set_over(wire, size):
    hash_of(wire, 'h', size)
    return lambda: wire.command('SET', 'h', 'x')


def rename_over(wire, size):
    hash_of(wire, 'h', size)
    wire.command('SET', 'other', 'x')
    return lambda: wire.command('RENAME', 'other', 'h')


def expire(wire, size):
    hash_of(wire, 'h', size)
    return lambda: wire.command('EXPIRE', 'h', -1)


def evict(wire, size):
    """The hash is the only key, and half of the memory is allowed."""
    hash_of(wire, 'h', size)
    wire.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    limit = wire.used_memory() // 2
    return lambda: wire.command('CONFIG', 'SET', 'maxmemory', limit)


def flushall(wire, size):
    wire.command('DEBUG', 'POPULATE', size)
    return lambda: wire.command('FLUSHALL', 'SYNC')


def flushall_queued(wire, size):
    wire.command('DEBUG', 'POPULATE', size)
    other = servers.Wire(int(wire.socket.getpeername()[1]))
    other.command('MULTI')
    other.command('FLUSHALL', 'SYNC')
    return lambda: other.command('EXEC')


MILLION = 1000000
CASES = {
    'DISCARD of 1 M queued commands': (discard, MILLION),
    'EXEC of as many after WATCH failed': (abort, MILLION),
    'a client with as many closes': (close, MILLION),
    'XGROUP DESTROY, 1 M pending': (destroy, MILLION),
    'XGROUP DELCONSUMER, 1 M pending': (delconsumer, MILLION),
    'DEL of a stream, 1 M pending': (del_stream, MILLION),
    'DEL of a hash of 5 M fields': (del_hash, 5 * MILLION),
    'SET over it': (set_over, 5 * MILLION),
    'RENAME over it': (rename_over, 5 * MILLION),
    'EXPIRE -1 of it': (expire, 5 * MILLION),
    'eviction of it': (evict, 5 * MILLION),
    'FLUSHALL SYNC of 5 M keys': (flushall, 5 * MILLION),
    'the same in MULTI': (flushall_queued, 5 * MILLION),
}


def wait_until_back(wire, full, base):
    """Until used_memory has fallen (a stream stays without its group), and nothing waits."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        fields = wire.info('memory')
        used, waiting = int(fields['used_memory']), int(fields['lazyfree_pending_bytes'])
        if not waiting and used <= full - (full - base) // 10:
            return
        if time.monotonic() > end:
            raise servers.MeasureError(f'{used} bytes are used, {base} before, {waiting} wait')
        time.sleep(0.001)


def measure(binary, make, size):
    with servers.Server('ours', binary) as server:
        wire = server.wire
        base = wire.used_memory()
        act = make(wire, size)
        full = wire.used_memory()
        wire.command('CONFIG', 'RESETSTAT')
        begin = time.monotonic()
        act()
        replied = time.monotonic()
        wait_until_back(wire, full, base)
        gone = time.monotonic()
        time.sleep(SETTLE_SECONDS)
        turn = int(wire.info('stats')['eventloop_turn_cpu_usec_max'])
        return turn, (replied - begin) * 1000, (gone - begin) * 1000


def middle(values):
    return sorted(values)[len(values) // 2]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--server', nargs='+',
                           default=[os.path.join(servers.ROOT, 'build/release/bin/redis-server')])
    arguments.add_argument('--scale', type=float, default=100)
    arguments.add_argument('--rounds', type=int, default=1)
    arguments.add_argument('--only', nargs='+')
    options = arguments.parse_args()
    options.server = [os.path.abspath(path) for path in options.server]
    print('| ' + ' | '.join(LISTED) + ' |\n' + '|---' * len(LISTED) + '|')
    for name, (make, size) in CASES.items():
        if options.only and not any(word in name for word in options.only):
            continue
        found = {binary: [] for binary in options.server}
        for _ in range(options.rounds):
            for binary in options.server:
                found[binary].append(measure(binary, make, int(size * options.scale / 100)))
        for number, binary in enumerate(options.server):
            figures = [f'{middle(values):,.0f}' for values in zip(*found[binary])]
            print(f'| {name} | {number + 1} | ' + ' | '.join(figures) + ' |', flush=True)


if __name__ == '__main__':
    main()
