# SPDX-License-Identifier: BSD-3-Clause
"""From a run's raw files to its timeline (by 100 ms) and its figures.

Latencies stand at the moment at which requests were due, replies at the moment at which they came.
A figure that a run does not have (a server without the field, a case without the phase) is left
out, never zero.
"""
import copy
import csv
import os

import numpy

import witness

RECORD = numpy.dtype([('due', '<u4'), ('latency', '<u4'), ('late', '<u4'), ('operation', 'u1'),
                      ('result', 'u1'), ('stream', 'u1'), ('zero', 'u1')])
LOAD, HERD, PROBE, MISS = range(4)
OK, MISSED, ERROR, OOM, LOST, UNANSWERED = range(6)
GET, SET, EX, DEL, UNLINK, HSET, PING = range(7)
BIN_S = 0.1
NORMAL_MSEC = 10  # below it a latency counts as normal on any machine
CALM_BINS = 5
# Commands that save: the field of INFO that says so, that of the bytes copied.
SAVES = {'BGSAVE': ('rdb_bgsave_in_progress', 'rdb_last_cow_size'),
         'BGREWRITEAOF': ('aof_rewrite_in_progress', 'aof_last_cow_size')}
SAVE_BEGINS_S = 2  # how long the fork's wake is looked at
# The command that lets active defragmentation begin, which was on and saw too little waste.
DEFRAG_BEGINS = ['CONFIG', 'SET', 'active-defrag-ignore-bytes']
DEFRAG_LOOK_S = 3  # resident memory is the median of so long
DEFRAG_CALM_S = 1  # INFO's figures of it may be so old


class Data:
    """All phases of one run on one timeline, in seconds from the first phase's beginning."""

    def __init__(self, run):
        self.run = run
        phases = run['phases']
        zero = phases[0]['started_monotonic_nsec']
        parts, samples, self.spans = [], [], []
        for phase in phases:
            offset = (phase['started_monotonic_nsec'] - zero) / 1e9
            records = numpy.fromfile(os.path.join(phase['folder'], 'latencies.bin'), RECORD)
            parts.append((offset + records['due'] / 1e6, records))
            samples += [(offset, row) for row in read_samples(phase['folder'])]
            load = phase['load']
            end = offset + (phase['seconds'] if 'requests' in load else float(load['seconds']))
            self.spans.append((phase['name'], offset, end))
        self.due = numpy.concatenate([due for due, _ in parts])
        records = numpy.concatenate([part for _, part in parts])
        self.latency = records['latency'] / 1e3
        self.came = self.due + records['latency'] / 1e6
        self.result, self.stream, self.operation = (records[name] for name in
                                                    ('result', 'stream', 'operation'))
        self.end, self.begin = self.spans[-1][2], float(phases[0]['warm-up-s'])
        self.at = numpy.array([offset + float(row['at_usec']) / 1e6 for offset, row in samples])
        self.rows = [row for _, row in samples]
        self.stops = [(end - zero / 1e9, length)
                      for phase in phases for end, length in phase['stops']]

    def warm(self):
        """The same run without its warm-up, for the figures; the moments stay as they are."""
        other = copy.copy(self)
        chosen, samples = self.due >= self.begin, self.at >= self.begin
        for name in ('due', 'latency', 'came', 'result', 'stream', 'operation'):
            setattr(other, name, getattr(self, name)[chosen])
        other.at = self.at[samples]
        other.rows = [row for row, keep in zip(self.rows, samples) if keep]
        return other

    def field(self, name):
        """An INFO field by sample; None where the server does not show it."""
        if not self.rows or not any(row.get(name) for row in self.rows):
            return None
        return numpy.array([float(row[name] or 'nan') for row in self.rows])

    def counted(self):
        """What counts toward maxmemory."""
        shown = self.field('mem_counted_for_eviction')
        if shown is not None:
            return shown
        used, left_out = self.field('used_memory'), self.field('mem_not_counted_for_evict')
        return used if left_out is None or used is None else used - left_out


def read_samples(folder):
    with open(os.path.join(folder, 'info.csv')) as file:
        return list(csv.DictReader(file))


def percentile(values, share):
    """The value in the sorted row at that share: no value is made up between two."""
    if len(values) == 0:
        return numpy.nan
    at = min(int(share * (len(values) - 1) + 0.5), len(values) - 1)
    return float(numpy.partition(values, at)[at])


# ---- dead keys ----

def deadlines_of_fill(run):
    """Sorted moments (milliseconds since 1970) at which filled keys fall due, and their sums."""
    rows = []
    for fill in run['fills']:
        with open(os.path.join(fill['folder'], 'deadlines.csv')) as file:
            rows += [(int(row['deadline_msec']), int(row['keys']))
                     for row in csv.DictReader(file)]
    rows.sort()
    if not rows:
        return None, None
    moments, counts = zip(*rows)
    return numpy.array(moments) + 10, numpy.cumsum(counts)  # a slot has passed at its end


def dead_held(data):
    """(dead keys held, keys fallen due so far) by sample: the load knows every deadline it set and
    every key that it wrote, DBSIZE says what is held. None where keys may have been evicted, and
    for runs of several phases."""
    run, keys = data.run, data.field('keys')
    if keys is None or run['maxmemory'] or len(run['phases']) > 1:
        return None, None
    now, passed = data.field('now_msec'), data.field('deadlines_passed')
    filled = sum(fill['sets_new'] for fill in run['fills'])
    made = filled + data.field('sets_new') - data.field('deleted')
    moments, sums = deadlines_of_fill(run)
    due = passed.copy()
    if moments is not None:
        index = numpy.searchsorted(moments, now, side='right')
        due += numpy.where(index > 0, sums[numpy.maximum(index - 1, 0)], 0)
    return numpy.maximum(keys - (made - due), 0), due


# ---- the timeline ----

def timeline(data):
    """Columns by 100 ms; NaN where there is nothing to show."""
    bins = int(data.end / BIN_S + 0.999)
    edges = numpy.arange(bins + 1) * BIN_S
    load = (data.stream == LOAD) | (data.stream == HERD)
    good = load & (data.result <= OOM)
    columns = {'seconds': edges[:-1],
               'arrivals_per_s': numpy.histogram(data.due[load], edges)[0] / BIN_S,
               'replies_per_s': numpy.histogram(data.came[good], edges)[0] / BIN_S}
    for name, stream in (('', load), ('probe_', data.stream == PROBE)):
        shares = {'p50': 0.5, 'p99': 0.99, 'p99.9': 0.999, 'max': 1}
        found = {key: numpy.full(bins, numpy.nan) for key in shares}
        slots = (data.due[stream] / BIN_S).astype(int)
        order = numpy.argsort(slots, kind='stable')
        latency, slots = data.latency[stream][order], slots[order]
        starts = numpy.searchsorted(slots, numpy.arange(bins + 1))
        for i in range(bins):
            part = latency[starts[i]:starts[i + 1]]
            for key, share in shares.items():
                found[key][i] = percentile(part, share)
        columns.update({f'{name}{key}_ms': values for key, values in found.items()})
    gets = load & (data.operation == GET) & (data.result <= MISSED)
    asked = numpy.histogram(data.due[gets], edges)[0]
    hits = numpy.histogram(data.due[gets & (data.result == OK)], edges)[0]
    columns['hits_%'] = numpy.where(asked > 0, 100 * hits / numpy.maximum(asked, 1), numpy.nan)
    return columns


def rate(data, name):
    """(moments, increase a second) of a counter, by 200 ms. What grew while no sample came is
    spread over that time: after a stall the samples come in a bunch."""
    counter = data.field(name)
    if counter is None or len(counter) < 2:
        return None, None
    gaps = numpy.diff(data.at)
    # The first answer after a stall was made up early in it: the next one, at once, knows better.
    stale = numpy.flatnonzero((gaps[:-1] > 3 * BIN_S) & (gaps[1:] < 1.5 * BIN_S)) + 1
    at, counter = numpy.delete(data.at, stale), numpy.delete(counter, stale)
    moments = numpy.arange(at[0], at[-1], 2 * BIN_S)
    values = numpy.interp(moments, at, counter)
    return moments[1:], numpy.maximum(numpy.diff(values), 0) / (2 * BIN_S)


# ---- figures ----

def latency_figures(data):
    found = {}
    groups = {'': (data.stream == LOAD) | (data.stream == HERD), 'probe ': data.stream == PROBE,
              'GET ': (data.stream == LOAD) & (data.operation == GET),
              'SET ': (data.stream == LOAD) & ((data.operation == SET) | (data.operation == EX)),
              'HSET ': (data.stream == LOAD) & (data.operation == HSET),
              'DEL ': (data.stream == LOAD) & ((data.operation == DEL) |
                                               (data.operation == UNLINK))}
    for name, chosen in groups.items():
        values = data.latency[chosen]
        if len(values):
            for key, share in (('p50', 0.5), ('p99', 0.99), ('p99.9', 0.999), ('max', 1)):
                found[f'{name}{key}, ms'] = percentile(values, share)
    return found


def flow_figures(data, columns):
    load = (data.stream == LOAD) | (data.stream == HERD)
    found = {'requests': int(load.sum()), 'errors': int((data.result[load] >= ERROR).sum()),
             'OOM errors': int((data.result[load] == OOM).sum()),
             'lost with a connection': int((data.result[load] == LOST).sum()),
             'unanswered': int((data.result[load] == UNANSWERED).sum())}
    gets = load & (data.operation == GET) & (data.result <= MISSED)
    if gets.any():
        found['hit ratio, %'] = 100 * float((data.result[gets] == OK).mean())
    came = numpy.sort(data.came[load & (data.result <= OOM)])
    gaps = []
    for _, began, ended in data.spans:  # nothing is asked for between two phases
        began = max(began, data.begin)
        inside = came[(came > began) & (came < ended)]
        gaps.append(numpy.diff(numpy.concatenate([[began], inside, [ended]])).max())
    found['longest gap without replies, ms'] = float(max(gaps)) * 1e3
    second = numpy.ones(int(1 / BIN_S))
    warm = columns['seconds'] >= data.begin
    arrivals = numpy.convolve(columns['arrivals_per_s'][warm], second, 'valid')
    replies = numpy.convolve(columns['replies_per_s'][warm], second, 'valid')
    if len(arrivals) and arrivals.max() > 0:
        shares = replies[arrivals > 0] / arrivals[arrivals > 0]
        found['fewest replies of arrivals over a second, %'] = 100 * float(shares.min())
    found['replies/s'] = float((came < data.end).sum()) / max(data.end - data.begin, BIN_S)
    return found


def memory_figures(data):
    found, limit = {}, data.run['maxmemory']
    used, counted, clients = (data.field('used_memory'), data.counted(),
                              data.field('mem_clients_normal'))
    if used is None:
        return found
    found['used memory at the end, MB'] = float(used[-1]) / 1e6
    found['used memory at most, MB'] = float(used.max()) / 1e6
    steps = []
    for _, began, ended in data.spans:
        steps += list(numpy.abs(numpy.diff(used[(data.at >= began) & (data.at < ended)])))
    if steps:
        every = data.run['phases'][0]['load']['info-ms']
        found[f'largest step of used memory in {every} ms, MB'] = float(max(steps)) / 1e6
    if clients is not None:
        found['client memory at most, MB'] = float(clients.max()) / 1e6
    if limit:
        found['counted memory at least, % of maxmemory'] = 100 * float(counted.min()) / limit
        found['counted memory at most, % of maxmemory'] = 100 * float(counted.max()) / limit
        found['used memory at most, % of maxmemory'] = 100 * float(used.max()) / limit
    return found


def eviction_figures(data):
    evicted = data.field('evicted_keys')
    if evicted is None or data.run['maxmemory'] == 0:
        return {}
    count = float(evicted[-1] - evicted[0])
    found = {'keys evicted': count}
    keys = data.field('keys')
    made = float(data.rows[-1]['sets_new']) - float(data.rows[0]['sets_new'])
    if made > 0:
        found['evicted for each new key'] = count / made
    if keys is not None and keys[0] > 0:
        found['evicted, % of all keys'] = 100 * count / float(keys[0])
    moments, rates = rate(data, 'evicted_keys')
    if rates is not None:
        found['evictions/s at most'] = float(rates.max())
    clients = data.field('evicted_clients')
    if clients is not None:
        found['clients disconnected'] = float(clients[-1] - clients[0])
    return found


def recovery_figures(data, columns):
    """Seconds from the disturbance's end until p99 stays normal; the run's length where it never
    does. The disturbance is a herd's moment or an event."""
    ends = []
    for phase, (_, began, _) in zip(data.run['phases'], data.spans):
        load = phase['load']
        if int(load.get('herd-connections', 0)):
            ends.append(began + float(load.get('herd-at-s', 0))
                        + float(load.get('herd-spread-ms', 100)) / 1e3)
        if int(load.get('slow-readers', 0)):
            ends.append(began + float(load.get('slow-at-s', 0)))
        zero = data.run['phases'][0]['started_monotonic_nsec'] / 1e9
        ends += [event['ended'] - zero for event in phase['events']]
    if not ends:
        return {}
    p99, first, last = columns['p99_ms'], int(min(ends) / BIN_S), int(max(ends) / BIN_S)
    before = p99[int(data.begin / BIN_S):max(first - 2, 1)]
    normal = max(NORMAL_MSEC, 2 * float(numpy.nanmedian(before))) if len(before) else NORMAL_MSEC
    for i in range(last, len(p99) - CALM_BINS):
        window = p99[i:i + CALM_BINS]
        if not (numpy.nan_to_num(window, nan=numpy.inf) > normal).any():
            return {'back to normal, s': max(i * BIN_S - max(ends), 0)}
    return {'back to normal, s': data.end - max(ends)}


def stale_figures(data):
    dead, due = dead_held(data)
    if dead is None or due.max() <= 0:
        return {}
    found = {'dead keys held at most': float(dead.max()),
             'dead keys held at the end': float(dead[-1])}
    keys = data.field('keys')
    found['dead keys held at most, % of keys'] = 100 * float((dead / numpy.maximum(keys, 1)).max())
    expired = data.field('expired_keys')
    if expired is not None:
        found['keys expired'] = float(expired[-1] - expired[0])
    last_due, moment = data.run['phases'][-1].get('due_msec'), data.field('now_msec')
    spread = max([float(fill['load'].get('due-spread-ms', 0)) for fill in data.run['fills']] + [0])
    if last_due is None:
        return found
    due_s = (last_due - data.run['phases'][0]['started_msec']) / 1e3
    gets = (data.stream == LOAD) & (data.operation == GET)
    for name, chosen in (('before they were due', data.due < due_s),
                         ('from then on', data.due >= due_s)):
        if (gets & chosen).any():
            found[f'GET p99.9 {name}, ms'] = percentile(data.latency[gets & chosen], 0.999)
    turns = data.field('eventloop_turn_cpu_usec_max')  # since the phase began
    if turns is not None and (moment < last_due).any():
        found['longest turn before they were due, CPU ms'] = \
            float(numpy.nanmax(turns[moment < last_due])) / 1e3
    after = (moment - last_due - spread) / 1e3
    later = numpy.flatnonzero(after >= 1)
    if len(later):
        share = float(dead[later[0]]) / float(due[-1])
        found['dead keys held 1 s after all were due, %'] = 100 * share
    gone = numpy.flatnonzero((after >= 0) & (dead <= 0.01 * due.max()))
    ended = gone[0] if len(gone) else -1
    found['until 1 % was held (or the end), s'] = float(after[ended])
    return found


def slowlog_figures(data):
    """Entries, and what ours says of them: wall time that was mostly spent off the processor."""
    phases = data.run['phases']
    entries = sum(len(phase['slowlog']) for phase in phases)
    explained = [entry for phase in phases for entry in phase['explained']]
    found = {'entries in SLOWLOG': entries}
    if explained:
        off = sum(2 * int(e.get('off_cpu_usec', 0)) > int(e.get('wall_usec', 0))
                  for e in explained)
        found['of these said to be off-CPU, %'] = 100 * off / len(explained)
    return found


def server_figures(data):
    """What the server says of itself, and the kernel of it."""
    phases, found = data.run['phases'], {}
    busy = sum(phase['server_cpu_s'] for phase in phases)
    seconds = sum(phase['seconds'] for phase in phases)
    found['server CPU, % of a core'] = 100 * busy / seconds
    waited = sum(phase['server_wait_s'] for phase in phases)
    found['server waited for its core, %'] = 100 * waited / seconds
    turns = data.field('eventloop_turn_cpu_usec_max')
    if turns is not None:
        found['longest turn, CPU ms'] = float(numpy.nanmax(turns)) / 1e3
        apart = witness.longest_turn_apart(
            list(zip(turns, (row['eventloop_turn_cpu_usec_histogram'] for row in data.rows))),
            data.at, data.stops)
        if apart is not None:
            found['longest turn while its core ran, CPU ms'] = apart
    found['core stood still, ms at most'] = \
        1e3 * max((length for _, length in data.stops), default=0)
    fresh = data.run['fills'][-1] if data.run['fills'] else None
    for phase in phases if len(phases) > 1 else []:
        if not phase['keys_after']:
            continue
        found[f'used memory after {phase["name"]}, MB'] = phase['used_memory_after'] / 1e6
        if fresh and fresh['keys_after']:
            each = phase['used_memory_after'] / phase['keys_after']
            found[f'bytes a key after {phase["name"]}, times a fresh fill'] = \
                each / (fresh['used_memory_after'] / fresh['keys_after'])
    return found


def connection_figures(data):
    """What a herd's connections cost beyond what the server used in the phase before."""
    phases, used = data.run['phases'], data.field('used_memory')
    if len(phases) < 2 or used is None or not phases[-1]['load'].get('herd-connections'):
        return {}
    load, began = phases[-1]['load'], data.spans[-1][1]
    woken = began + float(load['herd-at-s'])
    count, base = int(load['herd-connections']), used[data.at < began][-1]
    idle = used[(data.at > woken - 2) & (data.at < woken)]
    after = used[data.at >= woken]
    return {'bytes a connection, idle': float(numpy.median(idle) - base) / count,
            'bytes a connection, at most': float(after.max() - base) / count,
            'bytes a connection, at the end': float(after[-1] - base) / count}


def log_figures(data):
    """How the server stood with a disk that we made."""
    phases = [phase for phase in data.run['phases'] if phase['disk'][0]]
    if not phases:
        return {}
    found = {'syncs': sum(phase['disk'][0] for phase in phases),
             'writes that waited for a sync': sum(phase['disk'][1] for phase in phases)}
    delayed = [phase['saving'].get('aof_delayed_fsync') for phase in phases]
    if None not in delayed:
        found['aof_delayed_fsync'] = sum(delayed)
    queue = data.field('aof_buffer_length')
    if queue is not None:
        found['bytes that waited for the disk at most, MB'] = float(numpy.nanmax(queue)) / 1e6
    return found


def saves(event):
    """The names that SAVES gives, where it is a command that saves."""
    return SAVES.get((event.get('words') or [''])[0])


def save_span(data, phase):
    """(began, ended or None) of the last save, on the run's timeline; None where there is none. The
    end is known to a sample's distance, and not at all where no sample came meanwhile."""
    events = [event for event in phase['events'] if saves(event)]
    if not events:
        return None
    zero = data.run['phases'][0]['started_monotonic_nsec'] / 1e9
    began, ended = events[-1]['began'] - zero, phase['saved_monotonic'] - zero
    goes_on = data.field(saves(events[-1])[0])
    seen = data.at[(data.at > began) & (goes_on > 0)]
    if not len(seen):
        return began, None
    over = data.at[data.at > seen[-1]]
    return began, float(over[0]) if len(over) else ended


def elements_of(run):
    """Keys, or the fields of hashes."""
    load = run['phases'][-1]['load']
    return run['phases'][-1]['keys_after'] * int(load.get('fields', 1))


def main_thread_figures(data, phase):
    """What a save took of the thread that serves: of a fork's, only the fork is known."""
    now, then = phase['saving'], phase['saving_before']
    elements = max(elements_of(data.run), 1)
    walked = now.get('walk_main_thread_usec', 0) - then.get('walk_main_thread_usec', 0)
    usec = walked or now['latest_fork_usec']
    found = {'main thread, ns a key or field': 1e3 * usec / elements}
    if walked:
        found['writes held'] = now['walk_writers_held'] - then['walk_writers_held']
        found['keys copied ahead'] = now['walk_keys_ahead']
        found['large values copied at once'] = now['walk_values_rushed']
    return found


def saving_memory_figures(data, began, ended, bytes_copied):
    """Used memory and the process' own, each with what a child's pages came to besides."""
    during = (data.at >= began) & (data.at <= ended)
    found = {}
    for name, field in (('used memory', 'used_memory'), ('RSS', 'used_memory_rss')):
        values = data.field(field)
        if values is None or not during.any() or not (data.at < began).any():
            continue
        before = float(values[data.at < began][-1])
        most = float(values[during].max()) + bytes_copied
        found[f'{name} and copies at most, % of that before'] = 100 * most / before
    return found


def saving_figures(data):
    """What the last save of a run that has one cost."""
    phase = data.run['phases'][-1]
    span = save_span(data, phase)
    if span is None:
        return {}
    began, ended = span
    used, load = data.field('used_memory'), data.stream == LOAD
    copied = saves([event for event in phase['events'] if saves(event)][-1])[1]
    bytes_copied = phase['saving'][copied]
    early = load & (data.due >= began) & (data.due < began + SAVE_BEGINS_S)
    found = {'fork, ms': phase['saving']['latest_fork_usec'] / 1e3,
             f'p99.9 in the {SAVE_BEGINS_S} s from the save on, ms':
                 percentile(data.latency[early], 0.999),
             'copied on write, MB': bytes_copied / 1e6,
             'copied on write, % of used memory':
                 100 * bytes_copied / float(used[data.at < began][-1])}
    before = load & (data.due < began)
    if before.any():
        found['p99.9 before the save, ms'] = percentile(data.latency[before], 0.999)
    found.update(main_thread_figures(data, phase))
    if ended is None:
        return found
    during = load & (data.due >= began) & (data.due < ended)
    found['save took, s'] = ended - began
    found['p99.9 during the save, ms'] = percentile(data.latency[during], 0.999)
    found['max during the save, ms'] = percentile(data.latency[during], 1)
    found.update(saving_memory_figures(data, began, ended, bytes_copied))
    return found


def joining_figures(data):
    """What a replica that comes costs those who are served meanwhile."""
    phase = data.run['phases'][-1]
    events = [event for event in phase['events'] if event['do'] == 'join']
    if not events:
        return {}
    zero = data.run['phases'][0]['started_monotonic_nsec'] / 1e9
    began, ended = events[0]['began'] - zero, events[0]['ended'] - zero
    while_it_comes = (data.stream == LOAD) & (data.due >= began) & (data.due < ended)
    found = {'copy took, s': ended - began, 'fork, ms': phase['saving']['latest_fork_usec'] / 1e3}
    if while_it_comes.any():
        found['p99.9 until the replica has its copy, ms'] = \
            percentile(data.latency[while_it_comes], 0.999)
    writers = while_it_comes & (data.operation == SET)
    if writers.any():
        found['SET p99.9 until the replica has its copy, ms'] = \
            percentile(data.latency[writers], 0.999)
        found['longest SET until the replica has its copy, ms'] = \
            percentile(data.latency[writers], 1)
    clients, backlog = data.field('mem_clients_slaves'), data.field('mem_replication_backlog')
    if clients is not None and backlog is not None:
        found['memory for replication at most, MB'] = float((clients + backlog).max()) / 1e6
    return found


def first_command(data, words):
    """When the first event that sends such a command began, on the run's timeline; or None."""
    zero = data.run['phases'][0]['started_monotonic_nsec'] / 1e9
    began = [event['began'] - zero for phase in data.run['phases'] for event in phase['events']
             if (event.get('words') or [])[:len(words)] == words]
    return min(began, default=None)


def main_thread_cpu(data):
    """CPU seconds of the thread that runs commands, by sample."""
    return data.field('used_cpu_user_main_thread') + data.field('used_cpu_sys_main_thread')


def longest_turn_within(data, began, ended):
    """The longest turn between two moments while the core ran; None where it is not known."""
    turns, at = data.field('eventloop_turn_cpu_usec_max'), data.at
    if turns is None:
        return None
    chosen = numpy.flatnonzero((at >= began) & (at < ended))
    samples = [(turns[i], data.rows[i]['eventloop_turn_cpu_usec_histogram']) for i in chosen]
    return witness.longest_turn_apart(samples, at[chosen], data.stops)


def defragmenting_figures(data):
    """What active defragmentation gave back, and what that took, from the moment on at which an
    event lets it begin. Before that moment is what the same load takes without it."""
    began = first_command(data, DEFRAG_BEGINS)
    if began is None:
        return {}
    used, resident, at = data.field('used_memory'), data.field('used_memory_rss'), data.at
    end = at >= at[-1] - DEFRAG_LOOK_S
    before = (at >= began - DEFRAG_LOOK_S) & (at < began)
    found = {'RSS by used memory before': float(numpy.median((resident / used)[before])),
             'RSS by used memory at the end': float(numpy.median((resident / used)[end])),
             'used memory at the end, MB': float(used[-1]) / 1e6}
    given = float(numpy.median(resident[before]) - numpy.median(resident[end])) / 1e6
    found['given back, MB'] = given
    load = data.stream == LOAD
    calm = percentile(data.latency[load & (data.due < began)], 0.999)
    found['p99.9 before, ms'] = calm
    runs = at[(data.field('active_defrag_running') > 0) & (at > began)]
    if not len(runs):
        return found
    ended = float(runs[-1])
    found['until it settled, s'] = ended - began
    during = percentile(data.latency[load & (data.due >= began) & (data.due < ended)], 0.999)
    found['p99.9 meanwhile, ms'] = during
    found['p99.9 meanwhile, times that before'] = during / calm
    found['max meanwhile, ms'] = \
        float(data.latency[load & (data.due >= began) & (data.due < ended)].max())
    turn = longest_turn_within(data, began, ended + DEFRAG_CALM_S)
    if turn is not None:
        found['longest turn meanwhile, CPU ms'] = turn
    cpu, over = main_thread_cpu(data), min(ended + DEFRAG_CALM_S, float(at[-1]))
    at_cpu = numpy.interp([float(at[0]), began, over], at, cpu)
    calm_share = (at_cpu[1] - at_cpu[0]) / (began - float(at[0]))
    spent_msec = 1e3 * float(at_cpu[2] - at_cpu[1] - calm_share * (over - began))
    found['CPU of it, ms'] = spent_msec
    if given > 1:
        found['CPU of it for each MB given back, ms'] = spent_msec / given
    found['blocks moved'] = float(data.field('active_defrag_hits')[-1])
    return found


def figures(data, columns):
    found, data = {}, data.warm()
    for part in (flow_figures(data, columns), latency_figures(data), memory_figures(data),
                 eviction_figures(data), recovery_figures(data, columns), stale_figures(data),
                 connection_figures(data), slowlog_figures(data), log_figures(data),
                 saving_figures(data), joining_figures(data), server_figures(data),
                 defragmenting_figures(data)):
        found.update(part)
    phases = data.run['phases']
    found['load late by over 5 ms, %'] = 100 * max(p['late']['own_share'] for p in phases)
    found['the same with waits for a core, %'] = 100 * max(
        p['late']['above_5ms'] / max(p['late']['handled'], 1) for p in phases)
    return found
