/* SPDX-License-Identifier: BSD-3-Clause
 * `cmsgpack`: Lua values as MessagePack and back.
 *
 * The format is https://github.com/msgpack/msgpack/blob/master/spec.md, without the types bin and
 * ext, which are refused. A number that is an integer of 64 bits is packed in the shortest integer
 * type. Any other number is packed as a float if that loses nothing, else as a double. A table
 * whose keys are 1 to n is an array, any other table a map. A value without a MessagePack type is
 * packed as nil. An unsigned integer of 64 bits is unpacked as if it were signed, as in 6.2.
 *
 * Invariants:
 *  1. Packing goes PACK_DEPTH_MAX tables deep and writes nil for deeper tables, so it may recurse.
 *  2. Unpacking does not recurse. An open container is its table, the key of the element that is
 *     being read, and a struct level in a buffer. The first two are slots of the Lua stack, which
 *     bounds the depth at 4,000, as in 6.2.
 *  3. A length read from the bytes is only compared with what is left, or counted down: no memory
 *     is reserved for it.
 */
#include <float.h>
#include <math.h>

#include "base/panic.h"
#include "script/lib_internal.h"

#define PACK_DEPTH_MAX 16

/* The byte before a value; its low bits may hold the value or its length. */
enum {
    TYPE_FIX_MAP = 0x80,
    TYPE_FIX_ARRAY = 0x90,
    TYPE_FIX_STRING = 0xa0,
    TYPE_NIL = 0xc0,
    TYPE_FALSE = 0xc2,
    TYPE_TRUE = 0xc3,
    TYPE_FLOAT = 0xca,
    TYPE_DOUBLE = 0xcb,
    TYPE_UINT8 = 0xcc,
    TYPE_UINT64 = 0xcf,
    TYPE_INT8 = 0xd0,
    TYPE_INT64 = 0xd3,
    TYPE_STRING8 = 0xd9,
    TYPE_STRING32 = 0xdb,
    TYPE_ARRAY16 = 0xdc,
    TYPE_ARRAY32 = 0xdd,
    TYPE_MAP16 = 0xde,
    TYPE_MAP32 = 0xdf,
    TYPE_FIX_NEGATIVE = 0xe0,
};

/* --- packing --------------------------------------------------------------------------------- */

/* Writes `type` and the low `size` bytes of `value`, the highest first. */
static void put_bytes(struct lib_buffer *out, unsigned char type, uint64_t value, size_t size) {
    unsigned char *bytes = lib_buffer_extend(out, 1 + size);
    bytes[0] = type;
    for (size_t i = size; i > 0; i--, value >>= 8) bytes[i] = (unsigned char)value;
}

static void msgpack_pack_integer(struct lib_buffer *out, int64_t value) {
    uint64_t bits = (uint64_t)value;
    bool negative = value < 0;
    if (value >= -32 && value <= INT8_MAX) {
        put_bytes(out, (unsigned char)bits, 0, 0);
        return;
    }
    /* A positive integer is written as unsigned, because one bit more fits. */
    uint64_t magnitude = negative ? ~bits : bits >> 1;
    unsigned power = 3;
    if (magnitude <= INT8_MAX)
        power = 0;
    else if (magnitude <= INT16_MAX)
        power = 1;
    else if (magnitude <= INT32_MAX)
        power = 2;
    put_bytes(out, (unsigned char)((negative ? TYPE_INT8 : TYPE_UINT8) + power), bits,
              (size_t)1 << power);
}

static void pack_number(struct lib_buffer *out, lua_Number number) {
    int64_t integer = lib_int64(number);
    if ((lua_Number)integer == number) {
        msgpack_pack_integer(out, integer);
    } else if ((lua_Number)(float)number == number) {
        float single = (float)number;
        uint32_t bits;
        memcpy(&bits, &single, sizeof(bits));
        put_bytes(out, TYPE_FLOAT, bits, sizeof(bits));
    } else {
        uint64_t bits;
        memcpy(&bits, &number, sizeof(bits));
        put_bytes(out, TYPE_DOUBLE, bits, sizeof(bits));
    }
}

/* Writes the string on top of the stack. It must not be a number: lua_tolstring would turn it into
 * a string, which breaks lua_next if it is a key. */
static void pack_string(struct lib_buffer *out, lua_State *L) {
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    if (length < 32)
        put_bytes(out, (unsigned char)(TYPE_FIX_STRING | length), 0, 0);
    else if (length <= UINT8_MAX)
        put_bytes(out, TYPE_STRING8, length, 1);
    else if (length <= UINT16_MAX)
        put_bytes(out, TYPE_STRING8 + 1, length, 2);
    else
        put_bytes(out, TYPE_STRING32, length, 4); /* The append refuses longer strings. */
    lib_buffer_append(out, text, length);
}

static void put_count(struct lib_buffer *out, unsigned char fix_type, unsigned char type16,
                      size_t count) {
    if (count < 16)
        put_bytes(out, (unsigned char)(fix_type | count), 0, 0);
    else if (count <= UINT16_MAX)
        put_bytes(out, type16, count, 2);
    else
        put_bytes(out, type16 + 1, count, 4); /* A table has less than 2^32 entries. */
}

struct packer {
    lua_State *L;
    unsigned steps;
    struct lib_buffer out;
};

/* Counts the entries of the table on top. Returns true if its keys are 1 to `count`. */
static bool count_entries(struct packer *packer, size_t *count) {
    lua_State *L = packer->L;
    bool is_array = true;
    lua_Number last = 0;
    *count = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        ++*count;
        lib_step(L, &packer->steps);
        if (lua_type(L, -2) != LUA_TNUMBER) {
            is_array = false;
            continue;
        }
        lua_Number key = lua_tonumber(L, -2);
        if (!(key >= 1) || floor(key) != key) is_array = false;
        if (key > last) last = key;
    }
    return is_array && last == (lua_Number)*count;
}

static void pack_value(struct packer *packer, int depth);

/* Writes the table on top. Takes three slots for each level, which pack_value reserves. */
static void pack_table(struct packer *packer, int depth) {
    lua_State *L = packer->L;
    size_t count;
    if (count_entries(packer, &count)) {
        put_count(&packer->out, TYPE_FIX_ARRAY, TYPE_ARRAY16, count);
        for (size_t i = 1; i <= count; i++) {
            lua_rawgeti(L, -1, (int)i);
            pack_value(packer, depth + 1);
            lua_pop(L, 1);
        }
        return;
    }
    put_count(&packer->out, TYPE_FIX_MAP, TYPE_MAP16, count);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        pack_value(packer, depth + 1);
        lua_pop(L, 1);
        pack_value(packer, depth + 1);
    }
}

/* Writes the value on top, and leaves it there. `depth` tables are around it. */
static void pack_value(struct packer *packer, int depth) {
    lua_State *L = packer->L;
    lib_check_stack(L, 4, "in function pack");
    lib_step(L, &packer->steps);
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: pack_string(&packer->out, L); return;
    case LUA_TBOOLEAN:
        put_bytes(&packer->out, lua_toboolean(L, -1) ? TYPE_TRUE : TYPE_FALSE, 0, 0);
        return;
    case LUA_TNUMBER: pack_number(&packer->out, lua_tonumber(L, -1)); return;
    case LUA_TTABLE:
        if (depth < PACK_DEPTH_MAX) {
            pack_table(packer, depth);
            return;
        }
        break;
    default: break;
    }
    put_bytes(&packer->out, TYPE_NIL, 0, 0);
}

static int msgpack_pack(lua_State *L) {
    int count = lua_gettop(L);
    luaL_argcheck(L, count > 0, 0, "MessagePack pack needs input.");
    luaL_argcheck(L, lua_checkstack(L, count), 0, "Too many arguments for MessagePack pack.");
    lib_check_stack(L, 3, "in function pack");
    lua_pushnil(L);
    struct packer packer = {.L = L};
    lib_buffer_init(&packer.out, L, count + 1);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(L, i);
        pack_value(&packer, 0);
        lua_pop(L, 1);
    }
    lib_buffer_finish(&packer.out);
    return 1;
}

/* --- unpacking ------------------------------------------------------------------------------- */

/* A container whose elements are being read. */
struct level {
    uint32_t left;  /* Elements still to be read, including the one that is being read. */
    uint32_t index; /* Of this element in an array, also on the stack; 0: a map. */
    bool has_key;   /* For a map: the key is on the stack, its value comes next. */
};

struct input {
    lua_State *L;
    const unsigned char *at;
    const unsigned char *end;
    unsigned steps;
    struct lib_buffer levels; /* One struct level for each open container, the innermost last. */
};

static uint64_t take_bytes(struct input *in, size_t size) {
    if ((size_t)(in->end - in->at) < size) lib_error(in->L, "Missing bytes in input.");
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) value = value << 8 | *in->at++;
    return value;
}

/* Reads `size` bytes as a signed integer. */
static int64_t take_signed(struct input *in, size_t size) {
    uint64_t value = take_bytes(in, size);
    ASSERT_SLOW(size > 0);
    unsigned above = (unsigned)(64 - size * 8);
    return (int64_t)(value << above) >> above;
}

static lua_Number take_float(struct input *in) {
    uint32_t bits = (uint32_t)take_bytes(in, sizeof(bits));
    float single;
    memcpy(&single, &bits, sizeof(single));
    return single;
}

static lua_Number take_double(struct input *in) {
    uint64_t bits = take_bytes(in, sizeof(bits));
    lua_Number number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static void push_string(struct input *in, size_t length) {
    if ((size_t)(in->end - in->at) < length) lib_error(in->L, "Missing bytes in input.");
    lua_pushlstring(in->L, (const char *)in->at, length);
    in->at += length;
}

static bool open_level(struct input *in, uint32_t count, bool is_array) {
    if (is_array) lib_check_stack(in->L, 2, "in function mp_decode_to_lua_array");
    lua_newtable(in->L);
    if (count == 0) return true;
    struct level level = {.left = count};
    if (is_array) lua_pushnumber(in->L, level.index = 1);
    lib_buffer_append(&in->levels, &level, sizeof(level));
    return false;
}

/* Reads a value and pushes it. Returns true if the value is complete; otherwise it is a container,
 * which is pushed and gets a level. */
static bool msgpack_take_value(struct input *in) {
    lua_State *L = in->L;
    lib_check_stack(L, 1,
                    "too many return values at once; use unpack_one or unpack_limit instead.");
    unsigned char type = (unsigned char)take_bytes(in, 1);
    if (type < TYPE_FIX_MAP || type >= TYPE_FIX_NEGATIVE) {
        lua_pushnumber(L, type < TYPE_FIX_MAP ? type : type - 256);
        return true;
    }
    if (type < TYPE_FIX_ARRAY) return open_level(in, type & 15, false);
    if (type < TYPE_FIX_STRING) return open_level(in, type & 15, true);
    if (type < TYPE_NIL) {
        push_string(in, type & 31);
        return true;
    }
    switch (type) {
    case TYPE_NIL: lua_pushnil(L); return true;
    case TYPE_FALSE:
    case TYPE_TRUE: lua_pushboolean(L, type == TYPE_TRUE); return true;
    case TYPE_FLOAT: lua_pushnumber(L, take_float(in)); return true;
    case TYPE_DOUBLE: lua_pushnumber(L, take_double(in)); return true;
    case TYPE_UINT8 ... TYPE_UINT64:
        lua_pushnumber(L, (lua_Number)(int64_t)take_bytes(in, (size_t)1 << (type - TYPE_UINT8)));
        return true;
    case TYPE_INT8 ... TYPE_INT64:
        lua_pushnumber(L, (lua_Number)take_signed(in, (size_t)1 << (type - TYPE_INT8)));
        return true;
    case TYPE_STRING8 ... TYPE_STRING32:
        push_string(in, take_bytes(in, (size_t)1 << (type - TYPE_STRING8)));
        return true;
    case TYPE_ARRAY16:
    case TYPE_ARRAY32:
        return open_level(in, (uint32_t)take_bytes(in, type == TYPE_ARRAY16 ? 2 : 4), true);
    case TYPE_MAP16:
    case TYPE_MAP32:
        return open_level(in, (uint32_t)take_bytes(in, type == TYPE_MAP16 ? 2 : 4), false);
    default: lib_error(L, "Bad data format in input."); return false;
    }
}

/* Puts the complete value on top into the innermost level. Returns true if that level is now
 * complete: then its table is the value on top. */
static bool msgpack_put_value(struct input *in) {
    lua_State *L = in->L;
    unsigned char *at = in->levels.bytes + in->levels.used - sizeof(struct level);
    struct level level;
    memcpy(&level, at, sizeof(level));
    if (level.index == 0 && !level.has_key) {
        level.has_key = true;
        memcpy(at, &level, sizeof(level));
        return false;
    }
    lua_rawset(L, -3);
    if (--level.left == 0) {
        in->levels.used -= sizeof(level);
        return true;
    }
    level.has_key = false;
    if (level.index > 0) lua_pushnumber(L, ++level.index);
    memcpy(at, &level, sizeof(level));
    return false;
}

/* Reads and pushes the next value with all its elements. */
static void unpack_value(struct input *in) {
    bool complete = msgpack_take_value(in);
    while (in->levels.used > 0 || !complete) {
        lib_step(in->L, &in->steps);
        complete = complete ? msgpack_put_value(in) : msgpack_take_value(in);
    }
}

/* Unpacks at most `limit` values from `offset` on. If both are 0, it unpacks all values and returns
 * nothing else. Otherwise its first result is the offset behind the last value, or -1 at the end.
 * The data is the only argument left on the stack. */
static int msgpack_unpack_values(lua_State *L, int64_t limit, int64_t offset) {
    size_t length;
    const char *data = luaL_checklstring(L, 1, &length);
    if (offset < 0 || limit < 0)
        return luaL_error(L, "Invalid request to unpack with offset of %d and limit of %d.",
                          (int)lib_int32(offset), (int)lib_int32((int64_t)length));
    if ((uint64_t)offset > length)
        return luaL_error(L, "Start offset %d greater than input length %d.",
                          (int)lib_int32(offset), (int)lib_int32((int64_t)length));
    bool everything = limit == 0 && offset == 0;
    struct input in = {
        .L = L,
        .at = (const unsigned char *)data + offset,
        .end = (const unsigned char *)data + length,
    };
    lua_pushnil(L); /* The slot for the buffer of levels. */
    lua_insert(L, 1);
    lib_buffer_init(&in.levels, L, 1);
    int count = 0;
    for (; in.at < in.end && (everything || count < limit); count++) unpack_value(&in);
    if (everything) return count;
    lib_check_stack(L, 1, "in function mp_unpack_full");
    lua_pushnumber(L, in.at == in.end ? -1 : (lua_Number)(in.at - (const unsigned char *)data));
    lua_insert(L, 3);
    return count + 1;
}

static int msgpack_unpack(lua_State *L) {
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    return msgpack_unpack_values(L, 0, 0);
}

static int msgpack_unpack_one(lua_State *L) {
    int64_t offset = lib_optional_int64(L, 2, 0);
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    return msgpack_unpack_values(L, 1, offset);
}

static int msgpack_unpack_limit(lua_State *L) {
    int64_t limit = lib_check_int64(L, 2);
    int64_t offset = lib_optional_int64(L, 3, 0);
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    return msgpack_unpack_values(L, limit, offset);
}

void lib_msgpack_push(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"pack", msgpack_pack},
        {"unpack", msgpack_unpack},
        {"unpack_one", msgpack_unpack_one},
        {"unpack_limit", msgpack_unpack_limit},
        {NULL, NULL},
    };
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    static const char *const constants[][2] = {
        {"_NAME", "cmsgpack"},
        {"_VERSION", "lua-cmsgpack 0.4.0"},
        {"_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"},
        {"_DESCRIPTION", "MessagePack C implementation for Lua"},
    };
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        lua_pushstring(L, constants[i][1]);
        lua_setfield(L, -2, constants[i][0]);
    }
}
