#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long clients of a cluster cannot write when a primary fails, and which of their writes are
lost: three primaries with a replica each, ours or stock's, and one primary that is

  killed   SIGKILL
  stopped  SIGSTOP, and continued when its replica has its place
  cut off  no packet passes between it and the rest, until its replica has its place

usage: cluster_failover.py --baseline PATH [--ours PATH] [--rounds N] [--timeout MS,...]
                           [--cases killed,stopped,cut]

Two clients write to the primary's slots. One follows redirections, as clients' libraries do, gives
an answer ANSWER_SECONDS, and asks another node then; it stands with the rest when the primary is
cut off. What it sees is the time without writes: the longest between two writes that succeeded. The
other one stays with that primary, keeps its connection, and sends a write each PACE_SECONDS without
waiting for answers. A write of either is lost if it was answered with OK and its key is not
there in the end, when the primary has become a replica of its successor or is dead.

Ours and the baseline run in turn, each round with new processes, on addresses of namespaces of
their own (unshare; root, or a kernel that lets users make them). A round takes some three timeouts
and ten seconds. Printed are medians with the least and the greatest ratio; then each round's
figures. Exit status: 0 measured, whatever the targets say; 1 a round failed.
"""
import argparse
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(ROOT, 'tests', 'crash'))

import bench_report  # noqa: E402
import namespaces  # noqa: E402
import processes  # noqa: E402
import servers  # noqa: E402

PRIMARIES, NODES = 3, 6
SLOTS, PORT = servers.CLUSTER_SLOTS, 7000
# The address of the client that stays with the primary that is cut off.
PATIENT_HOST = namespaces.host(NODES)
CASES = ('killed', 'stopped', 'cut')
ANSWER_SECONDS = 0.2
RETRY_SECONDS = 0.005
PACE_SECONDS = 0.01
# Before the failure: pings have a phase, which counts.
BEFORE_SECONDS = (1.5, 3.0)
# For so long the successor has its place before the former primary is let back.
KEEP_SECONDS = 1
PATIENCE_SECONDS = 120
LINES = ('save ""', 'cluster-enabled yes', 'repl-diskless-sync yes', 'repl-diskless-sync-delay 0')


def node_id(number):
    return f'{number + 1:040x}'


def is_primary(number):
    return number < PRIMARIES


def nodes_conf(self):
    """Node n + 3 is the replica of node n."""
    lines = []
    for number in range(NODES):
        primary = number % PRIMARIES
        slots = f' {primary * SLOTS // PRIMARIES}-{(primary + 1) * SLOTS // PRIMARIES - 1}'
        flags = 'master' if is_primary(number) else 'slave'
        lines.append(f'{node_id(number)} {namespaces.host(number)}:{PORT}@{PORT + 10000} '
                     f'{"myself," if number == self else ""}{flags} '
                     f'{"-" if is_primary(number) else node_id(primary)} 0 0 {primary + 1} '
                     f'connected{slots if is_primary(number) else ""}')
    return '\n'.join([*lines, f'vars currentEpoch {PRIMARIES} lastVoteEpoch 0', ''])


class Cluster:
    def __init__(self, program, is_ours, timeout_ms, home):
        self.nodes = []
        for number in range(NODES):
            folder = os.path.join(home, str(number))
            os.mkdir(folder)
            with open(os.path.join(folder, 'nodes.conf'), 'w', encoding='ascii') as file:
                file.write(nodes_conf(number))
            node = processes.Node(program, is_ours, (namespaces.host(number), PORT), folder,
                                  os.path.join(folder, 'log'))
            node.before_exec = processes.end_with_parent
            node.write_file(*LINES, f'cluster-node-timeout {timeout_ms}')
            self.nodes.append(node)

    def start(self):
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.await_start()
        await_true(self.is_whole, 'the cluster does not become whole')

    def is_whole(self):
        return all(b'cluster_state:ok' in text_of(node.ask('CLUSTER', 'INFO'))
                   and b'fail' not in text_of(node.ask('CLUSTER', 'NODES'))
                   for node in self.nodes) and all(
            b'master_link_status:up' in text_of(node.ask('INFO', 'replication'))
            for node in self.nodes[PRIMARIES:])

    def end(self):
        for node in self.nodes:
            if node.process and not node.log.closed:
                node.kill()


def text_of(reply):
    return reply if isinstance(reply, bytes) else b''


def await_true(condition, words):
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(words)
        time.sleep(0.05)


# ---- the clients ----

class Connection(processes.Client):
    """From an address, so that it is cut with that one's links."""

    def __init__(self, address, seconds, source=namespaces.WRITER_HOST):
        self.socket = socket.create_connection(address, seconds, source_address=(source, 0))
        self.file = self.socket.makefile('rb')


class Follower(threading.Thread):
    """Writes one key after another, wherever redirections lead; each answer is awaited."""

    def __init__(self, cluster, tag):
        super().__init__(daemon=True)
        self.addresses = [node.address for node in cluster.nodes]
        self.tag, self.at, self.client = tag, self.addresses[0], None
        self.written = []  # (when, key)
        self.ends = False
        self.start()

    def turn_to(self, address):
        if self.client:
            self.client.close()
        self.client, self.at = None, address

    def turn_elsewhere(self):
        self.turn_to(random.choice([a for a in self.addresses if a != self.at]))

    def write_one(self, key):
        if not self.client:
            self.client = Connection(self.at, ANSWER_SECONDS)
        reply = self.client('SET', key, 'v')
        words = str(reply).split()
        if reply == 'OK':
            self.written.append((time.monotonic(), key))
            return
        if words[0] == 'MOVED':
            host, port = words[2].rsplit(':', 1)
            self.turn_to((host, int(port)))
        else:
            self.turn_elsewhere()
            time.sleep(RETRY_SECONDS)

    def run(self):
        number = 0
        while not self.ends:
            try:
                self.write_one(f'{{{self.tag}}}follower:{number}')
            except OSError:
                self.turn_elsewhere()
                time.sleep(RETRY_SECONDS)
            number += 1
            time.sleep(RETRY_SECONDS)

    def stop(self):
        self.ends = True
        self.join()
        self.turn_to(self.at)

    def silence_ms(self, since):
        """The longest time without a write from then on."""
        times = [when for when, _ in self.written]
        gaps = [after - before for before, after in zip(times, times[1:]) if after > since]
        return max(gaps) * 1000 if gaps else None

    def writes_since(self, when):
        return bool(self.written) and self.written[-1][0] > when


class Patient(threading.Thread):
    """Sends writes at a pace to one node, over one connection, without waiting for answers."""

    def __init__(self, node, tag):
        super().__init__(daemon=True)
        self.tag, self.sent, self.written = tag, [], []
        self.socket = socket.create_connection(node.address, timeout=PATIENCE_SECONDS,
                                               source_address=(PATIENT_HOST, 0))
        self.ends = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.start()
        self.reader.start()

    def run(self):
        number = 0
        while not self.ends:
            key = b'{%s}patient:%d' % (self.tag.encode(), number)
            self.sent.append(key)
            try:
                self.socket.sendall(servers.encode(['SET', key, 'v']))
            except OSError:
                return
            number += 1
            time.sleep(PACE_SECONDS)

    def read(self):
        """Each answer is one line."""
        try:
            with self.socket.makefile('rb') as file:
                for key, line in zip(iter(self.next_key()), file):
                    if line.startswith(b'+OK'):
                        self.written.append((time.monotonic(), key.decode()))
        except OSError:
            pass

    def next_key(self):
        number = 0
        while True:
            while number >= len(self.sent):
                time.sleep(PACE_SECONDS / 10)
                if self.ends:
                    return
            yield self.sent[number]
            number += 1

    def stop(self):
        self.ends = True
        self.join()
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        self.reader.join()


# ---- a round ----

class Failure:
    """What befalls the victim, and its end."""

    def __init__(self, case, cluster, victim, cuts):
        self.case, self.victim, self.cuts = case, victim, cuts
        own = victim.address[0]
        rest = [node.address[0] for node in cluster.nodes if node is not victim]
        self.directions = [pair for other in (*rest, namespaces.WRITER_HOST)
                           for pair in ((own, other), (other, own))]

    def begin(self):
        if self.case == 'killed':
            self.victim.kill()
        elif self.case == 'stopped':
            self.victim.send(signal.SIGSTOP)
        else:
            self.cuts.change(self.directions, 1)

    def end(self):
        if self.case == 'stopped':
            self.victim.send(signal.SIGCONT)
        elif self.case == 'cut':
            self.cuts.change(self.directions, -1)


def lost_of(cluster, successor, writes):
    client = processes.Client(successor.address, PATIENCE_SECONDS)
    missing = [key for _, key in writes if client('EXISTS', key) != 1]
    client.close()
    return len(missing)


def play(program, is_ours, timeout_ms, case, cuts, home):
    """One failure: (milliseconds without writes, writes lost)."""
    cluster = Cluster(program, is_ours, timeout_ms, home)
    clients = []
    try:
        cluster.start()
        number = random.randrange(PRIMARIES)
        victim, successor = cluster.nodes[number], cluster.nodes[number + PRIMARIES]
        tag = next(str(i) for i in range(SLOTS)
                   if servers.slot_of(b'%d' % i) * PRIMARIES // SLOTS == number)
        clients = [Follower(cluster, tag), Patient(victim, tag)]
        time.sleep(random.uniform(*BEFORE_SECONDS))
        failure, begin = Failure(case, cluster, victim, cuts), time.monotonic()
        failure.begin()
        try:
            await_true(lambda: is_promoted(successor) and clients[0].writes_since(begin + 0.1),
                       f'no write within {PATIENCE_SECONDS} s')
            time.sleep(KEEP_SECONDS)
        finally:
            failure.end()
        if case != 'killed':
            await_true(lambda: b'master_link_status:up' in text_of(
                victim.ask('INFO', 'replication')), 'the former primary follows nobody')
        time.sleep(KEEP_SECONDS)
        for client in clients:
            client.stop()
        writes = [write for client in clients for write in client.written]
        return clients[0].silence_ms(begin), lost_of(cluster, successor, writes)
    finally:
        for client in clients:
            client.ends = True
        cluster.end()


def is_promoted(node):
    return b'role:master' in text_of(node.ask('INFO', 'replication'))


# ---- the whole ----

def rows_of(timeout_ms, case, took):
    silent, lost = ([[one[i] for one in took[name]] for name in ('ours', 'baseline')]
                    for i in (0, 1))
    words = {'killed': 'killed', 'stopped': 'stopped, then continued',
             'cut': 'cut off, then linked again'}[case]
    return [bench_report.Row(f'{words}, node timeout {timeout_ms / 1000:g} s',
                             'ms without writes', *silent, '{:,.0f}', ('ratio', '<=', 1)),
            bench_report.Row('', 'writes lost', *lost, '{:,.0f}',
                             ('ours', '<=', 0) if case == 'stopped' else None)]


def measure(config, timeout_ms, case, cuts):
    programs = {'ours': os.path.abspath(config.ours), 'baseline': os.path.abspath(config.baseline)}
    took, status = {name: [] for name in programs}, 0
    for number in range(config.rounds):
        for name, program in programs.items():
            home = tempfile.mkdtemp(prefix='evenkeel-failover-')
            try:
                took[name].append(play(program, name == 'ours', timeout_ms, case, cuts, home))
                print(f'{case}, {timeout_ms} ms, round {number + 1}, {name}: '
                      '{0:,.0f} ms, {1} lost'.format(*took[name][-1]), file=sys.stderr, flush=True)
            except (OSError, TypeError) as error:
                print(f'{case}, {timeout_ms} ms, {name}: {error}', file=sys.stderr, flush=True)
                status = 1
            finally:
                shutil.rmtree(home, ignore_errors=True)
    return rows_of(timeout_ms, case, took), status


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--baseline', required=True)
    parser.add_argument('--ours', default=os.path.join(ROOT, 'build/bin/redis-server'))
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--timeout', default='1000,3000,15000')
    parser.add_argument('--cases', default=','.join(CASES))
    config = parser.parse_args()
    if not set(config.cases.split(',')) <= set(CASES):
        parser.error(f'cases are {", ".join(CASES)}')
    return config


def main():
    config = read_arguments()
    namespaces.enter(NODES + 1)
    cuts, rows, status = namespaces.Cuts(), [], 0
    for timeout_ms in map(int, config.timeout.split(',')):
        for case in config.cases.split(','):
            more, failed = measure(config, timeout_ms, case, cuts)
            rows += more
            status |= failed
    print(f'{bench_report.table(rows)}\n\n{bench_report.verdict_line(rows)}')
    return status


if __name__ == '__main__':
    sys.exit(main())
