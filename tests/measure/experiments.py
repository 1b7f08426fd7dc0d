#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How far redis-lab experiment can be believed: runs of a value against itself, which should say
that nothing differs, and staged servers whose best value is known, which it should find.

usage: experiments.py [--only STAGE,...] [--runs N] [--self-runs N] [--settle S]

Each run is a whole experiment. redis-benchmark sends the server's own traffic as an open loop, and
the figures are those of INFO and of PINGs; or the experiment itself sends a load. A line a run,
and at the end, for each stage, how many runs said what they should. The exit status is 1 where the
counts miss the requirement: of 50 runs of a value against itself at most 2 may say that a figure
differs, and of 20 runs of a stage all must find the best value.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import servers

# Of each stage: the server's options, keys that it holds (`fill`; `named` where they are those that
# __rand_int__ names), the traffic that redis-benchmark sends or the load that the experiment sends,
# the experiment, its rounds and the seconds of a block, and the best value.
STAGES = {
    'self': {
        'server': {'maxmemory': '20mb', 'maxmemory-policy': 'allkeys-lru'},
        'traffic': ['--rate', '3000', '-r', '200000', '-d', '100', '-c', '20', '-t', 'set,get'],
        'experiment': ['--set', 'maxmemory-samples=5,5'],
        'rounds': 12,
        'block': 1,
        'best': None,
    },
    # Writers of new keys arrive in herds: with a budget of 1 percent eviction falls behind, and
    # memory stays above maxmemory.
    'budget': {
        'server': {'maxmemory': '40mb', 'maxmemory-policy': 'allkeys-lru'},
        'fill': 150000,
        'traffic': ['--rate', '12000', '-r', '100000000', '-d', '300', '-c', '200', '-P', '4',
                    'SET', 'key:__rand_int__', 'x' * 300],
        'experiment': ['--set', 'maxmemory-eviction-cpu-budget=1,50', '--goal', 'overshoot_bytes'],
        'rounds': 20,
        'block': 1,
        'best': '50',
    },
    # The clock finds a victim in less time than sampling does.
    'algorithm': {
        'server': {'maxmemory': '40mb', 'maxmemory-policy': 'allkeys-lru'},
        'fill': 150000,
        'traffic': ['--rate', '12000', '-r', '100000000', '-d', '300', '-c', '50', '-P', '4',
                    'SET', 'key:__rand_int__', 'x' * 300],
        'experiment': ['--set', 'maxmemory-eviction-algorithm=sampling,clock', '--goal',
                       'eviction_percent'],
        'rounds': 20,
        'block': 1,
        'best': 'clock',
    },
    # A fork stops the server while the page tables are copied, and each first write to a page
    # afterwards costs a fault; a walk does neither. The writes are the tool's own, to keys that the
    # save contains: with a gigabyte a fork of 25 ms delays 75 of a block's 3,000 writes, more than
    # 1 percent. Of a block's 200 PINGs it would delay five, and a busy machine delays as many.
    'snapshot': {
        'server': {'snapshot-cpu-budget': '50'},
        'named': 2500000,
        'experiment': ['--set', 'snapshot-method=fork,walk', '--each-block', 'BGSAVE', '--goal',
                       'p99'],
        'load': ['--rate', '3000', '-r', '2500000', '-d', '300', '-c', '50',
                 'SET', 'key:__rand_int__', 'x' * 300],
        'rounds': 20,
        'block': 1,
        'best': 'walk',
    },
}


# So many keys a call, because the server answers nobody meanwhile.
NAMED_AT_ONCE = 50000
NAME_KEYS = """
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
    redis.call('SET', string.format('key:%012d', i), ARGV[3])
end"""


def fill_server(wire, stage):
    if stage.get('fill'):
        wire.command('DEBUG', 'POPULATE', stage['fill'], 'key', 300)
    keys = stage.get('named', 0)
    for first in range(0, keys, NAMED_AT_ONCE):
        last = min(first + NAMED_AT_ONCE, keys)
        wire.command('EVAL', NAME_KEYS, 0, first, last, 'x' * 300)


def start_traffic(binaries, port, stage):
    command = [os.path.join(binaries, 'redis-benchmark'), '-p', str(port), '-q', '--duration',
               '100000', *stage['traffic']]
    return servers.start_process(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_once(binaries, port, stage, args):
    command = [os.path.join(binaries, 'redis-lab'), 'experiment', '-p', str(port), '--json',
               '--block', str(stage['block']), '--settle', str(args.settle), '--rounds',
               str(stage['rounds'])] + stage['experiment'] + stage.get('load', [])
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise servers.MeasureError(f'redis-lab ended with {done.returncode}: {done.stderr}')
    result = json.loads(done.stdout)
    differing = sorted({name for arm in result['arms'] for name, figure in arm['figures'].items()
                        if figure['differs']})
    return result, differing, time.monotonic() - begin


def run_stage(binaries, name, runs, args):
    stage, good, goals = STAGES[name], 0, 0
    options = [word for option in stage['server'].items() for word in ('--' + option[0], option[1])]
    with servers.Server(name, os.path.join(binaries, 'redis-server'), options) as server:
        fill_server(server.wire, stage)
        traffic = start_traffic(binaries, server.port, stage) if 'traffic' in stage else None
        time.sleep(3)
        for run in range(runs):
            result, differing, seconds = run_once(binaries, server.port, stage, args)
            best = result['best']
            right = not differing if stage['best'] is None else (
                result['differs'] and best is not None and
                result['arms'][best]['label'] == stage['best'])
            good += right
            goals += result['differs']
            print(f"{name} {run + 1}: {'right' if right else 'WRONG'} in {seconds:.0f} s, seed "
                  f"{result['seed']}: {result['verdict']} Differing: "
                  f"{', '.join(differing) or 'none'}.", flush=True)
        if traffic:
            servers.end_process(traffic)
    return good, goals


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--bin', default=os.path.join(servers.ROOT, 'build', 'bin'))
    parser.add_argument('--only', default=','.join(STAGES))
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--self-runs', type=int, default=50)
    parser.add_argument('--settle', type=float, default=0.3)
    args = parser.parse_args()
    missed = 0
    for name in args.only.split(','):
        is_self = STAGES[name]['best'] is None
        runs = args.self_runs if is_self else args.runs
        good, goals = run_stage(args.bin, name, runs, args)
        allowed = runs * 2 // 50 if is_self else 0
        missed += runs - good > allowed
        print(f'{name}: {good} of {runs} right (goal differs in {goals})', flush=True)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
