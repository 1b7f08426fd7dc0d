/* SPDX-License-Identifier: BSD-3-Clause
 * Entries of the slow log: one allocation each, in a list from the newest to the oldest.
 *
 * An entry is written after its command, so the command's arguments must still be valid then. Most
 * arguments stay in the thread's input buffer or in the client's query until the end of the batch.
 * A large argument is in a block of its own (net/batch.h), which a command may take, and which the
 * same command may even free (MSET k <large> k <large>). The beginnings of large arguments are
 * therefore copied before the call; an entry shows no more of them.
 *
 * Invariants
 *  1. entry_count is the length of the list; ids fall from the newest to the oldest.
 *  2. The slices of an entry point into its own allocation.
 *  3. No entry holds a secret argument's text.
 *
 * The entries belong to MEMORY_OTHER. Main thread only.
 */
#include "report/slowlog.h"

#include "base/clock.h"
#include "command/call.h"
#include "command/command.h"
#include "io/background.h"
#include "net/batch.h"
#include "net/client.h"
#include "option/option.h"
#include "report/advice.h"

/* If more entries than these are dropped at once, the background thread frees them, because
 * slowlog-max-len allows any number. */
#define DROP_AT_ONCE 1000

/* A verdict names the second largest part of the time if it has at least this share. */
#define VERDICT_MIXED_PERCENT 20
#define NOT_RUNNING "the server's thread did not run"

static struct list_link entries = {&entries, &entries};
static size_t entry_count;
static int64_t next_id;
static int64_t slower_than_usec, entries_max;

/* The beginnings of the running call's large arguments, and the address of each argument. */
static struct {
    const char *from;
    char bytes[SLOWLOG_TEXT_BYTES_MAX];
} kept[SLOWLOG_ARGUMENTS_MAX];

static const struct option_row option_rows[] = {
    OPTION_INT("slowlog-log-slower-than", &slower_than_usec, "10000", -1, INT64_MAX, OPTION_MUTABLE,
               "slow log", 10,
               "Microseconds from which a command enters the slow log; 0: all do, -1: none does."),
    OPTION_INT("slowlog-max-len", &entries_max, "128", 0, INT64_MAX, OPTION_MUTABLE, "slow log", 20,
               "Entries that the slow log keeps. Fewer than before take effect with the next "
               "entry."),
};

void slowlog_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- what an entry shows ---- */

static bool is_large(struct slice argument) { return argument.length >= BATCH_ADOPT_BYTES; }

void slowlog_keep_large_arguments(const struct call *call) {
    if (slower_than_usec < 0) return;
    for (int i = 0; i < call->argc && i < SLOWLOG_ARGUMENTS_MAX; i++) {
        if (!is_large(call->argv[i])) continue;
        kept[i].from = call->argv[i].bytes;
        memcpy(kept[i].bytes, call->argv[i].bytes, SLOWLOG_TEXT_BYTES_MAX);
    }
}

static void append_cut(struct buffer *text, const char *bytes, size_t length) {
    size_t shown = length < SLOWLOG_TEXT_BYTES_MAX ? length : SLOWLOG_TEXT_BYTES_MAX;
    buffer_append(text, bytes, shown);
    if (length > shown) buffer_printf(text, "... (%zu more bytes)", length - shown);
}

static void append_argument(struct buffer *text, const struct call *call, int index) {
    struct slice argument = call_argument_shown(call, index);
    bool from_kept = is_large(argument) && argument.bytes == kept[index].from;
    append_cut(text, from_kept ? kept[index].bytes : argument.bytes, argument.length);
}

/* ---- entries ---- */

/* Returns the part [`start`, `end`) of the entry's copy of its texts, and moves `start` to
 * `end`. */
static struct slice next_part(const char *copy, size_t *start, size_t end) {
    struct slice s = {copy + *start, end - *start};
    *start = end;
    return s;
}

static struct slowlog_entry *slowlog_entry_create(const struct call *call) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    bool all_shown = call->argc <= SLOWLOG_ARGUMENTS_MAX;
    int argc = all_shown ? call->argc : SLOWLOG_ARGUMENTS_MAX;
    size_t ends[SLOWLOG_ARGUMENTS_MAX + 2];
    for (int i = 0; i < argc; i++) {
        if (i < argc - 1 || all_shown)
            append_argument(&text, call, i);
        else
            buffer_printf(&text, "... (%d more arguments)", call->argc - i);
        ends[i] = text.length;
    }
    client_append_address(call->client, &text);
    ends[argc] = text.length;
    if (call->client->name) append_cut(&text, call->client->name, strlen(call->client->name));
    ends[argc + 1] = text.length;

    size_t head = sizeof(struct slowlog_entry) + (size_t)argc * sizeof(struct slice);
    struct slowlog_entry *e = memory_alloc(head + text.length, MEMORY_OTHER);
    char *copy = (char *)e + head;
    memcpy(copy, text.bytes, text.length);
    size_t start = 0;
    e->argc = argc;
    for (int i = 0; i < argc; i++) e->argv[i] = next_part(copy, &start, ends[i]);
    e->address = next_part(copy, &start, ends[argc]);
    e->name = next_part(copy, &start, ends[argc + 1]);
    buffer_free(&text);
    return e;
}

static void drop_oldest(void) {
    struct slowlog_entry *oldest = LIST_ENTRY(entries.previous, struct slowlog_entry, link);
    list_remove(&oldest->link);
    memory_free(oldest, MEMORY_OTHER);
    entry_count--;
}

static void free_list(void *argument) {
    struct list_link *list = argument;
    size_t count = 0;
    LIST_FOR_EACH (link, following, list) {
        memory_free(LIST_ENTRY(link, struct slowlog_entry, link), MEMORY_OTHER);
        if (++count % DROP_AT_ONCE == 0) memory_publish();
    }
    memory_free(list, MEMORY_OTHER);
}

/* Returns the newest entry behind the first `stay` ones. Walks from the nearer end of the list. */
static struct list_link *first_beyond(size_t stay) {
    struct list_link *link = &entries;
    size_t dropped = entry_count - stay;
    if (dropped < stay) {
        while (dropped--) link = link->previous;
        return link;
    }
    while (stay--) link = link->next;
    return link->next;
}

/* Drops all entries behind the first `stay` ones. Many are freed in the background, because a log
 * of a million entries may be cut to a hundred. */
static void drop_beyond(size_t stay) {
    if (entry_count <= stay) return;
    if (entry_count - stay <= DROP_AT_ONCE) {
        while (entry_count > stay) drop_oldest();
        return;
    }
    struct list_link *list = memory_alloc(sizeof(*list), MEMORY_OTHER);
    struct list_link *first = first_beyond(stay), *last = entries.previous;
    first->previous->next = &entries;
    entries.previous = first->previous;
    *list = (struct list_link){.next = first, .previous = last};
    first->previous = last->next = list;
    entry_count = stay;
    background_submit(&background_free, free_list, list);
}

bool slowlog_wants(const struct call *call, int64_t nsec) {
    if (slower_than_usec < 0 || nsec / 1000 < slower_than_usec) return false;
    return !(call->command->flags & COMMAND_SKIP_SLOWLOG);
}

struct slowlog_entry *slowlog_prepare(const struct call *call,
                                      const struct attribution_span *span) {
    struct slowlog_entry *e = slowlog_entry_create(call);
    e->usec = span->wall_usec;
    e->span = *span;
    return e;
}

void slowlog_take_prepared(struct slowlog_entry *e, int64_t nsec) {
    e->id = next_id++;
    e->wall_seconds = clock_wall_usec() / 1000000;
    e->usec += nsec / 1000;
    e->span.wall_usec = e->usec;
    list_prepend(&entries, &e->link);
    entry_count++;
    drop_beyond((size_t)entries_max);
}

void slowlog_free_prepared(struct slowlog_entry *entry) { memory_free(entry, MEMORY_OTHER); }

void slowlog_note(const struct call *call, const struct attribution_span *span) {
    slowlog_take_prepared(slowlog_prepare(call, span), 0);
}

size_t slowlog_length(void) { return entry_count; }

static const struct slowlog_entry *entry_or_end(const struct list_link *link) {
    return link == &entries ? NULL : LIST_ENTRY(link, const struct slowlog_entry, link);
}

const struct slowlog_entry *slowlog_newest(void) { return entry_or_end(entries.next); }
const struct slowlog_entry *slowlog_older(const struct slowlog_entry *entry) {
    return entry_or_end(entry->link.next);
}

/* ---- the verdict ---- */

/* Returns what kept the thread from running, as far as its counters tell. */
static const char *off_cpu_reason(const struct attribution_span *s) {
    int64_t delay_usec = s->run_delay_usec, quarter_usec = s->off_cpu_usec / 4;
    if (delay_usec < 0) delay_usec = s->involuntary_switches > 0 ? s->off_cpu_usec : 0;
    if (s->major_faults > 0) return "it waited for memory to be read from disk: swap, or a file";
    if (delay_usec >= 3 * quarter_usec)
        return "other work had its processor: a neighbour, a child, a quota";
    if (delay_usec >= quarter_usec)
        return "partly other work had its processor, partly it was stopped or asleep";
    if (s->voluntary_switches > 0)
        return "it was stopped or asleep, or waited for the disk or a lock";
    return "the host had its processor: a hypervisor, or a machine that stood still";
}

/* A part of the entry's time, and the text for it. */
struct share {
    int64_t usec;
    const char *text;
    const char *finding; /* of struct advice */
};

static int percent_of(int64_t usec, int64_t wall_usec) {
    return wall_usec > 0 ? (int)((usec * 100 + wall_usec / 2) / wall_usec) : 0;
}

static void append_share(const struct share *share, const struct attribution_span *s,
                         struct buffer *out) {
    int of_hundred = percent_of(share->usec, s->wall_usec);
    buffer_printf(out, "%d %% of the time %s", of_hundred > 100 ? 100 : of_hundred, share->text);
    if (!strcmp(share->text, NOT_RUNNING)) buffer_printf(out, " (%s)", off_cpu_reason(s));
}

static bool is_split(const struct attribution_span *s) {
    return s->cpu_usec >= 0 && s->wall_usec * 1000 >= ATTRIBUTION_STEP_NSEC;
}

/* The two largest parts of the time, the largest first; the span is split (is_split). */
static void find_shares(const struct attribution_span *s, struct share largest[2]) {
    struct share shares[2 + CAUSES_MAX] = {
        {s->cpu_usec, "the command itself worked", "command"},
        {s->off_cpu_usec, NOT_RUNNING, "off-cpu"},
    };
    size_t count = 2;
    for (unsigned i = 0; i < cause_count(); i++) {
        const struct cause *cause = cause_at(i);
        if (!cause->verdict) continue;
        int64_t usec = s->cause_usec[cause->number];
        shares[count++] = (struct share){usec, cause->verdict, cause->name};
        shares[0].usec -= usec;
    }
    if (shares[0].usec < 0) shares[0].usec = 0;
    size_t first = 0;
    for (size_t i = 1; i < count; i++)
        if (shares[i].usec > shares[first].usec) first = i;
    size_t second = first == 0 ? 1 : 0;
    for (size_t i = 0; i < count; i++)
        if (i != first && shares[i].usec > shares[second].usec) second = i;
    largest[0] = shares[first];
    largest[1] = shares[second];
}

void slowlog_append_verdict(const struct slowlog_entry *entry, struct buffer *out) {
    const struct attribution_span *s = &entry->span;
    struct share largest[2];
    if (!is_split(s)) {
        buffer_append_c_string(out, s->cpu_usec < 0 ? "Not measured: latency-attribution was off."
                                                    : "Too short to be split.");
        return;
    }
    find_shares(s, largest);
    bool mixed = percent_of(largest[1].usec, s->wall_usec) >= VERDICT_MIXED_PERCENT;
    buffer_append_c_string(out, mixed ? "Mixed: for " : "For ");
    append_share(&largest[0], s, out);
    if (mixed) {
        buffer_append_c_string(out, ", for ");
        append_share(&largest[1], s, out);
    }
    buffer_append_char(out, '.');
}

void slowlog_append_advice(const struct slowlog_entry *entry, struct buffer *out) {
    struct share largest[2];
    if (!is_split(&entry->span)) return;
    find_shares(&entry->span, largest);
    const struct advice *advice = advice_find(largest[0].finding);
    if (advice) advice_append_option(advice, out);
}

void slowlog_reset(void) { drop_beyond(0); }
