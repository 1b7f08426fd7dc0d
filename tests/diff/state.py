# SPDX-License-Identifier: BSD-3-Clause
"""The whole state of a server that can be compared: data, encodings, counters.

Both servers are asked the same in the same order, so what the questions count is equal, too.
"""
import re

import known
from compare import SLACK_MS, frozen

DATABASE = re.compile(r'db(\d+)$')
FIELDS = {'connected_clients', 'blocked_clients', 'tracking_clients', 'clients_in_timeout_table',
          'total_connections_received', 'total_commands_processed', 'rejected_connections',
          'expired_keys', 'evicted_keys', 'keyspace_hits', 'keyspace_misses', 'pubsub_channels',
          'pubsub_patterns', 'tracking_total_keys', 'tracking_total_items',
          'tracking_total_prefixes', 'unexpected_error_replies', 'total_error_replies'}
# Calls, and those that failed or were refused; times are not compared.
COMMAND_COUNTS = re.compile(r'(calls=\d+).*(rejected_calls=\d+,failed_calls=\d+)')
READERS = {
    b'string': lambda key: [b'GET', key],
    b'list': lambda key: [b'LRANGE', key, b'0', b'-1'],
    b'set': lambda key: [b'SMEMBERS', key],
    b'hash': lambda key: [b'HGETALL', key],
    b'zset': lambda key: [b'ZRANGE', key, b'0', b'-1', b'WITHSCORES'],
    b'stream': lambda key: [b'XINFO', b'STREAM', key, b'FULL', b'COUNT', b'0'],
}
# A time in milliseconds is no smaller.
TIME_MS = 1_500_000_000_000
LOST_MS = 4_000_000_000_000


def collect(control):
    """What a server is asked for, as a dictionary of labels to values."""
    info = info_fields(control)
    known.forget_quit(info)
    state = {f'INFO {name}': info.get(name) for name in sorted(FIELDS)}
    for name, value in info.items():
        if name.startswith('cmdstat_'):
            state[f'INFO {name}'] = ' '.join(COMMAND_COUNTS.search(value).groups())
        elif name.startswith('errorstat_'):
            state[f'INFO {name}'] = value
    for name in sorted(info):
        match = DATABASE.match(name)
        if match:
            state[f'INFO {name}'] = info[name].split(',avg_ttl')[0]
            collect_database(control, int(match.group(1)), state)
    return state


def info_fields(control):
    (_, text), = control.ask([b'INFO', b'all'])
    lines = text.decode('latin-1').split('\r\n')
    return dict(line.split(':', 1) for line in lines if ':' in line and line[0] != '#')


def collect_database(control, number, state):
    _, (_, names) = control.ask([b'SELECT', b'%d' % number], [b'KEYS', b'*'])
    keys = sorted(key for _, key in names)
    about = control.ask(*[request for key in keys for request in (
        [b'TYPE', key], [b'OBJECT', b'ENCODING', key], [b'PTTL', key])])
    types = [reply[1] for reply in about[0::3]]
    asked = [(key, kind, about[3 * at + 1][1], about[3 * at + 2][1])
             for at, (key, kind) in enumerate(zip(keys, types)) if kind in READERS]
    values = control.ask(*[READERS[kind](key) for key, kind, _, _ in asked])
    for (key, kind, encoding, ttl), value in zip(asked, values):
        label = f'database {number}, key {key!r}'
        state[f'{label}: type and encoding'] = (kind, encoding)
        state[f'{label}: time to live'] = Ttl(int(ttl))
        state[f'{label}: value'] = comparable(kind, encoding, value)
    control.ask([b'SELECT', b'0'])


class Ttl(int):
    """Milliseconds; equal within a slack, but for "none" and "no such key"."""
    slack_ms = SLACK_MS

    def __eq__(self, other):
        if other is None:
            return False
        if self < 0 or other < 0:
            return int(self) == int(other)
        return abs(int(self) - int(other)) < self.slack_ms

    def __ne__(self, other):
        return not self == other

    __hash__ = None


def allow_time(state, passed_ms):
    """What the state was made of was asked for so much later than what it is compared with: a
    command that says how long a key lives began later, and one that says until when is nearer."""
    for value in state.values():
        if isinstance(value, Ttl):
            value.slack_ms = SLACK_MS + passed_ms
    return state


def comparable(kind, encoding, value):
    """The value with what has no order sorted; packed forms have one."""
    items = value[1]
    if kind == b'set' and encoding == b'hashtable':
        return sorted(map(frozen, items))
    if kind == b'hash' and encoding == b'hashtable':
        return sorted(zip(map(frozen, items[0::2]), map(frozen, items[1::2])))
    return without_times(value) if kind == b'stream' else value


def without_times(reply):
    """A stream's description without what is a date, and without the size of its tree."""
    kind, content = reply
    if kind == ':' and TIME_MS < int(content) < LOST_MS:
        return (kind, b'a time')
    if not isinstance(content, list):
        return reply
    items = [without_times(item) for item in content]
    for at, item in enumerate(items[:-1]):
        if item[1] in (b'radix-tree-keys', b'radix-tree-nodes'):
            items[at + 1] = None
    return (kind, items)


def differences(ours, stock):
    """Labels with both values, where they differ."""
    ran = {label.removeprefix('INFO cmdstat_') for label in stock}
    return [(label, ours.get(label), stock.get(label))
            for label in sorted(set(ours) | set(stock)) if ours.get(label) != stock.get(label)
            and not known.forgiven_state(label, ours.get(label), stock.get(label), ran)]
