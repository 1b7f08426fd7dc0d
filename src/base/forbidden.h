/* SPDX-License-Identifier: BSD-3-Clause
 * Calls that must not be used here. The build includes this file before every source file.
 *
 * Each of them writes without a bound, hides an error, or allocates past the accounting of
 * base/memory. What to use: string copies -> memcpy with a length that you know; printing ->
 * snprintf or buffer_printf; numbers -> base/number; allocation -> base/memory; the clock ->
 * base/clock; randomness -> base/random.
 */
#ifndef EVENKEEL_BASE_FORBIDDEN_H
#define EVENKEEL_BASE_FORBIDDEN_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
/* Included before the poison, because a macro of luaconf.h names sprintf. */
#include <lua5.1/luaconf.h>
#pragma GCC poison sprintf vsprintf strcpy strcat strncpy strncat gets
#pragma GCC poison atoi atol atoll strtok rand srand random srandom
#endif
