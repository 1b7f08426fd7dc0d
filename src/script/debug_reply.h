/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text for the debugger, while their values also go to the capture's own forms.
 *
 *   "bulk"  "+status"  "-error"  7  [array,NULL]  {"key" => 1}  ~("set")  (double) 1.5  #true
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_REPLY_H
#define EVENKEEL_SCRIPT_DEBUG_REPLY_H
#include "base/string.h"

struct capture;

/* From now on the replies that the capture receives are written to `out`, too, up to about `most`
 * bytes. For one capture at a time; its forms have a group_end. */
void debug_reply_begin(struct capture *capture, struct buffer *out, size_t most);
void debug_reply_end(struct capture *capture);
#endif
