/* SPDX-License-Identifier: BSD-3-Clause
 * What redis-benchmark knows of a server: its address, what each connection says first, and what it
 * answers to CONFIG GET.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_SERVER_H
#define EVENKEEL_BENCHMARK_BENCHMARK_SERVER_H
#include <stdbool.h>

#include "benchmark/benchmark_client.h"
#include "benchmark/benchmark_options.h"
#include "tools/tool_greeting.h"

#define BENCHMARK_CONFIG_CHARS 128

struct benchmark_server {
    struct benchmark_target target;
    struct tool_greeting greeting; /* target.greeting is its bytes */
    char name[256];                /* "127.0.0.1:6379", or the socket's path */
    bool has_config;               /* it told the two below */
    char save[BENCHMARK_CONFIG_CHARS], appendonly[BENCHMARK_CONFIG_CHARS];
};

/* From the options; texts are borrowed from them. */
void benchmark_server_init(struct benchmark_server *s, const struct benchmark_options *options);
/* Another one, "host:port" or a path, with the same password, database and protocol. The text is
 * kept for good. False with a reason. */
MUST_USE bool benchmark_server_init_other(struct benchmark_server *s,
                                          const struct benchmark_options *options, const char *text,
                                          char reason[BENCHMARK_REASON_CHARS]);
/* Connects, greets, and asks for the configuration. False with a reason where the server cannot be
 * reached or refuses the greeting; a server that does not tell its configuration has none. */
MUST_USE bool benchmark_server_ask(struct benchmark_server *s, char reason[BENCHMARK_REASON_CHARS]);
void benchmark_server_free(struct benchmark_server *s);
#endif
