# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's figures as rows of a table with their targets, and a part's section."""
import statistics

import report


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


def section(title, config, rows, notes):
    """A part as Markdown."""
    lines = [f'## {title}', ''] + [f'- {line}' for line in report.facts(config)]
    lines += [f'- {note}' for note in notes]
    return '\n'.join(lines + ['', table(rows), '', verdict_line(rows)]).rstrip() + '\n'
