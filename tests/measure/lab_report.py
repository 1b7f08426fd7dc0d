# SPDX-License-Identifier: BSD-3-Clause
"""What the lab tells: results.csv, a self-contained report.html, and a section of Markdown.

All three are made from the same list of results: dictionaries with scenario, case, variant, round
and figures.
"""
import csv
import html
import os
import statistics

import figures
import plots
import report

VARIANTS = {'stock': 'stock 6.2', 'ours-stock': 'ours, stock profile',
          'ours-steady': 'ours, steady profile', 'unlimited': 'ours, no limit'}
SERVER_WAIT_PERCENT_MAX = 3
STYLE = '''
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1320px; margin: 2em auto; padding: 0 1em;
       color: #222 }
h2 { margin-top: 2.2em; border-bottom: 1px solid #ccc } svg { width: 100%; height: auto }
table { border-collapse: collapse; font-size: 13px } td, th { padding: 2px 10px; text-align: right }
td:first-child, th:first-child { text-align: left } tr:nth-child(even) { background: #f5f5f5 }
.met { color: #1d7a46 } .missed { color: #b03020; font-weight: bold } .note { color: #777 }
small { color: #777 } .facts { color: #555; font-size: 13px }
'''


def values(results, case, variant, figure):
    return [result['figures'][figure] for result in results
            if result['case'] == case and result['variant'] == variant
            and figure in result['figures']]


def variants_of(results):
    return list(dict.fromkeys(result['variant'] for result in results))


def form(value):
    if value != value:
        return 'n/a'
    if abs(value) >= 1000:
        return f'{value:,.0f}'
    return f'{value:.3g}' if abs(value) < 100 else f'{value:.4g}'


def label(case, variant):
    return case.get('reference-label', VARIANTS[variant]) if variant == 'unlimited' \
        else VARIANTS[variant]


def middle(found):
    """The median with the least and the most, as text."""
    if not found:
        return '', ''
    text = form(statistics.median(found))
    spread = f'{form(min(found))}..{form(max(found))}' if len(found) > 1 else ''
    return text, spread


def doubts(results, case):
    """Sentences on what disturbed a case's runs; none for runs to be trusted."""
    mine, found = [result for result in results if result['case'] == case['name']], []
    if any(result['late'] for result in mine):
        found.append('The load itself was late by over 5 ms for more than 0.1 % of its requests in '
                     'at least one run, three times over: too busy a machine.')
    hogged = any(event['do'] in ('hog', 'join') or figures.saves(event)
                 for phase in case['phase'] for event in phase['event'])
    waits = [result['figures'].get('server waited for its core, %', 0) for result in mine]
    if waits and max(waits) > SERVER_WAIT_PERCENT_MAX and not hogged:
        found.append(f'Another program ran on the server\'s core: up to {form(max(waits))} % of a '
                     'run the server waited for it. These figures compare nothing; run it again on '
                     'a quiet machine.')
    return found


def judge(results, case, target):
    """(text, met or None) of one target."""
    name = case['name']
    found = values(results, name, target['variant'], target['figure'])
    least = 'at-least' in target or target.get('sense') == 'at-least'
    sign, bound = ('at least' if least else 'at most',
                   target.get('at-least', target.get('at-most')))
    text = f'{label(case, target["variant"])}: {target["figure"]} {sign} '
    if 'of' in target:
        figure, of_case = (target.get('of-figure', target['figure']), target.get('of-case', name))
        factor = f'{target["factor"]:g} x {label(case, target["of"])}'
        told = [text for text in (target.get('of-figure'), target.get('of-case')) if text]
        factor += f' ({", ".join(told)})' if told else ''
        other = values(results, of_case, target['of'], figure)
        if not other:
            return text + factor, None
        bound = target['factor'] * statistics.median(other)
        bound = max(bound, target.get('or-at-most', bound))
        text += f'{factor} = '
    text += form(bound)
    if not found:
        return text, None
    value = statistics.median(found)
    return (f'{text}: {form(value)}',
            value >= bound if least else value <= bound)


def figure_rows(results, case, chosen=()):
    """[figure, (median, spread) a variant...] of the chosen figures, else of all that any has."""
    mine = [result for result in results if result['case'] == case['name']]
    names = list(dict.fromkeys(name for result in mine for name in result['figures']))
    order = [name for name in chosen if name in names] or names
    return [(name, [middle(values(mine, case['name'], variant, name))
                    for variant in variants_of(results)]) for name in order]


def facts(config):
    return report.facts(config) + [
        f'{config.rounds} round(s), servers in turn, on one core, the load on another; figures are '
        'medians with the least and the most']


# ---- HTML ----

def html_table(results, case):
    head = ''.join(f'<th>{label(case, v)}</th>' for v in variants_of(results))
    lines = [f'<table><tr><th></th>{head}</tr>']
    for name, cells in figure_rows(results, case):
        columns = ''.join(f'<td>{text} <small>{spread}</small></td>' for text, spread in cells)
        lines.append(f'<tr><td>{html.escape(name)}</td>{columns}</tr>')
    return '\n'.join(lines + ['</table>'])


def html_targets(results, case):
    lines = ['<ul>']
    for target in case['target']:
        text, met = judge(results, case, target)
        kind = {True: 'met', False: 'missed', None: 'note'}[met]
        word = {True: 'met', False: 'missed', None: 'not measured'}[met]
        lines.append(f'<li>{html.escape(text)} <span class="{kind}">{word}</span></li>')
    return '\n'.join(lines + ['</ul>']) if case['target'] else ''


def shown_rounds(results, case, loaded):
    """For each variant the round whose longest gap is the median one, with its data."""
    shown = []
    for variant in variants_of(results):
        mine = [result for result in results
                if result['case'] == case['name'] and result['variant'] == variant]
        if not mine or (variant == 'unlimited' and 'reference-label' not in case):
            continue
        mine.sort(key=lambda result: result['figures']['longest gap without replies, ms'])
        chosen = mine[(len(mine) - 1) // 2]
        shown.append((label(case, variant), *loaded(chosen)))
    return shown


def write_html(path, scenario, results, missing, config, loaded):
    parts = [f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>'
             f'{html.escape(scenario["title"])}</title><style>{STYLE}</style>',
             f'<h1>{html.escape(scenario["title"])}</h1>',
             f'<p>{html.escape(scenario["story"])}</p>', '<p class="facts">',
             '<br>'.join(html.escape(line) for line in facts(config)), '</p>']
    for case in scenario['cases']:
        parts.append(f'<h2>{html.escape(case["title"])}</h2>'
                     f'<p>{html.escape(case.get("story", ""))}</p>')
        for variant, reason in missing.get(case['name'], {}).items():
            parts.append(f'<p class="missed">{label(case, variant)}: not measured: '
                         f'{html.escape(reason)}</p>')
        shown = shown_rounds(results, case, loaded)
        if shown:
            png = os.path.join(os.path.dirname(path), f'{case["name"]}.png')
            parts.append(plots.case_figure(case, shown, png))
        parts += [f'<p class="missed">{html.escape(doubt)}</p>'
                  for doubt in doubts(results, case)]
        parts += [html_targets(results, case), html_table(results, case)]
    with open(path, 'w') as file:
        file.write('\n'.join(parts) + '</html>\n')


# ---- CSV and Markdown ----

def write_csv(path, scenario, results):
    with open(path, 'w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['scenario', 'case', 'variant', 'round', 'load_late', 'figure', 'value'])
        for result in results:
            for name, value in result['figures'].items():
                writer.writerow([scenario['name'], result['case'], result['variant'],
                                 result['round'], int(result['late']), name, f'{value:.6g}'])


def write_timeline(path, columns):
    with open(path, 'w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values()):
            writer.writerow([f'{value:.6g}' for value in row])


def markdown(scenario, results, missing, config):
    lines = [f'## Lab: {scenario["title"]}', ''] + [f'- {line}' for line in facts(config)]
    for case in scenario['cases']:
        lines += ['', f'### {case["title"]}', '']
        for variant, reason in missing.get(case['name'], {}).items():
            lines += [f'{label(case, variant)}: not measured: {reason}', '']
        for doubt in doubts(results, case):
            lines += [doubt, '']
        variants = variants_of(results)
        lines.append('| figure | ' + ' | '.join(label(case, v) for v in variants) + ' |')
        lines.append('| --- |' + ' ---: |' * len(variants))
        for name, cells in figure_rows(results, case, case['compare']):
            shown = [f'{text} [{spread}]' if spread else text for text, spread in cells]
            lines.append(f'| {name} | ' + ' | '.join(shown) + ' |')
        judged = [judge(results, case, target) for target in case['target']]
        if judged:
            lines.append('')
        for text, met in judged:
            word = {True: 'met', False: '**missed**', None: 'not measured'}[met]
            lines.append(f'- {text}: {word}')
    return '\n'.join(lines) + '\n'


def write_markdown(path, scenario, results, missing, config):
    report.write_section(path, f'lab-{scenario["name"]}',
                        markdown(scenario, results, missing, config))
