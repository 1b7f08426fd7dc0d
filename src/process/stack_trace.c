/* SPDX-License-Identifier: BSD-3-Clause
 * A stack as text.
 *
 *     /usr/bin/redis-server(debug_sleep+0x8c)[0x55a7f3d5a0cc] at src/server/debug.c:210
 *     /usr/bin/redis-server(command_debug+0x5e)[0x55a7f3d5946e] {debugCommand} at ...
 *
 * Function names come from the symbol table in the program's file, because dladdr knows only
 * exported names, and most functions are static. For the program's own frames the file and the line
 * come from the debugging information in the same file, by process/line_table; a stripped program
 * has none. A line of a trace begins with the text that Redis 6.2 writes, and the file and line
 * follow it, so that scripts that read traces of 6.2 read these, too.
 *
 * The mark in braces stands at the frame of the running command's handler; a trace without that
 * frame has no mark. The mark shows which command blocked the server. It has the form
 * <name>Command, because traces of Redis 6.2 name handlers so, and users and scripts search logs
 * for that form.
 *
 * Invariant: no function of this file allocates, or takes a lock that the program's own code may
 * hold. The dynamic linker's lock is recursive, and no thread of the program loads libraries.
 */
#include "process/stack_trace.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>

#include "io/signals.h"
#include "process/line_table.h"
#include "process/report_line.h"

#define FRAMES_MAX 100
#define FRAME_BYTES_MAX (1 << 20)
#define PROBE_BYTES 4096
#define NAME_BYTES_MAX 48
#define MARK_BYTES_MAX 64
#define PLACE_BYTES_MAX 256

_Static_assert(FRAMES_MAX <= LINE_TABLE_PLACES_MAX, "all frames of a trace are looked up at once");

static void (*writer)(const char *text);
static const char *executable = "";
static const void *(*running)(char *name, size_t size);

__attribute__((format(printf, 1, 2))) static void write_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    report_line_write(writer, format, arguments);
    va_end(arguments);
}

/* ---- the program's symbols ---- */

/* The program's file and the parts of it that a trace needs. */
struct program {
    const char *bytes;
    size_t size;
    const char *base; /* where the program is loaded */
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
    size_t names_size;
    struct line_table lines;
};

/* Returns a section's bytes; NULL if the file does not hold them, or holds them compressed. */
static const void *section_bytes(const struct program *p, const Elf64_Shdr *s) {
    if (s->sh_type == SHT_NOBITS || s->sh_flags & SHF_COMPRESSED || s->sh_offset > p->size ||
        s->sh_size > p->size - s->sh_offset)
        return NULL;
    return p->bytes + s->sh_offset;
}

/* Returns the table of sections; NULL if the file is not a valid ELF file of 64 bits. */
static const Elf64_Shdr *program_sections(const struct program *p, const Elf64_Ehdr *header) {
    if (p->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shoff > p->size ||
        header->e_shoff % _Alignof(Elf64_Shdr) || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_shnum > (p->size - header->e_shoff) / sizeof(Elf64_Shdr))
        return NULL;
    return (const void *)(p->bytes + header->e_shoff);
}

/* Finds the symbol table. A stripped program has none. */
static void program_find_symbols(struct program *p, const Elf64_Shdr *sections, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= count) continue;
        const Elf64_Shdr *n = &sections[s->sh_link];
        const char *names = section_bytes(p, n);
        p->symbols = section_bytes(p, s);
        if (!p->symbols || !names || !n->sh_size || names[n->sh_size - 1] ||
            s->sh_offset % _Alignof(Elf64_Sym))
            return;
        p->symbol_count = s->sh_size / sizeof(Elf64_Sym);
        p->names = names;
        p->names_size = n->sh_size;
        return;
    }
}

static void program_find_lines(struct program *p, const Elf64_Shdr *sections, unsigned count,
                               unsigned names_index) {
    const Elf64_Shdr *n = names_index < count ? &sections[names_index] : NULL;
    const char *names = n ? section_bytes(p, n) : NULL;
    if (!names || !n->sh_size || names[n->sh_size - 1]) return;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Shdr *s = &sections[i];
        const uint8_t *bytes = section_bytes(p, s);
        if (!bytes || s->sh_name >= n->sh_size) continue;
        struct line_section section = {bytes, s->sh_size};
        const char *name = names + s->sh_name;
        if (!strcmp(name, ".debug_line")) p->lines.lines = section;
        if (!strcmp(name, ".debug_line_str")) p->lines.line_texts = section;
        if (!strcmp(name, ".debug_str")) p->lines.texts = section;
    }
}

static void program_open(struct program *p) {
    struct stat status;
    Dl_info own;
    memset(p, 0, sizeof(*p));
    if (dladdr((void *)(uintptr_t)stack_trace_open, &own)) p->base = own.dli_fbase;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &status) == 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) return;
    p->bytes = bytes;
    p->size = (size_t)status.st_size;
    const Elf64_Ehdr *header = bytes;
    const Elf64_Shdr *sections = program_sections(p, header);
    if (!sections) return;
    program_find_symbols(p, sections, header->e_shnum);
    program_find_lines(p, sections, header->e_shnum, header->e_shstrndx);
}

static void program_close(struct program *p) {
    if (p->bytes) munmap((void *)(uintptr_t)p->bytes, p->size);
}

/* Returns the name of the function that contains `address` (an address in the file), and the offset
 * in it; NULL if no function does. */
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

/* ---- frames ---- */

/* `back` is 1 if `address` is a return address. The call is then looked up one byte before it,
 * because the next function may begin right after a call that never returns. */
struct frame {
    void *address;
    size_t back;
};

/* Writes " {getCommand}" into `mark` if the function that begins at `start` is the running
 * command's handler, else an empty text. */
static void mark_of(const char *start, char *mark, size_t size) {
    char name[NAME_BYTES_MAX];
    *mark = 0;
    if (start && running && running(name, sizeof(name)) == start)
        snprintf(mark, size, " {%sCommand}", name);
}

/* Writes " at src/exec/run.c:123" into `text`, or an empty text if the line is not known. */
static void line_of(const struct line_place *place, char *text, size_t size) {
    *text = 0;
    if (place->line)
        snprintf(text, size, " at %s%s%s:%llu", place->folder ? place->folder : "",
                 place->folder ? "/" : "", place->file, (unsigned long long)place->line);
}

static void write_frame(const struct program *p, const struct frame *f,
                        const struct line_place *place) {
    Dl_info info;
    char mark[MARK_BYTES_MAX], at[PLACE_BYTES_MAX];
    size_t offset = 0;
    const char *call = (const char *)f->address - f->back;
    if (!dladdr(call, &info)) {
        write_line("?[%p]", f->address);
        return;
    }
    bool own = info.dli_fbase == p->base;
    size_t in_file = (size_t)(call - (const char *)info.dli_fbase);
    const char *name = info.dli_sname;
    if (name) offset = (size_t)(call - (const char *)info.dli_saddr);
    const char *better = own ? program_function(p, in_file, &offset) : NULL;
    if (better) name = better;
    const char *file = own ? executable : info.dli_fname;
    mark_of(name ? call - offset : NULL, mark, sizeof(mark));
    line_of(place, at, sizeof(at));
    if (name)
        write_line("%s(%s+0x%zx)[%p]%s%s", file, name, offset + f->back, f->address, mark, at);
    else
        write_line("%s(+0x%zx)[%p]%s", file, in_file + f->back, f->address, at);
}

/* Returns the address of the frame's instruction in the program's file; 0 for a frame of a
 * library. */
static uint64_t address_in_file(const struct program *p, const struct frame *f) {
    Dl_info info;
    const char *call = (const char *)f->address - f->back;
    if (!dladdr(call, &info) || info.dli_fbase != p->base) return 0;
    return (uint64_t)(call - (const char *)info.dli_fbase);
}

static void *instruction_of(const ucontext_t *context) {
#if defined(__x86_64__)
    return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)(uintptr_t)context->uc_mcontext.pc;
#else
    return NULL;
#endif
}

uintptr_t stack_trace_pointer(const void *ucontext) {
    const ucontext_t *context = ucontext;
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return context->uc_mcontext.sp;
#else
    return 0;
#endif
}

/* Returns whether the stack can be walked. The walk reads from the stack pointer on, and would
 * fault if no stack is there. The frame that overflows a stack reaches beyond the stack's end by at
 * most the frame's size, so that far above the pointer a readable page is searched. */
static bool has_stack(const void *ucontext) {
    uintptr_t end = stack_trace_pointer(ucontext);
    if (!end) return true;
    end -= end % sizeof(uint64_t);
    for (uintptr_t at = end; at - end < FRAME_BYTES_MAX; at += PROBE_BYTES)
        if (signals_can_read((const void *)at)) return true;
    return false;
}

void stack_trace_open(const char *program, const void *(*command)(char *name, size_t size)) {
    void *frame;
    executable = program;
    running = command;
    /* The first call loads the unwinder, which allocates; a trace must not. */
    backtrace(&frame, 1);
}

static void write_frames(const struct program *p, const struct frame *frames, size_t count) {
    struct line_place places[FRAMES_MAX];
    for (size_t i = 0; i < count; i++) places[i].address = address_in_file(p, &frames[i]);
    line_table_find(&p->lines, places, count);
    for (size_t i = 0; i < count; i++) write_frame(p, &frames[i], &places[i]);
}

void stack_trace_write(const void *ucontext, void (*write)(const char *text)) {
    void *addresses[FRAMES_MAX];
    struct frame frames[FRAMES_MAX];
    struct program program;
    writer = write;
    write("\n------ STACK TRACE ------\n");
    program_open(&program);
    frames[0] = (struct frame){ucontext ? instruction_of(ucontext) : NULL, 0};
    if (frames[0].address) {
        write_line("EIP:");
        write_frames(&program, frames, 1);
    }
    write("\nBacktrace:\n");
    bool walks = !ucontext || has_stack(ucontext);
    if (!walks) write_line("The stack pointer points at nothing.");
    int count = walks ? backtrace(addresses, FRAMES_MAX) : 0;
    for (int i = 0; i < count; i++) frames[i] = (struct frame){addresses[i], 1};
    write_frames(&program, frames, (size_t)count);
    program_close(&program);
}
