#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long clients cannot write when a primary dies: from its SIGKILL to the first SET that
succeeds, by a client that asks the Sentinels in turn, as clients' libraries do. Three Sentinels,
ours or stock's, watch a primary and two replicas.

usage: sentinel_failover.py --baseline PATH [--ours PATH] [--rounds N] [--down-after MS,...]

Some 15 seconds a round; the three columns run in turn, each round with new processes, so that what
disturbs one disturbs the others. Printed in milliseconds is the median with the least and the
greatest: until a Sentinel knew that the primary is down (+sdown), until one was elected, until the
write. An election that fails is tried again after twice the failover timeout (10 s), so a greatest
value above 20 s is a split vote. Exit status: 0 all rounds had a write, 1 one had none.
"""
import argparse
import datetime
import os
import random
import re
import statistics
import sys
import tempfile
import time

import servers

sys.path.insert(0, os.path.join(servers.ROOT, 'tests', 'crash'))

import processes  # noqa: E402
import sentinel_group  # noqa: E402

SENTINELS, SERVERS, QUORUM = 3, 3, 2
FAILOVER_TIMEOUT_MS = 10_000
LINES = ('repl-diskless-sync-delay 0',)
WRITE_SECONDS = 120
# Before the kill: Sentinels ask by periods of one and two seconds, whose phase counts, and connect
# to an address only once a second.
BEFORE_SECONDS = (2, 4)
RETRY_SECONDS = 0.005
# (name, are the Sentinels ours, are the servers ours)
COLUMNS = (('stock', False, False), ('our Sentinels, stock servers', True, False),
           ('all ours', True, True))
STEPS = ('known to be down', 'elected', 'written')


def stamps(group, event):
    """When the Sentinels said this, by their logs, as seconds of the wall clock."""
    found = []
    for sentinel in group.sentinels:
        for stamp in re.findall(r'(\d+ \w+ \d{4} [\d:.]+) # ' + re.escape(event) + ' ',
                                sentinel.text_of_log()):
            found.append(datetime.datetime.strptime(stamp, '%d %b %Y %H:%M:%S.%f').timestamp())
    return found


def write_once(sentinel):
    """Asks one Sentinel, and writes there if that is a primary."""
    try:
        address = sentinel.primary_address()
        if not address:
            return False
        client = processes.Client(address, 1)
        try:
            return client('ROLE')[0] == b'master' and client('SET', 'key', 'value') == 'OK'
        finally:
            client.close()
    except (OSError, ValueError):
        return False


def play(programs, sentinels_ours, servers_ours, down_after_ms):
    """A failover; milliseconds of each step from the kill on."""
    with tempfile.TemporaryDirectory() as home:
        group = sentinel_group.local_group([(programs[servers_ours], servers_ours)] * SERVERS,
                                           [(programs[sentinels_ours], sentinels_ours)] * SENTINELS,
                                           home)
        try:
            group.start(QUORUM, down_after_ms, FAILOVER_TIMEOUT_MS, LINES)
            time.sleep(random.uniform(*BEFORE_SECONDS))
            wall, begin = time.time(), time.monotonic()
            group.servers[0].kill()
            turn = 0
            while not write_once(group.sentinels[turn % SENTINELS]):
                turn += 1
                if time.monotonic() - begin > WRITE_SECONDS:
                    raise TimeoutError(f'no write within {WRITE_SECONDS} s')
                time.sleep(RETRY_SECONDS)
            written = time.monotonic() - begin
            steps = [min(stamps(group, event)) - wall for event in ('+sdown', '+elected-leader')]
        finally:
            group.end()
    return [1000 * seconds for seconds in (*steps, written)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--baseline', required=True)
    parser.add_argument('--ours', default=os.path.join(servers.ROOT, 'build/bin/redis-server'))
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--down-after', default='1000,5000')
    config = parser.parse_args()
    programs = {True: os.path.abspath(config.ours), False: os.path.abspath(config.baseline)}
    status = 0
    for down_after_ms in map(int, config.down_after.split(',')):
        took = {name: [] for name, _, _ in COLUMNS}
        for _ in range(config.rounds):
            for name, sentinels_ours, servers_ours in COLUMNS:
                try:
                    took[name].append(play(programs, sentinels_ours, servers_ours, down_after_ms))
                except (OSError, ValueError) as error:
                    print(f'{name}: {error}', file=sys.stderr)
                    status = 1
        print(f'down-after {down_after_ms} ms, {config.rounds} rounds\n'
              f'{"":30}' + ''.join(f'{step:>26}' for step in STEPS))
        for name, rounds in took.items():
            cells = [f'{statistics.median(step):,.0f} [{min(step):,.0f}..{max(step):,.0f}]'
                     for step in zip(*rounds)]
            print(f'{name:30}' + ''.join(f'{cell:>26}' for cell in cells), flush=True)
    return status


if __name__ == '__main__':
    sys.exit(main())
