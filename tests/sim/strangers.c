/* SPDX-License-Identifier: BSD-3-Clause
 * Strangers at the bus. strangers.h has the idea.
 *
 *   rests --calls a node--> sends --all is sent--> listens, for a while --> rests
 */
#include "sim/strangers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "sim/headers.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/world.h"

#define STRANGERS 2
#define FRAMES_MAX 64
#define FRAMES_AT_ONCE 6
#define LISTEN_NSEC (2 * NSEC_PER_SEC)
#define LIMIT_NSEC (10 * NSEC_PER_SEC)
#define HEADER_BYTES 2256
#define BENT_MAX 40

/* Offsets in a header (headers.c). The extensions of 7.x have their number in what is zeros in 6.2,
 * and a mark that says that they are there. */
enum { AT_LENGTH = 4, AT_VERSION = 8, AT_TYPE = 12, AT_COUNT = 14, AT_SENDER = 40 };
enum { AT_HOST = 2168, AT_EXTENSIONS = 2214, AT_FLAGS = 2250, AT_MARKS = 2253 };
#define ID_CHARS 40
#define MARK_EXTENSIONS 4
#define EXTENSION_BYTES 24 /* of a host's name: length u32, type u16, zeros 2, text */
#define TYPES_OF_7 10      /* and from there on */

static struct frame {
    int to;
    size_t length;
    uint8_t bytes[HEADERS_FRAME_BYTES];
} frames[FRAMES_MAX];
static unsigned frames_count;

static struct stranger {
    struct actor actor; /* first */
    int link, node;     /* -1: it rests */
    bool is_torn;       /* it closes in the midst of what it says */
    size_t used, sent;
    uint8_t bytes[(HEADERS_FRAME_BYTES + EXTENSION_BYTES) * FRAMES_AT_ONCE];
} strangers[STRANGERS];
static int64_t every_nsec;

/* Any frame may take the place of any other, so that old ones stay for long. */
static void see_frame(int to, const uint8_t *bytes, size_t length) {
    unsigned at = frames_count < FRAMES_MAX ? frames_count++ : (unsigned)draw(FRAMES_MAX * 20);
    if (at >= FRAMES_MAX) return;
    frames[at].to = to;
    frames[at].length = length;
    memcpy(frames[at].bytes, bytes, length);
}

/* ---- What they say ---- */

static void put_number(uint8_t *bytes, unsigned width, uint64_t value) {
    for (unsigned i = width; i-- > 0; value >>= 8) bytes[i] = (uint8_t)value;
}

static void bend(uint8_t *bytes, size_t length) {
    for (int64_t left = draw_scale(BENT_MAX); left > 0; left--)
        bytes[draw(length)] = (uint8_t)draw(256);
}

/* An id of nobody: nodes draw theirs, or have one letter throughout. */
static void be_nobody(uint8_t *frame) {
    for (int i = 0; i < ID_CHARS; i++)
        frame[AT_SENDER + i] = (uint8_t) "0123456789abcdef"[draw(16)];
}

static void spoil(uint8_t *frame, size_t length) {
    switch (draw(6)) {
    case 0: frame[draw(4)] ^= 0x20; break; /* no message of the bus */
    case 1: put_number(frame + AT_LENGTH, 4, draw(HEADER_BYTES)); break;
    case 2: put_number(frame + AT_LENGTH, 4, UINT32_C(1) << (31 - draw(4))); break;
    case 3: put_number(frame + AT_VERSION, 2, draw(2) ? 0 : 2 + draw(9)); break;
    case 4: frame[AT_SENDER + draw(ID_CHARS)] = 'G'; break; /* no id */
    default: put_number(frame + AT_FLAGS, 2, 3); break;     /* two roles */
    }
}

/* Returns the frame's length. */
static size_t be_of_7(uint8_t *frame, size_t length) {
    be_nobody(frame);
    if (chance(50)) {
        put_number(frame + AT_TYPE, 2, TYPES_OF_7 + draw(4));
        return length;
    }
    memset(frame + length, 0, EXTENSION_BYTES);
    put_number(frame + length, 4, EXTENSION_BYTES);
    memcpy(frame + length + 8, "node.example", 12);
    put_number(frame + AT_EXTENSIONS, 2, 1);
    frame[AT_MARKS] |= MARK_EXTENSIONS;
    put_number(frame + AT_LENGTH, 4, length + EXTENSION_BYTES);
    return length + EXTENSION_BYTES;
}

static void add_frame(struct stranger *s, const struct frame *f) {
    uint8_t *frame = s->bytes + s->used;
    size_t length = f->length;
    memcpy(frame, f->bytes, length);
    unsigned at = (unsigned)draw(100);
    if (at < 50) {
        note("plays", s->node, (long)length, frame[AT_TYPE + 1]);
    } else if (at < 65) {
        be_nobody(frame);
        bend(frame, length);
    } else if (at < 85) {
        spoil(frame, length);
    } else {
        length = be_of_7(frame, length);
    }
    s->used += length;
}

static void prepare(struct stranger *s) {
    s->node = (int)draw((uint64_t)nodes_count());
    s->used = s->sent = 0;
    s->is_torn = chance(30);
    for (int64_t left = draw_scale(FRAMES_AT_ONCE); left > 0; left--) {
        const struct frame *f = &frames[draw(frames_count)];
        if (f->to == s->node) add_frame(s, f);
    }
    if (s->is_torn && s->used) s->used = 1 + (size_t)draw(s->used);
}

/* ---- Sending ---- */

static bool is_ready(const struct actor *a) {
    const struct stranger *s = (const struct stranger *)a;
    if (s->link < 0) return false;
    uint32_t ready = network_ready(s->link, 0);
    return ready & (EPOLLERR | EPOLLIN) || (ready & EPOLLOUT && s->sent < s->used);
}

static void rest(struct stranger *s) {
    if (s->link >= 0) network_release(s->link, 0);
    s->link = -1;
    s->actor.due_nsec = world->now_nsec + 1 + (int64_t)draw((uint64_t)every_nsec * 2);
}

static void begin(struct stranger *s) {
    if (frames_count) prepare(s);
    if (frames_count && s->used)
        s->link = network_call(OUTSIDE, s->node, network_port(s->node) + NETWORK_BUS_PORTS_ABOVE);
    if (s->link < 0)
        rest(s);
    else
        s->actor.due_nsec = world->now_nsec + LIMIT_NSEC;
}

static void act(struct actor *a) {
    struct stranger *s = (struct stranger *)a;
    uint8_t answer[1024];
    if (s->link < 0) {
        begin(s);
        return;
    }
    uint32_t ready = network_ready(s->link, 0);
    bool ends = world->now_nsec >= a->due_nsec || ready & EPOLLERR;
    if (!ends && ready & EPOLLIN) ends = network_receive(s->link, 0, answer, sizeof(answer)) <= 0;
    if (!ends && ready & EPOLLOUT && s->sent < s->used) {
        long sent = network_send(s->link, 0, s->bytes + s->sent, s->used - s->sent);
        if (sent > 0) s->sent += (size_t)sent;
        if (s->sent == s->used) a->due_nsec = world->now_nsec + draw_scale(LISTEN_NSEC);
    }
    if (ends) rest(s);
}

void strangers_start(int64_t every) {
    every_nsec = every;
    headers_expect_strangers(see_frame);
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i].actor = (struct actor){.is_ready = is_ready, .act = act};
        strangers[i].link = -1;
        rest(&strangers[i]);
        scheduler_add(&strangers[i].actor);
    }
}

void strangers_end(void) {
    for (int i = 0; i < STRANGERS; i++) {
        scheduler_remove(&strangers[i].actor);
        rest(&strangers[i]);
    }
}
