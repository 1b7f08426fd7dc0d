#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Three Sentinels that watch a primary, called m, and two replicas: for tests of clients.

usage: with_sentinels.py SERVER COMMAND...

Starts them all from one redis-server, runs COMMAND with the host and the three ports of the
Sentinels behind it, and ends them. Exit status: that of COMMAND.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../crash"))

from processes import LOCAL  # noqa: E402
from sentinel_group import local_group  # noqa: E402

QUORUM, DOWN_AFTER_MS = 2, 1000
# The next failover begins after twice this time, and the clients' tests make two.
FAILOVER_TIMEOUT_MS = 3000


def main():
    program = (os.path.abspath(sys.argv[1]), True)
    with tempfile.TemporaryDirectory() as home:
        group = local_group([program] * 3, [program] * 3, home)
        try:
            group.start(QUORUM, DOWN_AFTER_MS, FAILOVER_TIMEOUT_MS,
                        ("repl-diskless-sync-delay 0",))
            ports = [str(sentinel.address[1]) for sentinel in group.sentinels]
            return subprocess.run([*sys.argv[2:], LOCAL, *ports], check=False).returncode
        finally:
            group.end()


if __name__ == "__main__":
    sys.exit(main())
