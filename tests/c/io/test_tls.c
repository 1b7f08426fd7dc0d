/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/tls: two connections of ours, or one of ours and a client of libssl's that does what
 * it should not. The system's transfers are cut and interrupted in the test of much both ways.
 * SEED=n repeats the random choices.
 */
#include "io/tls.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/faults.h"
#include "io/certificates.h"
#include "io/connection.h"
#include "io/loop.h"

#define TURNS_MAX 200000
#define BYTES 1000000
#define LEAST_BYTES 16384 /* of each write: a record */
/* What docs and the option tls-handshakes-max say of one handshake, at most. */
#define HANDSHAKE_BYTES_MAX (150 * 1024)

/* A connection with its owner, who reads and writes all that it can. */
struct end {
    struct loop_watcher watcher;
    struct connection *connection;
    unsigned wanted;
    bool failed, ended;
    size_t to_send, sent, received, room;
    int calls; /* in this turn */
};

static struct loop *loop;
static struct end ends[2]; /* [0] accepts */
static char reason[256];
static char read_buffer[65536], write_buffer[70000];

static char byte_at(size_t place) { return (char)(place * 13 + place / 251); }

static void end_read(struct end *e) {
    char *bytes = read_buffer;
    ssize_t got = connection_read(e->connection, bytes, e->room);
    if (got < 0 && errno == EAGAIN) return;
    e->ended = got == 0;
    e->failed |= got < 0;
    for (ssize_t i = 0; i < got; i++)
        if (bytes[i] != byte_at(e->received++)) fail_msg("byte %zu is another", e->received - 1);
}

/* Some pieces, at another place of the memory each time. */
static void end_write(struct end *e) {
    enum { PIECES = 6 };
    char *bytes = write_buffer;
    struct iovec pieces[PIECES];
    size_t shift = random_below(1000), offered = 0;
    for (int i = 0; i < PIECES; i++) {
        size_t length = random_below(2) ? random_below(200) : random_below(11000);
        if (length > e->to_send - offered || i == PIECES - 1) length = e->to_send - offered;
        if (length > 11000) length = 11000;
        pieces[i] = (struct iovec){bytes + shift + offered, length};
        offered += length;
    }
    /* What came to nothing comes again, and at least as much. */
    size_t least = e->to_send < LEAST_BYTES ? e->to_send : LEAST_BYTES;
    if (offered < least) {
        pieces[PIECES - 1].iov_len += least - offered;
        offered = least;
    }
    for (size_t i = 0; i < offered; i++) bytes[shift + i] = byte_at(e->sent + i);
    ssize_t sent = connection_writev(e->connection, pieces, PIECES);
    if (sent > 0) {
        e->to_send -= (size_t)sent;
        e->sent += (size_t)sent;
    }
    e->failed |= sent < 0 && errno != EAGAIN;
}

static void end_ready(struct loop_watcher *watcher, unsigned ready) {
    struct end *e = (struct end *)watcher;
    bool was_established = e->connection->established;
    uint64_t before = fault_counts[FAULT_READ];
    e->calls++;
    enum connection_step step = connection_handshake(e->connection, reason, sizeof(reason));
    assert_true(fault_counts[FAULT_READ] <= before + 1);
    e->failed |= step == CONNECTION_FAILED;
    if (step == CONNECTION_DONE) {
        ready = was_established ? connection_ready(e->connection, ready) : e->wanted;
        if (ready & LOOP_WRITABLE) end_write(e);
        if (ready & LOOP_READABLE) end_read(e);
    }
    e->wanted = LOOP_READABLE | (e->to_send ? LOOP_WRITABLE : 0u);
    if (e->failed || e->ended)
        connection_unwatch(e->connection);
    else
        assert_true(connection_watch(e->connection, loop, watcher, e->wanted));
}

static void end_open(struct end *e, int fd, enum connection_side side) {
    *e = (struct end){.watcher = {.fd = fd, .callback = end_ready}, .room = 65536};
    e->wanted = LOOP_READABLE;
    e->connection = connection_open(&tls_transport, fd, side, MEMORY_OTHER, reason, sizeof(reason));
    assert_non_null(e->connection);
    assert_true(connection_watch(e->connection, loop, &e->watcher, e->wanted));
}

static void end_close(struct end *e) {
    connection_close(e->connection);
    if (e->connection) close(e->watcher.fd);
    *e = (struct end){.watcher.fd = -1};
}

static void one_turn(void) {
    ends[0].calls = ends[1].calls = 0;
    loop_turn(loop, 0);
    loop_check(loop);
}

static void turns(int count) {
    while (count--) one_turn();
}

/* ---- settings ---- */

/* A server that asks for certificates; both sides have one. */
static struct tls_settings usual(void) {
    return (struct tls_settings){
        .accepts = true,
        .certificates_only = true,
        .clients = TLS_AUTH_YES,
        .session_caching = true,
        .session_cache_size = 100,
        .session_cache_timeout_sec = 300,
        .cert_file = certificate_path("server.crt"),
        .key_file = certificate_path("server.key"),
        .client_cert_file = certificate_path("client.crt"),
        .client_key_file = certificate_path("client.key"),
        .ca_file = certificate_path("ca.crt"),
    };
}

static void configure(struct tls_settings s) {
    if (!tls_configure(&s, reason, sizeof(reason))) fail_msg("%s", reason);
}

static void assert_refused(struct tls_settings s, const char *why) {
    assert_false(tls_configure(&s, reason, sizeof(reason)));
    if (strncmp(reason, why, strlen(why)) != 0) fail_msg("'%s' is not '%s'", reason, why);
}

static int begin_all(void **state) {
    const struct tls_settings none = {.insecure = true}; /* libssl gets its allocator */
    if (!tls_configure(&none, reason, sizeof(reason))) return -1;
    certificates_make();
    return 0;
}

static int end_all(void **state) {
    certificates_remove();
    tls_forget();
    return 0;
}

static int begin(void **state) {
    loop = loop_create();
    configure(usual());
    tls_stats_clear();
    faults_bytes_max = faults_percent = 0;
    return 0;
}

static int finish(void **state) {
    faults_bytes_max = faults_percent = 0;
    end_close(&ends[0]);
    end_close(&ends[1]);
    loop_free(loop);
    return connection_handshakes() ? -1 : 0;
}

static void open_pair(int fds[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

static void open_both(void) {
    int fds[2];
    open_pair(fds);
    end_open(&ends[0], fds[0], CONNECTION_ACCEPTS);
    end_open(&ends[1], fds[1], CONNECTION_CONNECTS);
    assert_true(connection_watch(ends[1].connection, loop, &ends[1].watcher, LOOP_READABLE));
}

static bool are_established(void) {
    return ends[0].connection->established && ends[1].connection->established;
}

static void shake_hands(void) {
    for (int i = 0; i < TURNS_MAX && !are_established(); i++) one_turn();
    if (!are_established()) fail_msg("no handshake: %s", reason);
}

static void want(struct end *e, unsigned wanted) {
    e->wanted = wanted;
    assert_true(connection_watch(e->connection, loop, &e->watcher, wanted));
}

/* ---- what should be ---- */

/* Both send much at once, and the system cuts what it likes; then nobody is called any more, and
 * the end of one is heard by the other. */
static void test_both_ways(void **state) {
    static const char *const protocols[] = {"TLSv1.2", "TLSv1.3"};
    for (size_t round = 0; round < 6; round++) {
        struct tls_settings s = usual();
        s.protocols = protocols[round % 2];
        configure(s);
        faults_bytes_max = round < 2 ? 0 : 1 + random_below(20000);
        faults_percent = round < 2 ? 0 : 10;
        open_both();
        ends[0].room = 1 + random_below(60000);
        ends[0].to_send = ends[1].to_send = BYTES;
        for (int i = 0; i < TURNS_MAX && ends[0].received + ends[1].received < 2 * BYTES; i++)
            one_turn();
        assert_int_equal(ends[0].received, BYTES);
        assert_int_equal(ends[1].received, BYTES);
        assert_false(ends[0].failed || ends[1].failed);
        int quiet = 0;
        for (int i = 0; i < TURNS_MAX && quiet < 3; i++) {
            one_turn();
            quiet = ends[0].calls || ends[1].calls ? 0 : quiet + 1;
        }
        assert_int_equal(quiet, 3);
        faults_bytes_max = faults_percent = 0;
        end_close(&ends[0]);
        for (int i = 0; i < TURNS_MAX && !ends[1].ended; i++) one_turn();
        assert_true(ends[1].ended);
        end_close(&ends[1]);
    }
}

/* What is read ahead is told without the socket; not to an owner who would not read. */
static void test_pending(void **state) {
    open_both();
    shake_hands();
    turns(10);
    ends[0].room = 10;
    ends[1].to_send = 100;
    want(&ends[1], LOOP_READABLE | LOOP_WRITABLE);
    for (int i = 0; i < TURNS_MAX && !ends[0].received; i++) one_turn();
    assert_int_equal(ends[0].received, 10);
    want(&ends[0], LOOP_HANGUP);
    turns(5);
    assert_int_equal(ends[0].received, 10);
    want(&ends[0], LOOP_READABLE);
    for (size_t taken = 20; taken <= 100; taken += 10) {
        loop_turn(loop, -1); /* it would sleep for good if nothing were pending */
        assert_int_equal(ends[0].received, taken);
    }
    turns(3);
    assert_int_equal(ends[0].calls, 0);
}

/* close_notify, and an end without one, are an end; an abandoned connection says nothing. */
static void test_ends(void **state) {
    for (int how = 0; how < 3; how++) {
        open_both();
        shake_hands();
        turns(10);
        int fd = dup(ends[1].watcher.fd); /* the socket stays open: only what is said counts */
        if (how == 1) connection_abandon(ends[0].connection);
        if (how == 2) shutdown(ends[0].watcher.fd, SHUT_RDWR);
        int server_fd = dup(ends[0].watcher.fd);
        end_close(&ends[0]);
        turns(10);
        assert_int_equal(ends[1].ended, how != 1);
        assert_false(ends[1].failed);
        close(server_fd);
        turns(10);
        assert_true(ends[1].ended);
        close(fd);
        end_close(&ends[1]);
    }
}

/* The goodbye behind bytes that fill the reader's room is not lost. */
static void test_end_behind_bytes(void **state) {
    open_both();
    shake_hands();
    turns(10);
    want(&ends[0], LOOP_HANGUP);
    ends[1].to_send = 5000;
    want(&ends[1], LOOP_READABLE | LOOP_WRITABLE);
    for (int i = 0; i < TURNS_MAX && ends[1].to_send; i++) one_turn();
    int fd = dup(ends[1].watcher.fd);
    end_close(&ends[1]);
    want(&ends[0], LOOP_READABLE);
    for (int i = 0; i < TURNS_MAX && !ends[0].ended; i++) one_turn();
    assert_int_equal(ends[0].received, 5000);
    assert_true(ends[0].ended);
    close(fd);
}

static void reach(struct tls_settings s, bool done) {
    configure(s);
    open_both();
    turns(50);
    assert_int_equal(!ends[0].failed && are_established(), done);
    end_close(&ends[0]);
    end_close(&ends[1]);
}

static void test_certificates(void **state) {
    struct tls_settings s = usual();
    reach(s, true);
    s.client_cert_file = certificate_path("stranger.crt");
    s.client_key_file = certificate_path("stranger.key");
    reach(s, false);
    s.clients = TLS_AUTH_OPTIONAL;
    reach(s, false);
    s.clients = TLS_AUTH_NO;
    reach(s, true);
    assert_int_equal(tls_stats()->failed, 2);
    s.cert_file = certificate_path("stranger.crt"); /* we do not believe it */
    s.key_file = certificate_path("stranger.key");
    reach(s, false);
    s.insecure = true;
    reach(s, true);
}

/* What cannot be had is said, and what there was stays. */
static void test_refused_settings(void **state) {
    struct tls_settings s = usual();
    s.cert_file = "";
    assert_refused(s, "No tls-cert-file configured!");
    s = usual();
    s.key_file = NULL;
    assert_refused(s, "No tls-key-file configured!");
    s = usual();
    s.ca_file = "";
    assert_refused(s, "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when");
    s.ca_file = "/no/such/file";
    assert_refused(s, "Failed to configure CA certificate(s) file/directory: error:");
    s = usual();
    s.cert_file = "/no/such/file";
    assert_refused(s, "Failed to load certificate: /no/such/file: error:");
    s = usual();
    s.key_file = certificate_path("client.key");
    assert_refused(s, "Failed to load private key: ");
    s.key_file = certificate_path("server-locked.key");
    assert_refused(s, "Failed to load private key: ");
    s.key_pass = "wrong";
    assert_refused(s, "Failed to load private key: ");
    s = usual();
    s.client_key_file = certificate_path("server.key");
    assert_refused(s, "Failed to load private key: ");
    s = usual();
    s.protocols = "TLSv1.2 foo";
    assert_refused(s, "Invalid tls-protocols specified. Use a combination of");
    s.protocols = " ";
    assert_refused(s, "Invalid tls-protocols specified. Use a combination of");
    s = usual();
    s.ciphers = "foo";
    assert_refused(s, "Failed to configure ciphers: foo");
    s = usual();
    s.ciphersuites = "foo";
    assert_refused(s, "Failed to configure ciphersuites: foo");
    s = usual();
    s.dh_params_file = certificate_path("server.key");
    assert_refused(s, certificate_path("server.key"));
    open_both();
    shake_hands();
    end_close(&ends[0]);
    end_close(&ends[1]);
    s = usual();
    s.key_file = certificate_path("server-locked.key");
    s.key_pass = "sesame";
    reach(s, true);
}

/* Those that are there go on when the contexts go. */
static void test_configured_anew(void **state) {
    open_both();
    shake_hands();
    struct tls_settings s = usual();
    s.ca_file = certificate_path("other.crt");
    configure(s);
    ends[1].to_send = 100;
    want(&ends[1], LOOP_READABLE | LOOP_WRITABLE);
    turns(10);
    assert_int_equal(ends[0].received, 100);
    tls_forget();
    ends[1].to_send = 100;
    want(&ends[1], LOOP_READABLE | LOOP_WRITABLE);
    turns(10);
    assert_int_equal(ends[0].received, 200);
    assert_null(connection_open(&tls_transport, 0, CONNECTION_ACCEPTS, MEMORY_OTHER, reason,
                                sizeof(reason)));
    assert_string_equal(reason, "TLS is not configured");
}

/* ---- a client of libssl's ---- */

static SSL_CTX *wild_context;
static SSL *wild;
static int wild_fd;

static void wild_open(int version) {
    int fds[2];
    open_pair(fds);
    end_open(&ends[0], fds[0], CONNECTION_ACCEPTS);
    wild_fd = fds[1];
    wild_context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(wild_context, version);
    SSL_CTX_set_max_proto_version(wild_context, version);
    SSL_CTX_use_certificate_file(wild_context, certificate_path("client.crt"), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(wild_context, certificate_path("client.key"), SSL_FILETYPE_PEM);
    wild = SSL_new(wild_context);
    SSL_set_fd(wild, wild_fd);
}

static void wild_shake_hands(void) {
    int done = 0;
    for (int i = 0; i < 100 && done != 1; i++) {
        done = SSL_connect(wild);
        one_turn();
    }
    assert_int_equal(done, 1);
    turns(5);
    assert_true(ends[0].connection->established);
}

static void wild_close(void) {
    SSL_free(wild);
    SSL_CTX_free(wild_context);
    close(wild_fd);
    end_close(&ends[0]);
}

/* Changes of keys without an end are no business of a client's; a few are. */
static void test_changes_of_keys(void **state) {
    wild_open(TLS1_3_VERSION);
    wild_shake_hands();
    for (int i = 0; i < 200; i++) { /* each with data: no flood */
        assert_true(SSL_key_update(wild, SSL_KEY_UPDATE_NOT_REQUESTED));
        char byte = byte_at((size_t)i);
        assert_int_equal(SSL_write(wild, &byte, 1), 1);
        one_turn();
    }
    turns(5);
    assert_int_equal(ends[0].received, 200);
    for (int i = 0; i < 1000; i++) {
        SSL_key_update(wild, SSL_KEY_UPDATE_NOT_REQUESTED);
        if (SSL_do_handshake(wild) <= 0) break;
    }
    turns(5);
    assert_true(ends[0].failed);
    wild_close();
}

/* Records of a byte: a read takes its share of the socket, and no more. */
static void test_small_records(void **state) {
    wild_open(TLS1_3_VERSION);
    wild_shake_hands();
    connection_unwatch(ends[0].connection);
    size_t sent = 0;
    for (char byte; byte = byte_at(sent), SSL_write(wild, &byte, 1) == 1;) sent++;
    SSL_free(wild); /* what could not be sent is not tried again */
    wild = SSL_new(wild_context);
    assert_true(sent > 100);
    int reads = 0;
    while (ends[0].received < sent) {
        const char *bytes = read_buffer;
        uint64_t before = fault_counts[FAULT_READ];
        ssize_t got = connection_read(ends[0].connection, read_buffer, sizeof(read_buffer));
        if (got <= 0) fail_msg("%zd after %zu of %zu", got, ends[0].received, sent);
        assert_in_range(fault_counts[FAULT_READ] - before, 0, TLS_READS_MAX);
        for (ssize_t i = 0; i < got; i++)
            if (bytes[i] != byte_at(ends[0].received++)) fail_msg("another byte");
        reads++;
    }
    assert_in_range(reads, 1, sent);
    wild_close();
}

/* A wish to begin anew is refused; the connection goes on, or ends, but is not begun anew. */
static void test_renegotiation(void **state) {
    wild_open(TLS1_2_VERSION);
    wild_shake_hands();
    SSL_renegotiate(wild);
    SSL_do_handshake(wild);
    turns(5);
    char byte;
    assert_true(SSL_read(wild, &byte, 1) <= 0);
    assert_int_equal(tls_stats()->handshakes, 1);
    wild_close();
}

/* Sessions are resumed, and not under other settings than they were made under. */
static void test_sessions(void **state) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        tls_stats_clear();
        wild_open(version);
        wild_shake_hands();
        char byte;
        assert_true(SSL_read(wild, &byte, 1) <= 0); /* the tickets of TLS 1.3 */
        SSL_SESSION *session = SSL_get1_session(wild);
        SSL_shutdown(wild);
        wild_close();
        for (int round = 0; round < 2; round++) {
            if (round) configure(usual());
            wild_open(version);
            SSL_set_session(wild, session);
            wild_shake_hands();
            assert_int_equal(tls_stats()->resumed, 1);
            SSL_shutdown(wild);
            wild_close();
        }
        SSL_SESSION_free(session);
    }
    struct tls_settings s = usual();
    s.session_caching = false;
    configure(s);
    wild_open(TLS1_3_VERSION);
    wild_shake_hands();
    char byte;
    assert_int_equal(SSL_read(wild, &byte, 1), -1);
    assert_int_equal(SSL_get_error(wild, -1), SSL_ERROR_WANT_READ);
    SSL_SESSION *session = SSL_get1_session(wild);
    assert_false(SSL_SESSION_is_resumable(session));
    SSL_SESSION_free(session);
    wild_close();
}

/* ---- handshakes that never end ---- */

static int raw_fd;

/* All that libssl has, of connections too. */
static size_t tls_bytes(void) {
    return memory_used(tls_memory) + connection_booked_bytes(tls_memory);
}

static void raw_open(void) {
    int fds[2];
    open_pair(fds);
    end_open(&ends[0], fds[0], CONNECTION_ACCEPTS);
    raw_fd = fds[1];
}

static void raw_close(void) {
    close(raw_fd);
    end_close(&ends[0]);
}

static void raw_say(const void *bytes, size_t length) {
    assert_int_equal(write(raw_fd, bytes, length), length);
}

static void test_no_tls(void **state) {
    static const char *const said[] = {"PING\r\n", "*1\r\n$4\r\nPING\r\n", "GET / HTTP/1.1\r\n",
                                       "\x16\x03\x01\xff\xff\x01", "\x17\x03\x03"};
    static const size_t lengths[] = {6, 14, 16, 6, 3};
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        raw_open();
        raw_say(said[i], lengths[i]);
        turns(10);
        if (i < 3) assert_true(ends[0].failed);
        shutdown(raw_fd, SHUT_WR);
        turns(10);
        assert_true(ends[0].failed);
        raw_close();
    }
}

static size_t allocated_most;
static void note_allocated(size_t bytes) {
    if (bytes > allocated_most) allocated_most = bytes;
}
static void note_freed(size_t bytes) {}
static const struct memory_hook largest_hook = {note_allocated, note_freed};

static void say_record(const unsigned char *bytes, size_t length) {
    const unsigned char header[] = {0x16, 3, 1, (unsigned char)(length >> 8),
                                    (unsigned char)length};
    raw_say(header, sizeof(header));
    raw_say(bytes, length);
    turns(3);
}

/* A first message of which all but the last byte comes: what is set aside for it has a bound,
 * whatever it says how long it is. */
static void test_long_messages(void **state) {
    static const unsigned claims[] = {200, 16000, 36000, 131000, 0xffffff};
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        unsigned char said[16384] = {0};
        said[0] = 1;
        for (int byte = 0; byte < 3; byte++)
            said[1 + byte] = (unsigned char)(claims[i] >> (16 - 8 * byte));
        size_t before = tls_bytes(), most = 0;
        raw_open();
        allocated_most = 0;
        memory_set_hook(&largest_hook);
        for (size_t left = 4 + claims[i] - 1; left && !ends[0].failed;) {
            size_t length = left < sizeof(said) ? left : sizeof(said);
            say_record(said, length);
            memset(said, 0, 4);
            left -= length;
            if (tls_bytes() - before > most) most = tls_bytes() - before;
        }
        turns(3);
        memory_set_hook(NULL);
        assert_int_equal(ends[0].failed, claims[i] > 36000);
        assert_in_range(most, 1, HANDSHAKE_BYTES_MAX);
        assert_in_range(allocated_most, 1, memory_good_size(TLS_HANDSHAKE_BLOCK_MAX));
        raw_close();
    }
}

/* Nothing where nothing was said; a bound wherever it stops. */
static void test_memory_of_handshakes(void **state) {
    size_t before = tls_bytes();
    raw_open();
    turns(3);
    assert_int_equal(tls_bytes(), before); /* it has said nothing */
    raw_close();
    /* Stops at each of its messages in turn. */
    for (int steps = 1; steps < 4; steps++) {
        wild_open(TLS1_3_VERSION);
        size_t with_client = tls_bytes(), most = 0;
        SSL_connect(wild);
        size_t of_client = tls_bytes() - with_client;
        for (int i = 0; i < steps; i++) {
            one_turn();
            size_t now = tls_bytes() - with_client - of_client;
            if (now > most) most = now;
        }
        assert_in_range(most, 1, HANDSHAKE_BYTES_MAX);
        if (getenv("VERBOSE")) printf("a handshake that waits: %zu bytes\n", most);
        wild_close();
    }
    wild_open(TLS1_3_VERSION);
    wild_shake_hands();
    if (getenv("VERBOSE")) printf("both ends at rest: %zu bytes\n", tls_bytes() - before);
    wild_close();
}

static size_t booked_of(const struct end *e) {
    return connection_bytes(e->connection) - memory_good_size(tls_transport.bytes);
}

/* What libssl holds for a connection is its owner's, to a step of CONNECTION_BOOK_BYTES: at rest,
 * in the midst of a record, in another class; and nobody's when it is closed. The sessions that it
 * keeps besides are small. */
static void test_memory_is_the_owners(void **state) {
    enum { SESSIONS = 4096, RECORD = 16000 };
    size_t before = tls_bytes(), of_owners = memory_used(MEMORY_OTHER);
    assert_int_equal(connection_booked_bytes(tls_memory), 0);
    open_both();
    size_t structs = connection_bytes(ends[0].connection) + connection_bytes(ends[1].connection);
    shake_hands();
    turns(10);
    size_t booked = booked_of(&ends[0]) + booked_of(&ends[1]);
    assert_int_equal(connection_booked_bytes(tls_memory), booked);
    assert_int_equal(memory_used(MEMORY_OTHER) - of_owners, structs + booked);
    assert_in_range(booked, 20000, 100000);
    size_t truth = tls_bytes() - before;
    assert_in_range(booked + 2 * CONNECTION_BOOK_BYTES + SESSIONS, truth, 2 * truth);
    /* A record that is not whole stands in a buffer. */
    size_t at_rest = booked_of(&ends[0]);
    static const char header[] = {0x17, 3, 3, RECORD >> 8, (char)(RECORD & 255)};
    static const char half[RECORD / 2];
    assert_int_equal(write(ends[1].watcher.fd, header, sizeof(header)), sizeof(header));
    assert_int_equal(write(ends[1].watcher.fd, half, sizeof(half)), sizeof(half));
    turns(3);
    assert_in_range(booked_of(&ends[0]), at_rest + RECORD - CONNECTION_BOOK_BYTES,
                    at_rest + 2 * RECORD);
    connection_move(ends[0].connection, MEMORY_CLIENTS);
    assert_int_equal(memory_used(MEMORY_CLIENTS), connection_bytes(ends[0].connection));
    end_close(&ends[0]);
    end_close(&ends[1]);
    assert_int_equal(memory_used(MEMORY_CLIENTS), 0);
    assert_int_equal(memory_used(MEMORY_OTHER), of_owners);
    assert_int_equal(connection_booked_bytes(tls_memory), 0);
}

static void test_expiry(void **state) {
    clock_use_fixed(1000000000, 1000000000);
    raw_open();
    turns(3);
    assert_int_equal(connection_handshakes(), 1);
    clock_advance_usec(2000000);
    connection_end_handshakes(5000, 3000);
    turns(3);
    assert_false(ends[0].failed);
    raw_say("\x16", 1);
    turns(3);
    clock_advance_usec(2000000);
    connection_end_handshakes(5000, 3000); /* it has said something two seconds ago */
    turns(3);
    assert_false(ends[0].failed);
    clock_advance_usec(2000000);
    connection_end_handshakes(5000, 3000);
    turns(3);
    assert_true(ends[0].failed);
    assert_string_equal(reason, "the handshake took too long");
    raw_close();
    raw_open();
    clock_advance_usec(4000000);
    connection_end_handshakes(5000, 3000); /* never said anything */
    turns(3);
    assert_true(ends[0].failed);
    raw_close();
    clock_use_system();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        TEST(test_both_ways),
        TEST(test_pending),
        TEST(test_ends),
        TEST(test_end_behind_bytes),
        TEST(test_certificates),
        TEST(test_refused_settings),
        TEST(test_configured_anew),
        TEST(test_changes_of_keys),
        TEST(test_small_records),
        TEST(test_renegotiation),
        TEST(test_sessions),
        TEST(test_no_tls),
        TEST(test_long_messages),
        TEST(test_memory_of_handshakes),
        TEST(test_memory_is_the_owners),
        TEST(test_expiry),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
