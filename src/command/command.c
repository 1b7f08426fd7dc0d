/* SPDX-License-Identifier: BSD-3-Clause
 * The command table: rows by name.
 *
 * An open-addressed table of pointers to rows, at most half full, filled at start and by
 * rename-command before the server listens, and made anew where rows are withdrawn; a lookup is one
 * pass over the name and, nearly always, one comparison. Clients cannot attack the hash by choosing
 * names, because the table holds only our own.
 */
#include "command/command.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/panic.h"
#include "net/batch.h"

#define SLOT_BITS 11
#define SLOTS (1 << SLOT_BITS)
/* The longest name of a command, because no line of the configuration is longer; longer words are
 * not looked up. */
#define NAME_BYTES_MAX 65536

/* A name's first eight bytes, lower case and padded with zeros, stand beside the row, so that most
 * names are compared as one number. */
struct slot {
    uint64_t word;
    struct command *row; /* NULL = empty */
    size_t length;
};

static struct slot slots[SLOTS];
_Static_assert(SLOTS >= 2 * COMMANDS_MAX, "lookups are short where at most half is taken");
static struct command *all[COMMANDS_MAX];
static const struct command_form *mode_forms;
static size_t count;

struct bit_name {
    unsigned bit;
    const char *name;
};

static const struct bit_name flag_names[] = {
    {COMMAND_WRITE, "write"},
    {COMMAND_READONLY, "readonly"},
    {COMMAND_DENYOOM, "denyoom"},
    {COMMAND_ADMIN, "admin"},
    {COMMAND_PUBSUB, "pubsub"},
    {COMMAND_NOSCRIPT, "noscript"},
    {COMMAND_RANDOM, "random"},
    {COMMAND_SORT_FOR_SCRIPT, "sort_for_script"},
    {COMMAND_LOADING, "loading"},
    {COMMAND_STALE, "stale"},
    {COMMAND_SKIP_MONITOR, "skip_monitor"},
    {COMMAND_SKIP_SLOWLOG, "skip_slowlog"},
    {COMMAND_ASKING, "asking"},
    {COMMAND_FAST, "fast"},
    {COMMAND_NO_AUTH, "no_auth"},
    {COMMAND_MAY_REPLICATE, "may_replicate"},
    {COMMAND_MOVABLE_KEYS, "movablekeys"},
};

static const struct bit_name category_names[] = {
    {ACL_KEYSPACE, "keyspace"},
    {ACL_READ, "read"},
    {ACL_WRITE, "write"},
    {ACL_SET, "set"},
    {ACL_SORTEDSET, "sortedset"},
    {ACL_LIST, "list"},
    {ACL_HASH, "hash"},
    {ACL_STRING, "string"},
    {ACL_BITMAP, "bitmap"},
    {ACL_HYPERLOGLOG, "hyperloglog"},
    {ACL_GEO, "geo"},
    {ACL_STREAM, "stream"},
    {ACL_PUBSUB, "pubsub"},
    {ACL_ADMIN, "admin"},
    {ACL_FAST, "fast"},
    {ACL_SLOW, "slow"},
    {ACL_BLOCKING, "blocking"},
    {ACL_DANGEROUS, "dangerous"},
    {ACL_CONNECTION, "connection"},
    {ACL_TRANSACTION, "transaction"},
    {ACL_SCRIPTING, "scripting"},
};

static inline unsigned char lower_letter(char c) {
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* Loads up to eight bytes in memory order, padded with zeros, by two loads that may overlap. */
static inline uint64_t load_word(const char *bytes, size_t length) {
    if (length >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        return word;
    }
    if (length >= 4) {
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + length - 4, 4);
        return low | (uint64_t)high << (8 * (length - 4));
    }
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++) word |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    return word;
}

/* ASCII letters to lower case, eight bytes at once: bit 7 of `upper` is set in each byte that is
 * between 'A' and 'Z'. */
static inline uint64_t lower_word(uint64_t word) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t low7 = word & 0x7f * ones;
    uint64_t upper = (low7 + (0x80 - 'A') * ones) & ~(low7 + (0x80 - 'Z' - 1) * ones) & ~word;
    return word | (upper & 0x80 * ones) >> 2;
}

static inline size_t word_slot(uint64_t word, size_t length) {
    /* The upper bits of a product by the golden ratio depend on all bits of the word. */
    return ((word + length) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SLOT_BITS);
}

static bool rest_fits(const char *called, struct slice name) {
    for (size_t i = 8; i < name.length; i++)
        if (lower_letter(called[i]) != lower_letter(name.bytes[i])) return false;
    return true;
}

static void table_put(struct command *row) {
    size_t length = strlen(row->called);
    uint64_t word = lower_word(load_word(row->called, length));
    size_t i = word_slot(word, length);
    while (slots[i].row) i = (i + 1) % SLOTS;
    slots[i] = (struct slot){word, row, length};
}

static void table_rebuild(void) {
    memset(slots, 0, sizeof(slots));
    for (size_t i = 0; i < count; i++)
        if (all[i]->called) table_put(all[i]);
}

/* Removes the rows from number `first` on. */
static void forget_from(size_t first) {
    count = first;
    table_rebuild();
}

/* Gives the row the form that the mode has of it. False where the mode does not have the command.
 */
static bool take_form(struct command *row) {
    const struct command_form *form = mode_forms;
    if (!form) return true;
    while (form->name && strcmp(form->name, row->name) != 0) form++;
    if (!form->name) return false;
    if (form->handler) row->handler = form->handler;
    row->arity = form->arity;
    row->flags = form->flags;
    row->categories = form->categories;
    return true;
}

void command_set_forms(const struct command_form *forms) { mode_forms = forms; }

bool command_try_register(struct command *rows, size_t rows_count) {
    size_t first = count;
    if (rows_count > COMMANDS_MAX - count) return false;
    for (size_t i = 0; i < rows_count; i++) {
        struct command *row = &rows[i];
        if (!take_form(row)) continue;
        if (strlen(row->name) > NAME_BYTES_MAX || command_find(slice_of(row->name))) {
            forget_from(first);
            return false;
        }
        row->called = row->name;
        row->number = (unsigned)count;
        row->has_one_key = row->first_key && row->first_key == row->last_key && !row->keys;
        all[count++] = row;
        table_put(row);
    }
    return true;
}

void command_refused(const struct command *rows) {
    PANIC(
        "the rows of commands that begin with '%s' are refused: a name is taken, or "
        "there is no room",
        rows->name);
}

struct command *command_find(struct slice name) {
    if (name.length > NAME_BYTES_MAX) return NULL;
    uint64_t word = lower_word(load_word(name.bytes, name.length));
    for (size_t i = word_slot(word, name.length); slots[i].row; i = (i + 1) % SLOTS) {
        if (slots[i].word == word && slots[i].length == name.length &&
            rest_fits(slots[i].row->called, name))
            return slots[i].row;
    }
    return NULL;
}

/* ---- rename-command ---- */

/* The new name is kept for the life of the process, as the row is, or until the row is withdrawn.
 */
static void set_called(struct command *row, const char *name) {
    if (row->called != row->name) memory_free((char *)row->called, MEMORY_OTHER);
    row->called = name;
}

bool command_rename(struct slice name, struct slice new_name) {
    struct command *row = command_find(name), *row_there = command_find(new_name);
    if (!row || new_name.length > NAME_BYTES_MAX || (row_there && row_there != row)) return false;
    set_called(row, new_name.length ? slice_dup_c_string(new_name, MEMORY_OTHER) : NULL);
    table_rebuild();
    return true;
}

/* ---- while the server runs ---- */

void command_withdraw(struct command *rows, size_t rows_count) {
    for (size_t i = 0; i < rows_count; i++) {
        ASSERT(all[rows[i].number] == &rows[i]);
        set_called(&rows[i], NULL);
    }
    table_rebuild();
}

bool command_readmit(struct command *rows, size_t rows_count) {
    for (size_t i = 0; i < rows_count; i++) {
        ASSERT(all[rows[i].number] == &rows[i] && !rows[i].called);
        if (command_find(slice_of(rows[i].name))) return false;
    }
    for (size_t i = 0; i < rows_count; i++) rows[i].called = rows[i].name;
    table_rebuild();
    return true;
}

/* ---- what rows say ---- */

size_t command_count(void) { return count; }
struct command *command_at(size_t index) {
    return all[index];
}

unsigned command_categories(const struct command *command) {
    unsigned flags = command->flags, c = command->categories;
    if (flags & COMMAND_WRITE) c |= ACL_WRITE;
    if (flags & COMMAND_READONLY && !(c & ACL_SCRIPTING)) c |= ACL_READ;
    if (flags & COMMAND_ADMIN) c |= ACL_ADMIN | ACL_DANGEROUS;
    if (flags & COMMAND_PUBSUB) c |= ACL_PUBSUB;
    return c | (flags & COMMAND_FAST ? ACL_FAST : ACL_SLOW);
}

const char *command_flag_name(unsigned flag) {
    for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
        if (flag_names[i].bit == flag) return flag_names[i].name;
    return NULL;
}

const char *command_category_name(unsigned category) {
    for (size_t i = 0; i < sizeof(category_names) / sizeof(category_names[0]); i++)
        if (category_names[i].bit == category) return category_names[i].name;
    return NULL;
}

bool command_arity_fits(const struct command *command, int argc) {
    return command->arity >= 0 ? argc == command->arity : argc >= -command->arity;
}

void command_reset_stats(void) {
    for (size_t i = 0; i < count; i++)
        all[i]->calls = all[i]->nsec = all[i]->rejected_calls = all[i]->failed_calls = 0;
}
