#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the load against a server of our own that stalls, closes and counts on purpose.

    tests/measure/check.py    (make lab-check); the last line is "N passed, N failed"

A lab that does not charge a stall to every request that was due in it, or that does not notice when
it is itself late, would make any server look smooth. Bounds are relative to what was asked for,
wide enough for a busy machine.
"""
import argparse
import json
import os
import shutil
import signal
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import disk  # noqa: E402
import report  # noqa: E402
import servers  # noqa: E402
import witness  # noqa: E402

RECORD_BYTES = 16


class Answerer:
    """A server with one thread: PONG to PING, nil to GET, OK to all else. From `stall_at_s` after
    its first request on it does not read for `stall_s`; connection `closes` is closed once."""

    def __init__(self, stall_at_s=None, stall_s=0, closes_after=None):
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.stall_at_s, self.stall_s, self.closes_after = stall_at_s, stall_s, closes_after
        self.requests_by_peer, self.first, self.over = {}, None, False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def answer(self, connection):
        data = connection.recv(65536)
        peer = connection.getpeername()
        count = data.count(b'\r\nGET\r\n') + data.count(b'\r\nSET\r\n')
        self.requests_by_peer[peer] = self.requests_by_peer.get(peer, 0) + count
        replies = b''
        for word in data.split(b'*')[1:]:
            name = word.split(b'\r\n')[2]
            replies += {b'PING': b'+PONG\r\n', b'GET': b'$-1\r\n'}.get(name, b'+OK\r\n')
        if data:
            connection.sendall(replies)
        return bool(data)

    def pause_when_due(self):
        now = time.monotonic()
        self.first = self.first or now
        if self.stall_at_s is not None and now - self.first >= self.stall_at_s:
            self.stall_at_s = None
            time.sleep(self.stall_s)

    def serve(self):
        chooser = selectors.DefaultSelector()
        chooser.register(self.listener, selectors.EVENT_READ)
        while not self.over:
            for key, _ in chooser.select(0.05):
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    chooser.register(connection, selectors.EVENT_READ)
                    continue
                self.pause_when_due()
                total = sum(self.requests_by_peer.values())
                closes = self.closes_after is not None and total >= self.closes_after
                if closes or not self.answer(key.fileobj):
                    self.closes_after = None if closes else self.closes_after
                    chooser.unregister(key.fileobj)
                    key.fileobj.close()

    def stop(self):
        self.over = True
        self.thread.join()
        self.listener.close()


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def that(self, name, condition, told=''):
        if condition:
            self.passed += 1
            print(f'ok   {name}')
        else:
            self.failed += 1
            print(f'FAIL {name}: {told}')


def records(folder):
    with open(os.path.join(folder, 'latencies.bin'), 'rb') as file:
        data = file.read()
    assert len(data) % RECORD_BYTES == 0
    return list(struct.iter_unpack('<IIIBBBB', data))


def run_load(server, stop_for_s=0, **options):
    """Returns (result, records). stop_for_s: the load itself is stopped in the middle."""
    folder = tempfile.mkdtemp(prefix='evenkeel-lab-check-')
    try:
        command = servers.load_command('record', server.port, {'out': folder, **options})
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if stop_for_s:
            time.sleep(1)
            process.send_signal(signal.SIGSTOP)
            time.sleep(stop_for_s)
            process.send_signal(signal.SIGCONT)
        output, _ = process.communicate(timeout=60)
        return json.loads(output), records(folder)
    finally:
        shutil.rmtree(folder)


def check_schedule(checks):
    server = Answerer()
    result, found = run_load(server, connections=10, rate=1000, arrivals='constant', seconds=1)
    server.stop()
    dues = sorted(record[0] for record in found)
    gaps = {b - a for a, b in zip(dues, dues[1:])}
    checks.that('constant arrivals: as many as asked for', 999 <= len(dues) <= 1000, len(dues))
    checks.that('constant arrivals: due each millisecond', gaps <= {999, 1000, 1001}, gaps)
    checks.that('each request has one record', result['requests'] == len(found))
    checks.that('GETs of nothing are misses', result['results']['miss'] == len(found))


def check_stall(checks):
    """300 requests are due in a stall of 300 ms, and their waits fall evenly from it to nothing."""
    server = Answerer(stall_at_s=0.5, stall_s=0.3)
    _, found = run_load(server, connections=4, rate=1000, arrivals='constant', seconds=1.5)
    server.stop()
    waits = [record[1] / 1e3 for record in found]
    above = {bound: sum(wait > bound for wait in waits) for bound in (50, 150, 250)}
    checks.that('a stall is charged to all that were due in it', above[50] >= 245, above)
    checks.that('and to each its part', above[150] >= 145 and above[250] >= 45, above)
    checks.that('the longest wait is the stall', max(waits) >= 295, max(waits))


def check_own_lateness(checks):
    server = Answerer()
    result, _ = run_load(server, stop_for_s=0.3, connections=10, rate=1000, seconds=2)
    server.stop()
    late = result['late']
    checks.that('the load notices that it stood still', late['own_most_usec'] > 200000, late)
    checks.that('and asks to be repeated', late['repeat'] is True, late)


def check_late_end(checks):
    server = Answerer()
    result, _ = run_load(server, stop_for_s=0.3, connections=10, rate=1000, arrivals='constant',
                         seconds=1.1)
    server.stop()
    checks.that('what was due when the load stood still at the end has its record',
                result['requests'] >= 1098, result['requests'])


def check_pool(checks):
    used = {}
    for pick in ('lifo', 'random'):
        server = Answerer()
        run_load(server, connections=50, rate=200, seconds=1, pick=pick)
        server.stop()
        counts = sorted(server.requests_by_peer.values(), reverse=True)
        used[pick] = counts[0] / max(sum(counts), 1)
    checks.that('a LIFO pool uses the same connection', used['lifo'] > 0.3, used)
    checks.that('a random one does not', used['random'] < 0.15, used)


def check_lost_connection(checks):
    server = Answerer(closes_after=200)
    result, _ = run_load(server, connections=5, rate=500, seconds=1)
    server.stop()
    checks.that('a lost connection is counted and made anew', result['lost_connections'] == 1
                and result['results']['miss'] >= 400, result)


def check_probe_and_herd(checks):
    server = Answerer()
    _, found = run_load(server, connections=2, rate=100, seconds=1, probe_ms=1,
                        herd_connections=100, herd_at_s=0.4, herd_spread_ms=50)
    server.stop()
    herd = [record[0] for record in found if record[5] == 1]
    probes = [record[0] for record in found if record[5] == 2]
    checks.that('a herd sends once on each connection, at its moment',
                len(herd) == 100 and min(herd) >= 400000 and max(herd) < 450000, herd[:5])
    checks.that('a PING is due each millisecond', 995 <= len(probes) <= 1001, len(probes))


def check_trace(checks):
    """What a trace's GETs do not find is written, with the size and to the key of its row."""
    server = Answerer()
    with tempfile.NamedTemporaryFile('w', suffix='.trace') as trace:
        for i in range(50):
            trace.write(f'{i * 0.01:.2f} get key-{i} 100 60\n')
        trace.flush()
        result, found = run_load(server, connections=2, seconds=5, trace=trace.name, trace_speed=1,
                                 fill_misses='yes')
    server.stop()
    fills = [record for record in found if record[5] == 3]
    checks.that('a trace is replayed to its end', result['requests'] == 100, result['requests'])
    checks.that('misses are filled', len(fills) == 50 and all(f[4] == 0 for f in fills))
    dues = [record[0] for record in found if record[5] == 0]
    checks.that("at the trace's own times", 485000 <= max(dues) - min(dues) <= 495000, max(dues))


def count(server, **options):
    command = servers.load_command('count', server.port, options)
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def check_count(checks):
    """The loop that counts sends as many as asked for, whatever the pipeline's last part."""
    server = Answerer()
    gets = count(server, connections=3, pipeline=16, requests=1000)
    fill = count(server, connections=3, pipeline=7, command='fill', keys=500,
                 value_bytes='uniform:1:200', ttl=100)
    again = count(server, connections=1, command='fill', keys=500, value_bytes='uniform:1:200')
    timed = count(server, connections=2, seconds=0.3)
    server.stop()
    sent = sum(server.requests_by_peer.values())
    checks.that('the counting loop sends so many requests', gets['requests'] == 1000, gets)
    checks.that('and sees that each was a miss', gets['misses'] == 1000, gets)
    checks.that('a fill is a SET a key', fill['requests'] == 500 and not fill['misses'], fill)
    checks.that('and the same values each time', fill['value_bytes'] == again['value_bytes'] > 500,
                (fill, again))
    checks.that('seconds end it too', timed['requests'] > 10 and timed['seconds'] >= 0.3, timed)
    checks.that('what it counts is what came', sent == 2000 + timed['requests'], sent)


def check_arguments(checks):
    for words in (['record', '--rate', '5:1'], ['record', '--nothing', '1'],
                  ['record', '--mix', 'get=x'], ['record', '--rate', '5'],
                  ['record', '--value-bytes', '0', '--rate', '1', '--seconds', '1'],
                  ['record', '--command', 'get'], ['count', '--rate', '5'], ['count'],
                  ['count', '--command', 'incr'], ['--port', '1'], []):
        done = subprocess.run([servers.LOAD, *words], stderr=subprocess.PIPE, text=True)
        checks.that(f'refused: {" ".join(words)}', done.returncode == 2 and done.stderr)


def made_up_run(folder):
    """A run of 2 s at 1,000 requests/s with a stall from 0.5 to 0.805 s; 1,000 keys fall due at 1 s
    and the server gives them up evenly within a second. A turn of 13 ms is one that the machine
    stopped in, one of 2.5 is not."""
    with open(os.path.join(folder, 'latencies.bin'), 'wb') as file:
        for due in range(0, 2_000_000, 1000):
            latency = 805_000 - due if 500_000 <= due < 805_000 else 1000
            file.write(struct.pack('<IIIBBBB', due, latency, 0, 0, due % 2000 == 0, 0, 0))
    with open(os.path.join(folder, 'info.csv'), 'w') as file:
        file.write('at_usec,now_msec,sets_new,deleted,deadlines_passed,used_memory,keys,'
                   'eventloop_turn_cpu_usec_max,eventloop_turn_cpu_usec_histogram\n')
        for msec in range(0, 2000, 100):
            held = 5000 if msec < 1000 else 5000 - (msec - 1000)
            longest, turns = (800, f'512={msec}') if msec < 500 else (13000, f'512={msec};8192=1')
            turns += ';2048=1' if msec >= 900 else ''
            file.write(f'{msec * 1000},{10_000_000 + msec},0,0,0,{held * 100},{held},'
                       f'{longest},{turns}\n')
    with open(os.path.join(folder, 'deadlines.csv'), 'w') as file:
        file.write('deadline_msec,keys\n10000990,1000\n')
    load = {'seconds': 2, 'info-ms': 100}
    late = {'own_share': 0, 'above_5ms': 0, 'handled': 2000}
    phase = {'folder': folder, 'started_monotonic_nsec': 0, 'name': 'made-up', 'load': load,
             'seconds': 2.0, 'warm-up-s': 0, 'events': [], 'server_cpu_s': 1.0,
             'server_wait_s': 0.2, 'slowlog': [], 'explained': [], 'keys_after': 4000,
             'used_memory_after': 400000, 'due_msec': 10_000_000, 'started_msec': 10_000_000,
             'late': late, 'disk': [0, 0], 'stops': [(0.463, 0.013)]}
    fill = {'folder': folder, 'sets_new': 5000, 'keys_after': 5000, 'used_memory_after': 500000,
            'load': {'due-spread-ms': 1000}}
    return {'phases': [phase], 'fills': [fill], 'maxmemory': 0}


def check_figures(checks):
    """Figures of a run whose every figure is known beforehand."""
    try:
        import figures
    except ImportError:
        print('skip figures: numpy is not installed (make lab does it)')
        return
    with tempfile.TemporaryDirectory(prefix='evenkeel-lab-check-') as folder:
        data = figures.Data(made_up_run(folder))
        columns = figures.timeline(data)
        found = figures.figures(data, columns)
    for name, low, high in (('longest gap without replies, ms', 304, 306), ('p50, ms', 1, 1),
                            ('max, ms', 305, 305), ('p99, ms', 275, 295), ('hit ratio, %', 50, 50),
                            ('requests', 2000, 2000), ('dead keys held at most', 1000, 1000),
                            ('dead keys held at the end', 100, 100),
                            ('largest step of used memory in 100 ms, MB', 0.01, 0.01),
                            ('longest turn, CPU ms', 13, 13),
                            ('longest turn while its core ran, CPU ms', 4.096, 4.096),
                            ('core stood still, ms at most', 13, 13),
                            ('server CPU, % of a core', 50, 50),
                            ('server waited for its core, %', 10, 10)):
        checks.that(f'figure: {name}', low <= found[name] <= high, found[name])
    checks.that('timeline: nothing came in the stall', columns['replies_per_s'][6] == 0)
    checks.that('timeline: all of it came after', columns['replies_per_s'][8] >= 3500,
                list(columns['replies_per_s']))


def refused(**given):
    """What demand_clean says before it ends the program; None where it does not."""
    config = argparse.Namespace(**{'markdown': 'docs/figures', 'dirty': False, **given})
    try:
        report.demand_clean(config)
    except SystemExit as end:
        return str(end)
    return None


def check_clean_tree(checks):
    """Figures are written of a commit, or marked."""
    root, servers.ROOT = servers.ROOT, tempfile.mkdtemp(prefix='evenkeel-lab-check-')
    git = ['git', '-C', servers.ROOT, '-c', 'user.name=x', '-c', 'user.email=x@example.com']
    try:
        for words in (['init', '-q'], ['commit', '-q', '--allow-empty', '-m', 'first']):
            subprocess.run([*git, *words], check=True)
        checks.that('a clean tree gives figures', refused() is None)
        checks.that('and its revision has no mark', 'dirty' not in report.revision())
        os.makedirs(os.path.join(servers.ROOT, 'docs', 'figures'))
        report.write_section(os.path.join(servers.ROOT, 'docs', 'figures'), 'cpu', 'figures\n')
        checks.that('figures themselves are no change', refused() is None)
        open(os.path.join(servers.ROOT, 'odd.c'), 'w').close()
        checks.that('a changed tree is refused by name', 'odd.c' in (refused() or ''))
        checks.that('nothing is refused that is not kept', refused(markdown=None) is None)
        checks.that('--dirty keeps them, marked', refused(dirty=True) is None
                    and report.revision().endswith('-dirty'), report.revision())
    finally:
        shutil.rmtree(servers.ROOT)
        servers.ROOT = root


# Under a disk whose syncs last: the words that it prints are what it found.
ON_DISK = """
import os, struct, sys, threading
def syncs():
    with open(os.environ['EVENKEEL_DISK'], 'rb') as file:
        return struct.unpack('=QQ', file.read(16))[1]
log, other = (os.open(name, os.O_WRONLY | os.O_CREAT) for name in sys.argv[1:])
ended = []
thread = threading.Thread(target=lambda: (os.fsync(log), ended.append(1)))
thread.start()
while not syncs():
    pass
os.write(other, b'x')
found = ['alone' if not ended else 'late']
os.writev(log, [b'x', b'y'])
thread.join()
os.fdatasync(other)
os.write(log, b'z')
print(*found, os.fstat(log).st_size)
"""


def check_disk(checks):
    slow = disk.Disk(sync_msec=1000)
    folder = tempfile.mkdtemp(prefix='evenkeel-lab-check-')
    try:
        names = [os.path.join(folder, name) for name in ('log', 'other')]
        begun = time.monotonic()
        done = subprocess.run([*slow.prefix, sys.executable, '-c', ON_DISK, *names],
                              stdout=subprocess.PIPE, text=True)
        took = time.monotonic() - begun
    finally:
        shutil.rmtree(folder)
    checks.that('a write to another file waits for no sync', done.stdout.split() ==
                ['alone', '3'], done.stdout)
    checks.that('a write to the synced one does', slow.waits() == 1, slow.waits())
    checks.that('syncs are counted', slow.syncs() == 2, slow.syncs())
    checks.that('and take their time', took >= 2, took)


def check_witness(checks):
    """One that is stopped itself sees what a stopped machine shows."""
    watching = witness.Witness(servers.SERVER_CORE)
    time.sleep(1)
    begun = time.monotonic()
    watching.process.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    watching.process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    found = [(end, length) for end, length in watching.stops() if length > 0.2]
    checks.that('a witness that stood still tells it', bool(found), found)
    checks.that('and when', all(begun < end < begun + 10 for end, _ in found), found)
    calm = [(900.0, '512=9'), (900.0, '512=20'), (1500.0, '512=30;1024=1')]
    at = [0.0, 0.1, 0.2]
    checks.that('the longest turn is exact where nothing stopped',
                witness.longest_turn_apart(calm, at, []) == 1.5)
    checks.that('a stop takes the sample behind it along',
                witness.longest_turn_apart(calm, at, [(0.095, 0.005)]) is None)


def main():
    servers.build_load()
    checks = Checks()
    for check in (check_schedule, check_stall, check_own_lateness, check_late_end, check_pool,
                  check_lost_connection, check_probe_and_herd, check_trace, check_count,
                  check_arguments, check_clean_tree, check_figures, check_disk,
                  check_witness):
        check(checks)
    print(f'{checks.passed} passed, {checks.failed} failed')
    return 1 if checks.failed else 0


if __name__ == '__main__':
    sys.exit(main())
