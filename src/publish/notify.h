/* SPDX-License-Identifier: BSD-3-Clause
 * Keyspace notifications: what happens to keys, published to whoever subscribes
 * (notify-keyspace-events).
 */
#ifndef EVENKEEL_PUBLISH_NOTIFY_H
#define EVENKEEL_PUBLISH_NOTIFY_H
#include <stdbool.h>

#include "base/string.h"

struct keyspace_observer;
struct keyspace;

/* The letters of notify-keyspace-events, and in parentheses those that `A` stands for. */
enum notify_class {
    NOTIFY_KEYSPACE = 1 << 0,  /* K: on __keyspace@<db>__:<key> */
    NOTIFY_KEYEVENT = 1 << 1,  /* E: on __keyevent@<db>__:<event> */
    NOTIFY_GENERIC = 1 << 2,   /* (g) */
    NOTIFY_STRING = 1 << 3,    /* ($) */
    NOTIFY_LIST = 1 << 4,      /* (l) */
    NOTIFY_SET = 1 << 5,       /* (s) */
    NOTIFY_HASH = 1 << 6,      /* (h) */
    NOTIFY_ZSET = 1 << 7,      /* (z) */
    NOTIFY_EXPIRED = 1 << 8,   /* (x) */
    NOTIFY_EVICTED = 1 << 9,   /* (e) */
    NOTIFY_STREAM = 1 << 10,   /* (t) */
    NOTIFY_KEY_MISS = 1 << 11, /* m */
    NOTIFY_MODULE = 1 << 12,   /* (d) */
};

void notify_register(void);                            /* the option */
extern const struct keyspace_observer notify_observer; /* for server/wiring */
/* Publishes the event of a key, where its class is on; else costs one test. The command calls it
 * after the change, in 6.2's order of events. */
void notify_event(struct keyspace *ks, enum notify_class class, const char *event,
                  struct slice key);
#endif
