/* SPDX-License-Identifier: BSD-3-Clause
 * Figures of INFO, one line at a time.
 */
#include "cli/cli_stat.h"

#include <inttypes.h>

#include "base/number.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "cli/cli_run.h"

#define LINES_A_HEADER 20
#define CELL_CHARS 48

/* The number after `name:` at the beginning of a line; 0 where no line begins so. */
static int64_t find_field(struct slice info, const char *name) {
    size_t length = strlen(name);
    for (const char *line = info.bytes, *end = info.bytes + info.length; line && line < end;) {
        if ((size_t)(end - line) > length && !memcmp(line, name, length) && line[length] == ':') {
            const char *digits = line + length + 1;
            size_t count = 0;
            while (digits + count < end && digits[count] >= '0' && digits[count] <= '9') count++;
            int64_t value = 0;
            return number_parse_int64(digits, count, &value) ? value : 0;
        }
        line = memchr(line, '\n', (size_t)(end - line));
        if (line) line++;
    }
    return 0;
}

/* The sum of the keys of all databases, from lines like "db0:keys=5,expires=0". */
static uint64_t count_keys(struct slice info) {
    uint64_t keys = 0; /* unsigned, because false numbers from a server may wrap it */
    const char *at = info.bytes, *end = info.bytes + info.length;
    while ((at = memmem(at, (size_t)(end - at), ":keys=", 6))) {
        const char *digits = at + 6;
        size_t count = 0;
        int64_t value = 0;
        while (digits + count < end && digits[count] >= '0' && digits[count] <= '9') count++;
        if (number_parse_int64(digits, count, &value)) keys += (uint64_t)value;
        at = digits;
    }
    return keys;
}

static const char *child_of(struct slice info) {
    bool saves = find_field(info, "rdb_bgsave_in_progress") > 0;
    bool rewrites = find_field(info, "aof_rewrite_in_progress") > 0;
    if (find_field(info, "loading") > 0) return "LOAD";
    if (saves && rewrites) return "SAVE+AOF";
    return saves ? "SAVE" : rewrites ? "AOF" : "";
}

static void print_line(struct slice info, int64_t *requests) {
    char memory[CELL_CHARS], served[CELL_CHARS];
    int64_t total = find_field(info, "total_commands_processed");
    number_format_bytes_human(memory, sizeof(memory), (uint64_t)find_field(info, "used_memory"));
    snprintf(served, sizeof(served), "%" PRId64 " (+%" PRId64 ")", total,
             *requests < 0 ? 0 : total - *requests);
    *requests = total;
    printf("%-10" PRIu64 " %-8s%-8" PRId64 "%-8" PRId64 "%-20s%-12" PRId64 "%s\n", count_keys(info),
           memory, find_field(info, "connected_clients"), find_field(info, "blocked_clients"),
           served, find_field(info, "total_connections_received"), child_of(info));
}

int cli_stat_run(const struct cli_options *o) {
    double seconds = o->interval_chosen && o->interval_sec > 0 ? o->interval_sec : 1;
    int64_t requests = -1;
    for (uint64_t line = 0; o->repeat <= 1 || line < (uint64_t)o->repeat; line++) {
        const struct peer_reply *reply = cli_link_must_call("INFO");
        if (reply->type != PEER_BULK) {
            cli_format_complain("Error: ", reply->text);
            return 1;
        }
        if (line % LINES_A_HEADER == 0) {
            printf(
                "------- data ------ --------------------- load -------------------- - child -\n"
                "keys       mem      clients blocked requests            connections          "
                "\n");
        }
        print_line(reply->text, &requests);
        if (fflush(stdout) != 0) return 1;
        cli_run_pause(seconds);
    }
    return 0;
}
