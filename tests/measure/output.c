/* SPDX-License-Identifier: BSD-3-Clause
 * What a run of the load leaves behind: records of requests, samples of INFO, deadlines.
 *
 * Records are kept in blocks of a million and written after the run, so that no disk can stall the
 * load. Figures are made from them (figures.py); the histograms are for a look at the run's end.
 *
 * Deadlines are counted by slots of 10 ms from output_begin on, an hour far; those beyond count as
 * never passed. `passed_count` is the sum of the slots below `passed_slot`: a deadline noted for a
 * slot that has passed is added to both.
 */
#include "output.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "load/load_latency.h"

#define BLOCK_RECORDS (1u << 20)
#define BLOCKS_MAX 512 /* half a thousand million requests: hours of load */
#define SLOT_MSEC 10
#define SLOTS 360000
#define STREAMS STREAM_UNSEEN
#define RESULTS (RESULT_UNANSWERED + 1)
#define PATH_BYTES 4096

static struct record *blocks[BLOCKS_MAX];
static uint64_t record_count;
static struct load_latency latencies[STREAMS];
static uint32_t slots[SLOTS];
static uint64_t began_msec, passed_slot, passed_count, beyond_count;
static char *info_text;
static size_t info_length;
static FILE *info_stream;

static struct record *record_at(uint64_t i) {
    return &blocks[i / BLOCK_RECORDS][i % BLOCK_RECORDS];
}

void output_record(const struct record *record) {
    uint64_t block = record_count / BLOCK_RECORDS;
    if (block >= BLOCKS_MAX) return; /* far above what any scenario asks for; the count tells */
    if (!blocks[block]) blocks[block] = malloc(BLOCK_RECORDS * sizeof(*record));
    if (!blocks[block]) abort();
    *record_at(record_count++) = *record;
    load_latency_note(&latencies[record->stream], (int64_t)record->latency_usec * 1000, 1);
}

void output_begin(uint64_t now_msec) { began_msec = now_msec; }

void output_deadline(uint64_t deadline_msec) {
    uint64_t slot = deadline_msec > began_msec ? (deadline_msec - began_msec) / SLOT_MSEC : 0;
    if (slot >= SLOTS) {
        beyond_count++;
        return;
    }
    slots[slot]++;
    if (slot < passed_slot) passed_count++;
}

uint64_t output_deadlines_passed(uint64_t now_msec) {
    uint64_t slot = now_msec > began_msec ? (now_msec - began_msec) / SLOT_MSEC : 0;
    while (passed_slot < slot && passed_slot < SLOTS) passed_count += slots[passed_slot++];
    return passed_count;
}

/* ---- INFO ---- */

/* The number behind "dbN:...name=" summed over all databases. */
static uint64_t sum_databases(const char *info, const char *name) {
    uint64_t sum = 0;
    for (const char *at = info; (at = strstr(at, "\ndb")); at++) {
        size_t line = strcspn(at + 1, "\n");
        const char *found = strstr(at, name);
        if (found && found < at + line) sum += strtoull(found + strlen(name), NULL, 10);
    }
    return sum;
}

static void put_field(const char *info, const char *name, size_t length) {
    if (length == 4 && !strncmp(name, "keys", 4)) {
        fprintf(info_stream, ",%" PRIu64, sum_databases(info, ":keys="));
        return;
    }
    if (length == 7 && !strncmp(name, "expires", 7)) {
        fprintf(info_stream, ",%" PRIu64, sum_databases(info, ",expires="));
        return;
    }
    putc(',', info_stream);
    for (const char *at = info; (at = strchr(at, '\n')); at++) {
        if (strncmp(at + 1, name, length) || at[1 + length] != ':') continue;
        /* a histogram has commas */
        for (const char *value = at + length + 2; *value && !strchr("\r\n", *value); value++)
            putc(*value == ',' ? ';' : *value, info_stream);
        return;
    }
}

void output_info(const struct info_sample *sample, const char *info, const char *fields) {
    if (!info_stream) info_stream = open_memstream(&info_text, &info_length);
    if (!info_stream) abort();
    fprintf(info_stream, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
            sample->at_usec, sample->now_msec, sample->sets_new, sample->deleted,
            sample->deadlines_passed);
    for (const char *name = fields; *name;) {
        size_t length = strcspn(name, ",");
        put_field(info, name, length);
        name += length + (name[length] == ',');
    }
    putc('\n', info_stream);
}

/* ---- after the run ---- */

static FILE *open_in(const char *folder, const char *name) {
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return fopen(path, "wb");
}

static bool close_well(FILE *file) {
    bool well = file && !ferror(file);
    return file && fclose(file) == 0 && well;
}

static bool write_records(const char *folder) {
    FILE *file = open_in(folder, "latencies.bin");
    for (uint64_t i = 0; file && i < record_count; i += BLOCK_RECORDS) {
        uint64_t left = record_count - i;
        fwrite(record_at(i), sizeof(struct record), left < BLOCK_RECORDS ? left : BLOCK_RECORDS,
               file);
    }
    return close_well(file);
}

static bool write_deadlines(const char *folder) {
    FILE *file = open_in(folder, "deadlines.csv");
    if (file) fprintf(file, "deadline_msec,keys\n");
    for (uint64_t i = 0; file && i < SLOTS; i++)
        if (slots[i]) fprintf(file, "%" PRIu64 ",%u\n", began_msec + i * SLOT_MSEC, slots[i]);
    return close_well(file);
}

bool output_write(const char *folder, const char *fields) {
    FILE *file = open_in(folder, "info.csv");
    if (file) fprintf(file, "at_usec,now_msec,sets_new,deleted,deadlines_passed,%s\n", fields);
    if (info_stream) fflush(info_stream);
    if (file && info_length) fwrite(info_text, 1, info_length, file);
    return close_well(file) & write_records(folder) & write_deadlines(folder);
}

void output_summary(FILE *out) {
    static const char *const streams[] = {"load", "herd", "probe", "miss"};
    static const char *const results[] = {"ok", "miss", "error", "oom", "lost", "unanswered"};
    uint64_t counts[RESULTS] = {0};
    for (uint64_t i = 0; i < record_count; i++) counts[record_at(i)->result]++;
    fprintf(out, "\"requests\": %" PRIu64 ", \"results\": {", record_count);
    for (int i = 0; i < RESULTS; i++)
        fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", results[i], counts[i]);
    fprintf(out, "}, \"latency_usec\": {");
    const double shares[] = {0.5, 0.99, 0.999, 1};
    for (int s = 0; s < STREAMS; s++) {
        const struct load_latency *l = &latencies[s];
        fprintf(out, "%s\"%s\": [%" PRIu64, s ? ", " : "", streams[s], l->count);
        for (int i = 0; i < 4 && l->count; i++)
            fprintf(out, ", %" PRIu64, load_latency_usec_at(l, shares[i]));
        fprintf(out, "]");
    }
    fprintf(out, "}, \"deadlines_beyond\": %" PRIu64, beyond_count);
}
