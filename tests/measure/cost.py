#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make check-cost: instructions a command, counted by callgrind, against the recorded figures.

A command that takes more than 3 % more instructions than cost.txt says is a failure (status 1).
Time is too noisy to see that; a count of instructions is not, if all that moves it stands still:

  - one connection in lock step: a batch is sent with one call and answered before the next is
    sent, so that a turn of the event loop always finds the same work; the case of 16 clients stops
    the server while all of them send;
  - the system's random numbers are fixed (fixed_random.c), and with them the hash key;
  - the server's cron runs once a second, and what it costs is far below a per mille;
  - each case has a server of its own with the same thousand keys, and its first commands are not
    counted: they grow what grows once.

--record writes cost.txt and prints what rose, for the message of the commit that raises it.
The dump of each case stays in build/measure/cost/: `callgrind_annotate FILE` tells where the
instructions are, and a second one from another tree where they went.
"""
import argparse
import os
import platform
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import callgrind  # noqa: E402
import programs  # noqa: E402
import servers  # noqa: E402
from servers import MeasureError, Server, Wire, encode  # noqa: E402

RECORDED = os.path.join(servers.HERE, 'cost.txt')
DUMPS = os.path.join(servers.BUILD, 'cost')
TOLERANCE = 0.03
TRIES = 3
NOISE = 0.005  # a rise by less is not worth another count, nor a word
PATIENCE_S = 60
COUNTED, WARM_UP = 4000, 800  # commands of a case; multiples of the pipeline and of the clients
CLIENTS = 16
KEYS = 1000
VALUE = 'v' * 32


def key(i):
    """The keys in an order that is not that of their making."""
    return f'key:{i * 619 % KEYS:012d}'


def collection(letter, i):
    """One of a hundred collections, so that each comes to have some 48 members."""
    return f'{letter}:{i % 100:04d}'


# Name: a request by its number. Those that need something there before have it in SETUPS. The
# commands of a transaction are one case, counted as one.
REQUESTS = {
    'PING': lambda i: [['PING']],
    'GET': lambda i: [['GET', key(i)]],
    'GET, no such key': lambda i: [['GET', f'none:{i:012d}']],
    'SET': lambda i: [['SET', key(i), VALUE]],
    'SET, new key': lambda i: [['SET', f'new:{i:012d}', VALUE]],
    'SET EX': lambda i: [['SET', key(i), VALUE, 'EX', 1000 + i]],
    'INCR': lambda i: [['INCR', f'counter:{i % 100}']],
    'EXPIRE': lambda i: [['EXPIRE', key(i), 1000 + i]],
    'DEL': lambda i: [['DEL', f'gone:{i:012d}']],
    'MGET of 10': lambda i: [['MGET', *(key(10 * i + k) for k in range(10))]],
    'LPUSH': lambda i: [['LPUSH', collection('list', i), VALUE]],
    'RPOP': lambda i: [['RPOP', collection('pops', i)]],
    'HSET': lambda i: [['HSET', collection('hash', i), f'field:{i // 100:04d}', VALUE]],
    'HGET': lambda i: [['HGET', collection('hash', i), f'field:{i // 100:04d}']],
    'SADD': lambda i: [['SADD', collection('set', i), f'member:{i // 100:06d}']],
    'ZADD': lambda i: [['ZADD', collection('zset', i), i * 619 % 4799, f'member:{i // 100:06d}']],
    'XADD': lambda i: [['XADD', collection('stream', i), f'{i + 1}-1', 'field', VALUE]],
    'PUBLISH to none': lambda i: [['PUBLISH', f'channel:{i % 100}', VALUE]],
    'MULTI, SET, INCR, GET, EXEC': lambda i: [
        ['MULTI'], ['SET', key(i), VALUE], ['INCR', f'counter:{i % 100}'], ['GET', key(i)],
        ['EXEC']],
}
TOTAL = COUNTED + WARM_UP
SETUPS = {
    'DEL': lambda: [['SET', f'gone:{i:012d}', VALUE] for i in range(TOTAL)],
    'RPOP': lambda: [['RPUSH', collection('pops', i), VALUE] for i in range(TOTAL)],
    'HGET': lambda: [words for i in range(TOTAL) for words in REQUESTS['HSET'](i)],
}
# With the append only file, and without syncs, which come by the clock.
LOGGED = ', logged'
LOGGED_OPTIONS = ['--appendonly', 'yes', '--appendfsync', 'no']
REQUESTS['SET' + LOGGED] = REQUESTS['SET']
# With one key in a hundred recorded; the buffer is full, as where nothing reads it.
TRACED = ', traced'
TRACED_OPTIONS = ['--trace-sample', '100', '--trace-buffer-size', '64kb']
for name in ('GET', 'SET', 'MGET of 10'):
    REQUESTS[name + TRACED] = REQUESTS[name]
# By a node of a cluster that owns all slots; the other figure of the same name is standalone.
IN_CLUSTER = ', in a cluster'
for name in ('GET', 'SET'):
    REQUESTS[name + IN_CLUSTER] = REQUESTS[name]
# (name, requests sent at once, clients)
CASES = ([(name, 1, 1) for name in ('PING', 'GET', 'SET', 'SET EX', 'INCR',
                                       'SET' + LOGGED)]
         + [(name, 1, CLIENTS) for name in ('GET', 'SET')]
         + [(name, 16, 1) for name in REQUESTS])


def label(case):
    name, pipeline, clients = case
    return f'{name} P{pipeline}' + (f' {clients} clients' if clients > 1 else '')


class Driver:
    """A server under callgrind and the connections to it."""

    def __init__(self, server):
        self.server = server
        self.wires = [Wire(server.port) for _ in range(CLIENTS)]

    def send(self, wire, units):
        """Sends the requests of the units with one call; returns how many replies are due."""
        requests = [encode(words) for unit in units for words in unit]
        wire.socket.sendall(b''.join(requests))
        return len(requests)

    def run(self, make, numbers, pipeline, clients):
        numbers = list(numbers)
        for start in range(0, len(numbers), pipeline * clients):
            batch = numbers[start:start + pipeline * clients]
            if clients > 1:
                self.stop_server()
            due = []
            for n, wire in enumerate(self.wires[:clients]):
                units = [make(i) for i in batch[n * pipeline:(n + 1) * pipeline]]
                due.append(self.send(wire, units))
            if clients > 1:
                self.server.resume()
            for wire, count in zip(self.wires, due):
                for _ in range(count):
                    wire.read()

    def stop_server(self):
        """Once it is asleep: stopped in the middle of a turn it would find part of the batch."""
        self.await_state('S')
        self.server.pause()
        self.await_state('T')

    def await_state(self, wanted):
        path = f'/proc/{self.server.pid}/stat'
        state, over = None, time.monotonic() + PATIENCE_S
        while state != wanted:
            with open(path) as file:
                state = file.read().rsplit(')', 1)[1].split()[0]
            if state in 'ZX' or time.monotonic() > over:
                raise MeasureError(f'the server is in state {state}, not {wanted}')

    def count(self, case):
        name, pipeline, clients = case
        make = REQUESTS[name]
        before = [['SET', key(i), VALUE] for i in range(KEYS)]
        before += SETUPS[name]() if name in SETUPS else []
        self.run(lambda i: [before[i]], range(len(before)), 16, 1)
        self.run(make, range(WARM_UP), pipeline, clients)
        callgrind.order(self.server, 'zero')
        self.run(make, range(WARM_UP, TOTAL), pipeline, clients)
        dump = re.sub(r'[^A-Za-z0-9]+', '-', label(case)).lower()
        return callgrind.take_total(self.server, os.path.join(DUMPS, dump)) / COUNTED


def count_once(binary, case):
    """Instructions a command, of a server of the case's own."""
    options = ['--hz', 1] + (LOGGED_OPTIONS if LOGGED in case[0] else [])
    options += TRACED_OPTIONS if TRACED in case[0] else []
    options += servers.CLUSTER if IN_CLUSTER in case[0] else []
    preloaded = servers.build_preloaded(os.path.join(servers.HERE, 'fixed_random.c'))
    prefix = ['env', f'LD_PRELOAD={preloaded}', *callgrind.PREFIX]
    with Server('ours', binary, options, prefix=prefix, patience=120) as server:
        if IN_CLUSTER in case[0]:
            server.own_all_slots(PATIENCE_S)
        return Driver(server).count(case)


def measure(binary, case, recorded):
    """The least of up to three counts: a machine that holds the server up makes it explain slow
    turns, which only adds. One is enough where it is what is recorded; to record it takes two."""
    figure = count_once(binary, case)
    for _ in range(TRIES - 1 if recorded else 1):
        if recorded and figure <= recorded * (1 + NOISE):
            break
        figure = min(figure, count_once(binary, case))
    return figure


# ---- the recorded figures ----

def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return (done.stdout.strip().splitlines() or ['unknown'])[0]
    except OSError:
        return 'unknown'


def tools(binary):
    """What the figures hang on besides the tree, by name."""
    found = re.search(r'malloc=(\S+)', first_line(binary, '--version'))
    return {'compiler': first_line(os.environ.get('CC', 'gcc').split()[0], '--version'),
            'allocator': found.group(1) if found else 'unknown',
            'libc': ' '.join(platform.libc_ver()),
            'valgrind': first_line('valgrind', '--version')}


def read_recorded():
    """Returns ({case's label: instructions}, {tool: version}) of cost.txt."""
    figures, versions = {}, {}
    if not os.path.exists(RECORDED):
        return figures, versions
    with open(RECORDED) as file:
        for line in file:
            name, _, value = line.strip().rpartition('  ')
            if line.startswith('# ') and ': ' in line:
                tool, version = line[2:].strip().split(': ', 1)
                versions[tool] = version
            elif name and not line.startswith('#'):
                figures[name.strip()] = float(value.replace(',', ''))
    return figures, versions


def write_recorded(figures, versions):
    lines = ['# Instructions a command under callgrind: make check-cost compares with them and',
             '# fails above 3 % more; make check-cost RECORD=1 writes them. A commit that raises',
             '# one says why.']
    lines += [f'# {tool}: {version}' for tool, version in versions.items()]
    width = max(len(name) for name in figures)
    lines += [f'{name:<{width}}  {figure:>9,.1f}' for name, figure in figures.items()]
    with open(RECORDED, 'w') as file:
        file.write('\n'.join(lines) + '\n')


def show(name, figure, before, width):
    text = f'{name:<{width}}  {figure:>9,.1f}'
    if before:
        change = figure / before - 1
        text += f'  {before:>9,.1f}  {change:+7.2%}'
        text += '  TOO MUCH' if change > TOLERANCE else ''
    else:
        text += '  not recorded'
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--ours', default=os.environ.get('OURS') or 'build/bin/redis-server')
    parser.add_argument('--record', action='store_true')
    parser.add_argument('--only', metavar='TEXT', help='cases whose name has it: "SET P16"')
    config = parser.parse_args()
    callgrind.demand()
    programs.take_signals()
    binary = os.path.join(servers.ROOT, config.ours)
    cases = [c for c in CASES if not config.only or config.only in label(c)]
    if not cases or (config.record and config.only):
        sys.exit('no such case' if not cases else 'all cases are recorded or none')
    recorded, recorded_with = read_recorded()
    versions = tools(binary)
    width = max(len(label(c)) for c in cases)
    print(f'{"instructions a command":<{width}}  {"now":>9}  {"recorded":>9}', flush=True)
    figures = {}
    os.makedirs(DUMPS, exist_ok=True)
    for case in cases:
        before = recorded.get(label(case))
        figures[label(case)] = measure(binary, case, None if config.record else before)
        show(label(case), figures[label(case)], before, width)
    return finish(config, figures, versions, recorded, recorded_with)


def finish(config, figures, versions, recorded, recorded_with):
    bound = 1 + (NOISE if config.record else TOLERANCE)
    rose = [name for name, figure in figures.items() if figure > recorded.get(name, figure) * bound]
    others = [f'{tool} {version}, recorded with {recorded_with[tool]}'
              for tool, version in versions.items() if recorded_with.get(tool, version) != version]
    for text in others:
        print(f'Figures of other tools are not quite comparable: {text}')
    for name in rose:
        print(f'{name}: {recorded[name]:,.0f} -> {figures[name]:,.0f} instructions, '
              f'{figures[name] / recorded[name] - 1:+.1%}')
    if config.record:
        write_recorded(figures, versions)
        print(f'recorded in {os.path.relpath(RECORDED, servers.ROOT)}'
              + ('; the commit says why the above rose' if rose else ''))
        return 0
    missing = [name for name in figures if name not in recorded]
    if missing:
        print(f'not recorded: {", ".join(missing)}')
    gone = [name for name in recorded if name not in figures and not config.only]
    if gone:
        print(f'recorded, but no case any more: {", ".join(gone)}')
    if rose:
        print(f'{len(rose)} of {len(figures)} cases cost more than {TOLERANCE:.0%} above what is '
              'recorded. Where: callgrind_annotate build/measure/cost/...')
    return 1 if rose or missing or gone else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except MeasureError as error:
        sys.exit(f'not measured: {error}')
    except KeyboardInterrupt:
        sys.exit(130)
