# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios: files of parameters, read and checked before anything is started.

README.md says what stands in a file. Every case becomes a dictionary with all that its file says
once for all cases filled in; a name that means nothing ends the program with the file's name.
"""
import copy
import glob
import os
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, 'scenarios')
CASE_NAMES = {'name', 'title', 'story', 'server', 'reference', 'reference-label', 'fill', 'phase',
              'target', 'panels', 'compare', 'variants', 'saving-core'}
SAVING_CORES = {'own', 'shared'}
PHASE_NAMES = {'name', 'load', 'quick', 'event', 'start-before-due-s', 'rest-s', 'settle',
               'warm-up-s', 'sync-ms', 'await-save-s'}
FILL_NAMES = PHASE_NAMES | {'requests'}
REQUESTS_NAMES = {'count', 'first', 'spare-each', 'groups', 'words', 'each', 'at-once',
                  'value-bytes'}
EVENTS = {'stop', 'hog', 'command', 'join'}
TARGETS = {'figure', 'variant', 'at-most', 'at-least', 'of', 'of-figure', 'of-case', 'factor',
           'sense', 'or-at-most'}


class ScenarioError(Exception):
    """A scenario's file says something that makes no sense."""


def names():
    return sorted(os.path.basename(path)[:-len('.toml')]
                  for path in glob.glob(os.path.join(FOLDER, '*.toml')))


def _known(where, given, allowed):
    strange = set(given) - allowed
    if strange:
        raise ScenarioError(f'{where}: {", ".join(sorted(strange))}?')


def _phase(where, phase, common, quick):
    _known(where, phase, PHASE_NAMES)
    phase = copy.deepcopy(phase)
    load = {**common, **phase.get('load', {})}
    if quick:
        load.update(phase.get('quick', {}))
    phase['load'] = load
    for event in phase.setdefault('event', []):
        if event.get('do') not in EVENTS:
            raise ScenarioError(f'{where}: an event does one of {", ".join(sorted(EVENTS))}')
    return phase


def _fill(where, fill, quick):
    """A fill is by a load, or by requests that are made here (requests.py)."""
    _known(where, fill, FILL_NAMES)
    made = fill.get('requests')
    if made is None:
        return _phase(where, fill, {}, quick)
    if 'load' in fill:
        raise ScenarioError(f'{where}: a load, or requests')
    _known(where, made, REQUESTS_NAMES)
    made = {'first': 0, 'spare-each': 0, 'groups': 1, 'each': [], 'at-once': 1, 'value-bytes': 0,
            **made, **(fill.get('quick', {}) if quick else {})}
    return {'requests': made, 'load': {'requests': made['count']}}


def _case(path, whole, case, quick):
    where = f'{path}: case {case.get("name")}'
    _known(where, case, CASE_NAMES)
    _known(f'{where}, saving-core', {case.get('saving-core', 'own')}, SAVING_CORES)
    case = copy.deepcopy(case)
    server = {**whole.get('server', {}), **case.get('server', {})}
    if quick:
        server.update(whole.get('quick-server', {}))
    common = whole.get('load', {})
    if quick:
        common = {**common, **whole.get('quick-load', {})}
    fills = case.get('fill', whole.get('fill', []))
    case.update(
        server=server, reference=case.get('reference'),
        fill=[_fill(f'{where}, fill', fill, quick) for fill in fills],
        phase=[_phase(f'{where}, phase', phase, common, quick) for phase in case['phase']],
        target=case.get('target', []) + whole.get('target', []),
        panels=case.get('panels', whole.get('panels', [])),
        compare=case.get('compare', whole.get('compare', [])))
    for target in case['target']:
        _known(f'{where}, target', target, TARGETS)
    return case


def read(name, quick):
    """The scenario and its cases; name is "scenario" or "scenario/case"."""
    name, _, chosen = name.partition('/')
    path = os.path.join(FOLDER, f'{name}.toml')
    try:
        with open(path, 'rb') as file:
            whole = tomllib.load(file)
    except OSError:
        raise ScenarioError(f'no scenario {name}; there are {", ".join(names())}') from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f'{path}: {error}') from None
    cases = [_case(path, whole, case, quick) for case in whole['case']]
    if chosen:
        cases = [case for case in cases if case['name'] == chosen]
        if not cases:
            raise ScenarioError(f'{path} has no case {chosen}')
    return {'name': name, 'title': whole['title'], 'story': whole['story'], 'cases': cases}


def read_all(wanted, quick):
    """The scenarios of the names given (all where none is), each once, with the cases chosen."""
    plans = {}
    for name in wanted or names():
        plan = read(name, quick)
        known = plans.setdefault(plan['name'], {**plan, 'cases': []})
        known['cases'] += [case for case in plan['cases']
                           if case['name'] not in [other['name'] for other in known['cases']]]
    return list(plans.values())


def _fits_cluster(case):
    """A node of a cluster has one database, and gets a replica by CLUSTER REPLICATE, not by an
    option."""
    phases = case['fill'] + case['phase']
    return (all(int(phase['load'].get('databases', 1)) == 1 for phase in phases) and
            not any(event['do'] == 'join' for phase in phases for event in phase['event']))


def for_cluster(plan):
    """The plan with each server a node of a cluster that owns all slots, without the cases that a
    node cannot run. A scenario of its own: its figures stand beside those of the other."""
    cases = [{**case, 'cluster': True} for case in plan['cases'] if _fits_cluster(case)]
    if not cases:
        raise ScenarioError(f'{plan["name"]}: no case can be run by a node of a cluster')
    return {**plan, 'name': f'{plan["name"]}-cluster', 'cases': cases,
            'title': f'{plan["title"]}: nodes of a cluster'}


def seconds(case):
    """A guess of what one run of a case takes, for the time left."""
    total = 1.5 + sum(float(fill['load']['requests']) / 4e5 *
                      max(float(fill['load'].get('fields-at-once', 0)) / 2, 1)
                      for fill in case['fill'])
    for phase in case['phase']:
        load = phase['load']
        total += min(float(load.get('seconds', 10)),
                     float(load.get('requests', 1e12)) / float(str(load['rate']).split(':')[-1]))
        total += phase.get('rest-s', 0) + phase.get('start-before-due-s', 0)
    return total
