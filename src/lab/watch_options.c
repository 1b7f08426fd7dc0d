/* SPDX-License-Identifier: BSD-3-Clause
 * The command line as rows: a word, the place of its value, and the range of a number.
 *
 * -h, -p, -s, -a, --user and -3 have the meaning that they have for redis-cli.
 */
#include "lab/watch_options.h"

#include <inttypes.h>

#include "base/number.h"

/* The server needs some hundred microseconds for an INFO; with a shorter interval the watching
 * would change the figures. */
#define INTERVAL_MSEC_LEAST 100
/* The arrays for the probes of a sample have room for a minute (watch_probe.h). */
#define INTERVAL_MSEC_MOST 60000
#define PROBE_MSEC_MOST 10000

const char watch_usage[] =
    "Usage: redis-lab watch [option ...]\n"
    "\n"
    "Shows the tuning parameters of a running server and the figures they move, and lets one\n"
    "change them: see docs/lab-watch.md.\n"
    "\n"
    "  -h host               the server's address (127.0.0.1)\n"
    "  -p port               its port (6379)\n"
    "  -s path               its unix socket, instead of both\n"
    "  -a password           also taken from the environment: REDISCLI_AUTH\n"
    "  --user name           the password's user\n"
    "  -3                    speak RESP3\n"
    "  --interval msec       between two samples (1000)\n"
    "  --probe-interval msec between two PINGs of the probe (5)\n"
    "  --csv                 no screen: a line of names, then a line a sample\n"
    "  --samples count       with --csv: end after so many (0: go on)\n"
    "  --help                print this\n"
    "\n"
    "For example:\n"
    "  redis-lab watch -p 7000\n"
    "  redis-lab watch --csv --interval 500 --samples 120 > figures.csv\n";

struct row {
    const char *word;
    size_t text, number, flag; /* one is set: an offset in struct watch_options, plus 1 */
    int64_t least, most;
};
#define PLACE(field) (offsetof(struct watch_options, field) + 1)

static const struct row rows[] = {
    {.word = "-h", .text = PLACE(host)},
    {.word = "-p", .number = PLACE(port), .least = 1, .most = 65535},
    {.word = "-s", .text = PLACE(path)},
    {.word = "-a", .text = PLACE(password)},
    {.word = "--user", .text = PLACE(user)},
    {.word = "-3", .flag = PLACE(resp3)},
    {.word = "--csv", .flag = PLACE(csv)},
    {.word = "--interval",
     .number = PLACE(interval_msec),
     .least = INTERVAL_MSEC_LEAST,
     .most = INTERVAL_MSEC_MOST},
    {.word = "--probe-interval", .number = PLACE(probe_msec), .least = 1, .most = PROBE_MSEC_MOST},
    {.word = "--samples", .number = PLACE(samples), .least = 0, .most = INT64_MAX},
};

static const struct row *find_row(const char *word) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!strcmp(rows[i].word, word)) return &rows[i];
    }
    return NULL;
}

/* Stores the value of a row; returns false with a reason if it is not valid. */
static bool take_value(struct watch_options *o, const struct row *row, const char *value,
                       char *reason, size_t reason_size) {
    char *base = (char *)o;
    if (row->text) {
        *(const char **)(base + row->text - 1) = value;
        return true;
    }
    int64_t number;
    if (number_parse_int64(value, strlen(value), &number) && number >= row->least &&
        number <= row->most) {
        *(int64_t *)(base + row->number - 1) = number;
        return true;
    }
    if (row->most == INT64_MAX) {
        snprintf(reason, reason_size, "%s wants a number from %" PRId64 " on", row->word,
                 row->least);
    } else {
        snprintf(reason, reason_size, "%s wants a number from %" PRId64 " to %" PRId64, row->word,
                 row->least, row->most);
    }
    return false;
}

enum watch_options_status watch_options_read(struct watch_options *o, int count, char **words,
                                             char *reason, size_t reason_size) {
    *o = (struct watch_options){.host = "127.0.0.1",
                                .port = 6379,
                                .interval_msec = 1000,
                                .probe_msec = 5,
                                .password = getenv("REDISCLI_AUTH")};
    for (int i = 0; i < count; i++) {
        if (!strcmp(words[i], "--help")) return WATCH_OPTIONS_HELP;
        const struct row *row = find_row(words[i]);
        if (!row) {
            snprintf(reason, reason_size, "unknown option %s", words[i]);
            return WATCH_OPTIONS_BAD;
        }
        if (row->flag) {
            *(bool *)((char *)o + row->flag - 1) = true;
        } else if (++i == count) {
            snprintf(reason, reason_size, "%s wants a value", row->word);
            return WATCH_OPTIONS_BAD;
        } else if (!take_value(o, row, words[i], reason, reason_size)) {
            return WATCH_OPTIONS_BAD;
        }
    }
    if (o->samples && !o->csv) {
        snprintf(reason, reason_size, "--samples goes with --csv");
        return WATCH_OPTIONS_BAD;
    }
    if (o->user && !o->password) {
        snprintf(reason, reason_size, "--user wants a password: -a, or REDISCLI_AUTH");
        return WATCH_OPTIONS_BAD;
    }
    return WATCH_OPTIONS_RUN;
}
