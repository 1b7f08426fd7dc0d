/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes hello messages: what is accepted is written back as the same bytes, and can stand in a
 * line of a file.
 *
 * Covers: src/sentinel/hello.c, src/sentinel/foreign_text.c
 *
 * The message is parsed from a block of its own length, so that a read behind it is seen.
 */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "sentinel/foreign_text.h"
#include "sentinel/hello.h"
#include "sentinel/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sentinel_hello hello;
    char *copy = memory_alloc(size, MEMORY_OTHER);
    if (size) memcpy(copy, data, size);
    if (sentinel_hello_parse((struct slice){copy, size}, &hello)) {
        struct buffer out;
        buffer_init(&out, MEMORY_OTHER);
        ASSERT(hello.run_id.length == SENTINEL_ID_CHARS);
        ASSERT(hello.port > 0 && hello.port < 65536);
        ASSERT(hello.primary_port > 0 && hello.primary_port < 65536);
        ASSERT(!memchr(hello.host.bytes, ' ', hello.host.length));
        ASSERT(!memchr(hello.primary_host.bytes, '\n', hello.primary_host.length));
        ASSERT(hello.current_epoch <= SENTINEL_EPOCH_MAX);
        ASSERT(hello.config_epoch <= SENTINEL_EPOCH_MAX);
        sentinel_hello_write(&hello, &out);
        ASSERT(out.length == size && memcmp(out.bytes, copy, size) == 0);
        buffer_free(&out);
    }
    memory_free(copy, MEMORY_OTHER);
    return 0;
}
