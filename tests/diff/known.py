# SPDX-License-Identifier: BSD-3-Clause
"""The differences that are meant: each names its row in docs/differences.md.

A row here is either avoided (its request is never drawn, since it leaves other data behind) or
forgiven (the two replies may differ so). check_rows() finds rows that the document has lost.
"""
import os
import re

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/differences.md')


# Whether the servers are nodes of a cluster: --cluster.
in_cluster = False

# Keys that are due and that a sample's SCANs with TYPE meet: hardly ever one.
DUE_SCANNED_MAX = 2


class Row:
    """One row: its first cell in the document, and what it lets pass."""

    def __init__(self, cell, avoided=None, forgiven=None):
        self.cell = cell
        self.avoided = avoided
        self.forgiven = forgiven


def check_rows():
    """The rows that the document does not have."""
    with open(DOCUMENT, encoding='utf-8') as file:
        cells = {line.split(' | ')[0].strip('| ').strip() for line in file if line.startswith('|')}
    return [row.cell for row in ROWS if row.cell not in cells]


def avoided(args):
    return any(row.avoided and row.avoided(args) for row in ROWS)


def avoided_when_due(args):
    """Requests whose effect on a key that is due differs."""
    return b'STORE' in b' '.join(args).upper() or args[0].upper() in (b'SCAN', b'KEYS')


def forgiven(request, ours, stock):
    return any(row.forgiven and row.forgiven(request, ours, stock) for row in ROWS)


def ever_forgiven(args):
    """Whether some reply to the request is, so that a script must not show it."""
    return _is(args, 'OBJECT') or _is(args, 'XINFO', 'STREAM') or _lex(args) \
        or _is(args, 'COMMAND') or _is(args, 'ACL', 'CAT')


def forgiven_rest(request, ours, stock):
    """Of a client that both have closed: bytes of an EXEC, not whole, with lengths behind them."""
    return bool(request) and _is(request, 'EXEC') and ours != stock and stock.startswith(ours) \
        and re.fullmatch(rb'([*%~>][0-9]+\r\n)+', stock[len(ours):]) is not None


def forget_quit(info):
    """Takes QUIT out of INFO's counts: the row of `QUIT` in `INFO commandstats`."""
    calls = info.pop('cmdstat_quit', None)
    if calls:
        count = int(calls.split(',')[0].split('=')[1])
        info['total_commands_processed'] = str(int(info['total_commands_processed']) - count)


def forgiven_state(label, ours, stock, ran):
    """Counters that may differ, and the form of sorted sets; `ran` are the commands that have."""
    if in_cluster and label in ('INFO errorstat_ASK', 'INFO errorstat_TRYAGAIN',
                                'INFO keyspace_hits', 'INFO keyspace_misses'):
        return True
    if label.endswith('type and encoding'):
        return 'sort' in ran and (ours, stock) == ((b'zset', b'ziplist'), (b'zset', b'skiplist'))
    if label.startswith('INFO cmdstat_') and ours and stock:
        return _called(ours) == _called(stock) and _failed(ours) < _failed(stock)
    if label == 'INFO keyspace_misses' and 'scan' in ran:
        return 0 < int(stock) - int(ours) <= DUE_SCANNED_MAX
    return label in ('INFO tracking_total_keys', 'INFO tracking_total_items') \
        and int(ours) < int(stock)


def _called(counts):
    return counts.split(',failed_calls=')[0]


def _failed(counts):
    return int(counts.split(',failed_calls=')[1])


def option_differs(name):
    """Options whose values are the server's own."""
    return name in (b'port', b'dir', b'logfile', b'pidfile', b'activedefrag')


def _is(args, *words):
    return [arg.upper() for arg in args[:len(words)]] == [word.encode() for word in words]


def _decrby(args):
    return _is(args, 'DECRBY') and args[2:3] == [b'-9223372036854775808']


def _saturated_set(args):
    words = [arg.upper() for arg in args]
    return _is(args, 'BITFIELD') and b'SAT' in words and b'SET' in words


def _makes_dense(args):
    return _is(args, 'PFDEBUG') and args[1:2] and args[1].upper() in (b'TODENSE', b'GETREG')


def _no_evict(args):
    return _is(args, 'CLIENT', 'NO-EVICT')


def _traced(request, ours, stock):
    """Lists of commands, and their number, with TRACE besides."""
    if _is(request, 'COMMAND', 'COUNT'):
        return ours[0] == ':' and int(ours[1]) == int(stock[1]) + 1
    if not (_is(request, 'COMMAND') or _is(request, 'ACL', 'CAT')) \
            or not isinstance(ours[1], list) or not isinstance(stock[1], list):
        return False
    items = [item for item in ours[1] if b'trace' not in (item[1], _name(item))]
    return sorted(map(_unordered, items)) == sorted(map(_unordered, stock[1]))


def _name(item):
    """The name in a command's description."""
    return item[1][0][1] if isinstance(item[1], list) else None


def _unordered(reply):
    """Flags and categories have no order."""
    kind, content = reply
    return repr((kind, sorted(map(_unordered, content)) if isinstance(content, list) else content))


def _half_there(request, ours, stock):
    return in_cluster and ours[0] == stock[0] == '-' and ours[1].startswith(b'TRYAGAIN ') \
        and stock[1].startswith(b'ASK ')


def _refcount(request, ours, stock):
    return _is(request, 'OBJECT', 'REFCOUNT') \
        and (ours == (':', b'2147483647') or (ours, stock) == ((':', b'1'), (':', b'2')))


def _overlapping(args):
    """Several prefixes; which of them overlap is not looked at."""
    return _is(args, 'CLIENT', 'TRACKING') and [a.upper() for a in args].count(b'PREFIX') > 1


def _radix_keys(request, ours, stock):
    """XINFO STREAM after a trim by MINID: fewer nodes."""
    if not _is(request, 'XINFO', 'STREAM') or not isinstance(ours[1], list):
        return False
    return _without_radix(ours) == _without_radix(stock)


def _without_radix(reply):
    items = list(reply[1] or [])
    for at, item in enumerate(items[:-1]):
        if item[1] in (b'radix-tree-keys', b'radix-tree-nodes'):
            items[at + 1] = None
    return items


def _lex(args):
    """Ranges by name, of a sorted set whose scores may differ."""
    words = [arg.upper() for arg in args]
    ranged = words[0] in (b'ZRANGEBYLEX', b'ZREVRANGEBYLEX', b'ZLEXCOUNT', b'ZREMRANGEBYLEX') \
        or b'BYLEX' in words
    return ranged and not any(arg.startswith(b'lex:') for arg in args[1:3])


def _lex_stored(args):
    """The same, where the range decides about data; and scores that would differ."""
    if any(arg.startswith(b'lex:') for arg in args) and not _lex_reads(args):
        return not _is(args, 'ZADD') or any(score != b'0' for score in args[2::2])
    return _lex(args) and args[0].upper() in (b'ZREMRANGEBYLEX', b'ZRANGESTORE')


def _lex_reads(args):
    return args[0].upper() not in (b'ZADD', b'ZINCRBY', b'ZUNIONSTORE', b'ZINTERSTORE',
                                   b'GEOADD', b'GEORADIUS', b'GEORADIUSBYMEMBER')


def _all_left(request, ours, stock):
    """The order in which UNSUBSCRIBE without names leaves."""
    return request[0] == b'(message)' and request[1] in (b'unsubscribe', b'punsubscribe') \
        and ours[1][0] == stock[1][0] and ours[1][2] == stock[1][2]


def _encoding_after_sort(request, ours, stock):
    return _is(request, 'OBJECT', 'ENCODING') \
        and (ours, stock) == (('$', b'ziplist'), ('$', b'skiplist'))


def _not_a_number(request, ours, stock):
    """A script's {double = 0 / 0}."""
    return request[0].upper() in (b'EVAL', b'EVALSHA') and _with_nan(stock) == ours


def _with_nan(reply):
    kind, content = reply
    if isinstance(content, list):
        return (kind, [_with_nan(item) for item in content])
    return (kind, b'nan') if kind in ',$' and content == b'-nan' else reply


def _damaged(args):
    """Bytes written into a HyperLogLog, or a HyperLogLog's command of a key of other bytes."""
    name = args[0].upper()
    if name.startswith(b'PF'):
        return not all(arg.startswith((b'hll', b'e')) for arg in args[1:] if b':' in arg)
    return name in (b'APPEND', b'SETRANGE', b'SETBIT', b'BITFIELD') \
        and any(arg.startswith((b'hll', b'nokey')) for arg in args[1:2])


ROWS = [
    Row('`PFDEBUG GETREG` and `TODENSE` of a sparse one: `WATCH` and `CLIENT TRACKING`',
        avoided=_makes_dense),
    Row('`{double = 0/0}` that a script returns', forgiven=_not_a_number),
    # What is not drawn for scripts, and what of them effects.py lets pass.
    Row('`setfenv` of a script itself, `setfenv(0, t)`, writing to `getmetatable(\'\')`'),
    Row('`MONITOR`, `lua-replicate-commands no`: the first `EVALSHA` of a script'),
    Row('`lua-replicate-commands no`: `EVALSHA` of a script that has changed nothing'),
    Row('`lua-replicate-commands no`: a script that reads from a group of consumers'),
    Row('`PUBLISH`, `PFCOUNT` of a script before it writes, `DEL` of a due key that it has met'),
    # What effects.py lets pass in log and stream.
    Row('log and stream: `XCLAIM` of an ID without `-0`'),
    Row('log and stream: `XADD`, `XTRIM` with `MINID ~`'),
    Row('log and stream: `...STORE` with an empty result over a key that is due'),
    Row('log: `EXEC` of `PUBLISH` alone'),
    Row('log and stream: `EXEC` that only makes a consumer'),
    Row('`UNSUBSCRIBE` without names, `PUBSUB CHANNELS`, a message by several patterns of one '
        'client: order', forgiven=_all_left),
    Row('`DECRBY` by -9223372036854775808', avoided=_decrby),
    Row('`BITFIELD` `OVERFLOW SAT SET`, a number far below a narrow field', avoided=_saturated_set),
    Row('`CLIENT NO-EVICT`', avoided=_no_evict),
    Row('`TRACE`', forgiven=_traced),
    Row('`SLOWLOG` and `MONITOR` of `AUTH` and `HELLO` with another fault, or `AUTH` twice',
        avoided=lambda args: _is(args, 'HELLO')
        and [arg.upper() for arg in args].count(b'AUTH') > 1,
        forgiven=lambda request, ours, stock: request == [b'(monitor)']
        and b'(redacted)' in ours[1] and b'"auth"' in stock[1].lower()),
    Row('`QUIT` in `INFO commandstats` and `total_commands_processed`'),
    Row('`INFO commandstats`, `failed_calls` of a command that ends another client\'s wait by an '
        'error'),
    Row('the last client ends `CLIENT TRACKING`'),
    Row('`EXEC`, after a command in it has killed its own client'),
    Row('`OBJECT REFCOUNT` of 0 to 9999, or of a value that the same `EXEC` has set',
        forgiven=_refcount),
    Row('`CLIENT TRACKING ON BCAST` with overlapping prefixes of which the first overlaps with '
        'none', avoided=_overlapping),
    Row('events and `expired_keys` of a `...STORE` with an empty result over a key that is due'),
    Row('`HSETNX` of a field that is there, with a long value',
        avoided=lambda args: _is(args, 'HSETNX') and max(map(len, args[2:]), default=0) > 4),
    Row('a HyperLogLog into which other commands have written', avoided=_damaged),
    Row('`SORT` of a small sorted set', forgiven=_encoding_after_sort),
    Row('a client that waits for a list or sorted set, which `SORT STORE`, `ZUNIONSTORE` ... put '
        'over a key of another type'),
    Row('`SCAN` over a key that is due and does not match'),
    Row('`keyspace_misses` of `SCAN` with `TYPE` over a key that is due'),
    Row('`SORT` after an earlier number out of range',
        forgiven=lambda request, ours, stock: _is(request, 'SORT') and ours[0] != '-'
        and stock == ('-', b"ERR One or more scores can't be converted into double")),
    Row('`XTRIM`, `XADD` with an exact `MINID`', forgiven=_radix_keys),
    Row('`ZRANGEBYLEX` and its kin where scores differ',
        avoided=_lex_stored,
        forgiven=lambda request, ours, stock: _lex(request)),
    Row('a slot migrates from this node: a command with several keys of which some are here and '
        'some not', forgiven=_half_there),
    Row('a client waits for a key whose slot goes, or the cluster\'s state becomes fail'),
    Row('keys of an open slot are looked up to decide where a command runs'),
]
