# SPDX-License-Identifier: BSD-3-Clause
"""The two servers: started on free ports of 127.0.0.1, asked, ended by their process id.

Every process stands in one list and is ended at exit; the kernel ends it if we are killed
(PR_SET_PDEATHSIG). Both servers get the same configuration.
"""
import atexit
import ctypes
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import wire

START_SECONDS = 20
REPLY_SECONDS = 60
ATTEMPTS = 5
# The port of a cluster's bus is 10,000 above.
PORT_MAX = 55535
PR_SET_PDEATHSIG = 1
CONFIGURATION = '''port {port}
bind 127.0.0.1
save ""
dir {folder}
logfile {folder}/log
latency-monitor-threshold 0
'''

_libc = ctypes.CDLL(None, use_errno=True)
_running = []
_folders = []


class ServerGone(Exception):
    """A server does not answer; the text has the end of its log."""

    def __init__(self, name, text):
        super().__init__(text)
        self.name = name


def _prepare_child():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_everything():
    for server in list(_running):
        server.end()
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)
    _folders.clear()


atexit.register(end_everything)


class Server:
    """One server's process, with further lines of configuration and files that it finds."""

    def __init__(self, name, path, options='', files=None):
        self.name = name
        self.options = options
        for attempt in range(ATTEMPTS):
            self._make_folder(files or {})
            if self._start(path):
                break
            log = self.log_end()
            self.end()
            if attempt == ATTEMPTS - 1:
                raise ServerGone(name, f'{name} does not start: {log}')

    def _make_folder(self, files):
        self.folder = tempfile.mkdtemp(prefix=f'evenkeel-diff-{self.name}-')
        _folders.append(self.folder)
        for file_name, content in files.items():
            with open(os.path.join(self.folder, file_name), 'wb') as file:
                file.write(content)

    def _start(self, path):
        self.port = PORT_MAX + 1
        while self.port > PORT_MAX:
            with socket.socket() as s:
                s.bind(('127.0.0.1', 0))
                self.port = s.getsockname()[1]
        configuration = os.path.join(self.folder, 'conf')
        with open(configuration, 'w', encoding='ascii') as file:
            file.write(CONFIGURATION.format(port=self.port, folder=self.folder) + self.options)
        with open(os.path.join(self.folder, 'stderr'), 'wb') as errors:
            self.process = subprocess.Popen([path, configuration], stdout=errors, stderr=errors,
                                            start_new_session=True, preexec_fn=_prepare_child)
        _running.append(self)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(('127.0.0.1', self.port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.005)
        return False

    def log_end(self):
        text = ''
        for name in ('stderr', 'log'):
            try:
                with open(os.path.join(self.folder, name), errors='replace') as file:
                    text += file.read()[-6000:]
            except OSError:
                pass
        return text

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self in _running:
            _running.remove(self)
        if self.folder in _folders and self.process.poll() is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def wait_until_ready(server):
    """Return when the server has loaded what it finds and takes commands."""
    connection = Control(server)
    until = time.monotonic() + START_SECONDS
    while connection.ask([b'PING'])[0][0] == '-':
        if time.monotonic() > until:
            raise ServerGone(server.name, f'{server.name} goes on loading: {server.log_end()}')
        time.sleep(0.005)
    connection.close()


class Connection:
    """A socket, and what has come from it and is not looked at yet."""

    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The kernel's own limits: those of Python would poll before each call.
        limit = struct.pack('ll', REPLY_SECONDS, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        self.address = '%s:%d' % self.socket.getsockname()
        self.received = b''
        self.closed = False
        self.id = b'0'

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def drain(self):
        """Take what has come, and do not wait for more."""
        while not self.closed:
            try:
                data = self.socket.recv(1 << 18, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except ConnectionResetError:
                data = b''
            if data:
                self.received += data
            else:
                self.closed = True

    def learn_id(self):
        """Ask for the client's id, the first thing on a new connection, and wait for it."""
        self.send(wire.encode([b'CLIENT', b'ID']))
        while b'\r\n' not in self.received:
            try:
                data = self.socket.recv(1 << 12)
            except OSError:
                data = b''
            if not data:
                self.closed = True
                return
            self.received += data
        if self.received.startswith(b':'):
            line, _, self.received = self.received.partition(b'\r\n')
            self.id = line[1:]

    def close(self):
        self.socket.close()
        self.closed = True


class Control(Connection):
    """The connection that asks for state and by which we know that a server has caught up."""

    def __init__(self, server):
        super().__init__(server.port)
        self.server = server
        # As MONITOR shows our PINGs: how many there were is chance.
        self.own_line = re.compile(rb'\+\d+\.\d+ \[\d+ %s\] "PING"\r\n'
                                   % re.escape(self.address.encode()))

    def ask_later(self, *requests):
        self.send(b''.join(wire.encode(script_args) for script_args in requests))

    def replies(self, count):
        """The next replies, waited for."""
        found = []
        at = 0
        while len(found) < count:
            try:
                reply, at = wire.parse(self.received, at)
                found.append(reply)
                continue
            except wire.Incomplete:
                pass
            try:
                data = self.socket.recv(1 << 18)
            except OSError:
                data = b''
            if not data:
                raise ServerGone(self.server.name,
                                 f'{self.server.name} closed our connection or does not answer '
                                 f'(exit status {self.server.process.poll()}):\n'
                                 f'{self.server.log_end()}')
            self.received = self.received[at:] + data
            at = 0
        self.received = self.received[at:]
        return found

    def ask(self, *requests):
        self.ask_later(*requests)
        return self.replies(len(requests))
