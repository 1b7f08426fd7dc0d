/* SPDX-License-Identifier: BSD-3-Clause
 * Registers the types of this folder.
 */
#include "value/types.h"

#include "value/hash.h"
#include "value/list.h"
#include "value/saved.h"
#include "value/set.h"
#include "value/stream.h"
#include "value/string.h"
#include "value/zset.h"

void value_register(void) {
    saved_register();
    value_hash_register();
    value_list_register();
    value_set_register();
    value_stream_register();
    value_string_register();
    value_zset_register();
}
