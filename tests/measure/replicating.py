# SPDX-License-Identifier: BSD-3-Clause
"""The part "replication": what replicas cost a primary, beside a stock server that has as many.

Memory: three replicas, servers of the same program, are stopped and fall behind by what is written;
so much more memory the primary uses. CPU time: three replicas keep up with a load of SETs. These
are no servers but readers (run this file as a program), which take what comes and acknowledge each
second, so that what is measured is the primary's alone, and all primaries have the same ones: the
baseline, ours, and ours with an I/O thread.
"""
import os
import socket
import sys
import time

if __name__ == '__main__':
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_report import Row  # noqa: E402
from servers import (LOAD_CORE, SERVER_CORE, SPARE_CORES, MeasureError, Server,  # noqa: E402
                     encode, end_process, run_load, start_process)

REPLICAS = 3
BEHIND_BYTES, BEHIND_BYTES_QUICK = 100_000_000, 20_000_000
LARGE_BYTES = 1000
KEYS = 1_000_000
VALUE_BYTES = 32
CONNECTIONS = 50
PATIENCE_S = 60
SETTLE_S = 0.01  # until the server sleeps after its last reply: see Server.cpu
ACKNOWLEDGE_S = 1
READ_BYTES = 1 << 20
OPTIONS = ('--repl-diskless-sync', 'no', '--repl-timeout', 3600, '--repl-backlog-size', '1mb',
           '--client-output-buffer-limit', 'replica', 0, 0, 0)
THREADS = 2
CPU_CASES = [(pipeline, keyspace) for keyspace in ('hot', 'random') for pipeline in (1, 16)]


def await_online(server, count):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        info = server.wire.info('replication')
        if sum('state=online' in info.get(f'slave{i}', '') for i in range(count)) == count:
            return
        time.sleep(0.05)
    raise MeasureError(f'{server.name} has not {count} replicas: {server.last_words()}')


def offset(server):
    return int(server.wire.info('replication')['master_repl_offset'])


# ---- memory ----

def replication_memory(server):
    info = server.wire.info('memory')
    return int(info['mem_clients_slaves']) + int(info['mem_replication_backlog'])


def behind_bytes(config):
    return BEHIND_BYTES_QUICK if config.quick else BEHIND_BYTES


def measure_memory(config, name, binary):
    """(bytes of used_memory more, bytes that INFO calls replicas' and the backlog's) when all are
    stopped and so far behind. One key is overwritten all the time, so the data stays as it is."""
    primary = Server(name, binary, OPTIONS)
    request = encode(['SET', 'key', b'v' * LARGE_BYTES])
    primary.wire.many([request], 1)
    before = primary.steady_memory()
    replicas = [Server('replica', binary, [*OPTIONS, '--replicaof', '127.0.0.1', primary.port])
                for _ in range(REPLICAS)]
    await_online(primary, REPLICAS)
    for replica in replicas:
        replica.pause()
    place = offset(primary)
    while offset(primary) - place < behind_bytes(config):
        primary.wire.many([request] * 1000, 1000)
    found = primary.steady_memory() - before, replication_memory(primary)
    for server in (*replicas, primary):
        server.resume()
        server.stop()
    return found


def memory_rows(config):
    samples = {'ours': [], 'baseline': []}
    for _ in range(min(config.rounds, 3)):
        for name in samples:
            samples[name].append(measure_memory(config, name, getattr(config, name)))
    columns = [[[sample[i] / 1e6 for sample in samples[name]] for name in ('ours', 'baseline')]
               for i in (0, 1)]
    label = f'{REPLICAS} replicas stopped, {behind_bytes(config) // 1_000_000} MB behind'
    return [Row(label, 'used_memory more, MB', *columns[0], '{:,.1f}', ('ratio', '<=', 0.4)),
            Row('', 'replicas and backlog as INFO says, MB', *columns[1], '{:,.1f}')]


# ---- CPU ----

class Followed:
    """A primary with replicas that keep up, stopped while nobody asks it."""

    def __init__(self, name, binary, config, *options):
        self.server = Server(name, binary, (*OPTIONS, *options))
        run_load(self.server, command='fill', pipeline=100, keys=keys(config),
                 value_bytes=VALUE_BYTES)
        self.server.settle()
        self.readers = [start_process([sys.executable, os.path.abspath(__file__),
                                       str(self.server.port)], SPARE_CORES[i % len(SPARE_CORES)])
                        for i in range(REPLICAS)]
        await_online(self.server, REPLICAS)
        self.server.pin(SERVER_CORE)
        self.server.pause()

    def sample(self, config, pipeline, keyspace):
        self.server.resume()
        before, all_before = self.server.cpu()[0], self.all_threads()
        result = run_load(self.server, LOAD_CORE, command='set', pipeline=pipeline,
                          keyspace=keyspace, keys=keys(config), value_bytes=VALUE_BYTES,
                          connections=CONNECTIONS, seconds=run_seconds(config, pipeline),
                          seed=time.monotonic_ns())
        behind = replication_memory(self.server)
        time.sleep(SETTLE_S)
        used, all_used = self.server.cpu()[0] - before, self.all_threads() - all_before
        await_online(self.server, REPLICAS)
        self.server.pause()
        return {'cpu': used / result['requests'], 'all': all_used / result['requests'],
                'rps': result['rps'], 'behind': behind / 1e6}

    def all_threads(self):
        """Nanoseconds of CPU; idle, as for Server.cpu()."""
        folder, total = f'/proc/{self.server.pid}/task', 0
        for task in os.listdir(folder):
            with open(f'{folder}/{task}/schedstat') as file:
                total += int(file.read().split()[0])
        return total

    def stop(self):
        self.server.resume()
        for reader in self.readers:
            end_process(reader)
        self.server.stop()


def keys(config):
    return min(config.keys, KEYS)


def run_seconds(config, pipeline):
    return config.seconds * (config.unpipelined_factor if pipeline == 1 else 1)


def cpu_rows(config, samples):
    rows = []
    for case in CPU_CASES:
        pipeline, keyspace = case
        where = 'one hot key' if keyspace == 'hot' else f'{keys(config):,} random keys'
        label = f'SET P{pipeline}, {REPLICAS} replicas keep up, {where}'
        for figure, text, form, limit in (
                ('cpu', 'CPU ns a command', '{:,.0f}', ('ratio', '<=', 0.6)),
                ('rps', 'requests/s', '{:,.0f}', None),
                ('behind', 'replicas and backlog at the end, MB', '{:,.1f}', None)):
            rows.append(Row(label, text, samples[case, 'ours', figure],
                            samples[case, 'baseline', figure], form, limit))
            label = ''
        for figure, text, limit in (('cpu', 'main thread', ('ratio', '<=', 0.6)),
                                    ('all', 'all threads', None)):
            rows.append(Row('', f'io-threads {THREADS}: {text}, CPU ns a command',
                            samples[case, 'threads', figure], samples[case, 'baseline', figure],
                            '{:,.0f}', limit))
    return rows


# ---- the part ----

def plan(config):
    memory = 2 * (4 + behind_bytes(config) / 30e6)
    one_round = sum(3 * (run_seconds(config, pipeline) + 0.3) for pipeline, _ in CPU_CASES)
    return [('replication: memory', min(config.rounds, 3) * memory),
            ('replication: filling', 3 * (keys(config) / 200e3 + 1))] + [
        (f'replication: round {i + 1} of {config.rounds}', one_round)
        for i in range(config.rounds)]


def measure(config, progress):
    progress.next()
    rows, samples = memory_rows(config), {}
    progress.next()
    primaries = [Followed(name, getattr(config, name), config) for name in ('ours', 'baseline')]
    primaries.append(Followed('threads', config.ours, config, '--io-threads', THREADS))
    for number in range(config.rounds):
        progress.next()
        for case in CPU_CASES:
            for followed in primaries if number % 2 else reversed(primaries):
                for figure, value in followed.sample(config, *case).items():
                    samples.setdefault((case, followed.server.name, figure), []).append(value)
    for followed in primaries:
        followed.stop()
    return rows + cpu_rows(config, samples)


def notes(config):
    return [f'Memory: {REPLICAS} servers of the same program as replicas, all stopped while one '
            f'key of {LARGE_BYTES:,} bytes is overwritten; no limit of output, a backlog of 1 MB. '
            'What sockets hold is no memory of the server\'s.',
            f'CPU: {REPLICAS} readers that take all and acknowledge each second, on other cores; '
            f'{config.rounds} rounds, the servers in turn, runs of {run_seconds(config, 16):g} s '
            f'(pipeline 16) and {run_seconds(config, 1):g} s (pipeline 1); the main thread\'s '
            'time, from schedstat, but where all threads\' is said. Ratios are taken round by '
            'round: median [min..max].']


# ---- a replica that reads ----

def read_line(file):
    """The next line that says something: new lines between only keep the connection alive."""
    while True:
        line = file.readline()
        if not line:
            sys.exit('the primary closed the connection')
        if line.strip():
            return line


def follow(port):
    """Copies, and then reads the stream until it ends."""
    link = socket.create_connection(('127.0.0.1', port))
    file = link.makefile('rb', buffering=0)
    link.sendall(encode(['PSYNC', '?', '-1']))
    place = int(read_line(file).split()[2])
    left = int(read_line(file)[1:])
    buffer = bytearray(READ_BYTES)
    while left:
        got = link.recv_into(buffer, min(left, READ_BYTES))
        if not got:
            return
        left -= got
    link.settimeout(ACKNOWLEDGE_S)
    due = 0
    while True:
        if time.monotonic() >= due:
            link.sendall(encode(['REPLCONF', 'ACK', place]))
            due = time.monotonic() + ACKNOWLEDGE_S
        try:
            got = link.recv_into(buffer)
        except TimeoutError:
            continue
        if not got:
            return
        place += got


if __name__ == '__main__':
    follow(int(sys.argv[1]))
