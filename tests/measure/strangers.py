#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What clients that have not authenticated, and must, make a server hold.

usage: strangers.py [--server PATH] [--clients N] [--tls] [--io-threads N] [--only CASE ...]

Each case has a server of its own, with a password and no other data, and N clients (1,000) that do
the same: they grow a request that never ends, in steps, all of them one step before any the next;
they ask and do not read; they shake hands a byte at a time. After each step used_memory is read,
and the most of all steps, less what it was before the first client, is divided by N: so the row is
the case's worst moment. `resident` is the same of RSS, with what the allocator keeps of those that
were closed. `left` says how many the server has not closed at the end. One minute; with --tls, when
all speak TLS, three. What the kernel keeps for sockets is in neither.

A server without such limits is not to be measured so by `unread`: 1,000 clients fill any machine.
"""
import argparse
import os
import socket
import ssl
import subprocess
import time

import servers

PASSWORD = 'secret'
STEP = 4096
# A request of ten arguments is what 6.2 takes of a stranger, 16,384 bytes each.
ARGUMENTS, ARGUMENT = 10, 16384
LINE = 65536
# Of a request that is not complete: as much as is taken here, in steps.
HELD = 32000
PAUSE_SECONDS = 0.05
UNREAD_ROUNDS = 400


def bulks():
    """Ten of the longest arguments, but for the last byte."""
    return (b'*%d\r\n' % ARGUMENTS + (b'$%d\r\n' % ARGUMENT + b'a' * ARGUMENT + b'\r\n') *
            ARGUMENTS)[:-3]


def growing(text):
    return [text[i:i + STEP] for i in range(0, len(text), STEP)]


def named():
    """A name, and behind it the request that does not end."""
    name = b'n' * ARGUMENT
    return [servers.encode(['HELLO', 3, 'SETNAME', name]), *growing(bulks())]


# What each client sends, a step at a time.
REQUESTS = {
    'nothing': [],
    'half': [b'*1\r\n$4\r\nPI'],
    'bulks': growing(bulks()),
    'line': growing(b'a' * (LINE + ARGUMENT)),
    'words': growing(b'a ' * (LINE // 2 - 1)) + [b'\n'],
    'count': growing(b'*' + b'1' * (LINE + ARGUMENT)),
    'name': named(),
    'long name': [*growing(b'HELLO 3 SETNAME ' + b'n' * 40000), b'\r\n', *growing(bulks())],
    'users': [servers.encode(['AUTH', b'u' * ARGUMENT, b'p' * ARGUMENT]), b'*1\r\n$4\r\nPI'],
}


class Stranger:
    """A client, plain or over TLS with its own BIOs, so that no call waits."""

    def __init__(self, port, context):
        self.socket = socket.create_connection(('127.0.0.1', port))
        self.socket.settimeout(10)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context and context.wrap_bio(self.incoming, self.outgoing)
        self.is_open = True

    def first_words(self):
        """The bytes with which its handshake begins."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    def shake_hands(self):
        while self.tls:
            try:
                self.tls.do_handshake()
                self.socket.sendall(self.outgoing.read())
                return
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                self.incoming.write(self.socket.recv(65536))

    def send(self, text):
        """As much as there is room for, if anybody is there."""
        if not self.is_open:
            return
        if self.tls:
            self.tls.write(text)
            text = self.outgoing.read()
        self.send_raw(text)

    def send_raw(self, text):
        try:
            self.socket.send(text, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
        except OSError:
            self.is_open = False


class Watch:
    """used_memory and RSS of a server, beyond what they were at first."""

    def __init__(self, server):
        self.server = server
        self.first = self.read()
        self.most = self.first

    def read(self):
        info = self.server.wire.info('memory')
        with open(f'/proc/{self.server.pid}/statm', encoding='ascii') as file:
            resident = int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
        return int(info['used_memory']), resident

    def note(self):
        for _ in range(2):
            self.most = tuple(map(max, self.most, self.read()))
            time.sleep(PAUSE_SECONDS)

    def per_client(self, clients):
        return [max(0, most - first) // clients for most, first in zip(self.most, self.first)]


def step_through(strangers, watch, steps):
    watch.note()
    for text in steps:
        for stranger in strangers:
            stranger.send(text)
        watch.note()


def leave_unread(strangers, watch):
    """Asks for what fills the socket, and reads nothing."""
    for number in range(UNREAD_ROUNDS):
        for stranger in strangers:
            stranger.send(b'a\n' * (ARGUMENT // 2))
        if number % 20 == 0:
            watch.note()
        if not any(stranger.is_open for stranger in strangers):
            break
    watch.note()


def shake_slowly(strangers, watch):
    words = [stranger.first_words() for stranger in strangers]
    for place in range(max(len(text) for text in words) - 1):
        for stranger, text in zip(strangers, words):
            stranger.send_raw(text[place:place + 1])
        if place % 16 == 0:
            watch.note()
    watch.note()


def shake_long(strangers, watch):
    """A first message that is as long as it can be, but for its last byte."""
    message = b'\x01' + (131000).to_bytes(3, 'big') + b'a' * 36000
    for place in range(0, len(message), STEP):
        piece = message[place:place + STEP]
        for stranger in strangers:
            stranger.send_raw(b'\x16\x03\x01' + len(piece).to_bytes(2, 'big') + piece)
        watch.note()


def half_record(strangers, watch):
    """Behind a request that does not end there is a record that does not."""
    step_through(strangers, watch, growing(bulks()[:HELD]))
    for stranger in strangers:
        stranger.send_raw(b'\x17\x03\x03' + (ARGUMENT).to_bytes(2, 'big') + b'a' * (ARGUMENT - 1))
    watch.note()


CASES = {name: (lambda strangers, watch, steps=steps: step_through(strangers, watch, steps), False)
         for name, steps in REQUESTS.items()}
CASES['unread'] = (leave_unread, False)
CASES['half record'] = (half_record, True)
# Those whose hands are not shaken beforehand.
HANDSHAKES = {'slow handshake': (shake_slowly, True), 'long handshake': (shake_long, True)}
CASES.update(HANDSHAKES)


def make_certificate(folder):
    pair = [os.path.join(folder, name) for name in ('cert', 'key')]
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                    'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj',
                    '/CN=localhost', '-out', pair[0], '-keyout', pair[1]],
                   check=True, stderr=subprocess.DEVNULL)
    return pair


class Locked(servers.Server):
    """A server that wants a password."""

    def _await(self, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end and self.process.poll() is None:
            try:
                wire = servers.Wire(self.port)
                wire.command('AUTH', PASSWORD)
                return wire
            except OSError:
                time.sleep(0.05)
        raise servers.MeasureError(f'{self.binary} does not answer:\n{self.last_words()}')


def run(config, name, act, pair):
    options = ['--requirepass', PASSWORD, '--maxclients', config.clients + 100]
    if config.io_threads > 1:
        options += ['--io-threads', config.io_threads, '--io-threads-do-reads', 'yes']
    context = None
    tls_port = 0
    if config.tls:
        tls_port = servers.free_port()
        options += ['--tls-port', tls_port, '--tls-cert-file', pair[0], '--tls-key-file', pair[1],
                    '--tls-auth-clients', 'no']
        context = ssl.create_default_context(cafile=pair[0])
        context.check_hostname = False
    with Locked(name, config.server, options) as server:
        watch = Watch(server)
        strangers = []
        for _ in range(config.clients):
            strangers.append(Stranger(tls_port or server.port, context))
            if name not in HANDSHAKES:
                strangers[-1].shake_hands()
        act(strangers, watch)
        left = int(server.wire.info('clients')['connected_clients']) - 1
        used, resident = watch.per_client(config.clients)
        print(f'{name:16}{used:12,}{resident:12,}{left:8,}', flush=True)
        for stranger in strangers:
            stranger.socket.close()
    return used


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--server', default=os.path.join(servers.ROOT, 'build/bin/redis-server'))
    parser.add_argument('--clients', type=int, default=1000)
    parser.add_argument('--tls', action='store_true')
    parser.add_argument('--io-threads', type=int, default=1)
    parser.add_argument('--only', nargs='*', choices=list(CASES), metavar='CASE')
    config = parser.parse_args()
    config.server = os.path.abspath(config.server)
    servers.raise_open_files()
    pair = make_certificate(servers.scratch_folder()) if config.tls else None
    print(f'{"case":16}{"bytes each":>12}{"resident":>12}{"left":>8}')
    worst = max(run(config, name, act, pair) for name, (act, needs_tls) in CASES.items()
                if (config.only is None or name in config.only) and (config.tls or not needs_tls))
    print(f'{"the most":16}{worst:12,}')


if __name__ == '__main__':
    main()
