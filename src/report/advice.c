/* SPDX-License-Identifier: BSD-3-Clause
 * The table of advice. tests/c/server/test_advice.c sets each value of each option.
 */
#include "report/advice.h"

#include <string.h>

static const struct advice advices[] = {
    /* ---- events of the latency monitor ---- */
    {.finding = "command",
     .text =
         "A slow command delays all clients. SLOWLOG EXPLAIN says where its time went; keep "
         "slowlog-log-slower-than at or below the monitor's threshold, so that the slow log has "
         "them all."},
    {.finding = "fast-command",
     .text = "Commands that need only a few microseconds took long, too: look for a machine that "
             "swaps, or other work on the processor, before you look at the commands."},
    {.finding = "eviction-cycle",
     .text = "Eviction held up commands, because memory was over maxmemory.",
     .option = "maxmemory-eviction-cpu-budget",
     .direction = "lower it, and set maxmemory-ceiling to what the machine can bear",
     .values = "100,25,10,5"},
    {.finding = "eviction-del",
     .text = "Single keys took long to free when they were evicted: they hold large values.",
     .option = "lazyfree-lazy-eviction",
     .direction = "set it to yes; a background thread frees them then",
     .values = "no,yes"},
    {.finding = "expire-cycle",
     .text = "Active expiry took long, mostly to free large values.",
     .option = "lazyfree-lazy-expire",
     .direction = "set it to yes; a background thread frees them then",
     .values = "no,yes"},
    {.finding = "expire-del",
     .text = "Single keys took long to free when they expired: they hold large values.",
     .option = "lazyfree-lazy-expire",
     .direction = "set it to yes; a background thread frees them then",
     .values = "no,yes"},
    {.finding = "off-cpu",
     .text = "The server's thread could not run in turns that had no slow command: other work has "
             "its processor, or the host does. Clients wait all the same."},
    {.finding = "fork",
     .text = "Starting a child process takes longer the more memory the server has.",
     .option = "snapshot-method",
     .direction = "set it to walk; a save needs no child then, and takes longer",
     .values = "fork,walk",
     .more = "--each-block BGSAVE"},
    {.finding = "walk-slice",
     .text = "A save by walk copies keys for half a millisecond at a time. If it took longer, the "
             "thread could not run, or waited for memory: look for a machine that swaps, or other "
             "work on the processor."},
    {.finding = "walk-copy",
     .text =
         "A large value was copied at once, because a script, a transaction of many commands or "
         "a deadline was to change it while a save was under way. Spread it over several keys, "
         "or change it outside of them."},
    {.finding = "walk-held",
     .text = "A write waited while a save copied its large key, or until the disk was less far "
             "behind. Spread such keys over several, or save when there are fewer writes.",
     .option = "snapshot-cpu-budget",
     .direction = "raise it; a save ends sooner then, and takes more of each moment",
     .values = "10,25,50",
     .more = "--each-block BGSAVE"},
    {.finding = "aof-write",
     .text = "Writing the append only file took long: the disk is busy.",
     .option = "aof-write-thread",
     .direction = "set it to yes; the main thread never waits for the disk then",
     .values = "no,yes"},
    {.finding = "aof-write-pending-fsync",
     .text = "A write to the append only file waited for a sync of it.",
     .option = "aof-write-thread",
     .direction = "set it to yes; the main thread never waits for the disk then",
     .values = "no,yes"},
    {.finding = "aof-fsync-always",
     .text = "Syncing the append only file took long, and replies to writes waited for it.",
     .option = "appendfsync",
     .direction = "set it to everysec, if losing a second of writes with the machine is bearable",
     .values = "always,everysec"},
    /* ---- causes, as SLOWLOG EXPLAIN finds them ---- */
    {.finding = "eviction",
     .option = "maxmemory-eviction-cpu-budget",
     .direction = "lower it, and set maxmemory-ceiling to what the machine can bear",
     .values = "100,25,10,5"},
    {.finding = "expiry",
     .option = "lazyfree-lazy-expire",
     .direction = "set it to yes; a background thread frees expired values then",
     .values = "no,yes"},
    {.finding = "freeing",
     .option = "lazyfree-lazy-user-del",
     .direction = "set it to yes; DEL frees in the background then, as UNLINK does",
     .values = "no,yes"},
    {.finding = "tables",
     .option = "resize-hashtables",
     .direction = "set it to no, if the number of keys falls and rises again",
     .values = "yes,no"},
    {.finding = "persistence",
     .option = "aof-write-thread",
     .direction = "set it to yes; the main thread never waits for the disk then",
     .values = "no,yes"},
    /* ---- MEMORY DOCTOR ---- */
    {.finding = "memory-free-pages",
     .option = "jemalloc-bg-thread",
     .direction = "set it to yes; pages go back to the system beside commands then",
     .values = "no,yes"},
    {.finding = "memory-fragmentation",
     .option = "activedefrag",
     .direction = "set it to yes; the server moves what is left together then, in its spare time",
     .values = "no,yes"},
    {.finding = "memory-clients",
     .option = "maxmemory-clients",
     .direction = "set it; the largest clients are disconnected above it",
     .values = "0,10%,5%"},
    {.finding = "memory-due-keys",
     .option = "active-expire-effort",
     .direction = "raise it; expiry takes more time then, and leaves fewer keys that are due",
     .values = "1,5,10"},
};

const struct advice *advice_at(size_t index) {
    return index < sizeof(advices) / sizeof(advices[0]) ? &advices[index] : NULL;
}

const struct advice *advice_find(const char *finding) {
    for (size_t i = 0; advice_at(i); i++)
        if (!strcmp(advices[i].finding, finding)) return &advices[i];
    return NULL;
}

void advice_append_option(const struct advice *advice, struct buffer *out) {
    if (!advice->option) {
        buffer_append_c_string(out, "No option moves this.");
        return;
    }
    buffer_printf(out, "Option: %s; %s. Try: redis-lab experiment --set %s=%s%s%s", advice->option,
                  advice->direction, advice->option, advice->values, advice->more ? " " : "",
                  advice->more ? advice->more : "");
}
