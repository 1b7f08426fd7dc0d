/* SPDX-License-Identifier: BSD-3-Clause
 * A dialog: requests of one client are read and answered during a call of that client. The caller
 * waits for the client, and the loop does not turn meanwhile.
 *
 * For code that stops the server on purpose (a debugged script), and for forked children that speak
 * with a client.
 */
#ifndef EVENKEEL_NET_DIALOG_H
#define EVENKEEL_NET_DIALOG_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"
#include "net/request.h"

struct client;

/* Larger requests are protocol errors. The limits are those of 6.2's script debugger. */
#define DIALOG_ARGUMENTS_MAX 1024
#define DIALOG_REQUEST_BYTES_MAX (1024 * 1024)
/* A client whose socket takes no bytes for so long is given up. */
#define DIALOG_PATIENCE_MSEC 5000

enum dialog_status {
    DIALOG_REQUEST,
    DIALOG_FAULT, /* the client sent a protocol error; nothing more is read */
    DIALOG_ENDED, /* the connection is gone, or the caller has been interrupted */
};

struct dialog {
    struct client *client;
    bool (*interrupted)(void);
    struct request_parser parser;
    struct buffer input, words;
    size_t parsed; /* bytes of `input` that are parsed */
    bool ended;
    int argc; /* arguments of the request that was read last */
    struct slice argv[DIALOG_ARGUMENTS_MAX];
};

/* Begins a dialog. While it waits, it asks `interrupted` several times a second; when that returns
 * true, the dialog waits no more, and only writes what can be written at once. Input that the
 * client has sent before is not part of the dialog. */
void dialog_open(struct dialog *dialog, struct client *c, bool (*interrupted)(void));
void dialog_close(struct dialog *dialog);
/* Waits for the next request, an array of words. The words are in argv until the next call. */
MUST_USE enum dialog_status dialog_read(struct dialog *dialog);
/* Writes the bytes, waiting for the socket. Returns false if the dialog has ended. */
bool dialog_write(struct dialog *dialog, struct slice bytes);
#endif
