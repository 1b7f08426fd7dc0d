/* SPDX-License-Identifier: BSD-3-Clause
 * client-output-buffer-limit: how much a client may leave unread.
 *
 * The reply chunks of a client that asks for more than it reads grow. Each class of clients has a
 * hard limit, at which the client is closed at once, and a soft limit, above which it may stay for
 * some seconds. The memory of the chunks counts, unused room included. The client keeps that sum
 * (struct client.chunk_bytes), so the check is cheap enough for each append.
 *
 * Invariants
 *  1. over_soft_nsec of a client is 0, or the time of the first check that found its chunks at the
 *     soft limit, if no check since has found them below and the client always had chunks.
 *  2. The limits are read at each check, so that CONFIG SET takes effect at once.
 *
 * A client that must authenticate and has not may leave unread only what its socket's buffer takes.
 * It is sent only errors, and a hundred such clients could otherwise hold as much memory as the
 * limits allow to authenticated clients. While its replies wait for the disk, its limit is
 * LIMITS_STRANGER_BYTES_MAX.
 *
 * A client that is sent a stream is of the class "replica", a client that listens to a channel or
 * pattern of the class "pubsub", every other of the class "normal". 6.2 reads an invalid number in
 * a file as 0, "no limit"; here such a line is refused.
 */
#include "net/limits.h"

#include <inttypes.h>

#include "base/clock.h"
#include "net/client.h"
#include "option/option.h"

enum limit_class { CLASS_NORMAL, CLASS_REPLICA, CLASS_SUBSCRIBER, CLASSES };

struct output_limit {
    int64_t hard_bytes, soft_bytes, soft_seconds; /* bytes 0 = no limit */
};

/* The words of one class: name, hard limit, soft limit, seconds. */
#define WORDS_PER_CLASS 4

static struct output_limit limits[CLASSES];

static const struct option_name class_names[] = {{"normal", CLASS_NORMAL},
                                                 {"slave", CLASS_REPLICA},
                                                 {"replica", CLASS_REPLICA},
                                                 {"pubsub", CLASS_SUBSCRIBER},
                                                 {NULL, 0}};
static const char *const names_shown[CLASSES] = {"normal", "slave", "pubsub"};
static const char *const names_written[CLASSES] = {"normal", "replica", "pubsub"};

/* ---- the option ---- */

static bool limits_refuse(const char *text, char *reason, size_t reason_size) {
    /* CONFIG SET gives no reason, as in 6.2. */
    if (option_source_now() != OPTION_FROM_CONFIG_SET) snprintf(reason, reason_size, "%s", text);
    return false;
}

/* Parses the four words of one class into its place in `parsed`. */
static bool class_parse(const struct slice *words, struct output_limit *parsed, char *reason,
                        size_t reason_size) {
    struct output_limit limit;
    const struct option_name *class = class_names;
    while (class->name && !slice_equal_nocase(slice_of(class->name), words[0])) class ++;
    if (!class->name)
        return limits_refuse(
            "Unrecognized client limit class: the user specified an invalid one, or 'master' "
            "which has no buffer limits.",
            reason, reason_size);
    if (!option_parse_bytes(words[1], &limit.hard_bytes) ||
        !option_parse_bytes(words[2], &limit.soft_bytes))
        return limits_refuse("argument must be a memory value", reason, reason_size);
    if (words[3].length && words[3].bytes[0] == '-')
        return limits_refuse("Negative number of seconds in soft limit is invalid", reason,
                             reason_size);
    /* As in 6.2, seconds may have a unit: 1k is 1,000 seconds. */
    if (!option_parse_bytes(words[3], &limit.soft_seconds))
        return limits_refuse("argument couldn't be parsed into an integer", reason, reason_size);
    if (limit.soft_seconds > INT32_MAX) limit.soft_seconds = INT32_MAX;
    parsed[class->value] = limit;
    return true;
}

/* Parses any number of classes, also one class several times. Classes that are not named keep their
 * limits. */
static bool limits_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    struct output_limit parsed[CLASSES];
    bool empty = count == 1 && words[0].length == 0;
    if (empty && option_source_now() == OPTION_FROM_CONFIG_SET) return true;
    if (count == 0 || count % WORDS_PER_CLASS) return false;
    memcpy(parsed, limits, sizeof(limits));
    for (size_t i = 0; i < count; i += WORDS_PER_CLASS)
        if (!class_parse(words + i, parsed, reason, reason_size)) return false;
    memcpy(limits, parsed, sizeof(limits));
    return true;
}

static void limits_print(const struct option_row *row, struct buffer *out) {
    for (int i = 0; i < CLASSES; i++)
        buffer_printf(out, "%s%s %" PRId64 " %" PRId64 " %" PRId64, i ? " " : "", names_shown[i],
                      limits[i].hard_bytes, limits[i].soft_bytes, limits[i].soft_seconds);
}

/* Writes one line for each class, because 6.2 reads no more, and all classes, because an included
 * file may set any of them. */
static void limits_rewrite(const struct option_row *row, struct buffer *out) {
    for (int i = 0; i < CLASSES; i++) {
        buffer_printf(out, "%s %s ", row->name, names_written[i]);
        option_append_bytes(out, limits[i].hard_bytes);
        buffer_append_char(out, ' ');
        option_append_bytes(out, limits[i].soft_bytes);
        buffer_printf(out, " %" PRId64 "\n", limits[i].soft_seconds);
    }
}

static const struct option_row option_rows[] = {
    {.name = "client-output-buffer-limit",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_MUTABLE,
     .section = "limits",
     .place = 15,
     .fallback = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
     .parse = limits_parse,
     .print = limits_print,
     .rewrite = limits_rewrite,
     .help = "Bytes of replies that may wait because a client does not read them. Four words a "
             "class of clients: its name (normal, replica, pubsub), the hard limit, at which the "
             "client is disconnected at once, the soft limit, and the seconds that it may stay "
             "above the soft one. 0 bytes: no limit. Classes that are not named stay as they are."},
};

void limits_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- the checks ---- */

static bool soft_passed(struct client *c, size_t bytes, const struct output_limit *limit) {
    if (!limit->soft_bytes || bytes < (size_t)limit->soft_bytes) {
        c->over_soft_nsec = 0;
        return false;
    }
    int64_t now = clock_monotonic_nsec();
    if (!c->over_soft_nsec) c->over_soft_nsec = now;
    return (now - c->over_soft_nsec) / 1000000000 > limit->soft_seconds;
}

static const struct output_limit *limit_of(const struct client *c) {
    if (c->flags & CLIENT_STREAMED) return &limits[CLASS_REPLICA];
    return &limits[c->flags & CLIENT_LISTENS ? CLASS_SUBSCRIBER : CLASS_NORMAL];
}

static void limits_check(struct client *c, size_t bytes) {
    const struct output_limit *limit = limit_of(c);
    bool hard = limit->hard_bytes && bytes >= (size_t)limit->hard_bytes;
    if (c->flags & CLIENT_CLOSING || !(hard || soft_passed(c, bytes, limit))) return;
    client_close_for_limit(c, "output buffer");
}

void limits_check_output(struct client *c) {
    if (c->chunk_bytes > LIMITS_STRANGER_BYTES_MAX) limits_check_unread(c);
    if (!(c->flags & CLIENT_STREAMED)) limits_check(c, c->chunk_bytes);
}

void limits_check_stream(struct client *c, size_t unsent) {
    limits_check(c, c->chunk_bytes + unsent);
}

bool limits_allow(struct client *c, size_t bytes) {
    size_t hard = (size_t)limit_of(c)->hard_bytes;
    if (__builtin_expect(!hard || bytes <= LIMITS_FREE_BYTES || bytes - LIMITS_FREE_BYTES < hard,
                         1))
        return true;
    client_close_for_limit(c, "output buffer");
    return false;
}

void limits_check_unread(struct client *c) {
    if (c->flags & CLIENT_CLOSING || !client_is_stranger(c)) return;
    client_close_for_limit(c, "output buffer (it has not authenticated)");
}

bool limits_need_cron(void) {
    return limits[CLASS_NORMAL].soft_bytes ||
           (limits[CLASS_SUBSCRIBER].soft_bytes && client_listeners());
}
