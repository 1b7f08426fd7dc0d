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
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from servers import Server, encode  # noqa: E402

RATE = 20000
TICKS = 200  # a second; each tick sends RATE / TICKS commands at once
FILL_BATCH = 1000


def load(wire, seconds, make, look):
    """RATE commands a second; `look` after each tick. Returns the slowest tick's time in ms."""
    slowest, begin = 0, time.monotonic()
    for tick in range(int(seconds * TICKS)):
        left = begin + tick / TICKS - time.monotonic()
        if left > 0:
            time.sleep(left)
        requests = [make() for _ in range(RATE // TICKS)]
        sent = time.monotonic()
        wire.many(requests, len(requests))
        slowest = max(slowest, time.monotonic() - sent)
        look()
    return 1000 * slowest


def mass(wire, keys):
    # Loading takes some ten seconds; all deadlines lie in one second well after it.
    first = int(time.time() * 1000) + 6000 + keys // 100
    wire.many((encode(["SET", "key:%d" % i, "value", "PXAT", first + i * 7919 % 1000])
               for i in range(keys)), FILL_BATCH)
    left = first - int(time.time() * 1000)
    print("loaded", wire.command("DBSIZE"), "keys,", left, "ms before the first")
    time.sleep(max(0, first / 1000 - time.time()))
    shown = [0]

    def look():
        passed = time.time() - first / 1000
        if passed >= shown[0]:
            print("%.1f s after the first deadline: %d held" % (passed, wire.command("DBSIZE")))
            shown[0] += 0.5

    print("slowest answer %.1f ms" % load(wire, 4, lambda: encode(["GET", "key:1"]), look))


def churn(wire, keys, seconds):
    wire.many((encode(["SET", "long:%d" % i, "value", "EX", 100000 + i]) for i in range(keys)),
              FILL_BATCH)
    sent, history, worst, looks = [0], [], [0], [0]

    def make():
        sent[0] += 1
        return encode(["SET", "short:%d" % sent[0], "value", "PX", 5000])

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
            worst[0] = max(worst[0], wire.command("DBSIZE") - live)

    slowest = load(wire, seconds, make, look)
    print("most dead keys held %d, slowest answer %.1f ms" % (worst[0], slowest))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    with Server("server", os.path.abspath(sys.argv[1])) as server:
        if sys.argv[2] == "mass":
            mass(server.wire, int(sys.argv[3]))
        else:
            churn(server.wire, int(sys.argv[3]), int(sys.argv[4]))
        fields = server.wire.info("stats").items()
        print(" ".join(f"{name}:{value}" for name, value in fields
                       if name.startswith(("expire", "expired"))))


if __name__ == '__main__':
    main()
