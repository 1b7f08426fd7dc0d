# SPDX-License-Identifier: BSD-3-Clause
"""The part "log": what the append only file costs, beside a stock server that has one, too.

Under everysec it is the main thread's CPU time a command: what it takes to log it, and to write it
where the server does that there. Under always it is what a sync is worth: how many commands share
one, how many are answered in a second, and what each costs the main thread. Each server has a disk
of its own whose syncs take a millisecond (disk.py), so that no figure hangs on the machine's.
"""
import time

from bench_report import Row
from disk import Disk
from servers import LOAD_CORE, SERVER_CORE, Server, run_load

SYNC_MSEC = 1
CONNECTIONS = 50
VALUE_BYTES = 32
KEYS = 1_000_000
SETTLE_S = 0.01  # until the server sleeps after its last reply: see Server.cpu
# appendfsync, requests sent at once, keys.
CASES = [(policy, pipeline, keyspace) for policy in ('everysec', 'always')
         for keyspace in ('hot', 'random') for pipeline in (1, 16)]
# appendfsync: figures with their labels and targets at pipeline 16, and at pipeline 1.
FIGURES = {
    'everysec': {'cpu': ('CPU ns a command', ('ratio', '<=', 0.5), None),
                 'rps': ('requests/s', None, None)},
    'always': {'cpu': ('CPU ns a command', ('ratio', '<=', 0.6), None),
               'rps': ('requests/s', ('ratio', '>=', 1), ('ratio', '>=', 1)),
               'shared': ('writes a sync', ('ratio', '>=', 1), ('ratio', '>=', 1))}}


def run_seconds(config, pipeline):
    return config.seconds * (config.unpipelined_factor if pipeline == 1 else 1)


def keys(config):
    return min(config.keys, KEYS)


def plan(config):
    seconds = sum(2 * (run_seconds(config, pipeline) + 0.1) for _, pipeline, _ in CASES)
    fills = 4 * (keys(config) / 200e3 + 0.5)
    return [(f'log: round {i + 1} of {config.rounds}', seconds + fills)
            for i in range(config.rounds)]


class Logged:
    """A server with a log on a disk of its own, stopped while nobody asks it."""

    def __init__(self, name, binary, policy, config):
        self.disk = Disk(SYNC_MSEC)
        options = ['--appendonly', 'yes', '--appendfsync', 'no', '--auto-aof-rewrite-percentage', 0]
        self.server = Server(name, binary, options, self.disk.prefix)
        run_load(self.server, command='fill', pipeline=100, keys=keys(config),
                 value_bytes=VALUE_BYTES)
        self.server.settle()
        self.server.wire.command('CONFIG', 'SET', 'appendfsync', policy)
        self.server.pin(SERVER_CORE)
        self.server.pause()

    def sample(self, config, pipeline, keyspace):
        """Figures of one run, the other server standing still."""
        self.server.resume()
        before, syncs = self.server.cpu()[0], self.disk.syncs()
        result = run_load(self.server, LOAD_CORE, command='set', pipeline=pipeline,
                          keyspace=keyspace, keys=keys(config), value_bytes=VALUE_BYTES,
                          connections=CONNECTIONS, seconds=run_seconds(config, pipeline),
                          seed=time.monotonic_ns())
        time.sleep(SETTLE_S)
        used, syncs = self.server.cpu()[0] - before, self.disk.syncs() - syncs
        self.server.pause()
        return {'cpu': used / result['requests'], 'rps': result['rps'],
                'shared': result['requests'] / max(syncs, 1)}


def measure_round(config, policy, number, samples):
    """Each round has servers of its own, so that no log grows beyond what the system keeps in
    memory."""
    pair = [Logged(name, binary, policy, config)
            for name, binary in (('ours', config.ours), ('baseline', config.baseline))]
    for case in (case for case in CASES if case[0] == policy):
        for logged in pair if number % 2 else reversed(pair):
            figures = logged.sample(config, *case[1:])
            for name in FIGURES[policy]:
                samples.setdefault((case, logged.server.name, name), []).append(figures[name])
    for logged in pair:
        logged.server.stop()


def measure(config, progress):
    samples = {}
    for number in range(config.rounds):
        progress.next()
        for policy in FIGURES:
            measure_round(config, policy, number, samples)
    rows = []
    for case in CASES:
        policy, pipeline, keyspace = case
        where = 'one hot key' if keyspace == 'hot' else f'{keys(config):,} random keys'
        label = f'SET P{pipeline}, {policy}, {where}'
        for name, (figure, *limits) in FIGURES[policy].items():
            rows.append(Row(label, figure, samples[case, 'ours', name],
                            samples[case, 'baseline', name], limit=limits[pipeline == 1]))
            label = ''
    return rows


def notes(config):
    return [f'{config.rounds} rounds, the servers in turn, runs of {run_seconds(config, 16):g} s '
            f'(pipeline 16) and {run_seconds(config, 1):g} s (pipeline 1); ratios are taken round '
            'by round: median [min..max].',
            f'{CONNECTIONS} connections, closed loop, {keys(config):,} keys, values of '
            f'{VALUE_BYTES} bytes. CPU time is the main thread\'s, from schedstat.',
            f'A sync takes {SYNC_MSEC} ms, by a preloaded disk (disk.c), and a write to the file '
            'waits for it; nothing else waits for a disk.']
