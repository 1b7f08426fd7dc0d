/* SPDX-License-Identifier: BSD-3-Clause
 * The limbo: memory that a running command retires is freed when the outermost call ends.
 *
 * An entry's address, and pointers into it, stay valid while the call that looked it up runs,
 * whatever this call or a call nested in it does to the key: delete, expire, replace, rename, move.
 * Two rules make this true. Code that takes an entry, or memory of an entry, out of the keyspace
 * retires it here instead of freeing it. And a nested call changes no value in place
 * (limbo_nested): it makes a copy, which costs O(value), and retires the old value. An outermost
 * call may change values in place; after a nested call it looks a key up again before it changes
 * it.
 *
 * A call that holds no pointers need not let the limbo grow. Between two of its steps it may call
 * limbo_checkpoint (DEL of many keys). A call that runs other calls and holds no pointers meanwhile
 * (EXEC, a script) leaves before the first of them and enters again after the last, so that each of
 * them is an outermost call: nothing is copied, and what a call retires is freed before the next
 * call.
 */
#ifndef EVENKEEL_STORE_LIMBO_H
#define EVENKEEL_STORE_LIMBO_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct cause;

/* The cause of time in which the main thread frees (metric/cause.h); registered by
 * lazyfree_register. */
extern struct cause freeing_cause;

/* To be called when a call begins and ends. Main thread only; as many leaves as enters. */
void limbo_enter(void);
void limbo_leave(void);
/* Enclose a nested turn, in which other calls run as outermost calls. limbo_pause frees what was
 * retired, so the calls that are running must hold no pointer into any entry. Its result is passed
 * to limbo_go_on. */
MUST_USE unsigned limbo_pause(void);
void limbo_go_on(unsigned paused);
/* Returns true while a call runs: entries that are taken out must be retired. */
bool limbo_is_open(void);
/* Returns true while a call runs within another. */
bool limbo_nested(void);
/* Calls `release(block)` when the outermost call ends, or at once where no call runs. `bytes` count
 * as free from now on. */
void limbo_retire(void *block, size_t bytes, void (*release)(void *block));
/* Frees what was retired, if that has become much and no call is nested. The caller, the outermost
 * call, must hold no pointer into any entry. */
void limbo_checkpoint(void);
/* Bytes that are retired and not freed yet. O(1). */
size_t limbo_bytes(void);
#endif
