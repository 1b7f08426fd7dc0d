/* SPDX-License-Identifier: BSD-3-Clause
 * Users' rules: each changes one property of a user; they apply in the order in which they are
 * given.
 *
 * Printing is the inverse: it gives rules that turn a new user into this one. Passwords, patterns
 * and subcommands are printed as they stand. The set of commands is printed as by 6.2, which uses a
 * greedy cover:
 *
 *  1. Print +@all or -@all, whichever the rules began with last. Some commands differ from it.
 *  2. While a category has more commands that differ than commands that do not: print the one with
 *     the fewest that do not (of several, the one with the most that do), and count its commands as
 *     not differing any more.
 *  3. Print each command that the printed categories have wrong by itself.
 *
 * Categories are bitmaps, made anew if rows were registered since the last use. So a rule about a
 * category and the search above cost some words each, not a walk over all commands.
 *
 * Invariants (acl_user_check)
 *  1. With ACL_USER_ALL_COMMANDS every bit is set.
 *  2. A user with ACL_USER_ALL_KEYS (ALL_CHANNELS, NOPASS) has no pattern (pattern, password).
 *  3. A subcommand is listed once, and only while its command's bit is clear.
 *  4. No name, pattern or subcommand holds a blank or a NUL byte, so that a line of a file is read
 *     as it was written.
 */
#include "access/acl_rules.h"

#include "base/glob.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "option/option.h"

#define CATEGORIES 21
#define HEX_BYTES (2 * SHA256_BYTES)

enum { CHANNELS_NONE, CHANNELS_ALL };

static int channels_of_new_user;
static uint64_t category_masks[CATEGORIES][ACL_COMMAND_WORDS];
static uint64_t ruled_mask[ACL_COMMAND_WORDS];
static size_t masked; /* command_count() when the masks were made */

static const struct option_name channels_names[] = {
    {"allchannels", CHANNELS_ALL}, {"resetchannels", CHANNELS_NONE}, {NULL, 0}};

static const struct option_row option_rows[] = {
    OPTION_ENUM("acl-pubsub-default", &channels_of_new_user, "allchannels", channels_names,
                OPTION_MUTABLE, "security", 230,
                "The channels that a new user may use, and one that is reset: all or none."),
};

void acl_rules_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- texts ---- */

static bool is_plain(struct slice text) {
    for (size_t i = 0; i < text.length; i++)
        if (!text.bytes[i] || isspace((unsigned char)text.bytes[i])) return false;
    return true;
}

bool acl_name_is_valid(struct slice name) { return is_plain(name); }

static struct slice slice_dup(struct slice text) {
    return (struct slice){slice_dup_c_string(text, MEMORY_OTHER), text.length};
}

static void slice_free(struct slice text) { memory_free((char *)text.bytes, MEMORY_OTHER); }

/* Room for one more element. */
static void *grow_items(void *items, size_t count, size_t *capacity, size_t element_bytes) {
    if (count < *capacity) return items;
    *capacity = *capacity ? *capacity * 2 : 4;
    return memory_realloc(items, *capacity * element_bytes, MEMORY_OTHER);
}

static bool names_hold(const struct acl_names *names, struct slice text) {
    for (size_t i = 0; i < names->count; i++)
        if (slice_equal(names->items[i], text)) return true;
    return false;
}

static void names_add(struct acl_names *names, struct slice text) {
    if (names_hold(names, text)) return;
    names->items =
        grow_items(names->items, names->count, &names->capacity, sizeof(names->items[0]));
    names->items[names->count++] = slice_dup(text);
}

static void names_clear(struct acl_names *names) {
    for (size_t i = 0; i < names->count; i++) slice_free(names->items[i]);
    memory_free(names->items, MEMORY_OTHER);
    *names = (struct acl_names){0};
}

static void names_copy(struct acl_names *to, const struct acl_names *from) {
    names_clear(to);
    if (!from->count) return;
    to->items = memory_alloc(from->count * sizeof(to->items[0]), MEMORY_OTHER);
    to->count = to->capacity = from->count;
    for (size_t i = 0; i < from->count; i++) to->items[i] = slice_dup(from->items[i]);
}

/* ---- passwords ---- */

static void password_digest(struct slice password, struct acl_password *out) {
    sha256_of(password, out->digest);
}

/* Compares every byte, so that the time does not depend on where they differ. */
static bool digests_equal(const struct acl_password *a, const struct acl_password *b) {
    volatile unsigned char difference = 0;
    for (size_t i = 0; i < SHA256_BYTES; i++) difference |= a->digest[i] ^ b->digest[i];
    return !difference;
}

/* The place of the password; passwords_count where the user does not have it. */
static size_t password_place(const struct acl_user *u, const struct acl_password *password) {
    size_t place = u->passwords_count;
    for (size_t i = 0; i < u->passwords_count; i++)
        if (digests_equal(&u->passwords[i], password)) place = i;
    return place;
}

static void password_add(struct acl_user *u, const struct acl_password *password) {
    u->flags &= ~(unsigned)ACL_USER_NOPASS;
    if (password_place(u, password) < u->passwords_count) return;
    u->passwords = grow_items(u->passwords, u->passwords_count, &u->passwords_capacity,
                              sizeof(u->passwords[0]));
    u->passwords[u->passwords_count++] = *password;
}

static enum acl_fault password_remove(struct acl_user *u, const struct acl_password *password) {
    size_t place = password_place(u, password);
    if (place == u->passwords_count) return ACL_RULE_NO_SUCH_PASSWORD;
    u->passwords_count--;
    memmove(&u->passwords[place], &u->passwords[place + 1],
            (u->passwords_count - place) * sizeof(u->passwords[0]));
    return ACL_RULE_TAKEN;
}

static void passwords_clear(struct acl_user *u) {
    memory_free(u->passwords, MEMORY_OTHER);
    u->passwords = NULL;
    u->passwords_count = u->passwords_capacity = 0;
}

static int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool digest_parse(struct slice hex, struct acl_password *out) {
    if (hex.length != HEX_BYTES) return false;
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        int high = hex_value(hex.bytes[2 * i]), low = hex_value(hex.bytes[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->digest[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

void acl_append_digest(const struct acl_password *password, struct buffer *out) {
    for (size_t i = 0; i < SHA256_BYTES; i++) buffer_printf(out, "%02x", password->digest[i]);
}

bool acl_user_has_password(const struct acl_user *u, struct slice password) {
    struct acl_password given;
    password_digest(password, &given);
    bool found = password_place(u, &given) < u->passwords_count;
    return found || u->flags & ACL_USER_NOPASS;
}

/* ---- commands and categories ---- */

bool acl_command_is_ruled(const struct command *command) {
    return !(command->flags & COMMAND_UNLISTED);
}

static void mask_set(uint64_t mask[ACL_COMMAND_WORDS], unsigned number, bool on) {
    uint64_t bit = UINT64_C(1) << number % 64;
    mask[number / 64] = on ? mask[number / 64] | bit : mask[number / 64] & ~bit;
}

static void masks_make(void) {
    if (masked == command_count()) return;
    memset(category_masks, 0, sizeof(category_masks));
    memset(ruled_mask, 0, sizeof(ruled_mask));
    masked = command_count();
    for (size_t i = 0; i < masked; i++) {
        const struct command *command = command_at(i);
        unsigned categories = command_categories(command);
        if (!acl_command_is_ruled(command)) continue;
        mask_set(ruled_mask, command->number, true);
        for (size_t c = 0; c < CATEGORIES; c++)
            if (categories >> c & 1) mask_set(category_masks[c], command->number, true);
    }
}

unsigned acl_category_at(size_t index) { return index < CATEGORIES ? 1u << index : 0; }

unsigned acl_category_find(struct slice name) {
    for (size_t i = 0; i < CATEGORIES; i++)
        if (slice_is(name, command_category_name(1u << i))) return 1u << i;
    return 0;
}

/* Finds a command by its row's name, because rules ignore rename-command. */
static const struct command *ruled_command(struct slice name) {
    const struct command *found = command_find(name);
    if (!found || !slice_is(name, found->name)) {
        found = NULL;
        for (size_t i = 0; i < command_count() && !found; i++)
            if (slice_is(name, command_at(i)->name)) found = command_at(i);
    }
    return found && acl_command_is_ruled(found) ? found : NULL;
}

static void subcommands_drop(struct acl_user *u, const uint64_t mask[ACL_COMMAND_WORDS]) {
    size_t kept = 0;
    for (size_t i = 0; i < u->subcommands_count; i++) {
        struct acl_subcommand s = u->subcommands[i];
        if (mask[s.command / 64] >> s.command % 64 & 1)
            slice_free(s.name);
        else
            u->subcommands[kept++] = s;
    }
    u->subcommands_count = kept;
}

static void commands_change(struct acl_user *u, const uint64_t mask[ACL_COMMAND_WORDS],
                            bool allow) {
    for (size_t i = 0; i < ACL_COMMAND_WORDS; i++)
        u->commands[i] = allow ? u->commands[i] | mask[i] : u->commands[i] & ~mask[i];
    if (!allow) u->flags &= ~(unsigned)ACL_USER_ALL_COMMANDS;
    subcommands_drop(u, mask);
}

static void all_commands(struct acl_user *u, bool allow) {
    const unsigned both = ACL_USER_ALL_COMMANDS | ACL_USER_FUTURE;
    uint64_t mask[ACL_COMMAND_WORDS];
    memset(mask, 0xff, sizeof(mask));
    commands_change(u, mask, allow);
    u->flags = allow ? u->flags | both : u->flags & ~both;
}

static enum acl_fault category_change(struct acl_user *u, struct slice name, bool allow) {
    unsigned category = acl_category_find(name);
    if (!category) return ACL_RULE_UNKNOWN_COMMAND;
    masks_make();
    commands_change(u, category_masks[__builtin_ctz(category)], allow);
    return ACL_RULE_TAKEN;
}

bool acl_user_has_subcommand(const struct acl_user *u, const struct command *command,
                             struct slice subcommand) {
    for (size_t i = 0; i < u->subcommands_count; i++) {
        const struct acl_subcommand *s = &u->subcommands[i];
        if (s->command == command->number && slice_equal_nocase(s->name, subcommand)) return true;
    }
    return false;
}

static enum acl_fault subcommand_add(struct acl_user *u, struct slice name, struct slice sub) {
    const struct command *command = ruled_command(name);
    if (!command) return ACL_RULE_UNKNOWN_COMMAND;
    if (!sub.length || !is_plain(sub)) return ACL_RULE_SYNTAX;
    if (acl_user_has_command(u, command) || acl_user_has_subcommand(u, command, sub))
        return ACL_RULE_TAKEN;
    u->subcommands = grow_items(u->subcommands, u->subcommands_count, &u->subcommands_capacity,
                                sizeof(u->subcommands[0]));
    u->subcommands[u->subcommands_count++] =
        (struct acl_subcommand){command->number, slice_dup(sub)};
    return ACL_RULE_TAKEN;
}

/* Applies the text behind + or -. */
static enum acl_fault command_change(struct acl_user *u, struct slice text, bool allow) {
    uint64_t mask[ACL_COMMAND_WORDS] = {0};
    if (text.length && text.bytes[0] == '@')
        return category_change(u, (struct slice){text.bytes + 1, text.length - 1}, allow);
    const char *bar = allow && text.length ? memchr(text.bytes, '|', text.length) : NULL;
    if (bar) {
        size_t length = (size_t)(bar - text.bytes);
        return subcommand_add(u, (struct slice){text.bytes, length},
                              (struct slice){bar + 1, text.length - length - 1});
    }
    const struct command *command = ruled_command(text);
    if (!command) return ACL_RULE_UNKNOWN_COMMAND;
    mask_set(mask, command->number, true);
    commands_change(u, mask, allow);
    return ACL_RULE_TAKEN;
}

/* ---- rules ---- */

static void rule_on(struct acl_user *u) { u->flags |= ACL_USER_ON; }
static void rule_off(struct acl_user *u) { u->flags &= ~(unsigned)ACL_USER_ON; }
static void rule_all_commands(struct acl_user *u) { all_commands(u, true); }
static void rule_no_commands(struct acl_user *u) { all_commands(u, false); }

static void rule_all_keys(struct acl_user *u) {
    u->flags |= ACL_USER_ALL_KEYS;
    names_clear(&u->keys);
}

static void rule_reset_keys(struct acl_user *u) {
    u->flags &= ~(unsigned)ACL_USER_ALL_KEYS;
    names_clear(&u->keys);
}

static void rule_all_channels(struct acl_user *u) {
    u->flags |= ACL_USER_ALL_CHANNELS;
    names_clear(&u->channels);
}

static void rule_reset_channels(struct acl_user *u) {
    u->flags &= ~(unsigned)ACL_USER_ALL_CHANNELS;
    names_clear(&u->channels);
}

static void rule_no_password(struct acl_user *u) {
    u->flags |= ACL_USER_NOPASS;
    passwords_clear(u);
}

static void rule_reset_passwords(struct acl_user *u) {
    u->flags &= ~(unsigned)ACL_USER_NOPASS;
    passwords_clear(u);
}

static void rule_sanitize(struct acl_user *u) {
    u->flags = (u->flags & ~(unsigned)ACL_USER_SKIP_SANITIZE) | ACL_USER_SANITIZE;
}

static void rule_skip_sanitize(struct acl_user *u) {
    u->flags = (u->flags & ~(unsigned)ACL_USER_SANITIZE) | ACL_USER_SKIP_SANITIZE;
}

static void channels_default(struct acl_user *u) {
    if (channels_of_new_user == CHANNELS_ALL)
        rule_all_channels(u);
    else
        rule_reset_channels(u);
}

static void rule_reset(struct acl_user *u) {
    rule_off(u);
    rule_reset_passwords(u);
    rule_reset_keys(u);
    channels_default(u);
    rule_sanitize(u);
    rule_no_commands(u);
}

static const struct {
    const char *rule;
    void (*apply)(struct acl_user *u);
} plain_rules[] = {
    {"on", rule_on},
    {"off", rule_off},
    {"+@all", rule_all_commands},
    {"allcommands", rule_all_commands},
    {"-@all", rule_no_commands},
    {"nocommands", rule_no_commands},
    {"~*", rule_all_keys},
    {"allkeys", rule_all_keys},
    {"resetkeys", rule_reset_keys},
    {"&*", rule_all_channels},
    {"allchannels", rule_all_channels},
    {"resetchannels", rule_reset_channels},
    {"nopass", rule_no_password},
    {"resetpass", rule_reset_passwords},
    {"sanitize-payload", rule_sanitize},
    {"skip-sanitize-payload", rule_skip_sanitize},
    {"reset", rule_reset},
};

static enum acl_fault pattern_add(struct acl_names *names, bool all, enum acl_fault after_all,
                                  struct slice pattern) {
    if (all) return after_all;
    if (!is_plain(pattern)) return ACL_RULE_SYNTAX;
    names_add(names, pattern);
    return ACL_RULE_TAKEN;
}

static enum acl_fault digest_rule(struct acl_user *u, struct slice hex, bool add) {
    struct acl_password password;
    if (!digest_parse(hex, &password)) return ACL_RULE_BAD_HASH;
    if (!add) return password_remove(u, &password);
    password_add(u, &password);
    return ACL_RULE_TAKEN;
}

static enum acl_fault password_rule(struct acl_user *u, struct slice text, bool add) {
    struct acl_password password;
    password_digest(text, &password);
    if (!add) return password_remove(u, &password);
    password_add(u, &password);
    return ACL_RULE_TAKEN;
}

enum acl_fault acl_user_apply(struct acl_user *u, struct slice rule) {
    if (!rule.length) return ACL_RULE_TAKEN;
    for (size_t i = 0; i < sizeof(plain_rules) / sizeof(plain_rules[0]); i++) {
        if (!slice_is(rule, plain_rules[i].rule)) continue;
        plain_rules[i].apply(u);
        return ACL_RULE_TAKEN;
    }
    struct slice rest = {rule.bytes + 1, rule.length - 1};
    switch (rule.bytes[0]) {
    case '>':
    case '<': return password_rule(u, rest, rule.bytes[0] == '>');
    case '#':
    case '!': return digest_rule(u, rest, rule.bytes[0] == '#');
    case '~':
        return pattern_add(&u->keys, u->flags & ACL_USER_ALL_KEYS, ACL_RULE_KEYS_AFTER_ALL, rest);
    case '&':
        return pattern_add(&u->channels, u->flags & ACL_USER_ALL_CHANNELS,
                           ACL_RULE_CHANNELS_AFTER_ALL, rest);
    case '+':
    case '-': return command_change(u, rest, rule.bytes[0] == '+');
    default: return ACL_RULE_SYNTAX;
    }
}

const char *acl_fault_text(enum acl_fault fault) {
    switch (fault) {
    case ACL_RULE_TAKEN: break;
    case ACL_RULE_SYNTAX: return "Syntax error";
    case ACL_RULE_UNKNOWN_COMMAND: return "Unknown command or category name in ACL";
    case ACL_RULE_KEYS_AFTER_ALL:
        return "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does "
               "not have any effect. Try 'resetkeys' to start with an empty list of patterns";
    case ACL_RULE_CHANNELS_AFTER_ALL:
        return "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and "
               "does not have any effect. Try 'resetchannels' to start with an empty list of "
               "channels";
    case ACL_RULE_NO_SUCH_PASSWORD:
        return "The password you are trying to remove from the user does not exist";
    case ACL_RULE_BAD_HASH:
        return "The password hash must be exactly 64 characters and contain only lowercase "
               "hexadecimal characters";
    }
    return "";
}

/* ---- users ---- */

struct acl_user *acl_user_create(struct slice name) {
    struct acl_user *u = memory_zalloc(sizeof(*u), MEMORY_OTHER);
    u->name = slice_dup(name);
    channels_default(u);
    return u;
}

void acl_user_free(struct acl_user *u) {
    uint64_t all[ACL_COMMAND_WORDS];
    memset(all, 0xff, sizeof(all));
    subcommands_drop(u, all);
    memory_free(u->subcommands, MEMORY_OTHER);
    passwords_clear(u);
    names_clear(&u->keys);
    names_clear(&u->channels);
    slice_free(u->name);
    memory_free_sized(u, sizeof(*u), MEMORY_OTHER);
}

static void subcommands_copy(struct acl_user *to, const struct acl_user *from) {
    size_t count = from->subcommands_count;
    memory_free(to->subcommands, MEMORY_OTHER);
    to->subcommands = NULL;
    to->subcommands_count = to->subcommands_capacity = count;
    if (!count) return;
    to->subcommands = memory_alloc(count * sizeof(to->subcommands[0]), MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) {
        struct acl_subcommand s = from->subcommands[i];
        to->subcommands[i] = (struct acl_subcommand){s.command, slice_dup(s.name)};
    }
}

void acl_user_assign(struct acl_user *to, const struct acl_user *from) {
    if (to == from) return;
    rule_no_commands(to); /* frees the subcommands' names */
    passwords_clear(to);
    to->flags = from->flags;
    memcpy(to->commands, from->commands, sizeof(to->commands));
    names_copy(&to->keys, &from->keys);
    names_copy(&to->channels, &from->channels);
    subcommands_copy(to, from);
    for (size_t i = 0; i < from->passwords_count; i++) password_add(to, &from->passwords[i]);
}

bool acl_user_may_key(const struct acl_user *u, struct slice key) {
    if (u->flags & ACL_USER_ALL_KEYS) return true;
    for (size_t i = 0; i < u->keys.count; i++)
        if (glob_match(u->keys.items[i], key, false)) return true;
    return false;
}

bool acl_user_may_channel(const struct acl_user *u, struct slice channel, bool is_pattern) {
    if (u->flags & ACL_USER_ALL_CHANNELS) return true;
    if (is_pattern) return names_hold(&u->channels, channel);
    for (size_t i = 0; i < u->channels.count; i++)
        if (glob_match(u->channels.items[i], channel, false)) return true;
    return false;
}

/* ---- printing ---- */

static size_t count_bits(const uint64_t a[ACL_COMMAND_WORDS], const uint64_t b[ACL_COMMAND_WORDS]) {
    size_t count = 0;
    for (size_t i = 0; i < ACL_COMMAND_WORDS; i++)
        count += (size_t)__builtin_popcountll(a[i] & b[i]);
    return count;
}

/* The category to be printed next, by rule 2 of the essay; -1: none. */
static int best_category(const uint64_t differing[ACL_COMMAND_WORDS]) {
    int best = -1;
    size_t best_hits = 0, best_misses = 0;
    for (int c = 0; c < CATEGORIES; c++) {
        size_t hits = count_bits(category_masks[c], differing);
        size_t misses = count_bits(category_masks[c], category_masks[c]) - hits;
        if (hits <= misses) continue;
        if (best >= 0 && (misses > best_misses || (misses == best_misses && hits <= best_hits)))
            continue;
        best = c;
        best_hits = hits;
        best_misses = misses;
    }
    return best;
}

static void append_subcommands(const struct acl_user *u, const struct command *command,
                               struct buffer *out) {
    for (size_t i = 0; i < u->subcommands_count; i++) {
        const struct acl_subcommand *s = &u->subcommands[i];
        if (s->command != command->number) continue;
        buffer_printf(out, " +%s|%.*s", command->name, (int)s->name.length, s->name.bytes);
    }
}

void acl_user_append_commands(const struct acl_user *u, struct buffer *out) {
    bool from_all = u->flags & ACL_USER_FUTURE;
    char sign = from_all ? '-' : '+';
    /* Bits of commands that differ from the beginning: in the user, not covered yet, and as
     * printed. */
    uint64_t wanted[ACL_COMMAND_WORDS], open[ACL_COMMAND_WORDS], printed[ACL_COMMAND_WORDS] = {0};
    masks_make();
    for (size_t i = 0; i < ACL_COMMAND_WORDS; i++)
        open[i] = wanted[i] = (from_all ? ~u->commands[i] : u->commands[i]) & ruled_mask[i];
    buffer_append_c_string(out, from_all ? "+@all" : "-@all");
    for (int c; (c = best_category(open)) >= 0;) {
        buffer_printf(out, " %c@%s", sign, command_category_name(1u << c));
        for (size_t i = 0; i < ACL_COMMAND_WORDS; i++) {
            open[i] &= ~category_masks[c][i];
            printed[i] |= category_masks[c][i];
        }
    }
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i);
        size_t word = command->number / 64, bit = command->number % 64;
        if ((wanted[word] ^ printed[word]) & ruled_mask[word] & UINT64_C(1) << bit)
            buffer_printf(out, " %c%s", acl_user_has_command(u, command) ? '+' : '-',
                          command->name);
        if (u->subcommands_count) append_subcommands(u, command, out);
    }
}

static const struct {
    unsigned flag;
    const char *name;
    bool in_rules; /* printed among the rules, too */
} shown_flags[] = {
    {ACL_USER_ALL_KEYS, "allkeys", false},
    {ACL_USER_ALL_CHANNELS, "allchannels", false},
    {ACL_USER_ALL_COMMANDS, "allcommands", false},
    {ACL_USER_NOPASS, "nopass", true},
    {ACL_USER_SKIP_SANITIZE, "skip-sanitize-payload", true},
    {ACL_USER_SANITIZE, "sanitize-payload", true},
};

size_t acl_user_each_flag(const struct acl_user *u, void (*visit)(const char *name, void *context),
                          void *context) {
    size_t count = 1;
    visit(u->flags & ACL_USER_ON ? "on" : "off", context);
    for (size_t i = 0; i < sizeof(shown_flags) / sizeof(shown_flags[0]); i++) {
        if (!(u->flags & shown_flags[i].flag)) continue;
        visit(shown_flags[i].name, context);
        count++;
    }
    return count;
}

static void append_names(const struct acl_names *names, char sign, struct buffer *out) {
    for (size_t i = 0; i < names->count; i++) {
        buffer_append_char(out, sign);
        buffer_append(out, names->items[i].bytes, names->items[i].length);
        buffer_append_char(out, ' ');
    }
}

void acl_user_append_rules(const struct acl_user *u, struct buffer *out) {
    buffer_append_c_string(out, u->flags & ACL_USER_ON ? "on " : "off ");
    for (size_t i = 0; i < sizeof(shown_flags) / sizeof(shown_flags[0]); i++)
        if (shown_flags[i].in_rules && u->flags & shown_flags[i].flag)
            buffer_printf(out, "%s ", shown_flags[i].name);
    for (size_t i = 0; i < u->passwords_count; i++) {
        buffer_append_char(out, '#');
        acl_append_digest(&u->passwords[i], out);
        buffer_append_char(out, ' ');
    }
    if (u->flags & ACL_USER_ALL_KEYS) buffer_append_c_string(out, "~* ");
    append_names(&u->keys, '~', out);
    buffer_append_c_string(out, u->flags & ACL_USER_ALL_CHANNELS ? "&* " : "resetchannels ");
    append_names(&u->channels, '&', out);
    acl_user_append_commands(u, out);
}

/* ---- checks ---- */

void acl_user_check(const struct acl_user *u) {
    for (size_t i = 0; u->flags & ACL_USER_ALL_COMMANDS && i < ACL_COMMAND_WORDS; i++)
        ASSERT(u->commands[i] == UINT64_MAX);
    ASSERT(!(u->flags & ACL_USER_ALL_KEYS) || !u->keys.count);
    ASSERT(!(u->flags & ACL_USER_ALL_CHANNELS) || !u->channels.count);
    ASSERT(!(u->flags & ACL_USER_NOPASS) || !u->passwords_count);
    ASSERT(!(u->flags & ACL_USER_SANITIZE) || !(u->flags & ACL_USER_SKIP_SANITIZE));
    ASSERT(is_plain(u->name));
    for (size_t i = 0; i < u->keys.count; i++) ASSERT(is_plain(u->keys.items[i]));
    for (size_t i = 0; i < u->channels.count; i++) ASSERT(is_plain(u->channels.items[i]));
    for (size_t i = 0; i < u->subcommands_count; i++) {
        const struct acl_subcommand *s = &u->subcommands[i];
        ASSERT(!(u->commands[s->command / 64] >> s->command % 64 & 1));
        ASSERT(s->name.length && is_plain(s->name));
        for (size_t other = 0; other < i; other++)
            ASSERT(u->subcommands[other].command != s->command ||
                   !slice_equal_nocase(u->subcommands[other].name, s->name));
    }
}
