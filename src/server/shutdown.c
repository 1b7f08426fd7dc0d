/* SPDX-License-Identifier: BSD-3-Clause
 * Shutting down.
 *
 *   serving -> stopping (SHUTDOWN, SIGTERM, SIGINT) -> the loop's turn ends -> finish -> exit 0
 *
 * SHUTDOWN stops the loop and closes its client without a reply. The present turn is finished, so
 * that earlier replies leave, but no further request is run, because its change would be answered
 * and yet be in no file. A signal wakes the loop, which looks for it before it runs the requests
 * that came meanwhile. A shutdown within a script ends the script, and log and replicas get none of
 * its effects (effects_stop). A second SIGINT ends the process at once, so that Ctrl-C works while
 * a long command runs.
 */
#include "server/shutdown.h"
#include "scrape/scrape.h"

#include "base/log.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "exec/gate_rows.h"
#include "io/background.h"
#include "io/loop.h"
#include "io/signals.h"
#include "net/client.h"
#include "net/listen.h"
#include "net/reply.h"
#include "process/supervise.h"
#include "rdb/loading.h"
#include "save/snapshot.h"
#include "server/mode.h"
#include "server/startup.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

static struct loop *loop;
static bool stopping;

/* Begins the shutdown. False where the mode could not put its data away as asked: the process goes
 * on. */
static bool shutdown_stop(enum mode_saving saving) {
    const struct mode *mode = mode_current();
    if (stopping) return true;
    log_warning("User requested shutdown...");
    if (mode->stop && !mode->stop(saving)) return false;
    stopping = true;
    gate_set(&gate_closing, true);
    effects_stop();
    loop_stop(loop);
    return true;
}

void shutdown_begin(void) { (void)shutdown_stop(MODE_SAVE_NEVER); }

void shutdown_on_signal(int sig, int earlier) {
    if (sig == SIGINT && earlier) {
        log_from_signal("You insist... exiting now.");
        listen_unix_remove();
        snapshot_remove_temporary();
        _exit(1);
    }
    if (loading_is_under_way()) {
        log_from_signal("Received shutdown signal during loading, exiting now.");
        return;
    }
    log_from_signal(sig == SIGINT ? "Received SIGINT scheduling shutdown..."
                                  : "Received SIGTERM scheduling shutdown...");
}

void shutdown_look_for_signal(void) {
    if (!signals_shutdown_requested() || shutdown_stop(MODE_SAVE_AS_CONFIGURED)) return;
    /* The server goes on with its data: the operator may mend the cause and send another signal. */
    signals_shutdown_clear();
    log_warning(
        "SIGTERM received but errors trying to shut down the server, check the logs for more "
        "information");
}

void shutdown_look_within(void) {
    if (loading_is_under_way()) shutdown_look_for_signal();
}

void shutdown_open(struct loop *the_loop) {
    loop = the_loop;
    signals_setup(loop);
}

/* The leak checker does not see the unaligned pointers in entries and would report their blocks as
 * lost. */
static void free_keys_for_sanitizer(void) {
#ifdef EVENKEEL_SANITIZER
    for (int i = 0; i < keyspace_databases(); i++) edit_flush(keyspace_at(i), LAZYFREE_NOW);
    while (lazyfree_step()) continue; /* values that are being freed in slices */
    background_drain(&background_free);
#endif
}

void shutdown_finish(void) {
    const struct mode *mode = mode_current();
    bool has_socket = *listen_unix_path();
    supervise_stopping();
    startup_remove_pidfile(true);
    if (has_socket) log_notice("Removing the unix socket file.");
    listen_close();
    if (mode->finish) mode->finish();
    client_close_all();
    scrape_close();
    free_keys_for_sanitizer();
    log_warning("%s is now ready to exit, bye bye...", mode->product);
}

static void command_shutdown(struct call *call) {
    bool save = call->argc == 2 && argument_is(call, 1, "save");
    bool no_save = call->argc == 2 && argument_is(call, 1, "nosave");
    if (call->argc > 1 && !save && !no_save) {
        reply_syntax_error(call->client);
    } else if (shutdown_stop(save      ? MODE_SAVE_ALWAYS
                             : no_save ? MODE_SAVE_NEVER
                                       : MODE_SAVE_AS_CONFIGURED)) {
        listen_close(); /* so that a client that sees its connection end cannot connect again */
        client_close_later(call->client);
    } else {
        reply_error(call->client, "Errors trying to SHUTDOWN. Check logs.");
    }
}

static struct command rows[] = {
    COMMAND("shutdown", command_shutdown, -1, ADMIN | NO_SCRIPT | ANYTIME, NO_CATEGORY, NO_KEYS,
            "Ends the server."),
};

void shutdown_register(void) { command_register(COMMAND_ROWS(rows)); }
