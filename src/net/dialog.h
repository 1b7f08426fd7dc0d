/* SPDX-License-Identifier: BSD-3-Clause
 * A dialog: requests of one client that are read, and answered, in the midst of a call of its. The
 * caller waits for the client; the loop does not turn meanwhile.
 *
 * For who holds up everything on purpose, and for forked children that speak with a client.
 */
#ifndef EVENKEEL_NET_DIALOG_H
#define EVENKEEL_NET_DIALOG_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"
#include "net/request.h"

struct client;

/* 6.2's limits of what its debugger is told: more is no protocol. */
#define DIALOG_ARGUMENTS_MAX 1024
#define DIALOG_REQUEST_BYTES_MAX (1024 * 1024)
/* A client that takes nothing for so long is given up. */
#define DIALOG_PATIENCE_MSEC 5000

enum dialog_status {
    DIALOG_REQUEST,
    DIALOG_FAULT, /* what it sent is no request, and nothing more of it is read */
    DIALOG_ENDED, /* the connection is gone, or the caller has been interrupted */
};

struct dialog {
    struct client *client;
    bool (*interrupted)(void);
    struct request_parser parser;
    struct buffer input, words;
    size_t parsed; /* of the input */
    bool ended;
    int argc; /* of the request that was read last */
    struct slice argv[DIALOG_ARGUMENTS_MAX];
};

/* While it waits `interrupted` is asked several times a second: where it is true nothing is waited
 * for any more, and what can be written at once still is. What the client has sent before is not
 * part of the dialog. */
void dialog_open(struct dialog *dialog, struct client *c, bool (*interrupted)(void));
void dialog_close(struct dialog *dialog);
/* Waits for the next request: an array of words. They stand in argv until the next call. */
MUST_USE enum dialog_status dialog_read(struct dialog *dialog);
/* False where the dialog has ended. */
bool dialog_write(struct dialog *dialog, struct slice bytes);
#endif
