/* SPDX-License-Identifier: BSD-3-Clause
 * Serving. The order is fixed: the mode's rows are registered before the configuration is read; a
 * daemon forks before there is a thread or an epoll instance; modules are opened after the options
 * are set; and no client is served before all modules are open.
 */
#include "server/serve.h"

#include "aof/aof.h"
#include "aof/aof_options.h"
#include "base/log.h"
#include "io/background.h"
#include "io/loop.h"
#include "io/signals.h"
#include "io/threads.h"
#include "net/listen.h"
#include "process/restart.h"
#include "process/title.h"
#include "replication/link.h"
#include "replication/saved_history.h"
#include "save/snapshot.h"
#include "server/mode.h"
#include "server/shutdown.h"
#include "server/startup.h"

bool serve_load(void) {
    return aof_options()->enabled ? aof_load_at_start() : snapshot_load_at_start();
}

/* A replica continues from the history that the snapshot has. With a log it cannot, because the log
 * has changed the data since that snapshot. */
void serve_begin_link(void) {
    struct saved_history said;
    bool continues = link_is_replica() && !aof_options()->enabled && saved_history_of_file(&said);
    if (continues) history_adopt(said.id, said.place);
    link_begin(continues, continues ? said.database : 0);
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
    bool loaded = mode->load();
    if (!loaded && !loop_is_stopping(loop)) {
        startup_remove_pidfile(false); /* silently, so that the fault is the log's last line */
        return 1;
    }
    if (loaded) startup_announce_ready();
    if (loaded) mode->loaded();
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
    if (!startup_configure(argc, argv) || !startup_begin(argc)) return 1;
    return run_loop(mode);
}
