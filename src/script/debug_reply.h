/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text, while their values go on to whom they are for.
 *
 *   "bulk"  "+status"  "-error"  7  [array,NULL]  {"key" => 1}  ~("set")  (double) 1.5  #true
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_REPLY_H
#define EVENKEEL_SCRIPT_DEBUG_REPLY_H
#include "base/string.h"

struct capture;

/* From here on what the capture is given is written to `out` too, as far as that comes to about
 * `most` bytes. Of one capture at a time, whose forms take group_end. */
void debug_reply_begin(struct capture *capture, struct buffer *out, size_t most);
void debug_reply_end(struct capture *capture);
#endif
