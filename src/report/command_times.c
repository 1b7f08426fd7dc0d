/* SPDX-License-Identifier: BSD-3-Clause
 * The histograms of commands' times; LATENCY HISTOGRAM is in commands/latency.c.
 *
 * Neighbouring requests of a batch mostly have the same command. So the time that clients felt is
 * added once for each run of requests with the same command. A histogram is charged to MEMORY_OTHER
 * and belongs to its command's row, which lives as long as the process.
 */
#include "report/command_times.h"

#include "base/memory.h"
#include "command/command.h"
#include "net/batch.h"

void command_times_note(struct command *command, int64_t nsec) {
    if (__builtin_expect(!command->times, 0))
        command->times = memory_zalloc(sizeof(*command->times), MEMORY_OTHER);
    command->times->inside[command_times_bucket(nsec)]++;
}

void command_times_note_felt(const struct request *requests, int count, int64_t nsec) {
    unsigned bucket = command_times_bucket(nsec);
    for (int i = 0; i < count;) {
        const struct command *command = requests[i].finished ? requests[i].command : NULL;
        int first = i;
        while (i < count && requests[i].command == requests[first].command &&
               requests[i].finished == requests[first].finished)
            i++;
        if (command && command->times) command->times->felt[bucket] += (uint64_t)(i - first);
    }
}

void command_times_reset(void) {
    for (size_t i = 0; i < command_count(); i++) {
        memory_free(command_at(i)->times, MEMORY_OTHER);
        command_at(i)->times = NULL;
    }
}
