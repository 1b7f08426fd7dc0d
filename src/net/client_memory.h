/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of clients: how much each client holds, which hold the most, and maxmemory-clients.
 *
 * All memory of the class MEMORY_CLIENTS is charged to one client: its struct, its name, requests
 * that are not answered, replies that it has not taken, its waits, watched keys and subscriptions.
 * Memory that several clients share is charged to exactly one of them. So the class' sum is the sum
 * over all clients and the table that finds them, to the byte.
 */
#ifndef EVENKEEL_NET_CLIENT_MEMORY_H
#define EVENKEEL_NET_CLIENT_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;

void client_memory_register(void); /* options and metrics */
/* Sets the function that returns maxmemory, for a limit in percent. Without it such a limit is
 * none. */
void client_memory_set_maxmemory(int64_t (*maxmemory)(void));

/* The bytes that the client holds, exactly. O(1). */
size_t client_memory_of(const struct client *c);
/* The bytes of all normal and pubsub clients, closing clients included. O(1). */
size_t client_memory_normal(void);
/* The bytes of client_memory_normal() that closing clients will free by the turn's end, or shortly
 * after. O(1). */
size_t client_memory_leaving(void);

/* Must be called when a client's memory has changed. O(1); does nothing for a client that holds no
 * buffers. */
void client_memory_note(struct client *c);
/* Notes that a client's reply chunks take so many bytes more (fewer: negative) and nothing else has
 * changed. This is cheaper than client_memory_note, because a message to thousands of subscribers
 * adds a chunk to each and removes it again. */
void client_memory_note_chunks(struct client *c, ptrdiff_t bytes);
/* Disconnects the largest clients, except those with CLIENT NO-EVICT, until so many bytes will be
 * freed; returns how many will be. The order by size is exact to a factor of 2. Clients whose
 * buffers take less than 8 KiB stay, because closing them frees little, and an operator who could
 * raise the limit is among them. O(clients disconnected). */
size_t client_memory_disconnect_largest(size_t bytes_wanted);
/* Disconnects clients if maxmemory-clients is exceeded: the largest, and if that is not enough any,
 * except those with CLIENT NO-EVICT. O(1) if it is not exceeded, else O(clients disconnected);
 * O(clients) if all clients with buffers are not enough. */
void client_memory_enforce(void);

/* Called when the client is marked as closing: its present bytes count as leaving. */
void client_memory_mark(struct client *c);
/* Called when the client is closed and its bytes have been counted anew; it is freed later. */
void client_memory_leave(struct client *c);
/* Called when the only clients that are still marked hold so many bytes. */
void client_memory_marked_left(size_t bytes_staying);
/* Called when a closing client that is not freed yet has freed so many bytes. */
void client_memory_leave_less(size_t bytes);
/* Called when the closing clients have been freed, except for so many bytes. */
void client_memory_left(size_t bytes_staying);
/* Asserts the invariants; walks all clients. */
void client_memory_check(void);
#endif
