/* SPDX-License-Identifier: BSD-3-Clause
 * Sources and sinks of a replay.
 *
 * Invariants
 *  1. All of this is used by one thread of load/ at a time; the calling thread only waits.
 *  2. A batch has a ticket from when it is made until its last answer. The ticket has a line for
 *     each of the batch's requests.
 *  3. Keys that `seen` lacks were not named by the trace so far.
 *  4. `under_way` is the sum of the bytes of all tickets that are not free, and never above the
 *     settings' memory. A request that would pass it is left out and counted, because a trace of
 *     some kilobytes can ask for any amount: its values are only sizes.
 */
#include "replay/replay_load.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "load/load_run.h"
#include "replay/replay_keys.h"
#include "replay/replay_trace.h"
#include "tools/tool_end.h"
#include "tools/tool_greeting.h"
#include "trace_file/trace_file_reader.h"

/* The most requests of a batch: an MGET of so many keys is taken apart. */
#define BATCH_REQUESTS_MAX 1024
/* A key's content takes so many requests at most: SELECT, the key, PEXPIRE. */
#define CONTENT_REQUESTS_MAX 3
#define BATCH_BYTES_ENOUGH ((size_t)1 << 20)
#define PRELOAD_BATCH_BYTES 65536
#define PRELOAD_CONNECTIONS 8
/* The longest wait for the last answers. */
#define DRAIN_NSEC INT64_C(10000000000)
/* A free ticket keeps so much memory of what it was last used for. */
#define TICKET_KEPT_BYTES 16384
/* A server to which no connection can be made for so long is gone. */
#define GONE_MSEC 5000

enum line_kind { LINE_REQUEST, LINE_SELECT, LINE_FILL };

/* What is to be known of a request when its answer comes. */
struct line {
    enum line_kind kind;
    bool tells; /* nil means a miss */
    bool is_first, fills;
    uint32_t database;
    enum replay_type type;
    int64_t bytes, ttl_msec;
    size_t key_at, key_length; /* in the ticket's texts; only where it fills */
};

struct ticket {
    struct ticket *next;  /* of those that are free */
    struct ticket *older; /* of all */
    struct line *lines;
    unsigned count, room;
    struct buffer keys;
    size_t bytes; /* counted in `under_way` */
};

struct replay {
    const struct replay_settings *settings;
    struct replay_trace trace;
    struct replay_result *result;
    struct replay_keys seen;
    struct ticket *free_tickets, *newest_ticket;
    struct buffer bytes;   /* of the batch at hand */
    struct buffer filling; /* of the fill at hand */
    size_t under_way;
    uint64_t chance;
    bool is_over; /* the file's end */
    atomic_bool stop;
    uint64_t watched_requests, watched_refused;
    int64_t moved_msec; /* when an answer came last, as far as the watching thread has seen */
};

/* --- tickets ---------------------------------------------------------------------------------- */

static struct ticket *take_ticket(struct replay *p) {
    struct ticket *t = p->free_tickets;
    if (t) {
        p->free_tickets = t->next;
    } else {
        t = memory_zalloc(sizeof(*t), MEMORY_OTHER);
        t->keys.class = MEMORY_OTHER;
        t->older = p->newest_ticket;
        p->newest_ticket = t;
    }
    t->count = 0;
    buffer_clear(&t->keys);
    return t;
}

/* Counts what the ticket holds, with the bytes that are sent for it, until it is given back. False
 * where that would be too much: what was counted before stays. */
static bool count_under_way(struct replay *p, struct ticket *t, size_t sent) {
    size_t bytes = sent + t->keys.length + t->count * sizeof(*t->lines);
    if (bytes > t->bytes && bytes - t->bytes > p->settings->memory_bytes - p->under_way)
        return false;
    p->under_way = p->under_way - t->bytes + bytes;
    t->bytes = bytes;
    return true;
}

static void give_back(struct replay *p, struct ticket *t) {
    p->under_way -= t->bytes;
    t->bytes = 0;
    if (t->keys.capacity > TICKET_KEPT_BYTES) buffer_free(&t->keys);
    if (t->room * sizeof(*t->lines) > TICKET_KEPT_BYTES) {
        memory_free(t->lines, MEMORY_OTHER);
        t->lines = NULL;
        t->room = 0;
    }
    t->next = p->free_tickets;
    p->free_tickets = t;
}

static struct line *add_line(struct ticket *t, enum line_kind kind) {
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 4;
        t->lines = memory_realloc(t->lines, t->room * sizeof(*t->lines), MEMORY_OTHER);
    }
    struct line *line = &t->lines[t->count++];
    *line = (struct line){.kind = kind};
    return line;
}

/* The database that requests are for is selected by the greeting where the trace has only one. */
static void add_select(struct replay *p, struct ticket *t, uint32_t database, struct buffer *out) {
    if (!replay_trace_selects(p->settings->scan, p->settings->server)) return;
    replay_select_append(database, out);
    add_line(t, LINE_SELECT);
}

/* --- the source ------------------------------------------------------------------------------- */

static int64_t next_due(void *context, unsigned thread) {
    struct replay *p = context;
    return replay_trace_due(&p->trace);
}

/* Notes that the request names the key; fills in what its answer will tell. */
static void note_key(struct replay *p, struct ticket *t, struct line *line,
                     const struct trace_file_record *record, const struct replay_command *command,
                     const struct trace_file_argument *key) {
    uint64_t hash = replay_key_hash(record->database, key->text);
    bool is_new = replay_keys_add(&p->seen, hash), was_there = key->bytes >= 0;
    line->tells = command->nil_is_miss || command->each;
    line->is_first = is_new && was_there && !p->settings->preloads;
    line->fills = p->settings->fills && line->tells && was_there;
    if (!line->fills) return;
    line->database = record->database;
    line->type = command->type;
    line->bytes = key->bytes;
    line->ttl_msec = key->ttl_msec;
    line->key_at = t->keys.length;
    line->key_length = key->text.length;
    buffer_append(&t->keys, key->text.bytes, key->text.length);
}

static void note_other_keys(struct replay *p, const struct trace_file_record *record) {
    for (uint32_t i = 1; i < record->argument_count; i++)
        if (record->arguments[i].kind == TRACE_FILE_KEY)
            (void)replay_keys_add(&p->seen,
                                  replay_key_hash(record->database, record->arguments[i].text));
}

/* Appends one request for each key of the record, so that each one's miss is seen. */
static void append_apart(struct replay *p, struct ticket *t, const struct trace_file_record *record,
                         const struct replay_command *command) {
    static const struct trace_file_argument get = {.kind = TRACE_FILE_WORD,
                                                   .text = {"get", sizeof("get") - 1}};
    for (uint32_t i = 1; i < record->argument_count; i++) {
        const struct trace_file_argument *key = &record->arguments[i];
        if (key->kind != TRACE_FILE_KEY && key->kind != TRACE_FILE_OTHER_KEY) continue;
        struct trace_file_argument words[] = {get, *key};
        struct trace_file_record one = *record;
        one.arguments = words;
        one.argument_count = 2;
        replay_request_append(&one, replay_command_of(&one), &p->bytes, &p->chance);
        note_key(p, t, add_line(t, LINE_REQUEST), record, command, key);
    }
}

/* Appends the requests of one record to the batch. */
static void append_record(struct replay *p, struct ticket *t,
                          const struct trace_file_record *record,
                          const struct replay_command *command) {
    add_select(p, t, record->database, &p->bytes);
    if (p->settings->fills && command->each && record->argument_count <= BATCH_REQUESTS_MAX / 2) {
        append_apart(p, t, record, command);
        return;
    }
    replay_request_append(record, command, &p->bytes, &p->chance);
    struct line *line = add_line(t, LINE_REQUEST);
    bool has_one = command->nil_is_miss && record->argument_count > 1 &&
                   record->arguments[1].kind == TRACE_FILE_KEY;
    if (has_one)
        note_key(p, t, line, record, command, &record->arguments[1]);
    else
        note_other_keys(p, record);
}

/* Takes back what the batch has of its last record. */
static void drop_record(struct replay *p, struct ticket *t, unsigned lines, size_t bytes,
                        size_t keys) {
    t->count = lines;
    t->keys.length = keys;
    p->bytes.length = bytes;
    p->result->over_memory++;
}

/* A batch of requests that are sent at once gets no further request when it has so many bytes. Each
 * connection has its share of the memory, or one request. */
static size_t batch_bytes_enough(const struct replay *p) {
    size_t share = p->settings->memory_bytes / p->settings->clients;
    return share < BATCH_BYTES_ENOUGH ? share : BATCH_BYTES_ENOUGH;
}

static bool next_requests(void *context, unsigned thread, unsigned most, struct load_batch *batch) {
    struct replay *p = context;
    struct trace_file_record record;
    const struct replay_command *command;
    bool is_paced = p->settings->pace > 0;
    unsigned wanted = is_paced ? 1 : p->settings->pipeline;
    struct ticket *t = take_ticket(p);
    buffer_clear(&p->bytes);
    bool has_record = true, fits = true;
    /* All records that are sent have a key, and so a request. */
    for (unsigned i = 0; i < wanted && t->count <= most / 2; i += fits || is_paced) {
        unsigned lines = t->count;
        size_t bytes = p->bytes.length, keys = t->keys.length;
        if (bytes >= batch_bytes_enough(p)) break;
        has_record = replay_trace_next(&p->trace, &record, &command);
        if (!has_record) break;
        append_record(p, t, &record, command);
        fits = count_under_way(p, t, p->bytes.length);
        if (!fits) drop_record(p, t, lines, bytes, keys);
    }
    unsigned requests = t->count;
    *batch = (struct load_batch){
        .bytes = buffer_slice(&p->bytes), .replies = requests, .about = (uintptr_t)t};
    if (!requests) give_back(p, t);
    return requests || (is_paced && has_record);
}

/* --- the sink --------------------------------------------------------------------------------- */

static void count_error(struct replay_result *result, const char *text, unsigned count) {
    char kind[REPLAY_ERROR_CHARS];
    /* Texts of other codes than ERR may have addresses and names in them. */
    size_t length = strncmp(text, "ERR ", 4) ? strcspn(text, " ") : strlen(text);
    string_show((struct slice){text, length}, kind, sizeof(kind));
    unsigned i = 0;
    for (; i < REPLAY_ERROR_KINDS_MAX - 1 && result->error_kinds[i].count; i++)
        if (!strcmp(result->error_kinds[i].text, kind)) break;
    if (i == REPLAY_ERROR_KINDS_MAX - 1) snprintf(kind, sizeof(kind), "others");
    snprintf(result->error_kinds[i].text, sizeof(kind), "%s", kind);
    result->error_kinds[i].count += count;
}

/* Creates a key that was there when the trace was recorded. */
static void send_fill(struct replay *p, const struct ticket *t, const struct line *line,
                      const struct load_answer *answer) {
    struct ticket *own = take_ticket(p);
    const struct replay_content content = {
        {t->keys.bytes + line->key_at, line->key_length}, line->type, line->bytes, line->ttl_msec};
    buffer_clear(&p->filling);
    add_select(p, own, line->database, &p->filling);
    unsigned requests = replay_content_append(&content, &p->settings->overhead, &p->filling);
    while (requests--) add_line(own, LINE_FILL);
    const struct load_batch batch = {
        .bytes = buffer_slice(&p->filling), .replies = own->count, .about = (uintptr_t)own};
    bool fits = count_under_way(p, own, p->filling.length);
    if (fits && load_follow(answer, &batch)) {
        p->result->fills++;
        p->result->shrunk += line->bytes > REPLAY_REQUEST_BYTES_MAX;
        return;
    }
    p->result->unfilled += !fits;
    give_back(p, own);
}

static void take_line(struct replay *p, const struct ticket *t, const struct line *line,
                      const struct load_answer *answer) {
    struct replay_result *r = p->result;
    bool failed = answer->outcome == LOAD_ERROR || answer->outcome == LOAD_OOM;
    if (failed && answer->error) count_error(r, answer->error, 1);
    if (line->kind != LINE_REQUEST) return;
    if (failed) {
        r->errors++;
    } else if (answer->outcome == LOAD_LOST) {
        r->lost++;
    } else if (answer->outcome == LOAD_UNANSWERED) {
        r->unanswered++;
    } else {
        r->answered++;
        load_latency_note(&r->latency, answer->answered_nsec - answer->due_nsec, 1);
        bool is_miss = answer->outcome == LOAD_NIL;
        if (line->is_first && line->tells) {
            r->first_seen++;
        } else if (line->tells) {
            *(is_miss ? &r->misses : &r->hits) += 1;
        }
        if (is_miss && line->fills) send_fill(p, t, line, answer);
    }
}

static void take_answer(void *context, unsigned thread, const struct load_answer *answer) {
    struct replay *p = context;
    struct ticket *t = (struct ticket *)answer->about;
    if (!t) { /* a batch that was never sent, and so has one request */
        *(answer->outcome == LOAD_LOST ? &p->result->lost : &p->result->unanswered) += 1;
        return;
    }
    unsigned end = answer->first + answer->count;
    ASSERT(end <= t->count);
    for (unsigned i = answer->first; i < end; i++) take_line(p, t, &t->lines[i], answer);
    if (end == t->count) give_back(p, t);
}

/* --- preloading ------------------------------------------------------------------------------- */

/* Appends the content of each key that the record names for the first time and that was there. Keys
 * that find no room in the batch are created when a later record names them. */
static void append_contents(struct replay *p, struct ticket *t,
                            const struct trace_file_record *record,
                            const struct replay_command *command) {
    for (uint32_t i = 1; i < record->argument_count; i++) {
        const struct trace_file_argument *key = &record->arguments[i];
        if (key->kind != TRACE_FILE_KEY) continue;
        if (t->count + CONTENT_REQUESTS_MAX > BATCH_REQUESTS_MAX ||
            p->bytes.length > (size_t)REPLAY_REQUEST_BYTES_MAX)
            return;
        if (!replay_keys_add(&p->seen, replay_key_hash(record->database, key->text))) continue;
        if (key->bytes < 0) continue;
        const struct replay_content content = {key->text, command->type, key->bytes, key->ttl_msec};
        add_select(p, t, record->database, &p->bytes);
        unsigned requests = replay_content_append(&content, &p->settings->overhead, &p->bytes);
        while (requests--) add_line(t, LINE_FILL);
        p->result->fills++;
        p->result->shrunk += key->bytes > REPLAY_REQUEST_BYTES_MAX;
    }
}

static bool next_contents(void *context, unsigned thread, unsigned most, struct load_batch *batch) {
    struct replay *p = context;
    struct trace_file_record record;
    struct ticket *t = take_ticket(p);
    buffer_clear(&p->bytes);
    while (!p->is_over && t->count <= most / 2 && p->bytes.length < PRELOAD_BATCH_BYTES) {
        p->is_over = trace_file_next(p->trace.requests.reader, &record) != TRACE_FILE_HAS_RECORD;
        const struct replay_command *command = p->is_over ? NULL : replay_command_of(&record);
        /* DEL and its like do not tell the type: a later request may. */
        if (command && command->type != REPLAY_ANY_TYPE) append_contents(p, t, &record, command);
    }
    if (!t->count) {
        give_back(p, t);
        return false;
    }
    *batch = (struct load_batch){
        .bytes = buffer_slice(&p->bytes), .replies = t->count, .about = (uintptr_t)t};
    return true;
}

/* --- runs ------------------------------------------------------------------------------------- */

static bool open_file(const struct replay_settings *s, struct replay *p,
                      struct replay_result *result, char *reason) {
    *p = (struct replay){.settings = s, .result = result, .chance = 1};
    p->bytes.class = p->filling.class = MEMORY_OTHER;
    const struct replay_trace_settings trace = {s->path, s->scan, s->pace, false};
    return replay_trace_open(&p->trace, &trace, reason);
}

static void close_file(struct replay *p) {
    replay_trace_close(&p->trace);
    replay_keys_free(&p->seen);
    buffer_free(&p->bytes);
    buffer_free(&p->filling);
    while (p->newest_ticket) {
        struct ticket *t = p->newest_ticket;
        p->newest_ticket = t->older;
        memory_free(t->lines, MEMORY_OTHER);
        buffer_free(&t->keys);
        memory_free(t, MEMORY_OTHER);
    }
}

/* The calling thread looks after signals, and after a server that is gone. */
static void watch_replay(void *context, const struct load_progress *progress) {
    struct replay *p = context;
    int64_t now_msec = clock_monotonic_msec();
    if (tool_end_signal()) atomic_store(&p->stop, true);
    bool moves = progress->requests != p->watched_requests || !progress->began ||
                 progress->refused == p->watched_refused;
    if (moves || !p->moved_msec) {
        p->moved_msec = now_msec;
        p->watched_requests = progress->requests;
        p->watched_refused = progress->refused;
    }
    if (now_msec - p->moved_msec < GONE_MSEC) return;
    p->result->server_is_gone = true;
    atomic_store(&p->stop, true);
}

/* Runs one stream. False with a reason. */
static bool run_stream(struct replay *p, struct load_stream *stream, struct load_result *result,
                       char *reason) {
    struct tool_connection login = *p->settings->server;
    replay_trace_login(p->settings->scan, &login);
    struct tool_greeting greeting;
    tool_greeting_init(&greeting, &login, false);
    const struct load_target target = {tool_connection_address(&login),
                                       buffer_slice(&greeting.bytes), greeting.count};
    stream->targets = &target;
    stream->target_count = 1;
    stream->pipeline = BATCH_REQUESTS_MAX;
    stream->sink = (struct load_sink){.answered = take_answer, .context = p};
    stream->source.context = p;
    stream->tolerates = true;
    const struct load load = {.streams = stream,
                              .stream_count = 1,
                              .threads = 1,
                              .duration_nsec = (int64_t)(p->settings->seconds * 1e9),
                              .drain_nsec = DRAIN_NSEC,
                              .seed = 1,
                              .stop = &p->stop,
                              .watch = watch_replay,
                              .context = p};
    bool good = load_run(&load, result);
    if (!good) snprintf(reason, TRACE_FILE_REASON_CHARS, "%s", result->reason);
    tool_greeting_free(&greeting);
    return good;
}

bool replay_load_run(const struct replay_settings *s, struct replay_result *result,
                     char reason[TRACE_FILE_REASON_CHARS]) {
    struct replay p;
    struct load_result *ran = memory_zalloc(sizeof(*ran), MEMORY_OTHER);
    struct load_stream stream = {
        .source = {.due = s->pace > 0 ? next_due : NULL, .next = next_requests},
        .connections = s->clients};
    *result = (struct replay_result){0};
    bool good = open_file(s, &p, result, reason) && run_stream(&p, &stream, ran, reason);
    result->late = ran->late;
    result->seconds = ran->seconds;
    close_file(&p);
    memory_free(ran, MEMORY_OTHER);
    return good;
}

bool replay_load_preload(const struct replay_settings *settings, struct replay_preloaded *preloaded,
                         char reason[TRACE_FILE_REASON_CHARS]) {
    struct replay_settings s = *settings;
    struct replay p;
    struct load_result *ran = memory_zalloc(sizeof(*ran), MEMORY_OTHER);
    struct replay_result *result = memory_zalloc(sizeof(*result), MEMORY_OTHER);
    /* A batch is below twice the bytes of the largest request. */
    size_t affordable = s.memory_bytes / (2 * REPLAY_REQUEST_BYTES_MAX);
    struct load_stream stream = {.source = {.next = next_contents},
                                 .connections = affordable < PRELOAD_CONNECTIONS
                                                    ? (unsigned)affordable
                                                    : PRELOAD_CONNECTIONS};
    s.pace = s.seconds = 0;
    bool good = open_file(&s, &p, result, reason) && run_stream(&p, &stream, ran, reason);
    if (good && result->error_kinds[0].count) {
        snprintf(reason, TRACE_FILE_REASON_CHARS, "a key cannot be created: %s",
                 result->error_kinds[0].text);
        good = false;
    }
    if (good && result->server_is_gone) {
        snprintf(reason, TRACE_FILE_REASON_CHARS, "the server is gone");
        good = false;
    }
    *preloaded = (struct replay_preloaded){result->fills, result->shrunk};
    close_file(&p);
    memory_free(result, MEMORY_OTHER);
    memory_free(ran, MEMORY_OTHER);
    return good;
}
