/* SPDX-License-Identifier: BSD-3-Clause
 * A Sentinel's command table, PUBLISH, ROLE, and INFO's section.
 *
 * The table has 6.2's fifteen commands and QUIT, with 6.2's arity, flags and categories, which
 * differ from those of a server: COMMAND and ACL show them. The rows with help and handlers are
 * those of the families that a server has, but for PUBLISH and ROLE.
 */
#include "sentinel/service.h"

#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "metric/metric.h"
#include "metric/row.h"
#include "net/reply.h"
#include "sentinel/carry_out.h"
#include "sentinel/intake.h"
#include "sentinel/script.h"
#include "sentinel/tick.h"
#include "sentinel/watched.h"

/* ---- PUBLISH, ROLE ---- */

/* Other Sentinels publish their hello messages here, too. As in 6.2 the answer is 1. */
static void command_publish_hello(struct call *call) {
    if (!slice_equal(call->argv[1], SLICE("__sentinel__:hello"))) {
        reply_error(call->client, "Only HELLO messages are accepted by Sentinel instances.");
        return;
    }
    sentinel_intake_hello(call->argv[2]);
    reply_integer(call->client, 1);
}

static void command_role_sentinel(struct call *call) {
    reply_array(call->client, 2);
    reply_bulk_c_string(call->client, "sentinel");
    reply_array(call->client, (int64_t)sentinel_primary_count());
    LIST_FOR_EACH (at, following, sentinel_primaries()) {
        reply_bulk_c_string(call->client,
                            LIST_ENTRY(at, struct primary, in_watched)->instance.name);
    }
}

/* ---- the table ---- */

#define OF_SUBSCRIBERS (COMMAND_PUBSUB | COMMAND_FOR_SUBSCRIBERS)

const struct command_form sentinel_forms[] = {
    {"ping", NULL, 1, FAST | COMMAND_FOR_SUBSCRIBERS, ACL_CONNECTION},
    {"sentinel", NULL, -2, ADMIN, NO_CATEGORY},
    {"subscribe", NULL, -2, OF_SUBSCRIBERS, NO_CATEGORY},
    {"unsubscribe", NULL, -1, OF_SUBSCRIBERS, NO_CATEGORY},
    {"psubscribe", NULL, -2, OF_SUBSCRIBERS, NO_CATEGORY},
    {"punsubscribe", NULL, -1, OF_SUBSCRIBERS, NO_CATEGORY},
    {"publish", command_publish_hello, 3, COMMAND_PUBSUB | FAST, NO_CATEGORY},
    {"info", NULL, -1, BY_CHANCE, ACL_DANGEROUS},
    {"role", command_role_sentinel, 1, READ | FAST, ACL_DANGEROUS},
    {"client", NULL, -2, ADMIN | BY_CHANCE, ACL_CONNECTION},
    {"shutdown", NULL, -1, ADMIN, NO_CATEGORY},
    {"auth", NULL, -2, FAST | COMMAND_NO_AUTH, ACL_CONNECTION},
    {"hello", NULL, -1, FAST | COMMAND_NO_AUTH, ACL_CONNECTION},
    {"acl", NULL, -2, ADMIN, NO_CATEGORY},
    {"command", NULL, -1, BY_CHANCE, ACL_CONNECTION},
    {"quit", NULL, -1, FAST | COMMAND_NO_AUTH | COMMAND_UNLISTED | COMMAND_FOR_SUBSCRIBERS,
     ACL_CONNECTION},
    {NULL, NULL, 0, 0, 0},
};

/* ---- INFO's section ---- */

static void print_primaries(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", sentinel_primary_count());
}
static void print_tilt(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", sentinel_is_tilted());
}
static void print_running_scripts(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", sentinel_script_running());
}
static void print_queued_scripts(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", sentinel_script_queued());
}
static void print_simulated(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%u", sentinel_simulated_failures());
}

static const char *status_word(const struct primary *p) {
    if (p->instance.flags & INSTANCE_O_DOWN) return "odown";
    return p->instance.flags & INSTANCE_S_DOWN ? "sdown" : "ok";
}

static void print_each_primary(const struct metric_row *row, struct buffer *out) {
    unsigned number = 0;
    LIST_FOR_EACH (at, following, sentinel_primaries()) {
        const struct primary *p = LIST_ENTRY(at, struct primary, in_watched);
        buffer_printf(out, "%s%u:name=%s,status=%s,address=%s:%d,slaves=%zu,sentinels=%zu\r\n",
                      row->name, number++, p->instance.name, status_word(p),
                      sentinel_address_shown(&p->instance.address), p->instance.address.port,
                      p->replica_count, p->voter_count + 1);
    }
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Sentinel", 10, "sentinel_masters", METRIC_GAUGE, print_primaries,
                 "How many primaries are watched."),
    METRIC_PRINT("Sentinel", 20, "sentinel_tilt", METRIC_GAUGE, print_tilt,
                 "1: the Sentinel has stood still and judges nothing for 30 seconds."),
    METRIC_PRINT("Sentinel", 30, "sentinel_running_scripts", METRIC_GAUGE, print_running_scripts,
                 "How many scripts run."),
    METRIC_PRINT("Sentinel", 40, "sentinel_scripts_queue_length", METRIC_GAUGE,
                 print_queued_scripts, "Calls of scripts that run or wait."),
    METRIC_PRINT("Sentinel", 50, "sentinel_simulate_failure_flags", METRIC_INFO_ONLY,
                 print_simulated, "What SENTINEL SIMULATE-FAILURE has asked for."),
    {.section = "Sentinel",
     .place = 60,
     .name = "master",
     .measure = METRIC_INFO_ONLY,
     .type = METRIC_FUNCTION,
     .print_lines = print_each_primary,
     .help = "A line a primary: name, status, address, how many replicas and Sentinels."},
};

void sentinel_service_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
