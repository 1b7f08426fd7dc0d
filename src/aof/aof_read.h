/* SPDX-License-Identifier: BSD-3-Clause
 * Reading a log from a source, command by command: for the loader and the checker.
 *
 * A log is a sequence of commands, each an array of bulk texts:
 * "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n". Both users accept exactly this form, so the loader can load
 * what the checker calls valid.
 *
 * Where the whole command lies in the source's window, its arguments are slices of the window.
 * Arguments of BATCH_ADOPT_BYTES or more come in blocks of their own, which a command can keep.
 */
#ifndef EVENKEEL_AOF_AOF_READ_H
#define EVENKEEL_AOF_AOF_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/stream.h"
#include "base/string.h"

struct blob;

#define AOF_FAULT_BYTES 160
/* How many bytes of a command's name are kept where `only_names` is set; no name is as long. */
#define AOF_NAME_BYTES_MAX 64

enum aof_read {
    AOF_READ_COMMAND, /* argv[0..argc) is a command */
    AOF_READ_END,     /* nothing follows the last command */
    AOF_READ_CUT,     /* the source ends within a command: `fault` and `offset` say where */
    AOF_READ_BAD,     /* this is no log: they say why */
    AOF_READ_FAILED   /* reading failed: they say why */
};

struct aof_reader {
    struct source *in;
    bool only_names; /* may be set before the first read: only argv[0] of each command is kept */

    /* The command that was read last; valid until the next read. */
    int argc;
    struct slice *argv;  /* with only_names only argv[0] */
    struct blob **blobs; /* each argument's block (MEMORY_CLIENTS, for call_take_argument), or NULL;
                          * NULL: no argument has one */
    uint64_t begin, end; /* the command's place: offsets of the source */

    uint64_t offset;             /* the offset of the faulty part: a line, or an argument */
    char fault[AOF_FAULT_BYTES]; /* why no command came */
    uint64_t line;               /* the line reached, from 1, as redis-check-aof counts: an argument
                                  * is one line */

    /* Private. */
    size_t room; /* of `argv` and `kept` */
    struct blob **kept;
    bool whole;         /* the command was read to its end */
    struct buffer text; /* short arguments that do not lie in the window */
    uint64_t taken;     /* bytes of the window that the next read skips */
};

/* Reads from where the source stands. The source remains the caller's. */
void aof_reader_open(struct aof_reader *r, struct source *in);
void aof_reader_close(struct aof_reader *r);
/* Reads the next command. After any result other than AOF_READ_COMMAND there is no further one. */
MUST_USE enum aof_read aof_read(struct aof_reader *r);
/* Whether the command has this name, in upper or lower case. */
bool aof_read_is(const struct aof_reader *r, const char *name);
#endif
