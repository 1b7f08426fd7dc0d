/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes trace files: a file is read to an end of some kind; each record that is read can be
 * written and read again, is refused or becomes a request that is whole RESP, and moves the curves
 * without breaking what holds of them.
 *
 * Covers: src/trace_file/trace_file_reader.c src/trace_file/trace_file_writer.c
 * src/replay/replay_request.c src/replay/replay_commands.c src/replay/curve_model.c
 * src/replay/curve_cache.c src/replay/curve_distance.c
 *
 * The first byte says what the rest is: a file as it is, or the payload of a head, of records or of
 * an end, which then get their frame and a good checksum: else no input would come behind it.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../c/trace_file/trace_block.h"
#include "base/memory.h"
#include "base/panic.h"
#include "io/file.h"
#include "peer/peer_reply.h"
#include "replay/curve_model.h"
#include "replay/replay_request.h"
#include "trace_file/trace_file_reader.h"
#include "trace_file/trace_file_writer.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Requests of more bytes are not made: they would only be slow. */
#define REQUEST_BYTES_MAX 65536

static char file_path[32], copy_path[32];
static int file_fd, copy_fd;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    file_fd = memfd_create("trace", 0);
    copy_fd = memfd_create("copy", 0);
    ASSERT(file_fd >= 0 && copy_fd >= 0);
    snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file_fd);
    snprintf(copy_path, sizeof(copy_path), "/proc/self/fd/%d", copy_fd);
    return 0;
}

static void make_file(char what, struct slice input, struct buffer *file) {
    const struct slice head = SLICE("sample 1\nmaxmemory 1000\npolicy allkeys-lru\n");
    const struct slice end = SLICE("records 0\n");
    bool is_head = what == 'H', is_end = what == 'E', is_records = what == 'R';
    if (is_head || is_end || is_records) {
        buffer_append(file, TRACE_FILE_MAGIC "\1\0\0\0", TRACE_FILE_MAGIC_BYTES + 4);
        trace_block_append(file, 0, TRACE_FILE_HEAD, is_head ? input : head);
        if (is_records) trace_block_append(file, 1, TRACE_FILE_RECORDS, input);
        trace_block_append(file, 1 + is_records, TRACE_FILE_LAST, is_end ? input : end);
    } else {
        buffer_append(file, input.bytes, input.length);
    }
}

static void check_request(const struct trace_file_record *record) {
    const struct replay_command *command;
    struct buffer out = {.class = MEMORY_OTHER};
    uint64_t chance = 1;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < record->argument_count; i++) bytes += record->arguments[i].size;
    if (replay_request_judge(record, &command) != REPLAY_SENDS || bytes > REQUEST_BYTES_MAX) return;
    replay_request_append(record, command, &out, &chance);
    const struct peer_limits limits = {1 << 24, 1 << 16};
    struct peer_parser *parser = peer_parser_create(MEMORY_OTHER, &limits);
    const char *at = out.bytes;
    ASSERT(peer_parse(parser, &at, out.bytes + out.length) == PEER_PARSE_READY);
    ASSERT(at == out.bytes + out.length && peer_parser_reply(parser)->children > 1);
    peer_parser_free(parser);
    buffer_free(&out);
}

static void check_curves(const struct curve_model *model) {
    struct curve_result result;
    curve_model_finish(model, &result);
    ASSERT(result.point_count && result.point_count <= CURVE_SIZES_MAX + 1);
    for (unsigned i = 0; i < result.point_count; i++)
        for (unsigned p = 0; p < CURVE_POLICIES && result.reads > 0; p++)
            ASSERT(result.points[i].hit_share[p] >= 0 && result.points[i].hit_share[p] <= 1.0001);
}

/* Reads the file; with `copy` writes its records to another one. Returns their number. */
static uint64_t read_all(const char *path, bool is_copied, struct curve_model *model) {
    char reason[TRACE_FILE_REASON_CHARS];
    struct trace_file_record record;
    uint64_t count = 0;
    struct trace_file_reader *r = trace_file_open(path, reason);
    if (!r) return 0;
    struct trace_file_writer *w = NULL;
    if (is_copied) w = trace_file_create(copy_path, true, trace_file_head(r), reason);
    while (trace_file_next(r, &record) == TRACE_FILE_HAS_RECORD) {
        count++;
        if (w) {
            bool written = trace_file_write(w, &record);
            ASSERT(written);
            check_request(&record);
            curve_model_take(model, &record);
        }
    }
    trace_file_close(r);
    struct trace_file_end end = {.records = 0};
    if (!w) return count;
    bool finished = trace_file_finish(w, &end, reason);
    ASSERT(finished && (uint64_t)end.records == count);
    ASSERT(read_all(copy_path, false, NULL) == count);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buffer file = {.class = MEMORY_OTHER};
    const int64_t sizes[] = {100, 1000, 100000};
    if (!size || size > TRACE_FILE_BLOCK_BYTES_MAX / 2) return 0;
    make_file((char)data[0], (struct slice){(const char *)data + 1, size - 1}, &file);
    ASSERT(file_truncate(file_fd, 0) && lseek(file_fd, 0, SEEK_SET) == 0);
    ASSERT(file_write(file_fd, buffer_slice(&file), NULL));
    buffer_free(&file);
    const struct curve_settings settings = {.sample = 1,
                                            .keys_max = CURVE_KEYS_LEAST,
                                            .samples = 5,
                                            .server_evicts = size % 2,
                                            .sizes = sizes,
                                            .size_count = size % 3 ? 3 : 0};
    struct curve_model *model = curve_model_create(&settings);
    (void)read_all(file_path, true, model);
    check_curves(model);
    curve_model_free(model);
    return 0;
}
