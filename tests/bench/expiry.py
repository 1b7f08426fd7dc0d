#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How far behind a server's expiry falls, while a light load goes on beside.

  expiry.py BINARY mass KEYS        KEYS keys due within one second, 20 k GET/s beside: the keys
                                    still held after each half second from the first deadline on
  expiry.py BINARY churn KEYS SECS  KEYS keys with long deadlines, 20 k SET/s with 5 s to live:
                                    the most dead keys held from the sixth second on

Starts BINARY on a free port of 127.0.0.1 and ends it. Works with any server of the protocol: dead
keys are counted from DBSIZE and what was sent. Prints the slowest answer of the load too.
"""
import socket
import subprocess
import sys
import tempfile
import time

RATE = 20000
TICKS = 200  # a second; each tick sends RATE / TICKS commands at once


def start(binary):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [binary, "--port", str(port), "--save", "", "--dir", tempfile.mkdtemp()],
        stdout=subprocess.DEVNULL)
    for _ in range(500):
        try:
            return server, socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.01)
    sys.exit("the server does not answer")


def command(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Link:
    def __init__(self, connection):
        self.connection = connection
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = connection.makefile("rb", 1 << 20)

    def answers(self, count):
        for _ in range(count):
            line = self.file.readline()
            if line[:1] == b"$" and line[1:2] != b"-":
                self.file.read(int(line[1:]) + 2)
        return line

    def ask(self, *words):
        self.connection.sendall(command(*words))
        return self.answers(1)

    def size(self):
        return int(self.ask("DBSIZE")[1:])

    def many(self, commands, batch=1000):
        group = []
        for one in commands:
            group.append(one)
            if len(group) == batch:
                self.connection.sendall(b"".join(group))
                self.answers(batch)
                group = []
        if group:
            self.connection.sendall(b"".join(group))
            self.answers(len(group))


def load(link, seconds, make, look):
    """RATE commands a second; `look` after each tick. Returns the slowest tick's time in ms."""
    slowest, begin = 0, time.monotonic()
    for tick in range(int(seconds * TICKS)):
        left = begin + tick / TICKS - time.monotonic()
        if left > 0:
            time.sleep(left)
        data = b"".join(make() for _ in range(RATE // TICKS))
        sent = time.monotonic()
        link.connection.sendall(data)
        link.answers(RATE // TICKS)
        slowest = max(slowest, time.monotonic() - sent)
        look()
    return 1000 * slowest


def mass(link, keys):
    # Loading takes some ten seconds; all deadlines lie in one second well after it.
    first = int(time.time() * 1000) + 6000 + keys // 100
    link.many(command("SET", "key:%d" % i, "value", "PXAT", first + i * 7919 % 1000)
              for i in range(keys))
    print("loaded", link.size(), "keys,", first - int(time.time() * 1000), "ms before the first")
    time.sleep(max(0, first / 1000 - time.time()))
    shown = [0]

    def look():
        passed = time.time() - first / 1000
        if passed >= shown[0]:
            print("%.1f s after the first deadline: %d held" % (passed, link.size()))
            shown[0] += 0.5

    print("slowest answer %.1f ms" % load(link, 4, lambda: command("GET", "key:1"), look))


def churn(link, keys, seconds):
    link.many(command("SET", "long:%d" % i, "value", "EX", 100000 + i) for i in range(keys))
    sent, history, worst, looks = [0], [], [0], [0]

    def make():
        sent[0] += 1
        return command("SET", "short:%d" % sent[0], "value", "PX", 5000)

    def look():
        now = time.monotonic()
        history.append((now, sent[0]))
        while history[0][0] < now - 5:
            if len(history) < 2 or history[1][0] >= now - 5:
                break
            history.pop(0)
        looks[0] += 1
        if history[0][0] < now - 5 and looks[0] % 10 == 0:
            # All sent up to five seconds ago are dead.
            live = keys + sent[0] - history[0][1]
            worst[0] = max(worst[0], link.size() - live)

    slowest = load(link, seconds, make, look)
    print("most dead keys held %d, slowest answer %.1f ms" % (worst[0], slowest))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    server, connection = start(sys.argv[1])
    try:
        link = Link(connection)
        if sys.argv[2] == "mass":
            mass(link, int(sys.argv[3]))
        else:
            churn(link, int(sys.argv[3]), int(sys.argv[4]))
        connection.sendall(command("INFO", "stats"))
        text = connection.recv(1 << 16).decode(errors="replace")
        print(" ".join(line.strip() for line in text.split("\n")
                       if line.startswith(("expire", "expired"))))
    finally:
        server.terminate()
        server.wait()


main()
