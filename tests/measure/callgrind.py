# SPDX-License-Identifier: BSD-3-Clause
"""Servers under callgrind: their instructions between two moments."""
import glob
import os
import shutil
import subprocess
import time

from servers import MeasureError

# Callgrind counts from the start, or from `instrumentation on` where that costs too much.
PREFIX = ['valgrind', '--tool=callgrind', '--callgrind-out-file=callgrind.out']
SETTLE_S = 0.03  # until the server sleeps after its last reply


def demand():
    """Raises where the tools are missing."""
    for tool in ('valgrind', 'vgdb'):
        if not shutil.which(tool):
            raise MeasureError(f'{tool} is missing: sh deps/install.sh bench')


def order(server, text):
    """One of callgrind's monitor commands: zero, dump, instrumentation on."""
    time.sleep(SETTLE_S)
    done = subprocess.run(['vgdb', f'--pid={server.pid}', *text.split()], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    if done.returncode:
        raise MeasureError(f'vgdb {text}: {done.stdout}')


def take_total(server, keep=None):
    """The instructions since the counters were zeroed. The dump is moved to `keep`, or removed."""
    order(server, 'dump')
    for path in glob.glob(os.path.join(server.folder, 'callgrind.out*')):
        with open(path) as file:
            totals = [line for line in file if line.startswith('totals:')]
        if totals:
            shutil.move(path, keep) if keep else os.remove(path)
            return int(totals[0].split()[1])
    raise MeasureError('callgrind wrote no totals')
