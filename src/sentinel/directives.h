/* SPDX-License-Identifier: BSD-3-Clause
 * The directives of Sentinel's configuration, a row each.
 *
 * The rows are of two kinds: properties of a primary ("sentinel auth-pass <name> <pass>"), and
 * settings of this Sentinel ("sentinel announce-ip <ip>"). The file's lines, the rewritten file,
 * the documents, SENTINEL SET (properties) and SENTINEL CONFIG (settings) come from the same rows.
 */
#ifndef EVENKEEL_SENTINEL_DIRECTIVES_H
#define EVENKEEL_SENTINEL_DIRECTIVES_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"
#include "sentinel/instance.h"

/* Registers the rows with the option engine. Once, at start, of a Sentinel. */
void sentinel_directives_register(void);

/* A property of a primary that SENTINEL SET may change. */
struct sentinel_property;
/* NULL: there is no such property. */
const struct sentinel_property *sentinel_property_find(struct slice name);
/* The number of values that it takes. */
int sentinel_property_values(const struct sentinel_property *property);
/* Whether the values are secret, so that no event may show them. */
bool sentinel_property_is_secret(const struct sentinel_property *property);
/* Whether it names a program that this Sentinel runs, which deny-scripts-reconfig forbids to
 * change. */
bool sentinel_property_is_script(const struct sentinel_property *property);
/* Sets the property as SENTINEL SET does. Returns false, with nothing changed, if the values are
 * refused: *reason is 6.2's text, or NULL for "Invalid argument". */
MUST_USE bool sentinel_property_set(const struct sentinel_property *property, struct primary *p,
                                    const struct slice *values, const char **reason);

/* A setting that SENTINEL CONFIG may read and change. */
struct sentinel_setting;
/* The setting at an index from 0 on; NULL: there are no more. */
const struct sentinel_setting *sentinel_setting_at(size_t index);
const char *sentinel_setting_name(const struct sentinel_setting *setting);
/* Appends the value. */
void sentinel_setting_print(const struct sentinel_setting *setting, struct buffer *out);
/* Returns false, with nothing changed, if the value is refused. Connections to other Sentinels are
 * closed if the setting is a credential. */
MUST_USE bool sentinel_setting_set(const struct sentinel_setting *setting, struct slice value);
#endif
