# SPDX-License-Identifier: BSD-3-Clause
"""The part "bus": what the bus costs a node of a large cluster, beside a stock server's.

The other nodes are played by bus_peers.c, over real sockets and at the rate of real nodes. CPU time
is that of an idle node, all of its threads: ours and the baseline stand side by side, each among
peers of its own, and each round is the same stretch of time for both. Latency is that of GETs on an
open loop, ours and the baseline in turn: while the peers gossip, and while some of them send PINGs
as fast as they can.
"""
import json
import os
import random
import re
import socket
import subprocess
import time

from bench_report import Row
from servers import (BUS_PORT_OFFSET, CLUSTER, CLUSTER_SLOTS, LOAD_CORE, ROOT, SERVER_CORE,
                     MeasureError, Server, Wire, end_process, scratch_folder, slot_of,
                     start_process)

PEERS_PROGRAM = os.path.join(ROOT, 'build', 'release', 'measure', 'bus_peers')
BENCHMARK = os.path.join(ROOT, 'build', 'release', 'bin', 'redis-benchmark')
NODES = (100, 500)
TIMEOUT_MS = 15000
OPTIONS = (*CLUSTER, '--cluster-node-timeout', TIMEOUT_MS)
# A node pings all others when it starts, and again those of whom it has not heard by gossip.
WARM_UP_S, WARM_UP_S_QUICK = 20, 12
WINDOW_S, WINDOW_S_QUICK = 12, 8
GET_S, GET_S_QUICK = 6, 4
RATE, CONNECTIONS, KEYS, VALUE_BYTES = 5000, 50, 10_000, 32
FLOODING = (1, 64)
FLOOD_SETTLE_S = 1
ALIVE_S = 2
# What redis-benchmark calls the percentile that is nearest to 99.9.
PERCENTILE = '99.902'
CONNECT_PATIENCE_S = 60


def free_node_port():
    """A port that is free with its bus's. Both are below those that the system hands out, which the
    peers listen on before the node does."""
    while True:
        port = random.randrange(10_000, 22_000)
        try:
            for one in (port, port + BUS_PORT_OFFSET):
                with socket.socket() as s:
                    s.bind(('127.0.0.1', one))
            return port
        except OSError:
            continue


class Member:
    """A server that is a node of a cluster, of which bus_peers.c plays the others; without others
    it owns all slots."""

    def __init__(self, name, binary, nodes):
        self.peers, options = None, OPTIONS
        port = free_node_port()
        if nodes > 1:
            conf = os.path.join(scratch_folder(), 'nodes.conf')
            self.peers = start_process(
                [PEERS_PROGRAM, '--peers', str(nodes - 1), '--port', str(port), '--conf', conf,
                 '--timeout-ms', str(TIMEOUT_MS)], core=LOAD_CORE, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True)
            if self.peers.stdout.readline() != 'ready\n':
                raise MeasureError('bus_peers does not start')
            options = (*OPTIONS, '--cluster-config-file', conf)
        self.server = Server(name, binary, options, port=port)
        if nodes == 1:
            self.server.own_all_slots()
        self.server.pin(SERVER_CORE)
        self.nodes = nodes
        # A tag of this node's slots, which are the first ones.
        self.tag = next(i for i in range(CLUSTER_SLOTS)
                        if slot_of(b'%d' % i) < CLUSTER_SLOTS // ((nodes + 1) // 2))

    def order(self, text):
        self.peers.stdin.write(text + '\n')
        self.peers.stdin.flush()
        return json.loads(self.peers.stdout.readline())

    def is_linked(self):
        counts = self.order('counts')
        return counts['connected'] == counts['accepted'] == self.nodes - 1

    def await_links(self):
        """Until all links stand and the node serves its slots."""
        end = time.monotonic() + CONNECT_PATIENCE_S
        while not (self.is_linked() and
                   'cluster_state:ok' in self.server.wire.command('CLUSTER', 'INFO')):
            if time.monotonic() > end:
                raise MeasureError(f'{self.server.name} has not linked to all nodes')
            time.sleep(0.2)

    def cpu(self):
        """CPU nanoseconds of all threads so far."""
        total = 0
        for task in os.listdir(f'/proc/{self.server.pid}/task'):
            with open(f'/proc/{self.server.pid}/task/{task}/schedstat') as file:
                total += int(file.read().split()[0])
        return total

    def stop(self):
        self.server.stop()
        if self.peers:
            end_process(self.peers)


def members(config, nodes):
    return [Member('ours', config.ours, nodes), Member('baseline', config.baseline, nodes)]


# ---- CPU of an idle node ----

def idle_rows(config, progress, nodes):
    progress.next()
    pair = members(config, nodes)
    for member in pair:
        if member.peers:
            member.await_links()
    time.sleep(WARM_UP_S_QUICK if config.quick else WARM_UP_S)
    spent, messages = ([], []), ([], [])
    for _ in range(config.rounds):
        for member in pair:
            if member.peers:
                member.order('counts')
        begin, before = time.monotonic(), [member.cpu() for member in pair]
        time.sleep(WINDOW_S_QUICK if config.quick else WINDOW_S)
        after, seconds = [member.cpu() for member in pair], time.monotonic() - begin
        for i, member in enumerate(pair):
            spent[i].append((after[i] - before[i]) / 1e6 / seconds)
            if member.peers:
                counts = member.order('counts')
                messages[i].append(sum(counts[name] for name in (
                    'pings_sent', 'pongs_sent', 'pings_received', 'pongs_received')) / seconds)
    for member in pair:
        member.stop()
    label = 'idle, alone' if nodes == 1 else f'idle, one of {nodes} nodes'
    rows = [Row(label, 'CPU ms a second', *spent, '{:.2f}', ('ratio', '<=', 1))]
    if nodes > 1:
        rows.append(Row('', 'messages a second, both ways', *messages, '{:.0f}'))
    return rows


# ---- GETs ----

def benchmark(port, *words):
    done = subprocess.run(['taskset', '-c', str(LOAD_CORE), BENCHMARK, '-p', str(port), '-c',
                           str(CONNECTIONS), '-r', str(KEYS), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    if done.returncode:
        raise MeasureError(done.stdout.strip().splitlines()[-1])
    return done.stdout


def get_latency(config, member):
    """(p50, p99.9) in milliseconds."""
    text = benchmark(member.server.port, '--rate', str(RATE), '--duration',
                     str(GET_S_QUICK if config.quick else GET_S), 'GET',
                     f'{{{member.tag}}}:__rand_int__')
    shares = dict(re.findall(r'([\d.]+)% <= ([\d.]+)', text))
    if PERCENTILE not in shares:
        raise MeasureError(f'redis-benchmark printed no {PERCENTILE} %')
    return float(shares['50.000']), float(shares[PERCENTILE])


def is_alive(member):
    """Whether the server answers somebody in time."""
    try:
        wire = Wire(member.server.port, timeout=ALIVE_S)
        wire.command('PING')
        wire.close()
        return True
    except (OSError, MeasureError):
        return False


def get_rows(label, samples, limit, remark=''):
    return [Row(label, 'GET p50, ms', *([p50 for p50, _ in one] for one in samples), '{:.2f}'),
            Row('', 'GET p99.9, ms', *([p999 for _, p999 in one] for one in samples), '{:.2f}',
                limit, remark)]


def latency_rows(config, progress):
    progress.next()
    pair = members(config, NODES[-1])
    for member in pair:
        member.await_links()
        benchmark(member.server.port, '-n', str(10 * KEYS), 'SET',
                  f'{{{member.tag}}}:__rand_int__', 'x' * VALUE_BYTES)
    samples = ([], [])
    for _ in range(config.rounds):
        progress.next()
        for one, member in zip(samples, pair):
            one.append(get_latency(config, member))
    rows = get_rows(f'{RATE:,} GET/s, {NODES[-1]} nodes gossip', samples, ('ratio', '<=', 1))
    return rows + [row for count in FLOODING
                   for row in flood_rows(config, progress, pair, count)] + stop_all(pair)


def stop_all(pair):
    for member in pair:
        member.stop()
    return []


def flooded_latency(config, member, count):
    """What get_latency measures while so many of the peers flood the node. A reason, as text, where
    it answers nobody."""
    member.order(f'flood {count}')
    time.sleep(FLOOD_SETTLE_S)
    try:
        if not is_alive(member):
            return f'{member.server.name} answers no PING within {ALIVE_S} s'
        return get_latency(config, member)
    except (MeasureError, subprocess.TimeoutExpired) as error:
        return f'{member.server.name}: {error}'
    finally:
        member.order('flood 0')
        time.sleep(FLOOD_SETTLE_S)


def flood_rows(config, progress, pair, count):
    """The baseline is not asked again when it has answered nobody."""
    samples, remark = ([], []), ''
    for _ in range(config.rounds):
        progress.next()
        for one, member in zip(samples, pair):
            if member.server.name in remark:
                continue
            found = flooded_latency(config, member, count)
            if isinstance(found, str):
                remark = found
                one.clear()
            else:
                one.append(found)
    who = 'one of them floods' if count == 1 else f'{count} of them flood'
    return get_rows(f'the same, {who}', samples, None, remark)


# ---- the part ----

def plan(config):
    window = WINDOW_S_QUICK if config.quick else WINDOW_S
    warm_up = WARM_UP_S_QUICK if config.quick else WARM_UP_S
    get = (GET_S_QUICK if config.quick else GET_S) + 1
    idle = [(f'bus: an idle node among {nodes}', 5 + warm_up + config.rounds * window)
            for nodes in (1, *NODES)]
    return idle + [('bus: filling', 8)] + [
        (f'bus: GETs, round {i + 1} of {config.rounds}', 2 * get) for i in range(config.rounds)] + [
        (f'bus: GETs while {count} of {NODES[-1]} flood, round {i + 1} of {config.rounds}', get)
        for count in FLOODING for i in range(config.rounds)]


def measure(config, progress):
    rows = [row for nodes in (1, *NODES) for row in idle_rows(config, progress, nodes)]
    return rows + latency_rows(config, progress)


def notes(config):
    return [f'The other nodes are played by tests/measure/bus_peers.c, half of them primaries with '
            f'a replica each; cluster-node-timeout {TIMEOUT_MS} ms, no nodes fail.',
            f'CPU time is that of all threads, from schedstat, over the same '
            f'{WINDOW_S_QUICK if config.quick else WINDOW_S} s for both; {config.rounds} rounds.',
            f'GETs: redis-benchmark\'s open loop, {CONNECTIONS} connections, '
            f'{GET_S_QUICK if config.quick else GET_S} s a round, ours and the baseline in turn; '
            f'p99.9 is its {PERCENTILE} %. A node that floods sends PINGs as fast as its link '
            'takes them, and reads the answers.']
