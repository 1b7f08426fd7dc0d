/* SPDX-License-Identifier: BSD-3-Clause
 * The line number programs of DWARF 2 to 5 (DWARF 5, section 6.2 "Line Number Information").
 *
 * .debug_line is a series of units. A unit is a header, which names folders and files, and a
 * program for a small machine, whose registers are an address, a file and a line. The program
 * produces rows, whose addresses rise within a sequence. A row's line holds for all addresses from
 * the row's own up to the next row's, so each pair of neighbouring rows is a range. Each range is
 * looked up among the wanted addresses, which are sorted. File names are searched only for a range
 * that contains a wanted address.
 *
 * Invariants
 * 1. A reader never passes its end: a read beyond it yields 0, and marks the reader as bad.
 * 2. Every turn of a loop over the sections' bytes takes at least one byte, or ends the loop.
 * 3. A text that line_table_find returns ends with a NUL within its section.
 *
 * Not here: units for machines that issue several operations an instruction (VLIW), which are
 * skipped, and compressed sections.
 */
#include "process/line_table.h"

#include <stdbool.h>
#include <string.h>

#include "base/panic.h"

enum standard_opcode {
    OPCODE_EXTENDED = 0,
    OPCODE_COPY = 1,
    OPCODE_ADVANCE_PC = 2,
    OPCODE_ADVANCE_LINE = 3,
    OPCODE_SET_FILE = 4,
    OPCODE_CONST_ADD_PC = 8,
    OPCODE_FIXED_ADVANCE_PC = 9,
};
enum extended_opcode { EXTENDED_END_SEQUENCE = 1, EXTENDED_SET_ADDRESS = 2 };
enum content { CONTENT_PATH = 1, CONTENT_FOLDER = 2 };
enum form {
    FORM_DATA2 = 0x05,
    FORM_DATA4 = 0x06,
    FORM_DATA8 = 0x07,
    FORM_STRING = 0x08,
    FORM_BLOCK = 0x09,
    FORM_DATA1 = 0x0b,
    FORM_STRP = 0x0e,
    FORM_UDATA = 0x0f,
    FORM_DATA16 = 0x1e,
    FORM_LINE_STRP = 0x1f,
};

struct reader {
    const uint8_t *at, *end;
    bool bad;
};

struct unit {
    const struct line_table *table;
    struct reader names, program;
    unsigned version, offset_bytes;
    unsigned step, line_range, opcode_base;
    int line_base;
    const uint8_t *operands; /* the number of operands of each standard opcode, from opcode 1 on */
};

struct row {
    uint64_t address, file, line;
};

struct search {
    struct line_place *places;
    uint8_t order[LINE_TABLE_PLACES_MAX]; /* places by address */
    size_t count;
};

/* ---- bytes ---- */

static const uint8_t *reader_take(struct reader *r, uint64_t length) {
    if (r->bad || length > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return NULL;
    }
    r->at += length;
    return r->at - length;
}

/* Takes a number of 1 to 8 bytes, the lowest byte first, which is the byte order of all supported
 * processors. */
static uint64_t take_number(struct reader *r, unsigned length) {
    uint64_t number = 0;
    const uint8_t *bytes = length <= sizeof(number) ? reader_take(r, length) : NULL;
    if (bytes)
        memcpy(&number, bytes, length);
    else
        r->bad = true;
    return number;
}

/* Takes a number in LEB128; bits above the 64th are dropped. */
static uint64_t take_leb(struct reader *r, bool is_signed) {
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = take_number(r, 1);
        if (r->bad) return 0;
        if (shift < 64) number |= (byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        if (is_signed && byte & 0x40 && shift + 7 < 64) number |= UINT64_MAX << (shift + 7);
        return number;
    }
}

static uint64_t take_unsigned(struct reader *r) { return take_leb(r, false); }

static const char *take_text(struct reader *r) {
    const uint8_t *end = r->bad ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
    if (!end) {
        r->bad = true;
        return NULL;
    }
    return (const char *)reader_take(r, (uint64_t)(end - r->at) + 1);
}

static const char *text_at(const struct line_section *section, uint64_t offset) {
    if (offset >= section->size) return NULL;
    const char *text = (const char *)section->bytes + offset;
    return memchr(text, 0, section->size - (size_t)offset) ? text : NULL;
}

/* ---- names ---- */

/* Takes one value of an entry of DWARF 5, and stores it as a text or as a number, by its form. */
static void take_value(const struct unit *u, struct reader *r, uint64_t form, const char **text,
                       uint64_t *number) {
    switch (form) {
    case FORM_STRING: *text = take_text(r); return;
    case FORM_LINE_STRP:
        *text = text_at(&u->table->line_texts, take_number(r, u->offset_bytes));
        return;
    case FORM_STRP: *text = text_at(&u->table->texts, take_number(r, u->offset_bytes)); return;
    case FORM_UDATA: *number = take_unsigned(r); return;
    case FORM_DATA1: *number = take_number(r, 1); return;
    case FORM_DATA2: *number = take_number(r, 2); return;
    case FORM_DATA4: *number = take_number(r, 4); return;
    case FORM_DATA8: *number = take_number(r, 8); return;
    case FORM_DATA16: reader_take(r, 16); return;
    case FORM_BLOCK: reader_take(r, take_unsigned(r)); return;
    default: r->bad = true; return;
    }
}

/* Reads a whole table of folders or files of DWARF 5, and stores the path and folder of its entry
 * `wanted`. */
static void take_entries(const struct unit *u, struct reader *r, uint64_t wanted, const char **path,
                         uint64_t *folder) {
    unsigned columns = (unsigned)take_number(r, 1);
    struct reader formats = *r;
    for (unsigned i = 0; i < columns * 2; i++) take_unsigned(r);
    uint64_t count = take_unsigned(r);
    for (uint64_t i = 0; i < count && !r->bad; i++) {
        struct reader format = formats;
        const uint8_t *begin = r->at;
        for (unsigned column = 0; column < columns; column++) {
            const char *text = NULL;
            uint64_t number = 0, content = take_unsigned(&format);
            take_value(u, r, take_unsigned(&format), &text, &number);
            if (i == wanted && content == CONTENT_PATH) *path = text;
            if (i == wanted && content == CONTENT_FOLDER) *folder = number;
        }
        if (r->at == begin) r->bad = true;
    }
}

static void name_of_version_5(const struct unit *u, uint64_t file, struct line_place *place) {
    struct reader r = u->names, folders = u->names;
    const char *none = NULL;
    uint64_t folder = 0, unused = 0;
    take_entries(u, &r, UINT64_MAX, &none, &unused);
    take_entries(u, &r, file, &place->file, &folder);
    /* Folder 0 is the one in which the compiler ran; names stay relative to it. */
    if (place->file && folder) take_entries(u, &folders, folder, &place->folder, &unused);
}

/* Finds a name in the tables of DWARF 2 to 4: a series of texts, which an empty one ends. Files
 * count from 1, and folder 0 is the one in which the compiler ran. */
static void name_of_version_4(const struct unit *u, uint64_t file, struct line_place *place) {
    struct reader r = u->names, folders = u->names;
    const char *text;
    while ((text = take_text(&r)) != NULL && *text) continue;
    for (uint64_t i = 1; (text = take_text(&r)) != NULL && *text; i++) {
        uint64_t folder = take_unsigned(&r);
        take_unsigned(&r); /* time, length */
        take_unsigned(&r);
        if (i != file) continue;
        place->file = text;
        for (uint64_t at = 1; folder && (text = take_text(&folders)) != NULL && *text; at++)
            if (at == folder) place->folder = text;
        return;
    }
}

static void name_place(const struct unit *u, const struct row *row, struct line_place *place) {
    if (u->version >= 5)
        name_of_version_5(u, row->file, place);
    else
        name_of_version_4(u, row->file, place);
    if (!place->file) return;
    if (*place->file == '/') place->folder = NULL;
    place->line = row->line;
}

/* ---- the program ---- */

/* Gives the line of `from` to the wanted places in [from, to). A sequence that begins at address 0
 * is skipped, because it describes a function that the linker has dropped. */
static void note_range(const struct unit *u, struct search *s, const struct row *from,
                       uint64_t to) {
    size_t low = 0, high = s->count;
    if (!from->line || !from->address) return;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->places[s->order[middle]].address < from->address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->count && s->places[s->order[low]].address < to; low++) {
        struct line_place *place = &s->places[s->order[low]];
        if (!place->line) name_place(u, from, place);
    }
}

/* Runs one extended instruction; returns true at the end of a sequence. */
static bool run_extended(struct reader *r, struct row *now) {
    uint64_t length = take_unsigned(r);
    const uint8_t *bytes = reader_take(r, length);
    if (!bytes || !length) return false;
    struct reader operand = {bytes + 1, bytes + length, false};
    if (*bytes == EXTENDED_SET_ADDRESS && length - 1 <= sizeof(now->address))
        now->address = take_number(&operand, (unsigned)length - 1);
    return *bytes == EXTENDED_END_SEQUENCE;
}

/* Runs one instruction; returns whether it makes a row. */
static bool run_standard(const struct unit *u, struct reader *r, unsigned opcode, struct row *now) {
    switch (opcode) {
    case OPCODE_COPY: return true;
    case OPCODE_ADVANCE_PC: now->address += take_unsigned(r) * u->step; return false;
    case OPCODE_ADVANCE_LINE: now->line += take_leb(r, true); return false;
    case OPCODE_SET_FILE: now->file = take_unsigned(r); return false;
    case OPCODE_CONST_ADD_PC:
        now->address += (uint64_t)((255 - u->opcode_base) / u->line_range) * u->step;
        return false;
    case OPCODE_FIXED_ADVANCE_PC: now->address += take_number(r, 2); return false;
    default:
        for (unsigned i = 0; i < u->operands[opcode - 1]; i++) take_unsigned(r);
        return false;
    }
}

static void run_unit(const struct unit *u, struct search *s) {
    struct reader r = u->program;
    struct row now = {0, 1, 1}, last = {0};
    while (r.at < r.end && !r.bad) {
        unsigned opcode = (unsigned)take_number(&r, 1);
        bool ends = false, is_row = true;
        if (opcode >= u->opcode_base) {
            opcode -= u->opcode_base;
            now.address += (uint64_t)(opcode / u->line_range) * u->step;
            now.line += (uint64_t)(int64_t)(u->line_base + (int)(opcode % u->line_range));
        } else if (opcode == OPCODE_EXTENDED) {
            is_row = ends = run_extended(&r, &now);
        } else {
            is_row = run_standard(u, &r, opcode, &now);
        }
        if (!is_row) continue;
        note_range(u, s, &last, now.address);
        last = now;
        if (!ends) continue;
        last = (struct row){0};
        now = (struct row){0, 1, 1};
    }
}

/* ---- units ---- */

/* Reads a unit's header. Returns false if its version or its form is not supported. */
static bool read_header(struct unit *u, struct reader *r) {
    u->version = (unsigned)take_number(r, 2);
    if (u->version < 2 || u->version > 5) return false;
    if (u->version >= 5) reader_take(r, 2); /* sizes of an address and a segment */
    uint64_t length = take_number(r, u->offset_bytes);
    struct reader rest = *r;
    const uint8_t *header = reader_take(r, length);
    if (!header) return false;
    u->program = *r;
    rest.end = r->at;
    u->step = (unsigned)take_number(&rest, 1);
    bool is_scalar = u->version < 4 || take_number(&rest, 1) == 1;
    reader_take(&rest, 1); /* whether rows begin statements */
    u->line_base = (int8_t)take_number(&rest, 1);
    u->line_range = (unsigned)take_number(&rest, 1);
    u->opcode_base = (unsigned)take_number(&rest, 1);
    if (rest.bad || !is_scalar || !u->line_range || !u->opcode_base) return false;
    u->operands = reader_take(&rest, u->opcode_base - 1);
    u->names = rest;
    return !rest.bad;
}

static void sort_places(struct search *s, struct line_place *places, size_t count) {
    s->places = places;
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        places[i].folder = places[i].file = NULL;
        places[i].line = 0;
        for (; at && places[s->order[at - 1]].address > places[i].address; at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = (uint8_t)i;
    }
}

void line_table_find(const struct line_table *table, struct line_place *places, size_t count) {
    struct search search;
    ASSERT(count <= LINE_TABLE_PLACES_MAX);
    sort_places(&search, places, count);
    if (!table->lines.bytes) return;
    struct reader r = {table->lines.bytes, table->lines.bytes + table->lines.size, false};
    while (r.at < r.end) {
        struct unit unit = {.table = table, .offset_bytes = 4};
        uint64_t length = take_number(&r, 4);
        if (length == UINT32_MAX) {
            unit.offset_bytes = 8;
            length = take_number(&r, 8);
        }
        const uint8_t *bytes = reader_take(&r, length);
        if (!bytes) return;
        struct reader own = {bytes, bytes + length, false};
        if (read_header(&unit, &own)) run_unit(&unit, &search);
    }
}
