/* SPDX-License-Identifier: BSD-3-Clause
 * The out-of-memory score.
 *
 * /proc/self/oom_score_adj takes -1000 (the process is never killed) to 1000 (it is killed first).
 * `relative` adds the role's value to the score that the process had at start; `absolute` sets the
 * score to the role's value. Lowering the score below that of the start needs privileges. Without
 * them the change of the option is refused, and the score and the option keep their values. As in
 * 6.2, "no" leaves the score as it is.
 */
#include "process/oom_score.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "base/number.h"
#include "base/system.h"
#include "option/option.h"

#define SCORE_FILE "/proc/self/oom_score_adj"
#define SCORE_MAX 1000
#define VALUE_MAX 2000 /* as in 6.2 */

enum oom_mode { MODE_NO, MODE_RELATIVE, MODE_ABSOLUTE };

static int mode;
static int64_t values[OOM_ROLES];
static int64_t score_at_start;
static bool opened;
static enum oom_role role_now;

/* ---- the file ---- */

static int64_t read_score(void) {
    char text[32];
    int64_t score;
    int fd = system_open(SCORE_FILE, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    ssize_t length = system_read(fd, text, sizeof(text));
    system_close(fd);
    while (length > 0 && text[length - 1] == '\n') length--;
    bool known = length > 0 && number_parse_int64(text, (size_t)length, &score);
    return known ? score : 0;
}

static bool write_score(int64_t score) {
    char text[NUMBER_INT64_CHARS];
    size_t length = number_format_int64(text, score);
    int fd = system_open(SCORE_FILE, O_WRONLY | O_CLOEXEC, 0);
    bool written = fd >= 0 && system_write(fd, text, length) == (ssize_t)length;
    int error = errno;
    if (fd >= 0) system_close(fd);
    if (!written)
        log_warning("The out-of-memory score cannot be set to %lld: %s", (long long)score,
                    strerror(error));
    return written;
}

bool oom_score_apply(enum oom_role role) {
    role_now = role;
    if (mode == MODE_NO) return true;
    int64_t score = values[role] + (mode == MODE_RELATIVE ? score_at_start : 0);
    if (score > SCORE_MAX) score = SCORE_MAX;
    if (score < -SCORE_MAX) score = -SCORE_MAX;
    return write_score(score);
}

void oom_score_open(void) {
    opened = true;
    oom_score_apply(OOM_PRIMARY);
}

void oom_score_restore(void) {
    if (opened && read_score() != score_at_start) write_score(score_at_start);
}

/* ---- options ---- */

/* The row's context is the error text for a failure. */
static bool apply_now(const struct option_row *row, char *reason, size_t reason_size) {
    if (!opened || oom_score_apply(role_now)) return true;
    snprintf(reason, reason_size, "%s", (const char *)row->context);
    return false;
}

static bool values_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    int64_t parsed[OOM_ROLES];
    if (count != OOM_ROLES) return false;
    for (size_t i = 0; i < count; i++) {
        if (number_parse_int64(words[i].bytes, words[i].length, &parsed[i]) &&
            parsed[i] >= -VALUE_MAX && parsed[i] <= VALUE_MAX)
            continue;
        snprintf(reason, reason_size,
                 "Invalid oom-score-adj-values, elements must be between -2000 and 2000.");
        return false;
    }
    if (parsed[OOM_REPLICA] < parsed[OOM_PRIMARY] || parsed[OOM_CHILD] < parsed[OOM_REPLICA])
        log_warning(
            "oom-score-adj-values: a later value is lower than one before it. Only a "
            "privileged process can lower its score again.");
    memcpy(values, parsed, sizeof(values));
    return true;
}

static void values_print(const struct option_row *row, struct buffer *out) {
    buffer_printf(out, "%lld %lld %lld", (long long)values[OOM_PRIMARY],
                  (long long)values[OOM_REPLICA], (long long)values[OOM_CHILD]);
}

static const struct option_name mode_names[] = {{"no", MODE_NO},
                                                {"yes", MODE_RELATIVE},
                                                {"relative", MODE_RELATIVE},
                                                {"absolute", MODE_ABSOLUTE},
                                                {NULL, 0}};

static const struct option_row option_rows[] = {
    {.name = "oom-score-adj",
     .type = OPTION_TYPE_ENUM,
     .flags = OPTION_MUTABLE,
     .section = "process",
     .place = 210,
     .fallback = "no",
     .variable = &mode,
     .names = mode_names,
     .apply = apply_now,
     .context = "Failed to set current oom_score_adj. Check server logs.",
     .help = "Set the score by which the kernel picks whom to kill when memory runs out: relative "
             "(or yes) to the one at start, or absolute. With no it is left as it is."},
    {.name = "oom-score-adj-values",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE,
     .section = "process",
     .place = 220,
     .fallback = "0 200 800",
     .parse = values_parse,
     .print = values_print,
     .apply = apply_now,
     .context = "Failed to apply oom-score-adj-values configuration, check server logs.",
     .help = "The scores of a primary, a replica and a child in the background, -2000 to 2000; the "
             "sum is cut to -1000 to 1000. The larger the sooner it is killed."},
};

void oom_score_register(void) {
    score_at_start = read_score();
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
