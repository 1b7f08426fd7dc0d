/* SPDX-License-Identifier: BSD-3-Clause
 * The types that are built. value/value knows none of them.
 */
#ifndef EVENKEEL_VALUE_TYPES_H
#define EVENKEEL_VALUE_TYPES_H

void value_register(void); /* their rows and options */
#endif
