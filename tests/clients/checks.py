# SPDX-License-Identifier: BSD-3-Clause
"""What the checks of redis-py behind Sentinels and in a cluster share: waiting, and running all."""
import time
import traceback

import redis

PATIENCE_SECONDS = 60


def await_true(condition, what):
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            if condition():
                return
        except redis.RedisError:
            pass
        assert time.monotonic() < until, f'not within {PATIENCE_SECONDS} s: {what}'
        time.sleep(0.05)


def run_all(client, names, not_over_resp3=()):
    """Runs the functions `check_...` of these names over RESP2 and RESP3; prints the failures and
    last `N passed, N failed`, and returns the exit status."""
    passed = failed = 0
    checks = [f for name, f in names.items() if name.startswith('check_')]
    for protocol in (2, 3):
        for check in checks:
            if protocol == 3 and check in not_over_resp3:
                continue
            try:
                check(protocol)
                passed += 1
            except Exception:
                failed += 1
                print(f'FAIL  {client} RESP{protocol} {check.__name__}')
                print('      ' + traceback.format_exc(limit=-3).strip().replace('\n', '\n      '))
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0
