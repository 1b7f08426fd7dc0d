#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs test suites one after the other and adds up what they say.

usage: total.py SUITE...      suites: lint units tcl clients

A suite is a program whose last line is "N passed, N failed". One that ends with an error without
a failed test, that says nothing, or that is missing counts as one failure. Our own last line is the
sum in the same form; the status is not 0 if a test failed or none ran. Before it stands how many
tests were skipped because the machine stole time from them (tests/support/stolen.tcl).
"""
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get('EVENKEEL_BIN', os.path.join(ROOT, 'build/bin'))
SUITES = {
    'lint': ('layers, circles, headers, style, format, generated files', ['tests/lint/run']),
    'units': ('C unit tests', ['tests/lint/units.py']),
    'tcl': ('Tcl suite', ['tests/run', '--server', os.path.join(BIN, 'redis-server')]),
    'clients': ('other clients',
                ['tests/clients/run', '--server', os.path.join(BIN, 'redis-server')]),
}
TALLY = re.compile(r'^(\d+) passed, (\d+) failed')
STOLEN = 'skipped: the machine stole '


def run_suite(command):
    """Shows the suite's output as it comes; returns (passed, failed, skipped for stolen time)."""
    path = command[0]
    if not os.access(os.path.join(ROOT, path), os.X_OK):
        print(f'{path} is missing or not executable')
        return 0, 1, 0
    # Bytes, as the suite has them: the locale has no part in what is shown.
    process = subprocess.Popen([os.path.join(ROOT, path)] + command[1:], cwd=ROOT,
                               env=dict(os.environ, PYTHONUTF8='1'),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    last, stolen = '', 0
    for line in process.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
        text = line.decode('utf-8', 'replace')
        stolen += text.startswith(STOLEN)
        last = text if text.strip() else last
    status = process.wait()
    tally = TALLY.match(last)
    if not tally:
        print(f'{path}: ended (status {status}) without its tally')
        return 0, 1, stolen
    passed, failed = int(tally[1]), int(tally[2])
    if failed == 0 and status != 0:
        print(f'{path}: ended with status {status}, though no test failed')
        failed = 1
    if passed + failed == 0:
        print(f'{path}: ran no test')
        failed = 1
    return passed, failed, stolen


def main():
    names = sys.argv[1:]
    if not names or any(name not in SUITES for name in names):
        sys.exit(__doc__)
    rows = []
    for name in names:
        title, command = SUITES[name]
        print(f'=== {title} ({command[0]})', flush=True)
        start = time.monotonic()
        passed, failed, stolen = run_suite(command)
        rows.append((title, passed, failed, time.monotonic() - start, stolen))
    print('===')
    for title, passed, failed, seconds, _ in rows:
        print(f'{title:50s} {passed:5d} passed {failed:4d} failed {seconds:7.1f} s')
    passed = sum(row[1] for row in rows)
    failed = sum(row[2] for row in rows)
    stolen = sum(row[4] for row in rows)
    if stolen:
        print(f'{stolen} skipped because the machine stole time')
    print(f'{passed} passed, {failed} failed', flush=True)
    sys.exit(1 if failed or not passed else 0)


if __name__ == '__main__':
    main()
