/* SPDX-License-Identifier: BSD-3-Clause
 * Curves as an HTML page that needs nothing else.
 */
#ifndef EVENKEEL_REPLAY_CURVE_PAGE_H
#define EVENKEEL_REPLAY_CURVE_PAGE_H
#include "base/string.h"
#include "replay/curve_report.h"

void curve_page_write(const struct curve_report *r, struct buffer *out);
#endif
