/* SPDX-License-Identifier: BSD-3-Clause
 * The settings of this Sentinel. settings.h says what they are.
 */
#include "sentinel/settings.h"

static struct sentinel_settings settings = {.deny_scripts_reconfig = true,
                                            .pass = {.class = MEMORY_OTHER}};

const struct sentinel_settings *sentinel_settings(void) { return &settings; }
struct sentinel_settings *sentinel_settings_change(void) {
    return &settings;
}
