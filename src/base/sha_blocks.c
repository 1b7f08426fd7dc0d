/* SPDX-License-Identifier: BSD-3-Clause
 * A text of any number of pieces, as blocks and padding.
 *
 * Invariant: `block` holds the length % SHA_BLOCK_BYTES bytes that do not fill a block yet.
 */
#include "base/sha_blocks.h"

#include <string.h>

#define LENGTH_BYTES 8 /* the last block ends with the length in bits */

static const unsigned char padding[SHA_BLOCK_BYTES] = {0x80};

static void write_word(unsigned char *at, uint32_t word) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(word >> (24 - 8 * i));
}

void sha_blocks_add(struct sha_blocks *b, const void *bytes, size_t length, sha_process *process,
                    uint32_t *state) {
    const unsigned char *at = bytes;
    size_t held = b->length % SHA_BLOCK_BYTES;
    b->length += length;
    while (held + length >= SHA_BLOCK_BYTES) {
        size_t taken = SHA_BLOCK_BYTES - held;
        if (held) {
            memcpy(b->block + held, at, taken);
            process(state, b->block);
        } else {
            process(state, at);
        }
        at += taken;
        length -= taken;
        held = 0;
    }
    if (length) memcpy(b->block + held, at, length);
}

void sha_blocks_end(struct sha_blocks *b, sha_process *process, uint32_t *state, int words,
                    unsigned char *digest) {
    unsigned char bits[LENGTH_BYTES];
    size_t held = b->length % SHA_BLOCK_BYTES, end = SHA_BLOCK_BYTES - LENGTH_BYTES;
    write_word(bits, (uint32_t)(b->length >> 29));
    write_word(bits + 4, (uint32_t)(b->length << 3));
    sha_blocks_add(b, padding, held < end ? end - held : SHA_BLOCK_BYTES + end - held, process,
                   state);
    sha_blocks_add(b, bits, LENGTH_BYTES, process, state);
    for (int i = 0; i < words; i++) write_word(digest + 4 * i, state[i]);
}
