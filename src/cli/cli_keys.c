/* SPDX-License-Identifier: BSD-3-Clause
 * Pages of SCAN, and requests about each key of a page: one pipeline for each kind of request.
 *
 * A key may be deleted or change its type between two requests, so a key whose size is answered by
 * nil or an error counts as size 0.
 */
#include "cli/cli_keys.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/number.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "cli/cli_run.h"

/* The number of pages between two pauses of -i. */
#define PAGES_A_REST 100
#define HOT_KEYS 16

/* --- pages ------------------------------------------------------------------------------------ */

struct scan {
    const struct cli_options *options;
    char cursor[NUMBER_INT64_CHARS];
    bool ended;
    uint64_t pages, keys_seen;
    int64_t keys_total;
    struct buffer bytes; /* the names of the page's keys, one after the other */
    struct slice *keys;  /* the page's keys, in `bytes` */
    size_t count, capacity;
};

static void complain_of_error(const struct peer_reply *reply) {
    cli_format_complain("Error: ", reply->text);
}

static void scan_open(struct scan *s, const struct cli_options *o) {
    *s = (struct scan){.options = o, .cursor = "0", .bytes.class = MEMORY_OTHER};
}

static void scan_end(struct scan *s) {
    buffer_free(&s->bytes);
    memory_free(s->keys, MEMORY_OTHER);
}

static void keep_keys(struct scan *s, const struct peer_reply *list) {
    const struct peer_reply *key = peer_reply_first(list);
    buffer_clear(&s->bytes);
    if (list->children > s->capacity) {
        s->capacity = list->children;
        s->keys = memory_realloc(s->keys, s->capacity * sizeof(*s->keys), MEMORY_OTHER);
    }
    s->count = list->children;
    for (size_t i = 0; i < s->count; i++, key = peer_reply_next(key)) {
        s->keys[i].length = key->text.length;
        buffer_append(&s->bytes, key->text.bytes, key->text.length);
    }
    const char *at = s->bytes.bytes ? s->bytes.bytes : "";
    for (size_t i = 0; i < s->count; at += s->keys[i++].length) s->keys[i].bytes = at;
    s->keys_seen += s->count;
}

static bool is_page(const struct peer_reply *reply) {
    if (reply->type != PEER_ARRAY || reply->children != 2) return false;
    const struct peer_reply *cursor = peer_reply_first(reply), *list = peer_reply_next(cursor);
    return cursor->type == PEER_BULK && cursor->text.length < NUMBER_INT64_CHARS &&
           list->type == PEER_ARRAY;
}

/* Reads the next page. False after the last page, or after an error: `failed` is true then. */
static bool scan_next(struct scan *s, bool *failed) {
    struct slice words[4] = {SLICE("SCAN"), slice_of(s->cursor)};
    size_t count = 2;
    if (s->ended) return false;
    if (s->options->pattern) {
        words[count++] = SLICE("MATCH");
        words[count++] = slice_of(s->options->pattern);
    }
    if (s->pages && s->pages % PAGES_A_REST == 0 && s->options->interval_sec > 0) {
        cli_run_pause(s->options->interval_sec);
    }
    cli_link_send(words, count);
    const struct peer_reply *reply = cli_link_must_read();
    if (!is_page(reply)) {
        complain_of_error(reply);
        *failed = true;
        return false;
    }
    const struct peer_reply *cursor = peer_reply_first(reply);
    memcpy(s->cursor, cursor->text.bytes, cursor->text.length);
    s->cursor[cursor->text.length] = '\0';
    s->ended = !strcmp(s->cursor, "0");
    s->pages++;
    keep_keys(s, peer_reply_next(cursor));
    return true;
}

int cli_keys_scan_run(const struct cli_options *o) {
    struct scan s;
    struct buffer out = {.class = MEMORY_OTHER};
    bool failed = false;
    scan_open(&s, o);
    while (scan_next(&s, &failed)) {
        for (size_t i = 0; i < s.count; i++) {
            if (o->output == CLI_RAW) {
                buffer_append(&out, s.keys[i].bytes, s.keys[i].length);
            } else {
                buffer_append_quoted(&out, s.keys[i]);
            }
            buffer_append_char(&out, '\n');
        }
        cli_format_flush(&out);
    }
    scan_end(&s);
    buffer_free(&out);
    return failed;
}

/* --- what a search over all keys begins and ends with ----------------------------------------- */

static bool begin_search(struct scan *s, const struct cli_options *o, const char *what) {
    const struct peer_reply *reply = cli_link_must_call("DBSIZE");
    if (reply->type != PEER_INTEGER) {
        complain_of_error(reply);
        return false;
    }
    scan_open(s, o);
    s->keys_total = reply->integer;
    printf(
        "\n# Looking through all keys for %s.\n"
        "# -i 0.1 rests for 0.1 seconds after each %d pages of SCAN.\n\n",
        what, PAGES_A_REST);
    return true;
}

static double percent_done(const struct scan *s) {
    double percent = s->keys_total ? (double)s->keys_seen * 100 / (double)s->keys_total : 100;
    return percent < 100 ? percent : 100;
}

static struct buffer shown = {.class = MEMORY_OTHER};

/* The key in quotes; valid until the next call. */
static const char *show_key(struct slice key) {
    buffer_clear(&shown);
    buffer_append_quoted(&shown, key);
    return shown.bytes;
}

/* --- sizes ------------------------------------------------------------------------------------ */

struct type_row {
    const char *name, *question, *unit;
};
static const struct type_row type_rows[] = {
    {"string", "STRLEN", "bytes"}, {"list", "LLEN", "items"},    {"set", "SCARD", "members"},
    {"hash", "HLEN", "fields"},    {"zset", "ZCARD", "members"}, {"stream", "XLEN", "entries"},
    {"other", NULL, "?"}, /* types of modules */
};
#define TYPES (sizeof(type_rows) / sizeof(type_rows[0]))

struct type_sum {
    uint64_t keys, size, biggest;
    char *biggest_key; /* as show_key gives it; NULL = none */
};

struct sizes {
    struct scan scan;
    bool memory; /* --memkeys */
    struct type_sum sums[TYPES];
    uint64_t key_bytes;
    size_t *types; /* for each key of the page its row; TYPES = the key is deleted */
    size_t capacity;
};

static size_t type_of(const struct peer_reply *reply) {
    if (reply->type != PEER_STATUS || slice_is(reply->text, "none")) return TYPES;
    size_t i = 0;
    while (i < TYPES - 1 && !slice_is(reply->text, type_rows[i].name)) i++;
    return i;
}

static void ask_types(struct sizes *z) {
    if (z->scan.count > z->capacity) {
        z->capacity = z->scan.count;
        z->types = memory_realloc(z->types, z->capacity * sizeof(*z->types), MEMORY_OTHER);
    }
    for (size_t i = 0; i < z->scan.count; i++) {
        cli_link_send((struct slice[]){SLICE("TYPE"), z->scan.keys[i]}, 2);
    }
    for (size_t i = 0; i < z->scan.count; i++) z->types[i] = type_of(cli_link_must_read());
}

/* Sends the request for the size of key `i`. False where none is sent: the key is deleted, or its
 * type has no such command. */
static bool ask_size(const struct sizes *z, size_t i) {
    char samples[NUMBER_INT64_CHARS];
    struct slice key = z->scan.keys[i];
    if (z->types[i] == TYPES) return false;
    if (!z->memory) {
        const char *question = type_rows[z->types[i]].question;
        if (question) cli_link_send((struct slice[]){slice_of(question), key}, 2);
        return question != NULL;
    }
    struct slice words[] = {SLICE("MEMORY"), SLICE("USAGE"), key, SLICE("SAMPLES"), {samples, 0}};
    if (z->scan.options->samples) {
        words[4].length = number_format_int64(samples, z->scan.options->samples);
    }
    cli_link_send(words, z->scan.options->samples ? 5 : 3);
    return true;
}

static const char *unit_of(const struct sizes *z, size_t type) {
    return z->memory ? "bytes" : type_rows[type].unit;
}

static void note_size(struct sizes *z, size_t i, uint64_t size) {
    size_t type = z->types[i];
    struct type_sum *sum = &z->sums[type];
    sum->keys++;
    sum->size += size;
    z->key_bytes += z->scan.keys[i].length;
    if (sum->biggest_key && size <= sum->biggest) return;
    sum->biggest = size;
    memory_free(sum->biggest_key, MEMORY_OTHER);
    sum->biggest_key = memory_strdup(show_key(z->scan.keys[i]), MEMORY_OTHER);
    printf("[%05.2f%%] Biggest %-6s found so far '%s' with %" PRIu64 " %s\n",
           percent_done(&z->scan), type_rows[type].name, sum->biggest_key, size, unit_of(z, type));
}

static void take_page(struct sizes *z) {
    ask_types(z);
    /* All requests are sent before the first reply is read. So the loop below repeats ask_size's
     * conditions to know which keys have a reply. */
    for (size_t i = 0; i < z->scan.count; i++) (void)ask_size(z, i);
    for (size_t i = 0; i < z->scan.count; i++) {
        if (z->types[i] == TYPES) continue;
        uint64_t size = 0;
        if (z->memory || type_rows[z->types[i]].question) {
            const struct peer_reply *reply = cli_link_must_read();
            if (reply->type == PEER_INTEGER && reply->integer > 0) size = (uint64_t)reply->integer;
        }
        note_size(z, i, size);
    }
    (void)fflush(stdout);
}

static void print_sizes(const struct sizes *z) {
    uint64_t keys = z->scan.keys_seen;
    double all = keys ? (double)keys : 1;
    printf("\n-------- summary -------\n\nSampled %" PRIu64
           " keys in the keyspace!\n"
           "Total key length in bytes is %" PRIu64 " (avg len %.2f)\n\n",
           keys, z->key_bytes, (double)z->key_bytes / all);
    for (size_t i = 0; i < TYPES; i++) {
        const struct type_sum *sum = &z->sums[i];
        if (!sum->biggest_key) continue;
        printf("Biggest %6s found '%s' has %" PRIu64 " %s\n", type_rows[i].name, sum->biggest_key,
               sum->biggest, unit_of(z, i));
    }
    printf("\n");
    for (size_t i = 0; i < TYPES; i++) {
        const struct type_sum *sum = &z->sums[i];
        if (!sum->keys && i == TYPES - 1) continue;
        printf("%" PRIu64 " %ss with %" PRIu64 " %s (%05.2f%% of keys, avg size %.2f)\n", sum->keys,
               type_rows[i].name, sum->size, unit_of(z, i), (double)sum->keys * 100 / all,
               sum->keys ? (double)sum->size / (double)sum->keys : 0);
    }
}

int cli_keys_big_run(const struct cli_options *o) {
    struct sizes z = {.memory = o->mode == CLI_MEMKEYS};
    bool failed = false;
    const char *what =
        z.memory ? "those of each type that take the most memory" : "the biggest of each type";
    if (!begin_search(&z.scan, o, what)) return 1;
    while (scan_next(&z.scan, &failed)) take_page(&z);
    if (!failed) print_sizes(&z);
    for (size_t i = 0; i < TYPES; i++) memory_free(z.sums[i].biggest_key, MEMORY_OTHER);
    memory_free(z.types, MEMORY_OTHER);
    scan_end(&z.scan);
    return failed;
}

/* --- hot keys --------------------------------------------------------------------------------- */

struct hot_key {
    int64_t uses;
    char *key; /* as show_key gives it */
};
struct hot_keys {
    struct hot_key keys[HOT_KEYS]; /* the hottest first */
    size_t count;
};

static bool note_hot_key(struct hot_keys *hot, int64_t uses, struct slice key) {
    if (uses <= 0) return false;
    if (hot->count == HOT_KEYS) {
        if (hot->keys[HOT_KEYS - 1].uses >= uses) return false;
        memory_free(hot->keys[--hot->count].key, MEMORY_OTHER);
    }
    size_t place = hot->count++;
    for (; place && hot->keys[place - 1].uses < uses; place--) {
        hot->keys[place] = hot->keys[place - 1];
    }
    hot->keys[place] = (struct hot_key){uses, memory_strdup(show_key(key), MEMORY_OTHER)};
    return true;
}

/* Reads the access counts of a page's keys. False after an error; the usual one is that the server
 * keeps no counts because its maxmemory-policy is not an LFU policy. */
static bool take_hot_page(struct scan *s, struct hot_keys *hot) {
    bool good = true;
    for (size_t i = 0; i < s->count; i++) {
        cli_link_send((struct slice[]){SLICE("OBJECT"), SLICE("FREQ"), s->keys[i]}, 3);
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct peer_reply *reply = cli_link_must_read();
        /* A key that was deleted meanwhile gives nil or the error "no such key". */
        bool gone = reply->type == PEER_ERROR &&
                    memmem(reply->text.bytes, reply->text.length, "no such key", 11);
        if (reply->type == PEER_ERROR && !gone && good) {
            complain_of_error(reply);
            good = false;
        }
        if (reply->type != PEER_INTEGER) continue;
        int64_t uses = reply->integer;
        if (note_hot_key(hot, uses, s->keys[i])) {
            printf("[%05.2f%%] Hot key '%s' found so far with counter %" PRId64 "\n",
                   percent_done(s), show_key(s->keys[i]), uses);
        }
    }
    return good;
}

int cli_keys_hot_run(const struct cli_options *o) {
    struct hot_keys hot = {.count = 0};
    struct scan s;
    bool failed = false;
    if (!begin_search(&s, o, "those that are used most")) return 1;
    (void)fflush(stdout);
    while (!failed && scan_next(&s, &failed)) failed = !take_hot_page(&s, &hot);
    if (!failed) {
        printf("\n-------- summary -------\n\nSampled %" PRIu64 " keys in the keyspace!\n",
               s.keys_seen);
    }
    for (size_t i = 0; i < hot.count; i++) {
        if (!failed) {
            printf("hot key found with counter: %" PRId64 "\tkeyname: %s\n", hot.keys[i].uses,
                   hot.keys[i].key);
        }
        memory_free(hot.keys[i].key, MEMORY_OTHER);
    }
    scan_end(&s);
    return failed;
}
