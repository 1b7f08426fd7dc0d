/* SPDX-License-Identifier: BSD-3-Clause
 * Serving. The order is fixed: the mode's rows are registered before the configuration is read; a
 * daemon forks before there is a thread or an epoll instance; modules are opened after the options
 * are set; and no client is served before all modules are open.
 */
#include "server/serve.h"

#include "aof/aof.h"
#include "aof/aof_options.h"
#include "base/log.h"
#include "cluster/service.h"
#include "io/background.h"
#include "io/child.h"
#include "io/loop.h"
#include "io/signals.h"
#include "io/threads.h"
#include "net/listen.h"
#include "process/restart.h"
#include "process/supervise.h"
#include "process/title.h"
#include "rdb/loading.h"
#include "replication/full_sync.h"
#include "replication/link.h"
#include "replication/primary.h"
#include "replication/receive.h"
#include "replication/saved_history.h"
#include "save/snapshot.h"
#include "script/debugger.h"
#include "server/mode.h"
#include "server/shutdown.h"
#include "server/startup.h"

bool serve_load(void) {
    bool loaded = aof_options()->enabled ? aof_load_at_start() : snapshot_load_at_start();
    return loaded && cluster_service_loaded();
}

/* A replica continues from the history that the snapshot has. With a log it cannot, because the log
 * has changed the data since that snapshot. */
void serve_loaded(void) {
    startup_announce_ready();
    struct saved_history said;
    bool continues = link_is_replica() && !aof_options()->enabled && saved_history_of_file(&said);
    if (continues) history_adopt(said.id, said.place);
    link_begin(continues, continues ? said.database : 0);
}

bool serve_stop(enum mode_saving saving) {
    /* While they are loaded the databases hold only a part of the file's data. */
    if (loading_is_under_way()) saving = MODE_SAVE_NEVER;
    full_sync_stop(); /* nobody reads its pipe any more, so its writer would wait for ever */
    snapshot_end_child();
    if (!aof_end(saving == MODE_SAVE_NEVER)) return false;
    if (saving == MODE_SAVE_ALWAYS ||
        (saving == MODE_SAVE_AS_CONFIGURED && snapshot_wanted_at_end())) {
        log_notice("Saving the final RDB snapshot before exiting.");
        if (!snapshot_save()) {
            log_warning("Error trying to save the DB, can't exit.");
            return false;
        }
    }
    primary_say_last();
    return true;
}

void serve_finish(void) {
    child_kill_and_wait(&debugger_child);
    (void)aof_end(true); /* writes the last turn's changes, for which replies wait */
    full_sync_stop();    /* a copy may have begun in the last turn */
    receive_stop();      /* half a copy is useless, and as large as the data */
    cluster_service_close();
}

static bool listen_for_clients(struct loop *loop) {
    char reason[256];
    if (listen_open(loop, reason, sizeof(reason))) return true;
    log_warning("%s", reason);
    return false;
}

static int run_loop(const struct mode *mode) {
    struct loop *loop = loop_create();
    if (!mode_open(mode, loop) || !listen_for_clients(loop)) return 1;
    title_write();
    startup_announce();
    if (mode->listening) mode->listening();
    bool loaded = !mode->load || mode->load();
    if (!loaded && !loop_is_stopping(loop)) {
        startup_remove_pidfile(false); /* silently, so that the fault is the log's last line */
        return 1;
    }
    if (loaded && mode->loaded) mode->loaded();
    if (loaded) supervise_ready();
    loop_run(loop);
    shutdown_finish();
    signals_setup(NULL);
    threads_stop();
    background_stop();
    if (!restart_is_prepared()) return 0;
    restart_execute(0);
    return 1;
}

int serve(const struct mode *mode, int argc, char **argv) {
    int status;
    if (startup_print_and_leave(argc, argv, &status)) return status;
    if (!startup_configure(argc, argv)) return 1;
    if (mode->configured && !mode->configured()) return 1;
    if (!startup_begin(argc)) return 1;
    return run_loop(mode);
}
