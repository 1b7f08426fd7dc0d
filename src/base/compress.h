/* SPDX-License-Identifier: BSD-3-Clause
 * LZF, the form in which snapshots, DUMP and lists hold compressed texts.
 *
 * What is written any reader of LZF takes. The library's compressor has one large table for texts
 * of any length, which costs short ones most of their time and pushes all else out of the cache;
 * the one here is as small as the text allows, and no work is done for what cannot become short
 * enough any more. The same text always becomes the same bytes.
 */
#ifndef EVENKEEL_BASE_COMPRESS_H
#define EVENKEEL_BASE_COMPRESS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

/* Writes the text compressed; returns its bytes, or 0 where they are more than `room`: then what
 * stands there means nothing. O(text). Any thread. */
MUST_USE size_t compress_lzf(struct slice text, void *out, size_t room);
/* Foreign bytes: false where they are not such as become `length` bytes exactly. Of `out` no more
 * is written, but in either case all of it may be. O(length). Any thread. */
MUST_USE bool decompress_lzf(struct slice packed, void *out, size_t length);
#endif
