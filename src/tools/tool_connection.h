/* SPDX-License-Identifier: BSD-3-Clause
 * What every tool must know to reach a server, and its rows of options.
 */
#ifndef EVENKEEL_TOOLS_TOOL_CONNECTION_H
#define EVENKEEL_TOOLS_TOOL_CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "tools/tool_options.h"

struct tool_connection {
    const char *host; /* "127.0.0.1" */
    int64_t port;     /* 6379 */
    const char *path; /* of a unix socket, instead of both; NULL = none */
    const char *user, *password;
    const char *uri;  /* as it was given; its parts overwrite the others */
    int64_t database; /* to be selected */
    bool tls;         /* rediss:// */
};

/* The defaults, and the password of REDISCLI_AUTH. */
void tool_connection_init(struct tool_connection *c);
/* redis://[[user:]password@]host[:port][/database], or rediss://. Each part is %-decoded; texts
 * are kept for good. False with a reason. */
MUST_USE bool tool_connection_take_uri(struct tool_connection *c, const char *uri, char *reason,
                                       size_t reason_size);

/* The rows that redis-cli and redis-benchmark share. `type` is the tool's struct of settings,
 * `field` its struct tool_connection; `take_uri` the tool's hook, which calls
 * tool_connection_take_uri. */
#define TOOL_CONNECTION_ROWS(type, field, take_uri)                                               \
    {.name = "-h",                                                                                \
     .argument = "hostname",                                                                      \
     .help = "Server's name or address (127.0.0.1).",                                             \
     .group = TOOL_CONNECTION_GROUP,                                                              \
     .text = TOOL_PLACE(type, field.host),                                                        \
     .completes = "host"},                                                                        \
        {.name = "-p",                                                                            \
         .argument = "port",                                                                      \
         .help = "Server's port (6379).",                                                         \
         .group = TOOL_CONNECTION_GROUP,                                                          \
         .number = TOOL_PLACE(type, field.port),                                                  \
         .least = 0,                                                                              \
         .most = 65535},                                                                          \
        {.name = "-s",                                                                            \
         .argument = "socket",                                                                    \
         .help = "Server's unix socket, instead of host and port.",                               \
         .group = TOOL_CONNECTION_GROUP,                                                          \
         .text = TOOL_PLACE(type, field.path),                                                    \
         .completes = "file"},                                                                    \
        {.name = "-u",                                                                            \
         .argument = "uri",                                                                       \
         .help = "All in one: redis://user:password@host:port/db.",                               \
         .group = TOOL_CONNECTION_GROUP,                                                          \
         .text = TOOL_PLACE(type, field.uri),                                                     \
         .take = take_uri},                                                                       \
        {.name = "-a",                                                                            \
         .other = "--pass",                                                                       \
         .argument = "password",                                                                  \
         .help =                                                                                  \
             "Password. Others on this machine can see it: the environment variable "             \
             "REDISCLI_AUTH is safer.",                                                           \
         .group = TOOL_CONNECTION_GROUP,                                                          \
         .text = TOOL_PLACE(type, field.password)},                                               \
    {                                                                                             \
        .name = "--user", .argument = "username", .help = "User whose password it is (default).", \
        .group = TOOL_CONNECTION_GROUP, .text = TOOL_PLACE(type, field.user)                      \
    }
#define TOOL_CONNECTION_GROUP "Connection"
#endif
