/* SPDX-License-Identifier: BSD-3-Clause
 * The messages of the cluster's bus: bytes to struct and back. No sockets, and no nodes.
 *
 * The format is that of Redis 6.2, version 1. All numbers are big endian.
 *
 *     offset
 *          0  "RCmb", length of all u32, version u16, client port u16, type u16, entries u16
 *         16  current epoch u64, config epoch u64, stream offset u64
 *         40  sender's id 40, bitmap of its slots 2048, its primary's id 40 or zeros
 *       2168  announced host 46 or zeros, zeros 32
 *       2246  plain port u16, bus port u16, flags u16, state u8, marks 3
 *       2256  the body, by type:
 *
 *     | type             | body                                                        |
 *     | ---------------- | ----------------------------------------------------------- |
 *     | PING, PONG, MEET | entries of gossip, CLUSTER_ENTRY_BYTES each: id 40, ping    |
 *     |                  | sent u32 (s), pong received u32 (s), host 46, port u16, bus |
 *     |                  | port u16, flags u16, plain port u16, zeros 2                |
 *     | FAIL             | id 40                                                       |
 *     | PUBLISH          | length of the channel u32, of the message u32, both texts   |
 *     | UPDATE           | epoch u64, id 40, bitmap 2048                               |
 *     | MODULE           | module's id 8 bytes, length u32, type u8, bytes             |
 *     | others           | none                                                        |
 *
 * Whoever reaches the port can send anything and claim any id. So a frame's length is bounded
 * before room is made for it, and a message is taken only where its length is exactly what its type
 * and its counts say, its ids and hosts are such, and no node has two roles.
 */
#ifndef EVENKEEL_BUS_MESSAGE_H
#define EVENKEEL_BUS_MESSAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "topology/slots.h"
#include "topology/view.h"

#define CLUSTER_HEADER_BYTES 2256
#define CLUSTER_ENTRY_BYTES 104
/* A frame of a sender that is not known has at most so many bytes: 600 entries, which a cluster of
 * 1,000 nodes does not send unless half of them fail. */
#define CLUSTER_STRANGER_BYTES_MAX (64 * 1024)

/* The texts of a frame have at most so many bytes: a channel and a message of 512 MB, the longest
 * strings of 6.2. */
#define CLUSTER_TEXTS_BYTES_MAX (UINT32_C(1024) * 1024 * 1024)

enum cluster_message_type {
    CLUSTER_PING,
    CLUSTER_PONG,
    CLUSTER_MEET,
    CLUSTER_FAIL,
    CLUSTER_PUBLISH,
    CLUSTER_AUTH_REQUEST,
    CLUSTER_AUTH_ACK,
    CLUSTER_UPDATE,
    CLUSTER_MFSTART,
    CLUSTER_MODULE,
    CLUSTER_MESSAGE_TYPES
};

enum cluster_message_marks {
    CLUSTER_MARK_PAUSED = 1 << 0,   /* the sender holds its clients' writes: manual failover */
    CLUSTER_MARK_FORCE_ACK = 1 << 1 /* vote although the primary works: manual failover */
};

/* Bitmaps and texts lie in the bytes that were parsed, or are the caller's. */
struct cluster_message {
    enum cluster_message_type type;
    uint64_t current_epoch;
    uint64_t config_epoch; /* a replica sends its primary's, and its slots */
    uint64_t offset;       /* of the stream; 0 = not known */
    struct cluster_id sender;
    struct cluster_id primary;      /* "" = none, or not known */
    struct cluster_address address; /* the host is "" where none is announced */
    unsigned flags;                 /* enum cluster_node_flags, without MYSELF */
    unsigned marks;                 /* enum cluster_message_marks */
    bool fails;                     /* the cluster's state, as the sender sees it */
    const unsigned char *slots;
    /* The body. */
    unsigned entry_count;         /* PING family: read by cluster_message_entry */
    const unsigned char *entries; /* as bytes */
    struct cluster_id about;      /* FAIL, UPDATE */
    uint64_t about_epoch;         /* UPDATE */
    const unsigned char *about_slots;
    struct slice channel, text; /* PUBLISH; of MODULE the text */
    unsigned char module[8];
    uint8_t module_type;
};

/* What a node says of another. */
struct cluster_entry {
    struct cluster_id id;
    uint32_t ping_sent_sec, pong_received_sec; /* wall time; 0 = never, or none pending */
    struct cluster_address address;
    unsigned flags; /* without MYSELF, HANDSHAKE and MEET */
};

enum cluster_frame {
    CLUSTER_FRAME_PART, /* more bytes are needed */
    CLUSTER_FRAME_WHOLE,
    CLUSTER_FRAME_BAD /* the connection is to be closed: this is no bus, or too much */
};

/* Judges the bytes that have been received so far. `*length` becomes the frame's length, or 0 while
 * it is not known. A frame may have at most `bytes_max` bytes, and one without texts (all but
 * PUBLISH and MODULE) no more than CLUSTER_NODES_MAX entries need. */
enum cluster_frame cluster_message_frame(struct slice received, size_t bytes_max, size_t *length);
/* The type of a whole frame; CLUSTER_MESSAGE_TYPES where the version or the type is not known here,
 * so that the frame is to be ignored. */
enum cluster_message_type cluster_message_type_of(struct slice frame);
/* Parses a whole frame. False, with a reason in `*why` that stands for ever, where the message is
 * to be ignored: another version, an unknown type, a length that does not fit, a malformed id or
 * host. The message borrows from the bytes. */
MUST_USE bool cluster_message_parse(struct slice frame, struct cluster_message *m,
                                    const char **why);
/* Whether the type is of the PING family, whose messages have gossip. */
static inline bool cluster_message_is_heartbeat(enum cluster_message_type type) {
    return type == CLUSTER_PING || type == CLUSTER_PONG || type == CLUSTER_MEET;
}
/* Reads the entry; the parse has found it sound. */
void cluster_message_entry(const struct cluster_message *m, unsigned at,
                           struct cluster_entry *entry);

/* Appends the message as 6.2 sends it, of the PING family without entries. `entry_count` and
 * `entries` are ignored. The texts must have CLUSTER_TEXTS_BYTES_MAX at most. */
void cluster_message_print(const struct cluster_message *m, struct buffer *out);
/* Appends an entry to the message of the PING family that begins at `start` of the buffer and ends
 * with it. */
void cluster_message_add(struct buffer *out, size_t start, const struct cluster_entry *entry);
#endif
