/* SPDX-License-Identifier: BSD-3-Clause
 * Publish and subscribe: channels, patterns and who listens to them.
 *
 * A client listens to channels by name and to patterns (base/glob). A message to a channel goes to
 * the channel's subscribers in the order in which they subscribed, then, pattern by pattern in the
 * order in which the patterns came, to those of each pattern that the channel's name matches.
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

/* Sends the message to the channel's subscribers and to those of patterns that match it, in 6.2's
 * order; returns how many times it was sent. Clients may be closed by it, the one whose request
 * runs included, and what stands in clients' replies may be written (batch_relieve). Not to be
 * called within itself. O(subscribers of the channel + patterns + subscribers of those that match).
 */
size_t pubsub_deliver(struct slice channel, struct slice message);
/* False where nobody listens to anything: pubsub_deliver would do nothing. O(1). */
bool pubsub_has_listeners(void);

/* What hears of messages that are published, here or where the observer relays them to. */
struct pubsub_observer {
    /* Returns to how many clients it has sent the message. */
    size_t (*published)(struct slice channel, struct slice message);
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void pubsub_set_observers(const struct pubsub_observer *const *observers);
/* Sends each message to this server's own clients: pubsub_deliver. */
extern const struct pubsub_observer pubsub_delivery;
/* A client publishes a message: tells the observers, and returns the sum of what they return. The
 * events of keys are delivered and not published, because they are this server's own. */
size_t pubsub_publish(struct slice channel, struct slice message);

/* Subscribes the client, unless it is, and tells it so. Nothing for one that is closing. O(1). */
void pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name);
/* Ends a subscription, where there is one, and tells the client so in any case. O(1). */
void pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name);
/* Ends all of a kind and tells the client so, of each; once, of none, where there was none. */
void pubsub_unsubscribe_kind(struct client *c, enum pubsub_kind kind);
/* Takes all subscriptions away; with `tell`, with the replies of UNSUBSCRIBE and PUNSUBSCRIBE. */
void pubsub_unsubscribe_all(struct client *c, bool tell);
/* What a client with many subscriptions leaves goes in steps. Goes on with that; true where more is
 * left. To be called before the loop sleeps, and before closed clients are freed. */
bool pubsub_release_step(void);

/* Channels and patterns of one client: CLIENT LIST's sub and psub. O(1). */
size_t pubsub_channels(const struct client *c);
size_t pubsub_patterns(const struct client *c);
/* Whether `test` holds for the name of any channel, or pattern, of the client. */
bool pubsub_any(const struct client *c, enum pubsub_kind kind,
                bool (*test)(struct slice name, void *context), void *context);

/* Channels, or distinct patterns, that somebody listens to. O(1), and with what closed clients have
 * left and has not gone yet: so are the next two. */
size_t pubsub_count(enum pubsub_kind kind);
/* Subscribers of a channel. */
size_t pubsub_subscribers(struct slice channel);
/* Calls `visit` for each channel, in no order. */
void pubsub_each_channel(void (*visit)(struct slice name, void *context), void *context);

/* Asserts the invariants; walks everything. */
void pubsub_check(void);
#endif
