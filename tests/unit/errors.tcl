# SPDX-License-Identifier: BSD-3-Clause
# Errors, byte for byte: commands with a fault, and the exact reply to each. A command that is
# refused changes nothing: the number of keys and the fixture's values are compared around it.
#
# Each command runs on a connection of its own in database 0, where the fixture's keys are.

# Commands with too few or too many arguments.
set arity_faults {
    {GET} {GET a b} {CLUSTER} {READONLY x} {READWRITE x} {ASKING x} {MODULE}
    {SET a} {EXPIRE a} {ECHO} {SELECT} {HSET h f} {MSET a} {HMSET h f v g}
    {ZADD z 1} {XADD s * f} {EVAL {return 1}} {XREAD STREAMS a} {SUBSCRIBE} {WATCH} {KEYS}
    {PSYNC a} {REPLICAOF x} {MIGRATE 127.0.0.1 1 k} {ZDIFF 0} {ZMSCORE zset} {GEOADD geo 1 1}
    {GEOSEARCH geo FROMLONLAT 1 1} {GEOSEARCH geo BYRADIUS 1 m} {XTRIM stream}
    {XREADGROUP STREAMS stream 0 x y}
}

# "Unknown subcommand or wrong number of arguments for" the second word.
set subcommand_faults {
    {CONFIG GET} {CONFIG SET a} {CONFIG NOSUCH} {CLIENT NOSUCH} {OBJECT NOSUCH} {OBJECT ENCODING}
    {DEBUG NOSUCH} {MEMORY NOSUCH} {MEMORY USAGE} {XGROUP NOSUCH} {SCRIPT NOSUCH}
    {SLOWLOG NOSUCH} {LATENCY NOSUCH} {ACL NOSUCH} {PUBSUB NOSUCH} {COMMAND NOSUCH}
    {MODULE NOSUCH} {MODULE LIST x} {MODULE LOAD} {MODULE UNLOAD}
    {OBJECT HELP x} {CLIENT GETREDIR x} {CLIENT NO-EVICT on} {MEMORY DOCTOR x}
    {LATENCY HISTORY} {COMMAND GETKEYS} {DEBUG SLEEP} {DEBUG JMAP} {DEBUG SET-ACTIVE-EXPIRE}
    {DEBUG STRINGMATCH-LEN x y} {XGROUP CREATE stream} {XINFO STREAM stream BOGUS} {XINFO STREAM}
}

# A reply, without its end of line if that is its only one, and the commands that get it.
set faults {
    {-ERR wrong number of arguments for MSET} {
        {MSET a 1 b} {MSETNX a 1 b}
    }
    {-ERR syntax error} {
        {ZADD z 1 a 2} {CLIENT KILL} {AUTH a b c} {SET k v EX} {SET k v EX 1 PX 1}
        {SET k v NX XX} {SET k v KEEPTTL EX 1} {SET k v BOGUS} {SET k v NX GET}
        {GETEX str EX 1 PERSIST} {GETEX str BOGUS} {BITCOUNT str 1} {BITOP BOGUS d a}
        {BITFIELD str BOGUS} {LINSERT list MID a b} {LPOS list a BOGUS 1}
        {HRANDFIELD hash 1 BOGUS} {LMOVE list d UP LEFT} {COPY str d BOGUS} {SCAN 0 COUNT 0}
        {SCAN 0 BOGUS} {SORT list BOGUS} {SORT list BY} {FLUSHALL BOGUS} {FLUSHDB x}
        {CLIENT REPLY BOGUS} {CLIENT KILL BOGUS x} {CLIENT LIST BOGUS} {CLIENT TRACKING BOGUS}
        {SHUTDOWN BOGUS} {BGSAVE BOGUS} {REPLCONF listening-port} {FAILOVER TO} {FAILOVER BOGUS}
        {STRALGO BOGUS STRINGS a b} {STRALGO LCS STRINGS a} {STRALGO LCS BOGUS} {INFO a b}
        {ZRANGE zset 0 1 BOGUS} {ZUNIONSTORE d 3 zset} {ZUNIONSTORE d 1 zset WEIGHTS}
        {ZUNIONSTORE d 1 zset AGGREGATE BOGUS} {ZINTER 1 zset BOGUS}
        {ZRANGESTORE d zset 0 1 WITHSCORES} {ZPOPMIN zset 1 2} {ZRANDMEMBER zset 1 BOGUS}
        {GEOADD geo XX NX 1 1 m} {XTRIM stream BOGUS 1} {XRANGE stream - + COUNT}
        {XRANGE stream - + BOGUS 1} {XREAD BOGUS 1 2} {XPENDING stream g - +}
    }
    {-ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be\
        specified.} {
        {XREAD STREAMS a b 0}
    }
    {-ERR no such key} {
        {XINFO NOSUCH a} {LSET nokey 0 v} {RENAME nokey x} {RENAMENX nokey x}
        {DEBUG OBJECT nokey} {XSETID nostream 1-1} {XINFO STREAM nostream}
        {XINFO GROUPS nostream}
    }
    {-ERR This instance has cluster support disabled} {
        {CLUSTER INFO} {CLUSTER HELP} {CLUSTER NOSUCH} {CLUSTER SLOTS a b} {ASKING} {READONLY}
    }
    {-ERR Protocol version is not an integer or out of range} {
        {HELLO x}
    }
    {-NOPROTO unsupported protocol version} {
        {HELLO 4} {HELLO 1}
    }
    {-ERR Syntax error in HELLO option 'AUTH'} {
        {HELLO 3 AUTH a}
    }
    {-ERR Syntax error in HELLO option 'SETNAME'} {
        {HELLO 3 SETNAME}
    }
    {-ERR Client names cannot contain spaces, newlines or special characters.} {
        {HELLO 3 SETNAME {a b}} {CLIENT SETNAME {a b}}
    }
    {-ERR Syntax error in HELLO option 'BOGUS'} {
        {HELLO 3 BOGUS}
    }
    {-ERR AUTH <password> called without any password configured for the default user. Are\
        you sure your configuration is correct?} {
        {AUTH x}
    }
    {-ERR DB index is out of range} {
        {SELECT 16} {SELECT -1} {SELECT 2147483647} {SELECT -2147483648}
    }
    {-ERR value is out of range, value must between -2147483648 and 2147483647} {
        {SELECT 2147483648} {SELECT -2147483649} {SELECT 9223372036854775807}
    }
    {+OK} {
        {AUTH default x} {CLIENT TRACKING ON} {READWRITE} {CLIENT TRACKING OFF}
    }
    {-WRONGPASS invalid username-password pair or user is disabled.} {
        {AUTH nouser x}
    }
    {-WRONGTYPE Operation against a key holding the wrong kind of value} {
        {GET list} {INCR list} {APPEND list a} {STRLEN set} {LPUSH str a} {LLEN str}
        {LRANGE str 0 1} {LINDEX set 0} {SADD str a} {SMEMBERS str} {SINTER str set}
        {ZADD str 1 a} {ZRANGE str 0 1} {ZUNIONSTORE d 1 str} {ZUNIONSTORE d 1 list}
        {ZINTER 2 zset str} {HGET str a} {HSET list a b} {HINCRBY set a 1} {XADD str * a b}
        {XLEN str} {XRANGE str - +} {SETBIT list 1 1} {GETRANGE list 0 1} {BITCOUNT list}
        {BITOP AND d list} {PFADD list a} {GEOADD str 1 1 m} {SORT str} {LPOS str a}
        {RPOPLPUSH str x} {LMOVE list str LEFT LEFT} {SMOVE str set a} {GETSET list a}
        {GETDEL list} {GETEX list} {SSCAN str 0} {HSCAN str 0} {ZSCAN str 0}
        {XREADGROUP GROUP g c STREAMS str >} {XGROUP CREATE str g 0} {BLPOP str 1}
        {BZPOPMIN str 1} {SET list v GET}
    }
    {-WRONGTYPE Key is not a valid HyperLogLog string value.} {
        {PFADD str a} {PFCOUNT str} {PFMERGE hll str}
    }
    {*1\r\n$-1\r\n} {
        {MGET list}
    }
    {-ERR invalid cursor} {
        {SCAN x}
    }
    {-ERR value is not an integer or out of range} {
        {INCR str} {INCRBY num x} {INCRBY num 9223372036854775808} {HINCRBY hash n x}
        {EXPIRE str x} {PEXPIREAT str x} {SETEX k x v} {SET k v EX x} {SETRANGE str x x}
        {GETRANGE str x 1} {BITCOUNT str x y} {BITPOS str x} {BITFIELD str INCRBY u8 0 x}
        {LINDEX list x} {LSET list x v} {LRANGE list x 1} {LTRIM list x 1} {LREM list x a}
        {SRANDMEMBER set x} {HRANDFIELD hash x} {ZRANDMEMBER zset x} {WAIT x 0} {SELECT x}
        {SELECT 9223372036854775808}
        {MOVE str x} {SCAN 0 COUNT x} {RESTORE r x x} {SORT list LIMIT a b} {CLIENT KILL ID x}
        {CLIENT UNBLOCK x} {MEMORY USAGE str SAMPLES x} {SLOWLOG GET x} {REPLICAOF 127.0.0.1 x}
        {LOLWUT VERSION x} {ZRANGE zset a b} {ZRANGEBYSCORE zset 0 1 LIMIT x y}
        {ZREMRANGEBYRANK zset a b} {ZUNIONSTORE d x zset} {ZPOPMIN zset x}
        {XADD stream MAXLEN x * f v} {XTRIM stream MAXLEN x} {XREAD COUNT x STREAMS stream 0}
        {XPENDING stream g - + x} {XPENDING stream g IDLE x - + 1}
    }
    {-ERR increment or decrement would overflow} {
        {INCR big} {INCRBY num 9223372036854775800} {HINCRBY hash n 9223372036854775807}
    }
    {:-9223372036854775798} {
        {DECRBY num -9223372036854775808}
    }
    {-ERR value is not a valid float} {
        {INCRBYFLOAT num x} {INCRBYFLOAT str 1.0} {INCRBYFLOAT num nan} {HINCRBYFLOAT hash n x}
        {ZADD zset x m} {ZADD zset nan m} {ZINCRBY zset x a} {GEOADD geo x 1 m}
    }
    {-ERR increment would produce NaN or Infinity} {
        {INCRBYFLOAT num inf}
    }
    {-ERR hash value is not an integer} {
        {HINCRBY hash f 1}
    }
    {-ERR hash value is not a float} {
        {HINCRBYFLOAT hash f 1}
    }
    {-ERR XX and NX options at the same time are not compatible} {
        {ZADD zset XX NX 1 a}
    }
    {-ERR GT, LT, and/or NX options at the same time are not compatible} {
        {ZADD zset GT LT 1 a} {ZADD zset GT NX 1 a}
    }
    {-ERR INCR option supports a single increment-element pair} {
        {ZADD zset INCR 1 a 2 b}
    }
    {-ERR invalid expire time in expire} {
        {EXPIRE str 9223372036854775807}
    }
    {-ERR invalid expire time in setex} {
        {SETEX k 0 v} {SETEX k -1 v} {SETEX k 9223372036854775807 v}
    }
    {-ERR invalid expire time in psetex} {
        {PSETEX k 0 v}
    }
    {-ERR invalid expire time in set} {
        {SET k v EX 0}
    }
    {-ERR invalid expire time in getex} {
        {GETEX str EX 0}
    }
    {-ERR offset is out of range} {
        {SETRANGE str -1 x}
    }
    {-ERR string exceeds maximum allowed size (proto-max-bulk-len)} {
        {SETRANGE str 536870912 x}
    }
    {-ERR bit offset is not an integer or out of range} {
        {SETBIT str -1 1} {SETBIT str 4294967296 1} {GETBIT str x} {BITFIELD str GET u8 -1}
    }
    {-ERR bit is not an integer or out of range} {
        {SETBIT str 1 2}
    }
    {-ERR The bit argument must be 1 or 0.} {
        {BITPOS str 2}
    }
    {-ERR BITOP NOT must be called with a single source key.} {
        {BITOP NOT d a b}
    }
    {-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported\
        but i64 is.} {
        {BITFIELD str GET u64 0} {BITFIELD str GET i65 0}
    }
    {-ERR Invalid OVERFLOW type specified} {
        {BITFIELD str OVERFLOW BOGUS}
    }
    {-ERR BITFIELD_RO only supports the GET subcommand} {
        {BITFIELD_RO str SET u8 0 1}
    }
    {-ERR index out of range} {
        {LSET list 9 v}
    }
    {-ERR RANK can't be zero: use 1 to start from the first match, 2 from the second, ...} {
        {LPOS list a RANK 0}
    }
    {-ERR COUNT can't be negative} {
        {LPOS list a COUNT -1}
    }
    {-ERR MAXLEN can't be negative} {
        {LPOS list a MAXLEN -1}
    }
    {-ERR value is out of range, must be positive} {
        {LPOP list -1} {LPOP list x} {SPOP set -1}
    }
    {-ERR value is out of range, value must between -9223372036854775807 and\
        9223372036854775807} {
        {HRANDFIELD hash -9223372036854775808 WITHVALUES}
    }
    {-ERR timeout is negative} {
        {BLPOP list -1} {BLMOVE list d LEFT LEFT -1} {WAIT 0 -1} {CLIENT PAUSE -1}
        {XREAD BLOCK -1 STREAMS stream 0}
    }
    {-ERR timeout is not a float or out of range} {
        {BLPOP list x} {BRPOPLPUSH a b x} {BZPOPMIN zset x}
    }
    {-ERR DB index is out of range} {
        {SELECT 99} {SELECT -1} {SWAPDB 0 99} {MOVE str 99} {COPY str d DB 99}
    }
    {-ERR invalid first DB index} {
        {SWAPDB x 1}
    }
    {-ERR invalid second DB index} {
        {SWAPDB 0 y}
    }
    {-ERR source and destination objects are the same} {
        {MOVE str 0} {COPY str str}
    }
    {-ERR DUMP payload version or checksum are wrong} {
        {RESTORE r 0 bad}
    }
    {-BUSYKEY Target key name already exists.} {
        {RESTORE str 0 x}
    }
    {-ERR Invalid TTL value, must be >= 0} {
        {RESTORE r -1 x}
    }
    {-ERR Invalid IDLETIME value, must be >= 0} {
        {RESTORE r 0 x IDLETIME -1}
    }
    {-ERR Invalid FREQ value, must be >= 0 and <= 255} {
        {RESTORE r 0 x FREQ 256}
    }
    {-ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note\
        that when switching between policies at runtime LRU and LFU data will take some time to\
        adjust.} {
        {OBJECT FREQ str}
    }
    {$-1} {
        {OBJECT ENCODING nokey} {XADD nostream NOMKSTREAM * f v}
    }
    {-ERR One or more scores can't be converted into double} {
        {SORT list}
    }
    {-ERR No such client} {
        {CLIENT KILL 1.1.1.1:1}
    }
    {-ERR Unknown client type 'bogus'} {
        {CLIENT KILL TYPE bogus} {CLIENT LIST TYPE bogus}
    }
    {-ERR No such user 'nouser'} {
        {CLIENT KILL USER nouser}
    }
    {-ERR Invalid client ID} {
        {CLIENT LIST ID x}
    }
    {-ERR timeout is not an integer or out of range} {
        {CLIENT PAUSE x} {XREAD BLOCK x STREAMS stream 0}
    }
    {-ERR CLIENT PAUSE mode must be WRITE or ALL} {
        {CLIENT PAUSE 1 BOGUS}
    }
    {-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR} {
        {CLIENT UNBLOCK 1 BOGUS}
    }
    {-ERR The client ID you want redirect to does not exist} {
        {CLIENT TRACKING ON REDIRECT 999999}
    }
    {-ERR PREFIX option requires BCAST mode to be enabled} {
        {CLIENT TRACKING ON PREFIX a}
    }
    {-ERR Invalid command specified} {
        {COMMAND GETKEYS NOSUCH}
    }
    {-ERR The command has no key arguments} {
        {COMMAND GETKEYS PING}
    }
    {-ERR Invalid arguments specified for command} {
        {COMMAND GETKEYS EVAL x 9 k}
    }
    {-ERR Invalid number of arguments specified for command} {
        {COMMAND GETKEYS GET}
    }
    {-ERR Error loading the extension. Please check the server logs.} {
        {MODULE LOAD /nonexistent.so}
    }
    {-ERR Error unloading module: no such module with that name} {
        {MODULE UNLOAD nomod}
    }
    {-MYERR custom error} {
        {DEBUG ERROR {MYERR custom error}}
    }
    {-ERR Unrecognized REPLCONF option: BOGUS} {
        {REPLCONF BOGUS x}
    }
    {-ERR FAILOVER requires connected replicas.} {
        {FAILOVER}
    }
    {-ERR No failover in progress.} {
        {FAILOVER ABORT}
    }
    {-IOERR error or timeout writing to target instance} {
        {MIGRATE 127.0.0.1 1 str 0 100}
    }
    {+NOKEY} {
        {MIGRATE 127.0.0.1 1 {} 0 100 KEYS}
    }
    {-ERR Please specify two strings: STRINGS or KEYS options are mandatory} {
        {STRALGO LCS}
    }
    {-ERR If you want both the length and indexes, please just use IDX.} {
        {STRALGO LCS STRINGS a b LEN IDX}
    }
    {-ERR The specified keys must contain string values} {
        {STRALGO LCS KEYS list str}
    }
    {-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX} {
        {ZRANGE zset 0 1 LIMIT 0 1}
    }
    {-ERR syntax error, WITHSCORES not supported in combination with BYLEX} {
        {ZRANGE zset 0 1 BYLEX WITHSCORES}
    }
    {-ERR min or max is not a float} {
        {ZRANGEBYSCORE zset a b} {ZCOUNT zset a b} {ZREMRANGEBYSCORE zset (x 1}
    }
    {-ERR min or max not valid string range item} {
        {ZRANGEBYLEX zset a b} {ZLEXCOUNT zset a b}
    }
    {-ERR at least 1 input key is needed for zunionstore} {
        {ZUNIONSTORE d 0 zset}
    }
    {-ERR weight value is not a float} {
        {ZUNIONSTORE d 1 zset WEIGHTS x}
    }
    {-ERR at least 1 input key is needed for zunion} {
        {ZUNION 0 zset}
    }
    {*0} {
        {ZPOPMIN zset -1}
    }
    {-ERR invalid longitude,latitude pair 200.000000,1.000000} {
        {GEOADD geo 200 1 m}
    }
    {-ERR unsupported unit provided. please use m, km, ft, mi} {
        {GEODIST geo a b BOGUS} {GEORADIUS geo 1 1 1 BOGUS}
    }
    {-ERR need numeric radius} {
        {GEORADIUS geo 1 1 x m}
    }
    {-ERR radius cannot be negative} {
        {GEORADIUS geo 1 1 -1 m}
    }
    {-ERR COUNT must be > 0} {
        {GEORADIUS geo 1 1 1 m COUNT 0} {XAUTOCLAIM stream g c 0 0 COUNT 0}
    }
    {-ERR the ANY argument requires COUNT argument} {
        {GEORADIUS geo 1 1 1 m ANY}
    }
    {-ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORDS\
        options} {
        {GEORADIUS geo 1 1 1 m STORE d WITHDIST}
        {GEOSEARCHSTORE d geo FROMLONLAT 1 1 BYRADIUS 1 m WITHDIST}
    }
    {-ERR could not decode requested zset member} {
        {GEORADIUSBYMEMBER zset nomem 1 m} {GEOSEARCH zset FROMMEMBER nomem BYRADIUS 1 m}
    }
    {-ERR need numeric width} {
        {GEOSEARCH geo FROMLONLAT 1 1 BYBOX x 1 m}
    }
    {-ERR Unknown PFDEBUG subcommand 'BOGUS'} {
        {PFDEBUG BOGUS hll}
    }
    {-ERR The specified key does not exist} {
        {PFDEBUG GETREG nokey}
    }
    {-ERR The ID specified in XADD must be greater than 0-0} {
        {XADD stream 0-0 f v}
    }
    {-ERR The ID specified in XADD is equal or smaller than the target stream top item} {
        {XADD stream 1-1 f v}
    }
    {-ERR Invalid stream ID specified as stream command argument} {
        {XADD stream x f v} {XADD stream 1-x f v} {XADD stream MINID x * f v} {XRANGE stream x y}
        {XRANGE stream (x +} {XREAD STREAMS stream x} {XGROUP CREATE stream g2 x}
        {XACK stream g x} {XDEL stream x}
    }
    {-ERR The MAXLEN argument must be >= 0.} {
        {XADD stream MAXLEN -1 * f v}
    }
    {-ERR syntax error, LIMIT cannot be used without the special ~ option} {
        {XADD stream MAXLEN = 1 LIMIT 5 * f v}
    }
    {-ERR syntax error, MAXLEN and MINID options at the same time are not compatible} {
        {XADD stream MAXLEN 1 MINID 1 * f v}
    }
    {-ERR The LIMIT argument must be >= 0.} {
        {XTRIM stream MAXLEN ~ 1 LIMIT -1}
    }
    {-ERR invalid start ID for the interval} {
        {XRANGE stream (18446744073709551615-18446744073709551615 +}
    }
    {-ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group>\
        <consumer> option.} {
        {XREAD STREAMS stream >}
    }
    {-ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.} {
        {XREAD NOACK STREAMS stream 0}
    }
    {-ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.} {
        {XREAD GROUP g c STREAMS stream 0}
    }
    {-NOGROUP No such key 'stream' or consumer group 'nog' in XREADGROUP with GROUP option} {
        {XREADGROUP GROUP nog c STREAMS stream >}
    }
    {-NOGROUP No such key 'nostream' or consumer group 'g' in XREADGROUP with GROUP option} {
        {XREADGROUP GROUP g c STREAMS nostream >}
    }
    {-ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history\
        of this consumer by specifying a proper ID, or use the > ID to get new messages. The $\
        ID would just return an empty result set.} {
        {XREADGROUP GROUP g c STREAMS stream $}
    }
    {-BUSYGROUP Consumer Group name already exists} {
        {XGROUP CREATE stream g 0}
    }
    {-ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want\
        to use the MKSTREAM option to create an empty stream automatically.} {
        {XGROUP CREATE nostream g 0} {XGROUP DESTROY nostream g}
    }
    {-NOGROUP No such consumer group 'nog' for key name 'stream'} {
        {XGROUP SETID stream nog 0} {XGROUP CREATECONSUMER stream nog c}
        {XGROUP DELCONSUMER stream nog c} {XINFO CONSUMERS stream nog}
    }
    {:0} {
        {XACK nostream g 1-1}
    }
    {-NOGROUP No such key 'stream' or consumer group 'nog'} {
        {XPENDING stream nog} {XCLAIM stream nog c 0 1-1} {XAUTOCLAIM stream nog c 0 0}
    }
    {-ERR Invalid min-idle-time argument for XCLAIM} {
        {XCLAIM stream g c x 1-1}
    }
    {-ERR Unrecognized XCLAIM option 'BOGUS'} {
        {XCLAIM stream g c 0 1-1 BOGUS}
    }
    {-ERR Invalid min-idle-time argument for XAUTOCLAIM} {
        {XAUTOCLAIM stream g c x 0}
    }
    {-ERR The ID specified in XSETID is smaller than the target stream top item} {
        {XSETID stream 0-1}
    }
}

# The same for a connection that has sent CLIENT TRACKING ON.
set tracking_faults {
    {-ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.} {
        {CLIENT CACHING YES}
    }
    {-ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then\
        re-enabling it with a different mode.} {
        {CLIENT TRACKING ON BCAST OPTIN OPTOUT} {CLIENT TRACKING ON BCAST PREFIX ab PREFIX a}
    }
}

# With requirepass set, on a connection that has not authenticated.
set authentication_faults {
    {-NOAUTH Authentication required.} {
        {GET a} {PING} {SET str x} {FLUSHALL} {CONFIG SET requirepass x}
    }
    {-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH\
        <user> <pass> option can be used to authenticate the client and select the RESP protocol\
        version at the same time} {
        {HELLO 3}
    }
    {-WRONGPASS invalid username-password pair or user is disabled.} {
        {AUTH bad} {AUTH default bad} {HELLO 3 AUTH default bad}
    }
}

# Bytes that are no requests, and the error that ends the connection ("": it is only closed).
# N * stands for a long run of a character.
set protocol_faults {
    {invalid multibulk length} {
        {*1048577\r\n} {*2147483648\r\n} {*abc\r\n}
    }
    {expected '$', got 'f'} {
        {*1\r\nfoo\r\n} {*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n}
    }
    {expected '$', got '+'} {
        {*1\r\n+PING\r\n}
    }
    {invalid bulk length} {
        {*1\r\n$x\r\n} {*1\r\n$-2\r\n} {*1\r\n$536870913\r\n} {*1\r\n$2147483648\r\n}
    }
    {unbalanced quotes in request} {
        {SET str "unbalanced\r\n} {SET str 'x'y\r\n} {SET str "x"y\r\n}
    }
    {too big inline request} {
        {70000 x}
    }
    {too big mbulk count string} {
        {* 70000 1}
    }
    {too big bulk count string} {
        {*1\r\n$ 70000 1}
    }
    {} {
        {GET / HTTP/1.1\r\nHost: x\r\n\r\n} {POST / HTTP/1.1\r\n\r\n} {Host: x\r\n}
    }
}

# The same with requirepass set, before AUTH.
set unauthenticated_faults {
    {unauthenticated multibulk length} {*11\r\n}
    {unauthenticated bulk length} {*1\r\n$16385\r\n}
}

# Bytes that are odd and yet requests, and their replies.
set protocol_oddities {
    {*0\r\n*1\r\n$4\r\nPING\r\n} {+PONG\r\n}
    {*-1\r\n*1\r\n$4\r\nPING\r\n} {+PONG\r\n}
    {\r\n\r\nPING\r\n} {+PONG\r\n}
    {PING\n} {+PONG\r\n}
    {*2\r\n$4\r\nECHO\r\n$3\r\nabcXXPING\r\n} {$3\r\nabc\r\n+PONG\r\n}
    {SET k "a\\x41\\n"\r\nGET k\r\n} {+OK\r\n$3\r\naA\n\r\n}
}

# Rows that ours answers otherwise on purpose (docs/differences.md).
set differs {
    {DECRBY num -9223372036854775808} {CLIENT NO-EVICT on}
}

# First words of rows that need a feature which ours may not have yet, with the tag of each.
set wanted_features {}

# Keys of each type, and a command that shows all of the value.
set fixture {
    str {SET str hello} {GET str}
    num {SET num 10} {GET num}
    big {SET big 9223372036854775807} {GET big}
    list {RPUSH list a b c} {LRANGE list 0 -1}
    set {SADD set a} {SMEMBERS set}
    zset {ZADD zset 1 a 2 b} {ZRANGE zset 0 -1 WITHSCORES}
    hash {HSET hash f v n 10} {HGETALL hash}
    stream {XADD stream 1-1 f v} {XINFO STREAM stream FULL}
    hll {PFADD hll a} {GET hll}
    geo {GEOADD geo 1 1 a 2 2 b} {ZRANGE geo 0 -1 WITHSCORES}
}

# Makes the fixture; returns the commands that show it.
proc make_fixture {fixture} {
    set shows {}
    r select 0
    r flushall
    foreach {key make show} $fixture {
        r {*}$make
        lappend shows $show
    }
    r xgroup create stream g 0
    return $shows
}

# All that a refused command must leave as it was.
proc fixture_state {shows} {
    set state [list [r dbsize]]
    foreach show $shows {
        lappend state [r {*}$show] [r pttl [lindex $show 1]]
    }
    return $state
}

# Why a row does not run here; "" where it does.
proc row_left_out {words wanted_features} {
    foreach {prefix tag} $wanted_features {
        if {[lrange $words 0 [llength $prefix]-1] eq $prefix && $tag in $::options(deny)} {
            return $tag
        }
    }
    return ""
}

# The exact bytes that the server answers to a command on a fresh connection, after others that it
# answers with OK.
proc reply_bytes {words {before {}}} {
    set client [raw_client]
    foreach other $before {
        $client write [client::encode $other]
        $client flush
        assert_equal "+OK\r\n" [$client raw_reply] "($other)"
    }
    $client write [client::encode $words]
    $client flush
    set reply [$client raw_reply]
    $client close
    return $reply
}

# The bytes of a row: escapes resolved, "70000 x" at its end made long.
proc row_bytes {text} {
    if {[regexp {^(.*?) ?(70000) (.)$} $text -> head count character]} {
        set text $head[string repeat $character $count]
    }
    return [subst -nocommands -novariables $text]
}

proc check_row {words bytes shows} {
    r select 0
    set before [fixture_state $shows]
    assert_equal $bytes [reply_bytes $words] "($words)"
    if {[string match -* $bytes]} {
        assert_equal $before [fixture_state $shows] "(after $words)"
    }
}

start_server {} {
    set shows [make_fixture $fixture]

    test {All commands of 6.2 are there: 224 with a row, and QUIT; one of ours} {
        set own [expr {"ours" ni $::options(deny)}]
        assert_equal [expr {224 + $own}] [r command count]
        assert_equal [expr {224 + $own}] [llength [r command]]
    }

    test {Unknown commands} {
        assert_equal "-ERR unknown command `NOSUCH`, with args beginning with: \r\n" \
            [reply_bytes NOSUCH]
        assert_equal "-ERR unknown command `NOSUCH`, with args beginning with: `a`, `b`, `c`,\
            \r\n" [reply_bytes {NOSUCH a b c}]
    }

    foreach words $arity_faults {
        test "Wrong number of arguments: $words" {
            set why [row_left_out $words $wanted_features]
            if {$why ne ""} {
                skip $why
            }
            set name [string tolower [lindex $words 0]]
            check_row $words "-ERR wrong number of arguments for '$name' command\r\n" $shows
        }
    }

    test {A long subcommand is shown whole, to its first NUL} {
        foreach command {CONFIG CLIENT OBJECT DEBUG MEMORY XGROUP XINFO SLOWLOG LATENCY ACL PUBSUB
                COMMAND} {
            foreach {word shown} [list [string repeat y 129] [string repeat y 129] \
                    [string repeat y 300] [string repeat y 300] \
                    [string repeat y 200000] [string repeat y 200000] ab\0cd ab "a\r\nb" "a  b"] {
                assert_equal "-ERR Unknown subcommand or wrong number of arguments for '$shown'.\
                    Try $command HELP.\r\n" [reply_bytes [list $command $word]] $command
            }
        }
    }

    foreach words $subcommand_faults {
        test "Wrong subcommand: $words" {
            set why [row_left_out $words $wanted_features]
            if {$why ne ""} {
                skip $why
            }
            if {$words in $differs && [is_ours]} {
                skip "differs on purpose"
            }
            lassign $words name subcommand
            check_row $words "-ERR Unknown subcommand or wrong number of arguments for\
                '$subcommand'. Try $name HELP.\r\n" $shows
        }
    }

    foreach {reply rows} $faults {
        set bytes [subst -nocommands -novariables $reply]
        if {![string match "*\n" $bytes]} {
            append bytes "\r\n"
        }
        foreach words $rows {
            test "[string range $reply 0 40]: $words" {
                set why [row_left_out $words $wanted_features]
                if {$why ne ""} {
                    skip $why
                }
                if {$words in $differs && [is_ours]} {
                    skip "differs on purpose"
                }
                check_row $words $bytes $shows
            }
        }
    }

    foreach {reply rows} $tracking_faults {
        foreach words $rows {
            test "After CLIENT TRACKING ON: $words" {
                assert_equal "$reply\r\n" [reply_bytes $words {{CLIENT TRACKING ON}}]
            }
        }
    }

    foreach {reason rows} $protocol_faults {
        foreach text $rows {
            test "Protocol error: [string range $text 0 60]" {
                r select 0
                set before [fixture_state $shows]
                set reply ""
                if {$reason ne ""} {
                    set reply "-ERR Protocol error: $reason\r\n"
                }
                assert_equal $reply [exchange [row_bytes $text]]
                assert_equal $before [fixture_state $shows]
            }
        }
    }

    foreach {text replies} $protocol_oddities {
        test "Odd, and yet a request: $text" {
            set expected [row_bytes $replies]
            set client [raw_client]
            $client write [row_bytes $text]
            $client flush
            assert_equal $expected [$client raw_read [string length $expected]]
            $client close
        }
    }

    r select 0
    set state [fixture_state $shows]
    r config set requirepass pw

    foreach {reply rows} $authentication_faults {
        foreach words $rows {
            test "Without authentication: $words" {
                assert_equal "$reply\r\n" [reply_bytes $words]
            }
        }
    }

    foreach {reason text} $unauthenticated_faults {
        test "Protocol error: $reason" {
            assert_equal "-ERR Protocol error: $reason\r\n" [exchange [row_bytes $text]]
        }
    }

    test {QUIT needs no authentication} {
        assert_equal "+OK\r\n" [exchange [client::encode QUIT]]
    }

    test {Nothing of this changed anything} {
        assert_equal [list requirepass pw] [r config get requirepass]
        r config set requirepass {}
        assert_equal $state [fixture_state $shows]
    }
}

start_server {overrides {maxclients 2}} {
    test {A connection too many} {
        r ping
        set client [raw_client]
        $client write "PING\r\n"
        $client flush
        $client raw_reply
        assert_equal "-ERR max number of clients reached\r\n" [exchange ""]
        $client close
    } undefined {tls:skip}
}
