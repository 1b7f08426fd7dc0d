/* SPDX-License-Identifier: BSD-3-Clause
 * What the HTML pages of the tools share: their look, and texts made safe.
 *
 * Pages are self-contained. Colours are variables that follow the reader's preference for dark or
 * light: --back --card --ink --soft --line, and --c0 to --c7 for what is compared.
 */
#ifndef EVENKEEL_TOOLS_TOOL_PAGE_H
#define EVENKEEL_TOOLS_TOOL_PAGE_H
#include "base/string.h"

#define TOOL_PAGE_COLOURS 8
/* The page up to its title; then the title, and from there up to the styles of the page's own,
 * which end with </style></head><body>. */
#define TOOL_PAGE_BEGIN                                                   \
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n" \
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>"
#define TOOL_PAGE_STYLE                                                                  \
    "</title>\n<style>\n"                                                                \
    ":root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--ink:#1c2024;"            \
    "--soft:#5c6670;--line:#d5dae0;--good:#1a7f4b;\n"                                    \
    "--c0:#0b6bcb;--c1:#c2410c;--c2:#0f8a5f;--c3:#9333a8;--c4:#a16207;--c5:#be123c;"     \
    "--c6:#0e7490;--c7:#4d5761}\n"                                                       \
    "@media(prefers-color-scheme:dark){:root{--back:#14171a;--card:#1d2125;"             \
    "--ink:#e6e9ec;--soft:#9aa4ae;--line:#394149;--good:#4cc38a;\n"                      \
    "--c0:#5aa9f5;--c1:#f5905a;--c2:#3fc796;--c3:#cf8ae0;--c4:#d9b13c;--c5:#f4738f;"     \
    "--c6:#49bfd4;--c7:#aab4be}}\n"                                                      \
    "*{box-sizing:border-box}\n"                                                         \
    "body{margin:0 auto;padding:20px 16px 48px;max-width:1120px;background:var(--back);" \
    "color:var(--ink);font:15px/1.5 system-ui,sans-serif}\n"                             \
    "h1{font-size:15px;font-weight:600;color:var(--soft);margin:0 0 4px}\n"              \
    "h2{font-size:17px;margin:0}\n"                                                      \
    ".verdict{font-size:20px;line-height:1.4;font-weight:600;margin:0 0 8px;"            \
    "overflow-wrap:anywhere}\n"                                                          \
    ".soft{color:var(--soft);margin:0 0 12px;overflow-wrap:anywhere}\n"                  \
    "section{background:var(--card);border:1px solid var(--line);border-radius:8px;"     \
    "padding:14px 16px;margin:16px 0}\n"                                                 \
    ".key{flex:none;width:11px;height:11px;border-radius:3px}\n"                         \
    ".scale{display:flex;justify-content:space-between;font-size:12px;color:var(--soft)}\n"

/* Appends a text that may hold anything, as it is to be read: < > & and quotes escaped. */
void tool_page_append_text(struct buffer *out, const char *text);
#endif
