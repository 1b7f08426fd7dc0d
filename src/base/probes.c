/* SPDX-License-Identifier: BSD-3-Clause
 * The probes' semaphores: where the notes in the program say that they are.
 *
 * They are marked `used`, because only assembly names them, which link-time optimisation does not
 * read.
 */
#include "base/probes.h"

#ifdef PROBES_BUILT
#define PROBE_DEFINE(name) \
    volatile unsigned short redis_##name##_semaphore __attribute__((used, section(".probes"))) = 0;
PROBE_LIST(PROBE_DEFINE)

const char *probes_built(void) { return "yes"; }
#else
const char *probes_built(void) { return "no"; }
#endif
