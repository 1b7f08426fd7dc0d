#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What heap-huge-pages is worth, and what memory it takes: the same server with and without it.

  huge_pages.py [--ours PATH] [--keys N] [--rounds N] [--seconds S]

Two servers of the steady profile hold the same small keys (4,000,000 of 16 bytes with values of
32), one with the option, one without; the other stands still while one is measured, and they take
turns. What is told of each:

  GET, SET   CPU nanoseconds of the main thread a command, random keys, 50 connections, pipeline 1
             and 16
  walk       nanoseconds of the main thread a key of a BGSAVE by a walk, at snapshot-cpu-budget 10,
             under 20,000 GET and 20,000 SET a second, and at 100 while nobody asks for anything
  new keys   the longest turn, in microseconds of CPU, while 20,000 a second come for five seconds:
             a huge page is cleared as a whole when it is first written to
  bytes      used_memory, the process' own memory (RSS), and how much of that is huge pages: when
             filled; when every second run of 1,000 keys, in the order in which they were filled,
             has been deleted; and when every second of the others has been, too. Each after
             MEMORY PURGE

Figures are the median of the rounds with the least and the most, the last column the median of the
rounds' ratios. The server has a core, and so has the load. Needs "madvise" or "always" in
/sys/kernel/mm/transparent_hugepage/enabled.
"""
import argparse
import os
import re
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import programs  # noqa: E402
import servers  # noqa: E402
from servers import LOAD_CORE, SERVER_CORE, Load, Server, run_load  # noqa: E402

VALUE_BYTES = 32
CONNECTIONS = 50
SETTLE_S = 0.01  # see Server.cpu
PATIENCE_S = 120
RUN_KEYS = 1000
NEW_RATE, NEW_S = 20000, 5
# Deletes each second run of keys; ARGV: the first key, how many there are, how far apart runs are.
DELETE = """
local first, keys, apart = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
for run = first, keys - 1, apart do
  for i = run, math.min(run + %d, keys) - 1 do
    redis.call('del', string.format('key:%%012d', i))
  end
end
""" % RUN_KEYS
PROFILE = os.path.join(servers.ROOT, 'profiles', 'steady.conf')


def start(binary, huge, config):
    options = ['--include', PROFILE, '--heap-huge-pages', huge, '--lua-time-limit', '0']
    server = Server(f'heap-huge-pages {huge}', binary, options)
    run_load(server, command='fill', pipeline=100, keys=config.keys, value_bytes=VALUE_BYTES)
    server.settle()
    server.pin(SERVER_CORE)
    return server


def memory(server):
    """Bytes: what the server counts, the process' own, of these in huge pages."""
    server.wire.command('MEMORY', 'PURGE')
    time.sleep(0.5)
    with open(f'/proc/{server.pid}/smaps_rollup') as file:
        told = dict(re.findall(r'(\w+):\s+(\d+) kB', file.read()))
    return (server.steady_memory(), int(told['Rss']) * 1024, int(told['AnonHugePages']) * 1024)


def command_nsec(server, command, pipeline, config):
    before = server.cpu()[0]
    result = run_load(server, LOAD_CORE, command=command, pipeline=pipeline, keyspace='random',
                      keys=config.keys, value_bytes=VALUE_BYTES, connections=CONNECTIONS,
                      seconds=config.seconds, seed=time.monotonic_ns())
    time.sleep(SETTLE_S)
    return (server.cpu()[0] - before) / result['requests']


def walk_nsec(server, budget, loaded, config):
    wire = server.wire
    wire.command('CONFIG', 'SET', 'snapshot-cpu-budget', budget)
    load = Load(server, LOAD_CORE, 'record', rate=40000, mix='get=50,set=50', sets='window',
                keys=config.keys, value_bytes=VALUE_BYTES, connections=CONNECTIONS,
                seconds=PATIENCE_S) if loaded else None
    if loaded:
        time.sleep(1)
    before = int(wire.info('persistence')['walk_main_thread_usec'])
    wire.command('BGSAVE')
    end = time.monotonic() + PATIENCE_S
    while wire.info('persistence')['rdb_bgsave_in_progress'] != '0':
        if time.monotonic() > end:
            raise servers.MeasureError('a save does not end')
        time.sleep(0.1)
    took = int(wire.info('persistence')['walk_main_thread_usec']) - before
    if load:
        load.end()
    return 1000 * took / config.keys


def growing_usec(server, number, config):
    server.wire.command('CONFIG', 'RESETSTAT')
    count = NEW_RATE * NEW_S
    load = Load(server, LOAD_CORE, 'record', arrivals='constant', rate=NEW_RATE, requests=count,
                seconds=PATIENCE_S, mix='set=1', sets='new', held_keys=0, keys=count,
                first_key=config.keys + number * count, value_bytes=VALUE_BYTES,
                connections=CONNECTIONS)
    load.result()
    return int(server.wire.info('stats')['eventloop_turn_cpu_usec_max'])


def one_round(server, number, config):
    found = {}
    for command in ('get', 'set'):
        for pipeline in (1, 16):
            found[f'{command.upper()} P{pipeline}, CPU ns'] = \
                command_nsec(server, command, pipeline, config)
    found['walk at 10 under load, ns a key'] = walk_nsec(server, 10, True, config)
    found['walk at 100, nobody asks, ns a key'] = walk_nsec(server, 100, False, config)
    found['20,000 new keys a second, longest turn, CPU us'] = growing_usec(server, number, config)
    return found


def spread(values):
    return f'{statistics.median(values):,.0f} [{min(values):,.0f}..{max(values):,.0f}]'


def print_times(rounds):
    print('| main thread | without | with | with / without |\n| --- | ---: | ---: | ---: |')
    for name in rounds['no'][0]:
        without, given = ([found[name] for found in rounds[huge]] for huge in ('no', 'yes'))
        ratios = [b / a for a, b in zip(without, given)]
        print(f'| {name} | {spread(without)} | {spread(given)} |'
              f' {statistics.median(ratios):.2f} [{min(ratios):.2f}..{max(ratios):.2f}] |')


def print_memory(label, pair):
    cells = []
    for server in pair.values():
        server.resume()
        used, rss, huge = memory(server)
        cells.append(f'{used / 1e6:,.0f}, {rss / 1e6:,.0f}, {huge / 1e6:,.0f}')
        server.pause()
    print(f'| {label} | ' + ' | '.join(cells) + ' |', flush=True)


def delete(pair, first, apart, config):
    for server in pair.values():
        server.resume()
        server.wire.socket.settimeout(PATIENCE_S)
        server.wire.command('EVAL', DELETE, 0, first, config.keys, apart)
        server.settle()
        server.pause()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('--ours', default=os.path.join(servers.ROOT, 'build/bin/redis-server'))
    parser.add_argument('--keys', type=int, default=4000000)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=1.5)
    config = parser.parse_args()
    programs.take_signals()
    servers.build_load()
    pair = {huge: start(config.ours, huge, config) for huge in ('no', 'yes')}
    for server in pair.values():
        server.pause()
    rounds = {'no': [], 'yes': []}
    for number in range(config.rounds):
        for huge in sorted(pair, reverse=number % 2):
            pair[huge].resume()
            rounds[huge].append(one_round(pair[huge], number, config))
            pair[huge].pause()
    print_times(rounds)
    print('\n| used, RSS, huge pages, MB | without | with |\n| --- | ---: | ---: |')
    print_memory('filled and written to', pair)
    delete(pair, 0, 2 * RUN_KEYS, config)
    print_memory('half of it deleted', pair)
    delete(pair, RUN_KEYS, 4 * RUN_KEYS, config)
    print_memory('three quarters', pair)
    for server in pair.values():
        server.resume()
        server.stop()


if __name__ == '__main__':
    try:
        main()
    except servers.MeasureError as error:
        sys.exit(f'huge_pages.py: {error}')
    finally:
        servers.end_everything()
