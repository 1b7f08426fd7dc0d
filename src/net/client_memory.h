/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of clients: how much each holds, who holds the most, and maxmemory-clients.
 *
 * Everything of the class MEMORY_CLIENTS belongs to one client: its struct, its name, what it has
 * sent and not been answered, replies that it has not taken, what it waits for or is told of; what
 * several share is one's of them. So the class' sum is the sum over clients and the table that
 * finds them, to the byte.
 */
#ifndef EVENKEEL_NET_CLIENT_MEMORY_H
#define EVENKEEL_NET_CLIENT_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;

void client_memory_register(void); /* options and metrics */
/* What a percentage of maxmemory is of; without it such a limit is no limit. */
void client_memory_set_maxmemory(int64_t (*maxmemory)(void));

/* What the client holds, exactly. O(1). */
size_t client_memory_of(const struct client *c);
/* What all normal and subscribed clients hold, closing ones included. O(1). */
size_t client_memory_normal(void);
/* What clients that are closing will give back by the turn's end, or little later, of
 * client_memory_normal(). O(1). */
size_t client_memory_leaving(void);

/* What a client holds has changed. O(1); nothing for one that holds no buffers. */
void client_memory_note(struct client *c);
/* The same where its chunks of replies take so many bytes more (fewer: negative), and nothing else
 * has changed: a message to thousands of subscribers gives each a chunk and takes it away. */
void client_memory_note_chunks(struct client *c, ptrdiff_t bytes);
/* Disconnects the largest clients, but none with CLIENT NO-EVICT, until they give back so many
 * bytes; returns those of them that it found. The largest are found to a factor of 2. A client
 * whose buffers take less than 8 KiB stays: closing it gives next to nothing back, and whoever
 * could raise the limit is among these. O(clients disconnected). */
size_t client_memory_disconnect_largest(size_t bytes_wanted);
/* Disconnects clients where maxmemory-clients is passed: the largest, and where these are not
 * enough any, but none with CLIENT NO-EVICT. O(1) where it is not passed, else O(clients
 * disconnected), and O(clients) where all of those with buffers are not enough. */
void client_memory_enforce(void);

/* The client is marked as closing: it counts as leaving with what it holds now. */
void client_memory_mark(struct client *c);
/* It is closed, its bytes have been counted anew; it is freed later. */
void client_memory_leave(struct client *c);
/* None is marked any more but those who hold so many bytes. */
void client_memory_marked_left(size_t bytes_staying);
/* One that is closing, and not freed yet, has given so many bytes back already. */
void client_memory_leave_less(size_t bytes);
/* Those that were closing are freed, but for so many bytes. */
void client_memory_left(size_t bytes_staying);
/* Asserts the sums; walks all clients. */
void client_memory_check(void);
#endif
