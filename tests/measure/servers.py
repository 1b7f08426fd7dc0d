# SPDX-License-Identifier: BSD-3-Clause
"""Servers and load generators of bench, lab and cost: start, talk, pin, pause, end.

Every process started here stands in one list and is ended by its id, whatever happens:
end_everything() runs at exit and on Ctrl-C, and a process whose parent is killed outright is
told so by the kernel (PR_SET_PDEATHSIG). Nothing is ever ended by name.
"""
import atexit
import ctypes
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'support'))

from slots import SLOTS as CLUSTER_SLOTS  # noqa: E402
from slots import slot_of  # noqa: E402, F401 (for those who import this module)

BUILD = os.path.join(ROOT, 'build', 'measure')
LOAD = os.path.join(ROOT, 'build', 'release', 'measure', 'load')
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[1 % len(CORES)]
SPARE_CORES = CORES[2:] or [LOAD_CORE]
OPEN_FILES = 24000
BUS_PORT_OFFSET = 10000
# Options of a node of a cluster. It serves keys once it owns slots: Server.own_all_slots.
CLUSTER = ('--cluster-enabled', 'yes')
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)
_running = []
_scratch = []


class MeasureError(Exception):
    """A measurement cannot give a figure; the text says why."""


def _prepare_child(core=None):
    def prepare():
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if core is not None:
            os.sched_setaffinity(0, {core})
    return prepare


def start_process(command, core=None, **options):
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=_prepare_child(core),
                               **options)
    _running.append(process)
    return process


def end_process(process):
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
    if process in _running:
        _running.remove(process)


def end_everything():
    for process in list(_running):
        end_process(process)
    for path in _scratch:
        shutil.rmtree(path, ignore_errors=True)
    _scratch.clear()


atexit.register(end_everything)


def raise_open_files():
    """Servers inherit the limit that ten thousand connections need."""
    import resource
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, max(hard, OPEN_FILES)))
        except (ValueError, PermissionError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def scratch_folder():
    path = tempfile.mkdtemp(prefix='evenkeel-measure-')
    _scratch.append(path)
    return path


def free_port():
    """Not above 55535: a node of a cluster has another port, 10,000 above its clients'."""
    while True:
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        if port <= 65535 - BUS_PORT_OFFSET:
            return port


def encode(words):
    """A request as the protocol has it."""
    parts = [b'*%d\r\n' % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b'$%d\r\n%s\r\n' % (len(word), word))
    return b''.join(parts)


class Wire:
    """One connection: RESP2 requests and replies, no more than is needed here."""

    def __init__(self, port, timeout=120):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile('rb')

    def send(self, *words):
        self.socket.sendall(encode(words))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b'\r\n'):
            raise MeasureError('the server closed the connection')
        kind, text = line[:1], line[1:-2].decode(errors='replace')
        if kind == b'-':
            raise MeasureError(text)
        if kind == b':':
            return int(text)
        if kind == b'$':
            if text == '-1':
                return None
            return self.file.read(int(text) + 2)[:-2].decode(errors='replace')
        if kind == b'*':
            return [self.read() for _ in range(int(text))]
        return text

    def command(self, *words):
        self.send(*words)
        return self.read()

    def many(self, requests, batch):
        """Sends encoded requests, `batch` at a time, and reads past their replies."""
        requests = iter(requests)
        while some := list(itertools.islice(requests, batch)):
            self.socket.sendall(b''.join(some))
            for _ in some:
                self.read()

    def info(self, section):
        return info_fields(self.command('INFO', section))

    def used_memory(self):
        return int(self.info('memory')['used_memory'])

    def close(self):
        self.file.close()
        self.socket.close()


def info_fields(text):
    lines = (line for line in text.splitlines() if ':' in line and not line.startswith('#'))
    return dict(line.split(':', 1) for line in lines)


class Server:
    """A server that holds nothing and saves nothing, on a free port, in a folder of its own."""

    def __init__(self, name, binary, options=(), prefix=(), patience=30, port=None):
        self.name, self.binary = name, binary
        self.port = port or free_port()
        self.folder = scratch_folder()
        self.log = os.path.join(self.folder, 'log')
        command = [*prefix, binary, '--save', '', '--appendonly', 'no', '--port', str(self.port),
                   '--bind', '127.0.0.1', *(str(o) for o in options)]
        with open(self.log, 'wb') as log:
            self.process = start_process(command, cwd=self.folder, stdin=subprocess.DEVNULL,
                                         stdout=log, stderr=subprocess.STDOUT)
        self.pid = self.process.pid
        self.wire = self._await(patience)

    def _await(self, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end and self.process.poll() is None:
            try:
                wire = Wire(self.port)
                wire.command('PING')
                return wire
            except (OSError, MeasureError):
                time.sleep(0.05)
        raise MeasureError(f'{self.binary} does not answer; its last words:\n{self.last_words()}')

    def last_words(self, lines=12):
        with open(self.log, errors='replace') as log:
            return ''.join(log.readlines()[-lines:])

    def own_all_slots(self, patience=30):
        """Makes a new node of a cluster its only one, and waits until it serves all keys, which a
        primary does two seconds after its start."""
        self.wire.command('CLUSTER', 'ADDSLOTS', *range(CLUSTER_SLOTS))
        end = time.monotonic() + patience
        while 'cluster_state:ok' not in self.wire.command('CLUSTER', 'INFO'):
            if time.monotonic() > end:
                raise MeasureError(f'{self.name} owns all slots and does not serve them')
            time.sleep(0.05)

    def pin(self, core):
        for task in os.listdir(f'/proc/{self.pid}/task'):
            os.sched_setaffinity(int(task), {core})

    def pause(self):
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def cpu(self):
        """The main thread's (CPU nanoseconds, user ticks, system ticks). The server must be idle:
        the kernel's figure of a thread that runs is up to a tick old. Ticks are for want of a
        ModeSampler."""
        task = f'/proc/{self.pid}/task/{self.pid}'
        with open(f'{task}/schedstat') as file:
            total = int(file.read().split()[0])
        with open(f'{task}/stat') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return total, int(fields[11]), int(fields[12])

    def settle(self, patience=120):
        """Waits until no table is being resized, so that bytes and CPU are those of a server at
        rest. Faster crons shorten it; a server without DEBUG HTSTATS has nothing to wait for."""
        try:
            self.wire.command('CONFIG', 'SET', 'hz', 500)
            end = time.monotonic() + patience
            while time.monotonic() < end:
                time.sleep(0.5)
                if 'rehashing target' not in str(self.wire.command('DEBUG', 'HTSTATS', 0)):
                    break
            else:
                raise MeasureError(f'{self.name} is still resizing after {patience} s')
        except MeasureError as error:
            if 'still resizing' in str(error) or self.process.poll() is not None:
                raise
        try:
            self.wire.command('CONFIG', 'SET', 'hz', 10)
        except MeasureError:
            pass

    def steady_memory(self, patience=10):
        """used_memory once three readings in a row agree to a kilobyte, or the last of them."""
        last, alike = self.wire.used_memory(), 0
        end = time.monotonic() + patience
        while alike < 3 and time.monotonic() < end:
            time.sleep(0.1)
            now = self.wire.used_memory()
            alike = alike + 1 if abs(now - last) < 1024 else 0
            last = now
        return last

    def stop(self):
        self.wire.close()
        end_process(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


def build_load():
    """Builds the load and what it links of src/, where they are not up to date."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'VARIANT')}
    compiler = ['CC=' + os.environ['CC']] if os.environ.get('CC') else []
    subprocess.run(['make', '-s', '-C', ROOT, *compiler, 'measure'], env=environment, check=True,
                   stdout=sys.stderr)


def build_preloaded(source):
    """Compiles a library to be preloaded into servers, when its source is newer; its path."""
    library = os.path.join(BUILD, os.path.basename(source)[:-2] + '.so')
    if os.path.exists(library) and os.path.getmtime(library) >= os.path.getmtime(source):
        return library
    os.makedirs(BUILD, exist_ok=True)
    subprocess.run([*os.environ.get('CC', 'cc').split(), '-O2', '-Wall', '-Wextra', '-shared',
                    '-fPIC', source, '-o', library], check=True)
    return library


def build_program(source):
    """Compiles a program of one file, when its source is newer; its path."""
    program = os.path.join(BUILD, os.path.basename(source)[:-2])
    if os.path.exists(program) and os.path.getmtime(program) >= os.path.getmtime(source):
        return program
    os.makedirs(BUILD, exist_ok=True)
    subprocess.run([*os.environ.get('CC', 'cc').split(), '-O2', '-Wall', '-Wextra', source, '-o',
                    program], check=True)
    return program


def load_command(loop, port, options):
    """The load's command line. Options are those of load_options.c; _ may stand for -."""
    words = [LOAD, loop, '--port', str(port)]
    for name, value in options.items():
        if isinstance(value, bool):
            value = 'yes' if value else 'no'
        words += ['--' + name.replace('_', '-'), str(value)]
    return words


class Load:
    """A load generator under way; `loop` is count or record (load.c)."""

    def __init__(self, server, core=None, loop='count', **options):
        self.server = server
        self.scripted = 'script' in options
        self.command = load_command(loop, server.port, options)
        self.process = start_process(self.command, core=core, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _failed(self, errors):
        words = self.server.last_words(4)
        return MeasureError(f'load against {self.server.name}: {errors.strip()}\n{words}')

    def order(self, text):
        """One order of a held generator; waits for its answer."""
        self.give(text)
        return self.answer()

    def give(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise self._failed(self.process.communicate()[1])
        return line.strip()

    def result(self):
        """What the load prints at its end."""
        output, errors = self.process.communicate()
        end_process(self.process)
        if self.process.returncode:
            raise self._failed(errors)
        return json.loads(output)

    def sound_result(self):
        """The same of a loop that counts, where no reply may be an error or a miss."""
        result = self.result()
        if result['errors']:
            raise self._failed(f"{result['errors']} errors, first: {result['first_error']}")
        if result['misses'] and not self.scripted:
            raise self._failed(f"{result['misses']} of {result['requests']} keys were not there")
        return result

    def end(self):
        end_process(self.process)


def run_load(server, core=None, **options):
    return Load(server, core, **options).sound_result()


def fill(servers, **options):
    """Fills all of them at once; returns the load's result by server name."""
    loads = [(s, Load(s, command='fill', pipeline=100, **options)) for s in servers]
    return {s.name: load.sound_result() for s, load in loads}
