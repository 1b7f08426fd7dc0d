/* SPDX-License-Identifier: BSD-3-Clause
 * The program's build id, from its ELF note.
 *
 * The linker's option --build-id writes the id into a note of type NT_GNU_BUILD_ID. The note is in
 * a segment that the system loads with the program (gABI, "Note Section").
 */
#include "process/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ID_BYTES 8
/* A note's name and description each begin at a multiple of 4. */
#define NOTE_ALIGNED(size) (((size) + 3) & ~(size_t)3)

static char text[2 * ID_BYTES + 1] = "0";

static void print_id(const unsigned char *bytes) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < ID_BYTES; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}

/* Searches the notes of a segment for the id. Returns true if the id was found; it is then in
 * `text`. */
static bool search_notes(const char *at, size_t left) {
    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof(note));
        size_t name = NOTE_ALIGNED((size_t)note.n_namesz),
               size = sizeof(note) + name + NOTE_ALIGNED((size_t)note.n_descsz);
        if (size > left) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= ID_BYTES &&
            note.n_namesz == sizeof(ELF_NOTE_GNU) &&
            memcmp(at + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
            print_id((const unsigned char *)at + sizeof(note) + name);
            return true;
        }
        at += size;
        left -= size;
    }
    return false;
}

/* dl_iterate_phdr calls this for the program first. The result 1 ends the iteration, so that no
 * library is searched. */
static int search_program(struct dl_phdr_info *program, size_t size, void *argument) {
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            search_notes((const char *)(uintptr_t)(program->dlpi_addr + segment->p_vaddr),
                         segment->p_memsz))
            break;
    }
    return 1;
}

const char *build_id(void) {
    if (!text[1]) dl_iterate_phdr(search_program, NULL);
    return text;
}
