/* SPDX-License-Identifier: BSD-3-Clause
 * The load's side of the protocol: requests as text, replies passed over.
 */
#ifndef EVENKEEL_MEASURE_WIRE_H
#define EVENKEEL_MEASURE_WIRE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_TEXT_BYTES_MAX 160 /* of a request, beside its key and its value */
#define WIRE_KEY_BYTES_MIN 16   /* "key:" and twelve digits */
#define WIRE_ERROR_BYTES 100

struct wire_slice {
    const char *bytes;
    size_t length;
};

enum reply_kind { REPLY_NONE, REPLY_OK, REPLY_NIL, REPLY_ZERO, REPLY_ERROR, REPLY_OOM };

/* Where the reader stands within the replies of one connection; begins zeroed. */
struct reply_reader {
    uint64_t body_left;  /* bytes of a bulk and its line end still to pass over */
    uint64_t number;     /* of the first line, as far as it is read */
    uint64_t parts_left; /* of the reply under way, with those of arrays in it; 0 = none is */
    char kind;           /* the first byte of the part under way; 0 = between two parts */
    bool negative, is_array;
    enum reply_kind failed; /* what the last error in the reply was, or REPLY_NONE */
    unsigned error_length;
    char error[WIRE_ERROR_BYTES]; /* the last error's text, printable and as it may stand in JSON */
};

/* Numbers and the protocol's lengths as text; all of these return the end of what they wrote. */
char *wire_put(char *to, const char *text, size_t length);
char *wire_put_number(char *to, uint64_t number);
char *wire_put_head(char *to, unsigned words);
char *wire_put_word(char *to, const char *text, size_t length);
char *wire_put_number_word(char *to, uint64_t number);
/* The key of a number: "key:", twelve digits, and as many x as `length` asks for. */
char *wire_put_key(char *to, uint64_t number, size_t length);

/* Reads on from `*at` to the end of the next reply or to `end`, and moves `*at` there. Returns
 * REPLY_NONE when the reply is not complete. An array is an error where a part of it is one. Bytes
 * of a bulk that were passed over are given in `body`, in the pieces in which they come, where it
 * is not NULL. False in `*sound` is a reply that no server of the protocol sends. */
enum reply_kind wire_read_reply(struct reply_reader *r, const char **at, const char *end,
                                struct wire_slice *body, bool *sound);

#endif
