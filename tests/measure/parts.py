# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the benchmark. Each has a plan (labels and guessed seconds, for the time left), a
measurement that returns rows, and notes that stand beside its table in BENCHMARKS.md."""
import select
import statistics
import time

import bus_cost
import callgrind
import clustering
import datatypes
import log_cost
import replicating
import scripting
from bench_report import Row
from sampler import ModeSampler
from servers import (MeasureError, LOAD_CORE, SERVER_CORE, Load, Server, Wire, fill, info_fields,
                     run_load)

KEY_BYTES = 16
VALUE_BYTES = 32
TTL_S = 100000
CONNECTIONS = 50


def start_pair(config, options=()):
    return [Server('ours', config.ours, options), Server('baseline', config.baseline, options)]


def stop_pair(pair):
    for server in pair:
        server.stop()


# ---- cpu: requests a second, and the main thread's CPU time a command ----

CPU_SCENARIOS = [(command, pipeline, keyspace) for keyspace in ('hot', 'random')
                 for pipeline in (1, 16) for command in ('get', 'set')]
CPU_FIGURES = ('rps', 'total', 'user', 'system', 'busy', 'load_busy')
CPU_ROUNDS_MIN = 3


def cpu_seconds(config, pipeline):
    """Without a pipeline user time is a tenth of the whole, and sampled: run longer."""
    return config.seconds * (config.unpipelined_factor if pipeline == 1 else 1)


def cpu_plan(config):
    fills = config.keys / 350e3 + 2
    one_round = sum(2 * (cpu_seconds(config, p) + 0.2) for _, p, _ in CPU_SCENARIOS)
    return [(f'cpu: filling both servers with {config.keys:,} keys', fills)] + [
        (f'cpu: round {i + 1} of {config.rounds}', one_round) for i in range(config.rounds)]


def cpu_sample(config, server, command, pipeline, keyspace):
    """One run against one server, the other standing still."""
    server.resume()
    sampler = ModeSampler(server.pid)
    before = server.cpu()
    result = run_load(server, LOAD_CORE, command=command, pipeline=pipeline, keyspace=keyspace,
                      keys=config.keys, seconds=cpu_seconds(config, pipeline),
                      seed=time.monotonic_ns(), connections=CONNECTIONS, value_bytes=VALUE_BYTES)
    after = server.cpu()
    server.pause()
    total, user, system = (b - a for a, b in zip(before, after))
    config.sampled = sampler.working
    if sampler.working:
        user, system = sampler.counts()
    share = user / max(user + system, 1)
    per_command = total / result['requests']
    return {'rps': result['rps'], 'total': per_command, 'user': per_command * share,
            'system': per_command * (1 - share), 'busy': total / 1e9 / result['seconds'],
            'load_busy': result['load_cpu_seconds'] / result['seconds']}


def cpu_round(config, pair, number, samples):
    for scenario in CPU_SCENARIOS:
        for server in pair if number % 2 else reversed(pair):
            figures = cpu_sample(config, server, *scenario)
            for name in CPU_FIGURES:
                samples.setdefault((scenario, server.name, name), []).append(figures[name])


def cpu_limit(figure, pipeline, keyspace):
    if figure == 'rps':
        return ('ratio', '>=', 0.97)
    if figure == 'total' and pipeline == 16:
        return ('ratio', '<=', 0.55 if keyspace == 'random' else 0.8)
    if pipeline == 1 and figure in ('total', 'user'):
        return ('ratio', '<=', 0.95 if figure == 'total' else 0.5)
    return None


def cpu_rows(config, samples):
    labels = {'rps': ('requests/s', '{:,.0f}'), 'total': ('CPU ns a command', '{:,.0f}'),
              'user': ('user ns', '{:,.0f}'), 'system': ('system ns', '{:,.0f}')}
    rows = []
    for scenario in CPU_SCENARIOS:
        command, pipeline, keyspace = scenario
        keys = 'one hot key' if keyspace == 'hot' else f'{config.keys:,} random keys'
        middle = {(s, f): statistics.median(samples[scenario, s, f])
                  for s in ('ours', 'baseline') for f in ('busy', 'load_busy')}
        busy = 'busy, ours / baseline: server {:.0%} / {:.0%}, load {:.0%} / {:.0%}'.format(
            middle['ours', 'busy'], middle['baseline', 'busy'], middle['ours', 'load_busy'],
            middle['baseline', 'load_busy'])
        for figure, (label, form) in labels.items():
            first = figure == 'rps'
            rows.append(Row(f'{command.upper()} P{pipeline}, {keys}' if first else '', label,
                            samples[scenario, 'ours', figure],
                            samples[scenario, 'baseline', figure], form,
                            cpu_limit(figure, pipeline, keyspace), busy if first else ''))
    return rows


def measure_cpu(config, progress):
    progress.next()
    pair = start_pair(config)
    fill(pair, keys=config.keys, value_bytes=VALUE_BYTES)
    for server in pair:
        server.settle()
        server.pin(SERVER_CORE)
    for server in pair:
        server.pause()
    samples = {}
    config.rounds_done = 0
    while config.rounds_done < config.rounds:
        late = progress.elapsed() + progress.left() > config.limit_s
        if late and config.rounds_done >= CPU_ROUNDS_MIN:
            progress.skip_part('cpu')
            break
        progress.next()
        cpu_round(config, pair, config.rounds_done, samples)
        config.rounds_done += 1
    stop_pair(pair)
    return cpu_rows(config, samples)


def cpu_notes(config):
    return [f'{config.rounds_done} rounds, the servers in turn; ratios are taken round by round: '
            'median [min..max].',
            f'{CONNECTIONS} connections, closed loop; values of {VALUE_BYTES} bytes; runs of '
            f'{cpu_seconds(config, 16):g} s (pipeline 16) and {cpu_seconds(config, 1):g} s '
            f'(pipeline 1). Server on core {SERVER_CORE}, load on core {LOAD_CORE}; the other '
            'server is stopped.',
            'CPU time is the main thread\'s, from schedstat; user and system share it as '
            + ('2,000 samples a CPU second of its mode fall.' if config.sampled else
               'its ticks fall (coarse: the kernel refused to sample).'),
            'Both servers were filled and had finished resizing before the first round.']


# ---- bytes: overhead a key ----

BYTES_SIZES = [('mean of 1..200', 1, 200), ('3', 3, 3), ('32', 32, 32), ('100', 100, 100)]


def bytes_plan(config):
    steps = []
    for ttl in (0, TTL_S):
        for label, _, high in BYTES_SIZES:
            guess = config.keys / (280e3 if ttl else 450e3) + 3
            steps.append((f'bytes: {config.keys:,} keys, values of {label} bytes'
                          + (', with TTL' if ttl else ''), guess))
    return steps


def overhead(config, server, before, filled):
    keys = server.wire.command('DBSIZE')
    if keys != config.keys:
        raise MeasureError(f'{server.name} holds {keys:,} keys, not {config.keys:,}')
    server.settle()
    used = server.steady_memory() - before[server.name]
    return used / config.keys - KEY_BYTES - filled[server.name]['value_bytes'] / config.keys


def bytes_case(config, low, high, ttl):
    """Returns the overhead a key by server name. Both are filled at once: no time is measured."""
    pair = start_pair(config)
    before = {server.name: server.steady_memory() for server in pair}
    options = {'ttl': ttl} if ttl else {}
    filled = fill(pair, keys=config.keys, value_bytes=f'uniform:{low}:{high}', **options)
    found = {server.name: overhead(config, server, before, filled) for server in pair}
    stop_pair(pair)
    return found


def measure_bytes(config, progress):
    rows = []
    for ttl in (0, TTL_S):
        for label, low, high in BYTES_SIZES:
            progress.next()
            found = bytes_case(config, low, high, ttl)
            bound = 0.55 if ttl else 0.5
            rows.append(Row(f'values of {label} bytes' + (', with TTL' if ttl else ''),
                            'overhead, bytes a key', [found['ours']], [found['baseline']], '{:.1f}',
                            ('ratio', '<=', bound) if low != high else None))
    return rows


def bytes_notes(config):
    return [f'{config.keys:,} keys of {KEY_BYTES} bytes; overhead is the growth of used_memory a '
            'key, less key and value. Values are letters; lengths 1..200 are uniform. TTLs lie '
            f'evenly in {TTL_S:,}..{2 * TTL_S:,} s.',
            'The baseline had finished rehashing: its table has the power of two of slots at or '
            'above the number of keys, and the old table is freed.']


# ---- connections: bytes a connection ----

OPEN_STEP = 250
RUSH_STEP = 1000


def connections_plan(config):
    return [(f'connections: {config.connections:,} to {name}', 8) for name in ('ours', 'baseline')]


def open_held(config, server, samplers):
    """Opens the connections a few at a time, so that none waits in a full backlog."""
    load = Load(server, command='get', hold=True, connections=config.connections)
    already = 1 + samplers
    for opened in range(0, config.connections, OPEN_STEP):
        count = min(OPEN_STEP, config.connections - opened)
        load.order(f'connect {count}')
        while int(server.wire.info('clients')['connected_clients']) < already + opened + count:
            time.sleep(0.002)
    return load


def rush(config, server, load, samplers):
    """All send one command while the server is stopped; INFO requests stand in the queue between
    them, and once it goes on the memory is read in a tight loop. Returns the highest reading."""
    server.pause()
    sent = 0
    for sampler in samplers:
        count = min(RUSH_STEP, config.connections - sent)
        load.order(f'send {count}')
        sampler.send('INFO', 'memory')
        sent += count
    server.resume()
    load.give('receive')
    readings = []
    answered = False
    while not answered:
        answered = bool(select.select([load.process.stdout], [], [], 0)[0])
        readings.append(server.wire.used_memory())
    load.answer()
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        readings.append(server.wire.used_memory())
    readings += [int(info_fields(sampler.read())['used_memory']) for sampler in samplers]
    return max(readings)


def connections_case(config, server):
    server.wire.command('SET', 'key:000000000000', 'v' * VALUE_BYTES)
    count = -(-config.connections // RUSH_STEP)
    samplers = [Wire(server.port) for _ in range(count)]
    for sampler in samplers:
        sampler.info('memory')
    base = server.steady_memory()
    load = open_held(config, server, count)
    time.sleep(1)
    idle = server.steady_memory() - base
    peak = rush(config, server, load, samplers) - base
    time.sleep(1)
    later = server.wire.used_memory() - base
    load.end()
    for sampler in samplers:
        sampler.close()
    return [figure / config.connections for figure in (idle, peak, later)]


def measure_connections(config, progress):
    figures = {}
    for name, binary in (('ours', config.ours), ('baseline', config.baseline)):
        progress.next()
        with Server(name, binary, ['--maxclients', config.connections + 100]) as server:
            figures[name] = connections_case(config, server)
    labels = [('idle', ('ours', '<=', 1000)), ('peak of the rush', ('ours', '<=', 1500)),
              ('a second later', None)]
    return [Row(f'{config.connections:,} connections, {label}', 'bytes of used_memory each', [ours],
                [baseline], limit=limit)
            for (label, limit), ours, baseline in zip(labels, figures['ours'], figures['baseline'])]


def connections_notes(config):
    return ['The rush: the server is stopped (SIGSTOP), every connection sends one GET of a '
            f'{VALUE_BYTES}-byte value, the server goes on. The peak is the highest used_memory '
            f'that INFO shows: one INFO stands in the queue after every {RUSH_STEP:,} GETs, one '
            'more connection asks in a tight loop.']


# ---- instructions: a command under callgrind ----

INSTRUCTION_CASES = [(c, p) for p in (1, 16) for c in ('get', 'set')]


def instructions_plan(config):
    guess = 8 + len(INSTRUCTION_CASES) * config.commands / 5000
    return [(f'instructions: {name} under callgrind', guess)
            for name in ('ours', 'ours without attribution', 'baseline')]


def instructions_of(server, command, pipeline, requests):
    callgrind.order(server, 'zero')
    run_load(server, command=command, pipeline=pipeline, requests=requests, connections=CONNECTIONS,
             keyspace='hot', value_bytes=VALUE_BYTES)
    return callgrind.take_total(server)


def instructions_case(config, name, binary, *options):
    prefix = [*callgrind.PREFIX, '--instr-atstart=no']
    found = []
    with Server(name, binary, prefix=prefix, patience=120) as server:
        server.wire.command('SET', 'key:000000000000', 'v' * VALUE_BYTES)
        if options:
            server.wire.command('CONFIG', 'SET', *options)
        callgrind.order(server, 'instrumentation on')
        n = config.commands
        for command, pipeline in INSTRUCTION_CASES:
            instructions_of(server, command, pipeline, n // 10)
            once = instructions_of(server, command, pipeline, n)
            twice = instructions_of(server, command, pipeline, 2 * n)
            found.append((twice - once) / n)
    return found


def measure_instructions(config, progress):
    callgrind.demand()
    figures = []
    for name, binary, *options in (('ours', config.ours),
                                   ('ours', config.ours, 'latency-attribution', 'no'),
                                   ('baseline', config.baseline)):
        progress.next()
        figures.append(instructions_case(config, name, binary, *options))
    return [Row(f'{command.upper()} P{pipeline}, one hot key', 'instructions a command', [ours],
                [baseline], remark=f'{(ours - without) / without:+.1%} by latency-attribution')
            for (command, pipeline), ours, without, baseline in zip(INSTRUCTION_CASES, *figures)]


def instructions_notes(config):
    return [f'User instructions under callgrind, {CONNECTIONS} connections: a run of '
            f'{2 * config.commands:,} commands less one of {config.commands:,}, so that connecting '
            'falls out.',
            'latency-attribution is on, as by default. What it costs besides is one read of the '
            'thread\'s CPU clock a turn of the event loop, of which P1 has many: it stands in the '
            'CPU time a command below.']


# ---- resize: the longest event-loop turn and the largest allocation ----

RESIZE_VALUE_BYTES = 8
TURN_USEC_MAX = 5000
ALLOCATION_BYTES_MAX = 64 * 1024
REST_S = 3


def resize_plan(config):
    most, least = config.resize_keys
    return [(f'resize: growing to {most:,} keys', most / 500e3 + 1),
            (f'resize: falling to {least:,} keys', (most - least) / 700e3 + REST_S),
            (f'resize: growing to {most:,} keys again', (most - least) / 500e3)]


def turn_histogram(fields):
    """{lower bound in microseconds: turns} of a field like 1=12,2=40; None where there is none."""
    text = fields.get('eventloop_turn_cpu_usec_histogram')
    if text is None:
        return None
    try:
        pairs = (pair.split('=') for pair in text.split(',') if pair)
        return {int(bound): int(count) for bound, count in pairs}
    except ValueError:
        raise MeasureError(f'INFO shows a histogram of another form: {text}') from None


def resize_figures(server):
    fields = info_fields(server.wire.command('INFO', 'everything'))
    names = ('eventloop_turn_cpu_usec_max', 'mem_largest_dataset_alloc', 'mem_largest_dataset_free')
    figures = [[float(fields[name])] if name in fields else [] for name in names]
    histogram = turn_histogram(fields)
    if histogram is None:
        return figures, 'no such field in INFO'
    shown = ', '.join(f'{bound:,} us: {count:,}' for bound, count in sorted(histogram.items())
                      if bound >= 1024 and count)
    return figures, f'turns by lower bound: {shown}' if shown else 'no turn of 1,024 us or more'


def resize_phase(server, label, run):
    """Runs a phase and returns its rows. RESETSTAT makes the figures those of the phase alone; a
    figure that it does not reset is the largest so far."""
    server.wire.command('CONFIG', 'RESETSTAT')
    run()
    (turn, allocation, release), turns = resize_figures(server)
    bound = ('ours', '<=', ALLOCATION_BYTES_MAX)
    return [Row(label, 'longest turn, CPU us', turn, limit=('ours', '<=', TURN_USEC_MAX),
                remark=turns),
            Row('', 'largest dataset allocation, bytes', allocation, limit=bound),
            Row('', 'largest dataset free, bytes', release, limit=bound)]


def measure_resize(config, progress):
    most, least = config.resize_keys
    rows = []
    with Server('ours', config.ours) as server:
        server.pin(SERVER_CORE)

        def grow(first):
            progress.next()
            run_load(server, LOAD_CORE, command='fill', pipeline=16, first_key=first,
                     keys=most - first, value_bytes=RESIZE_VALUE_BYTES)

        def fall():
            progress.next()
            run_load(server, LOAD_CORE, command='del', keyspace='sequential', pipeline=16,
                     first_key=least, keys=most - least)
            time.sleep(REST_S)
        rows += resize_phase(server, f'growing to {most:,} keys', lambda: grow(0))
        rows += resize_phase(server, f'falling to {least:,} keys', fall)
        rows += resize_phase(server, f'growing to {most:,} keys again', lambda: grow(least))
        keys = server.wire.command('DBSIZE')
    if keys != most:
        raise MeasureError(f'ours holds {keys:,} keys at the end, not {most:,}')
    return rows


def resize_notes(config):
    return [f'Pipelined SETs of {RESIZE_VALUE_BYTES}-byte values and DELs, {CONNECTIONS} '
            f'connections, pipeline 16; after the fall {REST_S} idle seconds count too. The '
            'figures are INFO\'s; the baseline has none (n/a).']


# Name: title, plan, measurement, notes; in the order in which they run. cpu is last, because it
# alone can give up rounds when the time runs out.
PARTS = {
    'bytes': ('Bytes a key', bytes_plan, measure_bytes, bytes_notes),
    'connections': ('Bytes a connection', connections_plan, measure_connections, connections_notes),
    'instructions': ('Instructions a command', instructions_plan, measure_instructions,
                     instructions_notes),
    'resize': ('Growing, falling and growing again', resize_plan, measure_resize, resize_notes),
    'collections': ('Other data types', datatypes.plan, datatypes.measure, datatypes.notes),
    'scripts': ('Scripts', scripting.plan, scripting.measure, scripting.notes),
    'log': ('The append only file', log_cost.plan, log_cost.measure, log_cost.notes),
    'replication': ('What replicas cost a primary', replicating.plan, replicating.measure,
                    replicating.notes),
    'cluster': ('What a node of a cluster costs', clustering.plan, clustering.measure,
                clustering.notes),
    'bus': ('What the bus of a large cluster costs a node', bus_cost.plan, bus_cost.measure,
            bus_cost.notes),
    'cpu': ('Requests a second and CPU time a command', cpu_plan, measure_cpu, cpu_notes),
}
