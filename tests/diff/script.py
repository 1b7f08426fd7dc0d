# SPDX-License-Identifier: BSD-3-Clause
"""Scripts: what clients send, in order, as plain data that can be cut, written and read again.

A script is a list of ops. An op belongs to one client and has actions that stay together when a
script is made shorter (a command whose effect is random is followed by one that removes it).
Actions are pairs:

    ('call', args)     a request; an argument @id3 or @addr3 becomes that of client 3
    ('inline', args)   the same as a line of text
    ('raw', bytes)     bytes as they are
    ('open', None)     a new connection takes the client's place
    ('close', None)    the connection is closed
    ('pause', ms)      time passes
    ('await', None)    until every request of the client has its reply

An op with alone is sent by itself, one with cut in pieces that are drawn by that number, one with
ready only when its client waits for nothing (else it is passed over).

As text an op is a line "3 SET key value", further actions of it are indented lines, and what is
no call begins with a "!".
"""
import re

from wire import quote

WORD = re.compile(r'"((?:[^"\\]|\\x[0-9a-f]{2})*)"|(\S+)')
ESCAPE = re.compile(r'\\x([0-9a-f]{2})')


class Op:
    __slots__ = ('client', 'actions', 'alone', 'cut', 'ready')

    def __init__(self, client, actions, alone=False, cut=0, ready=False):
        self.client = client
        self.actions = actions
        self.alone = alone
        self.cut = cut
        self.ready = ready

    def text(self):
        marks = (' !alone' if self.alone else '') + (f' !cut={self.cut}' if self.cut else '') \
            + (' !ready' if self.ready else '')
        lines = [_action_text(action) for action in self.actions]
        return f'{self.client}{marks} ' + '\n    '.join(lines)

    def with_actions(self, actions):
        """The same op with other actions."""
        return Op(self.client, actions, self.alone, self.cut, self.ready)

    def commands(self):
        return sum(1 for kind, _ in self.actions if kind in ('call', 'inline', 'raw'))


def call(client, *args, **marks):
    """An op of one request; numbers and text become bytes."""
    return Op(client, [('call', to_args(args))], **marks)


def calls(client, *requests, **marks):
    """An op of several requests that stay together."""
    return Op(client, [('call', to_args(args)) for args in requests], **marks)


def to_args(args):
    return [arg if isinstance(arg, bytes) else str(arg).encode() for arg in args]


def write(path, script, title):
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'# {title}\n')
        for op in script:
            file.write(op.text() + '\n')


def read(path):
    script = []
    with open(path, encoding='ascii') as file:
        for line in file:
            if not line.strip() or line.startswith('#'):
                continue
            words = _words(line)
            if line.startswith(' '):
                script[-1].actions.append(_action(words))
                continue
            op = Op(int(words.pop(0)), [])
            while words[0] in ('!alone', '!ready') or words[0].startswith('!cut='):
                mark = words.pop(0)
                op.alone = op.alone or mark == '!alone'
                op.ready = op.ready or mark == '!ready'
                op.cut = int(mark[5:]) if mark.startswith('!cut=') else op.cut
            op.actions.append(_action(words))
            script.append(op)
    return script


def _words(line):
    """The words of a line; a quoted one keeps its first quote, so that it is no mark."""
    return ['"' + match.group(1) if match.group(1) is not None else match.group(2)
            for match in WORD.finditer(line)]


def _bytes(word):
    if not word.startswith('"'):
        return word.encode('latin-1')
    return ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), word[1:]).encode('latin-1')


def _action(words):
    if not words[0].startswith('!'):
        return ('call', [_bytes(word) for word in words])
    kind = words[0][1:]
    if kind == 'inline':
        return (kind, [_bytes(word) for word in words[1:]])
    if kind == 'raw':
        return (kind, _bytes(words[1]))
    if kind == 'pause':
        return (kind, int(words[1]))
    return (kind, None)


def _action_text(action):
    kind, content = action
    if kind == 'call':
        return ' '.join(quote(arg) for arg in content)
    if kind == 'inline':
        return '!inline ' + ' '.join(quote(arg) for arg in content)
    if kind == 'raw':
        return '!raw ' + quote(content)
    return f'!{kind}' if content is None else f'!{kind} {content}'
