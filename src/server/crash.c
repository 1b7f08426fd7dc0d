/* SPDX-License-Identifier: BSD-3-Clause
 * The crash report.
 *
 * It is made in the process that is broken, so it goes from what needs least to what needs most:
 * the fault, the stack, registers, the running command and its client, the last lines of the log,
 * and INFO last, which allocates. A second fault on the way
 * ends the process at once (io/signals, base/panic), and what is written by then stands in the log:
 * each line is written when it is known. Nothing before INFO takes a lock or allocates.
 *
 * Function names come from the program's own symbol table, read from its file: dladdr knows only
 * exported names, and most functions here are static.
 *
 * The end: a signal is raised again with its default action, a panic aborts; with use-exit-on-panic
 * the process exits instead, without a core file.
 */
#include "server/crash.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/string.h"
#include "base/version.h"
#include "exec/command.h"
#include "exec/dispatch.h"
#include "io/signals.h"
#include "metric/metric.h"
#include "net/client.h"
#include "option/option.h"
#include "server/startup.h"

#define FRAMES_MAX 100
#define ARGUMENTS_SHOWN_MAX 32
#define ARGUMENT_SHOWN_BYTES 128
#define RECENT_LINES 32
#define RECENT_LINE_BYTES 200
#define STACK_WORDS_SHOWN 16

static bool log_enabled, exit_on_panic;
static atomic_uint recent_next;
static char recent[RECENT_LINES][RECENT_LINE_BYTES];
static atomic_bool reporting;

static const struct option_row option_rows[] = {
    OPTION_BOOL("crash-log-enabled", &log_enabled, true, OPTION_MUTABLE, "process", 110,
                "Write a report into the log when the server crashes."),
    OPTION_BOOL("use-exit-on-panic", &exit_on_panic, false, OPTION_MUTABLE, "process", 120,
                "Exit after a failed assertion or a panic instead of aborting with a core file."),
};

void crash_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- the last lines of the log ---- */

/* Hears each line, from any thread. Two threads a whole round apart may mix in one place: then a
 * line of the report is torn, no more. */
static void remember_line(const char *line, size_t length) {
    if (atomic_load_explicit(&reporting, memory_order_relaxed)) return;
    unsigned at = atomic_fetch_add_explicit(&recent_next, 1, memory_order_relaxed) % RECENT_LINES;
    if (length > RECENT_LINE_BYTES - 1) length = RECENT_LINE_BYTES - 1;
    memcpy(recent[at], line, length);
    recent[at][length] = 0;
}

static void report_recent(void) {
    log_raw(LOG_LEVEL_WARNING, "\n------ LAST LOG LINES ------\n");
    unsigned next = atomic_load(&recent_next);
    unsigned count = next < RECENT_LINES ? next : RECENT_LINES;
    for (unsigned i = next - count; i != next; i++) {
        log_raw(LOG_LEVEL_WARNING, recent[i % RECENT_LINES]);
        log_raw(LOG_LEVEL_WARNING, "\n");
    }
}

/* ---- lines without the log's prefix ---- */

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text) - 1, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    if ((size_t)length > sizeof(text) - 2) length = sizeof(text) - 2;
    text[length] = '\n';
    text[length + 1] = 0;
    log_raw(LOG_LEVEL_WARNING, text);
}

/* ---- the stack ---- */

/* The program's file, as far as it is needed. */
struct program {
    const char *bytes;
    size_t size;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
    size_t names_size;
};

/* Finds the symbol table; false where the file is of another form or was stripped. */
static bool program_find_symbols(struct program *p) {
    const Elf64_Ehdr *header = (const void *)p->bytes;
    if (p->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
        header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr) > p->size)
        return false;
    const Elf64_Shdr *sections = (const void *)(p->bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= header->e_shnum) continue;
        const Elf64_Shdr *n = &sections[s->sh_link];
        if (s->sh_offset + s->sh_size > p->size || n->sh_offset + n->sh_size > p->size)
            return false;
        p->symbols = (const void *)(p->bytes + s->sh_offset);
        p->symbol_count = s->sh_size / sizeof(Elf64_Sym);
        p->names = p->bytes + n->sh_offset;
        p->names_size = n->sh_size;
        return true;
    }
    return false;
}

static bool program_open(struct program *p) {
    struct stat status;
    memset(p, 0, sizeof(*p));
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &status) == 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) return false;
    p->bytes = bytes;
    p->size = (size_t)status.st_size;
    return program_find_symbols(p);
}

/* The function that holds `address` (as in the file); NULL where there is none. */
static const char *program_function(const struct program *p, size_t address, size_t *offset) {
    for (size_t i = 0; i < p->symbol_count; i++) {
        const Elf64_Sym *s = &p->symbols[i];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || address < s->st_value ||
            address >= s->st_value + s->st_size || s->st_name >= p->names_size)
            continue;
        *offset = address - s->st_value;
        return p->names + s->st_name;
    }
    return NULL;
}

/* `back` is 1 where the frame is a return address: the call stands before it, and behind a call
 * that never returns the next function may begin. */
static void report_frame(const struct program *p, void *own_base, void *frame, size_t back) {
    Dl_info info;
    size_t offset = 0;
    char *call = (char *)frame - back;
    if (!dladdr(call, &info)) {
        line("?[%p]", frame);
        return;
    }
    bool own = info.dli_fbase == own_base;
    size_t in_file = (size_t)(call - (char *)info.dli_fbase);
    const char *name = info.dli_sname;
    if (name) offset = (size_t)(call - (char *)info.dli_saddr);
    const char *better = own ? program_function(p, in_file, &offset) : NULL;
    if (better) name = better;
    const char *file = own ? startup_executable() : info.dli_fname;
    if (name)
        line("%s(%s+0x%zx)[%p]", file, name, offset + back, frame);
    else
        line("%s(+0x%zx)[%p]", file, in_file + back, frame);
}

static void report_stack(void *instruction) {
    void *frames[FRAMES_MAX];
    struct program program;
    Dl_info own;
    log_raw(LOG_LEVEL_WARNING, "\n------ STACK TRACE ------\n");
    if (!program_open(&program)) program.symbol_count = 0;
    void *own_base = dladdr((void *)(uintptr_t)crash_open, &own) ? own.dli_fbase : NULL;
    if (instruction) {
        line("EIP:");
        report_frame(&program, own_base, instruction, 0);
    }
    log_raw(LOG_LEVEL_WARNING, "\nBacktrace:\n");
    int count = backtrace(frames, FRAMES_MAX);
    for (int i = 0; i < count; i++) report_frame(&program, own_base, frames[i], 1);
}

/* ---- registers ---- */

#if defined(__x86_64__)
static void *instruction_of(const ucontext_t *context) {
    return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}
static uintptr_t stack_of(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}
static void report_register_values(const ucontext_t *context) {
    static const char *const names[] = {"R8",  "R9",  "R10", "R11", "R12", "R13",
                                        "R14", "R15", "RDI", "RSI", "RBP", "RBX",
                                        "RDX", "RAX", "RCX", "RSP", "RIP", "EFL"};
    const greg_t *r = context->uc_mcontext.gregs;
    for (int i = 0; i < 18; i += 3)
        line("%s:%016llx %s:%016llx %s:%016llx", names[i], (unsigned long long)r[i], names[i + 1],
             (unsigned long long)r[i + 1], names[i + 2], (unsigned long long)r[i + 2]);
}
#elif defined(__aarch64__)
static void *instruction_of(const ucontext_t *context) {
    return (void *)(uintptr_t)context->uc_mcontext.pc;
}
static uintptr_t stack_of(const ucontext_t *context) { return context->uc_mcontext.sp; }
static void report_register_values(const ucontext_t *context) {
    for (int i = 0; i < 31; i++)
        line("X%d:%016llx", i, (unsigned long long)context->uc_mcontext.regs[i]);
}
#else
static void *instruction_of(const ucontext_t *context) { return NULL; }
static uintptr_t stack_of(const ucontext_t *context) { return 0; }
static void report_register_values(const ucontext_t *context) {}
#endif

static void report_registers(const ucontext_t *context) {
    log_raw(LOG_LEVEL_WARNING, "\n------ REGISTERS ------\n");
    report_register_values(context);
    uintptr_t stack = stack_of(context);
    if (!stack || stack % sizeof(void *)) return;
    /* The page of the stack pointer alone is sure to be there. */
    const uintptr_t *words = (const uintptr_t *)stack;
    for (int i = 0; i < STACK_WORDS_SHOWN; i++) {
        uintptr_t at = stack + (size_t)i * sizeof(*words);
        if (at / 4096 != stack / 4096) return;
        line("(%016llx) -> %016llx", (unsigned long long)at, (unsigned long long)words[i]);
    }
}

/* ---- the running command ---- */

static void report_argument(int index, struct slice text) {
    char shown[ARGUMENT_SHOWN_BYTES + 1];
    size_t length = text.length < ARGUMENT_SHOWN_BYTES ? text.length : ARGUMENT_SHOWN_BYTES;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        shown[i] = (char)(c >= ' ' && c <= '~' ? c : '.');
    }
    shown[length] = 0;
    line("argv[%d] (%zu bytes): '%s'", index, text.length, shown);
}

static void report_command(void) {
    const struct call *call = dispatch_current();
    if (!call) return;
    const struct client *c = call->client;
    log_raw(LOG_LEVEL_WARNING, "\n------ CURRENT CLIENT INFO ------\n");
    line("id=%llu fd=%d name=%s flags=0x%x db=%d resp=%d created=%lld active=%lld cmd=%s argc=%d",
         (unsigned long long)c->id, c->watcher.fd, c->name ? c->name : "", c->flags, c->database,
         (int)c->protocol, (long long)c->created_msec, (long long)c->active_msec,
         call->command->name, call->argc);
    if (call->command->flags & COMMAND_NO_AUTH) {
        line("its arguments may hold a password and are not shown");
        return;
    }
    for (int i = 0; i < call->argc && i < ARGUMENTS_SHOWN_MAX; i++)
        report_argument(i, call->argv[i]);
    if (call->argc > ARGUMENTS_SHOWN_MAX)
        line("and %d more arguments", call->argc - ARGUMENTS_SHOWN_MAX);
}

/* ---- the report ---- */

static void report_info(void) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    log_raw(LOG_LEVEL_WARNING, "\n------ INFO OUTPUT ------\n");
    metric_print(SLICE("all"), &text);
    if (text.length) log_raw(LOG_LEVEL_WARNING, text.bytes);
    buffer_free(&text);
}

static void report_begin(void) {
    atomic_store(&reporting, true);
    log_raw(LOG_LEVEL_WARNING,
            "\n\n=== REDIS BUG REPORT START: Cut & paste starting from here ===\n");
}

static void report_rest(const ucontext_t *context) {
    report_stack(context ? instruction_of(context) : NULL);
    if (context) report_registers(context);
    report_command();
    report_recent();
    report_info();
    log_raw(LOG_LEVEL_WARNING,
            "\n=== REDIS BUG REPORT END. Make sure to include from START to END. ===\n\n"
            "       Evenkeel " EVENKEEL_VERSION
            ": please report the crash with all of the above.\n\n");
}

static void on_panic(const char *title, const char *detail, const char *file, int number) {
    if (log_enabled) {
        report_begin();
        log_warning("=== %s ===", title);
        log_warning("==> %s:%d '%s'", file, number, detail);
        report_rest(NULL);
    }
    if (exit_on_panic) _exit(1);
}

static void on_crash(int sig, siginfo_t *info, void *ucontext) {
    if (panic_in_progress() || !log_enabled) return; /* it is reported already */
    report_begin();
    log_warning("Redis %s crashed by signal: %d, si_code: %d", REDIS_VERSION, sig, info->si_code);
    if (sig == SIGSEGV || sig == SIGBUS) log_warning("Accessing address: %p", info->si_addr);
    if (info->si_code <= 0)
        log_warning("Killed by PID: %ld, UID: %d", (long)info->si_pid, (int)info->si_uid);
    report_rest(ucontext);
}

static void on_out_of_memory(size_t size) {
    log_warning("Out Of Memory allocating %zu bytes!", size);
    PANIC("Redis aborting for OUT OF MEMORY. Allocating %zu bytes!", size);
}

void crash_open(void) {
    void *frame;
    /* The first call loads the unwinder, which allocates. */
    backtrace(&frame, 1);
    log_set_observer(remember_line);
    panic_set_hook(on_panic);
    memory_set_oom_handler(on_out_of_memory);
    signals_set_crash_handler(on_crash);
}
