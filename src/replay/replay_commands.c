/* SPDX-License-Identifier: BSD-3-Clause
 * The table of commands, sorted by name.
 */
#include "replay/replay_commands.h"

#include "base/number.h"

static const struct replay_command rows[] = {
    {"append", REPLAY_STRING, REPLAY_WRITES, 0, "v"},
    {"bitcount", REPLAY_STRING, REPLAY_LOOKS, 0, ""},
    {"blmove", REPLAY_LIST, REPLAY_TAKES, REPLAY_WRITES, "", .instead = "lmove"},
    {"blpop", REPLAY_LIST, REPLAY_TAKES, REPLAY_TAKES, "", .instead = "lpop"},
    {"brpop", REPLAY_LIST, REPLAY_TAKES, REPLAY_TAKES, "", .instead = "rpop"},
    {"brpoplpush", REPLAY_LIST, REPLAY_TAKES, REPLAY_WRITES, "", .instead = "rpoplpush"},
    {"bzpopmax", REPLAY_SORTED_SET, REPLAY_TAKES, REPLAY_TAKES, "", .instead = "zpopmax"},
    {"bzpopmin", REPLAY_SORTED_SET, REPLAY_TAKES, REPLAY_TAKES, "", .instead = "zpopmin"},
    {"copy", REPLAY_ANY_TYPE, REPLAY_LOOKS, REPLAY_WRITES, ""},
    {"decr", REPLAY_STRING, REPLAY_WRITES, 0, ""},
    {"decrby", REPLAY_STRING, REPLAY_WRITES, 0, "i"},
    {"del", REPLAY_ANY_TYPE, REPLAY_DELETES, REPLAY_DELETES, ""},
    {"dump", REPLAY_ANY_TYPE, REPLAY_LOOKS, 0, ""},
    {"exists", REPLAY_ANY_TYPE, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"expire", REPLAY_ANY_TYPE, 0, 0, "", .ttl = REPLAY_TTL_SECONDS},
    {"expireat", REPLAY_ANY_TYPE, 0, 0, "", .ttl = REPLAY_TTL_AT_SECONDS},
    {"geoadd", REPLAY_SORTED_SET, REPLAY_WRITES, 0, "*ggm"},
    {"geodist", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "mm"},
    {"geohash", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "*m"},
    {"geopos", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "*m"},
    {"get", REPLAY_STRING, REPLAY_LOOKS, 0, "", .nil_is_miss = true},
    {"getbit", REPLAY_STRING, REPLAY_LOOKS, 0, "o"},
    {"getdel", REPLAY_STRING, REPLAY_LOOKS | REPLAY_DELETES, 0, "", .nil_is_miss = true},
    {"getex", REPLAY_STRING, REPLAY_LOOKS, 0, "", .ttl = REPLAY_TTL_OPTIONS, .nil_is_miss = true},
    {"getrange", REPLAY_STRING, REPLAY_LOOKS, 0, ""},
    {"getset", REPLAY_STRING, REPLAY_LOOKS | REPLAY_WRITES, 0, "v", .ttl = REPLAY_TTL_ENDS},
    {"hdel", REPLAY_HASH, REPLAY_TAKES, 0, "*m"},
    {"hexists", REPLAY_HASH, REPLAY_LOOKS, 0, "m"},
    {"hget", REPLAY_HASH, REPLAY_LOOKS, 0, "m"},
    {"hgetall", REPLAY_HASH, REPLAY_LOOKS, 0, ""},
    {"hincrby", REPLAY_HASH, REPLAY_WRITES, 0, "mi"},
    {"hincrbyfloat", REPLAY_HASH, REPLAY_WRITES, 0, "mn"},
    {"hkeys", REPLAY_HASH, REPLAY_LOOKS, 0, ""},
    {"hlen", REPLAY_HASH, REPLAY_LOOKS, 0, ""},
    {"hmget", REPLAY_HASH, REPLAY_LOOKS, 0, "*m"},
    {"hmset", REPLAY_HASH, REPLAY_WRITES, 0, "*mv"},
    {"hrandfield", REPLAY_HASH, REPLAY_LOOKS, 0, ""},
    {"hscan", REPLAY_HASH, REPLAY_LOOKS, 0, "p"},
    {"hset", REPLAY_HASH, REPLAY_WRITES, 0, "*mv"},
    {"hsetnx", REPLAY_HASH, REPLAY_WRITES, 0, "mv"},
    {"hstrlen", REPLAY_HASH, REPLAY_LOOKS, 0, "m"},
    {"hvals", REPLAY_HASH, REPLAY_LOOKS, 0, ""},
    {"incr", REPLAY_STRING, REPLAY_WRITES, 0, ""},
    {"incrby", REPLAY_STRING, REPLAY_WRITES, 0, "i"},
    {"incrbyfloat", REPLAY_STRING, REPLAY_WRITES, 0, "n"},
    {"lindex", REPLAY_LIST, REPLAY_LOOKS, 0, ""},
    {"linsert", REPLAY_LIST, REPLAY_WRITES, 0, "mv"},
    {"llen", REPLAY_LIST, REPLAY_LOOKS, 0, ""},
    {"lmove", REPLAY_LIST, REPLAY_TAKES, REPLAY_WRITES, ""},
    {"lpop", REPLAY_LIST, REPLAY_TAKES, 0, ""},
    {"lpos", REPLAY_LIST, REPLAY_LOOKS, 0, "m"},
    {"lpush", REPLAY_LIST, REPLAY_WRITES, 0, "*v"},
    {"lpushx", REPLAY_LIST, 0, 0, "*v"},
    {"lrange", REPLAY_LIST, REPLAY_LOOKS, 0, ""},
    {"lrem", REPLAY_LIST, REPLAY_TAKES, 0, "m"},
    {"lset", REPLAY_LIST, REPLAY_WRITES, 0, "v"},
    {"ltrim", REPLAY_LIST, REPLAY_TAKES, 0, ""},
    {"mget", REPLAY_STRING, REPLAY_LOOKS, REPLAY_LOOKS, "", .each = true},
    {"mset", REPLAY_STRING, REPLAY_WRITES, REPLAY_WRITES, "*v", .ttl = REPLAY_TTL_ENDS},
    {"msetnx", REPLAY_STRING, REPLAY_WRITES, REPLAY_WRITES, "*v"},
    {"persist", REPLAY_ANY_TYPE, 0, 0, "", .ttl = REPLAY_TTL_PERSISTS},
    {"pexpire", REPLAY_ANY_TYPE, 0, 0, "", .ttl = REPLAY_TTL_MSEC},
    {"pexpireat", REPLAY_ANY_TYPE, 0, 0, "", .ttl = REPLAY_TTL_AT_MSEC},
    {"pfadd", REPLAY_STRING, REPLAY_WRITES, 0, "*v"},
    {"pfcount", REPLAY_STRING, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"pfmerge", REPLAY_STRING, REPLAY_WRITES, REPLAY_LOOKS, ""},
    {"psetex", REPLAY_STRING, REPLAY_WRITES, 0, "v", .ttl = REPLAY_TTL_MSEC},
    {"pttl", REPLAY_ANY_TYPE, REPLAY_LOOKS, 0, ""},
    {"rename", REPLAY_ANY_TYPE, REPLAY_DELETES, REPLAY_WRITES, ""},
    {"renamenx", REPLAY_ANY_TYPE, REPLAY_DELETES, REPLAY_WRITES, ""},
    {"rpop", REPLAY_LIST, REPLAY_TAKES, 0, ""},
    {"rpoplpush", REPLAY_LIST, REPLAY_TAKES, REPLAY_WRITES, ""},
    {"rpush", REPLAY_LIST, REPLAY_WRITES, 0, "*v"},
    {"rpushx", REPLAY_LIST, 0, 0, "*v"},
    {"sadd", REPLAY_SET, REPLAY_WRITES, 0, "*m"},
    {"scard", REPLAY_SET, REPLAY_LOOKS, 0, ""},
    {"sdiff", REPLAY_SET, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"sdiffstore", REPLAY_SET, REPLAY_WRITES, REPLAY_LOOKS, "", .ttl = REPLAY_TTL_ENDS},
    {"set", REPLAY_STRING, REPLAY_WRITES, 0, "v", .ttl = REPLAY_TTL_ENDS},
    {"setbit", REPLAY_STRING, REPLAY_WRITES, 0, "ob"},
    {"setex", REPLAY_STRING, REPLAY_WRITES, 0, "v", .ttl = REPLAY_TTL_SECONDS},
    {"setnx", REPLAY_STRING, REPLAY_WRITES, 0, "v"},
    {"setrange", REPLAY_STRING, REPLAY_WRITES, 0, "v"},
    {"sinter", REPLAY_SET, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"sinterstore", REPLAY_SET, REPLAY_WRITES, REPLAY_LOOKS, "", .ttl = REPLAY_TTL_ENDS},
    {"sismember", REPLAY_SET, REPLAY_LOOKS, 0, "m"},
    {"smembers", REPLAY_SET, REPLAY_LOOKS, 0, ""},
    {"smismember", REPLAY_SET, REPLAY_LOOKS, 0, "*m"},
    {"smove", REPLAY_SET, REPLAY_TAKES, REPLAY_WRITES, "m"},
    {"spop", REPLAY_SET, REPLAY_TAKES, 0, ""},
    {"srandmember", REPLAY_SET, REPLAY_LOOKS, 0, ""},
    {"srem", REPLAY_SET, REPLAY_TAKES, 0, "*m"},
    {"sscan", REPLAY_SET, REPLAY_LOOKS, 0, "p"},
    {"strlen", REPLAY_STRING, REPLAY_LOOKS, 0, ""},
    {"substr", REPLAY_STRING, REPLAY_LOOKS, 0, ""},
    {"sunion", REPLAY_SET, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"sunionstore", REPLAY_SET, REPLAY_WRITES, REPLAY_LOOKS, "", .ttl = REPLAY_TTL_ENDS},
    {"touch", REPLAY_ANY_TYPE, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"ttl", REPLAY_ANY_TYPE, REPLAY_LOOKS, 0, ""},
    {"type", REPLAY_ANY_TYPE, REPLAY_LOOKS, 0, ""},
    {"unlink", REPLAY_ANY_TYPE, REPLAY_DELETES, REPLAY_DELETES, ""},
    {"xadd", REPLAY_STREAM, REPLAY_WRITES, 0, "*mv"},
    {"xlen", REPLAY_STREAM, REPLAY_LOOKS, 0, ""},
    {"xrange", REPLAY_STREAM, REPLAY_LOOKS, 0, ""},
    {"xrevrange", REPLAY_STREAM, REPLAY_LOOKS, 0, ""},
    {"xtrim", REPLAY_STREAM, 0, 0, ""},
    {"zadd", REPLAY_SORTED_SET, REPLAY_WRITES, 0, "*nm"},
    {"zcard", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, ""},
    {"zcount", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "@<>"},
    {"zdiff", REPLAY_SORTED_SET, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"zdiffstore", REPLAY_SORTED_SET, REPLAY_WRITES, REPLAY_LOOKS, "", .ttl = REPLAY_TTL_ENDS},
    {"zincrby", REPLAY_SORTED_SET, REPLAY_WRITES, 0, "nm"},
    {"zinter", REPLAY_SORTED_SET, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"zinterstore", REPLAY_SORTED_SET, REPLAY_WRITES, REPLAY_LOOKS, "", .ttl = REPLAY_TTL_ENDS},
    {"zlexcount", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "@{}"},
    {"zmscore", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "*m"},
    {"zpopmax", REPLAY_SORTED_SET, REPLAY_TAKES, 0, ""},
    {"zpopmin", REPLAY_SORTED_SET, REPLAY_TAKES, 0, ""},
    {"zrandmember", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, ""},
    {"zrange", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, ""},
    {"zrangebylex", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "@{}"},
    {"zrangebyscore", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "@<>"},
    {"zrank", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "m"},
    {"zrem", REPLAY_SORTED_SET, REPLAY_TAKES, 0, "*m"},
    {"zremrangebylex", REPLAY_SORTED_SET, REPLAY_TAKES, 0, "@{}"},
    {"zremrangebyrank", REPLAY_SORTED_SET, REPLAY_TAKES, 0, ""},
    {"zremrangebyscore", REPLAY_SORTED_SET, REPLAY_TAKES, 0, "@<>"},
    {"zrevrange", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, ""},
    {"zrevrangebylex", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "@}{"},
    {"zrevrangebyscore", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "@><"},
    {"zrevrank", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "m"},
    {"zscan", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "p"},
    {"zscore", REPLAY_SORTED_SET, REPLAY_LOOKS, 0, "m"},
    {"zunion", REPLAY_SORTED_SET, REPLAY_LOOKS, REPLAY_LOOKS, ""},
    {"zunionstore", REPLAY_SORTED_SET, REPLAY_WRITES, REPLAY_LOOKS, "", .ttl = REPLAY_TTL_ENDS},
};

static int compare_name(const void *name, const void *row) {
    const struct slice *wanted = name;
    const struct replay_command *command = row;
    return slice_compare(*wanted, slice_of(command->name));
}

const struct replay_command *replay_command_of(const struct trace_file_record *record) {
    return bsearch(&record->arguments[0].text, rows, sizeof(rows) / sizeof(rows[0]),
                   sizeof(rows[0]), compare_name);
}

/* --- times to live ---------------------------------------------------------------------------- */

/* The number that argument `index` is, in milliseconds if it is in units of `unit_msec`. False
 * where it was not kept, or is no number or an absurd one. */
static bool read_time(const struct trace_file_record *record, uint32_t index, int64_t unit_msec,
                      int64_t *msec) {
    if (index >= record->argument_count) return false;
    const struct trace_file_argument *a = &record->arguments[index];
    int64_t number;
    if (a->kind != TRACE_FILE_WORD || !number_parse_int64(a->text.bytes, a->text.length, &number) ||
        number > TRACE_FILE_NUMBER_MAX || number < -TRACE_FILE_NUMBER_MAX)
        return false;
    *msec = number * unit_msec;
    return true;
}

static int64_t ttl_of_argument(const struct trace_file_record *record, uint32_t index,
                               int64_t unit_msec, bool is_moment) {
    int64_t msec;
    if (!read_time(record, index, unit_msec, &msec)) return REPLAY_TTL_AS_BEFORE;
    return is_moment ? msec - record->wall_usec / 1000 : msec;
}

static int64_t ttl_of_options(const struct trace_file_record *record, int64_t otherwise) {
    for (uint32_t i = 2; i < record->argument_count; i++) {
        const struct trace_file_argument *a = &record->arguments[i];
        if (a->kind != TRACE_FILE_WORD) continue;
        if (slice_is(a->text, "ex")) return ttl_of_argument(record, i + 1, 1000, false);
        if (slice_is(a->text, "px")) return ttl_of_argument(record, i + 1, 1, false);
        if (slice_is(a->text, "exat")) return ttl_of_argument(record, i + 1, 1000, true);
        if (slice_is(a->text, "pxat")) return ttl_of_argument(record, i + 1, 1, true);
        if (slice_is(a->text, "keepttl")) return REPLAY_TTL_AS_BEFORE;
        if (slice_is(a->text, "persist")) return REPLAY_TTL_NONE;
    }
    return otherwise;
}

int64_t replay_ttl_after(const struct replay_command *command,
                         const struct trace_file_record *record) {
    switch (command->ttl) {
    case REPLAY_TTL_STAYS: return REPLAY_TTL_AS_BEFORE;
    case REPLAY_TTL_ENDS: return ttl_of_options(record, REPLAY_TTL_NONE);
    case REPLAY_TTL_OPTIONS: return ttl_of_options(record, REPLAY_TTL_AS_BEFORE);
    case REPLAY_TTL_SECONDS: return ttl_of_argument(record, 2, 1000, false);
    case REPLAY_TTL_MSEC: return ttl_of_argument(record, 2, 1, false);
    case REPLAY_TTL_AT_SECONDS: return ttl_of_argument(record, 2, 1000, true);
    case REPLAY_TTL_AT_MSEC: return ttl_of_argument(record, 2, 1, true);
    case REPLAY_TTL_PERSISTS: return REPLAY_TTL_NONE;
    }
    return REPLAY_TTL_AS_BEFORE;
}
