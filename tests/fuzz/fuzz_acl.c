/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes users' rules and files of users.
 *
 * Covers: src/access/acl_rules.c src/access/acl_file.c
 *
 * The input is a file of users. Whatever it says, every user keeps its invariants; a file that was
 * refused has a reason; one that was taken becomes the server's users, and what is printed of them
 * is taken, too, and printed again the same.
 */
#include "access/acl.h"
#include "access/acl_file.h"
#include "access/acl_internal.h"
#include "access/acl_rules.h"
#include "base/panic.h"

static void handler(struct call *call) {}

static struct command rows[] = {
    {.name = "get", .handler = handler, .flags = COMMAND_READONLY, .categories = ACL_STRING},
    {.name = "set", .handler = handler, .flags = COMMAND_WRITE, .categories = ACL_STRING},
    {.name = "append", .handler = handler, .flags = COMMAND_WRITE, .categories = ACL_STRING},
    {.name = "keys", .handler = handler, .categories = ACL_KEYSPACE | ACL_DANGEROUS},
    {.name = "del", .handler = handler, .flags = COMMAND_WRITE, .categories = ACL_KEYSPACE},
    {.name = "config", .handler = handler, .flags = COMMAND_ADMIN},
    {.name = "publish", .handler = handler, .flags = COMMAND_PUBSUB | COMMAND_FAST},
    {.name = "quit", .handler = handler, .flags = COMMAND_UNLISTED},
};
static bool begun;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes the text as the server's users; false where it is refused. */
static bool take(struct slice text) {
    struct acl_users *set = acl_users_create();
    struct buffer errors;
    buffer_init(&errors, MEMORY_OTHER);
    bool taken = acl_file_parse(text, "file", set, &errors);
    ASSERT(taken == (errors.length == 0));
    buffer_free(&errors);
    if (!acl_users_find(set, SLICE("default"))) acl_users_add(set, acl_default_create());
    if (taken)
        acl_users_replace(set, NULL);
    else
        acl_users_free(set);
    acl_check_all();
    return taken;
}

static void check_printing(void) {
    struct buffer first, second;
    buffer_init(&first, MEMORY_OTHER);
    buffer_init(&second, MEMORY_OTHER);
    acl_file_print(&first);
    bool taken = take(buffer_slice(&first));
    ASSERT(taken);
    acl_file_print(&second);
    ASSERT(slice_equal(buffer_slice(&first), buffer_slice(&second)));
    buffer_free(&first);
    buffer_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!begun) {
        begun = true;
        acl_register();
        acl_file_register();
        command_register(rows, sizeof(rows) / sizeof(rows[0]));
    }
    if (take((struct slice){(const char *)data, size})) check_printing();
    return 0;
}
