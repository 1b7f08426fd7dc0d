#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the README's pictures: recorded figures of the lab (docs/figures/lab-*.md) as bars in SVG.

usage: pictures.py --write|--check

A bar is the median of the rounds, its thin line the least and the most; the number is the one that
the table has. The scales are linear and begin at 0. --check says which picture is not what the
tables say: `make generated` writes them, `make lint` compares them.
"""
import os
import re
import sys
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIGURES = os.path.join(ROOT, 'docs/figures')
# The scenario, the heading of its case, the title of the picture, rows of the case's table.
PICTURES = (
    ('eviction-burst', '9,500 idle connections wake at once',
     'Memory is full, and 9,500 idle connections wake at once',
     ('longest gap without replies, ms', 'keys evicted')),
    ('stale-keys', '3 million keys due within one second',
     '3 million keys are due within one second',
     ('dead keys held 1 s after all were due, %', 'until 1 % was held (or the end), s')),
    ('snapshot', 'BGSAVE of ten million keys', 'BGSAVE of ten million keys, under 20,000 writes/s',
     ('longest gap without replies, ms', 'copied on write, MB')),
    ('slow-disk', 'A slow disk: a sync takes three seconds',
     'The append-only file on a disk whose sync takes three seconds',
     ('longest gap without replies, ms', 'p99.9, ms')),
)
COLORS = {'stock 6.2': '#b45309', 'ours, stock profile': '#60a5fa',
          'ours, steady profile': '#1d4ed8'}
WIDTH, LEFT, BAR = 720, 170, 420
CELL = re.compile(r'^([\d.,]+)(?: \[([\d.,]+)\.\.([\d.,]+)\])?$')


def number(text):
    return float(text.replace(',', ''))


def read_case(name, heading):
    """-> ({row: {column: (text, median, least, most)}}, command) of one case of a lab's page."""
    with open(os.path.join(FIGURES, f'lab-{name}.md')) as file:
        page = file.read()
    head, section = page.split(f'\n### {heading}\n')
    section = section.split('\n### ')[0]
    command = re.search(r'^- Command: `([^`]+)`', section, re.M) or \
        re.search(r'^- Command: `([^`]+)`', head, re.M)
    table = [[cell.strip() for cell in line.strip('|').split('|')]
             for line in section.split('\n') if line.startswith('|')]
    rows = {}
    for cells in table[2:]:
        values = {}
        for column, text in zip(table[0][1:], cells[1:]):
            match = CELL.match(text)
            if match:
                values[column] = (match[1], *(number(part or match[1]) for part in match.groups()))
        rows[cells[0]] = values
    return rows, command[1]


def draw_bars(lines, top, label, values):
    """One figure: a heading and a bar a server. Returns where the next one may begin."""
    lines.append(f'<text x="20" y="{top}" font-weight="bold">{escape(label)}</text>')
    most = max(value[3] for value in values.values()) or 1
    top += 10
    for column, color in COLORS.items():
        text, median, least, greatest = values[column]
        low, middle, high = (round(LEFT + BAR * part / most, 1)
                             for part in (least, median, greatest))
        lines += [f'<text x="{LEFT - 10}" y="{top + 13}" text-anchor="end">{column}</text>',
                  f'<rect x="{LEFT}" y="{top + 2}" width="{max(middle - LEFT, 1):.1f}" height="14" '
                  f'fill="{color}"/>',
                  f'<path d="M{low} {top + 9}H{high}" stroke="#111"/>',
                  f'<text x="{max(high, LEFT + 1) + 8:.1f}" y="{top + 13}">{text}</text>']
        top += 20
    return top + 22


def draw(name, heading, title, figures):
    rows, command = read_case(name, heading)
    lines, top = [], 58
    for figure in figures:
        top = draw_bars(lines, top, figure, rows[figure])
    lines.append(f'<text x="20" y="{top - 4}" fill="#555" font-size="11">{escape(command)}</text>')
    top += 8
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" '
        f'height="{top}" font-family="sans-serif" font-size="13">',
        '<!-- SPDX-License-Identifier: BSD-3-Clause -->',
        f'<!-- Drawn by tests/measure/pictures.py from docs/figures/lab-{name}.md -->',
        f'<rect width="{WIDTH}" height="{top}" fill="#fff"/>',
        f'<text x="20" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
        *lines, '</svg>', ''])


def main():
    if sys.argv[1:] not in (['--write'], ['--check']):
        sys.exit(__doc__)
    status = 0
    for name, heading, title, figures in PICTURES:
        path = os.path.join(FIGURES, f'{name}.svg')
        picture = draw(name, heading, title, figures)
        there = None
        if os.path.exists(path):
            with open(path) as file:
                there = file.read()
        if there == picture:
            continue
        if sys.argv[1] == '--write':
            with open(path, 'w') as file:
                file.write(picture)
        else:
            print(f'docs/figures/{name}.svg is not what its table says; '
                  "'make generated' writes it")
            status = 1
    sys.exit(status)


if __name__ == '__main__':
    main()
