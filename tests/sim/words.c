/* SPDX-License-Identifier: BSD-3-Clause
 * Random commands. A row is a command's words; a word with a $ is drawn anew each time:
 *   $k a key of any type    $s $l $h $S $z $x $p a key that mostly has that type (string, list,
 *   hash, set, sorted set, stream, log)    $v a value    $f a field    $n a number    $i an index
 *   $t seconds   $m milliseconds   $d a database
 * Words in "" may hold blanks.
 */
#include "sim/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/world.h"

#define WORDS_MAX 32
#define TEXT_BYTES 65536
#define KEYS 12 /* of a type */
#define LONG_VALUE_BYTES 3000
#define DATABASES 4 /* that random commands use */

static const char *const rows[] = {
    "SET $s $v",
    "SET $s $n",
    "SET $k $v EX $t",
    "SET $s $v PX $m NX",
    "SET $s $v KEEPTTL XX GET",
    "SETEX $s $t $v",
    "PSETEX $s $m $v",
    "SETNX $s $v",
    "GETSET $s $v",
    "GETDEL $s",
    "GETEX $s PX $m",
    "GETEX $s PERSIST",
    "MSET $s $v $s $v $k $v",
    "MSETNX $s $v $s $v",
    "APPEND $s $v",
    "INCRBY $s $n",
    "DECR $s",
    "INCRBYFLOAT $s 0.25",
    "SETRANGE $s $i $v",
    "SETBIT $s $n 1",
    "BITOP XOR $s $s $s",
    "BITFIELD $s SET u8 $i $n INCRBY i16 #2 $n OVERFLOW SAT INCRBY u4 8 3",
    "PFADD $p $v $f $n",
    "PFMERGE $p $p $p",
    "PFCOUNT $p $p",
    "LPUSH $l $v $v $n",
    "RPUSH $l $n $v",
    "RPUSHX $l $v",
    "LPOP $l",
    "RPOP $l 2",
    "RPOPLPUSH $l $l",
    "LMOVE $l $l LEFT RIGHT",
    "LINSERT $l BEFORE $n $v",
    "LSET $l $i $v",
    "LREM $l 1 $n",
    "LTRIM $l 0 $i",
    "BLPOP $l $l 0.05",
    "BLMOVE $l $l RIGHT LEFT 0.02",
    "HSET $h $f $v $f $n",
    "HSETNX $h $f $v",
    "HDEL $h $f $f",
    "HINCRBY $h $f $n",
    "HINCRBYFLOAT $h $f 1.5",
    "SADD $S $f $n $n",
    "SADD $S $v",
    "SREM $S $n $f",
    "SPOP $S",
    "SPOP $S 3",
    "SMOVE $S $S $n",
    "SUNIONSTORE $S $S $S",
    "SINTERSTORE $S $S $S",
    "SDIFFSTORE $S $S $S",
    "ZADD $z $n $f $n $n",
    "ZADD $z GT CH $n $f",
    "ZINCRBY $z 2.5 $f",
    "ZREM $z $f $n",
    "ZPOPMIN $z",
    "ZPOPMAX $z 2",
    "BZPOPMIN $z $z 0.03",
    "ZREMRANGEBYRANK $z 0 1",
    "ZREMRANGEBYSCORE $z 0 $n",
    "ZUNIONSTORE $z 2 $z $z WEIGHTS 1 2 AGGREGATE MAX",
    "ZINTERSTORE $z 2 $z $S",
    "ZDIFFSTORE $z 2 $z $z",
    "ZRANGESTORE $z $z 0 5",
    "GEOADD $z 13.36 38.11 $f 15.08 37.5 $n",
    "GEOSEARCHSTORE $z $z FROMLONLAT 15 37 BYRADIUS 300 km",
    "XADD $x * $f $v",
    "XADD $x MAXLEN ~ 20 * $f $v $f $n",
    "XADD $x NOMKSTREAM MINID = $n * $f $v",
    "XTRIM $x MAXLEN $i",
    "XGROUP CREATE $x g $ MKSTREAM",
    "XREADGROUP GROUP g c$i COUNT 3 STREAMS $x >",
    "XREADGROUP GROUP g c$i NOACK STREAMS $x >",
    "XAUTOCLAIM $x g c$i 0 0-0 COUNT 2",
    "XGROUP DELCONSUMER $x g c$i",
    "XSETID $x 99999999999999-$i",
    "DEL $k",
    "DEL $k $k $k",
    "UNLINK $k $k",
    "EXPIRE $k $t",
    "PEXPIRE $k $m",
    "PEXPIRE $k -1",
    "PERSIST $k",
    "RENAME $k $k",
    "RENAMENX $k $k",
    "COPY $k $k REPLACE",
    "COPY $k $k DB $d REPLACE",
    "MOVE $k $d",
    "SORT $l ALPHA STORE $l",
    "GET $k",
    "EXISTS $k $k",
    "TTL $k",
    "SELECT $d",
    "EVAL \"return redis.call('SET', KEYS[1], ARGV[1])\" 1 $s $v",
    "EVAL \"redis.call('INCR', KEYS[1]) redis.call('SADD', KEYS[2], redis.call('TIME')[2]) "
    "return redis.call('RPUSH', KEYS[3], math.random(1000))\" 3 $s $S $l",
    "EVAL \"for i = 1, 5 do redis.call('HSET', KEYS[1], 'f' .. i, ARGV[1]) end "
    "redis.call('PEXPIRE', KEYS[1], ARGV[2])\" 1 $h $v $m",
    "EVAL \"local m = redis.call('SPOP', KEYS[1]) if m then redis.call('SET', KEYS[2], m) end\" 2 "
    "$S $s",
    "EVAL \"redis.call('SELECT', ARGV[1]) return redis.call('SET', KEYS[1], ARGV[2])\" 1 $s $d $v",
    "EVAL \"redis.call('SET', KEYS[1], 'x') return redis.call('LPUSH', KEYS[1], 'y')\" 1 $s",
    "SCRIPT LOAD \"return redis.call('APPEND', KEYS[1], ARGV[1])\"",
    "EVALSHA 68014bf0cbd405594c3f62158602855af28788cb 1 $s $v",
    "PUBLISH channel $v",
};

/* Of these one now and then: they undo the work of many others. */
static const char *const rare_rows[] = {
    "SWAPDB 1 2",         "FLUSHDB", "FLUSHDB ASYNC", "BGSAVE", "BGREWRITEAOF",
    "SCRIPT FLUSH ASYNC", "RESET",
};

struct text {
    char bytes[TEXT_BYTES];
    size_t used;
};

static void add_number(struct text *t, const char *format, uint64_t number) {
    t->used += (size_t)snprintf(t->bytes + t->used, sizeof(t->bytes) - t->used, format,
                                (unsigned long long)number);
}

static void add_value(struct text *t) {
    size_t length = once_in(20) ? 1 + draw(LONG_VALUE_BYTES) : 1 + draw(40);
    char letter = (char)('a' + draw(26));
    for (size_t i = 0; i < length; i++) t->bytes[t->used++] = once_in(6) ? (char)draw(256) : letter;
}

static void add_key(struct text *t, char type) {
    static const char types[] = "slhSzxp";
    if (type == 'k' || once_in(25)) type = types[draw(sizeof(types) - 1)];
    t->bytes[t->used++] = type;
    add_number(t, "%llu", draw(KEYS));
}

static void add_drawn(struct text *t, char what) {
    switch (what) {
    case 'v': add_value(t); break;
    case 'f': add_number(t, "f%llu", draw(10)); break;
    case 'n': add_number(t, "%llu", draw(200)); break;
    case 'i': add_number(t, "%llu", draw(8)); break;
    case 't': add_number(t, "%llu", 1 + draw(4)); break;
    case 'm': add_number(t, "%llu", 1 + draw(2000)); break;
    case 'd': add_number(t, "%llu", draw(DATABASES)); break;
    default: add_key(t, what);
    }
}

/* A word of the row, from `*at` on. */
static void add_word(struct text *t, const char **at) {
    char end = **at == '"' ? *(*at)++ : ' ';
    for (; **at && **at != end; (*at)++) {
        if (**at == '$' && (*at)[1] && (*at)[1] != ' ') {
            add_drawn(t, *++*at);
        } else {
            t->bytes[t->used++] = **at;
        }
    }
    if (**at == '"') (*at)++;
    if (**at == ' ') (*at)++;
}

static struct text row_text;

static void send_row(struct client *c, const char *row) {
    const char *words[WORDS_MAX];
    size_t lengths[WORDS_MAX];
    int count = 0;
    struct text *t = &row_text;
    t->used = 0;
    while (*row) {
        if (count == WORDS_MAX || t->used > TEXT_BYTES / 2) abort();
        words[count] = t->bytes + t->used;
        size_t from = t->used;
        add_word(t, &row);
        lengths[count++] = t->used - from;
    }
    client_send(c, count, words, lengths);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void words_send_random(struct client *c) {
    send_row(c, once_in(150) ? rare_rows[draw(COUNT(rare_rows))] : rows[draw(COUNT(rows))]);
}

int words_send_transaction(struct client *c) {
    int inner = 1 + (int)draw(5);
    client_say(c, "MULTI");
    for (int i = 0; i < inner; i++) send_row(c, rows[draw(COUNT(rows))]);
    client_say(c, "EXEC");
    return inner + 2;
}
