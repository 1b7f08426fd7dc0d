/* SPDX-License-Identifier: BSD-3-Clause
 * Conversions of replies to Lua values and back. convert.h has the rules.
 *
 * A reply comes value by value from its capture, which knows the groups that are open. The table
 * of an open group is on the stack. Above the table of a map is also the key whose value has not
 * come yet. All access to tables is raw, so no step runs code of a script or a finalizer of one.
 *
 * Invariant: the stack has one place for each open group, one more for each map that waits for a
 * value, and one for the result when the reply is complete.
 */
#include "script/convert.h"

#include <lua5.1/lua.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/panic.h"
#include "net/client.h"
#include "net/reply.h"
#include "script/engine.h"
#include "script/lib_internal.h"

/* The places of the stack that a value may take beside its group's. */
#define PLACES 6
/* At most so many slots of an array are made in advance; a longer array grows as its elements come,
 * because a command may announce any count, as in SRANDMEMBER k -2000000000. */
#define SLOTS_AT_ONCE 65536
/* Lua's own bound on the elements of a table: it raises an error for more. */
#define VALUES_MAX (INT64_C(1) << 26)
/* The places that a value takes on its way to a reply: a field, a key, its value, a copy. */
#define REPLY_PLACES 4
/* The bytes that each part of a reply counts: as many as a value takes in Lua. */
#define REPLY_PART_BYTES 16
/* The deepest place, counted from the outermost value, of a value on its way to a reply: 6.2's
 * stack allows as much. Each array takes one place, a map or a set up to three. */
#define REPLY_PLACE_MAX 7995

/* ---- a reply becomes a value ---- */

static struct convert *convert_of(struct capture *capture) { return (struct convert *)capture; }

static void convert_fill(struct convert *convert) {
    convert->full = true;
    convert->capture.client->flags |= CLIENT_REPLY_OFF;
}

/* Whether the reply has reached lua-memory-limit. No error may be raised while a command replies,
 * so the rest of such a reply is dropped, and the whole becomes an error at its end. A command with
 * a long reply sees CLIENT_REPLY_OFF and may stop early. */
static bool is_full(struct convert *convert) {
    if (convert->full) return true;
    if (engine_has_room(convert->L)) return false;
    convert_fill(convert);
    return true;
}

/* Whether the value on top can be a key. */
static bool is_key(lua_State *L, int index) {
    int type = lua_type(L, index);
    return type != LUA_TNIL && (type != LUA_TNUMBER || !isnan(lua_tonumber(L, index)));
}

/* Stores an entry: the key and its value are on top. */
static void put_pair(lua_State *L) {
    if (is_key(L, -2))
        lua_rawset(L, -3);
    else
        lua_pop(L, 2);
}

/* Stores the value on top in the innermost open group, or leaves it as the result. */
static void convert_put(struct convert *convert) {
    lua_State *L = convert->L;
    const struct capture_level *level = capture_innermost(&convert->capture);
    if (!level) {
        if (convert->done) lua_pop(L, 1); /* a second reply, which no command sends here */
        convert->done = true;
        return;
    }
    bool pairs = capture_group_is_pairs(level->kind);
    if (level->seen / (pairs ? 2 : 1) == VALUES_MAX) {
        convert_fill(convert);
        return;
    }
    switch (level->kind) {
    case CAPTURE_ARRAY:
    case CAPTURE_PUSH: lua_rawseti(L, -2, (int)level->seen + 1); break;
    case CAPTURE_SET:
        lua_pushboolean(L, true);
        put_pair(L);
        break;
    case CAPTURE_MAP:
    case CAPTURE_ATTRIBUTE:
        if (level->seen % 2) put_pair(L);
        break;
    }
}

/* Wraps the table on top: it becomes {name = table}. */
static void wrap_table(lua_State *L, const char *name) {
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
}

static void convert_take_group(struct capture *capture, enum capture_group kind, int64_t count) {
    struct convert *convert = convert_of(capture);
    if (is_full(convert)) return;
    if (count > VALUES_MAX) {
        convert_fill(convert);
        return;
    }
    int room = lua_checkstack(convert->L, PLACES);
    ASSERT(room);
    int slots = count < SLOTS_AT_ONCE ? (int)count : SLOTS_AT_ONCE;
    lua_createtable(convert->L, kind == CAPTURE_ARRAY && slots > 0 ? slots : 0, 0);
}

/* Attributes describe the value that follows; they are dropped, because scripts do not get them. */
static void convert_take_group_end(struct capture *capture, enum capture_group kind) {
    struct convert *convert = convert_of(capture);
    if (convert->full) return;
    if (kind == CAPTURE_MAP) wrap_table(convert->L, "map");
    if (kind == CAPTURE_SET) wrap_table(convert->L, "set");
    if (kind == CAPTURE_ATTRIBUTE)
        lua_pop(convert->L, 1);
    else
        convert_put(convert);
}

static void convert_take_integer(struct capture *capture, int64_t value) {
    if (is_full(convert_of(capture))) return;
    lua_pushnumber(convert_of(capture)->L, (double)value);
    convert_put(convert_of(capture));
}

static void convert_take_bulk(struct capture *capture, struct slice text) {
    if (is_full(convert_of(capture))) return;
    lua_pushlstring(convert_of(capture)->L, text.bytes, text.length);
    convert_put(convert_of(capture));
}

static void push_field(lua_State *L, const char *name, struct slice text) {
    lua_createtable(L, 0, 1);
    lua_pushlstring(L, text.bytes, text.length);
    lua_setfield(L, -2, name);
}

static void convert_take_status(struct capture *capture, struct slice text) {
    if (is_full(convert_of(capture))) return;
    push_field(convert_of(capture)->L, "ok", text);
    convert_put(convert_of(capture));
}

static void convert_take_error(struct capture *capture, struct slice text) {
    if (is_full(convert_of(capture))) return;
    struct convert *convert = convert_of(capture);
    if (!capture_innermost(capture) && !convert->done) convert->failed = true;
    push_field(convert->L, "err", text);
    convert_put(convert);
}

static void push_null(struct convert *convert) {
    if (convert->capture.client->protocol == 3)
        lua_pushnil(convert->L);
    else
        lua_pushboolean(convert->L, false);
}

static void convert_take_null(struct capture *capture) {
    if (is_full(convert_of(capture))) return;
    push_null(convert_of(capture));
    convert_put(convert_of(capture));
}

static void convert_take_boolean(struct capture *capture, bool value) {
    if (is_full(convert_of(capture))) return;
    lua_pushboolean(convert_of(capture)->L, value);
    convert_put(convert_of(capture));
}

/* number_parse_double does not take "nan" and "-nan" as numbers. */
static void convert_take_number(struct capture *capture, struct slice digits) {
    if (is_full(convert_of(capture))) return;
    lua_State *L = convert_of(capture)->L;
    double value;
    if (!number_parse_double(digits.bytes, digits.length, &value)) value = NAN;
    lua_createtable(L, 0, 1);
    lua_pushnumber(L, value);
    lua_setfield(L, -2, "double");
    convert_put(convert_of(capture));
}

static void convert_take_big_number(struct capture *capture, struct slice digits) {
    if (is_full(convert_of(capture))) return;
    push_field(convert_of(capture)->L, "big_number", digits);
    convert_put(convert_of(capture));
}

static void convert_take_verbatim(struct capture *capture, struct slice text, const char *type) {
    if (is_full(convert_of(capture))) return;
    lua_State *L = convert_of(capture)->L;
    push_field(L, "string", text);
    lua_pushstring(L, type);
    lua_setfield(L, -2, "format");
    wrap_table(L, "verbatim_string");
    convert_put(convert_of(capture));
}

static const struct capture_forms forms = {
    .integer = convert_take_integer,
    .bulk = convert_take_bulk,
    .status = convert_take_status,
    .error = convert_take_error,
    .group = convert_take_group,
    .group_end = convert_take_group_end,
    .null = convert_take_null,
    .boolean = convert_take_boolean,
    .number = convert_take_number,
    .big_number = convert_take_big_number,
    .verbatim = convert_take_verbatim,
};

void convert_open(struct convert *convert) {
    *convert = (struct convert){0};
    capture_open_typed(&convert->capture, &forms);
}

void convert_begin(struct convert *convert, struct lua_State *L) {
    int room = lua_checkstack(L, PLACES);
    ASSERT(room);
    convert->L = L;
    convert->base = lua_gettop(L);
    capture_restart(&convert->capture);
    convert->done = convert->failed = convert->full = false;
}

void convert_end(struct convert *convert) {
    convert->capture.client->flags &= ~(uint32_t)CLIENT_REPLY_OFF;
    if (convert->done && !convert->full) return;
    bool broke_off = lua_gettop(convert->L) > convert->base;
    lua_settop(convert->L, convert->base); /* there is no reply, or it broke off */
    if (!convert->full) {
        push_null(convert);
        return;
    }
    if (broke_off) engine_drop(convert->L);
    push_field(convert->L, "err", SLICE("ERR not enough memory for the reply"));
    convert->failed = true;
}

/* ---- order ---- */

static int compare_slices(const void *a, const void *b) {
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* A value that is not a string counts as "". */
void convert_sort(struct lua_State *L) {
    if (!lua_istable(L, -1)) return;
    int count = (int)lua_objlen(L, -1);
    if (count < 2) return;
    struct slice *texts = memory_alloc((size_t)count * sizeof(*texts), engine_memory);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, -1, i + 1);
        texts[i] = (struct slice){"", 0};
        if (lua_type(L, -1) == LUA_TSTRING) texts[i].bytes = lua_tolstring(L, -1, &texts[i].length);
        lua_pop(L, 1);
    }
    qsort(texts, (size_t)count, sizeof(*texts), compare_slices);
    lua_createtable(L, count, 0); /* the old table holds the texts until all are in the new one */
    for (int i = 0; i < count; i++) {
        lua_pushlstring(L, texts[i].bytes, texts[i].length);
        lua_rawseti(L, -2, i + 1);
    }
    lua_remove(L, -2);
    memory_free(texts, engine_memory);
}

/* ---- a value becomes a reply ---- */

/* A table is converted in two passes: the first counts the reply, the second sends it. */
struct replying {
    lua_State *L;
    struct client *client; /* NULL: this pass counts the reply */
    bool booleans;
    int base; /* the stack's height below the outermost value */
    size_t room;
    unsigned steps;
};

static void reply_value(struct replying *r);

/* True in the pass that counts: adds one part of the reply, whose text has so many bytes. Raises an
 * error if the reply has become too large, and runs the script's hook. */
static bool is_counted(struct replying *r, size_t bytes) {
    if (r->client) return false;
    if (bytes > r->room || r->room - bytes < REPLY_PART_BYTES)
        lib_error(r->L, "result larger than %d MB", (int)(CONVERT_REPLY_BYTES_MAX >> 20));
    r->room -= bytes + REPLY_PART_BYTES;
    lib_step(r->L, &r->steps);
    return true;
}

/* Pushes a field of the table on top. True if it has this type; otherwise pops it again. */
static bool push_typed_field(lua_State *L, const char *name, int type) {
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    if (lua_type(L, -1) == type) return true;
    lua_pop(L, 1);
    return false;
}

static struct slice text_on_top(lua_State *L) {
    struct slice text;
    text.bytes = lua_tolstring(L, -1, &text.length);
    return text;
}

/* Sends a reply of one line. The text ends at the first NUL, and newlines become blanks as in
 * reply_error. */
static void reply_line(struct replying *r, bool is_error) {
    struct buffer line;
    if (is_counted(r, lua_objlen(r->L, -1))) return;
    buffer_init(&line, MEMORY_OTHER);
    if (is_error) buffer_append_char(&line, '-');
    buffer_append_c_string(&line, lua_tostring(r->L, -1));
    if (is_error) {
        reply_error_slice(r->client, buffer_slice(&line));
    } else {
        for (size_t i = 0; i < line.length; i++)
            if (line.bytes[i] == '\r' || line.bytes[i] == '\n') line.bytes[i] = ' ';
        reply_status_slice(r->client, buffer_slice(&line));
    }
    buffer_free(&line);
}

/* Sends the table t of {map = t} or {set = t}; t is on top. */
static void reply_pairs(struct replying *r, bool with_values) {
    int64_t count = 0;
    lua_pushnil(r->L);
    while (lua_next(r->L, -2)) {
        count++;
        lua_pop(r->L, 1);
    }
    if (!is_counted(r, 0)) {
        if (with_values)
            reply_map(r->client, count);
        else
            reply_set(r->client, count);
    }
    lua_pushnil(r->L);
    while (lua_next(r->L, -2)) {
        if (!with_values) lua_pop(r->L, 1);
        lua_pushvalue(r->L, with_values ? -2 : -1);
        reply_value(r);
        if (with_values) reply_value(r);
    }
}

/* Sends the elements up to the first nil. */
static void reply_items(struct replying *r) {
    int64_t count = 0;
    for (;; count++) {
        lua_rawgeti(r->L, -1, (int)count + 1);
        bool is_end = lua_isnil(r->L, -1);
        lua_pop(r->L, 1);
        if (is_end) break;
    }
    if (!is_counted(r, 0)) reply_array(r->client, count);
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(r->L, -1, i);
        reply_value(r);
    }
}

/* NaN is sent with the sign that the processor gave it, as in 6.2. */
static void reply_number(struct client *c, double value) {
    if (isnan(value))
        reply_double_digits(c, signbit(value) ? SLICE("-nan") : SLICE("nan"));
    else
        reply_double(c, value);
}

static void reply_table(struct replying *r) {
    lua_State *L = r->L;
    bool is_error = push_typed_field(L, "err", LUA_TSTRING);
    if (is_error || push_typed_field(L, "ok", LUA_TSTRING)) {
        reply_line(r, is_error);
    } else if (push_typed_field(L, "double", LUA_TNUMBER)) {
        if (!is_counted(r, 0)) reply_number(r->client, lua_tonumber(L, -1));
    } else if (push_typed_field(L, "map", LUA_TTABLE)) {
        reply_pairs(r, true);
    } else if (push_typed_field(L, "set", LUA_TTABLE)) {
        reply_pairs(r, false);
    } else {
        reply_items(r);
        return;
    }
    lua_pop(L, 1);
}

/* Converts as a cast on x86-64 does: a number that does not fit becomes the least integer. */
static int64_t to_integer(double value) {
    if (!(value >= -0x1p63 && value < 0x1p63)) return INT64_MIN;
    return (int64_t)value;
}

static void reply_boolean(const struct replying *r, bool value) {
    if (r->booleans)
        reply_bool(r->client, value);
    else if (value)
        reply_integer(r->client, 1);
    else
        reply_null(r->client);
}

/* Sends the value on top and pops it. */
static void reply_value(struct replying *r) {
    lua_State *L = r->L;
    int type = lua_type(L, -1);
    if (lua_gettop(L) - r->base > REPLY_PLACE_MAX || !lua_checkstack(L, REPLY_PLACES)) {
        if (!is_counted(r, 0)) reply_error(r->client, "reached lua stack limit");
    } else if (type == LUA_TTABLE) {
        reply_table(r);
    } else if (!is_counted(r, type == LUA_TSTRING ? lua_objlen(L, -1) : 0)) {
        switch (type) {
        case LUA_TSTRING: reply_bulk(r->client, text_on_top(L)); break;
        case LUA_TNUMBER: reply_integer(r->client, to_integer(lua_tonumber(L, -1))); break;
        case LUA_TBOOLEAN: reply_boolean(r, lua_toboolean(L, -1)); break;
        default: reply_null(r->client);
        }
    }
    lua_pop(L, 1);
}

void convert_reply(struct lua_State *L, struct client *c, bool booleans) {
    struct replying r = {.L = L, .booleans = booleans, .base = lua_gettop(L) - 1};
    if (lua_istable(L, -1)) {
        r.room = CONVERT_REPLY_BYTES_MAX;
        lua_pushvalue(L, -1);
        r.base++;
        reply_value(&r);
        r.base--;
    }
    r.client = c;
    reply_value(&r);
}
