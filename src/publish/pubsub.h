/* SPDX-License-Identifier: BSD-3-Clause
 * Publish and subscribe: channels, patterns and their subscribers.
 *
 * A client listens to channels by name and to patterns (base/glob). A message to a channel is sent
 * to the channel's subscribers in the order in which they subscribed. Then it is sent to the
 * subscribers of each pattern that matches the channel's name, pattern by pattern in the order in
 * which the patterns were created.
 */
#ifndef EVENKEEL_PUBLISH_PUBSUB_H
#define EVENKEEL_PUBLISH_PUBSUB_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct client;
struct client_state;

enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_KINDS };

void pubsub_register(void);                     /* metrics */
extern struct client_state pubsub_client_state; /* for server/wiring */

/* Sends the message to the channel's subscribers and to those of matching patterns, in 6.2's order;
 * returns how many times it was sent. It may mark clients as closing, even the one whose request
 * runs, and may write clients' replies (batch_relieve). Must not be called within itself.
 * O(subscribers of the channel + patterns + subscribers of those that match). */
size_t pubsub_deliver(struct slice channel, struct slice message);
/* Whether any client listens to anything; if not, pubsub_deliver would do nothing. O(1). */
bool pubsub_has_listeners(void);

/* An observer of published messages, which sends them to this server's clients or relays them to
 * other servers. */
struct pubsub_observer {
    /* Returns the number of clients that the message was sent to. */
    size_t (*published)(struct slice channel, struct slice message);
    /* Whether its messages reach this server's replicas, too, so that these must not get PUBLISH by
     * their stream. NULL: they do not. */
    bool (*reaches_replicas)(void);
};
/* Sets the observers, in their order, ended by NULL. The array must live as long as the process;
 * server/wiring.c has the server's. */
void pubsub_set_observers(const struct pubsub_observer *const *observers);
/* The observer that sends each message to this server's own clients (pubsub_deliver). */
extern const struct pubsub_observer pubsub_delivery;
/* Publishes a client's message: calls the observers, and returns the sum of their results. Events
 * of keys are delivered, not published, because they concern this server only. */
size_t pubsub_publish(struct slice channel, struct slice message);
/* Whether an observer brings messages to the replicas. */
bool pubsub_reaches_replicas(void);

/* Subscribes the client, unless it is subscribed, and replies so in either case. Does nothing for a
 * closing client. O(1). */
void pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name);
/* Ends a subscription, if there is one, and replies so in either case. Does nothing for a closing
 * client. O(1). */
void pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name);
/* Ends all subscriptions of a kind, with a reply for each; with one reply, of no channel, where
 * there was none. */
void pubsub_unsubscribe_kind(struct client *c, enum pubsub_kind kind);
/* Ends all subscriptions; with `tell`, with the replies of UNSUBSCRIBE and PUNSUBSCRIBE. */
void pubsub_unsubscribe_all(struct client *c, bool tell);
/* Frees a step of the subscriptions that closed clients with many of them have left; true if
 * more is left. To be called before the loop sleeps, and before closed clients are freed. */
bool pubsub_release_step(void);

/* Channels and patterns of one client: CLIENT LIST's sub and psub. O(1). */
size_t pubsub_channels(const struct client *c);
size_t pubsub_patterns(const struct client *c);
/* Whether `test` holds for the name of any channel, or pattern, of the client. */
bool pubsub_any(const struct client *c, enum pubsub_kind kind,
                bool (*test)(struct slice name, void *context), void *context);

/* The number of channels, or distinct patterns, with subscribers. O(1). This and the next two
 * functions still count subscriptions of closed clients that have not been freed yet. */
size_t pubsub_count(enum pubsub_kind kind);
/* The number of a channel's subscribers. */
size_t pubsub_subscribers(struct slice channel);
/* Calls `visit` for each channel, in no order. */
void pubsub_each_channel(void (*visit)(struct slice name, void *context), void *context);

/* Asserts the invariants; walks everything. */
void pubsub_check(void);
#endif
