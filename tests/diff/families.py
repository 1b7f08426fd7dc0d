# SPDX-License-Identifier: BSD-3-Clause
"""Families of commands that work on data: the templates, and how a round is drawn from them.

A family makes the script of a round from a seed and nothing else. Families about clients stand in
families_clients.py; both are entered in FAMILIES.
"""
import random

import known
import pools
import risk
from grammar import odd_case, templates
from pools import World
from script import Op, call, calls, to_args

FAMILIES = {}
EVENTS_CLIENT = 8
MONITOR_CLIENT = 9
TRACKING_CLIENT = 10
# Long enough to be set on a busy machine before it has passed.
SHORT_MS = 30

STRINGS = '''
4x SET string value
3x SET string value (NX | XX | GET | KEEPTTL | EX seconds | PX millis | EXAT date | PXAT date_ms)*
3x GET string
GETSET string value
GETDEL string
GETEX string (EX seconds | PX millis | EXAT date | PXAT date_ms | PERSIST)?
2x APPEND string value
STRLEN string
SETEX string seconds value
PSETEX string millis value
SETNX string value
SETRANGE string offset value
GETRANGE string index index
SUBSTR string index index
2x MGET string+
2x MSET (string value)+
MSETNX (string value)+
2x INCR string
DECR string
INCRBY string increment
DECRBY string increment
INCRBYFLOAT string float
STRALGO LCS (KEYS string string | STRINGS value value) (LEN | IDX | MINMATCHLEN int | WITHMATCHLEN)*
'''
BITS = '''
4x SETBIT bits bit_index bit
2x GETBIT bits bit_index
2x BITCOUNT bits (index index)?
2x BITPOS bits bit (index index?)?
3x BITOP (AND | OR | XOR | x) bits bits+
BITOP NOT bits bits
4x BITFIELD bits (GET bit_type bit_offset | SET bit_type bit_offset increment | OVERFLOW (WRAP | \
    SAT | FAIL | x) INCRBY bit_type bit_offset increment)+
BITFIELD bits INCRBY bit_type bit_offset increment
BITFIELD_RO bits (GET bit_type bit_offset | SET bit_type bit_offset increment)+
SET bits value
GET bits
APPEND bits value
'''
HLL = '''
8x PFADD hll hll_member hll_member hll_member* hll_member* hll_member* hll_member*
PFADD hll
3x PFCOUNT hll+
2x PFMERGE hll hll+
PFDEBUG (ENCODING | TODENSE | x) hll
STRLEN hll
GET hll
APPEND hll value
SETRANGE hll offset value
'''
LISTS = '''
4x RPUSH list member+
4x LPUSH list member+
LPUSHX list member+
RPUSHX list member+
RPUSH list member member member member member member member member member member
2x LPOP list count_any?
2x RPOP list count_any?
LLEN list
2x LINDEX list index
2x LINSERT list (BEFORE | AFTER | x) member member
3x LRANGE list index index
2x LREM list count_any member
2x LSET list index member
LTRIM list index index
2x LPOS list member (RANK int | COUNT int | MAXLEN int)*
2x LMOVE list list (LEFT | RIGHT | x) (LEFT | RIGHT)
RPOPLPUSH list list
DEL list
'''
SETS = '''
6x SADD set member+
3x SADD set number+
SADD set number number number number number number number number number number number
3x SREM set member+
SREM set number+
SCARD set
2x SISMEMBER set member
SMISMEMBER set member+
2x SMEMBERS set
SRANDMEMBER set count_any?
3x SMOVE set set member
2x SINTER set+
2x SUNION set+
2x SDIFF set+
2x SINTERSTORE set set+
2x SUNIONSTORE set set+
2x SDIFFSTORE set set+
SSCAN set scan_all COUNT 100000
SSCAN set scan_all (MATCH pattern | COUNT int)*
DEL set
'''
HASHES = '''
6x HSET hash (member value)+
HSET hash member value member value member value member value member value member value
2x HMSET hash (member value)+
HSETNX hash member value
3x HGET hash member
HMGET hash member+
3x HDEL hash member+
HLEN hash
HSTRLEN hash member
HEXISTS hash member
HKEYS hash
HVALS hash
2x HGETALL hash
2x HINCRBY hash member increment
2x HINCRBYFLOAT hash member float
HRANDFIELD hash (count_any WITHVALUES?)?
HSCAN hash scan_all COUNT 100000
HSCAN hash scan_all (MATCH pattern | COUNT int)*
DEL hash
'''
ZSETS = '''
6x ZADD zset (score member)+
3x ZADD zset (NX | XX | GT | LT | CH)* (score member)+
ZADD zset (NX | XX | GT | LT | CH)* INCR score member
ZADD zset score member score member score member score member score member score member
2x ZINCRBY zset score member
2x ZREM zset member+
ZCARD zset
2x ZSCORE zset member
ZMSCORE zset member+
ZRANK zset member
ZREVRANK zset member
2x ZCOUNT zset score_min score_max
ZLEXCOUNT (lexset | zset) lex lex
2x ZADD lexset (0 member)+
ZREM lexset member
2x ZREMRANGEBYLEX lexset lex lex
2x ZRANGEBYLEX lexset lex_min lex_max (LIMIT int count_any)?
2x ZREVRANGEBYLEX lexset lex_max lex_min (LIMIT int count_any)?
2x ZRANGE lexset lex_min lex_max BYLEX (REV | LIMIT int count_any)*
ZRANGESTORE zset lexset lex_min lex_max BYLEX
3x ZRANGE zset index index (REV | WITHSCORES | LIMIT int count_any)*
2x ZRANGE zset score_min score_max BYSCORE (REV | WITHSCORES | LIMIT int count_any)*
ZRANGE zset score_max score_min BYSCORE REV (WITHSCORES | LIMIT int count_any)*
2x ZRANGE zset lex_min lex_max BYLEX (REV | LIMIT int count_any)*
ZREVRANGE zset index index WITHSCORES?
2x ZRANGEBYSCORE zset score_min score_max (WITHSCORES | LIMIT int count_any)*
ZREVRANGEBYSCORE zset score_max score_min (WITHSCORES | LIMIT int count_any)*
ZRANGEBYLEX zset lex_min lex_max (LIMIT int count_any)?
ZREVRANGEBYLEX zset lex_max lex_min (LIMIT int count_any)?
2x ZRANGESTORE zset zset index index (REV | LIMIT int int)*
ZRANGESTORE zset zset score_min score_max BYSCORE (LIMIT int count_any)?
ZREMRANGEBYSCORE zset score_edge score_edge
ZREMRANGEBYRANK zset int int
ZREMRANGEBYLEX zset lex lex
ZPOPMIN zset count_any?
ZPOPMAX zset count_any?
2x (ZUNION | ZINTER) zset_counted (weights | AGGREGATE (SUM | MIN | MAX | x) | WITHSCORES)*
3x (ZUNIONSTORE | ZINTERSTORE) zset zset_counted (weights | AGGREGATE (SUM | MIN | MAX | x))*
(ZUNIONSTORE | ZINTERSTORE) zset 2 zset set
ZDIFF zset_counted WITHSCORES?
ZDIFFSTORE zset zset_counted
ZRANDMEMBER zset (count_any WITHSCORES?)?
ZSCAN zset scan_all COUNT 100000
ZSCAN zset scan_all (MATCH pattern | COUNT int)*
SADD set member+
DEL zset
'''
GEO = '''
6x GEOADD geo (NX | XX | CH)* (place geo_member)+
2x GEODIST geo geo_member geo_member unit?
GEOHASH geo geo_member+
GEOPOS geo geo_member+
3x GEOSEARCH geo (FROMMEMBER geo_member | FROMLONLAT place) (BYRADIUS radius unit | BYBOX radius \
    radius unit) (ASC | DESC) (COUNT int ANY? | WITHCOORD | WITHDIST | WITHHASH)*
GEOSEARCHSTORE geo geo (FROMMEMBER geo_member | FROMLONLAT place) (BYRADIUS radius unit | BYBOX \
    radius radius unit) ASC (COUNT int | STOREDIST)*
2x GEORADIUS geo place radius unit (WITHCOORD | WITHDIST | WITHHASH | COUNT int | ASC | DESC)*
GEORADIUS geo place radius unit ASC (STORE geo | STOREDIST geo | COUNT int)*
GEORADIUS_RO geo place radius unit (WITHCOORD | WITHDIST | STORE geo | ASC | DESC)*
2x GEORADIUSBYMEMBER geo geo_member radius unit (WITHCOORD | WITHDIST | WITHHASH | COUNT int | \
    ASC | DESC)*
GEORADIUSBYMEMBER_RO geo geo_member radius unit (WITHCOORD | WITHDIST | ASC | DESC)*
ZREM geo geo_member
ZRANGE geo 0 -1 WITHSCORES
ZADD geo score geo_member
DEL geo
'''
STREAMS = '''
8x XADD stream id (member value)+
3x XADD stream (NOMKSTREAM | MAXLEN (= | ~)? int (LIMIT int)? | MINID (= | ~)? id (LIMIT int)?)* \
    id (member value)+
XLEN stream
3x XRANGE stream id_first id_last (COUNT count_any)?
2x XREVRANGE stream id_last id_first (COUNT count_any)?
2x XDEL stream id+
XTRIM stream (MAXLEN | MINID) (= | ~)? int (LIMIT int)?
3x XREAD (COUNT count_any)? STREAMS stream_reads
3x XGROUP CREATE stream group (id | $) MKSTREAM?
XGROUP SETID stream group (id | $)
XGROUP DESTROY stream group
XGROUP CREATECONSUMER stream group consumer
XGROUP DELCONSUMER stream group consumer
5x XREADGROUP GROUP group consumer (COUNT count_any | NOACK)* STREAMS group_reads
2x XACK stream group id+
2x XPENDING stream group ((IDLE idle)? id_first id_last count_any consumer?)?
2x XCLAIM stream group consumer idle id+ (IDLE idle | TIME date_ms | RETRYCOUNT int | FORCE | \
    JUSTID | LASTID id)*
2x XAUTOCLAIM stream group consumer idle id (COUNT count_any | JUSTID)*
XINFO STREAM stream (FULL (COUNT count_any)?)?
XINFO GROUPS stream
XINFO CONSUMERS stream group
XSETID stream id
DEL stream
'''
KEYS = '''
2x DEL key+
UNLINK key+
2x EXISTS key+
TOUCH key+
2x TYPE key
2x EXPIRE key seconds
PEXPIRE key millis
EXPIREAT key date
PEXPIREAT key date_ms
2x TTL key
PTTL key
PERSIST key
2x RENAME key key
RENAMENX key key
2x COPY key key (DB db | REPLACE)*
MOVE key db
2x SELECT db
SELECT 0
SWAPDB db db
KEYS pattern
SCAN scan_all COUNT 100000
SCAN scan_all (MATCH pattern | COUNT (int | 100000))*
SCAN 0 COUNT 100000 TYPE type (MATCH pattern)?
DBSIZE
RANDOMKEY
3x OBJECT ENCODING key
OBJECT REFCOUNT key
OBJECT IDLETIME key
OBJECT FREQ key
OBJECT HELP x
MEMORY USAGE key (SAMPLES int)?
FLUSHDB (ASYNC | SYNC | x)?
FLUSHALL (ASYNC | SYNC | x)?
2x SORT key (LIMIT int count_any | ASC | DESC | ALPHA | BY sort_by | GET sort_get)*
SORT key ALPHA (ASC | DESC | LIMIT int count_any)* STORE key
SET string value
RPUSH list number+
SADD set number+
ZADD zset score member
HSET hash member value
XADD stream id a b
PFADD hll hll_member
'''


def counts(*values):
    return [str(value).encode() for value in values]


ENCODINGS = {
    b'hash-max-ziplist-entries': counts(0, 1, 4, 8, 512), b'hash-max-ziplist-value': counts(4, 64),
    b'set-max-intset-entries': counts(0, 1, 4, 512), b'list-compress-depth': counts(0, 1, 2),
    b'zset-max-ziplist-entries': counts(0, 1, 4, 8, 128), b'zset-max-ziplist-value': counts(0, 4,
    64),
    b'list-max-ziplist-size': counts(-5, -2, -1, 1, 2, 4, 128, 0),
    b'hll-sparse-max-bytes': counts(0, 30, 100, 3000),
    b'stream-node-max-entries': counts(0, 1, 3, 100), b'stream-node-max-bytes': counts(0, 100,
    4096),
    b'lazyfree-lazy-user-del': [b'yes', b'no'], b'lazyfree-lazy-server-del': [b'yes', b'no'],
}


class Family:
    """Commands drawn from templates by a few clients, with some who only listen."""

    def __init__(self, name, text, types, clients=2, listeners=0.5, faults=0.05,
                 lengths=(1, 2, 5, 20, 60, 100, 100, 100)):
        self.name = name
        self.templates = templates(text, pools.POOLS)
        self.weights = [template.weight for template in self.templates]
        self.types = types
        self.clients = clients
        self.listeners = listeners
        self.faults = faults
        self.monitored = True
        self.transactional = 'MULTI' in text
        self.lengths = lengths
        if name:
            FAMILIES[name] = self

    def script(self, seed, commands):
        """The ops of a round: the same for the same seed."""
        rng = random.Random(seed)
        world = World(rng, self.types, self.clients)
        script = self.opening(world)
        left = commands
        while left > 0:
            client = rng.randint(1, self.clients)
            for _ in range(rng.choice(self.lengths)):
                op = self.op(world, client)
                script.append(op)
                left -= op.commands()
        return script

    def opening(self, world):
        rng = world.rng
        script = [opened(client, rng.choice((2, 2, 3))) for client in range(1, self.clients + 1)]
        if rng.random() < self.listeners:
            script.append(call(1, 'CONFIG', 'SET', 'notify-keyspace-events', 'KEA'))
            script.append(opened(EVENTS_CLIENT, rng.choice((2, 3)), ('PSUBSCRIBE', '__key*')))
        if rng.random() < self.listeners / 4 and self.monitored:
            script.append(opened(MONITOR_CLIENT, 2, ('MONITOR',)))
        if rng.random() < self.listeners / 4:
            script.append(opened(TRACKING_CLIENT, 3, ('CLIENT', 'TRACKING', 'ON', 'BCAST')))
        return script

    def op(self, world, client):
        """The next op of a client."""
        rng = world.rng
        chance = rng.random()
        if chance < 0.004:
            return self.tuning(world, client)
        if chance < 0.007:
            return self.short_lived(world, client)
        if chance < 0.015:
            return by_chance(world, client)
        args = self.request(world)
        marks = {'cut': rng.randrange(1, 1 << 30)} if rng.random() < 0.01 else {}
        if rng.random() < 0.01 and sum(map(len, args)) < 1000 and args[0]:
            return Op(client, [('inline', args)], alone=counts_anew(args), **marks)
        return Op(client, [('call', args)], alone=counts_anew(args), **marks)

    def short_lived(self, world, client):
        """A key whose deadline passes, and then a request that may meet it."""
        key = pools.any_key(world)
        request = self.request(world)
        while known.avoided_when_due(request):
            request = self.request(world)
        # Its time begins now and not with an EXEC.
        first = [('call', [b'DISCARD'])] * self.transactional
        return Op(client, first + [
            ('call', [b'PEXPIRE', key, b'%d' % SHORT_MS]), ('await', None),
            ('pause', SHORT_MS + 5), ('call', request), ('call', [b'EXISTS', key])], alone=True)

    def request(self, world):
        """A request that may be compared, with faults now and then."""
        while True:
            template = world.rng.choices(self.templates, self.weights)[0]
            args = template.draw(world)
            if world.rng.random() < self.faults and not args[0].endswith(b'SUBSCRIBE'):
                args = spoiled(world, args)
            if not risk.risky(args):
                return args

    def tuning(self, world, client):
        while True:
            name = world.rng.choice(sorted(ENCODINGS))
            args = [b'CONFIG', b'SET', name, world.rng.choice(ENCODINGS[name])]
            if not known.avoided(args):
                return Op(client, [('call', args)])


def counts_anew(args):
    """What is counted from then on must not depend on where in a pipeline it stands."""
    return [arg.upper() for arg in args[:2]] == [b'CONFIG', b'RESETSTAT']


def opened(client, protocol, *requests):
    """A new connection in a client's place."""
    actions = [('open', None)]
    if protocol == 3:
        actions.append(('call', [b'HELLO', b'3']))
    actions += [('call', to_args(request)) for request in requests]
    return Op(client, actions, alone=True)


def spoiled(world, args):
    """The request with one fault more: an argument missing, doubled, moved or of another kind."""
    rng = world.rng
    args = list(args)
    if any(arg.startswith(b'@') for arg in args):
        # Clients' addresses: an error may show them.
        return args
    at = rng.randrange(len(args))
    way = rng.randrange(7)
    if way == 0 and len(args) > 1:
        args.pop()
    elif way == 1 and at > 0:
        args.pop(at)
    elif way == 2 and at > 0:
        args.insert(at, args[at])
    elif way == 3:
        args.append(rng.choice((b'x', pools.edge(world), pools.value(world))))
    elif way == 4 and at > 0:
        args[at] = pools.edge(world)
    elif way == 5 and at > 0:
        other = rng.randrange(1, len(args))
        args[at], args[other] = args[other], args[at]
    else:
        args[0] = odd_case(rng, args[0])
    return args


def by_chance(world, client):
    """A command whose effect is random, on a key that nobody else has and that goes again."""
    while True:
        op = _by_chance(world.rng, client)
        if not any(known.avoided(args) for _, args in op.actions):
            return op


def _by_chance(rng, client):
    members = [b'%s%d' % (rng.choice((b'', b'm')), n) for n in range(rng.choice((1, 3, 20)))]
    count = rng.choice(([], [b'0'], [b'1'], [b'5'], [b'100'], [b'-1'], [b'x'], [b'1', b'2']))
    if rng.random() < 0.5:
        return calls(client, [b'SADD', b'chance'] + members, [b'SPOP', b'chance'] + count,
                     (b'SCARD', b'chance'), (b'DEL', b'chance'))
    return calls(client, (b'XADD', b'chance', b'*', b'a', b'1'),
                 (b'XADD', b'chance', b'MAXLEN', b'1', b'*', b'a', b'2'),
                 (b'XLEN', b'chance'), (b'DEL', b'chance'))


Family('strings', STRINGS + 'INCRBYFLOAT string tiny', ('string',))
Family('bits', BITS, ('bits',))
Family('hll', HLL, ('hll',))
Family('lists', LISTS, ('list',))
Family('sets', SETS, ('set',))
Family('hashes', HASHES + 'HINCRBYFLOAT hash member tiny', ('hash',))
Family('zsets', ZSETS + 'ZADD zset tiny member', ('zset',))
Family('geo', GEO, ('geo',))
Family('streams', STREAMS, ('stream',))
Family('keys', KEYS, pools.TYPES)
ALL_DATA = STRINGS + BITS + HLL + LISTS + SETS + HASHES + ZSETS + GEO + STREAMS + KEYS
Family('mixed', ALL_DATA, pools.TYPES, clients=3)
