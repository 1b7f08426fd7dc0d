/* SPDX-License-Identifier: BSD-3-Clause
 * What the server's mode registers and opens (server/modes.c), and all observers with their order.
 *
 * Registration goes from the ground up; so does opening. Lower folders announce events through
 * observers and hooks: constant arrays and structs in this file, handed down once, at opening. (The
 * watchdog's timer is the exception: it names its handler whenever it is set.)
 *
 *   io/loop       after waking        shutdown_look_for_signal, cluster_succession_turn,
 *                                     memory_limit_turn, aof_turn
 *                 after events        batch_run: what the turn has read is run and answered
 *                 before sleeping     link_step: what the primary has sent is run; blocked_step,
 *                                     held clients that go on, what closed subscribers leave,
 *                                     end_of_turn, memory_limit_step, lazyfree_step,
 *                                     slot_drop_step, expiry, defrag_step, then owed table
 *                                     work, saver_step;
 *                                     the cluster's state is judged and its file written, waits for
 *                                     keys are redirected; messages that came of all that; the
 *                                     stream to replicas; where one of them has more to do the loop
 *                                     does not sleep, and clients and background work take turns
 *   exec/gates    may a call run?     gates, in their order; script_gates for calls of scripts
 *   exec/run      within a command    turn_within: none of the above but the steps that free and
 *                                     that defragment in a load, and of the cluster what writes its
 *                                     file and lets messages leave
 *                 a request has ended cluster_run_observer
 *   net/batch     runs requests by    exec/run
 *   net/client    a client closes     client_states, in their order; only between requests
 *                 what it weighs      the same
 *   access/acl_log                    describes clients by commands/client
 *   store/keyspace a key changes      keyspace_observers, in their order
 *   publish/notify  an event of a key notify_observers, in their order
 *   publish/pubsub  PUBLISH           pubsub_observers, in their order
 *   exec/flush    FLUSHDB, FLUSHALL   flush_observers, in their order
 *   rdb/loading   a load begins, a    loading_observers, in their order
 *                 turn within, its end
 *   save/snapshot   a save begins,    snapshot_observers, in their order
 *                 its end
 *   replication/link  its states      link_observers, in their order
 *   replication/role  replica or not  role_observers, in their order
 *   rdb/rdb_fields                    snapshot_fields: what snapshots say besides keys
 *   io/child      a fork, in the      child_observers, in their order
 *                 child, its end
 *   io/signals    crash               process/crash
 *                 SIGTERM, SIGINT     server/shutdown
 *                 SIGALRM             process/watchdog, while watchdog-period is set
 *   base/panic    a line              base/log, from the beginning
 *   base/panic, base/memory, base/log process/crash
 *   process/crash, process/title, process/watchdog, process/restart, process/stack_trace
 *                 what the server is  server/process_parts
 */
#include "server/wiring.h"

#include "access/acl.h"
#include "access/acl_file.h"
#include "access/acl_log.h"
#include "access/auth.h"
#include "aof/aof.h"
#include "aof/aof_writer.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "bus/bus.h"
#include "cluster/client_modes.h"
#include "cluster/commands.h"
#include "cluster/follow.h"
#include "cluster/gate.h"
#include "cluster/options.h"
#include "cluster/redirect.h"
#include "cluster/relay.h"
#include "cluster/reports.h"
#include "cluster/service.h"
#include "cluster/succession.h"
#include "command/call.h"
#include "commands/acl.h"
#include "commands/bitmap.h"
#include "commands/client.h"
#include "commands/connection.h"
#include "commands/expire.h"
#include "commands/geo.h"
#include "commands/hash.h"
#include "commands/hyperloglog.h"
#include "commands/introspection.h"
#include "commands/keys.h"
#include "commands/latency.h"
#include "commands/list.h"
#include "commands/lolwut.h"
#include "commands/pubsub.h"
#include "commands/scan.h"
#include "commands/set.h"
#include "commands/slowlog.h"
#include "commands/sort.h"
#include "commands/stream.h"
#include "commands/stream_groups.h"
#include "commands/stream_info.h"
#include "commands/stream_read.h"
#include "commands/string.h"
#include "commands/trace.h"
#include "commands/transaction.h"
#include "commands/zset.h"
#include "commands/zset_combine.h"
#include "commands/zset_range.h"
#include "defrag/defrag.h"
#include "exec/blocked.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "exec/flush.h"
#include "exec/gate_rows.h"
#include "exec/gates.h"
#include "exec/memory_limit.h"
#include "exec/pause.h"
#include "exec/run.h"
#include "exec/transaction.h"
#include "io/affinity.h"
#include "io/child.h"
#include "io/loop.h"
#include "io/signals.h"
#include "io/threads.h"
#include "io/tls_options.h"
#include "modules/commands.h"
#include "modules/options.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/limits.h"
#include "net/listen.h"
#include "net/reply.h"
#include "net/transfer.h"
#include "peer/peer.h"
#include "process/crash.h"
#include "process/host.h"
#include "process/oom_score.h"
#include "process/stack_trace.h"
#include "process/supervise.h"
#include "process/title.h"
#include "process/watchdog.h"
#include "publish/notify.h"
#include "publish/pubsub.h"
#include "publish/tracking.h"
#include "rdb/dump.h"
#include "rdb/loading.h"
#include "rdb/rdb_fields.h"
#include "rdb/sanitize.h"
#include "replication/apply.h"
#include "replication/failover.h"
#include "replication/full_sync.h"
#include "replication/history.h"
#include "replication/link.h"
#include "replication/migrate.h"
#include "replication/own_keys.h"
#include "replication/primary.h"
#include "replication/receive.h"
#include "replication/replica.h"
#include "replication/role.h"
#include "replication/saved_history.h"
#include "replication/stream.h"
#include "report/command_times.h"
#include "report/host_cpu.h"
#include "report/monitor.h"
#include "report/slowlog.h"
#include "report/stalls.h"
#include "report/trace.h"
#include "save/disk_gate.h"
#include "save/saver.h"
#include "save/snapshot.h"
#include "save/walk.h"
#include "scrape/scrape.h"
#include "script/cache.h"
#include "script/commands.h"
#include "script/debugger.h"
#include "script/gates.h"
#include "script/script.h"
#include "sentinel/options.h"
#include "server/config.h"
#include "server/cron.h"
#include "server/debug.h"
#include "server/debug_effects.h"
#include "server/info.h"
#include "server/memory.h"
#include "server/mode.h"
#include "server/process_parts.h"
#include "server/saved_scripts.h"
#include "server/shutdown.h"
#include "server/startup.h"
#include "store/evict.h"
#include "store/expire.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "store/recency.h"
#include "store/saving.h"
#include "store/slot_drop.h"
#include "topology/nodes_file.h"
#include "value/types.h"

void wiring_register_process(void) {
    listen_register(mode_current()->port, mode_current()->is_protected);
    loop_register();
    startup_register();
    title_register(process_title_variables);
    host_register();
    supervise_register();
    oom_score_register();
    affinity_register();
    child_register();
    cron_register();
    watchdog_register(process_describe_running);
    crash_register();
}

/* Listeners come first, so that redis.conf begins with the network. */
void (*const wiring_registrations[])(void) = {
    wiring_register_process,
    keyspace_register,
    expire_register,
    lazyfree_register,
    edit_register,
    flush_register,
    recency_register,
    evict_register,
    memory_limit_register,
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
    tracking_register,
    notify_register,
    acl_register,
    acl_log_register,
    acl_file_register,
    auth_register,
    scrape_register,
    slowlog_register,
    trace_register,
    stalls_register,
    host_cpu_register,
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
    cluster_options_register,
    cluster_reports_register,
    modules_options_register,
    sentinel_options_register,
    script_register,
    threads_register,
    tls_options_register,

    commands_string_register,
    commands_bitmap_register,
    commands_keys_register,
    commands_expire_register,
    commands_scan_register,
    commands_list_register,
    commands_hash_register,
    commands_set_register,
    commands_zset_register,
    commands_zset_range_register,
    commands_zset_combine_register,
    commands_geo_register,
    commands_stream_register,
    commands_stream_read_register,
    commands_stream_groups_register,
    commands_stream_info_register,
    commands_sort_register,
    commands_hyperloglog_register,
    dump_register,
    migrate_register,
    commands_lolwut_register,
    commands_connection_register,
    commands_transaction_register,
    script_commands_register,
    commands_pubsub_register,
    commands_client_register,
    commands_acl_register,
    commands_introspection_register,
    commands_slowlog_register,
    commands_latency_register,
    commands_trace_register,
    config_register,
    info_register,
    memory_command_register,
    debug_register,
    cluster_commands_register,
    cluster_client_modes_register,
    modules_commands_register,
    shutdown_register,
    NULL,
};

/* Checks everything that clients have; each turn, in debug builds only. */
static bool check_clients(void) {
    blocked_check();
    transaction_check();
    pubsub_check();
    tracking_check();
    return true;
}

/* No batch runs now, so closed clients can be freed. */
static bool end_of_turn(void) {
    client_free_closing();
    ASSERT_SLOW(check_clients());
    cron_note_memory();
    return false;
}

/* Sends the messages that the turn's changes, expiry, eviction and the cron have caused. Clients
 * that this closes are freed before the loop sleeps. Clients that were resumed since
 * batch_run_resumed (by the end of WAIT or a failover) go on in the next turn, and so does the
 * primary's stream, which batch_run_resumed may have resumed. */
static bool write_messages(void) {
    bool more = tracking_step();
    if (primary_step()) more = true; /* also gives the log its turn */
    if (apply_is_under_way()) {
        apply_tell();
        if (apply_may_go_on()) more = true;
    }
    failover_step();
    reply_write_all();
    client_free_closing();
    return more || batch_has_resumed();
}

/* What clients that close leave is freed in steps, in these turns too: while a command or a load
 * lasts, any number of clients may come and go. No queue of these has what the command looks at:
 * that is in limbo. */
static void turn_within(void) {
    cron_within();
    listen_within();
    cluster_service_within();
    shutdown_look_within();
    (void)pubsub_release_step();
    (void)lazyfree_step();
    defrag_step_of_load();
}

static void (*const after_wake[])(void) = {shutdown_look_for_signal,
                                           cluster_succession_turn,
                                           memory_limit_turn,
                                           aof_turn,
                                           saver_turn,
                                           NULL};
static void (*const after_events[])(void) = {batch_run, NULL}; /* runs and answers requests */
/* Both are steps that delete. */
static bool free_and_drop(void) {
    bool more = lazyfree_step();
    return slot_drop_step() || more;
}

static bool (*const before_sleep[])(void) = {link_step,
                                             blocked_step,
                                             batch_run_resumed,
                                             pubsub_release_step,
                                             end_of_turn,
                                             memory_limit_step,
                                             free_and_drop,
                                             expire_slice,
                                             defrag_step,
                                             cron_idle_step,
                                             saver_step,
                                             cluster_service_step,
                                             cluster_redirect_step,
                                             write_messages,
                                             NULL};
static const struct loop_hooks loop_hooks = {after_wake, after_events, before_sleep};
/* The hooks with I/O threads. */
static void (*const after_events_threads[])(void) = {batch_run_threads, NULL};
static const struct loop_hooks loop_hooks_threads = {after_wake, after_events_threads,
                                                     before_sleep};

/* Without the invalidations that eviction itself causes, because these must not make another
 * eviction necessary. */
static size_t client_bytes(void) { return client_memory_normal() + tracking_untold_bytes(); }
static const struct memory_limit_clients clients = {
    client_bytes, client_memory_leaving, batch_large_bytes, client_memory_disconnect_largest};

/* The order of what a change causes: its effect for log and replicas, invalidations of clients'
 * caches, WATCH, events, clients that wait for the key. */
static const struct keyspace_observer *const keyspace_observers[] = {&effects_observer,
                                                                     &tracking_observer,
                                                                     &transaction_observer,
                                                                     &notify_keyspace_observer,
                                                                     &blocked_observer,
                                                                     &own_keys_observer,
                                                                     NULL};
static const struct notify_observer *const notify_observers[] = {&notify_publisher, NULL};
static const struct pubsub_observer *const pubsub_observers[] = {&pubsub_delivery, &cluster_relay,
                                                                 NULL};
/* The states of a client that folders above net/ keep, in the order in which its closing is
 * told. */
struct client_state *const wiring_client_states[] = {
    &monitor_client_state,  &blocked_client_state, &pubsub_client_state,  &transaction_client_state,
    &tracking_client_state, &acl_client_state,     &acl_principal_state,  &debugger_client_state,
    &replica_client_state,  &apply_client_state,   &cluster_client_state, NULL};
/* In the order of 6.2, so that a call with two faults gets the same error. The gates of the log and
 * of saves stand behind the queue's, because a command that is queued writes nothing yet.
 * The last gates are only for scripts, and asked of no request. */
static struct gate *const gates[] = {
    &gate_user,             /* the client must authenticate, or its user may not do everything */
    &cluster_gate,          /* this node may not serve these keys */
    &memory_limit_gate,     /* maxmemory is set */
    &disk_gate,             /* the last save failed, or the log cannot be written */
    &primary_replicas_gate, /* fewer good replicas than min-replicas-to-write */
    &role_gate_read_only,   /* a replica that takes writes from its primary only */
    &gate_closing,          /* the client is marked to be closed, or the server has begun to end */
    &gate_subscriber,       /* the client listens to channels */
    &role_gate_stale,       /* a replica without its primary, with replica-serve-stale-data no */
    &loading_gate,          /* a snapshot or a log is loaded */
    &script_gate_busy,      /* a script runs beyond its time */
    &run_gate,              /* no turn more may be made within this one */
    &gate_monitor,          /* the client monitors, or is a replica */
    &pause_gate,            /* CLIENT PAUSE, FAILOVER */
    &gate_queue,            /* the client is between MULTI and EXEC */
    &aof_gate,              /* the log's queue is at its bound */
    &walk_gate,             /* a save that walks: a writer of a large value may have to wait */
    &script_gate,           /* a script runs: not all commands are for scripts */
    &script_gate_chance,    /* a script that is replicated as a whole made a random call */
    &script_gate_memory,    /* no memory when the script began, and it has not written yet */
    NULL,
};
/* In the order in which 6.2 checks the calls of a script. */
static struct gate *const script_gates[] = {
    &script_gate,         &gate_user,    &script_gate_chance,
    &role_gate_read_only, &disk_gate,    &primary_replicas_gate,
    &script_gate_memory,  &cluster_gate, NULL};
static void become_child(const struct child_job *job) {
    title_write_child(job->title);
    oom_score_apply(OOM_CHILD);
}

static void set_log_role(bool replica) { log_set_role(replica ? 'S' : mode_current()->log_role); }
static void set_oom_score(bool replica) { oom_score_apply(replica ? OOM_REPLICA : OOM_PRIMARY); }

static const struct flush_observer *const flush_observers[] = {&snapshot_flush_observer, NULL};
static void tell_load_began(const char *what) {
    char text[128];
    snprintf(text, sizeof(text), "Loading the %s", what);
    supervise_status(text);
}
static void tell_load_ended(bool good) {
    supervise_status(good ? "The data is loaded" : "Loading the data has failed");
}
static const struct loading_observer supervise_loading_observer = {.began = tell_load_began,
                                                                   .ended = tell_load_ended};
static const struct loading_observer *const loading_observers[] = {
    &receive_loading_observer, &supervise_loading_observer, NULL};
static const struct snapshot_observer *const snapshot_observers[] = {&full_sync_snapshot_observer,
                                                                     NULL};
static const struct role_observer log_role_observer = {set_log_role};
static const struct role_observer oom_role_observer = {set_oom_score};
static const struct role_observer *const role_observers[] = {&log_role_observer, &oom_role_observer,
                                                             NULL};
static const struct link_observer supervise_link_observer = {.status = supervise_status};
static const struct link_observer *const link_observers[] = {&role_link_observer,
                                                             &supervise_link_observer, NULL};

static const struct child_observer process_child_observer = {.in_child = become_child};

/* The order of what a fork causes: work that rests while the child lives; what the child closes;
 * its title. */
static const struct child_observer *const child_observers[] = {
    &effects_child_observer,      &saving_child_observer,      &listen_child_observer,
    &client_child_observer,       &scrape_child_observer,      &peer_child_observer,
    &process_child_observer,      &cron_child_observer,        &saver_child_observer,
    &cluster_file_child_observer, &cluster_bus_child_observer, NULL};
/* The fields that snapshots have besides keys, in the order of the file. */
static const struct rdb_field *const snapshot_fields[] = {
    &saved_history_database, &saved_history_id, &saved_history_place, &saved_scripts, NULL};
static const struct effect_sink *const effect_sinks[] = {&aof_writer_sink, &stream_sink,
                                                         &debug_log_sink, &debug_stream_sink, NULL};

/* From now on faults write a crash report. */
static void hear_faults(void) {
    log_set_observer(crash_note_line);
    panic_set_hook(crash_on_panic);
    memory_set_oom_handler(crash_on_out_of_memory);
    signals_set_crash_handler(crash_on_signal);
}

static bool hand_down(struct loop *loop) {
    keyspace_set_observers(keyspace_observers);
    client_set_states(wiring_client_states);
    effects_set_sinks(effect_sinks);
    rdb_fields_set(snapshot_fields);
    notify_set_observers(notify_observers);
    pubsub_set_observers(pubsub_observers);
    flush_set_observers(flush_observers);
    loading_set_observers(loading_observers);
    snapshot_set_observers(snapshot_observers);
    link_set_observers(link_observers);
    role_set_observers(role_observers);
    role_set_manager(cluster_is_enabled() ? &cluster_follow_manager : &role_by_option);
    gates_set_order(gates);
    gates_set_code_order(&script_gate_code, script_gates);
    memory_limit_set_clients(&clients);
    client_memory_set_maxmemory(memory_limit_bytes);
    return true;
}

static const char *role_for_hello(void) { return link_is_replica() ? "replica" : "master"; }

static bool open_clients(struct loop *loop) {
    bool threads = threads_are_wanted();
    if (cluster_is_enabled()) keyspace_partition(true);
    keyspace_open();
    if (!tls_options_open()) return false;
    if (!client_open(loop, threads ? &batch_client_parts_threads : &batch_client_parts))
        return false;
    reply_open();
    batch_open(run_executor());
    run_open(turn_within, &cluster_run_observer);
    commands_connection_open(mode_name(), role_for_hello);
    script_open();
    acl_log_describe_clients(client_describe);
    loop_set_hooks(loop, threads ? &loop_hooks_threads : &loop_hooks);
    return acl_file_open();
}

/* Blocks that active defragmentation moves, besides those of the databases. */
static relocation_part *const defrag_parts[] = {cache_relocate_some, NULL};

static bool open_data(struct loop *loop) {
    child_open(loop, child_observers);
    saver_open(loop);
    full_sync_open(loop);
    if (!cluster_service_open(loop)) return false;
    role_open(client_describe);
    expire_open(loop);
    defrag_set_parts(defrag_parts);
    defrag_open(loop);
    cron_open(loop, &cron_of_data);
    return true;
}

bool wiring_open_process(struct loop *loop) {
    signals_set_shutdown_observer(shutdown_on_signal);
    shutdown_open(loop);
    info_open(loop);
    scrape_open(loop);
    stalls_open(loop);
    stack_trace_open(startup_executable(), process_running_function);
    crash_open(&process_crash_parts);
    hear_faults();
    return true;
}

bool wiring_open_threads(struct loop *loop) {
    if (!threads_are_wanted()) return true;
    if (!threads_start()) return false;
    batch_open_threads();
    return true;
}

bool (*const wiring_openings[])(struct loop *loop) = {
    hand_down, open_clients, open_data, wiring_open_process, wiring_open_threads, NULL};
