/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the four libraries: a buffer that Lua owns, and conversions of numbers to integers.
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
/* So many bytes are kept on the C stack; few, because finalizers may nest such calls. */
#define LIB_BUFFER_FIRST 512

/* A buffer that grows. Its bytes are in `first`, and, when they do not fit there, in a userdata at
 * the stack's index `slot`, which the caller reserves for it. So an error of Lua, which leaves by
 * longjmp, leaks nothing. The struct must not be copied, because `bytes` may point to `first`. */
struct lib_buffer {
    lua_State *L;
    int slot;
    size_t used;
    size_t size;
    unsigned char *bytes;
    unsigned char first[LIB_BUFFER_FIRST];
};

/* Called once for each state, before any function of the libraries. */
void lib_open(lua_State *L);
/* `slot` is an absolute index whose value the buffer may overwrite. */
void lib_buffer_init(struct lib_buffer *buffer, lua_State *L, int slot);
/* Moves to a userdata with room for `more` bytes. Raises an error above LIB_RESULT_MAX. */
void lib_buffer_grow(struct lib_buffer *buffer, size_t more);
/* Pushes the bytes as a string. */
void lib_buffer_push(struct lib_buffer *buffer);
/* Pushes the bytes as a string, and ends the use of the buffer. */
void lib_buffer_finish(struct lib_buffer *buffer);

/* Adds `more` bytes to the end and returns where they are, to be written by the caller. Valid until
 * the next call. */
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

/* Reserves `slots` of the Lua stack. If they are not available, raises "stack overflow (`what`)";
 * the caller's values are popped first, because raising an error needs slots, too. */
void lib_check_stack(lua_State *L, int slots, const char *what);

/* luaL_error for code that may have filled the stack: the caller's values are popped first, so none
 * of their texts may be among the arguments. */
#define lib_error(L, ...) (lua_settop(L, 0), luaL_error(L, __VA_ARGS__))

/* Handling so many values takes a few milliseconds. */
#define LIB_STEPS 65536

/* Runs the state's count hook, if it has one, as Lua does between instructions. */
void lib_run_hook(lua_State *L);

/* Called in loops over values: runs the script's hook after every LIB_STEPS values, so that a
 * script can be stopped within a library. The hook may raise an error. `steps` belongs to the loop,
 * and begins with 0. */
static inline void lib_step(lua_State *L, unsigned *steps) {
    if (++*steps < LIB_STEPS) return;
    *steps = 0;
    lib_run_hook(L);
}

/* Converts a number to an integer, rounded towards zero. A number that does not fit, and NaN,
 * becomes INT64_MIN: C leaves this undefined, and x86-64 processors, on which 6.2 runs, do so. */
int64_t lib_int64(lua_Number number);
/* Converts a number to an unsigned integer: a negative number becomes the two's complement of
 * lib_int64's result, 2^64 and above becomes 0, NaN becomes 2^63. */
uint64_t lib_uint64(lua_Number number);
/* Argument `index`, a number or a text that is one, converted by lib_int64. Raises an error of Lua
 * for other values. */
int64_t lib_check_int64(lua_State *L, int index);
/* As lib_check_int64; `missing` if the argument is absent or nil. */
int64_t lib_optional_int64(lua_State *L, int index, int64_t missing);
/* The low 32 bits of an integer. */
int32_t lib_int32(int64_t number);

/* Each pushes a library's table. */
void lib_bit_push(lua_State *L);
void lib_struct_push(lua_State *L);
void lib_msgpack_push(lua_State *L);
void lib_json_push(lua_State *L);
#endif
