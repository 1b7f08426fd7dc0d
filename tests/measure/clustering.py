# SPDX-License-Identifier: BSD-3-Clause
"""The part "cluster": what a node of a cluster costs, compared with the same program standalone.

Time: four servers stand side by side, ours and the baseline, each standalone and as a node that
owns all slots, with the same keys. They run in turn, the others stopped, and the ratio of a node to
its standalone server is taken round by round. Memory: used_memory a key of the two, after the same
fill, with the number of keys a slot that a small, a usual and a large node has; all slots are in
use, and a third of them, which is what one node of three serves.
"""
import statistics
import time

from bench_report import Row
from servers import (CLUSTER, CLUSTER_SLOTS, LOAD_CORE, SERVER_CORE, MeasureError, Server, fill,
                     run_load)

KEYS = 1_000_000
VALUE_BYTES = 32
CONNECTIONS = 50
PIPELINE = 16
SETTLE_S = 0.02  # until the server sleeps after its last reply: see Server.cpu
COMMANDS = ('get', 'set')
RATIO_MAX = 1.05
# Rounds of about as many runs as the part cpu: what is looked for is smaller.
ROUNDS_FACTOR = 2
KEYS_A_SLOT = (10, 30, 61, 183, 610, 6100)
# Bytes a key that a node may need more: at 61 keys a slot, and at 6,100.
BYTES_MAX = {61: 4, 6100: 1}
# With more keys fewer slots are used: what a slot costs does not depend on the others.
KEYS_MAX, KEYS_MAX_QUICK = 4_000_000, 1_000_000


def start_node(name, binary):
    server = Server(name, binary, CLUSTER)
    server.own_all_slots()
    return server


def start_two(name, binary):
    """The standalone server and the node."""
    return [Server(name, binary), start_node(name, binary)]


# ---- memory ----

def byte_cases(config):
    """(keys a slot, slots in use, keys), each once."""
    most = KEYS_MAX_QUICK if config.quick else KEYS_MAX
    cases = [(each, min(slots, most // each)) for slots in (CLUSTER_SLOTS, CLUSTER_SLOTS // 3)
             for each in KEYS_A_SLOT]
    return [(each, used, each * used) for each, used in dict.fromkeys(cases)]


def bytes_more(name, binary, slots, keys):
    """Bytes of used_memory a key that the node needs more."""
    alone, node = twins = start_two(name, binary)
    grown = {}
    for server in twins:
        grown[server] = -server.steady_memory()
    fill(twins, keys=keys, slots=slots, value_bytes=VALUE_BYTES)
    for server in twins:
        if server.wire.command('DBSIZE') != keys:
            raise MeasureError(f'{name} does not hold {keys:,} keys')
        server.settle()
        grown[server] += server.steady_memory()
        server.stop()
    return (grown[node] - grown[alone]) / keys


def byte_row(config, each, slots, keys):
    figures = [bytes_more(name, binary, slots, keys)
               for name, binary in (('ours', config.ours), ('baseline', config.baseline))]
    limit = ('ours', '<=', BYTES_MAX[each]) if each in BYTES_MAX else None
    return Row(f'{each:,} keys a slot, {slots:,} slots', 'bytes a key more than standalone',
               figures[:1], figures[1:], '{:.2f}', limit)


# ---- time ----

def sample(config, server, command):
    """CPU nanoseconds of the main thread a command."""
    server.resume()
    time.sleep(SETTLE_S)
    before = server.cpu()[0]
    result = run_load(server, LOAD_CORE, command=command, pipeline=PIPELINE, keyspace='random',
                      keys=KEYS, seconds=config.seconds, seed=time.monotonic_ns(),
                      connections=CONNECTIONS, value_bytes=VALUE_BYTES)
    time.sleep(SETTLE_S)
    spent = server.cpu()[0] - before
    server.pause()
    return spent / result['requests']


def one_round(config, servers, number, samples):
    """Each server runs beside its twin, and the first of the two is the other one in the next
    round."""
    for command in COMMANDS:
        for name, twins in servers.items():
            order = (0, 1) if number % 2 else (1, 0)
            for i in order:
                samples.setdefault((command, name, i), []).append(
                    sample(config, twins[i], command))


def time_rows(samples):
    rows = []
    for command in COMMANDS:
        figures = {name: [samples[command, name, i] for i in (0, 1)]
                   for name in ('ours', 'baseline')}
        ratios = {name: [node / alone for alone, node in zip(*pair)]
                  for name, pair in figures.items()}
        label = f'{command.upper()} P{PIPELINE}, {KEYS:,} random keys'
        for i, kind in enumerate(('standalone', 'node')):
            rows.append(Row('' if i else label, f'CPU ns a command, {kind}',
                            figures['ours'][i], figures['baseline'][i]))
        spread = ' / '.join(f'{min(r):.3f}..{max(r):.3f}' for r in ratios.values())
        rows.append(Row('', 'node / standalone',
                        [statistics.median(ratios['ours'])],
                        [statistics.median(ratios['baseline'])], '{:.3f}',
                        ('ours', '<=', RATIO_MAX), f'least..most, ours / baseline: {spread}'))
    return rows


def measure_time(config, progress):
    servers = {name: start_two(name, binary)
               for name, binary in (('ours', config.ours), ('baseline', config.baseline))}
    progress.next()
    everyone = [server for twins in servers.values() for server in twins]
    for twins in servers.values():
        fill(twins, keys=KEYS, value_bytes=VALUE_BYTES)
    for server in everyone:
        server.settle()
        server.pin(SERVER_CORE)
        server.pause()
    samples = {}
    for number in range(config.rounds * ROUNDS_FACTOR):
        progress.next()
        one_round(config, servers, number, samples)
    for server in everyone:
        server.resume()
        server.stop()
    return time_rows(samples)


# ---- the part ----

def plan(config):
    sizes = [(f'cluster: {each:,} keys in each of {slots:,} slots', 4 * (3 + keys / 300e3))
             for each, slots, keys in byte_cases(config)]
    one = len(COMMANDS) * 4 * (config.seconds + 0.3)
    rounds = config.rounds * ROUNDS_FACTOR
    return sizes + [('cluster: filling four servers', 15)] + [
        (f'cluster: round {i + 1} of {rounds}', one) for i in range(rounds)]


def measure(config, progress):
    rows = []
    for case in byte_cases(config):
        progress.next()
        rows.append(byte_row(config, *case))
    return rows + measure_time(config, progress)


def notes(config):
    return [f'A node is started with {" ".join(CLUSTER)} and owns all {CLUSTER_SLOTS:,} slots; it '
            'knows no other node.',
            'Bytes: growth of used_memory by the fill, node less standalone, keys of 16 and '
            f'values of {VALUE_BYTES} bytes. The keys fall into the slots by chance. At most '
            f'{KEYS_MAX_QUICK if config.quick else KEYS_MAX:,} keys: with many keys a slot fewer '
            'slots are in use.',
            f'CPU time is the main thread\'s, from schedstat: {config.rounds * ROUNDS_FACTOR} '
            f'rounds of {config.seconds:g} s a server and command, the servers in turn, the others '
            f'stopped; {CONNECTIONS} connections, closed loop. The ratio is the median of those of '
            'the rounds.']
