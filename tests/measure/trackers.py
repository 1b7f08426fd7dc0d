#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Keys that are lost to clients who listen (upstream's issue 8069): ten clients track all keys by
CLIENT TRACKING ON BCAST at a server that is full; new keys push out old ones, each of which is told
to all ten. What they do not read counts as memory, so that more keys are pushed out.

usage: trackers.py --baseline PATH [--server PATH]

Half a minute. Each server is filled with KEYS keys and given ROOM_BYTES more; then NEW_KEYS keys
are written. Printed is how many keys are there at the end, and were at the least: as many as in the
beginning where nothing but their number decides. Trackers read all, or nothing.
"""
import argparse
import os
import select
import socket

import servers

TRACKERS, KEYS, NEW_KEYS, ROOM_BYTES = 10, 100_000, 200_000, 500_000
VALUE = b'v' * 100
PIPELINE = 200
PROFILES = os.path.join(servers.ROOT, 'profiles')


class Tracker:
    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port))
        self.socket.sendall(servers.encode(['HELLO', 3]) +
                            servers.encode(['CLIENT', 'TRACKING', 'ON', 'BCAST']))
        got = b''
        while b'+OK\r\n' not in got:
            more = self.socket.recv(65536)
            if not more:
                raise servers.MeasureError(f'a tracker is left alone behind {got[-200:]!r}')
            got += more

    def read(self):
        while select.select([self.socket], [], [], 0)[0] and self.socket.recv(1 << 20):
            continue


def write_keys(server, name, first):
    """How many were refused, for want of memory."""
    refused = 0
    server.wire.socket.sendall(b''.join(servers.encode(['SET', f'{name}:{i}', VALUE])
                                        for i in range(first, first + PIPELINE)))
    for _ in range(PIPELINE):
        try:
            server.wire.read()
        except servers.MeasureError as error:
            if not str(error).startswith('OOM'):
                raise
            refused += 1
    return refused


def run(name, binary, options, trackers_read):
    server = servers.Server(name, binary, [*options, '--maxmemory-policy', 'allkeys-lru'])
    for first in range(0, KEYS, PIPELINE):
        write_keys(server, 'old', first)
    used = int(server.wire.info('memory')['used_memory'])
    server.wire.command('CONFIG', 'SET', 'maxmemory', used + ROOM_BYTES)
    trackers = [Tracker(server.port) for _ in range(TRACKERS)]
    least, refused = KEYS, 0
    for first in range(0, NEW_KEYS, PIPELINE):
        refused += write_keys(server, 'new', first)
        if trackers_read:
            for tracker in trackers:
                tracker.read()
        least = min(least, server.wire.command('DBSIZE'))
    evicted = server.wire.info('stats')['evicted_keys']
    end = server.wire.command('DBSIZE')
    print(f'{name:20} {"read" if trackers_read else "read nothing":14} {end:9,} {least:9,} '
          f'{int(evicted):9,} {refused:9,}', flush=True)
    server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--server', default=os.path.join(servers.ROOT, 'build/bin/redis-server'))
    parser.add_argument('--baseline', required=True)
    config = parser.parse_args()
    config.server, config.baseline = map(os.path.abspath, (config.server, config.baseline))
    print(f'{KEYS:,} keys, {NEW_KEYS:,} more are written\n{"server":20} {"trackers":14} '
          f'{"at end":>9} {"least":>9} {"evicted":>9} {"refused":>9}')
    for trackers_read in (True, False):
        run('stock', config.baseline, [], trackers_read)
        run('ours', config.server, [], trackers_read)
        run('ours, steady profile', config.server,
            ['--include', os.path.join(PROFILES, 'steady.conf')],
            trackers_read)


if __name__ == '__main__':
    main()
