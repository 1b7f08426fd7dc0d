/* SPDX-License-Identifier: BSD-3-Clause
 * Small files as a whole: read, and replaced so that a crash leaves the old or the new one.
 */
#ifndef EVENKEEL_IO_FILE_H
#define EVENKEEL_IO_FILE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

/* Appends the file's bytes. False with errno set where it cannot be opened or read; EFBIG where it
 * has more than `bytes_max`. */
MUST_USE bool file_read(const char *path, size_t bytes_max, struct buffer *text);

/* Writes a file beside the old one ("path.<pid>.tmp"), syncs it, puts it in the old one's place by
 * a rename, and syncs the folder, where that can be. The old one's permissions are kept; a new one
 * gets `mode`. Otherwise false with errno set, the old file untouched, and no new one left. */
MUST_USE bool file_replace(const char *path, struct slice text, unsigned mode);
#endif
