/* SPDX-License-Identifier: BSD-3-Clause
 * What SHA-1 and SHA-256 share: a text cut into blocks, and its padding (FIPS 180-4, 5.1.1).
 */
#ifndef EVENKEEL_BASE_SHA_BLOCKS_H
#define EVENKEEL_BASE_SHA_BLOCKS_H
#include <stddef.h>
#include <stdint.h>

#define SHA_BLOCK_BYTES 64

struct sha_blocks {
    uint64_t length; /* bytes so far */
    unsigned char block[SHA_BLOCK_BYTES];
};

/* Takes a whole block into the state. */
typedef void sha_process(uint32_t *state, const unsigned char *block);

/* Any number of pieces; they may be empty. */
void sha_blocks_add(struct sha_blocks *b, const void *bytes, size_t length, sha_process *process,
                    uint32_t *state);
/* The padding and the last block; the digest is what the state's words then are. */
void sha_blocks_end(struct sha_blocks *b, sha_process *process, uint32_t *state, int words,
                    unsigned char *digest);

/* Words of 32 bits, the highest byte first. */
static inline uint32_t sha_read_word(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
#endif
