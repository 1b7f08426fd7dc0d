/* SPDX-License-Identifier: BSD-3-Clause
 * What the four libraries share: a buffer that Lua owns, and conversions of numbers with a range.
 */
#ifndef EVENKEEL_SCRIPT_LIB_INTERNAL_H
#define EVENKEEL_SCRIPT_LIB_INTERNAL_H
#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The largest string that a library makes: no value and no argument can be larger by default
 * (proto-max-bulk-len), and a small table that holds itself twice can describe far more. */
#define LIB_RESULT_MAX ((size_t)512 * 1024 * 1024)
/* What fits is kept on the C stack. Small, since finalizers may nest such calls. */
#define LIB_BUFFER_FIRST 512

/* Bytes that grow. They stand in `first`, and from there on in a userdata at the stack's index
 * `slot`, which the user of the buffer keeps for it: so an error of Lua's, which jumps over this
 * code, leaves nothing behind. Never copied: `bytes` may lead to `first`. */
struct lib_buffer {
    lua_State *L;
    int slot;
    size_t used;
    size_t size;
    unsigned char *bytes;
    unsigned char first[LIB_BUFFER_FIRST];
};

/* Once a state, before any function of the libraries. */
void lib_open(lua_State *L);
/* `slot` is an absolute index whose value the buffer may overwrite. */
void lib_buffer_init(struct lib_buffer *buffer, lua_State *L, int slot);
/* Moves to a userdata with room for `more` bytes. Raises an error above LIB_RESULT_MAX. */
void lib_buffer_grow(struct lib_buffer *buffer, size_t more);
/* Pushes the bytes as a string. */
void lib_buffer_push(struct lib_buffer *buffer);
/* The same; the buffer may not be used any more. */
void lib_buffer_finish(struct lib_buffer *buffer);

/* Room for `more` bytes at the end, counted as used. Valid until the next call. */
static inline unsigned char *lib_buffer_extend(struct lib_buffer *buffer, size_t more) {
    if (more > buffer->size - buffer->used) lib_buffer_grow(buffer, more);
    unsigned char *at = buffer->bytes + buffer->used;
    buffer->used += more;
    return at;
}

static inline void lib_buffer_append(struct lib_buffer *buffer, const void *bytes, size_t length) {
    memcpy(lib_buffer_extend(buffer, length), bytes, length);
}

static inline void lib_buffer_append_byte(struct lib_buffer *buffer, unsigned char byte) {
    *lib_buffer_extend(buffer, 1) = byte;
}

/* Asks for `slots` of the Lua stack; where they are not to be had raises "stack overflow (`what`)",
 * which needs some itself, so the caller's are given up first. */
void lib_check_stack(lua_State *L, int slots, const char *what);

/* luaL_error for who may have filled the stack: the caller's values are given up first, so none of
 * their texts may be among the arguments. */
#define lib_error(L, ...) (lua_settop(L, 0), luaL_error(L, __VA_ARGS__))

/* So many values are a few milliseconds' work. */
#define LIB_STEPS 65536

/* Runs the state's count hook, if it has one, as Lua does between instructions. */
void lib_run_hook(lua_State *L);

/* Stands in loops over values: a script can be stopped within a library, too, since its hook is run
 * every LIB_STEPS values. The hook may raise an error. `steps` is the loop's, 0 at first. */
static inline void lib_step(lua_State *L, unsigned *steps) {
    if (++*steps < LIB_STEPS) return;
    *steps = 0;
    lib_run_hook(L);
}

/* A number as an integer, cut towards zero; what does not fit, and NaN, is INT64_MIN. So do the
 * processors that 6.2 is known from, where C leaves it undefined. */
int64_t lib_int64(lua_Number number);
/* Likewise without a sign: a negative number is lib_int64's two's complement, 2^64 and above is 0,
 * NaN is 2^63. */
uint64_t lib_uint64(lua_Number number);
/* Argument `index` as lib_int64 of a number, or a text that is one; an error of Lua's otherwise. */
int64_t lib_check_int64(lua_State *L, int index);
/* `missing` where the argument is absent or nil. */
int64_t lib_optional_int64(lua_State *L, int index, int64_t missing);
/* The low 32 bits of an integer. */
int32_t lib_int32(int64_t number);

/* Each pushes a library's table. */
void lib_bit_push(lua_State *L);
void lib_struct_push(lua_State *L);
void lib_msgpack_push(lua_State *L);
void lib_json_push(lua_State *L);
#endif
