# SPDX-License-Identifier: BSD-3-Clause
"""Are two replies to one request the same, but for what chance, time and order decide?

Replies are equal byte by byte, or a rule of the request's command says what of them counts. The
rules are few and by command, so that a new command is compared exactly until someone says why not.
"""
import re

import known

SLACK_S = 5
SLACK_MS = 20_000
MONITOR_LINE = re.compile(rb'^\d+\.\d{6} \[(\d+) (?:127\.0\.0\.1:\d+|lua)\] ')
CLIENT_FIELD = re.compile(
    rb'\b(addr|laddr|fd|age|idle|qbuf|qbuf-free|argv-mem|obl|oll|omem|tot-mem)=\S*')
MESSAGES = {b'message': 3, b'pmessage': 4, b'subscribe': 3, b'psubscribe': 3, b'unsubscribe': 3,
            b'punsubscribe': 3}
PAIRED = object()


def same(request, ours, stock):
    """Whether both replies say the same; request is None for what was not asked for, a list of
    requests for EXEC, else the arguments."""
    if ours == stock:
        return True
    if request is None:
        return _same_message(ours, stock)
    if request and isinstance(request[0], list):
        return _same_transaction(request, ours, stock)
    if known.forgiven(request, ours, stock):
        return True
    if ours[0] == '-' or stock[0] == '-':
        return False
    rule = rule_of(request)
    try:
        return rule is not None and rule(request, ours, stock)
    except (TypeError, ValueError, IndexError):
        # Not of the form that the rule knows.
        return False


def is_message(reply):
    """Whether a reply is none, but a message: a push, or its form in RESP2, or a MONITOR line."""
    kind, content = reply
    if kind == '>':
        return True
    if kind == '+':
        return MONITOR_LINE.match(content) is not None
    if kind != '*' or not content or content[0][0] != '$':
        return False
    return MESSAGES.get(content[0][1]) == len(content)


def is_extra(reply):
    """Whether it is no reply to a request, within EXEC's; SUBSCRIBE is answered by its message."""
    return is_message(reply) and not is_subscription(reply)


def is_subscription(reply):
    return is_message(reply) and reply[0] != '+' and reply[1][0][1].endswith(b'subscribe')


def may_move(message, other):
    """Whether a message may stand at another place of the stream than what stands there.

    Invalidations that are redirected, and what reaches a client by several patterns: see rows of
    docs/differences.md. The other is the other server's reply, None where nothing is there.
    """
    if message == other or not is_message(message) or message[0] == '+':
        return False
    words = [item[1] for item in message[1]]
    if words[0] == b'invalidate' or words[:2] == [b'message', b'__redis__:invalidate']:
        return other is None or not same(None, message, other)
    if words[0] != b'pmessage':
        return False
    return other is None or (is_message(other) and len(other[1]) == 4
                             and other[1][2:] == message[1][2:])


def rule_of(request):
    name = request[0].upper()
    if name in (b'OBJECT', b'MEMORY', b'CLIENT', b'ACL', b'CONFIG', b'PUBSUB', b'XINFO', b'COMMAND',
                b'LATENCY', b'SLOWLOG', b'STRALGO', b'MODULE'):
        return RULES.get(name + b' ' + request[1].upper()) if len(request) > 1 else RULES.get(name)
    return RULES.get(name)


def _same_transaction(requests, ours, stock):
    if ours[0] != stock[0] or ours[0] != '*' or ours[1] is None or stock[1] is None:
        return False
    if len(ours[1]) != len(stock[1]) or len(requests) != len(ours[1]):
        return False
    left = list(requests)
    return all(same(_answered(left, two), one, two) for one, two in zip(ours[1], stock[1]))


def _answered(left, reply):
    """Takes the request that a reply within EXEC's is to; None for what is a message. Several
    channels are several messages, so that one may be the answer to a request taken before."""
    if is_subscription(reply):
        if left and left[0][0].lower().endswith(b'subscribe'):
            left.pop(0)
        return None
    return None if is_extra(reply) else left.pop(0)


def _same_message(ours, stock):
    if ours[0] != stock[0]:
        return False
    if ours[0] == '+':
        return _masked_line(ours) == _masked_line(stock) \
            or known.forgiven([b'(monitor)'], ours, stock)
    if not isinstance(ours[1], list) or not isinstance(stock[1], list):
        return False
    if known.forgiven([b'(message)', ours[1][0][1]], ours, stock):
        return True
    if ours[1][0] == stock[1][0] == ('$', b'invalidate'):
        # One message may name several keys; they come from tables.
        return unordered(None, ours[1][1], stock[1][1])
    if ours[1][:2] == stock[1][:2] == [('$', b'message'), ('$', b'__redis__:invalidate')]:
        return unordered(None, ours[1][2], stock[1][2])
    # By which of a client's patterns a message comes first has no order; see may_move().
    return ours[1][0] == stock[1][0] == ('$', b'pmessage') and ours[1][2:] == stock[1][2:]


def _masked_line(reply):
    return MONITOR_LINE.sub(rb'[\1] ', reply[1])


def shape(reply):
    """Kinds and lengths, but no contents."""
    kind, content = reply
    if isinstance(content, list):
        return (kind, len(content), sorted({repr(shape(item)) for item in content}))
    return (kind, content is None)


def frozen(reply):
    kind, content = reply
    return (kind, tuple(map(frozen, content)) if isinstance(content, list) else content or b'')


def same_shape(request, ours, stock):
    return repr(shape(ours)) == repr(shape(stock))


def same_kind(request, ours, stock):
    return ours[0] == stock[0]


def unordered(request, ours, stock):
    if ours[0] != stock[0] or not isinstance(ours[1], list) or not isinstance(stock[1], list):
        return False
    return sorted(map(frozen, ours[1])) == sorted(map(frozen, stock[1]))


def unordered_pairs(request, ours, stock):
    if ours[0] != stock[0] or not isinstance(ours[1], list) or not isinstance(stock[1], list):
        return False
    return _pairs(ours[1]) == _pairs(stock[1])


def _pairs(items):
    return sorted(zip(map(frozen, items[0::2]), map(frozen, items[1::2])))


def within(slack):
    """Integers may differ by so much."""
    def rule(request, ours, stock):
        if ours[0] != stock[0]:
            return False
        if ours[0] == ':':
            both = int(ours[1]), int(stock[1])
            return min(both) >= 0 and abs(both[0] - both[1]) <= slack
        if not isinstance(ours[1], list) or not isinstance(stock[1], list):
            return ours == stock
        return len(ours[1]) == len(stock[1]) and all(
            one == other or rule(request, one, other) for one, other in zip(ours[1], stock[1]))
    return rule


def scan(request, ours, stock):
    """All elements where both cursors are through; cursors are the server's own."""
    cursor = request[1] if request[0].upper() == b'SCAN' else request[2]
    try:
        (_, first), (_, elements) = ours[1]
        (_, second), (_, others) = stock[1]
    except (TypeError, ValueError):
        return False
    if cursor != b'0' or first != b'0' or second != b'0':
        return True
    return sorted(elements) == sorted(others)


def random_members(request, ours, stock):
    """Chosen by chance: as many, of the same kind; with a count of all of them, the same."""
    if ours[0] != stock[0]:
        return False
    if not isinstance(ours[1], list):
        return (ours[1] is None) == (stock[1] is None)
    return len(ours[1]) == len(stock[1]) and \
        [item[0] for item in ours[1]] == [item[0] for item in stock[1]]


def sort(request, ours, stock):
    """BY nosort of a set or sorted set has a table's order; ties of weights have none."""
    words = [word.upper() for word in request]
    return b'BY' in words and ours[0] == stock[0] and same_shape(request, ours, stock)


def client_lines(request, ours, stock):
    """CLIENT LIST in any order (6.2 turns its list), without addresses, times and memory."""
    if ours[0] != stock[0] or ours[1] is None or stock[1] is None:
        return False
    both = [sorted(CLIENT_FIELD.sub(b'', reply[1].removeprefix(b'txt:')).split(b'\n'))
            for reply in (ours, stock)]
    return both[0] == both[1]


def user(request, ours, stock):
    """ACL GETUSER: the rules of commands are in no order."""
    if ours[0] != stock[0] or not isinstance(ours[1], list) or not isinstance(stock[1], list) \
            or len(ours[1]) != len(stock[1]):
        return False
    return all(one == other or (isinstance(one[1], bytes) and _same_rules(one[1], other[1]))
               for one, other in zip(ours[1], stock[1]))


def users(request, ours, stock):
    return ours[0] == stock[0] and len(ours[1]) == len(stock[1]) and all(
        _same_rules(one, other) for (_, one), (_, other) in zip(sorted(ours[1]), sorted(stock[1])))


def _same_rules(ours, stock):
    """The words of a user's rules, in any order."""
    return sorted(ours.split()) == sorted(stock.split())


def config_get(request, ours, stock):
    """Every option of stock's stands in ours with the same value; ours may have more."""
    if ours[0] != stock[0]:
        return False
    mine = dict(zip(ours[1][0::2], ours[1][1::2]))
    theirs = dict(zip(stock[1][0::2], stock[1][1::2]))
    return all(known.option_differs(name[1]) or mine.get(name) == setting
               for name, setting in theirs.items())


def hello(request, ours, stock):
    return ours[0] == stock[0] and len(ours[1]) == len(stock[1])


RULES = {
    b'SMEMBERS': unordered, b'SINTER': unordered, b'SUNION': unordered, b'SDIFF': unordered,
    b'HKEYS': unordered, b'HVALS': unordered, b'HGETALL': unordered_pairs, b'KEYS': unordered,
    b'SCAN': scan, b'SSCAN': scan, b'HSCAN': scan, b'ZSCAN': scan,
    b'SRANDMEMBER': random_members, b'HRANDFIELD': random_members, b'ZRANDMEMBER': random_members,
    b'SPOP': random_members, b'RANDOMKEY': same_kind, b'SORT': sort, b'XADD': same_kind,
    b'TTL': within(SLACK_S), b'PTTL': within(SLACK_MS), b'EXPIRETIME': within(SLACK_S),
    b'XPENDING': within(SLACK_MS), b'XINFO STREAM': within(SLACK_MS),
    b'XINFO CONSUMERS': within(SLACK_MS), b'XINFO GROUPS': within(SLACK_MS),
    b'OBJECT IDLETIME': within(SLACK_S), b'OBJECT FREQ': within(20), b'OBJECT HELP': same_kind,
    b'MEMORY USAGE': same_kind, b'MEMORY STATS': same_kind, b'MEMORY DOCTOR': same_kind,
    b'MEMORY HELP': same_kind, b'MEMORY MALLOC-STATS': same_kind,
    b'TIME': same_shape, b'INFO': same_kind, b'LOLWUT': same_kind,
    b'CLIENT INFO': client_lines, b'CLIENT LIST': client_lines, b'CLIENT HELP': same_kind,
    b'CONFIG GET': config_get, b'CONFIG HELP': same_kind, b'HELLO': hello,
    b'PUBSUB CHANNELS': unordered, b'PUBSUB HELP': same_kind, b'XINFO HELP': same_kind,
    b'COMMAND': unordered, b'COMMAND HELP': same_kind,
    b'ACL GENPASS': same_shape, b'ACL LOG': same_shape, b'ACL HELP': same_kind,
    b'ACL CAT': unordered, b'ACL LIST': users, b'ACL USERS': unordered, b'ACL GETUSER': user,
    b'LATENCY DOCTOR': same_kind, b'LATENCY HELP': same_kind, b'SLOWLOG GET': same_kind,
    b'SLOWLOG LEN': same_kind,
    b'SLOWLOG HELP': same_kind, b'MODULE HELP': same_kind, b'XGROUP HELP': same_kind,
}
