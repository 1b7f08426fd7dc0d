/* SPDX-License-Identifier: BSD-3-Clause
 * What process/ is told of the server: it knows no client and no command, so it is handed these
 * functions and tables.
 *
 * Reports run in a signal handler, in a process that may be broken, so they only read existing
 * structs, without a lock and without an allocation.
 */
#include "server/process_parts.h"

#include "base/list.h"
#include "base/log.h"
#include "base/string.h"
#include "command/call.h"
#include "command/command.h"
#include "io/signals.h"
#include "net/client.h"
#include "net/listen.h"
#include "process/crash.h"
#include "process/restart.h"
#include "server/config.h"
#include "server/mode.h"
#include "server/startup.h"

#define CLIENTS_SHOWN_MAX 100
#define ARGUMENTS_SHOWN_MAX 32
#define ARGUMENT_SHOWN_BYTES 128

/* ---- the title ---- */

static void append_address(struct buffer *out) {
    buffer_append_c_string(out, listen_first_address());
}

static void append_mode(struct buffer *out) { buffer_append_c_string(out, mode_title()); }

static void append_port(struct buffer *out) { buffer_printf(out, "%d", listen_port()); }

static void append_tls_port(struct buffer *out) { buffer_printf(out, "%d", listen_tls_port()); }

static void append_unix_path(struct buffer *out) {
    const char *path = listen_unix_path();
    buffer_append_c_string(out, path ? path : "");
}

static void append_config_file(struct buffer *out) {
    const char *file = startup_config_file();
    buffer_append_c_string(out, *file ? file : "-");
}

const struct title_variable process_title_variables[] = {{"listen-addr", append_address},
                                                         {"server-mode", append_mode},
                                                         {"port", append_port},
                                                         {"tls-port", append_tls_port},
                                                         {"unixsocket", append_unix_path},
                                                         {"config-file", append_config_file},
                                                         {NULL, NULL}};

/* ---- a restart ---- */

static bool keep_configuration(char *reason, size_t reason_size) {
    return !*startup_config_file() || config_rewrite(false, reason, reason_size);
}

const struct restart_program process_restart_program = {startup_executable, keep_configuration};

/* ---- the running command ---- */

const void *process_running_function(char *name, size_t size) {
    const struct call *call = call_running();
    if (!call) return NULL;
    snprintf(name, size, "%s", call->command->name);
    return (const void *)(uintptr_t)call->command->handler;
}

void process_describe_running(char *text, size_t size) {
    const struct call *call = call_running();
    if (call)
        snprintf(text, size, "The command %s of client %llu (%d arguments) is running.\n",
                 call->command->name, (unsigned long long)call->client->id, call->argc);
    else
        snprintf(text, size, "No command is running.\n");
}

/* ---- the crash report ---- */

/* Whether the word that holds the byte can be read. */
static bool can_read(const char *byte) {
    return signals_can_read((const void *)((uintptr_t)byte & ~(sizeof(uint64_t) - 1)));
}

static void report_argument(int index, struct slice text) {
    char shown[ARGUMENT_SHOWN_BYTES + 1];
    size_t length = text.length < ARGUMENT_SHOWN_BYTES ? text.length : ARGUMENT_SHOWN_BYTES;
    if (length && !(can_read(text.bytes) && can_read(text.bytes + length - 1))) {
        crash_line("argv[%d] (%zu bytes) cannot be read", index, text.length);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        shown[i] = (char)(c >= ' ' && c <= '~' ? c : '.');
    }
    shown[length] = 0;
    crash_line("argv[%d] (%zu bytes): '%s'", index, text.length, shown);
}

static void report_client(const struct client *c) {
    crash_line("id=%llu fd=%d name=%s flags=0x%llx db=%d resp=%d created=%lld active=%lld omem=%zu",
               (unsigned long long)c->id, c->watcher.fd, c->name ? c->name : "",
               (unsigned long long)c->flag_set.all, c->database, (int)c->protocol,
               (long long)c->created_msec, (long long)c->active_msec, c->reply_bytes);
}

static void report_running(void) {
    const struct call *call = call_running();
    if (!call) return;
    log_raw(LOG_LEVEL_WARNING, "\n------ CURRENT CLIENT INFO ------\n");
    report_client(call->client);
    crash_line("cmd=%s argc=%d", call->command->name, call->argc);
    for (int i = 0; i < call->argc && i < ARGUMENTS_SHOWN_MAX; i++)
        report_argument(i, call_argument_shown(call, i));
    if (call->argc > ARGUMENTS_SHOWN_MAX)
        crash_line("and %d more arguments", call->argc - ARGUMENTS_SHOWN_MAX);
}

/* The list is walked here, because the clients' own code may be what crashed. */
static void report_clients(void) {
    struct list_link *list = client_list();
    int shown = 0;
    log_raw(LOG_LEVEL_WARNING, "\n------ CLIENT LIST OUTPUT ------\n");
    for (struct list_link *at = list->next; at && at != list && shown < CLIENTS_SHOWN_MAX;
         at = at->next, shown++)
        report_client(LIST_ENTRY(at, struct client, link));
    if (client_count() > CLIENTS_SHOWN_MAX) crash_line("of %zu clients in all", client_count());
}

const struct crash_parts process_crash_parts = {report_running, report_clients};
