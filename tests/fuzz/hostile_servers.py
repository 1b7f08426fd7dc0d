#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""redis-cli, redis-benchmark and redis-lab against servers that answer with anything: random bytes,
replies cut or changed anywhere, lengths that nobody can have, nesting without end, closes at any
byte.

usage: tests/fuzz/hostile_servers.py [--bin FOLDER] [--rounds N] [--seed N]

By hand, with a build that has sanitizers: `make SANITIZER=address`. A tool may refuse, fail and say
why; it may not crash, nor go on for ever once the server is gone, nor take memory for a length that
is only claimed, nor show a terminal what it would obey, where replies are formatted.
Exit status: 0 none did, 1 some did.
"""
import argparse
import os
import random
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# How long a tool may go on after its server has gone: a bound for a slow machine.
PATIENCE_SECONDS = 60
# A server is gone after so many connections, so that nothing tries again for ever.
CONNECTIONS_MAX = 30
SANITIZER_STATUS = 99
FILE_BYTES_MAX = 50_000_000

TOOLS = [
    ["redis-cli", *words] for words in (
        ["get", "k"], ["-3", "hgetall", "h"], ["--csv", "lrange", "l", "0", "-1"],
        ["--no-raw", "info"], ["--scan"], ["--bigkeys"], ["--memkeys"], ["--hotkeys"],
        ["--stat", "-i", "0.01", "-r", "3"], ["--latency", "-i", "0.1"], ["--rdb", "OUT"],
        ["--rdb", "-"], ["--pipe"], ["--pipe", "--pipe-timeout", "1"], ["--replica"],
        ["--eval", "SCRIPT", "k", ",", "a"], ["--ldb", "--eval", "SCRIPT"], ["--lru-test", "10"],
        ["-r", "3", "incr", "n"], ["-x", "set", "k"], ["-a", "p", "--user", "u", "ping"],
        ["-n", "3", "ping"], [], ["-3"], ["-c", "get", "k"],
        ["--quoted-input", "get", '"\\x00"'], ["--memkeys-samples", "5"], ["unsubscribe"],
        ["-3", "--show-pushes", "yes", "subscribe", "c"],
        ["--csv", "--latency", "-i", "0.1"], ["-3", "--stat", "-i", "0.01", "-r", "3"],
        ["subscribe", "c"], ["monitor"], ["-e", "get", "k"],
        ["--latency-dist", "-i", "0.1"], ["--latency-history", "-i", "0.1"])
] + [
    ["redis-benchmark", "-n", "50", "-c", "5", *words] for words in (
        ["-q"], ["-P", "5", "--csv"], ["-3", "--enable-tracking", "-t", "get"],
        ["--threads", "2", "-t", "set"], ["-r", "100", "lpush", "l", "__rand_int__"],
        ["-a", "p", "--user", "u", "-t", "ping"], ["--dbnum", "3", "-t", "get"],
        ["--rate", "1000", "--duration", "1", "-t", "get"], ["-k", "0", "-t", "get"])
] + [
    ["redis-lab", "watch", "--csv", "--interval", "100", "--samples", "3", *words] for words in (
        [], ["-3"], ["-a", "p", "--user", "u"], ["--probe-interval", "1"])
]

REPLIES = [
    b"+OK\r\n", b"+PONG\r\n", b"-ERR no\r\n", b"-NOAUTH x\r\n", b":1\r\n",
    b":-9223372036854775808\r\n",
    b"$-1\r\n", b"*-1\r\n", b"_\r\n", b"$3\r\nabc\r\n", b"$0\r\n\r\n", b"*0\r\n", b"#t\r\n",
    b",1.5\r\n", b",nan\r\n", b"(123456789012345678901234567890\r\n", b"=7\r\ntxt:abc\r\n",
    b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n", b"*2\r\n$2\r\n17\r\n*0\r\n",
    b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n", b"~2\r\n:1\r\n:2\r\n",
    b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n",
    b"|1\r\n+key\r\n:1\r\n+OK\r\n", b"$11\r\nused_memory\r\n",
    b"+FULLRESYNC " + b"a" * 40 + b" 0\r\n",
    b"$20\r\nREDIS0009\xff" + b"\0" * 10 + b"\r\n",
    b"$EOF:" + b"e" * 40 + b"\r\n" + b"d" * 90 + b"e" * 40,
    b"$60\r\n# Keyspace\r\ndb0:keys=5,expires=0,avg_ttl=0\r\nused_memory:1\r\n\r\n",
    b"$90\r\n" + b"db0:keys=9223372036854775807\r\n" * 3 + b"\r\n",
    b"$45\r\nused_memory:18446744073709551616\r\nloading:-1\r\n",
    b"-MOVED 1 127.0.0.1:1\r\n", b"-ASK 2 :0\r\n", b"-MOVED 3 ::\r\n", b"-MOVED 4 \"\r\n",
    b"-MOVED 5 " + b"h" * 300 + b":1\r\n", b"+\x1b]0;title\x07\r\n",
    b"-\x1b[2J\x9b\xc2\x9b\r\n",
    b"(1\x1b[2J\r\n", b",1\x07\r\n", b"*1\r\n+\x00\r\n", b"!4\r\nE \x1bc\r\n",
    b"=8\r\ntxt:\x1b[2J\r\n", b"*2\r\n$0\r\n\r\n*1\r\n$-1\r\n",
    b"*2\r\n$1\r\n0\r\n*1\r\n*1\r\n:1\r\n",
    b"*3\r\n+message\r\n+c\r\n+hello\r\n", b"*1\r\n*1\r\n*1\r\n+deep\r\n",
]
# Modes whose output is a snapshot, or for a terminal's colours, or not formatted.
UNFORMATTED = {"--rdb", "--csv", "--latency-dist"}
OBEYED = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")
# Lines as people may type them.
LINES = [b"get x", b'set "a', b"set 'b\\x'", b'"\\xff\\x00" y', b"select 99999999999", b"3 get x",
         b"99999999999999999999 ping", b"help " + b"x" * 500, b"connect h 99999", b":set x",
         b"\0get\0", b"\xff\xfe", b"", b" ", b"x" * 70000, b'"' * 1000, b"hello 3", b"reset",
         b"unsubscribe", b"subscribe a", b"shutdown", b"eval 'return 1' 0", b"quit now"]
LENGTHS = [b"-1", b"-2", b"0", b"5", b"2147483647", b"2147483648", b"9223372036854775807",
           b"99999999999999999999", b"-9223372036854775808", b"1e9", b"", b"x", b"00000000007"]


def hostile_bytes(draw):
    """What a server says at once, or in answer to something."""
    way = draw.randrange(7)
    if way == 0:
        return draw.randbytes(draw.randrange(400))
    if way == 1:
        return draw.choice([b"$", b"*", b"%", b"~", b">", b"|", b"=", b"!", b":"]) + \
            draw.choice(LENGTHS) + b"\r\n" + draw.randbytes(draw.randrange(30))
    if way == 2:
        return draw.choice([b"*1\r\n", b"%1\r\n", b"|1\r\n", b">1\r\n"]) * draw.randrange(1, 30000)
    text = b"".join(draw.choice(REPLIES) for _ in range(draw.randrange(1, 20)))
    if way == 3:
        at = draw.randrange(len(text))
        return text[:at] + draw.randbytes(1) + text[at + 1:]
    if way == 4:
        return text[:draw.randrange(len(text))]
    return text


class Hostile(threading.Thread):
    """One server, for some connections."""

    def __init__(self, seed):
        super().__init__(daemon=True)
        self.draw = random.Random(seed)
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]

    def run(self):
        for _ in range(self.draw.choice((1, 2, CONNECTIONS_MAX))):
            try:
                client = self.listener.accept()[0]
            except OSError:
                break
            draw = random.Random(self.draw.random())
            threading.Thread(target=self.serve, args=(client, draw), daemon=True).start()
        self.listener.close()

    def serve(self, client, draw):
        try:
            with client:
                self.say(client, draw)
        except OSError:
            pass  # the tool has had enough

    def say(self, client, draw):
        """Good replies for a while, so that what comes later is met, too; then anything."""
        client.settimeout(0.3)
        good = draw.choice((0, 1, 5, 50))
        for number in range(draw.choice((0, 1, 3, 30)) + good):
            if draw.random() < 0.9:
                try:
                    if not client.recv(65536):
                        return
                except socket.timeout:
                    pass
            said = draw.choice(REPLIES) if number < good else hostile_bytes(draw)
            step = len(said) if draw.random() < 0.7 else draw.randrange(1, 50)
            for at in range(0, min(len(said), 200 * step), max(step, 1)):
                client.sendall(said[at:at + step])
        if draw.random() < 0.3:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def bounded():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))


def one(folder, seed, home):
    """What went wrong, or None."""
    draw = random.Random(seed)
    server = Hostile(draw.random())
    tool, *words = draw.choice(TOOLS)
    words = [{"OUT": f"{home}/out", "SCRIPT": f"{home}/script.lua"}.get(word, word)
             for word in words]
    given = draw.choice((b"", b"\n".join(draw.choices(LINES, k=10)),
                         b"ping\r\nget k\nset \"a\\x00b\" c\nmulti\nexec\n" * 3,
                         draw.randbytes(3000), b"*1\r\n$4\r\nPING\r\n" * 50, b"a" * 100000))
    server.start()
    command = [os.path.join(folder, tool), *words]
    # redis-cli's own options come before the command.
    at = 2 if tool == "redis-lab" else 1
    command[at:at] = ["-p", str(server.port)]
    formatted = tool == "redis-cli" and not UNFORMATTED & set(words)
    environment = {**os.environ, "HOME": home, **({"FAKETTY": "1"} if formatted else {}),
                   "ASAN_OPTIONS": f"exitcode={SANITIZER_STATUS}:"
                   "allocator_may_return_null=0:max_allocation_size_mb=2000",
                   "UBSAN_OPTIONS": f"exitcode={SANITIZER_STATUS}",
                   "TSAN_OPTIONS": f"exitcode={SANITIZER_STATUS}"}
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=PATIENCE_SECONDS,
                              env=environment, preexec_fn=bounded, cwd=home)
    except subprocess.TimeoutExpired:
        return f"seed {seed}: goes on: {' '.join(command)}"
    finally:
        server.listener.close()
    if done.returncode < 0 or done.returncode == SANITIZER_STATUS or b"Sanitizer" in done.stderr:
        return (f"seed {seed}: status {done.returncode}: {' '.join(command)}\n"
                f"{done.stderr[-3000:].decode('latin-1')}")
    # What these two print is made of figures and of reasons.
    text = done.stdout if formatted else done.stdout + done.stderr if tool != "redis-cli" else b""
    shown = OBEYED.search(text)
    if shown:
        return (f"seed {seed}: shows what a terminal obeys: {' '.join(command)}\n"
                f"{text[max(shown.start() - 100, 0):shown.end() + 100]!r}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/address/bin"))
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    config = parser.parse_args()
    print(f"seed {config.seed}", flush=True)
    found = 0
    with tempfile.TemporaryDirectory(prefix="evenkeel-hostile-") as home:
        with open(f"{home}/script.lua", "w", encoding="ascii") as script:
            script.write("local a = redis.call('get', KEYS[1])\nreturn a\n")
        for seed in range(config.seed, config.seed + config.rounds):
            problem = one(os.path.abspath(config.bin), seed, home)
            if problem:
                found += 1
                print(problem, flush=True)
    print(f"{config.rounds} rounds, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
