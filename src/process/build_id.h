/* SPDX-License-Identifier: BSD-3-Clause
 * The id of the build: what the linker wrote into the program, the same for the same objects.
 *
 * `file` and debuggers show the same id (readelf -n), so that a crash report or an INFO leads to
 * the program, and to its symbols, that it came from.
 */
#ifndef EVENKEEL_PROCESS_BUILD_ID_H
#define EVENKEEL_PROCESS_BUILD_ID_H

/* The first 8 bytes as 16 hexadecimal digits; "0" where the linker wrote none. Constant, and valid
 * as long as the process. */
const char *build_id(void);
#endif
