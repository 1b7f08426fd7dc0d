/* SPDX-License-Identifier: BSD-3-Clause
 * The address and login of a server, and the option rows by which a user gives them to a tool.
 */
#ifndef EVENKEEL_TOOLS_TOOL_CONNECTION_H
#define EVENKEEL_TOOLS_TOOL_CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "peer/peer.h"
#include "peer/peer_tls.h"
#include "tools/tool_options.h"

struct tool_connection {
    const char *host; /* "127.0.0.1" */
    int64_t port;     /* 6379 */
    const char *path; /* of a unix socket, which replaces host and port; NULL = none */
    const char *user, *password;
    const char *uri;     /* as the user gave it; its parts overwrite the fields above */
    int64_t database;    /* selected by the greeting */
    struct peer_tls tls; /* rediss:// enables it */
};

/* Sets the defaults, and the password from the environment variable REDISCLI_AUTH. */
void tool_connection_init(struct tool_connection *c);
/* Takes redis://[[user:]password@]host[:port][/database] or rediss:// apart into the fields of `c`.
 * Each part is %-decoded; the decoded texts are never freed. False with a reason. */
MUST_USE bool tool_connection_take_uri(struct tool_connection *c, const char *uri, char *reason,
                                       size_t reason_size);

/* The address for peer_client_connect; its texts are borrowed from `c`. */
struct peer_address tool_connection_address(const struct tool_connection *c);

struct peer_client;
/* Why the client's connection ended or could not be made, in one line as 6.2's tools have it:
 * without the name of the call that failed. */
const char *tool_connection_error(const struct peer_client *client);

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
/* The rows of TLS, which redis-cli and redis-benchmark share. `type` and `field` are those of
 * TOOL_CONNECTION_ROWS. */
#define TOOL_TLS_ROWS(type, field)                                                   \
    {.name = "--tls",                                                                \
     .help = "Speak TLS.",                                                           \
     .group = "TLS",                                                                 \
     .flag = TOOL_PLACE(type, field.tls.enabled)},                                   \
        {.name = "--sni",                                                            \
         .argument = "host",                                                         \
         .help = "Name that the server's certificate is asked for.",                 \
         .group = "TLS",                                                             \
         .text = TOOL_PLACE(type, field.tls.server_name)},                           \
        {.name = "--cacert",                                                         \
         .argument = "file",                                                         \
         .help = "Certificates that the server's is checked by; else the system's.", \
         .group = "TLS",                                                             \
         .text = TOOL_PLACE(type, field.tls.ca_file),                                \
         .completes = "file"},                                                       \
        {.name = "--cacertdir",                                                      \
         .argument = "folder",                                                       \
         .help = "A folder of certificates that the server's is checked by.",        \
         .group = "TLS",                                                             \
         .text = TOOL_PLACE(type, field.tls.ca_dir),                                 \
         .completes = "folder"},                                                     \
        {.name = "--insecure",                                                       \
         .help = "Do not check the server's certificate.",                           \
         .group = "TLS",                                                             \
         .flag = TOOL_PLACE(type, field.tls.insecure)},                              \
        {.name = "--cert",                                                           \
         .argument = "file",                                                         \
         .help = "Our certificate, for servers that ask for one.",                   \
         .group = "TLS",                                                             \
         .text = TOOL_PLACE(type, field.tls.cert_file),                              \
         .completes = "file"},                                                       \
        {.name = "--key",                                                            \
         .argument = "file",                                                         \
         .help = "Its private key.",                                                 \
         .group = "TLS",                                                             \
         .text = TOOL_PLACE(type, field.tls.key_file),                               \
         .completes = "file"},                                                       \
        {.name = "--tls-ciphers",                                                    \
         .argument = "list",                                                         \
         .help = "Ciphers up to TLS 1.2, as openssl-ciphers(1) has them.",           \
         .group = "TLS",                                                             \
         .text = TOOL_PLACE(type, field.tls.ciphers)},                               \
    {                                                                                \
        .name = "--tls-ciphersuites", .argument = "list",                            \
        .help = "Ciphers of TLS 1.3, parted by colons.", .group = "TLS",             \
        .text = TOOL_PLACE(type, field.tls.ciphersuites)                             \
    }
#define TOOL_CONNECTION_GROUP "Connection"
#endif
