/* SPDX-License-Identifier: BSD-3-Clause
 * LZF, the form in which snapshots, DUMP and lists hold compressed texts.
 *
 * Any reader of LZF can read the output. This compressor is not liblzf's, whose large table (one
 * size for texts of any length) costs short texts most of their time and evicts other data from the
 * cache. The table here is as small as the text allows, and compressing ends as soon as the text
 * cannot become short enough. Equal texts always become equal bytes.
 */
#ifndef EVENKEEL_BASE_COMPRESS_H
#define EVENKEEL_BASE_COMPRESS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

/* Writes the compressed text to `out`. Returns how many bytes, or 0 where they are more than
 * `room`: `out` holds garbage then. O(text). Any thread. */
MUST_USE size_t compress_lzf(struct slice text, void *out, size_t room);
/* Expands foreign bytes to `out`; false if they do not expand to exactly `length` bytes. Even
 * then any of the first `length` bytes of `out` may be overwritten, and none behind them.
 * O(length). Any thread. */
MUST_USE bool decompress_lzf(struct slice packed, void *out, size_t length);
#endif
