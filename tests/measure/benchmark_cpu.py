#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What redis-benchmark itself costs: CPU time a request, ours against another one.

usage: benchmark_cpu.py --baseline PATH [--ours PATH] [--server PATH] [--rounds N] [--requests N]

Both tools send the same requests to the same server in turn, the order changing from round to
round. A round's pair gives a ratio of user and system time; what is printed is their median, with
the least and the greatest. Elapsed time is not looked at, so other work on the machine disturbs
little. The target is at most 0.6 at pipeline 16 (exit status 1 where it is missed).
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import servers

# name, options, how the number of requests is scaled
CASES = [('SET P1', ['-t', 'set'], 0.2), ('SET P16', ['-t', 'set', '-P', '16'], 1),
         ('GET P16', ['-t', 'get', '-P', '16'], 1),
         ('SET P16 -r 100000', ['-t', 'set', '-P', '16', '-r', '100000'], 1),
         ('SET P16, 4 threads', ['-t', 'set', '-P', '16', '--threads', '4'], 1)]
TARGET_CASES = ('SET P16', 'GET P16')
TARGET = 0.6
START_SECONDS = 30


def start_server(path, folder):
    """A server without snapshots; its process and socket."""
    socket = os.path.join(folder, 'socket')
    port = servers.free_port()
    process = subprocess.Popen([path, '--port', str(port), '--bind', '127.0.0.1', '--save', '',
                                '--dir', folder, '--unixsocket', socket],
                               stdout=subprocess.DEVNULL)
    limit = time.monotonic() + START_SECONDS
    while not os.path.exists(socket):
        if process.poll() is not None or time.monotonic() > limit:
            sys.exit(f'{path} does not start')
        time.sleep(0.05)
    return process, port


def cpu_usec(tool, port, options, requests):
    """CPU time of one run, in microseconds a request."""
    words = [tool, '-p', str(port), '-n', str(requests), '-q'] + options
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        sys.exit(f'{" ".join(words)} ends with {status}')
    return (usage.ru_utime + usage.ru_stime) * 1e6 / requests


def measure(config, port, options, requests):
    """Pairs of (ours, baseline), one a round."""
    pairs = []
    for number in range(config.rounds):
        tools = [config.ours, config.baseline]
        found = {}
        for tool in tools if number % 2 == 0 else reversed(tools):
            found[tool] = cpu_usec(tool, port, options, requests)
        pairs.append((found[config.ours], found[config.baseline]))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--ours', default='build/bin/redis-benchmark')
    parser.add_argument('--server', default='build/bin/redis-server')
    parser.add_argument('--baseline', required=True)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--requests', type=int, default=1000000)
    config = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        process, port = start_server(config.server, folder)
        try:
            print(f'{"":22} {"ours":>8} {"other":>8}   us a request; ratio (least .. most)')
            for name, options, scale in CASES:
                pairs = measure(config, port, options, int(config.requests * scale))
                ratios = [ours / other for ours, other in pairs]
                ratio = statistics.median(ratios)
                print(f'{name:22} {statistics.median(p[0] for p in pairs):8.3f} '
                      f'{statistics.median(p[1] for p in pairs):8.3f}   {ratio:.2f} '
                      f'({min(ratios):.2f} .. {max(ratios):.2f})', flush=True)
                missed |= name in TARGET_CASES and ratio > TARGET
        finally:
            process.terminate()
            process.wait()
    sys.exit(1 if missed else 0)


if __name__ == '__main__':
    main()
