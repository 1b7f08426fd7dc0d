/* SPDX-License-Identifier: BSD-3-Clause
 * Dialogs with a client: requests in any pieces, what is none, ends and interruptions.
 */
#include "net/dialog.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "net/peers.h"

static struct dialog dialog; /* large: not on the stack */
static int looks_left;       /* until it is interrupted; -1: never */

static bool interrupted(void) {
    if (looks_left < 0) return false;
    return looks_left == 0 || looks_left-- == 0;
}

static void prefetch(struct request *r, int count) {}
static void execute(struct request *r) {}
static const struct batch_executor executor = {.prefetch = prefetch, .execute = execute};

static struct peer open_dialog(void) {
    struct peer p = peer_connect();
    looks_left = -1;
    dialog_open(&dialog, p.client, interrupted);
    return p;
}

static void end_dialog(struct peer *p) {
    dialog_close(&dialog);
    client_close_later(p->client);
    client_finish_closing();
    peers_turns();
    peer_close(p);
}

static void say(struct peer *p, const char *bytes) {
    assert_int_equal(peer_try_send(p, bytes, strlen(bytes)), strlen(bytes));
}

static void assert_request(const char *words) {
    char heard[256] = "";
    assert_int_equal(dialog_read(&dialog), DIALOG_REQUEST);
    for (int i = 0; i < dialog.argc; i++)
        snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%s%.*s", i ? " " : "",
                 (int)dialog.argv[i].length, dialog.argv[i].bytes);
    assert_string_equal(heard, words);
}

static void test_requests(void **state) {
    struct peer p = open_dialog();
    say(&p, "*1\r\n$1\r\ns\r\n*2\r\n$1\r\nb\r\n$2\r\n-3\r\n*2\r\n$1\r\np\r\n$0\r\n\r\n");
    assert_request("s");
    assert_request("b -3");
    assert_request("p ");
    say(&p, "*1\r\n$1\r\nc\r\n");
    assert_request("c");
    end_dialog(&p);
}

/* What is not whole when the caller is interrupted is gone on with. */
static void test_in_pieces(void **state) {
    static const char bytes[] = "*2\r\n$5\r\nbreak\r\n$2\r\n12\r\n";
    for (size_t cut = 1; cut < sizeof(bytes) - 1; cut++) {
        struct peer p = open_dialog();
        assert_int_equal(peer_try_send(&p, bytes, cut), cut);
        say(&p, bytes + cut);
        assert_request("break 12");
        end_dialog(&p);
    }
}

static void test_large_words(void **state) {
    struct peer p = open_dialog();
    struct buffer bytes = {.class = MEMORY_OTHER};
    char *word = memory_alloc(50000, MEMORY_OTHER);
    memset(word, 'w', 50000);
    buffer_append_c_string(&bytes, "*3\r\n$1\r\ne\r\n$50000\r\n");
    buffer_append(&bytes, word, 50000);
    buffer_append_c_string(&bytes, "\r\n$1\r\nx\r\n");
    assert_int_equal(peer_try_send(&p, bytes.bytes, bytes.length), bytes.length);
    assert_int_equal(dialog_read(&dialog), DIALOG_REQUEST);
    assert_int_equal(dialog.argc, 3);
    assert_int_equal(dialog.argv[1].length, 50000);
    assert_memory_equal(dialog.argv[1].bytes, word, 50000);
    assert_memory_equal(dialog.argv[0].bytes, "e", 1);
    buffer_free(&bytes);
    memory_free(word, MEMORY_OTHER);
    end_dialog(&p);
}

static void test_no_requests(void **state) {
    static const char *const faults[] = {"hello\r\n", "\r\n",          "*0\r\n",
                                         "*-1\r\n",   "*x\r\n",        "*1\r\n$-1\r\n",
                                         "*1\r\n:1",  "*1025\r\n$1\r", "*1\r\n$1048577\r\n"};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct peer p = open_dialog();
        say(&p, faults[i]);
        say(&p, "\r\n");
        assert_int_equal(dialog_read(&dialog), DIALOG_FAULT);
        end_dialog(&p);
    }
}

static char word[60000];

/* Words that are large one by one, and together. */
static void test_too_much(void **state) {
    struct peer p = open_dialog();
    memset(word, 'w', sizeof(word));
    struct buffer bytes = {.class = MEMORY_OTHER};
    buffer_append_c_string(&bytes, "*100\r\n");
    for (int i = 0; i < 100; i++) {
        buffer_append_c_string(&bytes, "$60000\r\n");
        buffer_append(&bytes, word, sizeof(word));
        buffer_append_c_string(&bytes, "\r\n");
    }
    /* The socket takes less than all: the rest follows from a child. */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int flags = fcntl(p.fd, F_GETFL);
        fcntl(p.fd, F_SETFL, flags & ~O_NONBLOCK);
        for (size_t sent = 0; sent < bytes.length;) {
            ssize_t more = write(p.fd, bytes.bytes + sent, bytes.length - sent);
            if (more <= 0) break;
            sent += (size_t)more;
        }
        _exit(0);
    }
    assert_int_equal(dialog_read(&dialog), DIALOG_FAULT);
    assert_true(dialog.input.length <= DIALOG_REQUEST_BYTES_MAX + 4096);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    buffer_free(&bytes);
    end_dialog(&p);
}

static void test_ends(void **state) {
    struct peer p = open_dialog();
    say(&p, "*1\r\n$1\r\ns\r\n*1\r\n");
    assert_request("s");
    close(p.fd);
    p.fd = -1;
    assert_int_equal(dialog_read(&dialog), DIALOG_ENDED);
    assert_int_equal(dialog_read(&dialog), DIALOG_ENDED);
    assert_false(dialog_write(&dialog, SLICE("x")));
    end_dialog(&p);
}

/* Nothing is waited for then, and what can be written is. */
static void test_is_interrupted(void **state) {
    struct peer p = open_dialog();
    looks_left = 2;
    assert_int_equal(dialog_read(&dialog), DIALOG_ENDED);
    assert_true(dialog_write(&dialog, SLICE("+bye\r\n")));
    peer_receive(&p, SIZE_MAX);
    assert_int_equal(p.got.length, 6);
    end_dialog(&p);
}

/* The other end reads late, and gets all. */
static void test_writes_all(void **state) {
    struct peer p = open_dialog();
    size_t length = 4 << 20, got = 0;
    char *bytes = memory_alloc(length, MEMORY_OTHER);
    memset(bytes, 'x', length);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(dialog_write(&dialog, (struct slice){bytes, length}) ? 0 : 1);
    while (got < length) {
        struct pollfd ready = {.fd = p.fd, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, 30000), 1);
        got += peer_receive(&p, SIZE_MAX);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(got, length);
    memory_free(bytes, MEMORY_OTHER);
    end_dialog(&p);
}

static int open_all(void **state) { return peers_open(&executor); }

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin, peers_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_requests),       TEST(test_in_pieces),  TEST(test_large_words),
        TEST(test_no_requests),    TEST(test_too_much),   TEST(test_ends),
        TEST(test_is_interrupted), TEST(test_writes_all),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
