/* SPDX-License-Identifier: BSD-3-Clause
 * The frontier of a save.
 *
 * Invariants
 *  1. A part stands for a database at the save's begin, and belongs to its tables: it moves with
 *     them, into another database by an exchange, or to the frontier when the database is emptied.
 *  2. Of a part's entries exactly these are still to be handed on: those that are not behind the
 *     frontier and have no mark of this save, and those that wait.
 *  3. An entry waits (ENTRY_WAITS) exactly while it is in one of the two queues. Those in
 *     `standing` are in their table, behind the frontier or marked; those in `kept` are in no
 *     table.
 *  4. Marks of this save are on entries ahead only. When the walk passes an entry, it removes the
 *     entry's mark, of whatever save.
 *  5. At most one waiting entry is out in part (`begun`); it goes on before any other.
 *  6. `waits` finds waiting entries by address. It exists exactly while a save is under way.
 *  7. `leaving` has the entries that were kept for a save that was given up: lazyfree frees them in
 *     slices, and no save looks at them. Their bytes count as free until then.
 */
#include "store/frontier.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/panic.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "io/background.h"
#include "value/shadow.h"
#include "value/value.h"

struct frontier_part {
    struct frontier_part *next;
    struct key_map map;
    struct key_walk walk; /* done: all is behind the frontier */
    int database;         /* its number at the save's moment */
    bool taken;           /* the database was emptied: the frontier owns tables and index */
    struct timebuckets *index;
    size_t entry_bytes, kept_bytes;
    enum lazyfree_way way;
};

/* A large value that waits to be handed on in steps. */
struct waiting {
    struct list_link link;
    struct entry *entry;
    int database;
    bool lazily;       /* if kept: how to free it */
    size_t kept_bytes; /* bytes that count as free meanwhile */
};

static struct {
    frontier_emit *emit; /* NULL: no save is under way */
    void *context;
    struct frontier_part *parts, *now; /* all, and the one being walked */
    struct list_link standing, kept;
    struct table *waits;   /* of struct waiting */
    struct waiting *begun; /* the entry that is out in part */
    size_t rushed_effort;  /* handed on at once in this turn */
    size_t step_effort;    /* handed on in this step */
    bool step_is_full;     /* it has reached FRONTIER_STEP_EFFORT_MAX */
    struct frontier_progress progress;
    size_t kept_bytes; /* of kept entries and of taken tables */
    size_t shadow_bytes_max;
} save;

static struct list_link leaving = {&leaving, &leaving};

static const struct frontier_host *host;

static unsigned mark = 1;
static unsigned marks_left; /* numbers used by saves given up since no mark was left */
static int clean_database;
static struct key_walk clean_walk;

/* ---- places and marks ---- */

static bool is_ahead(const struct frontier_part *part, uint64_t hash) {
    return key_walk_is_ahead(&part->walk, hash);
}

/* Whether the entry's old state is still to be handed on, and the entry does not wait for that. */
static bool is_wanted(const struct frontier_part *part, const struct entry *e, uint64_t hash) {
    return entry_mark(e) != mark && is_ahead(part, hash);
}

/* Whether the entry is a short string with a short key. */
static bool is_small(const struct entry *e) {
    return e->type == ENTRY_STRING && !(e->flags & (ENTRY_BLOB | ENTRY_LONG_KEY));
}

static bool is_large(const struct entry *e) {
    if (is_small(e)) return false;
    return entry_bytes(e) >= FRONTIER_STEP_BYTES || entry_free_effort(e) > FRONTIER_STEP_EFFORT;
}

/* The work of handing the entry on, as a number of members. */
static size_t effort_of(const struct entry *e) {
    return entry_free_effort(e) + entry_bytes(e) / VALUE_MEMBER_BYTES;
}

/* Whether handing the entry on at once would take long, by itself or with what was handed on so in
 * this turn. */
static bool is_huge(const struct entry *e) {
    if (save.rushed_effort >= FRONTIER_RUSH_EFFORT_MAX && is_large(e)) return true;
    return entry_bytes(e) > FRONTIER_RUSH_BYTES_MAX ||
           entry_free_effort(e) > FRONTIER_RUSH_EFFORT_MAX;
}

/* Whether the value's members may change while the entry waits. */
static bool may_have_shadow(const struct entry *e) {
    return e->type != ENTRY_STRING && shadow_is_possible(e->type, entry_object(e));
}

static void cast_shadow(const struct entry *e) {
    if (may_have_shadow(e)) shadow_open(e->type, entry_object(e));
}

static void free_shadow(void *shadow) { shadow_free(shadow); }

/* Frees the value's shadow: a large one in the background, because it may have half a million
 * members or more. */
static void end_shadow(const struct entry *e) {
    struct shadow *s = e->type == ENTRY_STRING ? NULL : shadow_take(e->type, entry_object(e));
    if (!s) return;
    if (shadow_noted(s) > LAZYFREE_BLOCKS_AT_ONCE)
        background_submit(&background_free, free_shadow, s);
    else
        shadow_free(s);
}

/* ---- handing on ---- */

static void emit_whole(int database, const struct entry *e) {
    while (!save.emit(database, e, SIZE_MAX, save.context)) continue;
}

/* Hands an entry on at once, because it is about to change. */
static void frontier_rush(int database, const struct entry *e) {
    if (is_large(e)) save.rushed_effort += effort_of(e);
    emit_whole(database, e);
}

/* ---- waiting entries ---- */

static uint64_t address_hash(const struct entry *e) { return hash_bytes(&e, sizeof(e)); }

static uint64_t waiting_hash(const void *element) {
    return address_hash(((const struct waiting *)element)->entry);
}

static bool waiting_matches(const void *element, const void *key, size_t length) {
    return ((const struct waiting *)element)->entry == key;
}

static const struct table_type waiting_table = {waiting_hash, waiting_matches, MEMORY_OTHER};

static void wait_begin(struct entry *e, int database, struct list_link *queue) {
    struct waiting *w = memory_zalloc(sizeof(*w), MEMORY_OTHER);
    w->entry = e;
    w->database = database;
    e->flags |= ENTRY_WAITS;
    list_append(queue, &w->link);
    table_insert(save.waits, address_hash(e), w);
}

/* Sets the entry that is handed on in steps (NULL = none). Its value's table, if any, is not
 * resized meanwhile. */
static void set_begun(struct waiting *w) {
    if (save.begun == w) return;
    save.begun = w;
    if (w) cast_shadow(w->entry);
    table_rest(w ? (struct table *)(uintptr_t)entry_table(w->entry) : NULL);
}

/* Adds to the kept bytes; negative: subtracts. */
static void note_kept(ptrdiff_t bytes) {
    save.kept_bytes += (size_t)bytes;
    lazyfree_note_kept(bytes);
}

/* Releases an entry that is in no queue any more, and frees it if it was kept. The caller has
 * subtracted its kept bytes. */
static void waiting_release(struct waiting *w) {
    struct entry *e = w->entry;
    end_shadow(e);
    e->flags &= (uint8_t)~ENTRY_WAITS;
    if (w->kept_bytes) lazyfree_entry(e, w->lazily);
    memory_free_sized(w, sizeof(*w), MEMORY_OTHER);
}

static void wait_end(struct waiting *w) {
    if (save.begun == w) set_begun(NULL);
    list_remove(&w->link);
    bool there = table_remove_element(save.waits, address_hash(w->entry), w);
    ASSERT(there);
    note_kept(-(ptrdiff_t)w->kept_bytes);
    waiting_release(w);
}

/* Frees as many of the leaving entries as take a step's time; true where some are left. */
static bool free_leaving(void) {
    for (size_t effort = 0; effort < LAZYFREE_BLOCKS_AT_ONCE && !list_is_empty(&leaving);) {
        struct waiting *w = LIST_ENTRY(leaving.next, struct waiting, link);
        effort += 1 + entry_free_effort(w->entry);
        list_remove(&w->link);
        lazyfree_note_kept(-(ptrdiff_t)w->kept_bytes);
        waiting_release(w);
    }
    return !list_is_empty(&leaving);
}

static struct lazyfree_work leaving_work = {.step = free_leaving};

static struct waiting *wait_find(const struct entry *e) {
    struct waiting *w = table_find(save.waits, address_hash(e), e, sizeof(e));
    ASSERT(w);
    return w;
}

static struct waiting *wait_first(void) {
    struct list_link *queue = list_is_empty(&save.kept) ? &save.standing : &save.kept;
    if (save.begun || list_is_empty(queue)) return save.begun;
    return LIST_ENTRY(queue->next, struct waiting, link);
}

/* ---- the walk ---- */

/* Passes an entry of the table: hands it on, or puts it into the queue, unless it is marked.
 * Removes its mark, because there are none behind the frontier. */
static void frontier_pass(void *element, void *context) {
    const struct frontier_part *part = context;
    struct entry *e = element;
    unsigned had = entry_mark(e);
    if (had) entry_set_mark(e, 0);
    if (had == mark) return;
    if (part->walk.overlaps && !is_ahead(part, key_map_hash(e))) return;
    save.progress.done++;
    if (is_large(e)) {
        wait_begin(e, part->database, &save.standing);
        return;
    }
    emit_whole(part->database, e);
    if (is_small(e)) return;
    save.step_effort += effort_of(e);
    save.step_is_full = save.step_effort >= FRONTIER_STEP_EFFORT_MAX;
}

/* Walks over further buckets. After a merge a bucket may hold keys that were passed already, so
 * `pass` checks each place. */
static void walk_on(struct frontier_part *part, size_t positions) {
    save.step_effort = 0;
    save.step_is_full = false;
    key_walk_run(&part->walk, &part->map, positions, &save.step_is_full, frontier_pass, part);
}

static void free_taken(struct frontier_part *part) {
    note_kept(-(ptrdiff_t)part->kept_bytes);
    host->free_contents(part->map, part->index, part->entry_bytes, part->way);
    part->taken = false;
}

static void close_save(void) {
    for (int i = 0; i < host->databases(); i++) host->set_part(i, NULL);
    for (struct frontier_part *part = save.parts, *next; part; part = next) {
        next = part->next;
        if (part->taken) free_taken(part);
        memory_free_sized(part, sizeof(*part), MEMORY_OTHER);
    }
    save.emit = NULL;
    save.parts = save.now = NULL;
    table_free(save.waits);
    save.waits = NULL;
}

bool frontier_step(size_t positions, size_t budget) {
    ASSERT(save.emit && positions);
    struct waiting *w = wait_first();
    if (w) {
        set_begun(w);
        if (save.emit(w->database, w->entry, budget, save.context)) wait_end(w);
        return false;
    }
    if (save.now && save.now->walk.done) {
        if (save.now->taken) free_taken(save.now);
        save.now = save.now->next;
    }
    if (save.now) {
        walk_on(save.now, positions);
        return false;
    }
    close_save();
    ASSERT(!save.kept_bytes);
    marks_left = 0;
    return true;
}

/* ---- beginning and ending ---- */

bool frontier_may_begin(void) { return marks_left < ENTRY_MARK_MAX; }

static void forget_mark(void *element, void *context) { entry_set_mark(element, 0); }

bool frontier_clean(size_t positions) {
    ASSERT(!save.emit);
    if (frontier_may_begin()) return true;
    const struct key_map map = host->map(clean_database);
    key_walk_run(&clean_walk, &map, positions, NULL, forget_mark, NULL);
    if (clean_walk.done) {
        clean_walk = (struct key_walk){0};
        if (++clean_database == host->databases()) {
            clean_database = 0;
            marks_left = 0;
        }
    }
    return frontier_may_begin();
}

void frontier_set_host(const struct frontier_host *of) { host = of; }

void frontier_begin(frontier_emit *emit, void *context) {
    struct frontier_part **end = &save.parts;
    ASSERT(!save.emit && frontier_may_begin());
    save.emit = emit;
    save.context = context;
    save.progress = (struct frontier_progress){0};
    save.shadow_bytes_max = memory_used_total() / FRONTIER_SHADOW_SHARE;
    if (save.shadow_bytes_max < FRONTIER_SHADOW_BYTES)
        save.shadow_bytes_max = FRONTIER_SHADOW_BYTES;
    list_init(&save.standing);
    list_init(&save.kept);
    save.waits = table_create(&waiting_table);
    save.rushed_effort = 0;
    for (int i = 0; i < host->databases(); i++) {
        const struct key_map map = host->map(i);
        if (key_map_count(&map) == 0) continue;
        struct frontier_part *part = memory_zalloc(sizeof(*part), MEMORY_OTHER);
        part->map = map;
        part->database = i;
        save.progress.keys += key_map_count(&map);
        host->set_part(i, part);
        *end = part;
        end = &part->next;
    }
    save.now = save.parts;
}

void frontier_turn(void) { save.rushed_effort = 0; }

bool frontier_is_open(void) { return save.emit != NULL; }

void frontier_abort(void) {
    if (!save.emit) return;
    set_begun(NULL);
    LIST_FOR_EACH (link, following, &save.standing)
        wait_end(LIST_ENTRY(link, struct waiting, link));
    /* Any number of entries may be kept, so they are freed in slices. */
    if (!list_is_empty(&save.kept)) lazyfree_call(&leaving_work);
    list_append_all(&leaving, &save.kept);
    close_save();
    save.kept_bytes = 0; /* the rest is that of `leaving` */
    mark = mark % ENTRY_MARK_MAX + 1;
    marks_left++;
    clean_database = 0;
    clean_walk = (struct key_walk){0};
}

/* Kept entries are in no table and stay allocated; entries in tables become ordinary ones. */
void frontier_forget(void) {
    if (!save.emit) return;
    LIST_FOR_EACH (link, following, &save.standing) {
        struct entry *e = LIST_ENTRY(link, struct waiting, link)->entry;
        e->flags &= (uint8_t)~ENTRY_WAITS;
        end_shadow(e);
    }
    set_begun(NULL);
    list_init(&save.standing);
    list_init(&save.kept);
    for (int i = 0; i < host->databases(); i++) host->set_part(i, NULL);
    save.emit = NULL;
    save.waits = NULL;
    save.parts = save.now = NULL;
    save.kept_bytes = 0;
}

void frontier_note_foreign(void) {
    ASSERT(!save.emit);
    marks_left = ENTRY_MARK_MAX;
    frontier_exchange();
}

void frontier_progress(struct frontier_progress *p) { *p = save.progress; }
size_t frontier_kept_bytes(void) { return save.kept_bytes; }

/* ---- doors ---- */

void frontier_change(struct frontier_part *part, struct entry *e, uint64_t hash) {
    if (__builtin_expect(e->flags & ENTRY_WAITS, 0)) {
        struct waiting *w = wait_find(e);
        save.progress.rushed++;
        frontier_rush(w->database, e);
        wait_end(w);
        return;
    }
    if (!is_wanted(part, e, hash)) return;
    save.progress.rushed += is_large(e);
    save.progress.done++;
    save.progress.ahead++;
    frontier_rush(part->database, e);
    entry_set_mark(e, mark);
}

static bool has_shadow(const struct entry *e) {
    return e->type != ENTRY_STRING && shadow_of(e->type, entry_object(e));
}

void frontier_change_members(struct frontier_part *part, struct entry *e, uint64_t hash) {
    bool waits = e->flags & ENTRY_WAITS;
    if (!waits && !is_wanted(part, e, hash)) return;
    if (!is_huge(e) || !may_have_shadow(e)) {
        if (!has_shadow(e)) frontier_change(part, e, hash);
        return;
    }
    if (!waits) {
        save.progress.done++;
        save.progress.ahead++;
        wait_begin(e, part->database, &save.standing);
        entry_set_mark(e, mark);
    }
    cast_shadow(e);
}

void frontier_remove(struct frontier_part *part, struct entry *e, uint64_t hash) {
    if (__builtin_expect(e->flags & ENTRY_WAITS, 0)) {
        struct waiting *w = wait_find(e);
        list_remove(&w->link);
        list_append(&save.kept, &w->link);
        return;
    }
    if (!is_wanted(part, e, hash)) return;
    save.progress.done++;
    save.progress.ahead++;
    if (is_large(e))
        wait_begin(e, part->database, &save.kept);
    else
        emit_whole(part->database, e);
}

/* Whether the entry need not be handed on before these changes: they do not touch its value, or
 * remove it whole so that it is kept, or note what they change in its shadow. */
static bool needs_no_copy(const struct entry *e, unsigned changes) {
    if (!entry_changes_cover(changes, e->type, false)) return true;
    if (changes & ENTRY_CHANGES_ANYTHING) return false;
    return may_have_shadow(e) && shadow_bytes() < save.shadow_bytes_max;
}

bool frontier_should_wait(struct frontier_part *part, struct entry *e, uint64_t hash,
                          unsigned changes) {
    bool waits = e->flags & ENTRY_WAITS;
    if (!waits && !is_wanted(part, e, hash)) return false;
    if (!is_huge(e) || needs_no_copy(e, changes)) return false;
    if (!waits) {
        save.progress.done++;
        save.progress.ahead++;
        wait_begin(e, part->database, &save.standing);
        entry_set_mark(e, mark);
    }
    struct waiting *w = wait_find(e);
    list_remove(&w->link);
    list_prepend(&save.standing, &w->link);
    return true;
}

bool frontier_would_keep(const struct frontier_part *part, const struct entry *e, uint64_t hash) {
    return is_large(e) && (e->flags & ENTRY_WAITS || is_wanted(part, e, hash));
}

void frontier_add(const struct frontier_part *part, struct entry *e, uint64_t hash) {
    entry_set_mark(e, part && is_ahead(part, hash) ? mark : 0);
}

void frontier_keep(struct entry *e, bool lazily) {
    struct waiting *w = wait_find(e);
    w->lazily = lazily;
    w->kept_bytes = entry_bytes(e);
    note_kept((ptrdiff_t)w->kept_bytes);
}

bool frontier_take_keys(struct frontier_part *part, struct timebuckets *index, size_t entry_bytes,
                        enum lazyfree_way way) {
    if (part->walk.done && (part != save.now || list_is_empty(&save.standing))) return false;
    part->taken = true;
    part->index = index;
    part->entry_bytes = entry_bytes;
    part->way = way == LAZYFREE_NOW ? LAZYFREE_AWAITED : way;
    part->kept_bytes =
        entry_bytes + key_map_bytes(&part->map) + (index ? timebuckets_bytes(index) : 0);
    note_kept((ptrdiff_t)part->kept_bytes);
    return true;
}

void frontier_exchange(void) {
    clean_database = 0;
    clean_walk = (struct key_walk){0};
}
