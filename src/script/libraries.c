/* SPDX-License-Identifier: BSD-3-Clause
 * The libraries that scripts find beside Lua's own. lib.c has the rules that all of them keep.
 */
#include "script/libraries.h"

#include "script/lib_internal.h"

static const struct {
    const char *name;
    void (*push)(lua_State *L);
} libraries[] = {
    {"bit", lib_bit_push},
    {"struct", lib_struct_push},
    {"cmsgpack", lib_msgpack_push},
    {"cjson", lib_json_push},
};

void script_libraries_open(lua_State *L) {
    lib_open(L);
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        libraries[i].push(L);
        lua_setglobal(L, libraries[i].name);
    }
}
