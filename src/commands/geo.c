/* SPDX-License-Identifier: BSD-3-Clause
 * Positions in sorted sets: a member's score is the cell of its position (ds/geohash). The rows
 * stand at the end.
 *
 * A search covers its shape with up to nine cells. Each cell is a range of scores, whose members
 * are checked one by one. A member within the shape is noted as a hit: member, score, distance.
 * With COUNT and an order at most twice as many hits as wanted are kept.
 *
 * GEORADIUS, GEORADIUSBYMEMBER and GEOSEARCH are one search; they differ in the arguments that give
 * the shape, and in their options.
 *
 * Invariants
 *  1. Nothing is changed before all arguments were parsed and the search is done.
 *  2. Hits of equal distance stay in the order in which they were found, and no distance is printed
 *     that was not computed by geohash_distance: replies are 6.2's to the last digit.
 *  3. Members of hits are slices of the searched sorted set, which does not change meanwhile.
 */
#include "commands/geo.h"

#include <math.h>

#include "base/number.h"
#include "base/panic.h"
#include "base/places.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "ds/geohash.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "value/zset.h"

#define DISTANCE_DECIMALS 4
/* How many positions of a GEOADD need no allocation. */
#define CELLS_ON_STACK 32
/* The first room for hits, and the room beyond twice of what COUNT wants. */
#define HITS_ROOM 64

/* ---- arguments and replies ---- */

/* The cell of a score, which a client may have set to any number. 6.2 casts the score to 64 bits; a
 * number that does not fit is converted as on x86-64: its low bits up to 2^64, then 0; from -2^63
 * down -2^63. */
static uint64_t cell_of_score(double score) {
    const double two_to_63 = 9223372036854775808.0;
    if (score < -two_to_63) return UINT64_C(1) << 63;
    if (score < two_to_63) return (uint64_t)(int64_t)score;
    if (score < 2 * two_to_63) return (uint64_t)score;
    return 0;
}

static bool parse_double(const struct call *call, int index, double *value, const char *error) {
    struct slice text = call->argv[index];
    if (number_parse_double(text.bytes, text.length, value)) return true;
    reply_error(call->client, error);
    return false;
}

/* Parses longitude and latitude at `index` and behind it. False after an error reply. */
static bool parse_position(const struct call *call, int index, struct geohash_position *p) {
    static const char error[] = "value is not a valid float";
    if (!parse_double(call, index, &p->longitude, error)) return false;
    if (!parse_double(call, index + 1, &p->latitude, error)) return false;
    if (geohash_position_is_valid(*p)) return true;
    reply_error_format(call->client, "invalid longitude,latitude pair %f,%f", p->longitude,
                       p->latitude);
    return false;
}

/* Parses a unit into metres. False after an error reply. */
static bool parse_unit(const struct call *call, int index, double *metres) {
    static const struct {
        struct slice name;
        double metres;
    } units[] = {{{"m", 1}, 1}, {{"km", 2}, 1000}, {{"ft", 2}, 0.3048}, {{"mi", 2}, 1609.34}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (!slice_equal(call->argv[index], units[i].name)) continue;
        *metres = units[i].metres;
        return true;
    }
    reply_error(call->client, "unsupported unit provided. please use m, km, ft, mi");
    return false;
}

static void reply_distance(struct client *c, double distance) {
    char text[NUMBER_DOUBLE_CHARS];
    size_t length = number_format_fixed(text, sizeof(text), distance, DISTANCE_DECIMALS);
    reply_bulk(c, (struct slice){text, length});
}

/* Replies a double with up to 17 decimals. */
static void reply_coordinate(struct client *c, double degrees) {
    char text[NUMBER_DOUBLE_CHARS];
    size_t length = number_format_long_double_fixed(text, sizeof(text), degrees);
    reply_double_digits(c, (struct slice){text, length});
}

static void reply_position(struct client *c, double score) {
    struct geohash_position p = geohash_decode(cell_of_score(score));
    reply_array(c, 2);
    reply_coordinate(c, p.longitude);
    reply_coordinate(c, p.latitude);
}

static bool find_score(const struct entry *e, struct slice member, double *score) {
    return e && zset_score(entry_object(e), member, score);
}

/* ---- GEOADD ---- */

struct geoadd {
    bool only_new, only_old, count_changed;
    int first; /* the argument of the first position */
    size_t members, added, moved;
};

static bool geoadd_parse(const struct call *call, struct geoadd *g) {
    for (g->first = 2; g->first < call->argc; g->first++) {
        if (argument_is(call, g->first, "nx"))
            g->only_new = true;
        else if (argument_is(call, g->first, "xx"))
            g->only_old = true;
        else if (argument_is(call, g->first, "ch"))
            g->count_changed = true;
        else
            break;
    }
    int left = call->argc - g->first;
    g->members = (size_t)left / 3;
    if (left && left % 3 == 0 && !(g->only_new && g->only_old)) return true;
    reply_syntax_error(call->client);
    return false;
}

static bool geoadd_parse_positions(const struct call *call, const struct geoadd *g,
                                   double *scores) {
    struct geohash_position p;
    for (size_t i = 0; i < g->members; i++) {
        if (!parse_position(call, g->first + (int)i * 3, &p)) return false;
        scores[i] = (double)geohash_encode(p);
    }
    return true;
}

static void geoadd_apply(struct value *v, struct slice member, double score, struct geoadd *g) {
    double old;
    if (!zset_score(*v, member, &old)) {
        if (g->only_old) return;
        zset_set(v, member, score);
        g->added++;
    } else if (!g->only_new && score != old) {
        zset_set(v, member, score);
        g->moved++;
    }
}

/* Log and replicas get a ZADD with the cells as scores. */
static void geoadd_add_effect(const struct call *call, const struct geoadd *g,
                              const double *scores) {
    struct buffer digits;
    size_t words = (size_t)g->first + 2 * g->members;
    if (!effects_wanted()) return;
    struct slice *effect = memory_alloc(words * sizeof(*effect), MEMORY_OTHER);
    buffer_init(&digits, MEMORY_OTHER);
    buffer_reserve(&digits, g->members * NUMBER_INT64_CHARS);
    effect[0] = SLICE("zadd");
    for (int i = 1; i < g->first; i++) effect[i] = call->argv[i];
    for (size_t i = 0; i < g->members; i++) {
        char *text = digits.bytes + i * NUMBER_INT64_CHARS;
        size_t at = (size_t)g->first + 2 * i;
        effect[at] = (struct slice){text, number_format_int64(text, (int64_t)scores[i])};
        effect[at + 1] = call->argv[g->first + (int)i * 3 + 2];
    }
    effect_add(call->keyspace, EFFECT_BOTH, (int)words, effect);
    buffer_free(&digits);
    memory_free(effect, MEMORY_OTHER);
}

static void geoadd_run(struct call *call, struct geoadd *g, const double *scores) {
    struct edit edit;
    if (!edit_open(&edit, call, 1, ENTRY_ZSET)) return;
    struct value *v = edit_value(&edit, g->only_old ? NULL : zset_create);
    for (size_t i = 0; v && i < g->members; i++)
        geoadd_apply(v, call->argv[g->first + (int)i * 3 + 2], scores[i], g);
    reply_integer(call->client, (int64_t)(g->added + (g->count_changed ? g->moved : 0)));
    edit_close(&edit, g->added + g->moved, NOTIFY_ZSET, "zadd");
    if (g->added || g->moved) geoadd_add_effect(call, g, scores);
}

static void command_geoadd(struct call *call) {
    struct geoadd g = {0};
    double few[CELLS_ON_STACK], *scores = few;
    if (!geoadd_parse(call, &g)) return;
    size_t bytes = g.members * sizeof(*scores);
    if (g.members > CELLS_ON_STACK) scores = memory_alloc(bytes, MEMORY_OTHER);
    if (geoadd_parse_positions(call, &g, scores)) geoadd_run(call, &g, scores);
    if (scores != few) memory_free_sized(scores, bytes, MEMORY_OTHER);
}

/* ---- asking about members ---- */

static void command_geopos(struct call *call) {
    struct client *c = call->client;
    struct entry *e;
    double score;
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    reply_array(c, call->argc - 2);
    for (int i = 2; i < call->argc; i++) {
        if (find_score(e, call->argv[i], &score))
            reply_position(c, score);
        else
            reply_null_array(c);
    }
}

static void command_geohash(struct call *call) {
    struct client *c = call->client;
    struct entry *e;
    double score;
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    reply_array(c, call->argc - 2);
    for (int i = 2; i < call->argc; i++) {
        char text[GEOHASH_TEXT_CHARS + 1];
        if (!find_score(e, call->argv[i], &score)) {
            reply_null(c);
            continue;
        }
        geohash_text(cell_of_score(score), text);
        reply_bulk(c, (struct slice){text, GEOHASH_TEXT_CHARS});
    }
}

static void command_geodist(struct call *call) {
    struct client *c = call->client;
    struct entry *e;
    double metres = 1, from, to;
    if (call->argc == 5 && !parse_unit(call, 4, &metres)) return;
    if (call->argc > 5) {
        reply_syntax_error(c);
        return;
    }
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &e)) return;
    if (!find_score(e, call->argv[2], &from) || !find_score(e, call->argv[3], &to)) {
        reply_null(c);
        return;
    }
    reply_distance(c, geohash_distance(geohash_decode(cell_of_score(from)),
                                       geohash_decode(cell_of_score(to))) /
                          metres);
}

/* ---- searches: the request ---- */

enum form {
    FORM_STORES = 1 << 0,       /* GEORADIUS: STORE and STOREDIST name a key */
    FORM_SEARCH = 1 << 1,       /* GEOSEARCH: options give the shape */
    FORM_SEARCH_STORE = 1 << 2, /* GEOSEARCHSTORE: STOREDIST is a flag */
};

enum order { ORDER_NONE, ORDER_ASCENDING, ORDER_DESCENDING };

struct hit {
    double distance; /* metres */
    double score;
    struct listpack_value member;
};

struct search {
    struct call *call;
    struct entry *entry; /* NULL: nothing to search */
    unsigned form;
    struct geohash_shape shape;
    double unit; /* metres */
    bool has_centre, centre_is_member, has_shape;
    bool with_distance, with_cell, with_position, any, store_distances;
    int64_t count; /* 0: all */
    enum order order;
    int store; /* the argument that is the target key; 0: none */

    bool replies_at_once; /* each hit as it is found; else they are gathered */
    struct hit *hits;
    size_t hit_count, hit_room;
    /* With COUNT and an order: hits with a larger key are not wanted. */
    bool bounded;
    uint64_t worst_key;
};

/* Parses radius and unit. False after an error reply. */
static bool parse_circle(struct search *s, int index) {
    double radius;
    if (!parse_double(s->call, index, &radius, "need numeric radius")) return false;
    if (radius < 0) {
        reply_error(s->call->client, "radius cannot be negative");
        return false;
    }
    if (!parse_unit(s->call, index + 1, &s->unit)) return false;
    s->shape.radius = radius * s->unit;
    s->has_shape = true;
    return true;
}

/* Parses width, height and unit. False after an error reply. */
static bool parse_box(struct search *s, int index) {
    double width, height;
    if (!parse_double(s->call, index, &width, "need numeric width")) return false;
    if (!parse_double(s->call, index + 1, &height, "need numeric height")) return false;
    if (width < 0 || height < 0) {
        reply_error(s->call->client, "height or width cannot be negative");
        return false;
    }
    if (!parse_unit(s->call, index + 2, &s->unit)) return false;
    s->shape.is_box = true;
    s->shape.width = width * s->unit;
    s->shape.height = height * s->unit;
    s->has_shape = true;
    return true;
}

/* Takes a member of the key as the centre; where there is no such key, any name is accepted. False
 * after an error reply. */
static bool parse_member(struct search *s, int index) {
    double score;
    s->has_centre = s->centre_is_member = true;
    if (!s->entry) return true;
    if (!find_score(s->entry, s->call->argv[index], &score)) {
        reply_error(s->call->client, "could not decode requested zset member");
        return false;
    }
    s->shape.centre = geohash_decode(cell_of_score(score));
    return true;
}

static bool parse_centre(struct search *s, int index) {
    s->has_centre = true;
    return parse_position(s->call, index, &s->shape.centre);
}

static bool geo_parse_count(struct search *s, int index) {
    if (!argument_int64(s->call, index, &s->count, NULL)) return false;
    if (s->count > 0) return true;
    reply_error(s->call->client, "COUNT must be > 0");
    return false;
}

/* Parses an option that gives the shape. Returns how many arguments it took; 0 where it is none of
 * these, -1 after an error reply. */
static int parse_shape_option(struct search *s, int i) {
    const struct call *call = s->call;
    int left = call->argc - i - 1;
    if (!(s->form & FORM_SEARCH)) return 0;
    if (left >= 1 && argument_is(call, i, "frommember") && (!s->has_centre || s->centre_is_member))
        return parse_member(s, i + 1) ? 2 : -1;
    if (left >= 2 && argument_is(call, i, "fromlonlat") && !s->centre_is_member)
        return parse_centre(s, i + 1) ? 3 : -1;
    if (left >= 2 && argument_is(call, i, "byradius") && !s->shape.is_box)
        return parse_circle(s, i + 1) ? 3 : -1;
    if (left >= 3 && argument_is(call, i, "bybox") && (!s->has_shape || s->shape.is_box))
        return parse_box(s, i + 1) ? 4 : -1;
    return 0;
}

/* Parses an option that names the target. Returns how many arguments it took; 0 where it is none of
 * these, -1 after an error reply. */
static int parse_store_option(struct search *s, int i) {
    bool distances = argument_is(s->call, i, "storedist");
    if (distances && s->form & FORM_SEARCH_STORE) {
        s->store_distances = true;
        return 1;
    }
    bool names_key = distances || argument_is(s->call, i, "store");
    if (!names_key || !(s->form & FORM_STORES) || i + 1 == s->call->argc) return 0;
    s->store = i + 1;
    s->store_distances = distances;
    return 2;
}

/* Parses an option without a value; false where it is none. */
static bool parse_word(struct search *s, int i) {
    const struct call *call = s->call;
    if (argument_is(call, i, "withdist"))
        s->with_distance = true;
    else if (argument_is(call, i, "withhash"))
        s->with_cell = true;
    else if (argument_is(call, i, "withcoord"))
        s->with_position = true;
    else if (argument_is(call, i, "any"))
        s->any = true;
    else if (argument_is(call, i, "asc"))
        s->order = ORDER_ASCENDING;
    else if (argument_is(call, i, "desc"))
        s->order = ORDER_DESCENDING;
    else
        return false;
    return true;
}

static int geo_parse_option(struct search *s, int i) {
    int taken = parse_word(s, i) ? 1 : 0;
    if (!taken && i + 1 < s->call->argc && argument_is(s->call, i, "count"))
        taken = geo_parse_count(s, i + 1) ? 2 : -1;
    if (!taken) taken = parse_store_option(s, i);
    if (!taken) taken = parse_shape_option(s, i);
    if (!taken) reply_syntax_error(s->call->client);
    return taken;
}

/* Checks that the options fit together. False after an error reply. */
static bool check_options(struct search *s) {
    struct client *c = s->call->client;
    struct slice name = s->call->argv[0];
    if (s->store && (s->with_distance || s->with_cell || s->with_position)) {
        reply_error(c,
                    "STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and "
                    "WITHCOORDS options");
    } else if (!s->has_centre) {
        reply_error_format(c, "exactly one of FROMMEMBER or FROMLONLAT can be specified for %.*s",
                           (int)name.length, name.bytes);
    } else if (!s->has_shape) {
        reply_error_format(c, "exactly one of BYRADIUS and BYBOX can be specified for %.*s",
                           (int)name.length, name.bytes);
    } else if (s->any && !s->count) {
        reply_error(c, "the ANY argument requires COUNT argument");
    } else {
        /* COUNT means the nearest, unless ANY is given. */
        if (s->count && s->order == ORDER_NONE && !s->any) s->order = ORDER_ASCENDING;
        return true;
    }
    return false;
}

static bool geo_parse_options(struct search *s, int first) {
    for (int i = first, taken; i < s->call->argc; i += taken)
        if ((taken = geo_parse_option(s, i)) <= 0) return false;
    return check_options(s);
}

/* ---- searches: the hits ---- */

static uint64_t hit_key(const struct search *s, const struct hit *h) {
    uint64_t key = places_key_of_double(h->distance);
    return s->order == ORDER_DESCENDING ? ~key : key;
}

/* Sorts the hits into the wanted order, and keeps at most COUNT of them. */
static void hits_sort(struct search *s) {
    size_t kept = s->hit_count;
    if (s->order == ORDER_NONE) return;
    struct place *places = memory_alloc(s->hit_count * sizeof(*places), MEMORY_OTHER);
    for (size_t i = 0; i < s->hit_count; i++)
        places[i] = (struct place){hit_key(s, &s->hits[i]), i};
    places_sort(places, s->hit_count, NULL, NULL);
    if (s->count && (uint64_t)s->count < kept) kept = (size_t)s->count;
    struct hit *sorted = memory_alloc(s->hit_room * sizeof(*sorted), MEMORY_OTHER);
    for (size_t i = 0; i < kept; i++) sorted[i] = s->hits[places[i].index];
    memory_free(places, MEMORY_OTHER);
    memory_free(s->hits, MEMORY_OTHER);
    s->hits = sorted;
    s->hit_count = kept;
}

/* Makes room for a hit. Where COUNT wants fewer than half of the present hits, the others are
 * dropped; otherwise the array grows. */
static void hits_make_room(struct search *s) {
    bool many = s->count && (uint64_t)s->count < s->hit_room / 2;
    if (many && s->order != ORDER_NONE) {
        hits_sort(s);
        s->bounded = true;
        s->worst_key = hit_key(s, &s->hits[s->hit_count - 1]);
        return;
    }
    s->hit_room = s->hit_room ? s->hit_room * 2 : HITS_ROOM;
    s->hits = memory_realloc(s->hits, s->hit_room * sizeof(*s->hits), MEMORY_OTHER);
}

static void hit_add(struct search *s, const struct hit *h) {
    if (s->bounded && hit_key(s, h) >= s->worst_key) return;
    if (s->hit_count == s->hit_room) hits_make_room(s);
    s->hits[s->hit_count++] = *h;
}

/* Whether ANY is given and enough hits are found. */
static bool has_enough(const struct search *s) {
    return s->any && s->hit_count >= (uint64_t)s->count;
}

static void reply_hit(const struct search *s, const struct hit *h) {
    struct client *c = s->call->client;
    char scratch[LISTPACK_SCRATCH];
    int parts = s->with_distance + s->with_cell + s->with_position;
    if (parts) reply_array(c, parts + 1);
    reply_bulk(c, listpack_value_text(&h->member, scratch));
    if (s->with_distance) reply_distance(c, h->distance / s->unit);
    if (s->with_cell) reply_integer(c, (int64_t)h->score);
    if (s->with_position) reply_position(c, h->score);
}

static void hit_take(struct search *s, const struct hit *h) {
    if (!s->replies_at_once) {
        hit_add(s, h);
        return;
    }
    reply_hit(s, h);
    s->hit_count++;
}

static void search_range(struct search *s, struct value v, const struct geohash_range *range) {
    struct zset_scores scores = {(double)range->first, (double)range->end, false, true};
    struct zset_span span = zset_span_of_scores(v, &scores);
    struct zset_cursor at;
    if (!span.count) return;
    zset_seek(v, span.first, &at);
    for (size_t left = span.count;; zset_next(&at)) {
        struct zset_item item = zset_get(&at);
        struct hit h = {.score = item.score, .member = item.member};
        struct geohash_position p = geohash_decode(cell_of_score(item.score));
        if (geohash_contains(&s->shape, p, &h.distance)) hit_take(s, &h);
        if (!--left || has_enough(s)) return;
    }
}

static void search_run(struct search *s) {
    struct geohash_range ranges[GEOHASH_RANGES_MAX];
    size_t count = geohash_cover(&s->shape, ranges);
    for (size_t i = 0; i < count && !has_enough(s); i++)
        search_range(s, entry_object(s->entry), &ranges[i]);
    hits_sort(s);
}

/* ---- searches: the results ---- */

static void reply_hits(const struct search *s) {
    reply_array(s->call->client, (int64_t)s->hit_count);
    for (size_t i = 0; i < s->hit_count; i++) reply_hit(s, &s->hits[i]);
}

/* Makes a sorted set of the hits. */
static struct value hits_to_zset(const struct search *s) {
    struct value v = zset_create();
    char scratch[LISTPACK_SCRATCH];
    size_t longest = 0;
    for (size_t i = 0; i < s->hit_count; i++) {
        size_t length = listpack_value_text(&s->hits[i].member, scratch).length;
        if (length > longest) longest = length;
    }
    if (s->hit_count) zset_expect(&v, s->hit_count, longest);
    for (size_t i = 0; i < s->hit_count; i++) {
        const struct hit *h = &s->hits[i];
        zset_set(&v, listpack_value_text(&h->member, scratch),
                 s->store_distances ? h->distance / s->unit : h->score);
    }
    return v;
}

static void store_hits(const struct search *s) {
    const struct key key = call_key(s->call, s->store);
    edit_store(&key, ENTRY_ZSET, hits_to_zset(s), s->hit_count, NOTIFY_ZSET,
               s->form & FORM_SEARCH ? "geosearchstore" : "georadiusstore");
    reply_integer(s->call->client, (int64_t)s->hit_count);
}

/* In the order in which they are found, as none is wanted. */
static void search_and_reply(struct search *s) {
    struct reply_group hits = reply_array_begin(s->call->client);
    s->replies_at_once = true;
    if (s->entry) search_run(s);
    reply_group_end(&hits, (int64_t)s->hit_count);
}

/* Parses the options from `first` on, searches, and replies or stores. */
static void search_finish(struct search *s, int first) {
    if (!geo_parse_options(s, first)) return;
    if (!s->store && s->order == ORDER_NONE) {
        search_and_reply(s);
        return;
    }
    if (s->entry) search_run(s);
    if (s->store)
        store_hits(s);
    else
        reply_hits(s);
    memory_free(s->hits, MEMORY_OTHER);
}

static void georadius_generic(struct call *call, unsigned form) {
    struct search s = {.call = call, .form = form, .unit = 1};
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &s.entry)) return;
    if (parse_centre(&s, 2) && parse_circle(&s, 4)) search_finish(&s, 6);
}

static void georadiusbymember_generic(struct call *call, unsigned form) {
    struct search s = {.call = call, .form = form, .unit = 1};
    if (!argument_read_typed(call, 1, ENTRY_ZSET, &s.entry)) return;
    if (!parse_member(&s, 2)) return;
    s.has_shape = !s.entry; /* 6.2 parses the radius only where the key exists */
    if (s.has_shape || parse_circle(&s, 3)) search_finish(&s, 5);
}

static void command_georadius(struct call *call) { georadius_generic(call, FORM_STORES); }
static void command_georadius_ro(struct call *call) { georadius_generic(call, 0); }
static void command_georadiusbymember(struct call *call) {
    georadiusbymember_generic(call, FORM_STORES);
}
static void command_georadiusbymember_ro(struct call *call) { georadiusbymember_generic(call, 0); }

static void command_geosearch(struct call *call) {
    struct search s = {.call = call, .form = FORM_SEARCH, .unit = 1};
    if (argument_read_typed(call, 1, ENTRY_ZSET, &s.entry)) search_finish(&s, 2);
}

static void command_geosearchstore(struct call *call) {
    struct search s = {
        .call = call, .form = FORM_SEARCH | FORM_SEARCH_STORE, .unit = 1, .store = 1};
    if (argument_read_typed(call, 2, ENTRY_ZSET, &s.entry)) search_finish(&s, 3);
}

/* ---- rows ---- */

/* The search for the option begins behind the fifth argument, also where a member takes one
 * argument less. */
/* The last word that names a target counts. */
static bool georadius_store_keys(const struct key_search *s) {
    int target = 0;
    for (int i = 5; i + 1 < s->argc; i++)
        if (slice_is(s->argv[i], "store") || slice_is(s->argv[i], "storedist")) target = ++i;
    if (key_named(s, 1) && target) key_named(s, target);
    return true;
}

static struct command rows[] = {
    COMMAND("geoadd", command_geoadd, -5, GROW, ACL_GEO, CHANGES(ZSET, ONE_KEY),
            "Adds members at positions, or moves them; returns how many.",
            .traced = "2.. nx xx ch"),
    COMMAND(
        "georadius", command_georadius, -6, GROW | MOVABLE, ACL_GEO, CHANGES(WHOLE, ONE_KEY),
        "Members around a position, or stores them.", .keys = georadius_store_keys,
        .traced = "5.. m km ft mi withcoord withdist withhash count# any asc desc store storedist"),
    COMMAND("georadius_ro", command_georadius_ro, -6, READ, ACL_GEO, ONE_KEY,
            "Members around a position.",
            .traced = "5.. m km ft mi withcoord withdist withhash count# any asc desc"),
    COMMAND(
        "georadiusbymember", command_georadiusbymember, -5, GROW | MOVABLE, ACL_GEO,
        CHANGES(WHOLE, ONE_KEY), "Members around another member, or stores them.",
        .keys = georadius_store_keys,
        .traced = "4.. m km ft mi withcoord withdist withhash count# any asc desc store storedist"),
    COMMAND("georadiusbymember_ro", command_georadiusbymember_ro, -5, READ, ACL_GEO, ONE_KEY,
            "Members around another member.",
            .traced = "4.. m km ft mi withcoord withdist withhash count# any asc desc"),
    COMMAND("geohash", command_geohash, -2, READ, ACL_GEO, ONE_KEY,
            "The cells of members, as geohash.org writes them."),
    COMMAND("geopos", command_geopos, -2, READ, ACL_GEO, ONE_KEY,
            "Longitude and latitude of members."),
    COMMAND("geodist", command_geodist, -4, READ, ACL_GEO, ONE_KEY, "The distance of two members.",
            .traced = "4.. m km ft mi"),
    COMMAND("geosearch", command_geosearch, -7, READ, ACL_GEO, ONE_KEY,
            "Members in a circle or a box.",
            .traced = "2.. frommember? fromlonlat?? byradius? bybox?? m km ft mi asc desc count# "
                      "any withcoord withdist withhash"),
    COMMAND("geosearchstore", command_geosearchstore, -8, GROW, ACL_GEO, CHANGES(WHOLE, TWO_KEYS),
            "Stores the members in a circle or a box.",
            .traced = "3.. frommember? fromlonlat?? byradius? bybox?? m km ft mi asc desc count# "
                      "any storedist"),
};

void commands_geo_register(void) { command_register(COMMAND_ROWS(rows)); }
