# SPDX-License-Identifier: BSD-3-Clause
"""Families about clients: several that wait, watch, listen, log in, change options, break rules.

Client 1 never waits and keeps its rights where others lose theirs, so a round always goes on.
"""
import pools
from families import HASHES, KEYS, LISTS, SETS, STREAMS, STRINGS, ZSETS, Family, opened
from script import Op, call, calls

EVER_CLIENT = 7
TRANSACTIONS = '''
14x MULTI
12x EXEC
2x DISCARD
5x WATCH key+
2x UNWATCH
RESET
HELLO (2 | 3)
'''
SERVES = '''
4x RPUSH list member+
3x LPUSH list member+
4x ZADD zset (score member)+
2x XADD stream id a b
RPOPLPUSH list list
LMOVE list list LEFT RIGHT
SORT list ALPHA STORE list
2x DEL key+
RENAME key key
COPY key key REPLACE
SET list value
ZUNIONSTORE zset 2 zset zset
XGROUP CREATE stream group 0 MKSTREAM
XGROUP DESTROY stream group
2x CLIENT UNBLOCK client_id (TIMEOUT | ERROR | x)?
MULTI
2x EXEC
LLEN list
FLUSHDB
'''
# SWAPDB is not here: which of several keys it makes ready first is chance in 6.2.
WAITS = '''
5x BLPOP list+ timeout_forever
4x BRPOP list+ timeout_forever
4x BLMOVE list list (LEFT | RIGHT | x) (LEFT | RIGHT) timeout_forever
3x BRPOPLPUSH list list timeout_forever
3x BZPOPMIN zset+ timeout_forever
3x BZPOPMAX zset+ timeout_forever
3x XREAD (COUNT count)? BLOCK timeout_forever STREAMS stream $
2x XREAD BLOCK timeout_forever STREAMS stream id
4x XREADGROUP GROUP group consumer (COUNT count)? BLOCK timeout_forever STREAMS stream >
XREADGROUP GROUP group consumer BLOCK timeout_forever STREAMS stream id
RPUSH list member+
ZADD zset score member
XADD stream id a b
LLEN list
PING
MULTI
EXEC
WATCH key
HELLO (2 | 3)
'''
PUBSUB = '''
5x SUBSCRIBE channel+
3x UNSUBSCRIBE channel+
UNSUBSCRIBE
4x PSUBSCRIBE channels+
3x PUNSUBSCRIBE channels+
PUNSUBSCRIBE
8x PUBLISH channel value
2x PUBLISH __redis__:invalidate value
PUBSUB CHANNELS channels?
2x PUBSUB NUMSUB channel*
2x PUBSUB NUMPAT
PUBSUB (HELP | x) x?
2x PING value?
SET string value
GET string
RESET
HELLO (2 | 3)
QUIT
'''
TRACKING = '''
4x CLIENT TRACKING ON (REDIRECT taker)? (OPTIN | OPTOUT | NOLOOP | NOLOOP | x)*
3x CLIENT TRACKING ON BCAST (PREFIX (string | s | list | key))? (NOLOOP | REDIRECT taker | OPTIN)*
2x CLIENT TRACKING OFF
3x CLIENT CACHING (YES | NO | x)
CLIENT GETREDIR
2x CLIENT TRACKINGINFO
2x HELLO (2 | 3)
2x SUBSCRIBE __redis__:invalidate
UNSUBSCRIBE __redis__:invalidate
RESET
16x GET string
6x MGET string+
6x LRANGE list 0 -1
4x EXISTS key+
10x SET string value
4x RPUSH list member
4x LPOP list
4x DEL key+
2x RENAME key key
FLUSHDB
FLUSHALL
2x EXPIRE string seconds
GETEX string EX seconds
3x MULTI
3x EXEC
TOUCH key
SORT list ALPHA STORE list
SINTERSTORE set set
COPY key key
SWAPDB 0 1
'''
ACL = '''
8x ACL SETUSER user acl_rule+
3x ACL DELUSER user+
3x AUTH user password
AUTH default x
AUTH password
3x ACL WHOAMI
3x ACL GETUSER user
2x ACL LIST
ACL USERS
ACL CAT (read | write | admin | x)?
ACL GENPASS int?
ACL LOG (RESET | int)?
ACL (SAVE | LOAD)
ACL (HELP | x) x?
HELLO (2 | 3) (AUTH user password | SETNAME name)*
RESET
6x SET key value
6x GET key
2x MGET key+
RPUSH list member
SORT list BY sort_by GET sort_get
PUBLISH channel value
SUBSCRIBE channel
CONFIG GET maxmemory
CLIENT SETNAME name
OBJECT ENCODING key
XREAD STREAMS stream 0
ZUNIONSTORE zset zset_counted
2x MULTI
2x EXEC
PING
'''
CONNECTION = '''
3x HELLO (2 | 3 | 1 | 4 | x)? (AUTH user password | SETNAME name)*
2x CLIENT SETNAME name
2x CLIENT GETNAME
2x CLIENT ID
CLIENT INFO
CLIENT LIST (TYPE (normal | master | replica | pubsub | x) | ID client_id+)?
2x CLIENT KILL (client_address | ID client_id | TYPE pubsub | ADDR client_address | LADDR \
    client_address | USER user | SKIPME (yes | no | x) ID client_id)
CLIENT UNBLOCK client_id (TIMEOUT | ERROR)?
CLIENT PAUSE (-1 | abc) (WRITE | ALL | x)?
CLIENT UNPAUSE
CLIENT GETREDIR
CLIENT TRACKINGINFO
CLIENT TRACKING (ON | OFF | x)
CLIENT CACHING (YES | NO)
CLIENT REPLY (ON | x)
CLIENT (HELP | x) x?
2x SELECT db
2x ECHO value
3x PING value?
RESET
QUIT
AUTH password
AUTH user password
MULTI
EXEC
SUBSCRIBE channel
UNSUBSCRIBE
TIME
SET string value
2x GET string
WAIT 0 int
COMMAND
COMMAND COUNT
3x COMMAND INFO command+
3x COMMAND GETKEYS command key key? value?
COMMAND GETKEYS (ZUNIONSTORE zset | SINTER | XREAD STREAMS) zset_counted
COMMAND (HELP | x) x?
CLUSTER (HELP | INFO | SLOTS | x) x?
(READONLY | READWRITE | ASKING) x?
MODULE (LIST | HELP | UNLOAD x | x) x?
nocommand value?
text
'''
SERVER = '''
3x OBJECT (ENCODING | REFCOUNT | FREQ | IDLETIME | HELP | x) key?
2x MEMORY (USAGE key | DOCTOR | STATS | HELP | PURGE | x)
2x SLOWLOG (GET int? | LEN | RESET | HELP | x)
2x LATENCY (LATEST | HISTORY x | RESET | DOCTOR | GRAPH x | HELP | x)
DBSIZE
LOLWUT (VERSION int)? int?
4x CONFIG GET option
CONFIG GET option_pattern
6x CONFIG SET option option_value
CONFIG RESETSTAT
CONFIG (HELP | x) x?
INFO (server | clients | memory | stats | keyspace | x | all | everything)?
2x SET key value
2x RPUSH list member
DEL key
SWAPDB db db
SELECT db
SELECT 0
TIME
'''
ACL_RULES = pools.words(
    'on off nopass resetpass >p1 >p2 <p1 <p3 reset resetkeys allkeys ~* ~string:* ~list:0 '
    'resetchannels allchannels &ch* &ch1 +@all -@all allcommands nocommands +get -get +@read '
    '-@write +@string -@dangerous +config|get +client|id -config +object|encoding +nosuch +@nosuch '
    '-config|get skip-sanitize-payload sanitize-payload x #abc +select|1 ~ %R~x +set -SET +@fast '
    '-@slow +multi +exec', b'', b'#' + b'a' * 64, b'!' + b'a' * 64)
OPTIONS = pools.words(
    'maxmemory-samples hash-max-ziplist-entries hash-max-ziplist-value slowlog-max-len timeout '
    'tcp-keepalive lfu-log-factor lfu-decay-time notify-keyspace-events maxmemory-policy '
    'lazyfree-lazy-expire activerehashing list-max-ziplist-size list-compress-depth '
    'set-max-intset-entries tracking-table-max-keys zset-max-ziplist-entries stream-node-max-bytes '
    'loglevel client-query-buffer-limit proto-max-bulk-len dynamic-hz jemalloc-bg-thread '
    'client-output-buffer-limit acllog-max-len nosuch databases MAXMEMORY-SAMPLES '
    'acl-pubsub-default maxmemory-eviction-tenacity oom-score-adj-values', b'')
OPTION_VALUES = pools.words(
    'yes no 0 1 10 100 -1 -2 abc 1mb 64mb 1.5 KEA Elg$ KEAm noeviction allkeys-lru volatile-ttl '
    '9223372036854775807 4294967296 99999999999999999999 notice warning YES 1kb 10% resetchannels '
    'allchannels', b'', b'normal 0 0 0', b'normal 1 1', b'x 0 0 0', b'pubsub 32mb 8mb 60',
    b'replica 1gb 1mb 10', b'100 200 300', b'2 1 0', b' 10', b'10 ')
COMMAND_NAMES = pools.words(
    'get SET mget sort xread zunionstore nosuch bitop georadius xgroup object memory del blpop '
    'zinter lmove config ping multi client mset rename pfcount stralgo copy cluster asking module',
    b'')
pools.POOLS.update({
    'acl_rule': ACL_RULES, 'option': OPTIONS, 'option_value': OPTION_VALUES,
    'option_pattern': pools.words('maxmemory* list-* *-max-* [hs]*-max-* nosuch*'),
    'command': COMMAND_NAMES, 'taker': pools.words('@id3 @id3 @id4 0 99999 -1 abc'),
    'nocommand': pools.words('nosuch', b'', b' ', b'get ', b'g\x00et', b'x' * 100, b'x' * 300),
    's': pools.words('s string', b''),
})
# Words in small letters that stand for themselves.
for _word in ('normal', 'master', 'replica', 'pubsub', 'yes', 'no', 'abc', 'default', 'maxmemory',
              'server', 'clients', 'memory', 'stats', 'keyspace', 'all', 'everything', 'read',
              'write', 'admin'):
    pools.POOLS.setdefault(_word, pools.words(_word))


class Waiting(Family):
    """Clients that wait in blocking commands, and client 1 that serves and ends them."""

    def __init__(self, name, serves, waits, **options):
        super().__init__(name, serves, ('list', 'zset', 'stream'), **options)
        self.waits = Family('', waits, self.types)
        self.monitored = False

    def op(self, world, client):
        chance = world.rng.random()
        if chance < 0.01:
            return self.timed(world)
        if client == 1 or chance < 0.4:
            return self.serving(self.request(world))
        if chance < 0.43:
            return opened(client, world.rng.choice((2, 3)))
        if chance < 0.44:
            return Op(client, [('close', None)], alone=True)
        if chance < 0.5:
            return call(client, *world.rng.choice((('PING',), ('ECHO', 'x'), ('GET',))))
        # In which order clients that were served together go on with what they have sent since
        # is the server's own; so nothing with an effect is sent to who waits.
        return call(client, *self.waits.request(world), ready=True)

    def serving(self, args):
        """What stores over a key of another type serves nobody in 6.2: see known.py."""
        words = [arg.upper() for arg in args]
        target = None
        if b'STORE' in words[:-1]:
            target = args[words.index(b'STORE') + 1]
        elif words[0] == b'ZUNIONSTORE' and len(args) > 1:
            target = args[1]
        return calls(1, [b'DEL', target], args) if target else call(1, *args)

    def timed(self, world):
        """A wait whose time passes, of a client of its own."""
        timeout = world.rng.choice((b'0.01', b'0.005', b'0.02'))
        request = world.rng.choice((
            [b'BLPOP', b'nolist', timeout], [b'BLMOVE', b'nolist', b'x', b'LEFT', b'LEFT', timeout],
            [b'BZPOPMIN', b'nozset', timeout], [b'XREAD', b'BLOCK', b'10', b'STREAMS', b'no', b'$'],
            [b'BRPOPLPUSH', b'nolist', b'y', timeout], [b'WAIT', b'1', b'10']))
        last = self.clients + 1
        return Op(last, [('open', None), ('call', request), ('await', None), ('close', None)],
                  alone=True)


class Tracking(Family):
    """Clients that remember what they have read. Clients 3 and 4 take redirected messages and use
    no transactions: 6.2 puts messages into the reply of their EXEC."""

    def opening(self, world):
        # One who never ends: when the last one does, ours forgets what was read.
        return [opened(EVER_CLIENT, 3, ('CLIENT', 'TRACKING', 'ON'))] + super().opening(world)

    def op(self, world, client):
        while True:
            args = self.request(world)
            if client < 3 or args[0].upper() not in (b'MULTI', b'EXEC'):
                return call(client, *args)


class Listening(Family):
    """Publish and subscribe, also within transactions: one channel a command there, since more
    of them shift the replies of EXEC."""

    def op(self, world, client):
        rng = world.rng
        if rng.random() > 0.05:
            return call(client, *self.request(world))
        channel = b'ch%d' % rng.randint(1, 3)
        inner = [rng.choice(((b'SUBSCRIBE', channel), (b'UNSUBSCRIBE', channel), (b'PING',),
                             (b'PUBLISH', channel, b'x'), (b'PSUBSCRIBE', b'ch*'),
                             (b'PUBSUB', b'NUMPAT'))) for _ in range(rng.randint(0, 4))]
        return calls(client, (b'MULTI',), *inner, (b'EXEC',))


class Silent(Family):
    """The family of connections, with CLIENT REPLY and connections that come and go."""

    def op(self, world, client):
        rng = world.rng
        chance = rng.random()
        if chance < 0.03:
            return opened(rng.randint(1, self.clients), rng.choice((2, 3)))
        if chance < 0.06:
            mode = rng.choice((b'OFF', b'SKIP'))
            requests = [[b'CLIENT', b'REPLY', mode]]
            requests += [rng.choice(([b'SET', b'string:0', b'1'], [b'PING'], [b'nosuch'], [b'GET']))
                         for _ in range(rng.randint(0, 3))]
            return calls(client, [b'RESET'], *requests, [b'CLIENT', b'REPLY', b'ON'], [b'PING'])
        if chance < 0.063:
            return Op(client, [('call', [b'RESET']),
                               ('call', [b'CLIENT', b'PAUSE', b'30',
                                         rng.choice((b'WRITE', b'ALL'))]),
                               ('call', [b'SET', b'string:0', b'1']), ('await', None),
                               ('call', [b'CLIENT', b'UNPAUSE'])], alone=True)
        return call(client, *self.request(world))


class Protocol(Family):
    """Bytes that are no good protocol, each by a connection of its own, whole or in pieces."""

    SMALL = (b'*1\r\n$4\r\nPING\r\n', b'PING\r\n', b'\r\n', b'*0\r\n', b'*-1\r\n',
             b'*1\r\n$0\r\n\r\n')
    BAD = (
        b'*x\r\n', b'*1\r\n+PING\r\n', b'*1\r\n$-1\r\n', b'*1\r\n$x\r\nPING\r\n', b'*1048577\r\n',
        b'*1\r\n$536870913\r\n', b'$4\r\nPING\r\n', b'*2\r\n$3\r\nGET\r\n:1\r\n',
        b'*1\r\nPING\r\n', b'*99999999999999999999\r\n', b'*-5\r\n', b'*+1\r\n$4\r\nPING\r\n',
        b'*1\r\n$+4\r\nPING\r\n', b'* 1\r\n', b'*1\r\n$ 4\r\nPING\r\n',
        b'*01\r\n$04\r\nPING\r\n', b'*\r\n', b'*1\r\n$\r\n', b'set a "b\r\n', b'set a "b"c\r\n',
        b"set a 'b'\r\n", b'set a "\\x41\\n\\q"\r\n', b'get a\n', b'  ping  \r\n', b'ping\r', b'\n',
        b'\r', b'ping "a b" c\r\n', b'"PING"\r\n', b'""\r\n', b'POST / HTTP/1.1\r\n',
        b'GET / HTTP/1.1\r\nHost: x\r\n', b'host: x\r\n', b'a' * 70000, b'*1\r\n$' + b'1' * 70000,
        b'*' + b'1' * 70000, b'\xff\xfe\r\n', b'-ERR\r\n', b':1\r\n', b'>2\r\n',
        b'*1\r\n$4\r\nPINGxx', b'*1\r\n$4\r\nPINGxxPING\r\n', b'*1\r\n$3\r\nPING\r\n',
        b'echo "\\x00\\xff\\t\\r\\a\\b"\r\n', b"echo '\\'\\n'\r\n", b'echo "\r\n', b"echo 'a\r\n")

    def op(self, world, client):
        rng = world.rng
        parts = [rng.choice(self.SMALL) for _ in range(rng.randint(0, 3))]
        parts.append(rng.choice(self.BAD + self.SMALL))
        parts += [rng.choice(self.SMALL) for _ in range(rng.randint(0, 2))]
        if rng.random() < 0.2:
            parts = [self.spoiled(rng, b''.join(parts))]
        actions = [('open', None)] + [('call', [b'HELLO', b'3'])] * (rng.random() < 0.3)
        actions += [('raw', part) for part in parts] + [('close', None)]
        return Op(client, actions, alone=True, cut=rng.randrange(1 << 30) * (rng.random() < 0.3))

    def spoiled(self, rng, data):
        """Bytes with one of them changed, doubled or missing. No NUL: see differences.md."""
        at = rng.randrange(len(data))
        other = rng.choice((b'', data[at:at + 1] * 2, bytes([rng.randrange(1, 256)])))
        return data[:at] + other + data[at + 1:]


class Limits(Family):
    """Limits of memory and of clients' buffers, far from where accounting would decide."""

    def op(self, world, client):
        rng = world.rng
        way = rng.randrange(6)
        if way == 0:
            requests = [self.request(world) for _ in range(rng.randint(1, 20))]
            return calls(client, (b'CONFIG', b'SET', b'maxmemory', b'1'), *requests,
                         (b'CONFIG', b'SET', b'maxmemory', b'0'))
        if way == 1:
            return calls(client, (b'CONFIG', b'SET', b'client-output-buffer-limit',
                                  b'normal 200000 0 0'), alone=True)
        if way == 2:
            big = b'x' * rng.choice((1000, 5_000_000))
            return Op(client + 20, [('open', None), ('call', [b'SET', b'big', big]),
                                    ('call', [b'GET', b'big']), ('call', [b'PING']),
                                    ('await', None), ('close', None)], alone=True)
        if way == 3:
            return Op(client + 20, [
                ('call', [b'CONFIG', b'SET', b'proto-max-bulk-len', b'1mb']),
                ('raw', b'*2\r\n$4\r\nECHO\r\n$%d\r\n' % rng.choice((10, 1 << 20, (1 << 20) + 1))),
                ('close', None)], alone=True)
        if way == 4:
            count = rng.choice((3, 10, 10000))
            return Op(client, [('call', [b'CONFIG', b'SET', b'maxclients', b'%d' % count]),
                               ('open', None), ('call', [b'PING'])], alone=True)
        return call(client, *self.request(world))


def short_turns(*lengths):
    """How many ops of one client follow each other."""
    return {'lengths': lengths}


DATA = STRINGS + LISTS + SETS + HASHES + ZSETS + STREAMS + KEYS
Family('transactions', TRANSACTIONS * 2 + DATA, ('string', 'list', 'zset'), clients=3,
       **short_turns(1, 2, 5, 10))
Waiting('blocking', SERVES, WAITS, clients=5, **short_turns(1, 2, 3))
Listening('pubsub', PUBSUB, ('string',), clients=4, **short_turns(1, 2, 5))
Tracking('tracking', TRACKING, ('string', 'list', 'set'), clients=4, **short_turns(1, 2, 5, 10))
Family('acl', ACL, ('string', 'list', 'zset', 'stream'), clients=3, **short_turns(1, 5, 20))
Silent('connection', CONNECTION, ('string',), clients=4, listeners=0.1, **short_turns(1, 2, 5))
Family('server', SERVER, ('string', 'list', 'hash'), clients=2)
Protocol('protocol', 'PING', ('string',), clients=3, listeners=0, **short_turns(1))
Limits('limits', STRINGS + LISTS + HASHES, ('string', 'list', 'hash'), clients=2, listeners=0)
