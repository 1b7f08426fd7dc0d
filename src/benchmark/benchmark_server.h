/* SPDX-License-Identifier: BSD-3-Clause
 * A server under load: its address, the greeting of each connection, and the server's answers to
 * CONFIG GET.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_SERVER_H
#define EVENKEEL_BENCHMARK_BENCHMARK_SERVER_H
#include <stdbool.h>

#include "benchmark/benchmark_options.h"
#include "benchmark/benchmark_slots.h"
#include "load/load_connection.h"
#include "tools/tool_greeting.h"

#define BENCHMARK_CONFIG_CHARS 128
#define BENCHMARK_ID_CHARS 41

struct peer_reply;

struct benchmark_server {
    struct load_target target;
    struct tool_greeting greeting; /* target.greeting borrows its bytes */
    char name[256];                /* "127.0.0.1:6379", or the socket's path */
    bool has_config;               /* the server answered both options below */
    char save[BENCHMARK_CONFIG_CHARS], appendonly[BENCHMARK_CONFIG_CHARS];
    char id[BENCHMARK_ID_CHARS]; /* of a node of a cluster, else "" */
    /* With --cluster, the primaries that have slots (benchmark_cluster_find); else none. */
    struct benchmark_server *nodes;
    unsigned node_count;
    struct load_target *targets;   /* of the nodes */
    const char **names;            /* of the nodes, for the map */
    struct benchmark_slots *slots; /* which node owns which slot */
};

/* Takes the address and the login from the options; texts are borrowed from them. */
void benchmark_server_init(struct benchmark_server *s, const struct benchmark_options *options);
/* Takes the address from `text`, "host:port" or a socket's path, and password, database and
 * protocol from the options. `text` must stay valid; a copy of the host is never freed. False with
 * a reason. */
MUST_USE bool benchmark_server_init_other(struct benchmark_server *s,
                                          const struct benchmark_options *options, const char *text,
                                          char reason[LOAD_REASON_CHARS]);
/* Takes the address of a node of a cluster, whose id it is; a copy of the host is never freed. */
void benchmark_server_init_node(struct benchmark_server *s, const struct benchmark_options *options,
                                const char *host, int port, const char *id);
/* Connects, greets, sends a request and calls `take` with its reply. False with a reason where the
 * server cannot be reached or refuses the greeting. */
MUST_USE bool benchmark_server_call(struct benchmark_server *s, const struct slice *words,
                                    size_t count,
                                    void (*take)(void *owner, const struct peer_reply *reply),
                                    void *owner, char reason[LOAD_REASON_CHARS]);
/* Connects, greets, and asks for the configuration. False with a reason where the server cannot be
 * reached or refuses the greeting. A server that refuses CONFIG GET is no failure: has_config stays
 * false. */
MUST_USE bool benchmark_server_ask(struct benchmark_server *s, char reason[LOAD_REASON_CHARS]);
void benchmark_server_free(struct benchmark_server *s);
#endif
