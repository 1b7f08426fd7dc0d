#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What I/O threads take off the main thread, and what they cost: CPU time a request.

usage: io_threads.py [--server PATH] [--benchmark PATH] [--rounds N] [--requests N] [--clients N]
                     [--threads N] [--only NAME]

For each case two servers run side by side, with io-threads 1 and with --threads (2) and reads, and
get the same load in turn, the order changing from round to round. What is counted is the time on a
processor as the kernel books it: the main thread's from its own /proc/PID/task/PID/schedstat, the
server's from those of all its threads. A round gives a ratio; printed are the medians with the
least and the greatest. Elapsed time is not looked at, so two cores suffice, and other work on the
machine disturbs little. What is counted begins when the load is under way: connecting, with the
handshakes of TLS, is before that.

Exit status 1 where a target is missed: the main thread's time at most 0.45 of that of one thread
(plain), 0.35 (TLS); the time of all threads at most 1.15 (both).
"""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import servers

# name, over TLS, options of the load, share of the requests, main thread's target or None
CASES = [('GET P1', False, ['-t', 'get'], 1, 0.45), ('SET P1', False, ['-t', 'set'], 1, 0.45),
         ('GET P16', False, ['-t', 'get', '-P', '16'], 4, None),
         ('GET 4 KiB', False, ['-t', 'set,get', '-d', '4096'], 0.5, None),
         ('GET P1, TLS', True, ['-t', 'get'], 0.5, 0.35),
         ('SET P1, TLS', True, ['-t', 'set'], 0.5, 0.35)]
TOTAL_TARGET = 1.15
KEYS = '100000'
START_SECONDS = 30
# Parts of a run's requests between which time is counted.
BEGIN, END = 0.1, 0.9
LOOK_SECONDS = 0.02


def make_certificate(folder):
    """A key and a certificate that it has signed itself."""
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                    'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                    '-subj', '/CN=localhost', '-keyout', os.path.join(folder, 'key'),
                    '-out', os.path.join(folder, 'cert')],
                   check=True, stderr=subprocess.DEVNULL)


class Server:
    """One with this many threads."""

    def __init__(self, config, folder, threads, tls):
        self.path = os.path.join(folder, f'socket-{threads}-{tls}')
        self.port = servers.free_port()
        pem = [os.path.join(folder, name) for name in ('cert', 'key')]
        self.words = ['--tls', '--insecure'] if tls else []
        listen = ['--port', '0', '--tls-port', str(self.port), '--tls-cert-file', pem[0],
                  '--tls-key-file', pem[1], '--tls-auth-clients', 'no']
        self.process = subprocess.Popen(
            [config.server, '--bind', '127.0.0.1', '--save', '', '--dir', folder,
             '--unixsocket', self.path, '--maxclients', '10000', '--io-threads', str(threads),
             '--io-threads-do-reads', 'yes'] + (listen if tls else ['--port', str(self.port)]),
            stdout=subprocess.DEVNULL)
        limit = time.monotonic() + START_SECONDS
        while not os.path.exists(self.path):
            if self.process.poll() is not None or time.monotonic() > limit:
                sys.exit(f'{config.server} does not start')
            time.sleep(0.05)
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(self.path)
        self.commands()

    def commands(self):
        """How many it has run."""
        self.connection.sendall(b'INFO stats\r\n')
        text = b''
        while b'total_commands_processed:' not in text or not text.endswith(b'\r\n'):
            text += self.connection.recv(65536)
        return int(text.split(b'total_commands_processed:')[1].split(b'\r')[0])

    def cpu_nsec(self):
        """Of the main thread, and of all."""
        main, total = 0, 0
        folder = f'/proc/{self.process.pid}/task'
        for task in os.listdir(folder):
            with open(f'{folder}/{task}/schedstat', encoding='ascii') as file:
                used = int(file.read().split()[0])
            total += used
            if int(task) == self.process.pid:
                main = used
        return main, total

    def load(self, config, options, requests):
        """CPU nanoseconds a request of one run, of the main thread and of all."""
        words = [config.benchmark, '-h', '127.0.0.1', '-p', str(self.port), '-n', str(requests),
                 '-c', str(config.clients), '-r', KEYS, '-q'] + self.words + options
        tests = len(options[options.index('-t') + 1].split(','))
        first = self.commands()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        points = []
        for part in (BEGIN, END):
            while (done := self.commands() - first) < part * requests * tests:
                if process.poll() is not None:
                    sys.exit(f'{" ".join(words)} has ended early: --requests, more')
                time.sleep(LOOK_SECONDS)
            points.append((done, *self.cpu_nsec()))
        if process.wait():
            sys.exit(f'{" ".join(words)} ends with {process.returncode}')
        counted = points[1][0] - points[0][0]
        return tuple((b - a) / counted for a, b in zip(points[0][1:], points[1][1:]))

    def stop(self):
        """Ends it."""
        self.process.terminate()
        self.process.wait()


def measure(config, pair, options, requests):
    """Lists of main thread's and of all threads' time, for one thread and for several."""
    found = [[], []]
    for number in range(config.rounds + 1):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            cost = pair[which].load(config, options, requests)
            if number:  # the first fills the caches, and the keys
                found[which].append(cost)
    return found


def tell(name, found, target):
    """A line of the table; true where the targets are met."""
    words, medians = [], []
    for part in (0, 1):
        ratios = [b[part] / a[part] for a, b in zip(*found)]
        one = statistics.median(a[part] for a in found[0])
        more = statistics.median(b[part] for b in found[1])
        medians.append(statistics.median(ratios))
        words.append(f'{one:6.0f} -> {more:6.0f} ns, {medians[-1]:.3f} '
                     f'({min(ratios):.3f} to {max(ratios):.3f})')
    print(f'{name:12}  main {words[0]}   all {words[1]}', flush=True)
    return target is None or (medians[0] <= target and medians[1] <= TOTAL_TARGET)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--server', default='build/bin/redis-server')
    parser.add_argument('--benchmark', default='build/bin/redis-benchmark')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--requests', type=int, default=500000)
    parser.add_argument('--clients', type=int, default=1000)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--only', default='')
    config = parser.parse_args()
    met = True
    with tempfile.TemporaryDirectory() as folder:
        make_certificate(folder)
        for name, tls, options, share, target in CASES:
            if config.only not in name:
                continue
            pair = [Server(config, folder, threads, tls) for threads in (1, config.threads)]
            try:
                found = measure(config, pair, options, int(config.requests * share))
            finally:
                for server in pair:
                    server.stop()
            met = tell(name, found, target) and met
    sys.exit(0 if met else 1)


if __name__ == '__main__':
    main()
