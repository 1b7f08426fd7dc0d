/* SPDX-License-Identifier: BSD-3-Clause
 * Events of keys: each has a class and a name, and is reported to observers. One observer publishes
 * the events to clients that subscribe (notify-keyspace-events).
 */
#ifndef EVENKEEL_PUBLISH_NOTIFY_H
#define EVENKEEL_PUBLISH_NOTIFY_H
#include <stdbool.h>

#include "base/string.h"

struct keyspace;
struct keyspace_observer;

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

void notify_register(void); /* the option */
/* Makes events of the keyspace's reports that keys expired, were evicted or were missed. For
 * server/wiring. */
extern const struct keyspace_observer notify_keyspace_observer;

/* An observer of events. */
struct notify_observer {
    /* The classes that the observer wants now. Called when the list is set and after each change of
     * the option. Events of other classes are not reported to it. */
    unsigned (*classes)(void);
    /* The event has happened to the key `name` of `ks`. An observer must change no key. */
    void (*event)(const struct keyspace *ks, enum notify_class class, const char *event,
                  struct slice name);
};
/* Sets the observers, in their order, ended by NULL. The array must live as long as the process;
 * server/wiring.c has the server's. */
void notify_set_observers(const struct notify_observer *const *observers);
/* Publishes the events of notify-keyspace-events. */
extern const struct notify_observer notify_publisher;

/* Reports an event to the observers that want its class; one test where none does. The command
 * calls it after the change, in 6.2's order of events. */
void notify_event(struct keyspace *ks, enum notify_class class, const char *event,
                  struct slice key);
#endif
