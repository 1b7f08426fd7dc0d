/* SPDX-License-Identifier: BSD-3-Clause
 * The limbo: what a running command retires is freed when the outermost call ends.
 *
 * An entry's address, and pointers into it, stay good for as long as the call that looked it up
 * runs, whatever it or a call nested in it does to the key: delete, expire, replace, rename, move.
 * Two parts make this true. Whoever takes an entry, or memory of one, out of the keyspace retires
 * it here instead of freeing it. And a nested call changes no value where it stands (limbo_nested):
 * it makes a copy, which costs O(value), and retires the old one. The outermost call's own changes
 * in place are its own to know; after a nested call it looks a key up again before it changes it.
 *
 * A call that holds no pointers need not let the limbo grow. Between two of its steps it may call
 * limbo_checkpoint (DEL of many keys). One that runs others and holds nothing meanwhile (EXEC, a
 * script) leaves before the first and enters again after the last, so that each is an outermost
 * one: nothing is copied, and what one retires is freed before the next.
 */
#ifndef EVENKEEL_STORE_LIMBO_H
#define EVENKEEL_STORE_LIMBO_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

/* A call begins, ends. Main thread only; as many leaves as enters. */
void limbo_enter(void);
void limbo_leave(void);
/* A turn within a call: other calls run, and are outermost ones. What was retired is freed: those
 * that run outside hold no pointer into any entry now. Returns what limbo_go_on is to be given. */
MUST_USE unsigned limbo_pause(void);
void limbo_go_on(unsigned paused);
/* A call runs: what is taken out must be retired. */
bool limbo_is_open(void);
/* A call runs within another. */
bool limbo_nested(void);
/* Calls `release(block)` when the outermost call ends, now where none runs. `bytes` count as free
 * from now on. */
void limbo_retire(void *block, size_t bytes, void (*release)(void *block));
/* Frees what is retired, where it has become much and no call is nested: the caller, the outermost
 * one, holds no pointer into any entry. */
void limbo_checkpoint(void);
/* Retired and not yet freed. O(1). */
size_t limbo_bytes(void);
#endif
