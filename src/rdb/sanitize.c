/* SPDX-License-Identifier: BSD-3-Clause
 * Which checks of packed values are counted. sanitize.h has the rule.
 */
#include "rdb/sanitize.h"

#include "access/acl.h"
#include "access/acl_rules.h"
#include "command/call.h"
#include "metric/metric.h"
#include "option/option.h"

enum { SANITIZE_NEVER, SANITIZE_ALWAYS, SANITIZE_CLIENTS };

static int mode;
static uint64_t sanitizations;

void sanitize_note_file(uint64_t checked) {
    if (mode == SANITIZE_ALWAYS) sanitizations += checked;
}

void sanitize_note_sent(const struct call *call, uint64_t checked) {
    const struct acl_user *user = acl_user_of(call->client);
    bool trusted = call_is_repeated(call) || (user && user->flags & ACL_USER_SKIP_SANITIZE);
    if (mode == SANITIZE_ALWAYS || (mode == SANITIZE_CLIENTS && !trusted)) sanitizations += checked;
}

static const struct option_name modes[] = {
    {"no", SANITIZE_NEVER}, {"yes", SANITIZE_ALWAYS}, {"clients", SANITIZE_CLIENTS}, {NULL, 0}};

static const struct option_row option_rows[] = {
    OPTION_ENUM("sanitize-dump-payload", &mode, "no", modes, OPTION_MUTABLE, "snapshots", 50,
                "Values from RESTORE and snapshots are always checked as a whole. This only says "
                "which checks dump_payload_sanitizations in INFO counts: all with yes, those of "
                "values that clients send with clients."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 340,
     .name = "dump_payload_sanitizations",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &sanitizations,
     .reset = true,
     .help = "Checks of ziplists, intsets and nodes of streams that sanitize-dump-payload wants "
             "counted."},
};

void sanitize_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
