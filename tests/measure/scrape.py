#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What scrapes of metrics-port cost, and that Prometheus' own parser reads every one of them.

usage: tests/measure/scrape.py [--server PATH] [--scrapes N] [--cpu-scrapes N] [--blocks N]
                              [--seconds S] [--rate N]

Starts a server, puts load on it (redis-benchmark: SET, GET, LPUSH and more, without an end), and
scrapes it N times, one after the other. Each page is read by prometheus_client.parser where that
Python package is installed (else the run says so), families must not come twice, and counters must
not fall. Then, without the load, the server's CPU a scrape is taken, and blocks with `--rate`
scrapes a second and blocks with none alternate, while one connection sends a GET each millisecond;
their p99s are compared within each pair.
"""

import argparse
import multiprocessing
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Client:
    """A connection that sends inline commands and reads what comes with each reply."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def call(self, line):
        self.socket.sendall(line.encode() + b"\r\n")
        head = self.file.readline()
        if head[:1] == b"$" and head != b"$-1\r\n":
            return self.file.read(int(head[1:]) + 2)[:-2].decode()
        return head.decode().strip()

    def figures(self):
        lines = self.call("INFO everything").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)


def scrape(port):
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        parts = []
        while part := s.recv(1 << 16):
            parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    if (
        not head.startswith(b"HTTP/1.1 200 ")
        or b"Content-Length: %d\r\n" % len(body) not in head + b"\r\n"
    ):
        raise SystemExit(f"no whole page: {head!r} and {len(body)} bytes")
    return body.decode("ascii")


def check_page(text, counters):
    """Reads a page, and compares its counters with those of the page before."""
    seen = set()
    for family in text_string_to_metric_families(text):
        if family.name in seen:
            raise SystemExit(f"{family.name} comes twice")
        seen.add(family.name)
        for s in family.samples if family.type == "counter" else []:
            key = s.name, tuple(sorted(s.labels.items()))
            if s.value < counters.get(key, 0):
                raise SystemExit(f"{key} falls from {counters[key]} to {s.value}")
            counters[key] = s.value
    return len(seen)


def scrape_under_load(options, client, port, metrics):
    load = [
        str(BUILD / "bin/redis-benchmark"),
        "-p",
        str(port),
        "-l",
        "-q",
        "-c",
        "20",
        "-P",
        "4",
        "-r",
        "10000",
    ]
    with subprocess.Popen(load, stdout=subprocess.DEVNULL) as benchmark:
        try:
            time.sleep(2)
            counters, families, size, before = {}, 0, 0, client.figures()
            for _ in range(options.scrapes):
                text = scrape(metrics)
                size = len(text)
                if text_string_to_metric_families:
                    families = check_page(text, counters)
            after = client.figures()
        finally:
            benchmark.kill()
    count = int(after["metrics_scrapes"]) - int(before["metrics_scrapes"])
    spent = int(after["metrics_usec_total"]) - int(before["metrics_usec_total"])
    commands = int(after["total_commands_processed"]) - int(before["total_commands_processed"])
    read = (
        f"read by prometheus_client, {families} families"
        if families
        else "prometheus_client is not installed"
    )
    print(f"{count} scrapes beside {commands} commands: {read}, {size} bytes the last")
    print(
        f"main thread: {spent / count:.0f} us a scrape, "
        f"longest step {after['metrics_step_usec_max']} us"
    )


def measure_cpu(options, client, metrics):
    """CPU of the server a scrape, which other programs of the machine hardly change."""

    def spent():
        figures = client.figures()
        return sum(float(figures["used_cpu_" + kind]) for kind in ("user", "sys"))

    size, before = 0, spent()
    for _ in range(options.cpu_scrapes):
        size = len(scrape(metrics))
    spent_usec = (spent() - before) / options.cpu_scrapes * 1e6
    print(f"CPU of the server without load: {spent_usec:.0f} us a scrape of {size} bytes")


def scrape_on(port, rate):
    while True:
        scrape(port)
        time.sleep(1 / rate)


def measure_block(client, metrics, seconds, rate):
    """The p99 of GETs in microseconds, with so many scrapes a second beside them."""
    scraper = multiprocessing.Process(target=scrape_on, args=(metrics, rate)) if rate else None
    if scraper:
        scraper.start()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.perf_counter()
        client.call("GET key")
        times.append((time.perf_counter() - begin) * 1e6)
        time.sleep(0.001)
    if scraper:
        scraper.kill()
        scraper.join()
    return statistics.quantiles(times, n=100)[98]


def compare(options, client, metrics):
    ratios, without = [], []
    for block in range(options.blocks):
        order = (0, options.rate) if block % 2 else (options.rate, 0)
        p99 = {rate: measure_block(client, metrics, options.seconds, rate) for rate in order}
        ratios.append(p99[options.rate] / p99[0])
        without.append(p99[0])
    print(
        f"GET p99 with {options.rate} scrapes a second by that without: "
        f"median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f} "
        f"of {len(ratios)} pairs; without {statistics.median(without):.0f} us"
    )


def main():
    parser = argparse.ArgumentParser(description="What scrapes of metrics-port cost.")
    parser.add_argument("--server", default=str(BUILD / "bin/redis-server"))
    parser.add_argument("--scrapes", type=int, default=10000)
    parser.add_argument("--cpu-scrapes", type=int, default=500)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rate", type=int, default=10)
    options = parser.parse_args()
    port, metrics = free_port(), free_port()
    words = [
        "--port",
        str(port),
        "--metrics-port",
        str(metrics),
        "--save",
        "",
        "--bind",
        "127.0.0.1",
    ]
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen(
            [options.server, *words, "--dir", folder], stdout=subprocess.DEVNULL
        ) as server:
            try:
                for _ in range(100):
                    try:
                        client = Client(port)
                        break
                    except OSError:
                        time.sleep(0.1)
                client.call("SET key value")
                if options.scrapes:
                    scrape_under_load(options, client, port, metrics)
                if options.cpu_scrapes:
                    measure_cpu(options, client, metrics)
                if options.blocks:
                    compare(options, client, metrics)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
