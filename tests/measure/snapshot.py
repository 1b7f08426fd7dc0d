#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What snapshots cost: SAVE, the load at start and BGSAVE under writes, ours beside a stock server.

  snapshot.py --baseline PATH [--ours PATH] [--rounds N] [--keys N] [--hashes N] [DATA ...]

DATA are of the sets below, all of them where none is named:

  strings   --keys keys (10,000,000) of 16 bytes with values of 32 random letters
  volatile  the same, each with a deadline
  ziplist   --hashes hashes (100,000) of 100 fields in the compact form
  table     the same as hash tables

Each set is written as a file, given to the baseline, and saved by it once; that file is what both
load. A round starts each server in turn on it. What is told of each:

  load   seconds that the log says, CPU seconds of the process until it answers, the most memory
         that it ever had (VmHWM) and that above what it has then (VmRSS)
  save   seconds of the command SAVE, CPU seconds of the process meanwhile, bytes of the file
  cow    of strings and volatile: bytes that BGSAVE says it copied while 20,000 SET/s of 32 bytes
         went to random keys (with a deadline where they have one), seconds that it took

Seconds are the median of the rounds, with the least and the most; "x" is how many times less ours
is. Elapsed time counts only on a machine that does nothing else; CPU time and bytes also otherwise.
A set of 10 million keys needs 4 GB of memory and of disk (TMPDIR).
"""
import argparse
import os
import random
import re
import shutil
import statistics
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import programs  # noqa: E402
import servers  # noqa: E402

FIELDS = 100
RATE = 20000
TICKS = 200  # a second; each tick sends RATE / TICKS commands at once
DEADLINE_S = 1000000
LETTERS = b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_'
PATIENCE_S = 600
CHUNK = 10000


def letters(chance, length):
    """Random letters: nothing that a compressor could shorten."""
    return chance.randbytes(length).translate(LETTERS * 4)


def text(data):
    return bytes([len(data)]) + data


# ---- data sets: what stands in the file behind the header of its database ----

def strings(out, count, chance, deadline=0):
    mark = b'\xfc' + struct.pack('<q', deadline) if deadline else b''
    for first in range(0, count, CHUNK):
        size = min(CHUNK, count - first)
        values = letters(chance, 32 * size)
        out.write(b''.join(b'%s\x00\x10key:%012d\x20%s' %
                           (mark, first + i, values[32 * i:32 * i + 32]) for i in range(size)))


def volatile(out, count, chance):
    strings(out, count, chance, int((time.time() + DEADLINE_S) * 1000))


def hashes(out, count, chance):
    fields = [text(b'field:%d' % i) for i in range(FIELDS)]
    for number in range(count):
        values = letters(chance, 16 * FIELDS)
        out.write(b'\x04' + text(b'hash:%011d' % number) + struct.pack('>BB', 0x40, FIELDS))
        out.write(b''.join(field + b'\x10' + values[16 * i:16 * i + 16]
                           for i, field in enumerate(fields)))


class Data:
    def __init__(self, write, count, options=(), cow=False):
        self.write, self.count, self.options, self.cow = write, count, options, cow

    def make(self, path):
        with open(path, 'wb', buffering=1 << 20) as out:
            volatile_keys = self.count if self.write is volatile else 0
            out.write(b'REDIS0009\xfe\x00\xfb' +
                      struct.pack('>BIBI', 0x80, self.count, 0x80, volatile_keys))
            self.write(out, self.count, random.Random(1))
            out.write(b'\xff' + bytes(8))


def data_sets(config):
    return {'strings': Data(strings, config.keys, cow=True),
            'volatile': Data(volatile, config.keys, cow=True),
            'ziplist': Data(hashes, config.hashes),
            'table': Data(hashes, config.hashes, ('--hash-max-ziplist-entries', FIELDS - 1))}


# ---- one server ----

def cpu_seconds(pid):
    """User and system time of all threads, those that have ended included."""
    with open(f'/proc/{pid}/stat') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def memory_kilobytes(pid, field):
    with open(f'/proc/{pid}/status') as file:
        return int(re.search(field + r':\s*(\d+)', file.read()).group(1))


class Writer:
    """20,000 SET/s to random keys from a thread of its own, until it is ended."""

    def __init__(self, server, data):
        self.wire = servers.Wire(server.port, PATIENCE_S)
        self.data, self.going, self.sent = data, True, 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        chance = random.Random(2)
        ending = ['EX', DEADLINE_S] if self.data.write is volatile else []
        begin = time.monotonic()
        for tick in range(1 << 30):
            if not self.going:
                return
            left = begin + tick / TICKS - time.monotonic()
            if left > 0:
                time.sleep(left)
            some = [servers.encode(['SET', b'key:%012d' % chance.randrange(self.data.count),
                                    letters(chance, 32), *ending])
                    for _ in range(RATE // TICKS)]
            self.wire.many(some, len(some))
            self.sent += len(some)

    def end(self):
        self.going = False
        self.thread.join()
        self.wire.close()


def measure_copies(server, data, figures):
    writer = Writer(server, data)
    begin = time.monotonic()
    server.wire.command('BGSAVE')
    while server.wire.info('persistence')['rdb_bgsave_in_progress'] != '0':
        time.sleep(0.02)
    figures['cow seconds'] = time.monotonic() - begin
    writer.end()
    figures['cow bytes'] = int(server.wire.info('persistence')['rdb_last_cow_size'])
    figures['SETs meanwhile'] = writer.sent


def measure(name, binary, data, source):
    figures = {}
    folder = servers.scratch_folder()
    path = os.path.join(folder, 'dump.rdb')
    os.link(source, path)
    options = ['--dir', folder, *data.options]
    with servers.Server(name, binary, options, patience=PATIENCE_S) as server:
        figures['load CPU s'] = cpu_seconds(server.pid)
        figures['load peak bytes'] = memory_kilobytes(server.pid, 'VmHWM') * 1024
        figures['peak above data bytes'] = (figures['load peak bytes'] -
                                            memory_kilobytes(server.pid, 'VmRSS') * 1024)
        with open(server.log) as log:
            found = re.search(r'DB loaded from disk: ([\d.]+) seconds', log.read())
        figures['load s'] = float(found.group(1))
        server.wire.socket.settimeout(PATIENCE_S)
        if server.wire.command('DBSIZE') != data.count:
            raise servers.MeasureError(f'{name} has not loaded all keys')
        before, begin = cpu_seconds(server.pid), time.monotonic()
        server.wire.command('SAVE')
        figures['save s'] = time.monotonic() - begin
        figures['save CPU s'] = cpu_seconds(server.pid) - before
        figures['file bytes'] = os.path.getsize(path)
        if data.cow:
            measure_copies(server, data, figures)
    shutil.rmtree(folder)
    return figures


# ---- all of them ----

def file_of_baseline(config, data, folder):
    """The file that both load, as the baseline writes it."""
    path = os.path.join(folder, 'dump.rdb')
    data.make(path)
    with servers.Server('baseline', config.baseline, ['--dir', folder, *data.options],
                        patience=PATIENCE_S) as server:
        server.wire.socket.settimeout(PATIENCE_S)
        server.wire.command('SAVE')
    return path


def shown(figure, values):
    low, middle, high = min(values), statistics.median(values), max(values)
    if figure.endswith(' s') or figure.endswith('seconds'):
        return middle, f'{middle:.2f} ({low:.2f}-{high:.2f})'
    if 'bytes' in figure:
        return middle, f'{middle / 1e6:.1f} MB ({low / 1e6:.1f}-{high / 1e6:.1f})'
    return middle, f'{middle:.0f}'


def print_table(name, data, results):
    print(f'\n{name}, {data.count} keys\n\n| | stock | ours | x |\n| --- | --- | --- | --- |')
    for figure in results['baseline'][0]:
        columns = [shown(figure, [round[figure] for round in results[who]])
                   for who in ('baseline', 'ours')]
        factor = f'{columns[0][0] / columns[1][0]:.2f}' if columns[1][0] > 0 else ''
        print(f'| {figure} | {columns[0][1]} | {columns[1][1]} | {factor} |')
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('--baseline', required=True)
    parser.add_argument('--ours', default=os.path.join(servers.ROOT, 'build/bin/redis-server'))
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--keys', type=int, default=10000000)
    parser.add_argument('--hashes', type=int, default=100000)
    parser.add_argument('data', nargs='*', metavar='DATA')
    config = parser.parse_args()
    programs.take_signals()
    known = data_sets(config)
    for name in config.data or known:
        if name not in known:
            parser.error(f'{name} is no data set: {", ".join(known)}')
        data, folder = known[name], servers.scratch_folder()
        source = file_of_baseline(config, data, folder)
        results = {'baseline': [], 'ours': []}
        for _ in range(config.rounds):
            for who in results:
                binary = os.path.abspath(getattr(config, who))
                results[who].append(measure(who, binary, data, source))
        print_table(name, data, results)
        shutil.rmtree(folder)


if __name__ == '__main__':
    main()
