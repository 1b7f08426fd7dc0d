/* SPDX-License-Identifier: BSD-3-Clause
 * The options --set, --grid, --profile, --start and --against as arms.
 *
 * Invariant: an arm's `values` has a place for each option that the plan may have, because later
 * arms add options; the arm owns the texts.
 */
#include "experiment/experiment_plan.h"

#include <errno.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "experiment/experiment_options.h"

#define LABEL_CHARS 256
#define PROFILE_BYTES_MAX ((size_t)1024 * 1024)
#define LINE_WORDS_MAX 64

/* A list of values that one --set gives. */
struct set {
    unsigned knob;
    char *values[EXPERIMENT_ARMS_MAX];
    unsigned count;
};

static bool refuse_plan(char *reason, size_t reason_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse_plan(char *reason, size_t reason_size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, reason_size, format, arguments);
    va_end(arguments);
    return false;
}

/* The option's place in the plan, which is made where the option is new; -1 where there is none
 * left. */
static int knob_place(struct experiment_plan *plan, struct slice name) {
    char *lower = slice_dup_c_string(name, MEMORY_OTHER);
    for (char *at = lower; *at; at++) *at = string_lower(*at);
    for (unsigned i = 0; i < plan->knob_count; i++) {
        if (strcmp(plan->knobs[i], lower) != 0) continue;
        memory_free(lower, MEMORY_OTHER);
        return (int)i;
    }
    if (plan->knob_count == EXPERIMENT_KNOBS_MAX) {
        memory_free(lower, MEMORY_OTHER);
        return -1;
    }
    plan->knobs[plan->knob_count] = lower;
    return (int)plan->knob_count++;
}

/* Adds an arm without values. NULL where there are too many. */
static struct experiment_arm *add_plan_arm(struct experiment_plan *plan) {
    if (plan->arm_count == EXPERIMENT_ARMS_MAX) return NULL;
    struct experiment_arm *arm = &plan->arms[plan->arm_count++];
    *arm = (struct experiment_arm){
        .values = memory_zalloc(EXPERIMENT_KNOBS_MAX * sizeof(*arm->values), MEMORY_OTHER)};
    return arm;
}

/* A label of a text that may have any bytes. */
static char *make_text_label(struct slice text) {
    char shown[LABEL_CHARS];
    return memory_strdup(string_show(text, shown, sizeof(shown)), MEMORY_OTHER);
}

static void set_arm_value(struct experiment_arm *arm, unsigned knob, const char *value) {
    memory_free((void *)arm->values[knob], MEMORY_OTHER);
    arm->values[knob] = memory_strdup(value, MEMORY_OTHER);
}

/* --- --set ------------------------------------------------------------------------------------ */

/* Reads "name=value,value". */
static bool read_set(struct experiment_plan *plan, const char *text, struct set *set, char *reason,
                     size_t reason_size) {
    const char *equals = strchr(text, '=');
    *set = (struct set){0};
    if (!equals || equals == text)
        return refuse_plan(reason, reason_size, "--set wants name=value,...: %.100s", text);
    int knob = knob_place(plan, (struct slice){text, (size_t)(equals - text)});
    ASSERT(knob >= 0); /* fewer --set options than places */
    set->knob = (unsigned)knob;
    for (const char *at = equals + 1;;) {
        const char *comma = strchrnul(at, ',');
        if (set->count == EXPERIMENT_ARMS_MAX)
            return refuse_plan(reason, reason_size, "--set %.100s: more than %d values",
                               plan->knobs[knob], EXPERIMENT_ARMS_MAX);
        set->values[set->count++] =
            slice_dup_c_string((struct slice){at, (size_t)(comma - at)}, MEMORY_OTHER);
        if (!*comma) return true;
        at = comma + 1;
    }
}

/* One option: its values; a single one is compared with the value that the server has. */
static bool add_list(struct experiment_plan *plan, const struct set *set) {
    if (set->count == 1 && !add_plan_arm(plan)) return false;
    for (unsigned i = 0; i < set->count; i++) {
        struct experiment_arm *arm = add_plan_arm(plan);
        if (!arm) return false;
        set_arm_value(arm, set->knob, set->values[i]);
    }
    return true;
}

/* Several options: the old values, then each value alone. */
static bool add_one_at_a_time(struct experiment_plan *plan, const struct set *sets,
                              unsigned count) {
    if (!add_plan_arm(plan)) return false;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < sets[i].count; j++) {
            struct experiment_arm *arm = add_plan_arm(plan);
            if (!arm) return false;
            set_arm_value(arm, sets[i].knob, sets[i].values[j]);
        }
    }
    return true;
}

/* All combinations; the last option's value changes fastest. */
static bool add_grid(struct experiment_plan *plan, const struct set *sets, unsigned count) {
    uint64_t combinations = 1;
    for (unsigned i = 0; i < count; i++) {
        combinations *= sets[i].count;
        if (combinations > EXPERIMENT_ARMS_MAX) return false;
    }
    for (uint64_t at = 0; at < combinations; at++) {
        struct experiment_arm *arm = add_plan_arm(plan);
        uint64_t rest = at;
        if (!arm) return false;
        for (unsigned i = count; i-- > 0; rest /= sets[i].count)
            set_arm_value(arm, sets[i].knob, sets[i].values[rest % sets[i].count]);
    }
    return true;
}

static bool add_sets(struct experiment_plan *plan, const struct experiment_options *options,
                     char *reason, size_t reason_size) {
    struct set sets[EXPERIMENT_SETS_MAX];
    unsigned count = 0;
    bool good = true, fits = true;
    while (good && count < options->set_count) {
        good = read_set(plan, options->sets[count], &sets[count], reason, reason_size);
        for (unsigned i = 0; good && i < count; i++) {
            if (sets[i].knob != sets[count].knob) continue;
            good = refuse_plan(reason, reason_size, "--set %s is given twice",
                               plan->knobs[sets[i].knob]);
        }
        count++;
    }
    if (good && options->grid) {
        fits = add_grid(plan, sets, count);
    } else if (good) {
        fits = count == 1 ? add_list(plan, &sets[0]) : add_one_at_a_time(plan, sets, count);
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < sets[i].count; j++) memory_free(sets[i].values[j], MEMORY_OTHER);
    if (fits) return good;
    return refuse_plan(reason, reason_size, "more than %d combinations to try",
                       EXPERIMENT_ARMS_MAX);
}

/* --- --profile -------------------------------------------------------------------------------- */

/* Takes a line of a configuration file: a name, and words that are joined by blanks as CONFIG SET
 * wants them. A name that is repeated (save) has its values joined, too. */
static bool take_profile_line(struct experiment_plan *plan, struct experiment_arm *arm,
                              struct slice line, char *reason, size_t reason_size) {
    struct buffer storage = {.class = MEMORY_OTHER}, value = {.class = MEMORY_OTHER};
    struct slice *words = NULL;
    int count = string_split_words(line, &storage, &words), knob = -1;
    bool good = count >= 2;
    if (good && slice_is(words[0], "include")) good = false;
    if (good) knob = knob_place(plan, words[0]);
    if (knob >= 0) {
        const char *before = arm->values[knob];
        if (before) buffer_printf(&value, "%s ", before);
        for (int i = 1; i < count; i++) buffer_printf(&value, i > 1 ? " %s" : "%s", words[i].bytes);
        set_arm_value(arm, (unsigned)knob, value.bytes);
    }
    buffer_free(&value);
    buffer_free(&storage);
    memory_free(words, MEMORY_OTHER);
    if (good && knob >= 0) return true;
    return refuse_plan(reason, reason_size, "%s: %.100s", arm->label,
                       good ? "too many options" : "a line that is no option and value");
}

static bool read_profile(struct experiment_plan *plan, struct experiment_arm *arm, FILE *file,
                         char *reason, size_t reason_size) {
    char *line = NULL;
    size_t size = 0, bytes = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&line, &size, file)) >= 0) {
        bytes += (size_t)length;
        while (length && isspace((uint8_t)line[length - 1])) length--;
        size_t blank = 0;
        while (blank < (size_t)length && isspace((uint8_t)line[blank])) blank++;
        if (blank == (size_t)length || line[blank] == '#') continue;
        struct slice rest = {line + blank, (size_t)length - blank};
        good = take_profile_line(plan, arm, rest, reason, reason_size) &&
               (bytes <= PROFILE_BYTES_MAX ||
                refuse_plan(reason, reason_size, "%s is too long", arm->label));
    }
    free(line);
    return good;
}

static bool add_profiles(struct experiment_plan *plan, const struct experiment_options *options,
                         char *reason, size_t reason_size) {
    if (options->profile_count == 1) (void)add_plan_arm(plan);
    for (unsigned i = 0; i < options->profile_count; i++) {
        const char *path = options->profiles[i], *slash = strrchr(path, '/');
        struct experiment_arm *arm = add_plan_arm(plan);
        ASSERT(arm);
        arm->label = memory_strdup(slash && slash[1] ? slash + 1 : path, MEMORY_OTHER);
        FILE *file = fopen(path, "re");
        if (!file) return refuse_plan(reason, reason_size, "%.200s: %s", path, strerror(errno));
        bool good = read_profile(plan, arm, file, reason, reason_size);
        fclose(file);
        if (!good) return false;
    }
    return true;
}

/* --- the plan --------------------------------------------------------------------------------- */

/* Several servers to start: an arm for each, whose label is its command. */
static bool add_starts(struct experiment_plan *plan, const struct experiment_options *options) {
    for (unsigned i = 0; i < options->start_count; i++) {
        struct experiment_arm *arm = add_plan_arm(plan);
        if (!arm) return false;
        if (options->start_count > 1) arm->label = make_text_label(slice_of(options->starts[i]));
    }
    return true;
}

/* Says which server each arm is measured on. */
static void assign_servers(struct experiment_plan *plan, bool starts) {
    plan->server_count = starts ? 0 : 1;
    for (unsigned i = 0; i < plan->arm_count; i++) {
        struct experiment_arm *arm = &plan->arms[i];
        arm->is_started = starts && !arm->is_other;
        arm->server = arm->is_started || arm->is_other ? plan->server_count++ : 0;
    }
}

bool experiment_plan_init(struct experiment_plan *plan, const struct experiment_options *options,
                          char *reason, size_t reason_size) {
    *plan = (struct experiment_plan){0};
    bool good = options->profile_count ? add_profiles(plan, options, reason, reason_size)
                : options->set_count   ? add_sets(plan, options, reason, reason_size)
                : options->start_count ? add_starts(plan, options)
                                       : add_plan_arm(plan) != NULL;
    if (good && options->against) {
        struct experiment_arm *arm = add_plan_arm(plan);
        if (!arm)
            return refuse_plan(reason, reason_size, "more than %d combinations to try",
                               EXPERIMENT_ARMS_MAX);
        arm->is_other = true;
        arm->label = make_text_label(slice_of(options->against));
    }
    assign_servers(plan, options->start_count > 0);
    return good;
}

static void free_plan_arm(struct experiment_plan *plan, struct experiment_arm *arm) {
    for (unsigned i = 0; i < plan->knob_count; i++)
        memory_free((void *)arm->values[i], MEMORY_OTHER);
    memory_free(arm->values, MEMORY_OTHER);
    memory_free(arm->label, MEMORY_OTHER);
}

void experiment_plan_free(struct experiment_plan *plan) {
    for (unsigned i = 0; i < plan->arm_count; i++) free_plan_arm(plan, &plan->arms[i]);
    for (unsigned i = 0; i < plan->knob_count; i++) memory_free(plan->knobs[i], MEMORY_OTHER);
    memory_free(plan->order, MEMORY_OTHER);
    *plan = (struct experiment_plan){0};
}

/* The label of an arm without one: its values; those of a plan with one option without its name. */
static char *make_label(const struct experiment_plan *plan, const struct experiment_arm *arm,
                        const char *const *old) {
    struct buffer text = {.class = MEMORY_OTHER};
    for (unsigned i = 0; i < plan->knob_count; i++) {
        const char *value = arm->values[i];
        if (!value && plan->knob_count == 1) value = old[i];
        if (!value) continue;
        if (text.length) buffer_append_c_string(&text, ", ");
        if (plan->knob_count > 1) buffer_printf(&text, "%s=", plan->knobs[i]);
        buffer_append_c_string(&text, *value ? value : "\"\"");
    }
    if (!text.length) buffer_append_c_string(&text, arm->is_started ? "as started" : "as it is");
    char *label = make_text_label(buffer_slice(&text));
    buffer_free(&text);
    return label;
}

void experiment_plan_name_started(struct experiment_plan *plan, const char *first) {
    for (unsigned i = 0; i < plan->arm_count; i++)
        if (!plan->arms[i].label) plan->arms[i].label = make_label(plan, &plan->arms[i], &first);
    plan->reference = 0;
}

void experiment_plan_compare_old(struct experiment_plan *plan, const char *const *old,
                                 const char *(*canonical)(void *context, unsigned knob,
                                                          const char *value),
                                 void *context) {
    unsigned kept = 0;
    bool has_base = plan->knob_count > 1; /* whose first arm then has the old values */
    for (unsigned i = 0; i < plan->arm_count; i++) {
        struct experiment_arm *arm = &plan->arms[i];
        unsigned given = 0;
        arm->is_old = !arm->is_other;
        for (unsigned k = 0; k < plan->knob_count; k++) {
            if (!arm->values[k]) continue;
            given++;
            if (strcmp(canonical(context, k, arm->values[k]), old[k]) != 0) arm->is_old = false;
        }
        bool repeats = has_base && i > 0 && arm->is_old && given == 1 && plan->arms[0].is_old;
        if (repeats && !arm->label) {
            free_plan_arm(plan, arm);
            continue;
        }
        if (!arm->label) arm->label = make_label(plan, arm, old);
        plan->arms[kept++] = *arm;
    }
    plan->arm_count = kept;
    plan->reference = 0;
    for (unsigned i = plan->arm_count; i-- > 0;)
        if (plan->arms[i].is_old) plan->reference = i;
}

void experiment_plan_draw(struct experiment_plan *plan, unsigned rounds, uint64_t seed) {
    size_t bytes = (size_t)rounds * plan->arm_count * sizeof(*plan->order);
    plan->rounds = rounds;
    plan->order = memory_realloc(plan->order, bytes, MEMORY_OTHER);
    random_seed(seed);
    for (unsigned round = 0; round < rounds; round++) {
        unsigned *order = &plan->order[(size_t)round * plan->arm_count];
        for (unsigned i = 0; i < plan->arm_count; i++) {
            unsigned place = (unsigned)random_below(i + 1);
            order[i] = order[place];
            order[place] = i;
        }
    }
}
