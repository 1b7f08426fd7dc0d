/* SPDX-License-Identifier: BSD-3-Clause
 * Which Redis this server answers as, and which Evenkeel it is.
 */
#ifndef EVENKEEL_BASE_VERSION_H
#define EVENKEEL_BASE_VERSION_H

/* Clients and tools choose by it which commands they send. */
#define REDIS_VERSION "6.2.16"
#define EVENKEEL_VERSION "0.2.0"

#endif
