/* SPDX-License-Identifier: BSD-3-Clause
 * INFO, and its fields about the server as a whole.
 *
 * A field's place is ten times its number in 6.2's section; our own fields come behind, from OWN
 * on. The fields of a missing feature stand in the feature's folder and show the values of a server
 * without it.
 */
#include "server/info.h"
#include "process/build_id.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/probes.h"
#include "base/random.h"
#include "base/version.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "io/loop.h"
#include "metric/metric.h"
#include "metric/row.h"
#include "net/listen.h"
#include "net/reply.h"
#include "option/option.h"
#include "server/cron.h"
#include "server/mode.h"
#include "server/startup.h"
#include "store/keyspace.h"
#include "store/recency.h"

#define OWN 1200
#define ID_CHARS 40

static struct loop *loop;
static size_t memory_at_start;
/* used_memory for all of this INFO, because the text that is being made takes memory, too. */
static size_t used, used_by_dataset;
static char run_id[ID_CHARS + 1];

/* ---- forms ---- */

static void print_size(struct buffer *out, size_t value) { buffer_printf(out, "%zu", value); }

static void print_human(struct buffer *out, uint64_t bytes) {
    char text[32];
    number_format_bytes_human(text, sizeof(text), bytes);
    buffer_append_c_string(out, text);
}

static void print_percent(struct buffer *out, double part, double whole) {
    buffer_printf(out, "%.2f%%", whole > 0 ? 100 * part / whole : 0.0);
}

static void print_ratio(struct buffer *out, size_t a, size_t b) {
    buffer_printf(out, "%.2f", b ? (double)a / (double)b : 0.0);
}

static void print_difference(struct buffer *out, size_t a, size_t b) {
    buffer_printf(out, "%lld", (long long)a - (long long)b);
}

static void append_option(struct buffer *out, const char *name) {
    const struct option_row *row = option_find(slice_of(name));
    if (row) option_print(row, out);
}
/* The row's context is the option's name. */
static void print_option(const struct metric_row *row, struct buffer *out) {
    append_option(out, row->context);
}

/* ---- Server ---- */

static void print_os(const struct metric_row *row, struct buffer *out) {
    struct utsname name;
    if (uname(&name) == 0) buffer_printf(out, "%s %s %s", name.sysname, name.release, name.machine);
}
static void print_bits(const struct metric_row *row, struct buffer *out) {
    print_size(out, sizeof(void *) * 8);
}
static void print_compiler(const struct metric_row *row, struct buffer *out) {
#if defined(__GNUC__) && !defined(__clang__)
    buffer_printf(out, "%d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    buffer_append_c_string(out, "0.0.0");
#endif
}
static void print_pid(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", (int)getpid());
}
static void print_run_id(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, run_id);
}
static void print_port(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", listen_port() ? listen_port() : listen_tls_port());
}
static void print_time(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%lld", (long long)clock_wall_usec());
}
static void print_uptime(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%lld", (long long)startup_uptime_seconds());
}
static void print_uptime_days(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%lld", (long long)(startup_uptime_seconds() / 86400));
}
static void print_lru_clock(const struct metric_row *row, struct buffer *out) {
    print_size(out, recency_clock());
}
static void print_executable(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, startup_executable());
}
static void print_config_file(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, startup_config_file());
}

/* ---- Memory ---- */

size_t info_memory_at_start(void) { return memory_at_start; }

size_t info_dataset_bytes(void) {
    size_t all = memory_used(MEMORY_DATASET), overhead = keyspace_overhead_bytes();
    return all > overhead ? all - overhead : 0;
}

/* The section's first field: the fields behind it refer to the same moment. */
static void print_used(const struct metric_row *row, struct buffer *out) {
    used = memory_used_total();
    used_by_dataset = info_dataset_bytes();
    print_size(out, used);
}
static void print_used_human(const struct metric_row *row, struct buffer *out) {
    print_human(out, used);
}
static void print_rss(const struct metric_row *row, struct buffer *out) {
    print_size(out, cron_memory()->rss);
}
static void print_rss_human(const struct metric_row *row, struct buffer *out) {
    print_human(out, cron_memory()->rss);
}
static void print_peak(const struct metric_row *row, struct buffer *out) {
    print_size(out, cron_memory()->peak);
}
static void print_peak_human(const struct metric_row *row, struct buffer *out) {
    print_human(out, cron_memory()->peak);
}
static void print_peak_percent(const struct metric_row *row, struct buffer *out) {
    print_percent(out, (double)used, (double)cron_memory()->peak);
}
static void print_overhead(const struct metric_row *row, struct buffer *out) {
    print_size(out, used - used_by_dataset);
}
static void print_startup(const struct metric_row *row, struct buffer *out) {
    print_size(out, memory_at_start);
}
static void print_dataset(const struct metric_row *row, struct buffer *out) {
    print_size(out, used_by_dataset);
}
static void print_dataset_percent(const struct metric_row *row, struct buffer *out) {
    print_percent(out, (double)used_by_dataset, (double)used - (double)memory_at_start);
}
static void print_allocated(const struct metric_row *row, struct buffer *out) {
    print_size(out, cron_memory()->allocator.allocated);
}
static void print_active(const struct metric_row *row, struct buffer *out) {
    print_size(out, cron_memory()->allocator.active);
}
static void print_resident(const struct metric_row *row, struct buffer *out) {
    print_size(out, cron_memory()->allocator.resident);
}
static uint64_t system_memory(void) {
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}
static void print_system(const struct metric_row *row, struct buffer *out) {
    print_size(out, system_memory());
}
static void print_system_human(const struct metric_row *row, struct buffer *out) {
    print_human(out, system_memory());
}
static void print_maxmemory_human(const struct metric_row *row, struct buffer *out) {
    struct buffer text;
    uint64_t bytes;
    buffer_init(&text, MEMORY_OTHER);
    append_option(&text, "maxmemory");
    if (!number_parse_bytes(text.bytes ? text.bytes : "0", text.length, &bytes)) bytes = 0;
    buffer_free(&text);
    print_human(out, bytes);
}
static void print_fragmentation(const struct metric_row *row, struct buffer *out) {
    const struct cron_memory *m = cron_memory();
    print_ratio(out, m->allocator.active, m->allocator.allocated);
}
static void print_fragmentation_bytes(const struct metric_row *row, struct buffer *out) {
    const struct cron_memory *m = cron_memory();
    print_difference(out, m->allocator.active, m->allocator.allocated);
}
static void print_allocator_rss(const struct metric_row *row, struct buffer *out) {
    const struct cron_memory *m = cron_memory();
    print_ratio(out, m->allocator.resident, m->allocator.active);
}
static void print_allocator_rss_bytes(const struct metric_row *row, struct buffer *out) {
    const struct cron_memory *m = cron_memory();
    print_difference(out, m->allocator.resident, m->allocator.active);
}
static void print_rss_overhead(const struct metric_row *row, struct buffer *out) {
    const struct cron_memory *m = cron_memory();
    print_ratio(out, m->rss, m->allocator.resident);
}
static void print_rss_overhead_bytes(const struct metric_row *row, struct buffer *out) {
    const struct cron_memory *m = cron_memory();
    print_difference(out, m->rss, m->allocator.resident);
}
static void print_total_fragmentation(const struct metric_row *row, struct buffer *out) {
    print_ratio(out, cron_memory()->rss, used);
}
static void print_total_fragmentation_bytes(const struct metric_row *row, struct buffer *out) {
    print_difference(out, cron_memory()->rss, used);
}
static void print_not_evicted(const struct metric_row *row, struct buffer *out) {
    print_size(out, memory_used_uncounted());
}
static void print_allocator(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, memory_allocator_name());
}
static void print_probes(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, probes_built());
}

static const enum memory_class dataset_class = MEMORY_DATASET, clients_class = MEMORY_CLIENTS,
                               pools_class = MEMORY_POOLS, other_class = MEMORY_OTHER;
static void print_class(const struct metric_row *row, struct buffer *out) {
    const enum memory_class *class = row->context;
    print_size(out, memory_used(*class));
}
static void print_largest_alloc(const struct metric_row *row, struct buffer *out) {
    print_size(out, memory_largest_alloc(MEMORY_DATASET));
}
static void print_largest_free(const struct metric_row *row, struct buffer *out) {
    print_size(out, memory_largest_free(MEMORY_DATASET));
}

/* ---- Stats, CPU ---- */

static void print_turns(const struct metric_row *row, struct buffer *out) {
    print_size(out, loop ? loop_stats(loop)->turns : 0);
}
static void print_turn_maximum(const struct metric_row *row, struct buffer *out) {
    print_size(out, loop ? loop_stats(loop)->turn_cpu.maximum_usec : 0);
}
static void print_turn_histogram(const struct metric_row *row, struct buffer *out) {
    if (loop) histogram_print(&loop_stats(loop)->turn_cpu, out);
}

static enum metric_presence sample_turns(const struct metric_family *family, size_t index,
                                         struct metric_sample *s) {
    if (index || !loop) return METRIC_END;
    metric_sample_histogram(s, &loop_stats(loop)->turn_cpu);
    return METRIC_PRESENT;
}
static const struct metric_family turn_families[] = {
    {"eventloop_turn_cpu", METRIC_HISTOGRAM_USEC, "Turns of the event loop by their CPU time.",
     sample_turns},
    {0}};

struct cpu_part {
    int who;
    bool system;
};
static const struct cpu_part system_of_all = {RUSAGE_SELF, true},
                             user_of_all = {RUSAGE_SELF, false},
                             system_of_children = {RUSAGE_CHILDREN, true},
                             user_of_children = {RUSAGE_CHILDREN, false},
                             system_of_main = {RUSAGE_THREAD, true},
                             user_of_main = {RUSAGE_THREAD, false};

static void print_cpu(const struct metric_row *row, struct buffer *out) {
    const struct cpu_part *part = row->context;
    struct rusage usage;
    getrusage(part->who, &usage);
    struct timeval time = part->system ? usage.ru_stime : usage.ru_utime;
    buffer_printf(out, "%lld.%06lld", (long long)time.tv_sec, (long long)time.tv_usec);
}

/* ---- rows ---- */

static const char *const redis_version = REDIS_VERSION;
static const char *const evenkeel_version = EVENKEEL_VERSION;
static const char *const no_commit = "00000000";
static void print_build_id(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, build_id());
}
static void print_mode(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, mode_name());
}
static void print_clock(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, clock_monotonic_name());
}
static const char *const epoll_name = "epoll";
static const char *const atomics_name = "c11-builtin";

static const struct metric_row server_rows[] = {
    METRIC_TEXT("Server", 10, "redis_version", METRIC_LABEL, redis_version,
                "The version of Redis that this server is compatible with."),
    METRIC_TEXT("Server", 20, "redis_git_sha1", METRIC_INFO_ONLY, no_commit,
                "Kept for tools; always zeros."),
    METRIC_NUMBER("Server", 30, "redis_git_dirty", METRIC_INFO_ONLY, &metric_zero,
                  "Kept for tools; always 0."),
    METRIC_PRINT("Server", 40, "redis_build_id", METRIC_LABEL, print_build_id,
                 "The id that the linker gave this build (readelf -n)."),
    METRIC_PRINT("Server", 50, "redis_mode", METRIC_LABEL, print_mode,
                 "standalone, cluster or sentinel."),
    METRIC_PRINT("Server", 60, "os", METRIC_LABEL, print_os, "System, its release, machine."),
    METRIC_PRINT("Server", 70, "arch_bits", METRIC_LABEL, print_bits, "Bits of a pointer."),
    METRIC_PRINT("Server", 80, "monotonic_clock", METRIC_LABEL, print_clock,
                 "The clock of durations."),
    METRIC_TEXT("Server", 90, "multiplexing_api", METRIC_LABEL, epoll_name, "How the loop waits."),
    METRIC_TEXT("Server", 100, "atomicvar_api", METRIC_LABEL, atomics_name, "Which atomics."),
    METRIC_PRINT("Server", 110, "gcc_version", METRIC_LABEL, print_compiler,
                 "The compiler; 0.0.0 for clang."),
    METRIC_PRINT("Server", 120, "process_id", METRIC_LABEL, print_pid, "The process id."),
    METRIC_PRINT("Server", 140, "run_id", METRIC_LABEL, print_run_id,
                 "Random, another at each start."),
    METRIC_PRINT("Server", 150, "tcp_port", METRIC_LABEL, print_port,
                 "The TCP port, or else that of TLS; 0: none."),
    METRIC_PRINT("Server", 160, "server_time_usec", METRIC_USEC, print_time,
                 "Wall time, microseconds since 1970."),
    METRIC_PRINT("Server", 170, "uptime_in_seconds", METRIC_SECONDS, print_uptime,
                 "Seconds since start."),
    METRIC_PRINT("Server", 180, "uptime_in_days", METRIC_INFO_ONLY, print_uptime_days,
                 "Days since start."),
    METRIC_PRINT("Server", 210, "lru_clock", METRIC_INFO_ONLY, print_lru_clock,
                 "The clock of keys' recency, in seconds."),
    METRIC_PRINT("Server", 220, "executable", METRIC_LABEL, print_executable,
                 "The program's path."),
    METRIC_PRINT("Server", 230, "config_file", METRIC_LABEL, print_config_file,
                 "The configuration's path, or nothing."),
    METRIC_TEXT("Server", OWN, "evenkeel_version", METRIC_LABEL, evenkeel_version,
                "The version of this server."),
    METRIC_PRINT("Server", OWN + 10, "usdt_probes", METRIC_STATE, print_probes,
                 "yes: built with the probes of docs/probes.md."),
};

static const struct metric_row client_rows[] = {
    METRIC_NOTHING("Clients", 80, "clients_in_timeout_table"),
};

static const struct metric_row memory_rows[] = {
    METRIC_PRINT("Memory", 10, "used_memory", METRIC_BYTES, print_used,
                 "Bytes that the server has allocated; the sum of all classes."),
    METRIC_PRINT("Memory", 20, "used_memory_human", METRIC_INFO_ONLY, print_used_human,
                 "used_memory, with a unit."),
    METRIC_PRINT("Memory", 30, "used_memory_rss", METRIC_BYTES, print_rss,
                 "Bytes of the machine's memory that the process takes."),
    METRIC_PRINT("Memory", 40, "used_memory_rss_human", METRIC_INFO_ONLY, print_rss_human,
                 "used_memory_rss, with a unit."),
    METRIC_PRINT("Memory", 50, "used_memory_peak", METRIC_BYTES, print_peak,
                 "The peak of used_memory."),
    METRIC_PRINT("Memory", 60, "used_memory_peak_human", METRIC_INFO_ONLY, print_peak_human,
                 "used_memory_peak, with a unit."),
    METRIC_PRINT("Memory", 70, "used_memory_peak_perc", METRIC_INFO_ONLY, print_peak_percent,
                 "used_memory as a share of the peak."),
    METRIC_PRINT("Memory", 80, "used_memory_overhead", METRIC_BYTES, print_overhead,
                 "Bytes of all but keys and values: tables, clients, buffers, the server itself."),
    METRIC_PRINT("Memory", 90, "used_memory_startup", METRIC_BYTES, print_startup,
                 "used_memory after the start."),
    METRIC_PRINT("Memory", 100, "used_memory_dataset", METRIC_BYTES, print_dataset,
                 "Bytes of keys and values."),
    METRIC_PRINT("Memory", 110, "used_memory_dataset_perc", METRIC_INFO_ONLY, print_dataset_percent,
                 "Share of keys and values in the memory allocated since the start."),
    METRIC_PRINT("Memory", 120, "allocator_allocated", METRIC_BYTES, print_allocated,
                 "Bytes that the allocator has handed out."),
    METRIC_PRINT("Memory", 130, "allocator_active", METRIC_BYTES, print_active,
                 "Bytes of pages that hold handed-out memory."),
    METRIC_PRINT("Memory", 140, "allocator_resident", METRIC_BYTES, print_resident,
                 "Bytes of all pages that the allocator keeps."),
    METRIC_PRINT("Memory", 150, "total_system_memory", METRIC_BYTES, print_system,
                 "The machine's memory."),
    METRIC_PRINT("Memory", 160, "total_system_memory_human", METRIC_INFO_ONLY, print_system_human,
                 "total_system_memory, with a unit."),
    METRIC_PRINT_OF("Memory", 220, "maxmemory", METRIC_BYTES, print_option, "maxmemory",
                    "The option maxmemory."),
    METRIC_PRINT("Memory", 230, "maxmemory_human", METRIC_INFO_ONLY, print_maxmemory_human,
                 "maxmemory, with a unit."),
    METRIC_PRINT_OF("Memory", 240, "maxmemory_policy", METRIC_LABEL, print_option,
                    "maxmemory-policy", "The option maxmemory-policy."),
    METRIC_PRINT("Memory", 250, "allocator_frag_ratio", METRIC_GAUGE, print_fragmentation,
                 "Active by allocated."),
    METRIC_PRINT("Memory", 260, "allocator_frag_bytes", METRIC_INFO_ONLY, print_fragmentation_bytes,
                 "Their difference."),
    METRIC_PRINT("Memory", 270, "allocator_rss_ratio", METRIC_GAUGE, print_allocator_rss,
                 "Resident by active."),
    METRIC_PRINT("Memory", 280, "allocator_rss_bytes", METRIC_INFO_ONLY, print_allocator_rss_bytes,
                 "Their difference."),
    METRIC_PRINT("Memory", 290, "rss_overhead_ratio", METRIC_GAUGE, print_rss_overhead,
                 "The process by resident."),
    METRIC_PRINT("Memory", 300, "rss_overhead_bytes", METRIC_INFO_ONLY, print_rss_overhead_bytes,
                 "Their difference."),
    METRIC_PRINT("Memory", 310, "mem_fragmentation_ratio", METRIC_GAUGE, print_total_fragmentation,
                 "used_memory_rss by used_memory."),
    METRIC_PRINT("Memory", 320, "mem_fragmentation_bytes", METRIC_INFO_ONLY,
                 print_total_fragmentation_bytes, "Their difference."),
    METRIC_PRINT("Memory", 330, "mem_not_counted_for_evict", METRIC_BYTES, print_not_evicted,
                 "Bytes that do not count against maxmemory."),
    METRIC_PRINT("Memory", 380, "mem_allocator", METRIC_LABEL, print_allocator,
                 "The allocator and its version."),
    METRIC_PRINT_OF("Memory", OWN, "mem_dataset", METRIC_BYTES, print_class, &dataset_class,
                    "Bytes of the class dataset: keys, values, tables, deadline indexes."),
    METRIC_PRINT_OF("Memory", OWN + 10, "mem_clients", METRIC_BYTES, print_class, &clients_class,
                    "Bytes of the class clients."),
    METRIC_PRINT_OF("Memory", OWN + 20, "mem_pools", METRIC_BYTES, print_class, &pools_class,
                    "Bytes of the class pools: threads' own buffers, free buffers kept."),
    METRIC_PRINT_OF("Memory", OWN + 30, "mem_other", METRIC_BYTES, print_class, &other_class,
                    "Bytes of the class other: tables of commands and options, everything else."),
    METRIC_PRINT("Memory", OWN + 40, "mem_largest_dataset_alloc", METRIC_BYTES, print_largest_alloc,
                 "Largest single allocation of the dataset since CONFIG RESETSTAT."),
    METRIC_PRINT("Memory", OWN + 50, "mem_largest_dataset_free", METRIC_BYTES, print_largest_free,
                 "Largest single free of the dataset since CONFIG RESETSTAT."),
};

static const struct metric_row stats_rows[] = {
    METRIC_PRINT("Stats", OWN, "eventloop_turns", METRIC_COUNTER, print_turns,
                 "Turns of the event loop."),
    METRIC_PRINT("Stats", OWN + 10, "eventloop_turn_cpu_usec_max", METRIC_USEC, print_turn_maximum,
                 "The most CPU time that a turn of the event loop took."),
    {.section = "Stats",
     .place = OWN + 20,
     .name = "eventloop_turn_cpu_usec_histogram",
     .measure = METRIC_FAMILIES,
     .type = METRIC_FUNCTION,
     .print = print_turn_histogram,
     .families = turn_families,
     .help = "Turns by their CPU time: a power of two of microseconds, and how many turns took at "
             "least so long and less than twice that."},
};

static const struct metric_row other_rows[] = {
    METRIC_PRINT_OF("CPU", 10, "used_cpu_sys", METRIC_COUNTER_SECONDS, print_cpu, &system_of_all,
                    "Seconds in the kernel, all threads."),
    METRIC_PRINT_OF("CPU", 20, "used_cpu_user", METRIC_COUNTER_SECONDS, print_cpu, &user_of_all,
                    "Seconds in the program, all threads."),
    METRIC_PRINT_OF("CPU", 30, "used_cpu_sys_children", METRIC_COUNTER_SECONDS, print_cpu,
                    &system_of_children, "Seconds in the kernel, of children that have ended."),
    METRIC_PRINT_OF("CPU", 40, "used_cpu_user_children", METRIC_COUNTER_SECONDS, print_cpu,
                    &user_of_children, "Seconds in the program, of children that have ended."),
    METRIC_PRINT_OF("CPU", 50, "used_cpu_sys_main_thread", METRIC_COUNTER_SECONDS, print_cpu,
                    &system_of_main, "Seconds in the kernel, the thread that runs commands."),
    METRIC_PRINT_OF("CPU", 60, "used_cpu_user_main_thread", METRIC_COUNTER_SECONDS, print_cpu,
                    &user_of_main, "Seconds in the program, the thread that runs commands."),
};

/* ---- the command ---- */

static void command_info(struct call *call) {
    if (call->argc > 2) {
        reply_syntax_error(call->client);
        return;
    }
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    metric_print(call->argc == 2 ? call->argv[1] : SLICE("default"), &text);
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

static struct command rows[] = {
    COMMAND("info", command_info, -1, BY_CHANCE | ANYTIME, ACL_DANGEROUS, NO_KEYS,
            "The state of the server; all sections, or one."),
};

static void reset_figures(void) {
    if (loop) loop_stats_clear(loop);
    memory_largest_reset();
}

void info_register(void) {
    random_hex(run_id, ID_CHARS);
    command_register(COMMAND_ROWS(rows));
#define REGISTER(table) metric_register(table, sizeof(table) / sizeof((table)[0]))
    REGISTER(server_rows);
    REGISTER(client_rows);
    REGISTER(memory_rows);
    REGISTER(stats_rows);
    REGISTER(other_rows);
#undef REGISTER
    metric_register_reset(reset_figures);
}

void info_open(struct loop *the_loop) {
    loop = the_loop;
    memory_at_start = memory_used_total();
}
