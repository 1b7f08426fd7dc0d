# SPDX-License-Identifier: BSD-3-Clause
"""What both servers would write to a log and send to replicas, compared after each turn.

Both write a log, which is read as it grows. Stock feeds a replica that we play; ours records what
it would send (DEBUG EFFECTS), and the log's commands once more, which must be those of its file. A
record is a list of pairs: the number of a database and the words of a command. At the end of a
script what ours has left is replayed: a fresh stock server loads our file as its own, the stream is
sent to a fresh one of ours, and both must then have the data of the server that wrote it.
"""
import ast
import hashlib
import itertools
import os
import re
import time

import lua
import pair
import servers
import state
import wire
from families import SHORT_MS

LOG_NAME = 'log.aof'
LOG_OPTIONS = f'''appendonly yes
appendfsync no
appendfilename {LOG_NAME}
auto-aof-rewrite-percentage 0
aof-use-rdb-preamble no
'''
STOCK_OPTIONS = LOG_OPTIONS + '''repl-diskless-sync no
hz 200
repl-ping-replica-period 3600
repl-timeout 36000
client-output-buffer-limit replica 0 0 0
'''
# Deadlines are the time of the call; ids of streams that a server makes begin with it.
SLACK_MS = 20_000
TIME_MS = 1_500_000_000_000
MADE_ID = re.compile(rb'(\d{13})-\d+$')
REPLAY_PIPELINE = 200
# Those that write.
FAMILIES = ('strings bits hll lists sets hashes zsets geo streams keys mixed transactions '
            'blocking pubsub acl tracking scripts').split()
# Stock writes them in small letters here and in capitals there.
CASE_VARIES = (b'ZPOPMIN', b'ZPOPMAX')
# Of scripts, which by it may do less than without.
SCRIPTS_OPTION = b'lua-replicate-commands'
# What 6.2 has of reading from a group beside a script that is to be run again.
OF_GROUPS = (b'XGROUP', b'XCLAIM')
# What a script may do before it writes.
NOT_FRAMED = (b'PUBLISH', b'PFCOUNT')
# Of the evictions: room for some keys of this size.
EVICTING_BYTES = 300_000
EVICTING_VALUE = 20_000
EVICTING_COMMANDS = (b'SET MSET APPEND RPUSH LPUSH LPOP LMOVE SADD SREM SMOVE HSET HDEL ZADD ZREM '
                     b'RENAME COPY DEL EXPIRE INCR SINTERSTORE ZUNIONSTORE GETDEL SETRANGE XADD '
                     b'PFADD PFMERGE').split()
# Whether SORT has run: known.py.
SORTED = 'INFO cmdstat_sort'
# Not the data's, or not repeated by anybody.
IGNORED = (b'PING', b'REPLCONF')


class Feed:
    """The commands of a file or of a replica's connection, as they come."""

    def __init__(self):
        self.rest = b''
        self.database = 0
        self.framed = False

    def take(self, data):
        """The whole commands in what has come; SELECT becomes the database of what follows. An EXEC
        without MULTI is left out: 6.2 writes one after an EXEC that did nothing but make a
        consumer."""
        data = self.rest + data
        commands = []
        at = 0
        try:
            while at < len(data):
                (_, words), at = wire.parse(data, at)
                words = [word for _, word in words]
                name = words[0].upper()
                if name == b'SELECT':
                    self.database = int(words[1])
                elif name not in IGNORED and (name != b'EXEC' or self.framed):
                    commands.append((self.database, words))
                self.framed = name == b'MULTI' or self.framed and name != b'EXEC'
        except wire.Incomplete:
            pass
        self.rest = data[at:]
        return commands


class Log(Feed):
    """The file that a server writes."""

    def __init__(self, server):
        super().__init__()
        self.file = open(os.path.join(server.folder, LOG_NAME), 'rb')

    def read(self):
        return self.take(self.file.read())

    def whole(self):
        with open(self.file.name, 'rb') as file:
            return file.read()

    def close(self):
        self.file.close()


class Replica(Feed):
    """A replica of stock's that has got the data, and then all that changes."""

    def __init__(self, server):
        super().__init__()
        self.connection = servers.Connection(server.port)
        self.connection.send(b'SYNC\r\n')
        self._skip_snapshot()

    def _skip_snapshot(self):
        data = b''
        while not (head := re.match(rb'\s*\$(\d+)\r\n', data)) \
                or len(data) < head.end() + int(head.group(1)):
            received = self.connection.socket.recv(1 << 18)
            if not received:
                raise servers.ServerGone('stock', 'stock does not feed its replica')
            data += received
        self.connection.received = data[head.end() + int(head.group(1)):]

    def close(self):
        self.connection.close()

    def read(self):
        self.connection.drain()
        data, self.connection.received = self.connection.received, b''
        return self.take(data)


def take_recorded(control, log, into):
    """What ours has recorded, and written to its file, since it was asked last."""
    records = {'log': [], 'stream': []}
    replies = control.ask(*[[b'DEBUG', b'EFFECTS', kind.encode()] for kind in records])
    for record, (_, commands) in zip(records.values(), replies):
        for _, words in commands:
            record.append((int(words[0][1]), [word for _, word in words[1:]]))
    written = log.read()
    compare_file(written, records['log'])
    into['log'] += written
    into['stream'] += records['stream']


def compare_file(written, recorded):
    """In the file is what was to be written."""
    for at, (a, b) in enumerate(itertools.zip_longest(written, recorded)):
        if a != b:
            raise pair.Difference('file: ' + where_commands_part(a, b), [
                f'command {at} of a turn (in the file {len(written)}, handed on {len(recorded)})',
                f'    in the file: {shown(written[max(at - 2, 0):at + 3])}',
                f'    handed on:   {shown(recorded[max(at - 2, 0):at + 3])}'])


def canonical(commands):
    """The same commands as both servers might have them. 6.2 writes a frame to its log even if all
    in it was for replicas alone, as PUBLISH is, and has what a script does before it writes in
    front of the frame; and beside a script to be run again it has what that does to groups."""
    found = []
    for command in commands:
        name = command[1][0].upper()
        begins = found and found[-1][1][0].upper() == b'MULTI'
        if name == b'EXEC' and begins:
            found.pop()
        elif name in NOT_FRAMED and begins:
            found.insert(-1, command)
        else:
            while name in (b'EVAL', b'EVALSHA') and found and found[-1][1][0] in OF_GROUPS:
                found.pop()
            found.append((command[0], by_digest(command[1])))
    return found


def withholds(op):
    """Whether a program may keep from the log or from replicas what it does."""
    return any(kind == 'call' and any(lua.WITHHOLDING in arg for arg in content)
               for kind, content in op.actions)


def by_digest(words):
    """A script that is run again, whether it was named by its text or by its digest."""
    name = words[0].upper()
    if name == b'EVALSHA':
        return [b'EVALSHA', words[1].lower(), *words[2:]]
    if name != b'EVAL' and not is_load(words):
        return words
    at = 1 if name == b'EVAL' else 2
    digest = hashlib.sha1(words[at]).hexdigest().encode()
    return [b'EVALSHA', digest, *words[2:]] if at == 1 else [b'SCRIPT', b'LOAD', digest]


def is_load(words):
    return [word.upper() for word in words[:2]] == [b'SCRIPT', b'LOAD']


def comparable(ours, stock):
    return tuple(map(canonical, without_loads(canonical(ours), canonical(stock))))


def without_loads(ours, stock):
    """Both without SCRIPT LOAD. 6.2 sends one for a script that has changed nothing, even if it is
    to be run again, since it has published."""
    kept = ([], [])
    mine = [command for command in ours if not is_load(command[1])]
    for at, command in enumerate(stock):
        if not is_load(command[1]):
            kept[0].extend(mine[:1])
            kept[1].append(command)
            mine = mine[1:]
        elif mine and runs(mine[0], command) and times_run(mine, command) > times_run(
                stock[at + 1:], command):
            mine = mine[1:]
    return kept[0] + mine, kept[1]


def times_run(commands, load):
    return sum(runs(command, load) for command in commands)


def runs(command, load):
    return command[1][0] == b'EVALSHA' and command[1][1] == load[1][2]


class EffectsPair(pair.Pair):
    """Both servers, and what they have recorded of a script."""

    def __init__(self, paths, patience=pair.PATIENCE_SECONDS):
        self.paths = paths
        self.feeds = {}
        self.log = None
        self.begun = time.monotonic()
        super().__init__(paths, patience)
        self.recorded = {'log': [], 'stream': []}
        self.controls[0].ask([b'DEBUG', b'EFFECTS', b'START'])

    def server(self, name, path):
        return servers.Server(name, path, STOCK_OPTIONS if name == 'stock' else LOG_OPTIONS)

    def level_ids(self):
        for server in self.servers:
            servers.wait_until_ready(server)
        ours, stock = self.servers
        self.log = Log(ours)
        self.feeds = {'log': Log(stock), 'stream': Replica(stock)}
        super().level_ids()

    def end(self):
        for feed in (self.log, *self.feeds.values()):
            if feed:
                feed.close()
        super().end()

    def run(self, script, sample_every):
        super().run(script, sample_every)
        if not any(withholds(op) for op in script):
            self.replay()

    def settle(self):
        super().settle()
        self.compare_effects()

    def compare_replies(self, client, ours, stock):
        """Only stock has a replica that WAIT counts."""
        if client.expected and client.expected[0][0].upper() == b'WAIT' and ours[0] == ':':
            ours = stock
        super().compare_replies(client, ours, stock)

    def compare_effects(self, ordered=True):
        both = [{'log': [], 'stream': []} for _ in self.controls]
        until = time.monotonic() + self.patience
        while True:
            self.barrier()
            take_recorded(self.controls[0], self.log, both[0])
            for which, feed in self.feeds.items():
                both[1][which] += feed.read()
            compared = {which: comparable(*(side[which] for side in both)) for which in self.feeds}
            even = all(len(ours) == len(stock) for ours, stock in compared.values())
            if even or time.monotonic() > until:
                break
            time.sleep(0.01)
        for which, recorded in self.recorded.items():
            recorded += both[0][which]
            compare_records(which, *compared[which], ordered)

    def compare_states(self):
        """Data alone: what we ask for here is counted on one server only."""
        both = [data_of(control) for control in self.controls]
        found = state.differences(*both)
        if found:
            raise pair.Difference('data: ' + found[0][0].rsplit(': ', 1)[1], lines_of(found))
        # The keys that were due have gone in the order of each server's table.
        self.compare_effects(ordered=False)

    def replay(self):
        original = [replayed(control) for control in self.controls][0]
        self.compare_effects(ordered=False)
        (_, (_, (_, by_effects))), = self.controls[0].ask([b'CONFIG', b'GET', SCRIPTS_OPTION])
        compare_replayed(self.paths, self.log, self.recorded['stream'], original, self.begun,
                         f'{SCRIPTS_OPTION.decode()} {by_effects.decode()}\n')


def compare_replayed(paths, log, stream, original, begun, options=''):
    """Both records, of what was done since `begun`, into fresh servers: stock loads the log as its
    own, and while it does no key is due; ours is sent the stream."""
    for which in ('log', 'stream'):
        if which == 'log':
            server = servers.Server('replay', paths[1], STOCK_OPTIONS + options,
                                    {LOG_NAME: log.whole()})
        else:
            server = servers.Server('replay', paths[0], options)
        try:
            servers.wait_until_ready(server)
            control = servers.Control(server)
            if which == 'stream':
                send_all(control, stream)
                time.sleep(SHORT_MS / 1000)  # deadlines that have passed begin anew
            again = replayed(control)
            passed_ms = 1000 * (time.monotonic() - begun)
            found = state.differences(state.allow_time(again, passed_ms), original)
        finally:
            server.end()
        if found:
            raise pair.Difference(f'replayed {which}: ' + found[0][0].rsplit(': ', 1)[1],
                                  lines_of(found))


def send_all(control, commands):
    control.ask([b'DEBUG', b'SET-ACTIVE-EXPIRE', b'0'])
    commands = list(with_select(commands))
    for at in range(0, len(commands), REPLAY_PIPELINE):
        part = commands[at:at + REPLAY_PIPELINE]
        for words, reply in zip(part, control.ask(*map(without_limit, part))):
            if reply[0] == '-' and words[0].upper() not in (b'EVAL', b'EVALSHA'):
                raise pair.Difference(f'replayed stream: {pair.short(reply)}',
                                      [pair.shown(words), wire.show(reply)])


def without_limit(words):
    """A threshold that was reached has no limit; 6.2 leaves the word, which only its log's loader
    and its replicas take."""
    if words[0].upper() in (b'XADD', b'XTRIM'):
        for at in range(2, len(words) - 3):
            if words[at] == b'=' and words[at + 2].upper() == b'LIMIT':
                return words[:at + 2] + words[at + 4:]
    return words


def with_select(commands):
    database = 0
    for number, words in commands:
        if number != database:
            yield [b'SELECT', b'%d' % number]
            database = number
        yield words


def data_of(control):
    found = state.collect(control)
    data = {label: value for label, value in found.items() if label.startswith('database')}
    if SORTED in found:
        data[SORTED] = True
    return data


def replayed(control):
    """Data as far as it does not follow options: without encodings, with members in one order, and
    of a HyperLogLog what it counts."""
    data = data_of(control)
    data.pop(SORTED, None)
    found = {}
    for label, value in data.items():
        key, _, what = label.rpartition(': ')
        kind, encoding = data[key + ': type and encoding']
        if what == 'value' and kind in (b'hash', b'set') and encoding != b'hashtable':
            value = state.comparable(kind, b'hashtable', value)
        elif what == 'value' and kind == b'stream':
            value = without_idle_consumers(value)
        elif what == 'value' and kind == b'string' and value[1].startswith(b'HYLL'):
            value = count_of(control, key)
        found[label] = kind if what == 'type and encoding' else value
    return found


def count_of(control, label):
    """PFCOUNT of the key of a label."""
    database, key = re.fullmatch(r'database (\d+), key (.*)', label).groups()
    return control.ask([b'SELECT', database.encode()], [b'PFCOUNT', ast.literal_eval(key)],
                       [b'SELECT', b'0'])[1]


def without_idle_consumers(reply):
    """A consumer that has nothing pending may be known to who wrote the log alone, as in 6.2:
    reading makes it, and only what is claimed is repeated."""
    if reply is None or not isinstance(reply[1], list):
        return reply
    kind, content = reply
    items = [without_idle_consumers(item) for item in content]
    for at, item in enumerate(items[:-1]):
        if item == ('$', b'consumers') and isinstance(items[at + 1][1], list):
            items[at + 1] = ('*', [consumer for consumer in items[at + 1][1]
                                   if ('$', b'pel-count') not in consumer[1]
                                   or consumer[1][consumer[1].index(('$', b'pel-count')) + 1]
                                   != (':', b'0')])
    return (kind, items)


def lines_of(found):
    return [f'{label}:\n    ours:  {ours}\n    other: {other}'[:1500]
            for label, ours, other in found[:8]]


def compare_records(which, ours, stock, ordered):
    if not ordered:
        ours, stock = sorted(ours), sorted(stock)
    for at in range(max(len(ours), len(stock))):
        a = ours[at] if at < len(ours) else None
        b = stock[at] if at < len(stock) else None
        if a is None or b is None or not same(a, b):
            raise pair.Difference(f'{which}: {where_commands_part(a, b)}', [
                f'{which}, command {at} of a turn (of ours {len(ours)}, of stock {len(stock)})',
                f'    ours:  {shown(ours[max(at - 2, 0):at + 3])}',
                f'    stock: {shown(stock[max(at - 2, 0):at + 3])}'])


def where_commands_part(a, b):
    return (b or a)[1][0].decode('latin-1').upper() + ', ' + where(a, b)


def where(a, b):
    if a is None or b is None or a[1][0].upper() != b[1][0].upper():
        return 'other commands'
    if a[0] != b[0]:
        return 'database'
    return next((f'word {at}' for at, (x, y) in enumerate(zip(a[1], b[1])) if x != y), 'length')


def shown(commands):
    return ' | '.join(f'{number}: {pair.shown(words)}' for number, words in commands)


def same(a, b):
    """Are two commands of a record the same?"""
    (number_a, words_a), (number_b, words_b) = a, b
    name = words_a[0].upper()
    if name in (b'MULTI', b'EXEC'):
        return name == words_b[0].upper()
    if number_a != number_b:
        return False
    if name in (b'DEL', b'UNLINK') and stores_nothing(words_a[1], words_b):
        return True
    if len(words_a) != len(words_b):
        return False
    if words_a[0] != words_b[0] and not (name in CASE_VARIES and name == words_b[0].upper()):
        return False
    if name == b'SREM' and words_a[1] == words_b[1] == b'chance':
        return True
    return all(x == y or same_time(x, y) or name == b'XCLAIM' and x == y + b'-0'
               or is_threshold(words_a, at)
               for at, (x, y) in enumerate(zip(words_a[1:], words_b[1:]), 1))


def stores_nothing(key, words):
    """What is stored over a key that is due, if it is nothing: here the key expires."""
    name = words[0].upper()
    return name.endswith(b'STORE') and key == words[1] \
        or name in (b'SORT', b'GEORADIUS', b'GEORADIUSBYMEMBER') and key in words[2:]


def is_threshold(words, at):
    """The threshold that an inexact trim has reached: the first ID, in 6.2 also of an entry that
    was deleted."""
    return words[0].upper() in (b'XADD', b'XTRIM') and words[at - 1] == b'=' \
        and words[at - 2].upper() == b'MINID'


def same_time(x, y):
    ids = [MADE_ID.match(word) for word in (x, y)]
    if all(ids):
        x, y = (match.group(1) for match in ids)
    return x.isdigit() and y.isdigit() and min(int(x), int(y)) > TIME_MS \
        and abs(int(x) - int(y)) < SLACK_MS


def evictions(paths, script):
    """Ours alone, with less memory than the script fills: which keys go is chance, but what was
    recorded must leave the same data. Returns how many went."""
    server = servers.Server('ours', paths[0], LOG_OPTIONS)
    log = None
    begun = time.monotonic()
    try:
        servers.wait_until_ready(server)
        log = Log(server)
        control = servers.Control(server)
        control.ask([b'DEBUG', b'SET-ACTIVE-EXPIRE', b'0'], [b'DEBUG', b'EFFECTS', b'START'])
        used = int(state.info_fields(control)['used_memory'])
        control.ask([b'CONFIG', b'SET', b'maxmemory', b'%d' % (used + EVICTING_BYTES)],
                    [b'CONFIG', b'SET', b'maxmemory-policy', b'allkeys-random'])
        recorded = {'log': [], 'stream': []}
        for at, op in enumerate(script):
            lazily = b'yes' if at // 100 % 2 else b'no'
            requests = [content for kind, content in op.actions
                        if kind == 'call' and content[0].upper() in EVICTING_COMMANDS]
            if at % 3 == 0:
                requests = [[b'MULTI'], *requests, [b'EXEC']]
            control.ask([b'CONFIG', b'SET', b'lazyfree-lazy-eviction', lazily],
                        [b'SET', b'large:%d' % (at % 50), b'x' * EVICTING_VALUE], *requests)
            take_recorded(control, log, recorded)
        control.ask([b'CONFIG', b'SET', b'maxmemory', b'0'])
        original = replayed(control)
        take_recorded(control, log, recorded)
        compare_replayed(paths, log, recorded['stream'], original, begun)
        return int(state.info_fields(control)['evicted_keys'])
    finally:
        if log:
            log.close()
        server.end()
