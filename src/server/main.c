/* SPDX-License-Identifier: BSD-3-Clause
 * redis-server: from the command line to the loop and back.
 *
 * The order is fixed: rows are registered before the configuration is read, a daemon forks before
 * there is a thread or an epoll instance, modules open with the options as they are, and nothing
 * is served before all of them are.
 */
#include "aof/aof.h"
#include "aof/aof_options.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/random.h"
#include "io/background.h"
#include "io/loop.h"
#include "io/signals.h"
#include "io/threads.h"
#include "process/restart.h"
#include "process/title.h"
#include "replication/link.h"
#include "replication/saved_history.h"
#include "save/snapshot.h"
#include "server/process_parts.h"
#include "server/programs.h"
#include "server/shutdown.h"
#include "server/startup.h"
#include "server/wiring.h"

static void seed(void) {
    uint8_t key[16];
    uint64_t number;
    random_secret(key, sizeof(key));
    hash_set_key(key);
    clock_calibrate();
    random_secret(&number, sizeof(number));
    random_seed(number);
}

static bool is_sentinel(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--sentinel")) return true;
    return argc > 0 && strstr(argv[0], "redis-sentinel");
}

/* A replica goes on where the snapshot says. A log has gone on since its beginning was saved. */
static void begin_link(void) {
    struct saved_history said;
    bool continues = link_is_replica() && !aof_options()->enabled && saved_history_of_file(&said);
    if (continues) history_adopt(said.id, said.place);
    link_begin(continues, continues ? said.database : 0);
}

static int serve(void) {
    struct loop *loop = loop_create();
    if (!wiring_open(loop) || !wiring_listen(loop)) return 1;
    title_write();
    startup_announce();
    bool loaded = aof_options()->enabled ? aof_load_at_start() : snapshot_load_at_start();
    if (!loaded && !loop_is_stopping(loop)) {
        startup_remove_pidfile(false); /* the log ends with what was wrong */
        return 1;
    }
    if (loaded) startup_announce_ready();
    if (loaded) begin_link();
    loop_run(loop);
    shutdown_finish();
    signals_setup(NULL);
    threads_stop();
    background_stop();
    if (!restart_is_prepared()) return 0;
    restart_execute(0);
    return 1;
}

int main(int argc, char **argv) {
    int status;
    argv = title_take_arguments(argc, argv);
    restart_take_arguments(argv, &process_restart_program);
    tzset();
    clock_refresh();
    seed();
    wiring_register();
    if (programs_run(argc, argv, &status)) return status;
    if (startup_print_and_leave(argc, argv, &status)) return status;
    if (is_sentinel(argc, argv)) {
        fputs("Sentinel is not built yet.\n", stderr);
        return 1;
    }
    if (!startup_configure(argc, argv) || !startup_begin(argc)) return 1;
    return serve();
}
