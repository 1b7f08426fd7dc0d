/* SPDX-License-Identifier: BSD-3-Clause
 * Reading a log, command by command, from a source: for the loader and the checker.
 *
 * A log is a row of commands, each an array of bulk texts: "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n".
 * Both ask for exactly this, so what the one calls valid the other can load.
 *
 * Short arguments are handed out where they lie in the source's window, where the whole command
 * does; those of BATCH_ADOPT_BYTES or more come in a block of their own that a command can keep.
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
/* So much of a command's name is kept where `only_names` is set: no name is as long. */
#define AOF_NAME_BYTES_MAX 64

enum aof_read {
    AOF_READ_COMMAND, /* argv[0..argc) is one */
    AOF_READ_END,     /* nothing follows the last command */
    AOF_READ_CUT,     /* the source ends within a command: `fault` and `offset` say where */
    AOF_READ_BAD,     /* what stands there is no log: they say why */
    AOF_READ_FAILED   /* reading failed: they say why */
};

struct aof_reader {
    struct source *in;
    bool only_names; /* may be set before the first read: of arguments only argv[0] is kept */

    /* The command that was read last; valid until the next read. */
    int argc;
    struct slice *argv;  /* with only_names one */
    struct blob **blobs; /* of class MEMORY_CLIENTS, as call_take_argument wants them: each
                            argument's, or NULL; NULL where none has one */
    uint64_t begin, end; /* where it stands: offsets of the source */

    uint64_t offset;             /* of the part that is at fault: a line, or an argument */
    char fault[AOF_FAULT_BYTES]; /* why no command came */
    uint64_t line;               /* that was reached, from 1 on, as redis-check-aof counts them: an
                                    argument is one, whatever it holds */

    /* Private. */
    size_t room; /* of `argv` and `kept` */
    struct blob **kept;
    bool whole;         /* all of the command was read */
    struct buffer text; /* short arguments that do not lie in the window */
    uint64_t taken;     /* bytes of the window that are still to be skipped */
};

/* From where the source stands; it stays the caller's. */
void aof_reader_open(struct aof_reader *r, struct source *in);
void aof_reader_close(struct aof_reader *r);
/* The next command. After anything but AOF_READ_COMMAND there is no further one. */
MUST_USE enum aof_read aof_read(struct aof_reader *r);
/* Whether the command's name is this one, in any case. */
bool aof_read_is(const struct aof_reader *r, const char *name);
#endif
