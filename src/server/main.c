/* SPDX-License-Identifier: BSD-3-Clause
 * redis-server: picks the mode, and leaves the rest to it.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/random.h"
#include "process/restart.h"
#include "process/title.h"
#include "server/mode.h"
#include "server/modes.h"
#include "server/process_parts.h"

static void seed_process(void) {
    uint8_t key[16];
    uint64_t number;
    random_secret(key, sizeof(key));
    hash_set_key(key);
    clock_calibrate();
    random_secret(&number, sizeof(number));
    random_seed(number);
}

int main(int argc, char **argv) {
    argv = title_take_arguments(argc, argv);
    restart_take_arguments(argv, &process_restart_program);
    tzset();
    clock_refresh();
    seed_process();
    panic_set_writer(log_panic);
    const struct mode *mode = mode_choose(mode_table, argc, argv);
    mode_register(mode);
    return mode->run(mode, argc, argv);
}
