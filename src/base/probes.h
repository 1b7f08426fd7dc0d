/* SPDX-License-Identifier: BSD-3-Clause
 * USDT probes, provider `redis`: places at which bpftrace, perf and SystemTap can attach.
 *
 * PROBE2(command__start, name, id) is a NOP, and a note in the program that says where the NOP
 * stands and where its arguments are. A test of the probe's semaphore, a counter that a tracer
 * raises while it is attached, precedes it, so that the arguments of a probe that is not traced are
 * not even computed. docs/probes.md lists the probes for their users.
 *
 * The probes are built in where <sys/sdt.h> (systemtap-sdt-dev) is installed; without it the macros
 * are empty and INFO server says usdt_probes:no. EVENKEEL_NO_PROBES leaves the probes out on
 * purpose.
 *
 * A probe's name stands in PROBE_LIST, is placed once or more with PROBEn, and has a row in
 * docs/probes.md; tests/lint/probes.py compares the three with the notes in the program.
 */
#ifndef EVENKEEL_BASE_PROBES_H
#define EVENKEEL_BASE_PROBES_H
#include <stdbool.h>

/* clang-format off */
#define PROBE_LIST(X) \
    X(command__start) \
    X(command__done) \
    X(eviction__start) \
    X(eviction__key) \
    X(eviction__done) \
    X(expire__start) \
    X(expire__done) \
    X(table__split) \
    X(table__merge) \
    X(free__start) \
    X(free__done) \
    X(fork__done) \
    X(walk__start) \
    X(walk__slice) \
    X(walk__copy) \
    X(walk__held) \
    X(walk__done)
/* clang-format on */

#if defined(__has_include) && !defined(EVENKEEL_NO_PROBES)
#if __has_include(<sys/sdt.h>)
#define PROBES_BUILT 1
#endif
#endif

#ifdef PROBES_BUILT
#define _SDT_HAS_SEMAPHORES 1
/* Arguments are in registers or are constants. sdt.h's default also allows a static variable's
 * address; bpftrace does not understand such an argument, and then finds no probe of the program at
 * all. */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#define PROBE_DECLARE(name) \
    extern volatile unsigned short redis_##name##_semaphore __attribute__((visibility("hidden")));
PROBE_LIST(PROBE_DECLARE)

#define PROBE_IS_TRACED(name) __builtin_expect(redis_##name##_semaphore != 0, 0)
#define PROBE1(name, a)                                         \
    do {                                                        \
        if (PROBE_IS_TRACED(name)) STAP_PROBE1(redis, name, a); \
    } while (0)
#define PROBE2(name, a, b)                                         \
    do {                                                           \
        if (PROBE_IS_TRACED(name)) STAP_PROBE2(redis, name, a, b); \
    } while (0)
#define PROBE3(name, a, b, c)                                         \
    do {                                                              \
        if (PROBE_IS_TRACED(name)) STAP_PROBE3(redis, name, a, b, c); \
    } while (0)
#else
#define PROBE_IS_TRACED(name) false
/* The arguments count as used, and are not computed. */
#define PROBE1(name, a)       \
    do {                      \
        if (false) (void)(a); \
    } while (0)
#define PROBE2(name, a, b)               \
    do {                                 \
        if (false) (void)(a), (void)(b); \
    } while (0)
#define PROBE3(name, a, b, c)                       \
    do {                                            \
        if (false) (void)(a), (void)(b), (void)(c); \
    } while (0)
#endif

/* "yes" where the probes are built in, else "no". */
const char *probes_built(void);
#endif
