# SPDX-License-Identifier: BSD-3-Clause
"""Namespaces of a test's own, in which each process has an address, so that a link can be cut in
one direction, and a small disk. They need unshare and iproute2, and root or a kernel that lets
users make namespaces."""
import os
import signal
import subprocess
import sys
import threading

INSIDE = "EVENKEEL_NAMESPACES_INSIDE"
NETWORK = "10.77.0"
# Clients have an address of their own; the links of clients are never cut.
WRITER_HOST = f"{NETWORK}.1"
FIRST_HOST = 10
# A table of routes that lead into a cable whose other end nobody reads.
NOWHERE = "11"
# The rules of cuts come before the one that finds every local address.
CUT_PREFERENCE, LOCAL_PREFERENCE = "100", "200"


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def host(place):
    """The address of the process of this number, counted from 0."""
    return f"{NETWORK}.{FIRST_HOST + place}"


def enter(hosts):
    """Starts the program again, as root of namespaces of its own with so many addresses; all that
    it starts ends with it. Returns inside."""
    if INSIDE in os.environ:
        # The first process of a namespace has no default for signals.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
        lay_network(hosts)
        return
    user = ["-r"] if os.geteuid() else []
    words = ["unshare", *user, "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc", "--",
             sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]]
    os.environ[INSIDE] = "1"
    try:
        os.execvp(words[0], words)
    except OSError as error:
        sys.exit(f"{sys.argv[0]}: unshare: {error}")


def lay_network(hosts):
    run("ip", "link", "set", "lo", "up")
    run("ip", "address", "add", f"{WRITER_HOST}/32", "dev", "lo")
    for place in range(hosts):
        run("ip", "address", "add", f"{host(place)}/32", "dev", "lo")
    run("ip", "link", "add", "nowhere", "type", "veth", "peer", "name", "end")
    run("ip", "link", "set", "nowhere", "arp", "off", "up")
    run("ip", "link", "set", "end", "up")
    run("ip", "route", "add", "table", NOWHERE, "default", "dev", "nowhere")
    run("ip", "rule", "add", "pref", LOCAL_PREFERENCE, "lookup", "local")
    run("ip", "rule", "delete", "pref", "0")
    check_cuts()


def check_cuts():
    """A cut that cuts nothing would let every round pass."""
    source, to = host(0), host(1)
    cuts = Cuts()
    for by, expected in ((1, True), (-1, False)):
        cuts.change([(source, to)], by)
        route = subprocess.run(["ip", "route", "get", to, "from", source], check=True,
                               stdout=subprocess.PIPE, encoding="ascii").stdout
        if ("dev nowhere" in route) != expected:
            sys.exit(f"{sys.argv[0]}: links cannot be cut here: {route}")


class Cuts:
    """Which packets are lost: a count for each direction, because cuts may overlap."""

    def __init__(self):
        self.counts, self.lock = {}, threading.Lock()

    def change(self, directions, by):
        with self.lock:
            for source, to in directions:
                before = self.counts.get((source, to), 0)
                self.counts[source, to] = before + by
                if (before == 0) != (before + by == 0):
                    run("ip", "rule", "add" if by > 0 else "delete", "pref", CUT_PREFERENCE,
                        "from", source, "to", to, "lookup", NOWHERE)


def mount_disk(folder, size):
    """Makes the folder, a disk of this size (a text as mount takes it)."""
    os.mkdir(folder)
    run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder)


def fill_disk(folder):
    with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def free_disk(folder):
    os.unlink(os.path.join(folder, "filler"))
