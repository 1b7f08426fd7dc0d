# SPDX-License-Identifier: BSD-3-Clause
"""Processes of ours and of stock's, each with an address, files and a log of its own, that can be
killed, stopped and started again; and connections to them."""
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../interchange"))

import values  # noqa: E402

LOCAL = "127.0.0.1"
START_SECONDS = 30
ASK_SECONDS = 2
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def end_with_parent():
    """In the child: it does not outlive the thread that started it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    with socket.socket() as free:
        free.bind((LOCAL, 0))
        return free.getsockname()[1]


class Client(values.Client):
    """A connection that waits no longer than `seconds` for anything."""

    def __init__(self, address, seconds=ASK_SECONDS):
        self.socket = socket.create_connection(address, timeout=seconds)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()


class Node:
    """A process that can be killed, stopped and started again on its own file. `program` is the
    path of a redis-server; `folder` has all its files but the log."""

    arguments = ()

    def __init__(self, program, is_ours, address, folder, log):
        self.program, self.is_ours, self.address, self.folder = program, is_ours, address, folder
        self.log_path, self.file = log, os.path.join(folder, "node.conf")
        self.process = self.log = self.before_exec = None
        # Held by whoever ends, stops and starts it again, so that two do not mix.
        self.lock = threading.Lock()

    def __str__(self):
        kind = "ours" if self.is_ours else "stock"
        return f"{type(self).__name__.lower()} {self.address[0]}:{self.address[1]} ({kind})"

    def write_file(self, *lines):
        host, port = self.address
        with open(self.file, "w", encoding="ascii") as file:
            file.write("\n".join((f"port {port}", f"bind {host}", f"dir {self.folder}",
                                  "protected-mode no", *lines, "")))

    def start(self):
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen([self.program, self.file, *self.arguments],
                                        stdout=self.log, stderr=self.log, start_new_session=True,
                                        preexec_fn=self.before_exec)

    def await_start(self):
        until = time.monotonic() + START_SECONDS
        while self.ask("PING") != "PONG":
            if time.monotonic() > until or self.process.poll() is not None:
                raise TimeoutError(f"{self} does not start: {self.log_path}")
            time.sleep(0.02)

    def ask(self, *words):
        """The answer on a connection of its own; None where there is none."""
        try:
            client = Client(self.address)
            try:
                return client(*words)
            finally:
                client.close()
        except (OSError, ValueError):
            return None

    def send(self, number):
        os.kill(self.process.pid, number)

    def kill(self, number=signal.SIGKILL):
        """Ends it; its exit status, which is below 0 for a signal."""
        if self.process.poll() is None:
            self.send(number)
        status = self.process.wait()
        self.log.close()
        return status

    def may_end_on_full_disk(self):
        """Whether its log says that it ended because its disk is full, as it may."""
        return False

    def text_of_log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()
