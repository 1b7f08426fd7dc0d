/* SPDX-License-Identifier: BSD-3-Clause
 * `cjson`: JSON (RFC 8259) as Lua values and back.
 *
 * The interface and the error texts are those of Mark Pulford's library,
 * https://kyne.au/~mark/software/lua-cjson-manual.html. A table whose keys are all positive
 * integers is an array, with null for each missing element. Any other table is an object, and so is
 * an empty table. null is the light userdata NULL. Beyond JSON, decoding takes numbers with a plus
 * sign or leading zeros, in hexadecimal, infinite, or NaN; a setting (on at first) allows that.
 *
 * Each table of functions (cjson, and what cjson.new() returns) has its own settings, in a userdata
 * that is an upvalue of each function. The setting encode_keep_buffer has no visible effect,
 * because a buffer never outlives its call.
 *
 * Invariants:
 *  1. Neither direction recurses. While decoding, an open array is its table on the Lua stack; an
 *     open object is its table and a key; the type of the top tells them apart. While encoding, an
 *     array is its table, an object is its table and the key that is being written, and each has a
 *     struct level in a buffer.
 *  2. The text ends with a NUL, as every Lua string does. So the next character may always be read,
 *     and a NUL within the text ends the text.
 */
#include <ctype.h>
#include <limits.h>
#include <math.h>

#include "base/number.h"
#include "script/lib_internal.h"

#define DEPTH_MAX 1000          /* The default: as deep as 6.2 goes. */
#define NUMBER_PRECISION_MAX 14 /* Significant digits: what Lua itself prints. */
#define INTEGER_MAX 1e14        /* An integer below this has no more digits than that. */
#define SPARSE_RATIO 2
#define SPARSE_SAFE 10
#define NUMBER_CHARS 32 /* Room for any "%.14g" and a NUL. */

/* The values are also the places in the list of the settings' names. */
enum { SETTING_OFF, SETTING_ON, SETTING_NULL };

struct settings {
    int sparse_convert; /* An array that is too sparse becomes an object, not an error. */
    int sparse_ratio;   /* 0: no array is too sparse. */
    int sparse_safe;
    int encode_depth;
    int decode_depth;
    int precision;
    int keep_buffer;
    int encode_invalid;
    int decode_invalid;
};

static struct settings *settings_of(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

/* --- settings -------------------------------------------------------------------------------- */

/* Fills up the arguments with nil to `count`; more arguments are an error. */
static void json_take_arguments(lua_State *L, int count) {
    luaL_argcheck(L, lua_gettop(L) <= count, count + 1, "found too many arguments");
    lua_settop(L, count);
}

/* Sets an integer, unless argument `index` is nil, and pushes it. Only the low 32 bits of the
 * argument count, as in 6.2. */
static void set_integer(lua_State *L, int index, int *setting, int min, int max) {
    if (!lua_isnil(L, index)) {
        int value = lib_int32(lib_check_int64(L, index));
        if (value < min || value > max)
            luaL_argerror(L, 1, /* The error names argument 1 for any `index`, as in 6.2. */
                          lua_pushfstring(L, "expected integer between %d and %d", min, max));
        *setting = value;
    }
    lua_pushinteger(L, *setting);
}

/* Sets a switch, unless argument `index` is nil, and pushes it. */
static void set_switch(lua_State *L, int index, int *setting, const char *const *names) {
    if (lua_isboolean(L, index))
        *setting = lua_toboolean(L, index) ? SETTING_ON : SETTING_OFF;
    else if (!lua_isnil(L, index))
        *setting = luaL_checkoption(L, index, NULL, names);
    if (*setting == SETTING_NULL)
        lua_pushstring(L, names[SETTING_NULL]);
    else
        lua_pushboolean(L, *setting == SETTING_ON);
}

static const char *const off_on[] = {"off", "on", NULL};
static const char *const off_on_null[] = {"off", "on", "null", NULL};

static int json_encode_sparse_array(lua_State *L) {
    struct settings *settings = settings_of(L);
    json_take_arguments(L, 3);
    set_switch(L, 1, &settings->sparse_convert, off_on);
    set_integer(L, 2, &settings->sparse_ratio, 0, INT_MAX);
    set_integer(L, 3, &settings->sparse_safe, 0, INT_MAX);
    return 3;
}

static int json_encode_max_depth(lua_State *L) {
    json_take_arguments(L, 1);
    set_integer(L, 1, &settings_of(L)->encode_depth, 1, INT_MAX);
    return 1;
}

static int json_decode_max_depth(lua_State *L) {
    json_take_arguments(L, 1);
    set_integer(L, 1, &settings_of(L)->decode_depth, 1, INT_MAX);
    return 1;
}

static int json_encode_number_precision(lua_State *L) {
    json_take_arguments(L, 1);
    set_integer(L, 1, &settings_of(L)->precision, 1, NUMBER_PRECISION_MAX);
    return 1;
}

static int json_encode_keep_buffer(lua_State *L) {
    json_take_arguments(L, 1);
    set_switch(L, 1, &settings_of(L)->keep_buffer, off_on);
    return 1;
}

static int json_encode_invalid_numbers(lua_State *L) {
    json_take_arguments(L, 1);
    set_switch(L, 1, &settings_of(L)->encode_invalid, off_on_null);
    return 1;
}

static int json_decode_invalid_numbers(lua_State *L) {
    json_take_arguments(L, 1);
    set_switch(L, 1, &settings_of(L)->decode_invalid, off_on);
    return 1;
}

/* --- encoding -------------------------------------------------------------------------------- */

/* A table that is being written. */
struct level {
    int length; /* Of the array; 0: the table is an object. */
    int at;     /* Elements of the array that are begun; of an object: 0 before the first. */
};

struct encoder {
    lua_State *L;
    const struct settings *settings;
    unsigned steps;
    int depth;
    struct lib_buffer out;
    struct lib_buffer levels; /* One struct level for each open table, the innermost last. */
};

static void put_text(struct encoder *json, const char *text) {
    lib_buffer_append(&json->out, text, strlen(text));
}

/* Raises the error that the value at `index` cannot be encoded. */
static void refuse_value(struct encoder *json, int index, const char *reason) {
    const char *type = luaL_typename(json->L, index);
    lib_error(json->L, "Cannot serialise %s: %s", type, reason);
}

/* Returns the letter of a character's short escape, 'u' if it is escaped by its number, 0 if not at
 * all. */
static const char escapes[256] = {
    [0 ... 7] = 'u', ['\b'] = 'b',      ['\t'] = 't', ['\n'] = 'n',  [11] = 'u',  ['\f'] = 'f',
    ['\r'] = 'r',    [14 ... 31] = 'u', ['"'] = '"',  ['\\'] = '\\', ['/'] = '/', [127] = 'u',
};

static void put_string(struct encoder *json, int index) {
    size_t length;
    const unsigned char *text = (const unsigned char *)lua_tolstring(json->L, index, &length);
    lib_buffer_append_byte(&json->out, '"');
    size_t plain = 0; /* The first character that is not written yet. */
    for (size_t i = 0; i < length; i++) {
        char escape = escapes[text[i]];
        if (!escape) continue;
        lib_buffer_append(&json->out, text + plain, i - plain);
        plain = i + 1;
        lib_buffer_append_byte(&json->out, '\\');
        lib_buffer_append_byte(&json->out, (unsigned char)escape);
        if (escape == 'u') {
            const char *digits = "0123456789abcdef";
            unsigned char code[4] = {'0', '0', (unsigned char)digits[text[i] >> 4],
                                     (unsigned char)digits[text[i] & 15]};
            lib_buffer_append(&json->out, code, sizeof(code));
        }
    }
    lib_buffer_append(&json->out, text + plain, length - plain);
    lib_buffer_append_byte(&json->out, '"');
}

static void put_number(struct encoder *json, int index) {
    lua_Number number = lua_tonumber(json->L, index);
    if (!isfinite(number) && json->settings->encode_invalid != SETTING_ON) {
        if (json->settings->encode_invalid == SETTING_OFF)
            refuse_value(json, index, "must not be NaN or Inf");
        put_text(json, "null");
        return;
    }
    char text[NUMBER_CHARS];
    if (json->settings->precision == NUMBER_PRECISION_MAX && fabs(number) < INTEGER_MAX &&
        (lua_Number)(int64_t)number == number && !(number == 0 && signbit(number))) {
        size_t length = number_format_int64(text, (int64_t)number);
        lib_buffer_append(&json->out, text, length);
        return;
    }
    snprintf(text, sizeof(text), "%.*g", json->settings->precision, number);
    put_text(json, isnan(number) ? "nan" : text);
}

static void put_key(struct encoder *json, int index) {
    switch (lua_type(json->L, index)) {
    case LUA_TSTRING: put_string(json, index); break;
    case LUA_TNUMBER:
        lib_buffer_append_byte(&json->out, '"');
        put_number(json, index);
        lib_buffer_append_byte(&json->out, '"');
        break;
    default: refuse_value(json, index, "table key must be a number or string");
    }
    lib_buffer_append_byte(&json->out, ':');
}

/* Returns the largest key of the table on top if all its keys are positive integers that fit an
 * int, and 0 for any other table. An array that is too sparse becomes an object (0) or an error. */
static int array_length(struct encoder *json) {
    lua_State *L = json->L;
    const struct settings *settings = json->settings;
    int max = 0;
    int64_t count = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_Number key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (!(key >= 1 && key <= INT_MAX && floor(key) == key)) {
            lua_pop(L, 2);
            return 0;
        }
        if (key > max) max = (int)key;
        count++;
        lib_step(L, &json->steps);
    }
    if (settings->sparse_ratio > 0 && max > count * settings->sparse_ratio &&
        max > settings->sparse_safe) {
        if (settings->sparse_convert != SETTING_ON)
            refuse_value(json, -1, "excessively sparse array");
        return 0;
    }
    return max;
}

/* Begins the table on top. */
static void open_table(struct encoder *json) {
    lua_State *L = json->L;
    json->depth++;
    if (json->depth > json->settings->encode_depth || !lua_checkstack(L, 3)) {
        lib_error(L, "Cannot serialise, excessive nesting (%d)", json->depth);
    }
    struct level level = {.length = array_length(json)};
    lib_buffer_append_byte(&json->out, level.length > 0 ? '[' : '{');
    if (level.length == 0) lua_pushnil(L);
    lib_buffer_append(&json->levels, &level, sizeof(level));
}

/* Writes the value on top and pops it. A table is only begun, and stays on the stack. */
static void json_put_value(struct encoder *json) {
    lua_State *L = json->L;
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: put_string(json, -1); break;
    case LUA_TNUMBER: put_number(json, -1); break;
    case LUA_TBOOLEAN: put_text(json, lua_toboolean(L, -1) ? "true" : "false"); break;
    case LUA_TTABLE: open_table(json); return;
    case LUA_TNIL: put_text(json, "null"); break;
    case LUA_TLIGHTUSERDATA:
        if (!lua_touserdata(L, -1)) {
            put_text(json, "null");
            break;
        }
        refuse_value(json, -1, "type not supported");
        break;
    default: refuse_value(json, -1, "type not supported");
    }
    lua_pop(L, 1);
}

/* Pushes the next value of the innermost table, having written what stands in front of it. At the
 * table's end writes its bracket, pops it and returns false. */
static bool next_value(struct encoder *json) {
    lua_State *L = json->L;
    unsigned char *at = json->levels.bytes + json->levels.used - sizeof(struct level);
    struct level level;
    memcpy(&level, at, sizeof(level));
    bool more = level.length > 0 ? level.at < level.length : lua_next(L, -2) != 0;
    if (!more) {
        lib_buffer_append_byte(&json->out, level.length > 0 ? ']' : '}');
        json->levels.used -= sizeof(level);
        json->depth--;
        lua_pop(L, 1);
        return false;
    }
    if (level.at > 0) lib_buffer_append_byte(&json->out, ',');
    if (level.length > 0) {
        lua_rawgeti(L, -1, ++level.at);
    } else {
        level.at = 1;
        put_key(json, -2);
    }
    memcpy(at, &level, sizeof(level));
    return true;
}

static int json_encode(lua_State *L) {
    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    struct encoder json = {.L = L, .settings = settings_of(L)};
    lua_settop(L, 3);
    lua_insert(L, 1);
    lua_insert(L, 1);
    lib_buffer_init(&json.out, L, 1);
    lib_buffer_init(&json.levels, L, 2);
    json_put_value(&json);
    while (json.depth > 0) {
        lib_step(L, &json.steps);
        if (next_value(&json)) json_put_value(&json);
    }
    lib_buffer_finish(&json.out);
    return 1;
}

/* --- decoding: tokens ------------------------------------------------------------------------ */

enum token {
    TOKEN_OBJECT_BEGIN,
    TOKEN_OBJECT_END,
    TOKEN_ARRAY_BEGIN,
    TOKEN_ARRAY_END,
    TOKEN_STRING,
    TOKEN_NUMBER,
    TOKEN_BOOLEAN,
    TOKEN_NULL,
    TOKEN_COLON,
    TOKEN_COMMA,
    TOKEN_END,
    TOKEN_FAULT,
};

/* The names of tokens in errors. */
static const char *const token_names[] = {
    "T_OBJ_BEGIN", "T_OBJ_END", "T_ARR_BEGIN", "T_ARR_END", "T_STRING", "T_NUMBER",
    "T_BOOLEAN",   "T_NULL",    "T_COLON",     "T_COMMA",   "T_END",    "",
};

struct decoder {
    lua_State *L;
    const struct settings *settings;
    unsigned steps;
    const char *start;
    const char *next; /* The character behind the token. */
    int depth;
    int index; /* Elements of the innermost array; -1: they must be counted. */
    /* The token that was read. A string is also pushed. */
    enum token token;
    const char *token_start; /* For a faulty string the place of the fault. */
    const char *fault;
    lua_Number number;
    bool boolean;
    struct lib_buffer text; /* Collects a string that has escapes. */
};

static void set_fault(struct decoder *json, const char *at, const char *fault) {
    json->token = TOKEN_FAULT;
    json->token_start = at;
    json->fault = fault;
}

/* Reads the four hexadecimal digits of a "\u" escape at `at`; -1 if they are not there. */
static int read_code(const char *at) {
    if (at[0] != '\\' || at[1] != 'u') return -1;
    int code = 0;
    for (int i = 2; i < 6; i++) {
        unsigned char c = (unsigned char)at[i];
        if (!isxdigit(c)) return -1;
        code = code * 16 + (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return code;
}

static void put_utf8(struct lib_buffer *text, uint32_t code) {
    unsigned char *bytes;
    if (code < 0x80) {
        lib_buffer_append_byte(text, (unsigned char)code);
    } else if (code < 0x800) {
        bytes = lib_buffer_extend(text, 2);
        bytes[0] = (unsigned char)(0xc0 | code >> 6);
        bytes[1] = (unsigned char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        bytes = lib_buffer_extend(text, 3);
        bytes[0] = (unsigned char)(0xe0 | code >> 12);
        bytes[1] = (unsigned char)(0x80 | (code >> 6 & 63));
        bytes[2] = (unsigned char)(0x80 | (code & 63));
    } else {
        bytes = lib_buffer_extend(text, 4);
        bytes[0] = (unsigned char)(0xf0 | code >> 18);
        bytes[1] = (unsigned char)(0x80 | (code >> 12 & 63));
        bytes[2] = (unsigned char)(0x80 | (code >> 6 & 63));
        bytes[3] = (unsigned char)(0x80 | (code & 63));
    }
}

/* Appends the character of the escape at `at` (its backslash). Returns the place behind the escape;
 * NULL, with the fault set, if there is no such escape. */
static const char *take_escape(struct decoder *json, const char *at) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (at[1] != 'u') {
        const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
        if (!letter) {
            set_fault(json, at, "invalid escape code");
            return NULL;
        }
        lib_buffer_append_byte(&json->text, (unsigned char)meanings[letter - letters]);
        return at + 2;
    }
    int code = read_code(at);
    int low = code >= 0xd800 && code < 0xdc00 ? read_code(at + 6) : 0;
    bool is_pair = low >= 0xdc00 && low < 0xe000;
    if (code < 0 || (code >= 0xd800 && code < 0xe000 && !is_pair)) {
        set_fault(json, at, "invalid unicode escape code");
        return NULL;
    }
    put_utf8(&json->text,
             is_pair ? 0x10000 + ((uint32_t)(code & 0x3ff) << 10 | (low & 0x3ff)) : (uint32_t)code);
    return at + (is_pair ? 12 : 6);
}

/* Reads and pushes the string whose first character is at json->next. */
static void read_string(struct decoder *json) {
    const char *plain = json->next; /* The first character that is not in `text` yet. */
    const char *at = plain;
    bool has_escapes = false;
    json->text.used = 0;
    for (;;) {
        at += strcspn(at, "\"\\");
        if (*at == '"') break;
        if (*at == 0) {
            set_fault(json, at, "unexpected end of string");
            return;
        }
        has_escapes = true;
        lib_buffer_append(&json->text, plain, (size_t)(at - plain));
        at = take_escape(json, at);
        if (!at) return;
        plain = at;
    }
    json->token = TOKEN_STRING;
    json->next = at + 1;
    if (has_escapes) {
        lib_buffer_append(&json->text, plain, (size_t)(at - plain));
        lib_buffer_push(&json->text);
    } else {
        lua_pushlstring(json->L, plain, (size_t)(at - plain));
    }
}

/* Reads a number as strtod does, which takes more than JSON allows; the settings may refuse that.
 */
static void read_number(struct decoder *json) {
    const char *at = json->next;
    if (json->settings->decode_invalid != SETTING_ON) {
        const char *digits = *at == '-' ? at + 1 : at;
        bool is_odd = *digits == '0'
                          ? isdigit((unsigned char)digits[1]) || (digits[1] | 0x20) == 'x'
                          : *digits != '.' && !isdigit((unsigned char)*digits);
        if (is_odd) {
            set_fault(json, at, "invalid number");
            return;
        }
    }
    char *end;
    json->number = strtod(at, &end);
    if (end == at) {
        set_fault(json, at, "invalid number");
        return;
    }
    json->token = TOKEN_NUMBER;
    json->next = end;
}

static const struct {
    const char *text;
    enum token token;
    bool boolean;
} words[] = {
    {"true", TOKEN_BOOLEAN, true}, {"false", TOKEN_BOOLEAN, false}, {"null", TOKEN_NULL, false}};

/* Reads a word at json->next, or a number that begins like a word. */
static void read_word(struct decoder *json) {
    const char *at = json->next;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].text);
        if (strncmp(at, words[i].text, length) != 0) continue;
        json->token = words[i].token;
        json->boolean = words[i].boolean;
        json->next = at + length;
        return;
    }
    bool is_number = strncasecmp(at, "inf", 3) == 0 || strncasecmp(at, "nan", 3) == 0;
    if (is_number && json->settings->decode_invalid == SETTING_ON)
        read_number(json);
    else
        set_fault(json, at, "invalid token");
}

static void read_mark(struct decoder *json, enum token token) {
    json->token = token;
    json->next++;
}

/* Reads the next token. */
static void read_token(struct decoder *json) {
    json->next += strspn(json->next, " \t\n\r");
    json->token_start = json->next;
    switch (*json->next) {
    case '{': read_mark(json, TOKEN_OBJECT_BEGIN); return;
    case '}': read_mark(json, TOKEN_OBJECT_END); return;
    case '[': read_mark(json, TOKEN_ARRAY_BEGIN); return;
    case ']': read_mark(json, TOKEN_ARRAY_END); return;
    case ':': read_mark(json, TOKEN_COLON); return;
    case ',': read_mark(json, TOKEN_COMMA); return;
    case 0: json->token = TOKEN_END; return;
    case '"':
        json->next++;
        read_string(json);
        return;
    case '+':
        if (json->settings->decode_invalid == SETTING_ON)
            read_number(json);
        else
            set_fault(json, json->next, "invalid token");
        return;
    case '-':
    case '0' ... '9': read_number(json); return;
    default: read_word(json);
    }
}

/* --- decoding: values ------------------------------------------------------------------------ */

/* Raises the error that another token was expected. */
static void refuse_token(struct decoder *json, const char *expected) {
    const char *found = json->token == TOKEN_FAULT ? json->fault : token_names[json->token];
    int64_t character = json->token_start - json->start + 1;
    lib_error(json->L, "Expected %s but found %s at character %d", expected, found,
              (int)lib_int32(character));
}

static void expect_token(struct decoder *json, enum token token, const char *what) {
    if (json->token != token) refuse_token(json, what);
}

/* Pushes the table that the token begins. */
static void begin_table(struct decoder *json) {
    json->depth++;
    if (json->depth > json->settings->decode_depth || !lua_checkstack(json->L, 3)) {
        lib_error(json->L, "Found too many nested data structures (%d) at character %d",
                  json->depth, (int)lib_int32(json->next - json->start));
    }
    lua_newtable(json->L);
    json->index = 0;
}

static void end_table(struct decoder *json) {
    json->depth--;
    json->index = -1;
}

/* Checks that the token is a key, leaves the key on the stack, and reads the colon and the token
 * behind it. */
static void take_key(struct decoder *json) {
    expect_token(json, TOKEN_STRING, "object key string");
    read_token(json);
    expect_token(json, TOKEN_COLON, "colon");
    read_token(json);
}

/* Pushes the token's value. Returns true if the value is complete. For a table that is not empty it
 * returns false: the table is pushed, and the token of its first value is read. */
static bool json_take_value(struct decoder *json) {
    lua_State *L = json->L;
    switch (json->token) {
    case TOKEN_STRING: return true;
    case TOKEN_NUMBER: lua_pushnumber(L, json->number); return true;
    case TOKEN_BOOLEAN: lua_pushboolean(L, json->boolean); return true;
    case TOKEN_NULL: lua_pushlightuserdata(L, NULL); return true;
    case TOKEN_OBJECT_BEGIN:
        begin_table(json);
        read_token(json);
        if (json->token != TOKEN_OBJECT_END) {
            take_key(json);
            return false;
        }
        break;
    case TOKEN_ARRAY_BEGIN:
        begin_table(json);
        read_token(json);
        if (json->token != TOKEN_ARRAY_END) return false;
        break;
    default: refuse_token(json, "value");
    }
    end_table(json);
    return true;
}

/* Puts the complete value on top into the table below it, and reads on. Returns true if that table
 * is now complete, and is the value on top; otherwise the token of its next value is read. */
static bool put_in_table(struct decoder *json) {
    lua_State *L = json->L;
    bool is_object = lua_type(L, -2) == LUA_TSTRING;
    if (is_object) {
        lua_rawset(L, -3);
    } else {
        if (json->index < 0) json->index = (int)lua_objlen(L, -2);
        lua_rawseti(L, -2, ++json->index);
    }
    read_token(json);
    if (json->token == (is_object ? TOKEN_OBJECT_END : TOKEN_ARRAY_END)) {
        end_table(json);
        return true;
    }
    expect_token(json, TOKEN_COMMA, is_object ? "comma or object end" : "comma or array end");
    read_token(json);
    if (is_object) take_key(json);
    return false;
}

static int json_decode(lua_State *L) {
    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    /* The first character is ASCII, so in UTF-16 and UTF-32 one of the first two bytes is 0. */
    if (length >= 2 && (!text[0] || !text[1]))
        return luaL_error(L, "JSON parser does not support UTF-16 or UTF-32");
    struct decoder json = {.L = L, .settings = settings_of(L), .start = text, .next = text};
    lua_settop(L, 2);
    lib_buffer_init(&json.text, L, 2);
    read_token(&json);
    bool complete = json_take_value(&json);
    while (json.depth > 0) {
        lib_step(L, &json.steps);
        complete = complete ? put_in_table(&json) : json_take_value(&json);
    }
    read_token(&json);
    expect_token(&json, TOKEN_END, "the end");
    return 1;
}

/* --- tables of functions --------------------------------------------------------------------- */

static int json_new(lua_State *L) {
    lib_json_push(L);
    return 1;
}

void lib_json_push(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"encode", json_encode},
        {"decode", json_decode},
        {"encode_sparse_array", json_encode_sparse_array},
        {"encode_max_depth", json_encode_max_depth},
        {"decode_max_depth", json_decode_max_depth},
        {"encode_number_precision", json_encode_number_precision},
        {"encode_keep_buffer", json_encode_keep_buffer},
        {"encode_invalid_numbers", json_encode_invalid_numbers},
        {"decode_invalid_numbers", json_decode_invalid_numbers},
        {"new", json_new},
        {NULL, NULL},
    };
    luaL_checkstack(L, 5, NULL);
    lua_newtable(L);
    struct settings *settings = lua_newuserdata(L, sizeof(*settings));
    *settings = (struct settings){
        .sparse_ratio = SPARSE_RATIO,
        .sparse_safe = SPARSE_SAFE,
        .encode_depth = DEPTH_MAX,
        .decode_depth = DEPTH_MAX,
        .precision = NUMBER_PRECISION_MAX,
        .keep_buffer = SETTING_ON,
        .decode_invalid = SETTING_ON,
    };
    for (const luaL_Reg *f = functions; f->name; f++) {
        lua_pushvalue(L, -1);
        lua_pushcclosure(L, f->func, 1);
        lua_setfield(L, -3, f->name);
    }
    lua_pop(L, 1);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    lua_pushstring(L, "cjson");
    lua_setfield(L, -2, "_NAME");
    lua_pushstring(L, "2.1.0");
    lua_setfield(L, -2, "_VERSION");
}
