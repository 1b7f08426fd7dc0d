/* SPDX-License-Identifier: BSD-3-Clause
 * Events of keys: their observers, and the one that publishes them.
 *
 * Commands announce their events themselves (notify_event), because only they know the names. The
 * keyspace reports that a key expired or was evicted, or that a lookup missed one.
 *
 * Invariants
 *  1. `heard` has the classes that any observer wants, so that an event without an observer costs
 *     one test.
 *  2. This file is registered with the keyspace as interested in removals, and in misses, exactly
 *     while `heard` has a class of these.
 *  3. The publisher wants no class where the option has neither K nor E, because there is no
 *     channel then.
 */
#include "publish/notify.h"

#include "base/number.h"
#include "option/option.h"
#include "publish/pubsub.h"
#include "store/keyspace.h"

/* The letters that A stands for, and the other ones, in the order in which CONFIG GET shows them.
 */
#define ALL_COUNT 10
#define LETTERS_COUNT 13
static const struct {
    char letter;
    enum notify_class class;
} letters[LETTERS_COUNT] = {
    {'g', NOTIFY_GENERIC},  {'$', NOTIFY_STRING}, {'l', NOTIFY_LIST},     {'s', NOTIFY_SET},
    {'h', NOTIFY_HASH},     {'z', NOTIFY_ZSET},   {'x', NOTIFY_EXPIRED},  {'e', NOTIFY_EVICTED},
    {'t', NOTIFY_STREAM},   {'d', NOTIFY_MODULE}, {'K', NOTIFY_KEYSPACE}, {'E', NOTIFY_KEYEVENT},
    {'m', NOTIFY_KEY_MISS},
};

#define CHANNELS (NOTIFY_KEYSPACE | NOTIFY_KEYEVENT)
/* The buffer of channel names is kept up to this size; a larger one is freed at once. */
#define CHANNEL_BYTES_KEPT 4096

static const struct notify_observer *const no_observers[] = {NULL};
static const struct notify_observer *const *observers = no_observers;
static unsigned heard;
static unsigned wanted; /* by the option */
static struct buffer channel = {.class = MEMORY_POOLS};

/* ---- events ---- */

static __attribute__((noinline)) void tell_event(const struct keyspace *ks, enum notify_class class,
                                                 const char *event, struct slice key) {
    for (const struct notify_observer *const *o = observers; *o; o++)
        if ((*o)->classes() & class) (*o)->event(ks, class, event, key);
}

void notify_event(struct keyspace *ks, enum notify_class class, const char *event,
                  struct slice key) {
    if (__builtin_expect(heard & class, 0)) tell_event(ks, class, event, key);
}

/* Changes the interest that the keyspace has on record, if any of these classes is wanted now and
 * was not before, or the other way round. */
static void notify_show_interest(enum keyspace_event event, unsigned classes, unsigned before) {
    keyspace_add_interest(event, (int)((heard & classes) != 0) - (int)((before & classes) != 0));
}

/* Asks the observers again which classes they want. */
static void ask_observers(void) {
    unsigned before = heard;
    heard = 0;
    for (const struct notify_observer *const *o = observers; *o; o++) heard |= (*o)->classes();
    notify_show_interest(KEYSPACE_REMOVALS, NOTIFY_EXPIRED | NOTIFY_EVICTED, before);
    notify_show_interest(KEYSPACE_MISSES, NOTIFY_KEY_MISS, before);
}

void notify_set_observers(const struct notify_observer *const *list) {
    observers = list;
    ask_observers();
}

/* ---- messages ---- */

static void notify_publish(const char *space, const struct keyspace *ks, struct slice name,
                           struct slice message) {
    char digits[NUMBER_INT64_CHARS];
    buffer_clear(&channel);
    buffer_append_c_string(&channel, space);
    buffer_append(&channel, digits, number_format_int64(digits, keyspace_index(ks)));
    buffer_append_c_string(&channel, "__:");
    buffer_append(&channel, name.bytes, name.length);
    pubsub_deliver(buffer_slice(&channel), message);
    if (channel.capacity > CHANNEL_BYTES_KEPT) buffer_free(&channel);
}

static unsigned published_classes(void) {
    return wanted & CHANNELS ? wanted & ~(unsigned)CHANNELS : 0;
}

static void publish_event(const struct keyspace *ks, enum notify_class class, const char *event,
                          struct slice key) {
    struct slice name = {event, strlen(event)};
    if (!pubsub_has_listeners()) return;
    if (wanted & NOTIFY_KEYSPACE) notify_publish("__keyspace@", ks, key, name);
    if (wanted & NOTIFY_KEYEVENT) notify_publish("__keyevent@", ks, name, key);
}

const struct notify_observer notify_publisher = {published_classes, publish_event};

/* ---- what the keyspace tells ---- */

static void notify_changed(const struct key *key, enum keyspace_cause cause) {
    if (cause == KEYSPACE_EXPIRED)
        notify_event(key->keyspace, NOTIFY_EXPIRED, "expired", key->name);
    if (cause == KEYSPACE_EVICTED)
        notify_event(key->keyspace, NOTIFY_EVICTED, "evicted", key->name);
}

static void notify_missed(const struct key *key) {
    notify_event(key->keyspace, NOTIFY_KEY_MISS, "keymiss", key->name);
}

const struct keyspace_observer notify_keyspace_observer = {.changed = notify_changed,
                                                           .missed = notify_missed};

/* ---- the option ---- */

/* The classes that a letter stands for; 0 where it is no class's letter. */
static unsigned classes_of(char letter) {
    unsigned all = 0;
    for (size_t i = 0; i < LETTERS_COUNT; i++) {
        if (letters[i].letter == letter) return letters[i].class;
        if (i < ALL_COUNT) all |= letters[i].class;
    }
    return letter == 'A' ? all : 0;
}

static bool events_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    unsigned classes = 0;
    if (count != 1) return false;
    for (size_t i = 0; i < words[0].length; i++) {
        unsigned more = classes_of(words[0].bytes[i]);
        classes |= more;
        if (more) continue;
        /* 6.2 gives CONFIG SET no reason here. */
        if (option_source_now() != OPTION_FROM_CONFIG_SET)
            snprintf(reason, reason_size, "Invalid event class character. Use 'g$lshzxeA'.");
        return false;
    }
    wanted = classes;
    ask_observers();
    return true;
}

static void events_print(const struct option_row *row, struct buffer *out) {
    unsigned all = classes_of('A');
    bool has_all = (wanted & all) == all;
    if (has_all) buffer_append_char(out, 'A');
    for (size_t i = has_all ? ALL_COUNT : 0; i < LETTERS_COUNT; i++)
        if (wanted & letters[i].class) buffer_append_char(out, letters[i].letter);
}

static void events_rewrite(const struct option_row *row, struct buffer *out) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    events_print(row, &text);
    buffer_printf(out, "%s ", row->name);
    buffer_append_quoted(out, buffer_slice(&text));
    buffer_append_char(out, '\n');
    buffer_free(&text);
}

static const struct option_row option_rows[] = {
    {.name = "notify-keyspace-events",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE,
     .section = "events",
     .place = 10,
     .fallback = "",
     .parse = events_parse,
     .print = events_print,
     .rewrite = events_rewrite,
     .help = "Which events of keys are published: K on __keyspace@<db>__:<key>, E on "
             "__keyevent@<db>__:<event>; g commands of any type, $ strings, l lists, s sets, h "
             "hashes, z sorted sets, t streams, d modules, x expired, e evicted, A all of these; m "
             "misses. Each event is two messages at most; without K and E there is none."},
};

void notify_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
