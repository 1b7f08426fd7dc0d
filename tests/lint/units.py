#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the C unit tests that make has built and counts their tests.

usage: units.py [PROGRAM...]     (default: $UNITS, else all under $EVENKEEL_OUT/tests)

Two programs more run at once than there are processors, because some programs mostly wait for a
process or a timer. Each program has a scratch folder of its own, and speaks TAP. A program that
crashes, or ends with an error and no failed test, counts as one failure; its output is shown then.
SEED in the environment reaches the random tests.
"""
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.environ.get('EVENKEEL_OUT', os.path.join(ROOT, 'build/release'))
WAITING = 2  # programs at once beyond the number of processors
HANG_SECONDS = 600  # not a limit on speed: only to end a test that would never end
TAP = re.compile(r'^(not ok|ok)\b[ \d]*(?:-\s*)?(.*)$')


running = set()  # process groups under way


def sources_without_program():
    """Test files that were not built, where all were asked for."""
    folder = os.path.join(ROOT, 'tests/c')
    for path in sorted(glob.glob(os.path.join(folder, '*/test_*.c'))):
        program = os.path.join(OUT, 'tests', os.path.relpath(path, folder)[:-2])
        if not os.path.exists(program):
            yield os.path.relpath(path, ROOT)


def end_group(group):
    """Ends a program and all that it has forked."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def interrupted(_number, _frame):
    for group in list(running):
        end_group(group)
    os._exit(130)


def run_program(path):
    """Returns (name, passed, skipped, list of failures, output, seconds)."""
    name = os.path.relpath(path, os.path.join(OUT, 'tests'))
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT='TAP')
    environment.setdefault('UBSAN_OPTIONS', 'print_stacktrace=1')
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix='evenkeel-unit-') as scratch, \
            tempfile.TemporaryFile() as captured:
        # A group of its own, so that what a test has forked ends with it.
        process = subprocess.Popen([os.path.abspath(path)], cwd=scratch, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=captured,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        running.add(process.pid)
        try:
            status = process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            status = f'none, stopped after {HANG_SECONDS} s'
        end_group(process.pid)
        process.wait()
        running.discard(process.pid)
        captured.seek(0)
        output = captured.read().decode(errors='replace')
    results = [TAP.match(line) for line in output.splitlines()]
    results = [(match[1], match[2]) for match in results if match]
    # cmocka 1.1 reports a skipped test as "not ok N # SKIP name".
    skipped = sum(1 for _, title in results if title.startswith('# SKIP'))
    failures = [title for word, title in results
                if word == 'not ok' and not title.startswith('# SKIP')]
    passed = sum(1 for word, title in results if word == 'ok' and not title.startswith('# SKIP'))
    if status != 0 and not failures:
        failures.append(f'ended with status {status} and no failed test')
    if not results and not failures:
        failures.append('printed no result')
    return name, passed, skipped, failures, output, time.monotonic() - start


def main():
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    programs = sys.argv[1:] or os.environ.get('UNITS', '').split()
    missing = []
    if not programs:
        programs = [path for path in sorted(glob.glob(os.path.join(OUT, 'tests/*/test_*')))
                    if os.access(path, os.X_OK) and
                    os.path.exists(os.path.join(ROOT, 'tests/c', os.path.relpath(
                        path, os.path.join(OUT, 'tests')) + '.c'))]
        missing = list(sources_without_program())
    passed = failed = 0
    for path in missing:
        print(f'FAIL {path}: not built')
        failed += 1
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() + WAITING) as pool:
        for name, good, skipped, failures, output, seconds in pool.map(run_program, programs):
            passed += good
            failed += len(failures)
            if failures:
                print(output, end='' if output.endswith('\n') else '\n')
            note = f', {skipped} skipped' if skipped else ''
            print(f'{"FAIL" if failures else "ok  "} {name}: {good} passed{note} ({seconds:.1f} s)')
            for title in failures:
                print(f'     failed: {title}')
            sys.stdout.flush()
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed or not passed else 0)


if __name__ == '__main__':
    main()
