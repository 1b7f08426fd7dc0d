/* SPDX-License-Identifier: BSD-3-Clause
 * `struct`: numbers and strings to packed bytes and back, by a format.
 *
 * The interface is that of Roberto Ierusalimschy's library,
 * http://www.inf.puc-rio.br/~roberto/struct:
 *
 *   > <      the options that follow are big or little endian (little at first)
 *   !n       numbers are aligned to their size, at most to n, a power of two (8 without n; 1 at
 *            first)
 *   b h l    signed integers of 1, 2, 8 bytes
 *   B H L T  unsigned integers of 1, 2, 8, 8 bytes
 *   in       a signed integer of n bytes (4 without n); In: unsigned
 *   f d      a float, a double
 *   cn       n bytes of a string (1 without n). c0: the whole string; when it is unpacked, as many
 *            bytes as the value before says, which the string replaces
 *   s        a string that ends with a NUL
 *   x        a byte of padding
 *   ' '      nothing
 *
 * A NUL ends the format.
 *
 * Invariants:
 *  1. `position` is compared with the data's length before anything is added to it, so it never
 *     wraps around. (The script chooses the start, of 64 bits.)
 *  2. An integer has at most INTEGER_SIZE_MAX bytes, of which 8 matter: the bytes above are 0 when
 *     packed, and ignored when unpacked.
 */
#include <ctype.h>
#include <limits.h>

#include "script/lib_internal.h"

#define INTEGER_SIZE_MAX 32
#define ALIGNMENT_DEFAULT 8

struct format {
    lua_State *L;
    const char *at; /* The next option, or its count. */
    bool big_endian;
    size_t alignment;
};

static void format_init(struct format *format, lua_State *L) {
    format->L = L;
    format->at = luaL_checkstring(L, 1);
    format->big_endian = false;
    format->alignment = 1;
}

/* The count behind an option, or `missing`. */
static size_t format_count(struct format *format, int missing) {
    if (!isdigit((unsigned char)*format->at)) return (size_t)missing;
    int count = 0;
    while (isdigit((unsigned char)*format->at)) {
        int digit = *format->at++ - '0';
        if (count > (INT_MAX - digit) / 10) lib_error(format->L, "integral size overflow");
        count = count * 10 + digit;
    }
    return (size_t)count;
}

/* Returns the bytes that `option` takes, 0 if it has no size of its own. Reads the option's count.
 */
static size_t format_size(struct format *format, char option) {
    switch (option) {
    case 'b':
    case 'B':
    case 'x': return 1;
    case 'h':
    case 'H': return 2;
    case 'f': return 4;
    case 'l':
    case 'L':
    case 'T':
    case 'd': return 8;
    case 'c': return format_count(format, 1);
    case 'i':
    case 'I': {
        size_t size = format_count(format, 4);
        if (size > INTEGER_SIZE_MAX)
            lib_error(format->L, "integral size %d is larger than limit of %d", (int)size,
                      INTEGER_SIZE_MAX);
        return size;
    }
    default: return 0;
    }
}

/* Returns the padding before an option of `size` bytes at `position`. A size that is not a power of
 * two aligns oddly, as in 6.2. */
static size_t format_padding(const struct format *format, char option, size_t size,
                             size_t position) {
    if (size == 0 || option == 'c') return 0;
    if (size > format->alignment) size = format->alignment;
    return (size - (position & (size - 1))) & (size - 1);
}

/* Handles an option that takes no value. Raises an error if there is no such option. */
static void format_steer(struct format *format, char option) {
    switch (option) {
    case ' ': return;
    case '>': format->big_endian = true; return;
    case '<': format->big_endian = false; return;
    case '!': {
        size_t alignment = format_count(format, ALIGNMENT_DEFAULT);
        if (alignment == 0 || (alignment & (alignment - 1)))
            lib_error(format->L, "alignment %d is not a power of 2", (int)alignment);
        format->alignment = alignment;
        return;
    }
    default:
        luaL_argerror(format->L, 1,
                      lua_pushfstring(format->L, "invalid format option '%c'", option));
    }
}

static void struct_pack_integer(struct format *format, struct lib_buffer *out, uint64_t value,
                                size_t size) {
    unsigned char *bytes = lib_buffer_extend(out, size);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = i < sizeof(value) ? (unsigned char)(value >> (i * 8)) : 0;
        bytes[format->big_endian ? size - 1 - i : i] = byte;
    }
}

static void pack_float(struct format *format, struct lib_buffer *out, lua_Number number,
                       size_t size) {
    if (size == sizeof(float)) {
        float single = (float)number;
        uint32_t bits;
        memcpy(&bits, &single, sizeof(bits));
        struct_pack_integer(format, out, bits, size);
    } else {
        uint64_t bits;
        memcpy(&bits, &number, sizeof(bits));
        struct_pack_integer(format, out, bits, size);
    }
}

/* The options of integers; the small letters are signed. */
static bool is_integer(char option) { return option && strchr("bBhHlLTiI", option); }

static void pack_option(struct format *format, struct lib_buffer *out, char option, size_t size,
                        int *argument) {
    lua_State *L = format->L;
    if (is_integer(option)) {
        struct_pack_integer(format, out, lib_uint64(luaL_checknumber(L, (*argument)++)), size);
        return;
    }
    switch (option) {
    case 'f':
    case 'd': pack_float(format, out, luaL_checknumber(L, (*argument)++), size); return;
    case 'x': lib_buffer_append_byte(out, 0); return;
    case 'c':
    case 's': {
        size_t length;
        const char *text = luaL_checklstring(L, (*argument)++, &length);
        if (option == 's' || size == 0) size = length;
        luaL_argcheck(L, length >= size, *argument, "string too short");
        lib_buffer_append(out, text, size);
        if (option == 's') lib_buffer_append_byte(out, 0);
        return;
    }
    default: format_steer(format, option);
    }
}

static int struct_pack(lua_State *L) {
    struct format format;
    format_init(&format, L);
    lua_pushnil(L); /* If arguments are missing, this nil is the first of them. */
    lua_pushnil(L);
    struct lib_buffer out;
    lib_buffer_init(&out, L, lua_gettop(L));
    int argument = 2;
    while (*format.at) {
        char option = *format.at++;
        size_t size = format_size(&format, option);
        size_t padding = format_padding(&format, option, size, out.used);
        memset(lib_buffer_extend(&out, padding), 0, padding);
        pack_option(&format, &out, option, size, &argument);
    }
    lib_buffer_finish(&out);
    return 1;
}

static uint64_t unpack_bits(const struct format *format, const unsigned char *bytes, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | bytes[format->big_endian ? i : size - 1 - i];
    return value;
}

static lua_Number unpack_integer(const struct format *format, const unsigned char *bytes,
                                 size_t size, bool has_sign) {
    uint64_t value = unpack_bits(format, bytes, size);
    if (!has_sign) return (lua_Number)value;
    if (size > 0 && size < sizeof(value) && value >> (size * 8 - 1))
        value |= UINT64_MAX << size * 8;
    return (lua_Number)(int64_t)value;
}

static lua_Number unpack_float(const struct format *format, const unsigned char *bytes,
                               size_t size) {
    uint64_t bits = unpack_bits(format, bytes, size);
    if (size == sizeof(float)) {
        uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, sizeof(single));
        return single;
    }
    lua_Number number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

struct data {
    const unsigned char *bytes;
    size_t length;
    size_t position; /* At most `length`, once an option has been read. */
    int results;
};

static void data_check(lua_State *L, const struct data *data, size_t size) {
    luaL_argcheck(L, data->position <= data->length && size <= data->length - data->position, 2,
                  "data string too short");
}

/* Pushes the string of `c` or `s`. The size of c0 is the result before it, which is popped. */
static void unpack_text(lua_State *L, struct data *data, char option, size_t size) {
    const unsigned char *at = data->bytes + data->position;
    if (option == 's') {
        const unsigned char *end = memchr(at, 0, data->length - data->position);
        if (!end) lib_error(L, "unfinished string in data");
        size = (size_t)(end - at);
        data->position++;
    } else if (size == 0) {
        if (data->results == 0 || !lua_isnumber(L, -1))
            lib_error(L, "format 'c0' needs a previous size");
        size = lib_uint64(lua_tonumber(L, -1));
        lua_pop(L, 1);
        data->results--;
        data_check(L, data, size);
    }
    lua_pushlstring(L, (const char *)at, size);
    data->position += size;
    data->results++;
}

static void unpack_option(struct format *format, struct data *data, char option, size_t size) {
    lua_State *L = format->L;
    const unsigned char *at = data->bytes + data->position;
    if (is_integer(option)) {
        lua_pushnumber(L, unpack_integer(format, at, size, islower((unsigned char)option)));
    } else {
        switch (option) {
        case 'f':
        case 'd': lua_pushnumber(L, unpack_float(format, at, size)); break;
        case 'x': data->position++; return;
        case 'c':
        case 's': unpack_text(L, data, option, size); return;
        default: format_steer(format, option); return;
        }
    }
    data->position += size;
    data->results++;
}

static int struct_unpack(lua_State *L) {
    struct format format;
    format_init(&format, L);
    struct data data = {.results = 0};
    data.bytes = (const unsigned char *)luaL_checklstring(L, 2, &data.length);
    data.position = (size_t)lib_optional_int64(L, 3, 1) - 1;
    luaL_argcheck(L, data.position != SIZE_MAX, 3, "offset must be 1 or greater");
    while (*format.at) {
        char option = *format.at++;
        size_t size = format_size(&format, option);
        data_check(L, &data, 0);
        data.position += format_padding(&format, option, size, data.position);
        data_check(L, &data, size);
        lib_check_stack(L, 2, "too many results");
        unpack_option(&format, &data, option, size);
    }
    lua_pushnumber(L, (lua_Number)(int64_t)(data.position + 1));
    return data.results + 1;
}

/* Letters and digits that are no options have size 0 here, as in 6.2. */
static int struct_size(lua_State *L) {
    struct format format;
    format_init(&format, L);
    size_t total = 0;
    while (*format.at) {
        char option = *format.at++;
        size_t size = format_size(&format, option);
        total += format_padding(&format, option, size, total);
        luaL_argcheck(L, option != 's', 1, "option 's' has no fixed size");
        luaL_argcheck(L, option != 'c' || size > 0, 1, "option 'c0' has no fixed size");
        if (!isalnum((unsigned char)option)) format_steer(&format, option);
        total += size;
    }
    lua_pushnumber(L, (lua_Number)total);
    return 1;
}

void lib_struct_push(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"pack", struct_pack}, {"unpack", struct_unpack}, {"size", struct_size}, {NULL, NULL}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
}
