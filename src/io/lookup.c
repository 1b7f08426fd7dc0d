/* SPDX-License-Identifier: BSD-3-Clause
 * A queue of names, and threads that come and go with it.
 *
 * Invariants, under the lock:
 *  1. A lookup is WAITING and in the queue, or ASKED by exactly one thread, or DONE, or DROPPED
 *     while it is asked. A WAITING or DONE lookup is freed by its owner, who drops or takes it; a
 *     DROPPED one is freed by the thread that asked the resolver. So each is freed once.
 *  2. `threads` threads run, at most LOOKUP_THREADS_MAX. A thread ends, under the lock, only if the
 *     queue is empty; so a queue that is not empty has a thread.
 *  3. The thread writes to the descriptor under the lock, before the owner can free the lookup.
 */
#include "io/lookup.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/affinity.h"
#include "io/signals.h"

#define REASON_CHARS 128

enum lookup_state { LOOKUP_WAITING, LOOKUP_ASKED, LOOKUP_DONE, LOOKUP_DROPPED };

struct lookup {
    struct list_link link; /* in `queue` */
    enum lookup_state state;
    int fd;
    bool found;
    char address[SOCKET_ADDRESS_CHARS];
    char reason[REASON_CHARS];
    char name[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct list_link queue = {&queue, &queue};
static unsigned threads;
static bool forked; /* we are a child: the parent's threads are not here */

static void lookup_lock(void) { ASSERT(pthread_mutex_lock(&mutex) == 0); }
static void lookup_unlock(void) { ASSERT(pthread_mutex_unlock(&mutex) == 0); }

static void free_lookup(struct lookup *l) {
    system_close(l->fd);
    memory_free(l, MEMORY_OTHER);
}

/* Answers one lookup. The caller holds the lock, which is released while the resolver is asked. */
static void lookup_answer(struct lookup *l) {
    l->state = LOOKUP_ASKED;
    lookup_unlock();
    l->found = socket_find_address(l->name, l->address, l->reason, sizeof(l->reason));
    lookup_lock();
    if (l->state == LOOKUP_DROPPED) {
        free_lookup(l);
        return;
    }
    l->state = LOOKUP_DONE;
    ASSERT(eventfd_write(l->fd, 1) == 0); /* a count of 0 always takes 1 */
}

static void *lookup_thread_main(void *unused) {
    signals_thread_start();
    affinity_apply(&affinity_background);
    lookup_lock();
    while (!list_is_empty(&queue)) {
        struct lookup *l = LIST_ENTRY(queue.next, struct lookup, link);
        list_remove(&l->link);
        lookup_answer(l);
        memory_publish();
    }
    threads--;
    lookup_unlock();
    signals_thread_end();
    return NULL;
}

/* Starts one more thread. The caller holds the lock. Returns false if the system refuses it. */
static bool start_thread(void) {
    pthread_t thread;
    if (forked || pthread_create(&thread, NULL, lookup_thread_main, NULL) != 0) return false;
    pthread_setname_np(thread, "lookup");
    pthread_detach(thread);
    threads++;
    return true;
}

struct lookup *lookup_begin(const char *name, char *reason, size_t reason_size) {
    size_t length = strlen(name);
    struct lookup *l = memory_zalloc(sizeof(*l) + length + 1, MEMORY_OTHER);
    memcpy(l->name, name, length + 1);
    l->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->fd < 0) {
        snprintf(reason, reason_size, "eventfd: %s", strerror(errno));
        memory_free(l, MEMORY_OTHER);
        return NULL;
    }
    lookup_lock();
    list_append(&queue, &l->link);
    if (threads < LOOKUP_THREADS_MAX && !start_thread() && threads == 0) {
        list_remove(&l->link);
        lookup_answer(l);
    }
    lookup_unlock();
    return l;
}

int lookup_fd(const struct lookup *l) { return l->fd; }

bool lookup_take(struct lookup *l, char address[SOCKET_ADDRESS_CHARS], char *reason,
                 size_t reason_size) {
    lookup_lock();
    ASSERT(l->state == LOOKUP_DONE);
    lookup_unlock();
    bool found = l->found;
    if (found)
        memcpy(address, l->address, SOCKET_ADDRESS_CHARS);
    else
        snprintf(reason, reason_size, "%s", l->reason);
    free_lookup(l);
    return found;
}

void lookup_drop(struct lookup *l) {
    if (!l) return;
    lookup_lock();
    if (l->state == LOOKUP_WAITING) list_remove(&l->link);
    if (l->state == LOOKUP_ASKED)
        l->state = LOOKUP_DROPPED;
    else
        free_lookup(l);
    lookup_unlock();
}

/* The child frees no lookup, because all of them are the parent's. */
void lookup_in_child(void) {
    forked = true;
    threads = 0;
    list_init(&queue);
    pthread_mutex_init(&mutex, NULL);
}
