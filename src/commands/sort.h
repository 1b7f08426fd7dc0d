/* SPDX-License-Identifier: BSD-3-Clause
 * SORT.
 */
#ifndef EVENKEEL_COMMANDS_SORT_H
#define EVENKEEL_COMMANDS_SORT_H

/* Also takes the order of texts (LC_COLLATE) from the environment. */
void commands_sort_register(void);
#endif
