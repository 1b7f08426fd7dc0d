/* SPDX-License-Identifier: BSD-3-Clause
 * What is there, and who hears of what, in which order.
 *
 * Registration goes from the ground up; so does opening. Lower folders announce through observers,
 * and each registration of one stands here:
 *
 *   io/loop       after waking        shutdown_look_for_signal
 *                 after events        batch_run: what the turn has read is run and answered
 *                 before sleeping     end_of_turn, then expiry, then owed table work; where one
 *                                     of them has more to do the loop does not sleep, and clients
 *                                     and background work take turns
 *   net/batch     runs requests by    exec/dispatch
 *   io/signals    crash               server/crash
 *                 SIGTERM, SIGINT     server/shutdown
 *   base/panic, base/memory, base/log server/crash
 */
#include "server/wiring.h"

#include "base/log.h"
#include "commands/connection.h"
#include "commands/introspection.h"
#include "commands/keys.h"
#include "commands/string.h"
#include "exec/auth.h"
#include "exec/dispatch.h"
#include "io/loop.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/listen.h"
#include "net/reply.h"
#include "server/config.h"
#include "server/crash.h"
#include "server/cron.h"
#include "server/debug.h"
#include "server/info.h"
#include "server/options_pending.h"
#include "server/shutdown.h"
#include "server/startup.h"
#include "server/title.h"
#include "store/expire.h"
#include "store/keyspace.h"

void wiring_register(void) {
    info_declare_sections();

    listen_register(); /* first, so that redis.conf begins with the network */
    startup_register();
    title_register();
    cron_register();
    crash_register();
    keyspace_register();
    expire_register();
    client_register();
    reply_register();
    batch_register();
    dispatch_register();
    auth_register();
    options_pending_register();

    commands_string_register();
    commands_keys_register();
    commands_connection_register();
    commands_introspection_register();
    config_register();
    info_register();
    debug_register();
    shutdown_register();
}

/* No batch runs now: closed clients can go. */
static bool end_of_turn(void) {
    client_free_closing();
    cron_note_memory();
    return false;
}

bool wiring_open(struct loop *loop) {
    char reason[256];
    keyspace_open();
    client_open(loop);
    reply_open();
    batch_open(dispatch_executor());

    loop_after_wake(loop, shutdown_look_for_signal);
    loop_after_events(loop, batch_run);
    loop_before_sleep(loop, end_of_turn);
    loop_before_sleep(loop, expire_slice);
    loop_before_sleep(loop, cron_idle_step);

    if (!listen_open(loop, reason, sizeof(reason))) {
        log_warning("%s", reason);
        return false;
    }
    cron_open(loop);
    shutdown_open(loop);
    info_open(loop);
    return true;
}
