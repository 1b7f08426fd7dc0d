/* SPDX-License-Identifier: BSD-3-Clause
 * Texts of HTML pages.
 */
#include "tools/tool_page.h"

void tool_page_append_text(struct buffer *out, const char *text) {
    for (const char *at = text; *at; at++) {
        switch (*at) {
        case '<': buffer_append_c_string(out, "&lt;"); break;
        case '>': buffer_append_c_string(out, "&gt;"); break;
        case '&': buffer_append_c_string(out, "&amp;"); break;
        case '"': buffer_append_c_string(out, "&quot;"); break;
        default: buffer_append_char(out, *at);
        }
    }
}
