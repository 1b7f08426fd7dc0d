/* SPDX-License-Identifier: BSD-3-Clause
 * The directives. directives.h has the idea.
 *
 * Invariants
 *  1. A rewritten file has, in this order: the settings that stand before the primaries, of each
 *     primary its properties in the order of their table, the settings that stand behind.
 *  2. A word in a file that has blanks, quotes or bytes that cannot be printed is quoted, so that
 *     no value can become a line of its own.
 */
#include "sentinel/directives.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "option/option.h"
#include "sentinel/failover.h"
#include "sentinel/foreign_text.h"
#include "sentinel/judge.h"
#include "sentinel/watch_link.h"
#include "sentinel/watched.h"

#define FAMILY "sentinel"
#define UNRECOGNIZED "Unrecognized sentinel configuration statement."
#define NO_PRIMARY "No such master with specified name."
#define NOT_POSITIVE "negative or zero time parameter."
#define RENAMED_MAX 256        /* commands of a primary: 6.2 has 224 */
#define RENAMED_BYTES_MAX 1024 /* a line of the file must hold the command and its name, quoted */
#define PATH_BYTES_MAX 4096
#define PARALLEL_SYNCS_MAX                                                \
    1000000 /* the rules add it up; more than replicas can be is the same \
             */
#define VALUES_MAX 4

enum property_flags {
    IN_FILE = 1 << 0,
    BY_SET = 1 << 1,
    NUMBER = 1 << 2,
    SECRET = 1 << 3,
    SCRIPT = 1 << 4,
    RECONNECTS = 1 << 5, /* a change is used by connections that begin */
};

struct sentinel_property {
    const char *name;
    unsigned flags;
    int values;
    const char *words; /* as documents show them */
    /* Returns false, with nothing changed, if the values are refused. */
    bool (*set)(struct primary *p, const struct slice *values);
    /* Appends the lines of a file; NULL: none. */
    void (*rewrite)(const struct primary *p, struct buffer *out);
    const char *refusal;     /* of a file's line; NULL: UNRECOGNIZED */
    const char *set_refusal; /* of SENTINEL SET; NULL: "Invalid argument" */
    const char *help;
};

struct sentinel_setting {
    const char *name;
    const char *words;
    bool by_config; /* SENTINEL CONFIG has it */
    bool behind;    /* stands behind the primaries in a file */
    bool secret;
    bool (*set)(struct slice value);
    void (*print)(struct buffer *out);
    bool (*is_written)(void);
    const char *refusal;
    const char *help;
};

/* ---- words of lines ---- */

static bool is_plain(struct slice word) {
    for (size_t i = 0; i < word.length; i++) {
        unsigned char c = (unsigned char)word.bytes[i];
        if (c <= ' ' || c >= 127 || c == '"' || c == '\'' || c == '\\') return false;
    }
    return word.length > 0;
}

static void append_word(struct buffer *out, struct slice word) {
    buffer_append_char(out, ' ');
    if (is_plain(word))
        buffer_append(out, word.bytes, word.length);
    else
        buffer_append_quoted(out, word);
}

static void begin_line(struct buffer *out, const char *directive) {
    buffer_printf(out, FAMILY " %s", directive);
}

static void begin_primary_line(struct buffer *out, const char *directive, const struct primary *p) {
    begin_line(out, directive);
    append_word(out, slice_of(p->instance.name));
}

static void append_address(struct buffer *out, const struct sentinel_address *a) {
    append_word(out, slice_of(sentinel_address_shown(a)));
    buffer_printf(out, " %d", a->port);
}

/* The number at the beginning of a word, cut to `high`; what follows it is ignored, as in 6.2. */
static uint64_t leading_number(struct slice word, uint64_t high) {
    uint64_t value = 0;
    for (size_t i = 0; i < word.length && isdigit((unsigned char)word.bytes[i]); i++) {
        uint64_t digit = (uint64_t)(word.bytes[i] - '0');
        if (value > (high - digit) / 10) return high;
        value = value * 10 + digit;
    }
    return value;
}

static bool parse_yes(struct slice value, bool *yes) {
    *yes = slice_is(value, "yes");
    return *yes || slice_is(value, "no");
}

/* Replaces an owned text; an empty one is none. */
static void replace_text(char **text, struct slice value) {
    memory_free(*text, MEMORY_OTHER);
    *text = value.length ? slice_dup_c_string(value, MEMORY_OTHER) : NULL;
}

static bool has_nul(struct slice value) {
    return value.length && memchr(value.bytes, '\0', value.length) != NULL;
}

/* ---- properties ---- */

static bool set_msec(int64_t *msec, struct slice value) {
    int64_t wanted = (int64_t)leading_number(value, (uint64_t)SENTINEL_LIMIT_MSEC_MAX);
    if (wanted <= 0) return false;
    *msec = wanted;
    return true;
}

static bool set_down_after(struct primary *p, const struct slice *values) {
    return set_msec(&p->down_after_msec, values[0]);
}

static bool set_failover_timeout(struct primary *p, const struct slice *values) {
    return set_msec(&p->failover_timeout_msec, values[0]);
}

static bool set_parallel_syncs(struct primary *p, const struct slice *values) {
    int wanted = (int)leading_number(values[0], PARALLEL_SYNCS_MAX);
    if (wanted <= 0) return false;
    p->parallel_syncs = wanted;
    return true;
}

static bool set_quorum(struct primary *p, const struct slice *values) {
    int wanted = (int)leading_number(values[0], INT32_MAX);
    if (wanted <= 0) return false;
    p->quorum = wanted;
    return true;
}

static bool may_run(struct slice path) {
    char text[PATH_BYTES_MAX];
    if (path.length == 0) return true; /* none */
    if (path.length >= sizeof(text) || has_nul(path)) return false;
    snprintf(text, sizeof(text), "%.*s", (int)path.length, path.bytes);
    return access(text, X_OK) == 0;
}

static bool set_script(char **script, struct slice path) {
    if (!may_run(path)) return false;
    replace_text(script, path);
    return true;
}

static bool set_notification_script(struct primary *p, const struct slice *values) {
    return set_script(&p->notification_script, values[0]);
}

static bool set_reconfig_script(struct primary *p, const struct slice *values) {
    return set_script(&p->reconfig_script, values[0]);
}

static bool set_auth_pass(struct primary *p, const struct slice *values) {
    if (values[0].length > OPTION_ANY_BYTES_MAX) return false;
    buffer_clear(&p->auth_pass);
    buffer_append(&p->auth_pass, values[0].bytes, values[0].length);
    return true;
}

static bool set_auth_user(struct primary *p, const struct slice *values) {
    if (values[0].length > OPTION_ANY_BYTES_MAX || has_nul(values[0])) return false;
    replace_text(&p->auth_user, values[0]);
    return true;
}

static bool set_config_epoch(struct primary *p, const struct slice *values) {
    p->config_epoch = leading_number(values[0], SENTINEL_EPOCH_MAX);
    if (p->config_epoch > sentinel_settings()->epoch)
        sentinel_settings_change()->epoch = p->config_epoch;
    return true;
}

static bool set_leader_epoch(struct primary *p, const struct slice *values) {
    p->leader_epoch = leading_number(values[0], SENTINEL_EPOCH_MAX);
    return true;
}

/* A line that stands twice is passed over, as when known-slave lines of an older version stand
 * beside those that were written since. */
static bool set_known_replica(struct primary *p, const struct slice *values) {
    int port = (int)leading_number(values[1], SENTINEL_PORT_MAX + 1);
    return sentinel_add_replica(p, values[0], port) || sentinel_find_replica(p, values[0], port);
}

static bool set_known_voter(struct primary *p, const struct slice *values) {
    int port = (int)leading_number(values[1], SENTINEL_PORT_MAX + 1);
    if (!sentinel_foreign_is_id(values[2])) return false;
    return sentinel_add_voter(p, values[0], port, values[2]) || sentinel_find_voter(p, values[2]) ||
           sentinel_find_voter_at(p, values[0], port);
}

static struct renamed_command *find_renamed(const struct primary *p, struct slice command) {
    for (size_t k = 0; k < p->renamed_count; k++)
        if (slice_is(command, p->renamed[k].command)) return &p->renamed[k];
    return NULL;
}

static void drop_renamed(struct primary *p, struct renamed_command *r) {
    memory_free(r->command, MEMORY_OTHER);
    memory_free(r->name, MEMORY_OTHER);
    *r = p->renamed[--p->renamed_count];
}

static void add_renamed(struct primary *p, struct slice command, struct slice name) {
    p->renamed =
        memory_realloc(p->renamed, (p->renamed_count + 1) * sizeof(*p->renamed), MEMORY_OTHER);
    p->renamed[p->renamed_count++] =
        (struct renamed_command){.command = slice_dup_c_string(command, MEMORY_OTHER),
                                 .name = slice_dup_c_string(name, MEMORY_OTHER)};
}

/* By SENTINEL SET: a further name replaces the former one, and the command's own name undoes it. */
static bool set_renamed(struct primary *p, const struct slice *values) {
    struct slice command = values[0], name = values[1];
    if (!command.length || !name.length || has_nul(command) || has_nul(name)) return false;
    if (command.length > RENAMED_BYTES_MAX || name.length > RENAMED_BYTES_MAX) return false;
    if (p->renamed_count == RENAMED_MAX && !find_renamed(p, command)) return false;
    struct renamed_command *former = find_renamed(p, command);
    if (former) drop_renamed(p, former);
    if (!slice_equal_nocase(command, name)) add_renamed(p, command, name);
    return true;
}

/* By a file. */
static bool set_renamed_once(struct primary *p, const struct slice *values) {
    return !find_renamed(p, values[0]) && set_renamed(p, values);
}

static void write_down_after(const struct primary *p, struct buffer *out) {
    if (p->down_after_msec == SENTINEL_DOWN_AFTER_MSEC) return;
    begin_primary_line(out, "down-after-milliseconds", p);
    buffer_printf(out, " %" PRId64 "\n", p->down_after_msec);
}

static void write_failover_timeout(const struct primary *p, struct buffer *out) {
    if (p->failover_timeout_msec == SENTINEL_FAILOVER_TIMEOUT_MSEC) return;
    begin_primary_line(out, "failover-timeout", p);
    buffer_printf(out, " %" PRId64 "\n", p->failover_timeout_msec);
}

static void write_parallel_syncs(const struct primary *p, struct buffer *out) {
    if (p->parallel_syncs == SENTINEL_PARALLEL_SYNCS) return;
    begin_primary_line(out, "parallel-syncs", p);
    buffer_printf(out, " %d\n", p->parallel_syncs);
}

static void write_text(const struct primary *p, const char *directive, struct slice text,
                       struct buffer *out) {
    if (!text.length) return;
    begin_primary_line(out, directive, p);
    append_word(out, text);
    buffer_append_char(out, '\n');
}

static struct slice text_of(const char *text) { return text ? slice_of(text) : SLICE(""); }

static void write_notification(const struct primary *p, struct buffer *out) {
    write_text(p, "notification-script", text_of(p->notification_script), out);
}
static void write_reconfig(const struct primary *p, struct buffer *out) {
    write_text(p, "client-reconfig-script", text_of(p->reconfig_script), out);
}
static void write_auth_pass(const struct primary *p, struct buffer *out) {
    write_text(p, "auth-pass", buffer_slice(&p->auth_pass), out);
}
static void write_auth_user(const struct primary *p, struct buffer *out) {
    write_text(p, "auth-user", text_of(p->auth_user), out);
}

static void write_config_epoch(const struct primary *p, struct buffer *out) {
    begin_primary_line(out, "config-epoch", p);
    buffer_printf(out, " %" PRIu64 "\n", p->config_epoch);
}

static void write_leader_epoch(const struct primary *p, struct buffer *out) {
    begin_primary_line(out, "leader-epoch", p);
    buffer_printf(out, " %" PRIu64 "\n", p->leader_epoch);
}

/* While the promoted replica stands in the line `monitor`, the old primary stands in its place. */
static void write_replicas(const struct primary *p, struct buffer *out) {
    const struct sentinel_address *current = sentinel_failover_address(p);
    LIST_FOR_EACH (link, next, &p->replicas) {
        const struct sentinel_address *a = &replica_at(link)->instance.address;
        begin_primary_line(out, "known-replica", p);
        append_address(out, a == current ? &p->instance.address : a);
        buffer_append_char(out, '\n');
    }
}

static void write_voters(const struct primary *p, struct buffer *out) {
    LIST_FOR_EACH (link, next, &p->voters) {
        const struct instance *i = &voter_at(link)->instance;
        begin_primary_line(out, "known-sentinel", p);
        append_address(out, &i->address);
        buffer_printf(out, " %s\n", i->run_id);
    }
}

static void write_renamed(const struct primary *p, struct buffer *out) {
    for (size_t k = 0; k < p->renamed_count; k++) {
        begin_primary_line(out, "rename-command", p);
        append_word(out, slice_of(p->renamed[k].command));
        append_word(out, slice_of(p->renamed[k].name));
        buffer_append_char(out, '\n');
    }
}

/* In the order in which a file has them. */
static const struct sentinel_property properties[] = {
    {"down-after-milliseconds", IN_FILE | BY_SET | NUMBER, 1, "<master-name> <milliseconds>",
     set_down_after, write_down_after, NOT_POSITIVE, NULL,
     "How long the master, its replicas and the other Sentinels may fail to answer before this "
     "Sentinel takes them for down."},
    {"failover-timeout", IN_FILE | BY_SET | NUMBER, 1, "<master-name> <milliseconds>",
     set_failover_timeout, write_failover_timeout, NOT_POSITIVE, NULL,
     "Bounds each state of a failover. The next failover of the master begins after twice this "
     "time."},
    {"parallel-syncs", IN_FILE | BY_SET | NUMBER, 1, "<master-name> <number>", set_parallel_syncs,
     write_parallel_syncs, "parallel-syncs must be 1 or greater.", NULL,
     "How many replicas are told to follow the new master at the same time. They serve no reads "
     "while they load its data."},
    {"notification-script", IN_FILE | BY_SET | SCRIPT, 1, "<master-name> <path>",
     set_notification_script, write_notification,
     "Notification script seems non existing or non executable.",
     "Notification script seems non existing or non executable",
     "A program that is run for each event of level warning, with the event's name and text."},
    {"client-reconfig-script", IN_FILE | BY_SET | SCRIPT, 1, "<master-name> <path>",
     set_reconfig_script, write_reconfig,
     "Client reconfiguration script seems non existing or non executable.",
     "Client reconfiguration script seems non existing or non executable",
     "A program that is run when the master changes, with <master-name> <role> <state> <from-ip> "
     "<from-port> <to-ip> <to-port>."},
    {"auth-pass", IN_FILE | BY_SET | SECRET | RECONNECTS, 1, "<master-name> <password>",
     set_auth_pass, write_auth_pass, NULL, NULL, "The password for the master and its replicas."},
    {"auth-user", IN_FILE | BY_SET | RECONNECTS, 1, "<master-name> <username>", set_auth_user,
     write_auth_user, NULL, NULL, "The ACL user for the master and its replicas."},
    {"quorum", BY_SET | NUMBER, 1, NULL, set_quorum, NULL, NULL, NULL, NULL},
    {"config-epoch", IN_FILE, 1, "<master-name> <epoch>", set_config_epoch, write_config_epoch,
     NULL, NULL, "Written by Sentinel: the version of the master's address."},
    {"leader-epoch", IN_FILE, 1, "<master-name> <epoch>", set_leader_epoch, write_leader_epoch,
     NULL, NULL, "Written by Sentinel: the epoch of its last vote about the master."},
    {"known-slave", IN_FILE, 2, "<master-name> <ip> <port>", set_known_replica, NULL,
     "The address of a replica is not valid.", NULL, "The former name of known-replica."},
    {"known-replica", IN_FILE, 2, "<master-name> <ip> <port>", set_known_replica, write_replicas,
     "The address of a replica is not valid.", NULL, "Written by Sentinel: a replica."},
    {"known-sentinel", IN_FILE, 3, "<master-name> <ip> <port> <run-id>", set_known_voter,
     write_voters, "The address or the run id of a Sentinel is not valid.", NULL,
     "Written by Sentinel: another Sentinel."},
    {"rename-command", IN_FILE, 2, "<master-name> <command> <name>", set_renamed_once,
     write_renamed, "Same command renamed multiple times with rename-command.", NULL,
     "The name that the master and its replicas have for a command."},
    {"rename-command", BY_SET | RECONNECTS, 2, NULL, set_renamed, NULL, NULL, NULL, NULL},
};
#define PROPERTIES (sizeof(properties) / sizeof(properties[0]))

/* ---- settings ---- */

static void print_yes(bool yes, struct buffer *out) {
    buffer_append_c_string(out, yes ? "yes" : "no");
}

static bool set_id(struct slice value) {
    if (!sentinel_foreign_is_id(value)) return false;
    memcpy(sentinel_settings_change()->id, value.bytes, SENTINEL_ID_CHARS);
    return true;
}
static void print_id(struct buffer *out) { buffer_append_c_string(out, sentinel_settings()->id); }
static bool has_id(void) { return sentinel_settings()->id[0] != '\0'; }

static bool set_deny(struct slice value) {
    return parse_yes(value, &sentinel_settings_change()->deny_scripts_reconfig);
}
static void print_deny(struct buffer *out) {
    print_yes(sentinel_settings()->deny_scripts_reconfig, out);
}
static bool allows_scripts(void) { return !sentinel_settings()->deny_scripts_reconfig; }

static bool set_resolve(struct slice value) {
    bool yes;
    if (!parse_yes(value, &yes)) return false;
    sentinel_settings_change()->resolve_hostnames = yes;
    return true;
}
static void print_resolve(struct buffer *out) {
    print_yes(sentinel_settings()->resolve_hostnames, out);
}
static bool resolves_names(void) { return sentinel_settings()->resolve_hostnames; }

static bool set_announce_names(struct slice value) {
    bool yes;
    if (!parse_yes(value, &yes)) return false;
    sentinel_settings_change()->announce_hostnames = yes;
    return true;
}
static void print_announce_names(struct buffer *out) {
    print_yes(sentinel_settings()->announce_hostnames, out);
}
static bool announces_names(void) { return sentinel_settings()->announce_hostnames; }

static bool set_epoch(struct slice value) {
    uint64_t epoch = leading_number(value, SENTINEL_EPOCH_MAX);
    if (epoch > sentinel_settings()->epoch) sentinel_settings_change()->epoch = epoch;
    return true;
}
static void print_epoch(struct buffer *out) {
    buffer_printf(out, "%" PRIu64, sentinel_settings()->epoch);
}
static bool is_always(void) { return true; }

/* An empty one is none: other Sentinels could not reach this one. */
static bool set_announce_ip(struct slice value) {
    if (value.length && !sentinel_foreign_is_host(value)) return false;
    replace_text(&sentinel_settings_change()->announce_ip, value);
    return true;
}
static void print_announce_ip(struct buffer *out) {
    struct slice ip = text_of(sentinel_settings()->announce_ip);
    buffer_append(out, ip.bytes, ip.length);
}
static bool has_announce_ip(void) { return sentinel_settings()->announce_ip != NULL; }

static bool set_announce_port(struct slice value) {
    int64_t port;
    if (!number_parse_int64(value.bytes, value.length, &port)) return false;
    if (port < 0 || port > SENTINEL_PORT_MAX) return false;
    sentinel_settings_change()->announce_port = (int)port;
    return true;
}
static void print_announce_port(struct buffer *out) {
    buffer_printf(out, "%d", sentinel_settings()->announce_port);
}
static bool has_announce_port(void) { return sentinel_settings()->announce_port != 0; }

static void reconnect_voters(void) {
    LIST_FOR_EACH (link, next, sentinel_primaries()) {
        struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        LIST_FOR_EACH (v, following, &p->voters) watch_link_close(&voter_at(v)->instance);
    }
}

static bool set_user(struct slice value) {
    if (value.length > OPTION_ANY_BYTES_MAX || has_nul(value)) return false;
    replace_text(&sentinel_settings_change()->user, value);
    reconnect_voters();
    return true;
}
static void print_user(struct buffer *out) {
    struct slice user = text_of(sentinel_settings()->user);
    buffer_append(out, user.bytes, user.length);
}
static bool has_user(void) { return sentinel_settings()->user != NULL; }

static bool set_pass(struct slice value) {
    struct buffer *pass = &sentinel_settings_change()->pass;
    if (value.length > OPTION_ANY_BYTES_MAX) return false;
    buffer_clear(pass);
    buffer_append(pass, value.bytes, value.length);
    reconnect_voters();
    return true;
}
static void print_pass(struct buffer *out) {
    struct slice pass = buffer_slice(&sentinel_settings()->pass);
    buffer_append(out, pass.bytes, pass.length);
}
static bool has_pass(void) { return sentinel_settings()->pass.length > 0; }

#define YES_OR_NO(name) "Please specify yes or no for the " name
static const struct sentinel_setting settings[] = {
    {"myid", "<id>", false, false, false, set_id, print_id, has_id,
     "Malformed Sentinel id in myid option.",
     "Written by Sentinel: its id, 40 hexadecimal digits, drawn at the first start."},
    {"deny-scripts-reconfig", "yes|no", false, false, false, set_deny, print_deny, allows_scripts,
     YES_OR_NO("deny-scripts-reconfig options."),
     "Whether SENTINEL SET may not change the scripts, which whoever reaches this port could run "
     "programs by."},
    {"resolve-hostnames", "yes|no", true, false, false, set_resolve, print_resolve, resolves_names,
     YES_OR_NO("resolve-hostnames option."),
     "Whether names of hosts may stand in place of addresses. They are looked up beside the loop."},
    {"announce-hostnames", "yes|no", true, false, false, set_announce_names, print_announce_names,
     announces_names, YES_OR_NO("announce-hostnames option."),
     "Whether answers, events and the file show names of hosts where they are known by name."},
    {"current-epoch", "<epoch>", false, true, false, set_epoch, print_epoch, is_always, NULL,
     "Written by Sentinel: the highest epoch that it has seen."},
    {"announce-ip", "<ip>", true, true, false, set_announce_ip, print_announce_ip, has_announce_ip,
     "The announced address is not valid.",
     "The address that this Sentinel gives other Sentinels; by default the one that it connects "
     "from."},
    {"announce-port", "<port>", true, true, false, set_announce_port, print_announce_port,
     has_announce_port, "The announced port is not valid.",
     "The port that this Sentinel gives other Sentinels; by default the one that it listens at."},
    {"sentinel-user", "<username>", true, true, false, set_user, print_user, has_user, NULL,
     "The ACL user for other Sentinels."},
    {"sentinel-pass", "<password>", true, true, true, set_pass, print_pass, has_pass, NULL,
     "The password for other Sentinels; by default this Sentinel's own requirepass."},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* ---- lines of a file ---- */

static bool refuse_line(char *reason, size_t size, const char *text) {
    snprintf(reason, size, "%s", text ? text : UNRECOGNIZED);
    return false;
}

static bool parse_property(const struct option_row *row, const struct slice *words, size_t count,
                           char *reason, size_t reason_size) {
    const struct sentinel_property *property = row->context;
    /* An entry that an older version wrote has no run id; its hello message will bring one. */
    if (property->set == set_known_voter && count == 3) return true;
    if (count != (size_t)property->values + 1) return refuse_line(reason, reason_size, NULL);
    struct primary *p = sentinel_find_primary(words[0]);
    if (!p) return refuse_line(reason, reason_size, NO_PRIMARY);
    return property->set(p, words + 1) || refuse_line(reason, reason_size, property->refusal);
}

static bool parse_setting(const struct option_row *row, const struct slice *words, size_t count,
                          char *reason, size_t reason_size) {
    const struct sentinel_setting *setting = row->context;
    if (count != 1) return refuse_line(reason, reason_size, NULL);
    return setting->set(words[0]) || refuse_line(reason, reason_size, setting->refusal);
}

static bool parse_monitor(const struct option_row *row, const struct slice *words, size_t count,
                          char *reason, size_t reason_size) {
    const char *why;
    if (count != 4) return refuse_line(reason, reason_size, NULL);
    int port = (int)leading_number(words[2], SENTINEL_PORT_MAX + 1);
    int quorum = (int)leading_number(words[3], INT32_MAX);
    return sentinel_add_primary(words[0], words[1], port, quorum, &why) ||
           refuse_line(reason, reason_size, why);
}

/* A line whose second word is no directive of Sentinel. */
static bool parse_other(const struct option_row *row, const struct slice *words, size_t count,
                        char *reason, size_t reason_size) {
    return count == 0 || refuse_line(reason, reason_size, NULL);
}

static void rewrite_primary(const struct primary *p, struct buffer *out) {
    begin_primary_line(out, "monitor", p);
    append_address(out, sentinel_failover_address(p));
    buffer_printf(out, " %d\n", p->quorum);
    for (size_t k = 0; k < PROPERTIES; k++)
        if (properties[k].rewrite) properties[k].rewrite(p, out);
}

static void rewrite_setting(const struct sentinel_setting *setting, struct buffer *out) {
    struct buffer value;
    if (!setting->is_written()) return;
    buffer_init(&value, MEMORY_OTHER);
    setting->print(&value);
    begin_line(out, setting->name);
    if (setting->set == set_announce_ip) { /* always in quotes, as in 6.2 */
        buffer_append_char(out, ' ');
        buffer_append_quoted(out, buffer_slice(&value));
    } else {
        append_word(out, buffer_slice(&value));
    }
    buffer_append_char(out, '\n');
    buffer_free(&value);
}

static void rewrite_all(const struct option_row *row, struct buffer *out) {
    for (size_t k = 0; k < SETTINGS; k++)
        if (!settings[k].behind) rewrite_setting(&settings[k], out);
    LIST_FOR_EACH (link, next, sentinel_primaries())
        rewrite_primary(LIST_ENTRY(link, struct primary, in_watched), out);
    for (size_t k = 0; k < SETTINGS; k++)
        if (settings[k].behind) rewrite_setting(&settings[k], out);
}

/* ---- the option engine's rows ---- */

#define NAME_CHARS 48
#define ROWS_MAX (PROPERTIES + SETTINGS + 2)
static struct option_row option_rows[ROWS_MAX];
static char row_names[ROWS_MAX][NAME_CHARS];
static size_t row_count;

static struct option_row *add_row(const char *name, unsigned group) {
    struct option_row *row = &option_rows[row_count];
    snprintf(row_names[row_count], NAME_CHARS, "%s%s%s", FAMILY, *name ? " " : "", name);
    *row = (struct option_row){.name = row_names[row_count],
                               .type = OPTION_TYPE_CUSTOM,
                               .flags = OPTION_MULTI | OPTION_FILE_ONLY,
                               .section = FAMILY,
                               .place = (int)row_count * 10,
                               .group = group};
    row_count++;
    return row;
}

static void add_setting_row(const struct sentinel_setting *setting) {
    struct option_row *row = add_row(setting->name, 1);
    if (setting->secret) row->flags |= OPTION_SECRET;
    row->words = setting->words;
    row->parse = parse_setting;
    row->context = setting;
    row->help = setting->help;
}

static void add_property_row(const struct sentinel_property *property) {
    struct option_row *row = add_row(property->name, 3);
    if (property->flags & SECRET) row->flags |= OPTION_SECRET;
    row->words = property->words;
    row->parse = parse_property;
    row->context = property;
    row->help = property->help;
}

void sentinel_directives_register(void) {
    struct option_row *family = add_row("", 3);
    family->flags |= OPTION_FAMILY | OPTION_HIDDEN;
    family->parse = parse_other;
    family->rewrite = rewrite_all;
    family->help = "A directive of Sentinel.";
    struct option_row *monitor = add_row("monitor", 2);
    monitor->words = "<master-name> <ip> <port> <quorum>";
    monitor->parse = parse_monitor;
    monitor->help =
        "Watches a master. At least <quorum> Sentinels must agree that it is down before a "
        "failover is tried; more than half of all Sentinels must vote for it.";
    for (size_t k = 0; k < PROPERTIES; k++)
        if (properties[k].flags & IN_FILE) add_property_row(&properties[k]);
    for (size_t k = 0; k < SETTINGS; k++) add_setting_row(&settings[k]);
    option_register(option_rows, row_count);
}

/* ---- for SENTINEL SET and SENTINEL CONFIG ---- */

const struct sentinel_property *sentinel_property_find(struct slice name) {
    for (size_t k = 0; k < PROPERTIES; k++)
        if ((properties[k].flags & BY_SET) && slice_is(name, properties[k].name))
            return &properties[k];
    return NULL;
}

int sentinel_property_values(const struct sentinel_property *property) { return property->values; }
bool sentinel_property_is_secret(const struct sentinel_property *property) {
    return property->flags & SECRET;
}
bool sentinel_property_is_script(const struct sentinel_property *property) {
    return property->flags & SCRIPT;
}

static void reconnect_servers(struct primary *p) {
    watch_link_close(&p->instance);
    LIST_FOR_EACH (link, next, &p->replicas) watch_link_close(&replica_at(link)->instance);
}

bool sentinel_property_set(const struct sentinel_property *property, struct primary *p,
                           const struct slice *values, const char **reason) {
    int64_t number;
    *reason = property->set_refusal;
    if ((property->flags & NUMBER) &&
        !number_parse_int64(values[0].bytes, values[0].length, &number))
        return false;
    if (!property->set(p, values)) return false;
    if (property->flags & RECONNECTS) reconnect_servers(p);
    return true;
}

const struct sentinel_setting *sentinel_setting_at(size_t index) {
    for (size_t k = 0; k < SETTINGS; k++)
        if (settings[k].by_config && index-- == 0) return &settings[k];
    return NULL;
}

const char *sentinel_setting_name(const struct sentinel_setting *setting) { return setting->name; }
void sentinel_setting_print(const struct sentinel_setting *setting, struct buffer *out) {
    setting->print(out);
}
bool sentinel_setting_set(const struct sentinel_setting *setting, struct slice value) {
    return setting->set(value);
}
