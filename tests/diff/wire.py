# SPDX-License-Identifier: BSD-3-Clause
"""RESP2 and RESP3 as bytes: requests to bytes, and bytes to replies.

A reply is a pair (kind, content). The kind is the first byte of the protocol; the content is the
bytes of a scalar, a list of replies, or None for a null. Nothing is interpreted: what differs on
the wire differs here.
"""

SCALARS = b'+-:,#_('
BULKS = b'$=!'
LISTS = b'*~>'
MAPS = b'%|'
SHOWN = 300
PLAIN = frozenset(b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
                  b'.,:;_-+*/()[]{}<>=&%$#@~^?|')


class Incomplete(Exception):
    """The bytes end within a reply."""


class NotProtocol(Exception):
    """A reply begins with a byte that begins none."""


def encode(args):
    """A request as an array of bulk strings."""
    parts = [b'*%d\r\n' % len(args)]
    for arg in args:
        parts.append(b'$%d\r\n%s\r\n' % (len(arg), arg))
    return b''.join(parts)


def encode_inline(args):
    return b' '.join(quote(arg).encode('latin-1') for arg in args) + b'\r\n'


def parse(data, at):
    """The reply that begins there, and where the next one does."""
    end = data.find(b'\r\n', at)
    if end < 0:
        raise Incomplete
    kind = data[at]
    line = bytes(data[at + 1:end])
    end += 2
    if kind in SCALARS:
        return (chr(kind), line), end
    if kind in BULKS:
        length = int(line)
        if length < 0:
            return (chr(kind), None), end
        if len(data) < end + length + 2:
            raise Incomplete
        return (chr(kind), bytes(data[end:end + length])), end + length + 2
    if kind not in LISTS and kind not in MAPS:
        raise NotProtocol
    count = int(line)
    if count < 0:
        return (chr(kind), None), end
    items = []
    for _ in range(count * 2 if kind in MAPS else count):
        item, end = parse(data, end)
        items.append(item)
    return (chr(kind), items), end


def quote(arg):
    """An argument as a person would type it, with quotes and escapes where it needs them."""
    if arg and all(byte in PLAIN for byte in arg):
        return arg.decode()
    shown = ''.join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f'\\x{byte:02x}'
                    for byte in arg)
    return f'"{shown}"'


def show(reply, limit=SHOWN):
    """A reply for people, in one line."""
    if reply is None:
        return 'nothing'
    text = _show(reply)
    return text if len(text) <= limit else f'{text[:limit]}... ({len(text)} characters)'


def _show(reply):
    kind, content = reply
    if content is None:
        return f'{kind}null'
    if isinstance(content, list):
        return f'{kind}{len(content)} [' + ', '.join(_show(item) for item in content) + ']'
    if kind in '+-:,#(':
        return kind + content.decode('latin-1')
    return quote(content) if kind == '$' else kind + quote(content)
