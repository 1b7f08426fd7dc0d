/* SPDX-License-Identifier: BSD-3-Clause
 * Glob matching without recursion.
 *
 * Every element of a pattern but the star takes exactly one character. So when an element after a
 * star does not match, only the last star needs to take one character more: an earlier star could
 * gain nothing that the last one cannot. That bounds the work by pattern length times text length.
 *
 * What 6.2 does with odd patterns, kept here: a class that is not closed ends with the pattern; a
 * backslash at the end stands for itself; the ends of a range may stand in either order and
 * compare as signed characters; a range may swallow the closing bracket ("[a-]"); an empty text is
 * matched by an empty pattern only, not by a star; and a match that needs more than STARS_MAX
 * stars, each with an element behind it, fails.
 */
#include "base/glob.h"

/* How deep 6.2.16 lets its recursion go. */
#define STARS_MAX 1000

/* One element of the pattern against one character. Steps over the element. */
struct cursor {
    const char *at, *end;
    bool nocase;
};

static bool same_letter(char a, char b, bool nocase) {
    return a == b || (nocase && string_lower(a) == string_lower(b));
}

static bool in_range(char low, char high, char c, bool nocase) {
    signed char from = (signed char)low, to = (signed char)high;
    if (from > to) {
        from = (signed char)high;
        to = (signed char)low;
    }
    if (nocase) {
        from = (signed char)string_lower((char)from);
        to = (signed char)string_lower((char)to);
        c = string_lower(c);
    }
    return (signed char)c >= from && (signed char)c <= to;
}

/* From after the opening bracket to after the closing one, or to the pattern's end. */
static bool class_matches(struct cursor *pattern, char c) {
    const char *at = pattern->at, *end = pattern->end;
    bool negated = at < end && *at == '^';
    bool matched = false;
    if (negated) at++;
    while (at < end && *at != ']') {
        if (*at == '\\' && end - at >= 2) {
            matched |= at[1] == c;
            at += 2;
        } else if (end - at >= 3 && at[1] == '-') {
            matched |= in_range(at[0], at[2], c, pattern->nocase);
            at += 3;
        } else {
            matched |= same_letter(*at, c, pattern->nocase);
            at++;
        }
    }
    pattern->at = at < end ? at + 1 : end;
    return matched != negated;
}

static bool element_matches(struct cursor *pattern, char c) {
    char element = *pattern->at++;
    if (element == '?') return true;
    if (element == '[') return class_matches(pattern, c);
    if (element == '\\' && pattern->at < pattern->end) element = *pattern->at++;
    return same_letter(element, c, pattern->nocase);
}

bool glob_match(struct slice pattern, struct slice text, bool nocase) {
    if (text.length == 0) return pattern.length == 0;
    struct cursor p = {pattern.bytes, pattern.bytes + pattern.length, nocase};
    const char *t = text.bytes, *text_end = text.bytes + text.length;
    const char *after_star = NULL; /* where to retry, in the pattern and in the text */
    const char *star_text = NULL;
    int stars = 0;
    while (t < text_end) {
        if (p.at < p.end && *p.at == '*') {
            after_star = ++p.at;
            star_text = t;
            if (p.at == p.end) return true;
            if (*p.at != '*' && ++stars > STARS_MAX) return false;
        } else if (p.at < p.end && element_matches(&p, *t)) {
            t++;
        } else if (after_star != NULL) {
            p.at = after_star;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p.at < p.end && *p.at == '*') p.at++;
    return p.at == p.end;
}
