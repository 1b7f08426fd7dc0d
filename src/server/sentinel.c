/* SPDX-License-Identifier: BSD-3-Clause
 * The mode of a Sentinel: what it registers and opens, and its hooks.
 *
 * A Sentinel serves clients as a server does: ports, TLS, users, limits, channels, INFO, scrapes.
 * It has no data: nothing is loaded, saved, logged, expired, evicted or replicated, and no script
 * runs in it. All options of a server are registered, because 6.2 accepts them in a Sentinel's
 * file, too; those that steer data have no effect.
 *
 *   io/loop       after waking        shutdown_look_for_signal
 *                 after events        batch_run
 *                 before sleeping     held clients that go on, what closed subscribers leave,
 *                                     closed clients, the record of what the turn has changed,
 *                                     messages that came of all that
 *   exec/gates    may a call run?     gates, in their order
 *   exec/run      within a command    nothing: no command takes long
 *   sentinel/record  writes the file  server/config
 */
#include "server/sentinel.h"

#include <errno.h>
#include <string.h>

#include <unistd.h>
#include "access/acl.h"
#include "access/acl_file.h"
#include "access/acl_log.h"
#include "access/auth.h"
#include "aof/aof.h"
#include "base/log.h"
#include "base/manual.h"
#include "cluster/options.h"
#include "cluster/reports.h"
#include "command/call.h"
#include "commands/acl.h"
#include "commands/client.h"
#include "commands/connection.h"
#include "commands/hyperloglog.h"
#include "commands/introspection.h"
#include "commands/latency.h"
#include "commands/pubsub.h"
#include "defrag/defrag.h"
#include "exec/blocked.h"
#include "exec/edit.h"
#include "exec/flush.h"
#include "exec/gate_rows.h"
#include "exec/gates.h"
#include "exec/memory_limit.h"
#include "exec/pause.h"
#include "exec/run.h"
#include "io/child.h"
#include "io/loop.h"
#include "io/threads.h"
#include "io/tls_options.h"
#include "modules/options.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/limits.h"
#include "net/reply.h"
#include "net/transfer.h"
#include "option/option.h"
#include "publish/notify.h"
#include "publish/pubsub.h"
#include "publish/tracking.h"
#include "rdb/loading.h"
#include "rdb/sanitize.h"
#include "replication/failover.h"
#include "replication/history.h"
#include "replication/link.h"
#include "replication/migrate.h"
#include "replication/primary.h"
#include "replication/role.h"
#include "report/command_times.h"
#include "report/host_cpu.h"
#include "report/slowlog.h"
#include "report/stalls.h"
#include "report/trace.h"
#include "save/saver.h"
#include "save/snapshot.h"
#include "scrape/scrape.h"
#include "script/script.h"
#include "sentinel/commands.h"
#include "sentinel/directives.h"
#include "sentinel/record.h"
#include "sentinel/script.h"
#include "sentinel/service.h"
#include "sentinel/tick.h"
#include "server/config.h"
#include "server/cron.h"
#include "server/info.h"
#include "server/mode.h"
#include "server/serve.h"
#include "server/shutdown.h"
#include "server/startup.h"
#include "server/wiring.h"
#include "store/evict.h"
#include "store/expire.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "store/recency.h"
#include "value/types.h"

/* ---- rows ---- */

/* Rows of clients and access; rows that only steer data, whose options a file may have; Sentinel's
 * own; families of which it has commands. */
static void (*const registrations[])(void) = {
    wiring_register_process,
    client_register,
    client_memory_register,
    reply_register,
    transfer_register,
    batch_register,
    limits_register,
    call_register,
    run_register,
    command_times_register,
    pubsub_register,
    acl_register,
    acl_log_register,
    acl_file_register,
    auth_register,
    scrape_register,
    stalls_register,
    host_cpu_register,
    threads_register,
    tls_options_register,

    keyspace_register,
    expire_register,
    lazyfree_register,
    edit_register,
    flush_register,
    recency_register,
    evict_register,
    memory_limit_register,
    tracking_register,
    notify_register,
    slowlog_register,
    trace_register,
    value_register,
    defrag_register,
    loading_register,
    saver_register,
    snapshot_register,
    aof_register,
    sanitize_register,
    history_register,
    primary_register,
    role_register,
    failover_register,
    migrate_register,
    cluster_options_register,
    cluster_reports_register,
    modules_options_register,
    script_register,
    commands_hyperloglog_register,
    commands_latency_register,

    sentinel_directives_register,
    sentinel_commands_register,
    sentinel_service_register,

    commands_connection_register,
    commands_pubsub_register,
    commands_client_register,
    commands_acl_register,
    commands_introspection_register,
    info_register,
    shutdown_register,
    NULL,
};

/* ---- hooks ---- */

/* No batch runs now, so closed clients can be freed. */
static bool free_closed(void) {
    client_free_closing();
    cron_note_memory();
    return false;
}

static bool write_replies(void) {
    reply_write_all();
    client_free_closing();
    return batch_has_resumed();
}

static void turn_of_nothing(void) {}

static void (*const after_wake[])(void) = {shutdown_look_for_signal, NULL};
static void (*const after_events[])(void) = {batch_run, NULL};
static void (*const after_events_threads[])(void) = {batch_run_threads, NULL};
static bool (*const before_sleep[])(void) = {
    blocked_step, batch_run_resumed,    pubsub_release_step,
    free_closed,  sentinel_record_step, write_replies,
    NULL};
static const struct loop_hooks sentinel_hooks = {after_wake, after_events, before_sleep};
static const struct loop_hooks sentinel_hooks_threads = {after_wake, after_events_threads,
                                                         before_sleep};

/* In the order of 6.2. */
static struct gate *const sentinel_gates[] = {
    &gate_user,       /* the client must authenticate, or its user may not do everything */
    &gate_closing,    /* the client is marked to be closed, or the Sentinel has begun to end */
    &gate_subscriber, /* the client listens to channels */
    &pause_gate,      /* CLIENT PAUSE */
    NULL,
};

/* Scripts are executed, which closes all descriptors. */
static const struct child_observer *const no_child_observers[] = {NULL};

static const struct cron_parts sentinel_cron = {.hz_shown = sentinel_hz};

/* ---- openings ---- */

static bool open_service(struct loop *loop) {
    bool threads = threads_are_wanted();
    client_set_states(wiring_client_states);
    gates_set_order(sentinel_gates);
    client_memory_set_maxmemory(memory_limit_bytes);
    keyspace_open(); /* calls name a database, which stays empty */
    if (!tls_options_open()) return false;
    if (!client_open(loop, threads ? &batch_client_parts_threads : &batch_client_parts))
        return false;
    reply_open();
    batch_open(run_executor());
    run_open(turn_of_nothing, NULL);
    commands_connection_open(mode_sentinel.name, NULL);
    acl_log_describe_clients(client_describe);
    loop_set_hooks(loop, threads ? &sentinel_hooks_threads : &sentinel_hooks);
    return acl_file_open();
}

static bool open_watching(struct loop *loop) {
    child_open(loop, no_child_observers);
    cron_open(loop, &sentinel_cron);
    sentinel_record_open(config_record);
    sentinel_script_open();
    sentinel_open(loop, link_transport);
    return true;
}

static bool (*const openings[])(struct loop *loop) = {
    open_service, open_watching, wiring_open_process, wiring_open_threads, NULL};

/* ---- the file ---- */

/* A Sentinel that cannot keep its votes and what it has found does not start. */
static bool check_file(void) {
    const char *path = startup_config_file();
    if (!*path) {
        log_warning("Sentinel needs config file on disk to save state. Exiting...");
        return false;
    }
    if (access(path, W_OK) == 0) return true;
    log_warning("Sentinel config file %s is not writable: %s. Exiting...", path, strerror(errno));
    return false;
}

/* ---- documents ---- */

static const char *const examples[] = {"redis-sentinel /etc/redis/sentinel.conf",
                                       "redis-server /etc/redis/sentinel.conf --sentinel", NULL};

static const struct manual manual = {
    .program = "redis-sentinel",
    .summary =
        "Watches servers and their replicas together with other Sentinels, makes a replica the "
        "primary when the primary is down, and tells clients which server is the primary. It is "
        "redis-server under another name: redis-server --sentinel does the same. What it finds out "
        "it writes into its configuration file, which must be writable.",
    .synopsis = "file [--option word ...] ...",
    .maker = "redis-sentinel --describe-man",
    .examples = examples};

static const char *const sections_of_concern[] = {"sentinel", "network", "tls",     "security",
                                                  "clients",  "limits",  "process", "logging",
                                                  "general",  "metrics", NULL};

static const struct option_scope scope = {
    .sections = sections_of_concern,
    .example_head =
        "# Configuration of a Sentinel of Evenkeel. Every directive stands here, an option of the\n"
        "# server's that concerns a Sentinel, too, at its default. A Sentinel is started with\n"
        "# redis-sentinel sentinel.conf, and needs a `sentinel monitor` for each primary.\n"
        "#\n"
        "# The Sentinel writes its id, epochs, and the replicas and Sentinels that it finds into\n"
        "# this file, each time in the place of the old lines; your comments and order stay.\n"
        "#\n"
        "# Made by: redis-sentinel --describe-config-example\n\n",
    .reference_head =
        "# Options of a Sentinel\n\n"
        "Made by `redis-sentinel --describe-options`. `SENTINEL SET` and `SENTINEL CONFIG SET`\n"
        "change directives while the Sentinel runs. Options of a server that are not listed here\n"
        "are accepted and have no effect.\n"};

/* ---- the mode ---- */

static const struct mode_section sections[] = {{"Server", true}, {"Clients", true},  {"CPU", true},
                                               {"Stats", true},  {"Sentinel", true}, {NULL, false}};

const struct mode mode_sentinel = {.program = "redis-sentinel",
                                   .option = "--sentinel",
                                   .name = "sentinel",
                                   .product = "Sentinel",
                                   .title = "[sentinel]",
                                   .port = "26379",
                                   .is_protected = false,
                                   .log_role_at_start = 'X',
                                   .log_role = 'X',
                                   .sections = sections,
                                   .commands = sentinel_forms,
                                   .manual = &manual,
                                   .words = startup_sentinel_words,
                                   .scope = &scope,
                                   .registrations = registrations,
                                   .openings = openings,
                                   .run = serve,
                                   .configured = check_file,
                                   .loaded = sentinel_begin};
