/* SPDX-License-Identifier: BSD-3-Clause
 * Copying for a save by walk.
 *
 *   frontier_step --> walk_emit --> the main lane -------------------> blocks to the scribe
 *   doors ----------> walk_emit --> the same, or, while a large value
 *                                   is in it in part, the side lane --> behind that value
 *
 * A small entry is one piece: its copy and, if its value is one block, that block's copy. Any other
 * value is written by its type's saving into a sink whose window is the block itself; slow
 * encodings (compressed texts, ziplists) are deferred to the scribe. A long string is copied in
 * parts.
 *
 * Invariants
 *  1. `record` is that of the entry that the main lane has in part. Where there is none, the side
 *     lane has no block and no bytes.
 *  2. A lane's `database` is that of the last key in it; -1: none yet.
 *  3. Blocks reach the scribe in the order in which the file has them.
 */
#include "save/walk.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/probes.h"
#include "base/stream.h"
#include "base/time_budget.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "exec/gates.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/row.h"
#include "net/batch.h"
#include "net/client.h"
#include "option/option.h"
#include "rdb/log_base.h"
#include "rdb/piece.h"
#include "rdb/rdb_save.h"
#include "save/scribe.h"
#include "store/entry.h"
#include "store/frontier.h"
#include "store/keyspace.h"
#include "value/rewritten.h"
#include "value/saved.h"
#include "value/shadow.h"

static struct cause walk_cause = {.name = "persistence", .place = 60};

/* The longest slice in a turn: too short for clients to notice. */
#define SLICE_NSEC INT64_C(500000)
/* A slice begins only when this much time may be spent, or half of what the budget can gather
 * (base/time_budget.h), because the first keys of a slice are cache misses, some hundred of
 * them. */
#define SLICE_MIN_NSEC (SLICE_NSEC / 2)
#define GATHERED_HALF_NSEC INT64_C(50000) /* for each percent */
/* Positions of a table in a step (some hundred keys), and weight of a large value's members
 * (value_spend): some ten microseconds between two readings of the clock. */
#define STEP_POSITIONS 256
#define STEP_WEIGHT 128
/* The walk pauses while the scribe is this far behind, because more would only take memory. */
#define WAITING_BYTES_MAX ((size_t)8 << 20)
/* The walk by itself never gets this far ahead of the scribe: keys change faster than it writes. */
#define PRESSED_BYTES (2 * WAITING_BYTES_MAX)
/* At this distance, which only writers can cause, writers wait. */
#define HELD_BYTES_MAX ((size_t)64 << 20)
/* A held request is asked again whenever a large value is out, so the number of its queued calls
 * and keys that are looked at each time is bounded: this many take some hundred microseconds. */
#define ASKED_MAX 1024
/* When this much waits beside a large value, the rest of the value is copied without regard to
 * time. */
#define ASIDE_BYTES_MAX ((size_t)16 << 20)
/* The smallest window of a sink: less room in a block is left unused. */
#define WINDOW_BYTES_MIN 512
/* Larger entries and values go through the type's saving instead of one piece. */
#define FLAT_BYTES_MAX 32768

/* How many bytes of a key the log shows. */
#define KEY_SHOWN(length) ((length) < 64 ? (length) : 64)

#define NSEC_PER_MSEC 1000000

/* A window without room. */
static char nowhere[1];

struct lane {
    struct scribe_block *open; /* being filled; NULL: none */
    struct scribe_block *full, **end;
    size_t bytes; /* of all full blocks */
    int database;
};

/* A sink into a lane. `sink` is first, so that the sink's functions find the tape. */
struct tape {
    struct sink sink;
    struct lane *lane;
    struct piece *piece; /* the piece whose body the window is */
    bool begins;         /* the next piece is a key's first */
};

static struct {
    struct scribe *scribe; /* NULL: no save is under way */
    enum saver_format format;
    bool copying;      /* scribe_end was not called yet */
    bool with_recency; /* the policy keeps recency, and the file has it */
    bool failed;       /* a value that no file can hold: the save is given up at the next step */
    uint64_t keys_total;
    uint64_t main_nsec_before; /* main_nsec when the walk began */
    struct lane lane, aside;
    struct {
        const struct entry *entry; /* NULL: none */
        struct tape tape;
        struct save_cursor cursor;
        struct slice text; /* a long string's */
        size_t copied;     /* of it */
    } record;
    bool record_ended; /* a record has ended since let_go */
    struct time_budget budget;
} walk;

static int64_t budget_percent;
static uint64_t copied_bytes, main_nsec, last_ahead, last_rushed, writers_held;

/* ---- lanes ---- */

static void lane_init(struct lane *l) {
    *l = (struct lane){.database = -1};
    l->end = &l->full;
}

/* Passes the open block on; none: nothing. */
static void lane_close(struct lane *l) {
    struct scribe_block *b = l->open;
    l->open = NULL;
    if (!b) return;
    copied_bytes += b->used;
    if (l == &walk.lane) {
        scribe_take(walk.scribe, b);
        return;
    }
    b->next = NULL;
    *l->end = b;
    l->end = &b->next;
    l->bytes += sizeof(*b);
}

static unsigned char *lane_room(struct lane *l, size_t bytes) {
    ASSERT_COMPARE(bytes, <=, SCRIBE_BLOCK_BYTES);
    if (l->open && SCRIBE_BLOCK_BYTES - l->open->used < bytes) lane_close(l);
    if (!l->open) l->open = scribe_block_create();
    return l->open->bytes + l->open->used;
}

static struct piece *piece_open(struct lane *l, enum piece_kind kind, size_t bytes) {
    struct piece *p = (struct piece *)(void *)lane_room(l, piece_aligned(sizeof(*p) + bytes));
    *p = (struct piece){.kind = (uint8_t)kind, .bytes = (uint32_t)bytes};
    return p;
}

static void piece_close(struct lane *l, const struct piece *p) { l->open->used += piece_span(p); }

static void lane_bytes(struct lane *l, const void *bytes, size_t length) {
    struct piece *p = piece_open(l, PIECE_BYTES, length);
    memcpy(p->body, bytes, length);
    piece_close(l, p);
}

/* Puts the blocks that waited beside a large value behind it. */
static void join_lanes(void) {
    struct lane *l = &walk.aside;
    lane_close(l);
    if (l->full) lane_close(&walk.lane);
    for (struct scribe_block *b = l->full, *next; b; b = next) {
        next = b->next;
        scribe_take(walk.scribe, b);
    }
    if (l->database >= 0) walk.lane.database = l->database;
    lane_init(l);
}

static void lane_drop(struct lane *l) {
    if (l->open) scribe_block_free(l->open);
    for (struct scribe_block *b = l->full, *next; b; b = next) {
        next = b->next;
        scribe_block_free(b);
    }
    lane_init(l);
}

/* ---- a sink into a lane ---- */

static void tape_open_window(struct tape *t) {
    struct lane *l = t->lane;
    t->piece = piece_open(l, PIECE_BYTES, WINDOW_BYTES_MIN);
    t->piece->begins = t->begins;
    t->begins = false;
    size_t room = SCRIBE_BLOCK_BYTES - l->open->used - sizeof(*t->piece);
    sink_set_window(&t->sink, (char *)t->piece->body, room & ~(size_t)7);
}

static void tape_close_window(struct tape *t) {
    size_t length = sink_window(&t->sink).length;
    if (length == 0) {
        t->begins = t->piece->begins;
        return;
    }
    t->piece->bytes = (uint32_t)length;
    piece_close(t->lane, t->piece);
}

/* Copies a text in PIECE_PART pieces. */
static void tape_text(struct tape *t, unsigned how, struct slice text, bool is_last) {
    enum { PART_BYTES = SCRIBE_BLOCK_BYTES / 2 };
    do {
        size_t length = text.length < PART_BYTES ? text.length : PART_BYTES;
        struct piece *p = piece_open(t->lane, PIECE_PART, length);
        p->how = (uint8_t)how;
        p->begins = t->begins;
        t->begins = false;
        p->ends = is_last && length == text.length;
        if (length) memcpy(p->body, text.bytes, length);
        piece_close(t->lane, p);
        text.bytes += length;
        text.length -= length;
    } while (text.length);
}

static bool tape_drain(struct sink *sink, const void *more, size_t length) {
    struct tape *t = (struct tape *)sink;
    tape_close_window(t);
    for (const char *at = more; length;) {
        size_t part = length < FLAT_BYTES_MAX ? length : FLAT_BYTES_MAX;
        struct piece *p = piece_open(t->lane, PIECE_BYTES, part);
        p->begins = t->begins;
        t->begins = false;
        memcpy(p->body, at, part);
        piece_close(t->lane, p);
        at += part;
        length -= part;
    }
    tape_open_window(t);
    return true;
}

static void tape_defer(struct sink *sink, unsigned how, struct slice bytes) {
    struct tape *t = (struct tape *)sink;
    tape_close_window(t);
    if (bytes.length <= FLAT_BYTES_MAX) {
        struct piece *p = piece_open(t->lane, PIECE_DEFERRED, bytes.length);
        p->how = (uint8_t)how;
        p->begins = t->begins;
        t->begins = false;
        if (bytes.length) memcpy(p->body, bytes.bytes, bytes.length);
        piece_close(t->lane, p);
    } else {
        tape_text(t, how, bytes, true);
    }
    tape_open_window(t);
}

static const struct sink_type snapshot_tape = {.drain = tape_drain, .defer = tape_defer};
static const struct sink_type commands_tape = {.drain = tape_drain};

static void tape_begin(struct tape *t, struct lane *l) {
    bool commands = walk.format == SAVER_COMMANDS;
    sink_init(&t->sink, commands ? &commands_tape : &snapshot_tape, nowhere, 0);
    t->lane = l;
    t->begins = true;
    tape_open_window(t);
}

/* Closes the window between two steps, because the next step may write to another block. */
static void tape_pause(struct tape *t) {
    tape_close_window(t);
    sink_set_window(&t->sink, nowhere, 0);
    t->piece = NULL;
}

/* ---- entries ---- */

/* The keys that follow are of this database. The number of its keys stands in the file's head. */
static void select_database(struct lane *l, int database) {
    struct buffer text;
    struct buffer_sink out;
    if (l->database == database) return;
    l->database = database;
    buffer_init(&text, MEMORY_SAVES);
    buffer_sink_init(&out, &text);
    if (walk.format == SAVER_COMMANDS)
        log_base_select(&out.sink, database);
    else
        rdb_save_database(&out.sink, database, false);
    buffer_sink_end(&out);
    lane_bytes(l, text.bytes, text.length);
    buffer_free(&text);
}

static bool is_long_string(const struct entry *e, size_t entry_bytes) {
    return e->type == ENTRY_STRING && e->flags & ENTRY_BLOB &&
           entry_bytes + blob_slice(entry_blob(e)).length > FLAT_BYTES_MAX;
}

/* The one block that the value is; NULL bytes: it is not one block. */
static struct slice flat_value(const struct entry *e) {
    if (e->type == ENTRY_STRING) return blob_slice(entry_blob(e));
    const struct value_type *type = value_type(e->type);
    return type->flat ? type->flat(entry_object(e)) : (struct slice){NULL, 0};
}

static void copy_entry(struct lane *l, const struct entry *e, size_t entry_bytes) {
    struct piece *p = piece_open(l, PIECE_ENTRY, entry_bytes);
    p->begins = true;
    memcpy(p->body, e, entry_bytes);
    piece_close(l, p);
}

static void copy_flat(struct lane *l, const struct entry *e, size_t entry_bytes,
                      struct slice value) {
    size_t at = piece_aligned(entry_bytes);
    struct piece *p = piece_open(l, PIECE_FLAT, sizeof(struct piece_flat) + at + value.length);
    struct piece_flat *flat = (struct piece_flat *)(void *)p->body;
    p->begins = true;
    *flat = (struct piece_flat){(uint32_t)entry_bytes, (uint32_t)value.length};
    memcpy(flat->body, e, entry_bytes);
    if (value.length) memcpy(flat->body + at, value.bytes, value.length);
    piece_close(l, p);
}

/* True where the entry went as one piece. */
static bool copy_whole(struct lane *l, const struct entry *e, size_t entry_bytes) {
    if (entry_bytes > FLAT_BYTES_MAX / 2) return false;
    if (e->type == ENTRY_STRING && !(e->flags & ENTRY_BLOB)) {
        copy_entry(l, e, entry_bytes);
        return true;
    }
    struct slice value = flat_value(e);
    if (!value.bytes || entry_bytes + value.length > FLAT_BYTES_MAX) return false;
    copy_flat(l, e, entry_bytes, value);
    return true;
}

/* ---- values that are more than a block ---- */

static void write_string_head(struct sink *out, const struct entry *e, size_t length) {
    if (walk.format != SAVER_COMMANDS) {
        piece_write_head(e, out);
        return;
    }
    rewritten_begin(out, 3);
    rewritten_text(out, SLICE("SET"));
    rewritten_text(out, entry_key(e));
    rewritten_text_begin(out, length);
}

static struct shadow *shadow_of_entry(const struct entry *e) {
    return e->type == ENTRY_STRING ? NULL : shadow_of(e->type, entry_object(e));
}

static void begin_record(struct lane *l, const struct entry *e) {
    struct tape *t = &walk.record.tape;
    walk.record.entry = e;
    walk.record.cursor = (struct save_cursor){.shadow = shadow_of_entry(e)};
    walk.record.text = (struct slice){NULL, 0};
    walk.record.copied = 0;
    tape_begin(t, l);
    if (is_long_string(e, entry_allocation(e))) {
        walk.record.text = blob_slice(entry_blob(e));
        write_string_head(&t->sink, e, walk.record.text.length);
    } else if (walk.format != SAVER_COMMANDS) {
        piece_write_head(e, &t->sink);
    }
    tape_pause(t);
}

/* Copies a part of a long string; true when all is copied. */
static bool copy_text(struct tape *t, size_t bytes) {
    struct slice rest = walk.record.text;
    rest.bytes += walk.record.copied;
    rest.length -= walk.record.copied;
    bool last = bytes >= rest.length;
    if (!last) rest.length = bytes;
    walk.record.copied += rest.length;
    if (walk.format != SAVER_COMMANDS) {
        tape_text(t, SAVED_DEFERRED_TEXT, rest, last);
        return last;
    }
    tape_open_window(t);
    sink_write(&t->sink, rest.bytes, rest.length);
    if (last) rewritten_text_end(&t->sink);
    tape_pause(t);
    return last;
}

static bool save_on(struct tape *t, const struct entry *e, size_t budget) {
    const struct value_type *type = value_type(e->type);
    struct save_cursor *c = &walk.record.cursor;
    struct string_value room;
    struct value v = entry_value(e, &room);
    c->budget = budget;
    c->key = entry_key(e);
    tape_open_window(t);
    bool all = walk.format == SAVER_COMMANDS ? type->rewrite(v, entry_key(e), c, &t->sink)
                                             : type->save(v, c, &t->sink);
    tape_pause(t);
    if (sink_error(&t->sink) && !walk.failed) {
        struct slice key = entry_key(e);
        log_warning("A value cannot be saved, of the key %.*s: %s", (int)KEY_SHOWN(key.length),
                    key.bytes, strerror(sink_error(&t->sink)));
        walk.failed = true;
    }
    return all;
}

static void end_record(void) {
    struct tape *t = &walk.record.tape;
    const struct entry *e = walk.record.entry;
    if (walk.format == SAVER_COMMANDS) {
        tape_open_window(t);
        piece_write_deadline(e, &t->sink);
        tape_pause(t);
    }
    save_cursor_end(&walk.record.cursor);
    walk.record.entry = NULL;
    walk.record_ended = true;
}

/* True when the record's entry is out. */
static bool go_on(size_t budget) {
    const struct entry *e = walk.record.entry;
    size_t bytes = budget < SIZE_MAX / VALUE_MEMBER_BYTES ? budget * VALUE_MEMBER_BYTES : SIZE_MAX;
    bool all = walk.record.text.bytes ? copy_text(&walk.record.tape, bytes)
                                      : save_on(&walk.record.tape, e, budget);
    if (all) end_record();
    return all;
}

/* Writes the database, if it changes, and the recency. True where the entry then went as one
 * piece. */
static bool begin_entry(struct lane *l, int database, const struct entry *e) {
    char recency[PIECE_RECENCY_BYTES_MAX];
    select_database(l, database);
    size_t length = walk.with_recency ? piece_recency(e, recency) : 0;
    if (length) lane_bytes(l, recency, length);
    return copy_whole(l, e, entry_allocation(e));
}

/* Copies an entry whole into the side lane, while another is out in part. */
static void emit_aside(int database, const struct entry *e) {
    struct lane *l = &walk.aside;
    if (begin_entry(l, database, e)) return;
    /* The main lane's record waits meanwhile. */
    typeof(walk.record) outer = walk.record;
    begin_record(l, e);
    while (!go_on(SIZE_MAX)) continue;
    walk.record = outer;
}

/* Notes how long it took to copy a value of several pieces at once, if latency or a probe asks. */
static void note_copy(const struct entry *e, int64_t begun_nsec) {
    if (!begun_nsec) return;
    int64_t nsec = clock_monotonic_nsec() - begun_nsec;
    latency_note("walk-copy", nsec / NSEC_PER_MSEC);
    PROBE3(walk__copy, entry_key(e).bytes, entry_key(e).length, nsec);
}

static int64_t copy_begins(size_t budget) {
    if (budget != SIZE_MAX || !(latency_is_on() || PROBE_IS_TRACED(walk__copy))) return 0;
    return clock_monotonic_nsec();
}

static bool walk_emit(int database, const struct entry *e, size_t budget, void *context) {
    struct lane *l = &walk.lane;
    int64_t begun_nsec;
    if (walk.record.entry && walk.record.entry != e) {
        begun_nsec = copy_begins(SIZE_MAX);
        emit_aside(database, e);
        note_copy(e, begun_nsec);
        return true;
    }
    if (!walk.record.entry) {
        if (begin_entry(l, database, e)) return true;
        begin_record(l, e);
    }
    begun_nsec = copy_begins(budget);
    bool all = go_on(budget);
    if (all) join_lanes();
    note_copy(e, begun_nsec);
    return all;
}

/* ---- who must wait ---- */

static struct list_link held = {&held, &held}; /* of struct client.held_link */
static bool held_behind;                       /* some are held because the scribe is far behind */
static int64_t held_since_nsec;                /* when the first of them was held */

/* Lets the held calls go: the gate asks them again. */
static void let_go(void) {
    held_behind = walk.record_ended = false;
    if (!list_is_empty(&held) && latency_is_on())
        latency_note("walk-held", (clock_monotonic_nsec() - held_since_nsec) / NSEC_PER_MSEC);
    while (!list_is_empty(&held)) batch_resume(LIST_ENTRY(held.next, struct client, held_link));
}

struct ask {
    const struct call *call; /* whose keys are looked up */
    int left;                /* calls and keys that may still be looked at */
    bool awaits;             /* a key was found that is to be changed and awaits the save */
};

static bool goes_on(struct ask *ask) { return !ask->awaits && --ask->left > 0; }

static bool ask_key(int index, void *context) {
    struct ask *ask = context;
    const struct key key = call_key(ask->call, index);
    ask->awaits = keyspace_awaits_save(&key, ask->call->command->changes);
    return goes_on(ask);
}

static bool ask_call(const struct call *call, void *context) {
    struct ask *ask = context;
    ask->call = call;
    if (call->command->flags & COMMAND_WRITE)
        command_each_key(&(struct key_search){call->command, call->argc, call->argv, ask_key, ask});
    return goes_on(ask);
}

static bool any_key_awaits(const struct call *call) {
    struct ask ask = {.left = ASKED_MAX};
    gate_each_call(call, ask_call, &ask);
    return ask.awaits;
}

static bool is_far_behind(void) { return scribe_waiting(walk.scribe) >= HELD_BYTES_MAX; }

/* EXEC is held as a whole, before it runs, for the values that its commands change. A value that a
 * script or a module changes is copied at once, because a call within a call cannot wait. So is a
 * value behind a SELECT in EXEC, and one beyond ASKED_MAX. */
static bool should_wait(const struct call *call) {
    if (!gate_call_writes(call) || batch_is_within()) return false;
    return is_far_behind() || any_key_awaits(call);
}

static enum gate_verdict walk_hold(const struct call *call) {
    if (is_far_behind()) held_behind = true;
    writers_held++;
    PROBE2(walk__held, call->client->id, scribe_waiting(walk.scribe));
    if (list_is_empty(&held)) held_since_nsec = clock_monotonic_nsec();
    batch_hold_request(call->request);
    list_append(&held, &call->client->held_link);
    return GATE_HELD;
}

struct gate walk_gate = {
    .origins = GATE_FROM(CALL_NETWORK), .stops = should_wait, .stop = walk_hold};

/* Lets calls go where the cause of their waiting may have ended. */
static void look_at_held(void) {
    if (walk.record_ended || (held_behind && !is_far_behind())) let_go();
}

/* ---- a save ---- */

static uint64_t keys_copied(void) {
    struct frontier_progress p;
    frontier_progress(&p);
    return p.done;
}

static void write_head(struct buffer *head) {
    struct buffer_sink out;
    bool preamble = walk.format == SAVER_PREAMBLE;
    buffer_init(head, MEMORY_SAVES);
    if (walk.format == SAVER_COMMANDS) return;
    buffer_sink_init(&out, head);
    rdb_save_head(&out.sink, preamble);
    for (int i = 0; i < keyspace_databases(); i++)
        if (keyspace_count(keyspace_at(i))) rdb_save_database(&out.sink, i, true);
    buffer_sink_end(&out);
}

static void write_tail(struct buffer *tail) {
    struct buffer_sink out;
    buffer_init(tail, MEMORY_SAVES);
    if (walk.format == SAVER_COMMANDS) return;
    buffer_sink_init(&out, tail);
    rdb_save_tail(&out.sink, walk.format == SAVER_PREAMBLE);
    buffer_sink_end(&out);
}

void walk_begin(const struct saver_job *job, int id, void (*wake)(void)) {
    struct scribe_plan plan = {.job = *job,
                               .id = id,
                               .threads = rdb_threads(),
                               .key_delay_usec = rdb_save_delay_usec(),
                               .wake = wake};
    ASSERT(!walk.scribe);
    walk.format = job->format;
    walk.with_recency = job->format != SAVER_COMMANDS && piece_has_recency();
    write_head(&plan.head);
    write_tail(&plan.tail);
    walk.scribe = scribe_create(&plan);
    walk.copying = true;
    walk.failed = false;
    walk.keys_total = rdb_keys_total();
    walk.main_nsec_before = main_nsec;
    PROBE1(walk__start, walk.keys_total);
    lane_init(&walk.lane);
    lane_init(&walk.aside);
    time_budget_start(&walk.budget, budget_percent, clock_monotonic_nsec());
    frontier_begin(walk_emit, NULL);
    gate_set(&walk_gate, true);
}

bool walk_may_join(void) { return walk.copying && keys_copied() == 0; }
void walk_join(const struct saver_job *job) { scribe_join(walk.scribe, job); }
void walk_leave(const void *argument) { scribe_leave(walk.scribe, argument); }

bool walk_is_under_way(void) { return walk.scribe != NULL; }
bool walk_is_copying(void) { return walk.copying; }

bool walk_is_pressed(void) {
    return walk.copying && scribe_waiting(walk.scribe) + frontier_kept_bytes() >= PRESSED_BYTES;
}

static void note_progress(void) {
    struct frontier_progress p;
    frontier_progress(&p);
    last_ahead = p.ahead;
    last_rushed = p.rushed;
}

static void end_copying(bool whole) {
    note_progress();
    walk.copying = false;
    gate_set(&walk_gate, false);
    let_go();
    if (whole) {
        lane_close(&walk.lane);
    } else {
        if (walk.record.entry) save_cursor_end(&walk.record.cursor);
        walk.record.entry = NULL;
        lane_drop(&walk.lane);
        lane_drop(&walk.aside);
    }
    PROBE3(walk__done, keys_copied(), main_nsec - walk.main_nsec_before, whole);
    scribe_end(walk.scribe, whole);
}

void walk_give_up(void) {
    if (!walk.copying) {
        if (walk.scribe) scribe_give_up(walk.scribe);
        return;
    }
    frontier_abort();
    end_copying(false);
}

void walk_turn(void) {
    if (!walk.copying) return;
    time_budget_turn(&walk.budget);
    frontier_turn();
}

/* Whether copying goes on without regard to its share of time: calls are held, or much waits
 * aside. */
static bool is_urgent(void) {
    return walk.aside.bytes >= ASIDE_BYTES_MAX || (!list_is_empty(&held) && !is_far_behind());
}

static bool may_rest(void) {
    return scribe_waiting(walk.scribe) >= WAITING_BYTES_MAX && !is_urgent();
}

/* Copies for `granted_nsec` at most, and ends the copying after the last key. */
static void copy_slice(int64_t begun_nsec, int64_t granted_nsec) {
    int64_t now_nsec = begun_nsec;
    bool done = false;
    while (!done && now_nsec - begun_nsec < granted_nsec && !may_rest()) {
        done = frontier_step(STEP_POSITIONS, STEP_WEIGHT);
        now_nsec = clock_monotonic_nsec();
    }
    time_budget_spend(&walk.budget, begun_nsec, now_nsec);
    main_nsec += (uint64_t)(now_nsec - begun_nsec);
    if (latency_is_on()) latency_note("walk-slice", (now_nsec - begun_nsec) / NSEC_PER_MSEC);
    PROBE2(walk__slice, keys_copied(), now_nsec - begun_nsec);
    if (done) end_copying(!walk.failed);
}

static int64_t slice_least(void) {
    int64_t half = GATHERED_HALF_NSEC * budget_percent;
    return half < SLICE_MIN_NSEC ? half : SLICE_MIN_NSEC;
}

bool walk_step(void) {
    if (!walk.copying || batch_is_within()) return false;
    if (walk.failed || scribe_has_failed(walk.scribe)) {
        walk_give_up();
        return false;
    }
    look_at_held();
    int64_t now_nsec = clock_monotonic_nsec();
    int64_t granted_nsec = time_budget_left(&walk.budget, now_nsec);
    if (is_urgent() || granted_nsec > SLICE_NSEC) granted_nsec = SLICE_NSEC;
    if (granted_nsec < slice_least() || may_rest()) return false;
    const struct cause *previous = cause_enter(&walk_cause, now_nsec);
    copy_slice(now_nsec, granted_nsec);
    cause_leave(previous, clock_monotonic_nsec());
    if (walk.copying) look_at_held();
    if (!walk.copying || may_rest()) return false;
    return is_urgent() || time_budget_left(&walk.budget, clock_monotonic_nsec()) >= slice_least();
}

bool walk_end(bool *good) {
    if (!walk.scribe || walk.copying || !scribe_has_ended(walk.scribe, good)) return false;
    scribe_free(walk.scribe);
    walk.scribe = NULL;
    return true;
}

void walk_await_end(int64_t msec) {
    int64_t until = clock_monotonic_nsec() + msec * INT64_C(1000000);
    bool good[SAVER_JOBS_MAX];
    while (walk.scribe && !scribe_has_ended(walk.scribe, good) && clock_monotonic_nsec() < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void walk_progress(uint64_t *done, uint64_t *total) {
    *done = walk.scribe ? scribe_keys(walk.scribe) : 0;
    *total = walk.scribe ? walk.keys_total : 0;
}

void walk_forget(void) {
    frontier_forget();
    walk.scribe = NULL;
    walk.copying = false;
}

/* ---- options and INFO ---- */

static bool apply_budget(const struct option_row *row, char *reason, size_t reason_size) {
    if (walk.copying) time_budget_start(&walk.budget, budget_percent, clock_monotonic_nsec());
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "snapshot-cpu-budget",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "snapshots",
     .place = 37,
     .fallback = "10",
     .variable = &budget_percent,
     .low = 1,
     .high = 100,
     .apply = apply_budget,
     .help = "Percent of the main thread's time that a save by snapshot-method walk may take: ten "
             "million small keys take some 16 seconds at 10, and one second at 100."},
};

static void print_waiting(const struct metric_row *row, struct buffer *out) {
    buffer_printf(
        out, "%zu",
        walk.scribe ? scribe_waiting(walk.scribe) + walk.aside.bytes + shadow_bytes() : 0);
}
static void print_usec(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%llu", (unsigned long long)(main_nsec / 1000));
}
static void print_ahead(const struct metric_row *row, struct buffer *out) {
    if (walk.copying) note_progress();
    buffer_printf(out, "%llu", (unsigned long long)last_ahead);
}
static void print_rushed(const struct metric_row *row, struct buffer *out) {
    if (walk.copying) note_progress();
    buffer_printf(out, "%llu", (unsigned long long)last_rushed);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Persistence", 132, "walk_waiting_bytes", METRIC_BYTES, print_waiting,
                 "Bytes that a save by walk has copied and not written yet."),
    {.section = "Persistence",
     .place = 133,
     .name = "walk_copied_bytes",
     .measure = METRIC_COUNTER_BYTES,
     .type = METRIC_UINT64,
     .variable = &copied_bytes,
     .reset = true,
     .help = "Bytes that saves by walk have copied."},
    METRIC_PRINT("Persistence", 134, "walk_main_thread_usec", METRIC_COUNTER_USEC, print_usec,
                 "Microseconds of the main thread that saves by walk took, without those for keys "
                 "that were about to change."),
    METRIC_PRINT("Persistence", 135, "walk_keys_ahead", METRIC_GAUGE, print_ahead,
                 "Keys that the last save by walk copied because they were about to change."),
    METRIC_PRINT("Persistence", 136, "walk_values_rushed", METRIC_GAUGE, print_rushed,
                 "Large values that the last save by walk copied at once because they were about "
                 "to change."),
    {.section = "Persistence",
     .place = 137,
     .name = "walk_writers_held",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &writers_held,
     .reset = true,
     .help = "How often a write waited for a save by walk: until its large key was copied, or the "
             "disk was less far behind."},
};

void walk_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    cause_register(&walk_cause);
}
