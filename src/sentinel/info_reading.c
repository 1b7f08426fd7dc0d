/* SPDX-License-Identifier: BSD-3-Clause
 * INFO's text to a struct. info_reading.h has the idea.
 *
 * Lines end in \r\n; a bare \n counts as well. Where a line comes twice, the later one counts.
 */
#include "sentinel/info_reading.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "sentinel/foreign_text.h"

#define MSEC_PER_SEC 1000

/* Where the text begins with `prefix`, cuts it off and returns true. */
static bool cut_prefix(struct slice *text, const char *prefix) {
    size_t length = strlen(prefix);
    if (text->length < length || memcmp(text->bytes, prefix, length) != 0) return false;
    text->bytes += length;
    text->length -= length;
    return true;
}

/* The text up to the first `separator`, which is cut off with it; all of it where there is none. */
static struct slice cut_part(struct slice *text, char separator) {
    const char *end = text->length ? memchr(text->bytes, separator, text->length) : NULL;
    struct slice part = *text;
    if (end) part.length = (size_t)(end - text->bytes);
    size_t taken = part.length + (end != NULL);
    text->bytes += taken;
    text->length -= taken;
    return part;
}

/* ---- Replicas that a primary lists ---- */

/* "ip=H,port=P,state=online,..." */
static bool read_named_parts(struct slice parts, struct sentinel_info_replica *replica) {
    bool has_host = false, has_port = false;
    while (parts.length) {
        struct slice part = cut_part(&parts, ',');
        if (cut_prefix(&part, "ip=")) {
            replica->host = part;
            has_host = sentinel_foreign_is_host(part);
        } else if (cut_prefix(&part, "port=")) {
            has_port = sentinel_foreign_port(part, &replica->port);
        }
    }
    return has_host && has_port;
}

/* "H,P,state": servers before 2.8. */
static bool read_placed_parts(struct slice parts, struct sentinel_info_replica *replica) {
    replica->host = cut_part(&parts, ',');
    struct slice port = cut_part(&parts, ',');
    return sentinel_foreign_is_host(replica->host) && sentinel_foreign_port(port, &replica->port);
}

/* `line` is what stands behind "slave": "0:ip=..." */
static void read_replica(struct slice line, struct sentinel_info *info) {
    struct sentinel_info_replica replica;
    struct slice number = cut_part(&line, ':');
    uint64_t unused;
    if (!number_parse_uint64(number.bytes, number.length, &unused)) return;
    struct slice first = line;
    bool is_named = cut_prefix(&first, "ip=");
    if (is_named ? !read_named_parts(line, &replica) : !read_placed_parts(line, &replica)) return;
    if (info->replica_count == SENTINEL_REPLICAS_MAX)
        info->replicas_left_out++;
    else
        info->replicas[info->replica_count++] = replica;
}

/* ---- What a replica says of itself ---- */

static bool read_int64(struct slice text, int64_t *number) {
    return number_parse_int64(text.bytes, text.length, number);
}

static void read_own_number(struct slice line, struct sentinel_info *info) {
    int64_t number;
    if (cut_prefix(&line, "slave_priority:")) {
        if (!read_int64(line, &number) || number < 0 || number > INT_MAX) return;
        info->priority = (int)number;
        info->has |= SENTINEL_INFO_HAS_PRIORITY;
    } else if (cut_prefix(&line, "slave_repl_offset:")) {
        if (!read_int64(line, &number) || number < 0) return;
        info->offset = number;
        info->has |= SENTINEL_INFO_HAS_OFFSET;
    } else if (cut_prefix(&line, "replica_announced:")) {
        if (!read_int64(line, &number)) return;
        info->announced = number != 0;
        info->has |= SENTINEL_INFO_HAS_ANNOUNCED;
    }
}

static void read_own_link(struct slice line, struct sentinel_info *info) {
    if (cut_prefix(&line, "host:")) {
        if (!sentinel_foreign_is_host(line)) return;
        info->primary_host = line;
        info->has |= SENTINEL_INFO_HAS_HOST;
    } else if (cut_prefix(&line, "port:")) {
        if (sentinel_foreign_port(line, &info->primary_port)) info->has |= SENTINEL_INFO_HAS_PORT;
    } else if (cut_prefix(&line, "link_status:")) {
        info->link_up = slice_is(line, "up");
        info->has |= SENTINEL_INFO_HAS_LINK;
    }
}

/* ---- Lines ---- */

static void read_down_time(struct slice seconds, struct sentinel_info *info) {
    int64_t number;
    if (!read_int64(seconds, &number)) return;
    if (number > INT64_MAX / MSEC_PER_SEC) number = INT64_MAX / MSEC_PER_SEC;
    info->link_down_msec = number < 0 ? -MSEC_PER_SEC : number * MSEC_PER_SEC;
}

static void read_line(struct slice line, struct sentinel_info *info) {
    bool is_replica = info->role == SENTINEL_INFO_REPLICA;
    if (cut_prefix(&line, "run_id:")) {
        if (sentinel_foreign_is_id(line)) info->run_id = line;
    } else if (cut_prefix(&line, "role:")) {
        if (slice_is(line, "master")) info->role = SENTINEL_INFO_PRIMARY;
        if (slice_is(line, "slave")) info->role = SENTINEL_INFO_REPLICA;
    } else if (cut_prefix(&line, "master_link_down_since_seconds:")) {
        read_down_time(line, info);
    } else if (is_replica && cut_prefix(&line, "master_")) {
        read_own_link(line, info);
    } else if (line.length > 5 && line.bytes[5] >= '0' && line.bytes[5] <= '9' &&
               cut_prefix(&line, "slave")) {
        read_replica(line, info);
    } else if (is_replica) {
        read_own_number(line, info);
    }
}

void sentinel_info_read(struct slice text, struct sentinel_info *info) {
    struct slice nothing = SLICE("");
    info->run_id = info->primary_host = nothing;
    info->role = SENTINEL_INFO_NO_ROLE;
    info->has = 0;
    info->primary_port = info->priority = 0;
    info->link_up = info->announced = false;
    info->link_down_msec = info->offset = 0;
    info->replica_count = info->replicas_left_out = 0;
    while (text.length) {
        struct slice line = cut_part(&text, '\n');
        if (line.length && line.bytes[line.length - 1] == '\r') line.length--;
        read_line(line, info);
    }
}
