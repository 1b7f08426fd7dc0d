#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a save that walks (snapshot-method walk) costs the main thread, beside one by fork.

  walk.py [--ours PATH] [--keys N] [--rounds N] [--budgets 5,10,25,50,100]

A server holds small keys (10,000,000 of 22 bytes with values of 32); nobody asks it anything. For
each snapshot-cpu-budget it saves by BGSAVE: seconds that took, nanoseconds of the main thread a
key, and the longest turn of the loop meanwhile, in microseconds of CPU time. The last line is
BGSAVE by fork: for it the time that the fork itself took is the main thread's.

Each figure is the median of the rounds, with the least and the most. Only true where nothing else
runs, and where the server may use two processors.
"""
import argparse
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import programs  # noqa: E402
import servers  # noqa: E402

PATIENCE_S = 600
POLL_S = 0.02
VALUE_BYTES = 32


def number(wire, section, field):
    return float(wire.info(section)[field])


def save(wire):
    """Seconds."""
    begun = time.monotonic()
    wire.command('BGSAVE')
    while number(wire, 'persistence', 'rdb_bgsave_in_progress'):
        if time.monotonic() - begun > PATIENCE_S:
            raise servers.MeasureError('a save does not end')
        time.sleep(POLL_S)
    if wire.info('persistence')['rdb_last_bgsave_status'] != 'ok':
        raise servers.MeasureError('a save has failed')
    return time.monotonic() - begun


def one(wire, keys, budget):
    """Of a save by a walk, or, where there is no budget, by fork."""
    wire.command('CONFIG', 'SET', 'snapshot-method', 'walk' if budget else 'fork')
    if budget:
        wire.command('CONFIG', 'SET', 'snapshot-cpu-budget', str(budget))
    wire.command('CONFIG', 'RESETSTAT')
    before = number(wire, 'persistence', 'walk_main_thread_usec')
    seconds = save(wire)
    usec = number(wire, 'persistence', 'walk_main_thread_usec') - before
    if not budget:
        usec = number(wire, 'stats', 'latest_fork_usec')
    return seconds, usec * 1000 / keys, number(wire, 'stats', 'eventloop_turn_cpu_usec_max')


def spread(values, digits):
    middle, least, most = statistics.median(values), min(values), max(values)
    return f'{middle:.{digits}f} [{least:.{digits}f}..{most:.{digits}f}]'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--ours', default=os.path.join(servers.ROOT, 'build/bin/redis-server'))
    parser.add_argument('--keys', type=int, default=10000000)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--budgets', default='5,10,25,50,100')
    config = parser.parse_args()
    programs.take_signals()
    budgets = [int(budget) for budget in config.budgets.split(',')] + [0]
    with servers.Server('ours', config.ours, ['--save', ''], patience=PATIENCE_S) as server:
        wire = servers.Wire(server.port, PATIENCE_S)
        wire.command('DEBUG', 'POPULATE', str(config.keys), 'key:0000000000', str(VALUE_BYTES))
        print('| budget | save, s | main thread, ns a key | longest turn, us |')
        print('| --- | --- | --- | --- |')
        for budget in budgets:
            rounds = [one(wire, config.keys, budget) for _ in range(config.rounds)]
            seconds, nsec, turn = zip(*rounds)
            print(f'| {budget or "fork"} | {spread(seconds, 2)} | {spread(nsec, 1)} |'
                  f' {spread(turn, 0)} |', flush=True)
        wire.close()


if __name__ == '__main__':
    try:
        main()
    except servers.MeasureError as error:
        sys.exit(f'walk.py: {error}')
