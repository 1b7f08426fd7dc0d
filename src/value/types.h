/* SPDX-License-Identifier: BSD-3-Clause
 * Registers the types of this folder. value/value itself knows none of them.
 */
#ifndef EVENKEEL_VALUE_TYPES_H
#define EVENKEEL_VALUE_TYPES_H

void value_register(void); /* their rows and options */
#endif
