/* SPDX-License-Identifier: BSD-3-Clause
 * DEBUG's subcommands about the process. The table that names them stands in server/debug.
 *
 * SDSLEN and STRUCTSIZE ask for internals of 6.2. They answer in its form with our own figures: a
 * key and a short value are one allocation, so the value's own allocation is 0 bytes then.
 */
#include "server/debug_process.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/glob.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "net/client.h"
#include "net/reply.h"
#include "process/restart.h"
#include "server/cron.h"
#include "server/shutdown.h"
#include "store/entry.h"
#include "store/keyspace.h"

#define RESTART_FAILED "failed to restart the server. Check server logs."
#define MATCH_ROUNDS 20000
#define MATCH_BYTES_MAX 32

/* ---- the allocator ---- */

/* A value has 8, 4 or 1 bytes, and only the allocator knows how many: it refuses a wrong size with
 * EINVAL. */
void debug_mallctl(struct call *call) {
    static const size_t sizes[] = {sizeof(uint64_t), sizeof(uint32_t), sizeof(uint8_t)};
    int64_t new_value = 0;
    bool set = call->argc > 3;
    if (set && !argument_int64(call, 3, &new_value, NULL)) return;
    char *name = slice_dup_c_string(call->argv[2], MEMORY_OTHER);
    uint64_t old = 0;
    int error = EINVAL;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && error == EINVAL; i++) {
        size_t size = sizes[i];
        old = 0; /* little-endian: a smaller value fills the low bytes */
        error = memory_allocator_control(name, &old, &size, set ? &new_value : NULL,
                                         set ? sizes[i] : 0);
    }
    memory_free(name, MEMORY_OTHER);
    if (error)
        reply_error(call->client, strerror(error));
    else
        reply_integer(call->client, (int64_t)old);
}

/* Whether the pointer is an address: the name may be that of a number, which is none. */
static bool is_mapped(const char *address) {
    unsigned char state;
    uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;
    return page && mincore((void *)page, 1, &state) == 0;
}

void debug_mallctl_str(struct call *call) {
    char *name = slice_dup_c_string(call->argv[2], MEMORY_OTHER);
    char *text = call->argc > 3 ? slice_dup_c_string(call->argv[3], MEMORY_OTHER) : NULL;
    const char *old = NULL;
    size_t size = sizeof(old);
    int error = text && !strcasecmp(text, "void")
                    ? memory_allocator_control(name, NULL, NULL, NULL, 0)
                    : memory_allocator_control(name, &old, &size, text ? &text : NULL,
                                               text ? sizeof(text) : 0);
    if (error)
        reply_error(call->client, strerror(error));
    else if (!old)
        reply_ok(call->client);
    else if (is_mapped(old))
        reply_bulk_c_string(call->client, old);
    else
        reply_error(call->client, strerror(EINVAL));
    memory_free(name, MEMORY_OTHER);
    memory_free(text, MEMORY_OTHER);
}

/* Leaks a block that nothing points to, for trying leak checkers. */
void debug_leak(struct call *call) {
    volatile char *block = slice_dup_c_string(call->argv[2], MEMORY_OTHER);
    block[0] = 0;
    reply_ok(call->client);
}

/* ---- cron and restart ---- */

void debug_pause_cron(struct call *call) {
    int64_t on;
    if (!number_parse_int64(call->argv[2].bytes, call->argv[2].length, &on)) on = 0;
    cron_pause(on != 0);
    reply_ok(call->client);
}

/* How many milliseconds to wait first; 0 where none are given; -1 after an error reply. */
static int64_t argument_delay(struct call *call) {
    int64_t msec = 0;
    if (call->argc >= 3 && !argument_int64(call, 2, &msec, NULL)) return -1;
    return msec > 0 ? msec : 0;
}

void debug_restart(struct call *call) {
    int64_t msec = argument_delay(call);
    if (msec < 0) return;
    if (!restart_prepare(msec)) {
        reply_error(call->client, RESTART_FAILED);
        return;
    }
    shutdown_begin();
    client_close_later(call->client);
}

void debug_crash_and_recover(struct call *call) {
    int64_t msec = argument_delay(call);
    if (msec < 0) return;
    if (restart_is_possible()) restart_execute(msec);
    reply_error(call->client, RESTART_FAILED);
}

/* ---- insides ---- */

void debug_sdslen(struct call *call) {
    struct slice key = call->argv[2];
    const struct entry *e = call_find(call, 2);
    if (!e || e->type != ENTRY_STRING || e->encoding == STRING_INT) {
        reply_error(call->client, e ? "Not an sds encoded string." : "no such key");
        return;
    }
    char scratch[ENTRY_STRING_SCRATCH];
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_printf(&text,
                  "key_sds_len:%zu, key_sds_avail:0, key_zmalloc: %zu, val_sds_len:%zu, "
                  "val_sds_avail:0, val_zmalloc: %zu",
                  key.length, memory_usable_size(e), entry_string(e, scratch).length,
                  e->flags & ENTRY_BLOB ? memory_usable_size(entry_blob(e)) : 0);
    reply_status_slice(call->client, buffer_slice(&text));
    buffer_free(&text);
}

void debug_structsize(struct call *call) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_printf(&text, "bits:%zu entry:%zu blob:%zu slice:%zu buffer:%zu client:%zu call:%zu",
                  sizeof(void *) * 8, sizeof(struct entry), sizeof(struct blob),
                  sizeof(struct slice), sizeof(struct buffer), sizeof(struct client),
                  sizeof(struct call));
    reply_bulk(call->client, buffer_slice(&text));
    buffer_free(&text);
}

/* Matches random patterns of special characters against random texts of the same characters. */
void debug_stringmatch_test(struct call *call) {
    static const char letters[] = "*?[]^-\\ab";
    char pattern[MATCH_BYTES_MAX], text[MATCH_BYTES_MAX];
    for (int round = 0; round < MATCH_ROUNDS; round++) {
        size_t pattern_length = random_below(MATCH_BYTES_MAX + 1);
        size_t text_length = random_below(MATCH_BYTES_MAX + 1);
        for (size_t i = 0; i < pattern_length; i++)
            pattern[i] = letters[random_below(sizeof(letters) - 1)];
        for (size_t i = 0; i < text_length; i++)
            text[i] = letters[random_below(sizeof(letters) - 1)];
        glob_match((struct slice){pattern, pattern_length}, (struct slice){text, text_length},
                   round % 2 != 0);
    }
    reply_status(call->client, "Apparently Redis did not crash: test passed");
}
