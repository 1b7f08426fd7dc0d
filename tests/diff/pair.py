# SPDX-License-Identifier: BSD-3-Clause
"""One script on both servers, compared as it goes.

A turn sends what follows of one client to both servers, then asks both for two PINGs on another
connection: with the answers, what was sent has been executed (the bytes were there before the
PING), so turns of several clients have one order on both. Then all that has come for every client
is compared. Whoever has got less than on the other server gets time; a reply that stays away is a
difference. A request that waits (BLPOP) has no reply on either and stays expected.
"""
import os
import random
import re
import time

import compare
import known
import lua
import servers
import state
import wire

PIPELINE = 100
PATIENCE_SECONDS = 4
AWAIT_SECONDS = 8
PING = [b'PING']
# In the place of a client that is not there; 0 would be all of them.
NO_CLIENT = b'999999'
STOCK_ENDED = 'stock has ended'
# A server reads no more than this of one client before it looks at others.
READ_BYTES = 16384
# Characters around the place where two replies part; more than a reply has.
PARTED = 12
WHOLE = 1 << 30


class Difference(Exception):
    """The servers differ: a name to tell differences apart, and lines for people."""

    def __init__(self, signature, lines):
        super().__init__(signature)
        self.signature = signature
        self.lines = lines


class Client:
    """One client's place: a connection to each server, and the requests without a reply."""

    def __init__(self, number, ours, stock):
        self.number = number
        self.sides = (ours, stock)
        self.expected = []
        self.queued = None
        self.silent = None
        self.monitors = False
        self.confirmed = 0
        self.early = ([], [])

    def expect(self, args):
        """Note a request, and what CLIENT REPLY makes of its reply."""
        words = [arg.upper() for arg in args[:3]]
        if words[:2] == [b'CLIENT', b'REPLY'] and len(args) == 3:
            if words[2] == b'ON':
                self.silent = None
            elif words[2] == b'OFF':
                self.silent = 'off'
            elif words[2] == b'SKIP' and self.silent is None:
                self.silent = 'skip'
                return
        self.monitors = self.monitors or words == [b'MONITOR']
        if self.silent == 'skip':
            self.silent = None
        elif self.silent is None:
            self.expected.append(args)

    def answered(self, reply):
        """The request that this reply is for; None for a message."""
        if compare.is_message(reply):
            if compare.is_subscription(reply):
                self._confirmed(reply[1][0][1])
            return None
        if not self.expected:
            return None
        request = self.expected.pop(0)
        return self._transaction(request, request[0].upper() if request else b'', reply)

    def _confirmed(self, kind):
        """Each name of SUBSCRIBE has a message; the last of them answers the request."""
        if not self.expected or self.expected[0][0].upper() != kind.upper():
            return
        self.confirmed += 1
        if self.confirmed >= len(self.expected[0]) - 1:
            self.expected.pop(0)
            self.confirmed = 0

    def _transaction(self, request, name, reply):
        if self.queued is not None and reply == ('+', b'QUEUED'):
            self.queued.append(request)
            return request
        if name == b'MULTI' and reply == ('+', b'OK'):
            self.queued = []
        elif name == b'EXEC' and self.queued is not None:
            # 6.2 counts messages that a transaction causes as its replies; the others follow it.
            messages = sum(map(compare.is_extra, reply[1] or [])) if reply[0] == '*' else 0
            if messages:
                self.expected[:0] = self.queued[-messages:]
            request, self.queued = self.queued or request, None
        elif name in (b'DISCARD', b'RESET') and reply[0] == '+':
            self.queued = None
        return request


class Pair:
    """Both servers with the clients of one script."""

    def __init__(self, paths, patience=PATIENCE_SECONDS):
        self.servers = []
        self.patience = patience
        try:
            for name, path in zip(('ours', 'stock'), paths):
                self.servers.append(self.server(name, path))
        except servers.ServerGone:
            self.end()
            raise
        self.level_ids()
        self.controls = [servers.Control(server) for server in self.servers]
        self.clients = {}
        self.commands = 0
        for control in self.controls:
            control.ask([b'DEBUG', b'SET-ACTIVE-EXPIRE', b'0'], [b'CONFIG', b'RESETSTAT'])

    def server(self, name, path):
        return servers.Server(name, path)

    def level_ids(self):
        """Open connections until the next id is the same on both, so that ids can be compared."""
        spent = [servers.Connection(server.port) for server in self.servers]
        for connection in spent:
            connection.learn_id()
        while spent[1].id != spent[0].id:
            behind = 0 if int(spent[0].id) < int(spent[1].id) else 1
            spent[behind].close()
            spent[behind] = servers.Connection(self.servers[behind].port)
            spent[behind].learn_id()
        for connection in spent:
            connection.close()

    def end(self):
        for client in self.clients.values():
            for side in client.sides:
                side.close()
        for server in self.servers:
            server.end()

    def run(self, script, sample_every):
        """Run a script; raises Difference or ServerGone. Compares states every so many commands
        and at the end."""
        next_sample = sample_every
        for turn in turns(script):
            self.run_turn(turn)
            if self.commands >= next_sample:
                self.compare_states()
                next_sample = self.commands + sample_every
        self.compare_states()

    def run_turn(self, ops):
        client = self.clients.get(ops[0].client)
        if client is not None and client.expected:
            ops = [op for op in ops if not op.ready]
            if not ops:
                return
        pending = []
        for op in ops:
            self.commands += op.commands()
            for action in op.actions:
                if action[0] in ('call', 'inline', 'raw'):
                    if client is None:
                        client = self.open(op.client)
                    pending.append(action)
                    continue
                self.send(client, pending, op.cut)
                pending = []
                client = self.special(client, op.client, action)
        self.send(client, pending, ops[0].cut)
        self.settle()

    def special(self, client, number, action):
        kind, content = action
        if kind == 'open':
            return self.open(number)
        if kind == 'close' and client is not None:
            for side in client.sides:
                side.close()
            del self.clients[number]
            self.barrier()
            return None
        if kind == 'pause':
            self.settle()
            time.sleep(content / 1000)
        elif kind == 'await' and client is not None:
            until = time.monotonic() + AWAIT_SECONDS
            self.settle()
            while client.expected and not client.sides[0].closed and time.monotonic() < until:
                time.sleep(0.001)
                self.settle()
        return client

    def open(self, number):
        if number in self.clients:
            self.special(self.clients[number], number, ('close', None))
        client = Client(number, *[servers.Connection(server.port) for server in self.servers])
        for side in client.sides:
            side.learn_id()
        self.clients[number] = client
        return client

    def send(self, client, actions, cut):
        if not actions:
            return
        if client.sides[0].closed:
            client = self.open(client.number)
        for kind, content in actions:
            if kind == 'raw':
                client.expected += [[b'(raw bytes)']] * content.count(b'\n')
            else:
                client.expect(content)
        both = [b''.join(self.encoded(action, side) for action in actions) for side in (0, 1)]
        pieces = [(0, len(both[0]))] if not cut or len(both[0]) != len(both[1]) \
            else pieces_of(len(both[0]), cut)
        for first, last in pieces:
            for side, data in zip(client.sides, both):
                side.send(data[first:last if last < len(both[0]) else None])
            self.barrier(2 + (last - first) // READ_BYTES * 2)

    def encoded(self, action, side):
        kind, content = action
        if kind == 'raw':
            return content
        if any(arg[:1] == b'@' for arg in content):
            content = [self.named(arg, side) for arg in content]
        return wire.encode(content) if kind == 'call' else wire.encode_inline(content)

    def named(self, arg, side):
        """@id3 and @addr3 are the id and the address of client 3."""
        for mark in (b'@id', b'@addr'):
            number = arg[len(mark):]
            if arg.startswith(mark) and number.isdigit():
                client = self.clients.get(int(number))
                if client is None:
                    return NO_CLIENT
                connection = client.sides[side]
                return connection.id if mark == b'@id' else connection.address.encode()
        return arg

    def barrier(self, round_trips=2):
        """Return when both servers have executed what they were sent before."""
        for _ in range(round_trips):
            for control in self.controls:
                control.ask_later(PING)
            for control in self.controls:
                control.replies(1)

    def settle(self):
        """Compare all that has come, until no client has got more on one server."""
        until = None
        while True:
            uneven = [client for client in self.clients.values() if not self.compare(client)]
            if not uneven:
                return
            if until is None:
                until = time.monotonic() + self.patience
            elif time.monotonic() > until:
                self.missing(uneven[0])
            time.sleep(0.001)
            self.barrier()

    def compare(self, client):
        """Compare and drop what both have; False where one has more than the other."""
        ours, stock = client.sides
        for side, control in zip(client.sides, self.controls):
            side.drain()
            if client.monitors:
                side.received = control.own_line.sub(b'', side.received)
        if ours.received == stock.received:
            if stock.received:
                self.take_equal(client)
            return ours.closed == stock.closed
        self.compare_streams(client, ours, stock)
        if ours.closed and stock.closed and client.expected \
                and known.forgiven_rest(client.expected[0], ours.received, stock.received):
            stock.received = ours.received
        return ours.received == stock.received and ours.closed == stock.closed \
            and client.early == ([], [])

    def compare_streams(self, client, ours, stock):
        """Reply by reply, as far as both have come."""
        both = [self.split(side) for side in (ours, stock)]
        taken = [0, 0]
        while taken[0] < len(both[0]) and taken[1] < len(both[1]):
            replies = [both[side][taken[side]][0] for side in (0, 1)]
            moved = [side for side in (0, 1) if compare.may_move(replies[side], replies[1 - side])]
            for side in moved:
                self.come_early(client, side, replies[side])
                taken[side] += 1
            if not moved:
                self.compare_replies(client, *replies)
                taken = [taken[0] + 1, taken[1] + 1]
        for side, connection in enumerate((ours, stock)):
            at = taken[side]
            while at < len(both[side]) and client.early[1 - side] \
                    and compare.may_move(both[side][at][0], None):
                self.come_early(client, side, both[side][at][0])
                at += 1
            if at:
                connection.received = connection.received[both[side][at - 1][1]:]

    def come_early(self, client, side, message):
        """A message that stands at another place on the other server."""
        message = compare.frozen(message)
        if message in client.early[1 - side]:
            client.early[1 - side].remove(message)
        else:
            client.early[side].append(message)

    def split(self, connection):
        """The whole replies that have come, each with the place behind it."""
        replies = []
        at = 0
        try:
            while True:
                reply, at = wire.parse(connection.received, at)
                replies.append((reply, at))
        except wire.Incomplete:
            return replies
        except wire.NotProtocol:
            raise Difference('not the protocol', [repr(connection.received[:200])]) from None

    def take_equal(self, client):
        data = client.sides[1].received
        at = 0
        try:
            while at < len(data):
                reply, at = wire.parse(data, at)
                client.answered(reply)
        except wire.Incomplete:
            pass
        except wire.NotProtocol:
            at = len(data)
        for side in client.sides:
            side.received = side.received[at:]

    def compare_replies(self, client, ours, stock):
        request = client.answered(stock)
        if compare.same(request, ours, stock):
            return
        name = signature_of(request)
        if request and name in ('EVAL', 'EVALSHA', 'EXEC'):
            name += f' ({where_texts_part(wire.show(ours, WHOLE), wire.show(stock, WHOLE))})'
        raise Difference(f'reply to {name}: {short(ours)} for {short(stock)}', [
            f'client {client.number}: {shown(request)}',
            f'    ours:  {wire.show(ours)}', f'    stock: {wire.show(stock)}'])

    def missing(self, client):
        ours, stock = client.sides
        request = client.expected[0] if client.expected else None
        what = 'closed' if ours.closed != stock.closed else 'sent'
        if client.early != ([], []):
            what = 'a message'
        raise Difference(f'{what} otherwise at {signature_of(request)}', [
            f'client {client.number}: more was sent by one server, or only one has closed',
            f'    messages of one alone, ours and stock: {client.early}',
            f'    waiting: {shown(request)}',
            f'    ours:  {"closed " if ours.closed else ""}{ours.received[:300]!r}',
            f'    stock: {"closed " if stock.closed else ""}{stock.received[:300]!r}'])

    def compare_states(self):
        both = [state.collect(control) for control in self.controls]
        found = state.differences(*both)
        self.settle()
        if found:
            lines = [f'{label}:\n    ours:  {ours}\n    stock: {stock}'[:1500]
                     for label, ours, stock in found[:8]]
            label = found[0][0]
            if label.startswith('database'):
                label = 'data: ' + label.rsplit(': ', 1)[1]
            raise Difference(f'state: {label}', lines)


def turns(script):
    """Ops that are sent together: what follows of one client, a pipeline at most."""
    turn = []
    for op in script:
        if turn and (op.client != turn[0].client or op.alone or turn[0].alone or op.cut
                     or turn[0].cut or op.ready or turn[0].ready or len(turn) >= PIPELINE):
            yield turn
            turn = []
        turn.append(op)
    if turn:
        yield turn


def pieces_of(length, seed):
    """Cuts of so many bytes, drawn by a number."""
    rng = random.Random(seed)
    cuts = sorted({rng.randrange(max(length, 1)) for _ in range(rng.randint(1, 5))} - {0})
    return list(zip([0] + cuts, cuts + [length]))


def signature_of(request):
    if request is None:
        return 'nothing'
    if not request:
        return 'an empty request'
    if isinstance(request[0], list):
        return 'EXEC'
    words = [arg.upper().decode('latin-1')[:20] for arg in request[:2]]
    containers = ('CLIENT', 'OBJECT', 'XINFO', 'XGROUP', 'ACL', 'CONFIG', 'PUBSUB', 'MEMORY')
    return ' '.join(words) if words[0] in containers else words[0]


def shown(request):
    if request is None:
        return 'a message'
    if request and isinstance(request[0], list):
        return 'EXEC of ' + '; '.join(shown(one) for one in request)
    text = ' '.join(wire.quote(lua.without_prelude(arg)) for arg in request)
    return text if len(text) < 400 else f'{text[:400]}... ({len(text)} characters)'


def where_texts_part(ours, stock):
    """The words before the place where two texts part: of programs, what is at fault."""
    at = len(os.path.commonprefix([ours, stock]))
    return re.sub(r'[0-9a-f]{8,}|\d+', '#', stock[max(at - PARTED, 0):at + PARTED])


def short(reply):
    kind, content = reply
    if kind == '-':
        return '-' + content.decode('latin-1').split(' ')[0]
    if kind == '>' and content and content[-1][1] is not None:
        return f'{kind}{content[0][1]}' + (f' {content[-1][1]}' if len(content) == 4 else '')
    return kind + ('null' if content is None else '')


def trial(paths, script, sample_every, patience=PATIENCE_SECONDS, kind=Pair):
    """Run a script on fresh servers: the number of commands, and the difference or None."""
    pair = kind(paths, patience)
    try:
        pair.run(script, sample_every)
        return pair.commands, None
    except Difference as difference:
        return pair.commands, difference
    except servers.ServerGone as gone:
        if gone.name == 'stock':
            # Its own fault: what it would have answered is not known.
            return pair.commands, Difference(STOCK_ENDED, str(gone).split('\n'))
        return pair.commands, Difference('ours has ended', str(gone).split('\n'))
    finally:
        pair.end()
