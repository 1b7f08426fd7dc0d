/* SPDX-License-Identifier: BSD-3-Clause
 * Lines of nodes and nodes.conf: the form, each damage with its sentence, cuts at every byte, and
 * random clusters there and back.
 */
#include "topology/node_text.h"

#include "base/clock.h"
#include "base/seed.h"
#include "topology/cluster_scene.h"

#define NOW_MSEC INT64_C(1700000000000)
#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"
#define D "dddddddddddddddddddddddddddddddddddddddd"
#define ME A " 127.0.0.1:7001@17001 myself,master - 0 0 1 connected"
#define OTHER B " 127.0.0.1:7002@17002 master - 1 2 3 connected"
#define VARS "vars currentEpoch 5 lastVoteEpoch 3\n"

/* ---- Printing ---- */

static void assert_line(const struct cluster *c, const struct cluster_node *node, bool plain,
                        const char *wanted) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    cluster_node_print(c, node, plain, &out);
    assert_string_equal(out.bytes, wanted);
    buffer_free(&out);
}

static void test_lines(void **state) {
    struct cluster *c = scene_cluster('a');
    assert_line(c, c->self, false, A " :0@0 myself,master - 0 0 0 connected");
    struct cluster_node *b = scene_add(c, 'b', 0);
    b->address.port = 7002;
    b->address.plain_port = 6002;
    b->address.bus_port = 17002;
    b->ping_sent_msec = 11;
    b->pong_received_msec = 22;
    b->config_epoch = UINT64_MAX;
    assert_line(c, b, false,
                B " 127.0.0.1:7002@17002 noflags - 11 22 18446744073709551615 disconnected");
    cluster_set_primary(c, b);
    scene_give(c, b, 3, 5);
    scene_give(c, b, 7, 7);
    scene_give(c, b, 16382, 16383);
    cluster_set_replica(c, c->self, b);
    /* Marks are shown in one's own line only, and do not interrupt the runs. */
    cluster_slot_set_migrating(c, 4, b);
    cluster_slot_set_importing(c, 4, b);
    cluster_slot_set_importing(c, 16383, b);
    b->config_epoch = 4;
    b->flags |= CLUSTER_NODE_SUSPECTED | CLUSTER_NODE_NO_FAILOVER | CLUSTER_NODE_MIGRATE_TO;
    b->link = (struct cluster_link *)c; /* only whether there is one counts */
    assert_line(c, b, true,
                B
                " 127.0.0.1:6002@17002 master,fail?,nofailover - 11 22 4 connected"
                " 3-5 7 16382-16383");
    assert_line(c, c->self, true,
                A " :0@0 myself,slave " B " 0 0 4 connected [4->-" B "] [4-<-" B "] [16383-<-" B
                  "]");
    struct cluster_node *d =
        scene_add(c, 'd', CLUSTER_NODE_FAILED | CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_NO_ADDRESS);
    d->address = (struct cluster_address){.host = "::1", .port = 1, .bus_port = 2};
    assert_line(c, d, false, D " ::1:1@2 fail,handshake,noaddr - 0 0 0 disconnected");
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    scene_give(c, d, 0, 0);
    cluster_nodes_print(c, false, &out);
    assert_string_equal(
        out.bytes,
        A " :0@0 myself,slave " B " 0 0 4 connected [4->-" B "] [4-<-" B "] [16383-<-" B "]\n" B
          " 127.0.0.1:7002@17002 master,fail?,nofailover - 11 22 4 connected"
          " 3-5 7 16382-16383\n" D " ::1:1@2 fail,handshake,noaddr - 0 0 0 disconnected 0\n");
    buffer_clear(&out);
    cluster_file_print(c, &out);
    assert_non_null(strstr(out.bytes, B " 127.0.0.1:7002@17002 master,fail?"));
    assert_null(strstr(out.bytes, D " "));
    assert_non_null(strstr(out.bytes, "\nvars currentEpoch 0 lastVoteEpoch 0\n"));
    buffer_free(&out);
    cluster_free(c);
}

/* Clients are not shown that this node's own slot is unconfirmed; the file keeps it. */
static void test_unconfirmed_slots(void **state) {
    static const char mark[] = "[5-<-" B "]";
    struct cluster *c = scene_cluster('a');
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    struct buffer out, why;
    cluster_slot_set_importing(c, 5, b);
    cluster_slot_assign(c, 5, c->self);
    cluster_slot_set_migrating(c, 6, b);
    assert_line(c, c->self, false, A " :0@0 myself,master - 0 0 0 connected 5 [6->-" B "]");
    buffer_init(&out, MEMORY_OTHER);
    buffer_init(&why, MEMORY_OTHER);
    cluster_nodes_print(c, false, &out);
    assert_null(strstr(out.bytes, mark));
    buffer_clear(&out);
    cluster_file_print(c, &out);
    assert_non_null(strstr(out.bytes, mark));
    cluster_free(c);
    c = cluster_file_parse(buffer_slice(&out), &why);
    assert_non_null(c);
    assert_true(cluster_slot_is_unconfirmed(c, 5));
    buffer_free(&why);
    buffer_free(&out);
    cluster_free(c);
}

/* ---- Reading ---- */

static struct cluster *parse(const char *text, struct buffer *why) {
    buffer_init(why, MEMORY_OTHER);
    struct cluster *c = cluster_file_parse(slice_of(text), why);
    if (c) {
        cluster_check(c);
        assert_int_equal(why->length, 0);
    } else {
        assert_true(why->length > 0);
    }
    return c;
}

static struct cluster *parse_good(const char *text) {
    struct buffer why;
    struct cluster *c = parse(text, &why);
    if (!c) fail_msg("%s\n%s", text, why.bytes);
    buffer_free(&why);
    return c;
}

static void test_whole_file(void **state) {
    clock_use_fixed(NOW_MSEC * 1000, 0);
    struct cluster *c =
        parse_good(C " ::1:7003@17003 slave,fail " B
                     " 0 77 9 disconnected\n"
                     "\n" A
                     " 127.0.0.1:7001@17001 myself,master,nofailover,fail - 5 6 1 connected"
                     " 0-5 7 [9->-" B "] [10-<-" D "]\n" OTHER
                     " 8-9 100-16383\n"
                     "vars currentEpoch 5 lastVoteEpoch 3\n\n\n");
    struct cluster_node *b = scene_find(c, 'b'), *replica = scene_find(c, 'c');
    assert_int_equal(c->count, 4);
    /* This node does not judge itself, and has no times of its own. */
    assert_int_equal(c->self->flags, CLUSTER_NODE_MYSELF | CLUSTER_NODE_PRIMARY |
                                         CLUSTER_NODE_NO_FAILOVER | CLUSTER_NODE_MIGRATE_TO);
    assert_int_equal(c->self->ping_sent_msec + c->self->pong_received_msec, 0);
    assert_string_equal(c->self->id.text, A);
    assert_int_equal(c->self->slot_count, 7);
    assert_int_equal(c->self->config_epoch, 1);
    assert_int_equal(b->slot_count, 2 + 16284);
    assert_int_equal(b->address.bus_port, 17002);
    assert_int_equal(b->ping_sent_msec, NOW_MSEC);
    assert_int_equal(b->pong_received_msec, NOW_MSEC);
    assert_ptr_equal(replica->primary, b);
    assert_string_equal(replica->address.host, "::1");
    assert_int_equal(replica->flags, CLUSTER_NODE_REPLICA | CLUSTER_NODE_FAILED);
    assert_int_equal(replica->failed_msec, NOW_MSEC);
    assert_int_equal(replica->ping_sent_msec, 0);
    assert_int_equal(replica->config_epoch, 0);
    assert_ptr_equal(c->migrating_to[9], b);
    assert_ptr_equal(c->importing_from[10], scene_find(c, 'd'));
    assert_int_equal(scene_find(c, 'd')->flags, 0); /* named, and without a line of its own */
    assert_int_equal(c->current_epoch, 9); /* a line had a greater one than the variables */
    assert_int_equal(c->last_vote_epoch, 3);
    cluster_free(c);
    clock_use_system();
}

/* What 6.2 reads as well: Redis 7 writes more behind the ports, old versions no bus port. */
static void test_other_versions(void **state) {
    struct cluster *c = parse_good(
        A " 10.0.0.1:7001@17001,name.example myself,master - 0 0 1 connected\r\n" B
          " 10.0.0.2:7002@17003,,tls-port=0,shard-id=" D " MASTER - 1 2 3 CONNECTED 5\n" C
          " 10.0.0.3:7003 slave - 1 2 0 connected\n"
          "VARS lastvoteepoch 0 currentepoch 7 something else\n");
    assert_string_equal(c->self->address.host, "10.0.0.1");
    assert_int_equal(c->self->address.bus_port, 17001);
    assert_int_equal(scene_find(c, 'b')->address.bus_port, 17003);
    assert_int_equal(scene_find(c, 'c')->address.bus_port, 17003);
    assert_true(cluster_node_has(scene_find(c, 'c'), CLUSTER_NODE_REPLICA));
    assert_int_equal(c->current_epoch, 7);
    cluster_free(c);
}

static const struct {
    const char *text, *why;
} damages[] = {
    {"", "the file was cut: its last line, 'vars ...', is missing"},
    {"\n\n", "the file was cut: its last line, 'vars ...', is missing"},
    {ME "\n", "the file was cut: its last line, 'vars ...', is missing"},
    {ME "\n" OTHER, "line 2: the file was cut: its last line has no end"},
    {ME "\nvars currentEpoch 5 lastVoteEpoch 3",
     "line 2: the file was cut: its last line has no end"},
    {OTHER "\n" VARS, "no line says 'myself'"},
    {ME "\n\n" VARS OTHER "\n", "line 4: no line may stand behind 'vars'"},
    {ME "\n" VARS VARS, "line 3: a second line says 'vars'"},
    {ME "\n" B " :0@0 myself,master - 0 0 0 connected\n" VARS,
     "line 2: a second line says 'myself'"},
    {ME "\n" OTHER "\n" OTHER "\n" VARS, "line 3: a second line is about node " B},
    {OTHER "\n" B " :0@0 myself,master - 0 0 0 connected\n" VARS,
     "line 2: a second line is about node " B},
    {"\"" ME "\n" VARS, "line 1: a quote is not closed"},
    {A " :0@0 myself,master - 0 0 0\n" VARS, "line 1: a node has 8 fields, and here are 7"},
    {"aaaa :0@0 myself,master - 0 0 0 connected\n" VARS, "line 1: 'aaaa' is not an id of a node"},
    {A "a :0@0 myself,master - 0 0 0 connected\n" VARS, "line 1: '" A "a' is not an id of a node"},
    {"\"\\x00\\n\" :0@0 myself,master - 0 0 0 connected\n" VARS,
     "line 1: '..' is not an id of a node"},
    /* flags */
    {A " :0@0 myself,primary - 0 0 0 connected\n" VARS,
     "line 1: 'primary' is not a flag of a node"},
    {A " :0@0 myself,master, - 0 0 0 connected\n" VARS, "line 1: '' is not a flag of a node"},
    {A " :0@0 \"\" - 0 0 0 connected\n" VARS, "line 1: '' is not a flag of a node"},
    {A " :0@0 myself,master,slave - 0 0 0 connected\n" VARS,
     "line 1: a node is either 'master' or 'slave'"},
    {A " :0@0 myself - 0 0 0 connected\n" VARS, "line 1: 'myself' must be 'master' or 'slave'"},
    /* addresses */
    {A " 127.0.0.1 myself,master - 0 0 0 connected\n" VARS,
     "line 1: '127.0.0.1' is not an address, host:port@busport"},
    {A " h@x:1@2 myself,master - 0 0 0 connected\n" VARS,
     "line 1: 'h@x:1@2' is not an address, host:port@busport"},
    {A " \"a b:1@2\" myself,master - 0 0 0 connected\n" VARS,
     "line 1: 'a b:1@2' is not an address, host:port@busport"},
    {A " 1234567890123456789012345678901234567890123456:1@2 myself,master - 0 0 0 connected\n" VARS,
     "line 1: '1234567890123456789012345678901234567890123456:1@2' is not an address, "
     "host:port@busport"},
    {A " \"\" myself,master - 0 0 0 connected\n" VARS,
     "line 1: '' is not an address, host:port@busport"},
    {A " h:65536@2 myself,master - 0 0 0 connected\n" VARS, "line 1: '65536' is not a port"},
    {A " h:1@-1 myself,master - 0 0 0 connected\n" VARS, "line 1: '-1' is not a port"},
    {A " h:@1 myself,master - 0 0 0 connected\n" VARS, "line 1: '' is not a port"},
    {A " h:55536 myself,master - 0 0 0 connected\n" VARS,
     "line 1: 'h:55536' is not an address whose bus port can be told"},
    /* primaries, times, epochs, links */
    {A " h:1@2 myself,slave " A " 0 0 0 connected\n" VARS, "line 1: a node is not its own primary"},
    {A " h:1@2 myself,slave abc 0 0 0 connected\n" VARS, "line 1: 'abc' is not an id of a node"},
    {A " h:1@2 myself,master " B " 0 0 0 connected\n" VARS, "line 1: only a 'slave' has a primary"},
    {A " h:1@2 myself,master - x 0 0 connected\n" VARS, "line 1: 'x' is not a time"},
    {A " h:1@2 myself,master - 0 -1 0 connected\n" VARS, "line 1: '-1' is not a time"},
    {A " h:1@2 myself,master - 0 9223372036854775808 0 connected\n" VARS,
     "line 1: '9223372036854775808' is not a time"},
    {A " h:1@2 myself,master - 0 0 1.5 connected\n" VARS, "line 1: '1.5' is not an epoch"},
    {A " h:1@2 myself,master - 0 0 18446744073709551616 connected\n" VARS,
     "line 1: '18446744073709551616' is not an epoch"},
    {A " h:1@2 myself,master - 0 0 1 conn\n" VARS,
     "line 1: 'conn' is not 'connected' or 'disconnected'"},
    /* slots */
    {ME " 16384\n" VARS, "line 1: '16384' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " 5-16384\n" VARS,
     "line 1: '5-16384' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " 5-\n" VARS, "line 1: '5-' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " -5\n" VARS, "line 1: '-5' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " 1-2-3\n" VARS, "line 1: '1-2-3' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " 05\n" VARS, "line 1: '05' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " \"\"\n" VARS, "line 1: '' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " 9-5\n" VARS, "line 1: '9-5' is not a range that ascends"},
    {ME " 0-5 3\n" VARS, "line 1: slot 3 has an owner already, node " A},
    {ME " 0-5\n" OTHER " 5\n" VARS, "line 2: slot 5 has an owner already, node " A},
    /* open slots */
    {ME "\n" OTHER " [5->-" A "]\n" VARS, "line 2: only 'myself' has open slots"},
    {ME " [5\n" VARS, "line 1: '[5' is not an open slot, [slot->-id] or [slot-<-id]"},
    {ME " [5->-abc]\n" VARS, "line 1: '[5->-abc]' is not an open slot, [slot->-id] or [slot-<-id]"},
    {ME " [->-" B "]\n" VARS,
     "line 1: '[->-" B "]' is not an open slot, [slot->-id] or [slot-<-id]"},
    {ME " [5-x-" B "]\n" VARS,
     "line 1: '[5-x-" B "]' is not an open slot, [slot->-id] or [slot-<-id]"},
    {ME " [5->-" B "\n" VARS,
     "line 1: '[5->-" B "' is not an open slot, [slot->-id] or [slot-<-id]"},
    {ME " [5->-Bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb]\n" VARS,
     "line 1: 'Bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' is not an id of a node"},
    {ME " [16384->-" B "]\n" VARS,
     "line 1: '[16384->-" B "]' is not a slot, first-last or [slot->-id], below 16384"},
    {ME " [5->-" B "] [5->-" C "]\n" VARS, "line 1: slot 5 is open twice in the same way"},
    /* variables */
    {ME "\nvars currentEpoch 5 lastVoteEpoch\n", "line 2: a variable has no value"},
    {ME "\nvars currentEpoch 5\n", "line 2: 'vars' has no lastVoteEpoch"},
    {ME "\nvars lastVoteEpoch 5\n", "line 2: 'vars' has no currentEpoch"},
    {ME "\nvars\n", "line 2: 'vars' has no currentEpoch"},
    {ME "\nvars currentEpoch 5 lastVoteEpoch x\n", "line 2: 'x' is not an epoch"},
    {ME "\nvars currentEpoch 5 lastVoteEpoch 3 currentEpoch 6\n",
     "line 2: 'currentEpoch' stands there twice"},
    {ME "\nvars currentEpoch 5 lastVoteEpoch 6\n",
     "line 2: the last vote is later than the current epoch"},
};

static void test_damages(void **state) {
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct buffer why;
        struct cluster *c = parse(damages[i].text, &why);
        if (c) fail_msg("was taken: %s", damages[i].text);
        if (strcmp(why.bytes, damages[i].why) != 0)
            fail_msg("%s\nsays   %s\nwanted %s", damages[i].text, why.bytes, damages[i].why);
        buffer_free(&why);
    }
}

static void test_too_many_nodes(void **state) {
    struct buffer text, why;
    buffer_init(&text, MEMORY_OTHER);
    buffer_append_c_string(&text, ME "\n");
    for (int i = 1; i < CLUSTER_NODES_MAX; i++)
        buffer_printf(&text, "%040x :0@0 master - 0 0 0 disconnected\n", (unsigned)i);
    size_t length = text.length;
    buffer_append_c_string(&text, VARS);
    cluster_free(parse_good(text.bytes));
    /* One more, with a line of its own, and only named. */
    text.length = length;
    buffer_append_c_string(&text, OTHER "\n" VARS);
    assert_null(parse(text.bytes, &why));
    assert_string_equal(why.bytes, "line 4097: there are more than 4096 nodes");
    buffer_free(&why);
    text.length = 0;
    for (int i = 1; i < CLUSTER_NODES_MAX; i++)
        buffer_printf(&text, "%040x :0@0 master - 0 0 0 disconnected\n", (unsigned)i);
    buffer_append_c_string(&text, ME " [5->-" B "]\n" VARS);
    assert_null(parse(text.bytes, &why));
    assert_string_equal(why.bytes, "line 4096: there are more than 4096 nodes");
    buffer_free(&why);
    buffer_free(&text);
}

/* ---- There and back ---- */

static unsigned draw_slot(void) { return (unsigned)random_below(KEY_SLOTS); }

static struct cluster_node *draw_node(struct cluster *c) {
    return c->nodes[random_below(c->count)];
}

static void draw_address(struct cluster_node *node) {
    snprintf(node->address.host, sizeof(node->address.host), "%s",
             random_below(2)   ? "10.1.2.3"
             : random_below(2) ? "fe80::1"
                               : "");
    node->address.port = (uint16_t)random_u64();
    node->address.bus_port = (uint16_t)random_u64();
}

/* A cluster of which the file keeps all: its nodes have no times. */
static struct cluster *draw_cluster(void) {
    struct cluster *c = cluster_new();
    size_t count = random_below(12);
    for (size_t i = 0; i < count; i++) {
        struct cluster_id id = cluster_id_draw();
        struct cluster_node *node =
            cluster_add(c, &id,
                        (unsigned)random_below(2) * CLUSTER_NODE_PRIMARY +
                            (unsigned)random_below(2) * CLUSTER_NODE_SUSPECTED +
                            (unsigned)random_below(2) * CLUSTER_NODE_NO_FAILOVER);
        draw_address(node);
        node->config_epoch = random_u64() >> random_below(64);
    }
    for (size_t i = 0; i < c->count; i++) {
        struct cluster_node *primary = draw_node(c);
        if (random_below(2) && primary != c->nodes[i])
            cluster_set_replica(c, c->nodes[i], random_below(5) ? primary : NULL);
    }
    for (int i = 0; i < 60; i++) {
        unsigned slot = draw_slot();
        scene_give(c, draw_node(c), slot, slot + (unsigned)random_below(KEY_SLOTS - slot) / 50);
        if (random_below(4) == 0) cluster_slot_set_migrating(c, draw_slot(), draw_node(c));
        if (random_below(4) == 0) cluster_slot_set_importing(c, draw_slot(), draw_node(c));
    }
    for (size_t i = 0; i < c->count; i++)
        if (cluster_node_epoch(c->nodes[i]) > c->current_epoch)
            c->current_epoch = cluster_node_epoch(c->nodes[i]);
    c->last_vote_epoch = c->current_epoch / 2;
    return c;
}

static void test_there_and_back(void **state) {
    struct buffer text, again;
    buffer_init(&text, MEMORY_OTHER);
    buffer_init(&again, MEMORY_OTHER);
    seed_from_environment();
    for (int i = 0; i < 200; i++) {
        struct cluster *c = draw_cluster();
        buffer_clear(&text);
        buffer_clear(&again);
        cluster_file_print(c, &text);
        struct cluster *copy = parse_good(text.bytes);
        cluster_file_print(copy, &again);
        assert_string_equal(text.bytes, again.bytes);
        assert_int_equal(copy->open_marks, c->open_marks);
        cluster_free(copy);
        cluster_free(c);
    }
    buffer_free(&text);
    buffer_free(&again);
}

/* Each cut is refused, but for those that only take blank lines away. */
static void test_cut_at_every_byte(void **state) {
    static const char text[] =
        C " ::1:7003@17003 slave,fail " B " 0 77 9 disconnected\n" ME " 0-5 7 [9->-" B "] [10-<-" D
          "]\n" OTHER " 8-9 100-16383\nvars currentEpoch 55 lastVoteEpoch 33\n\n\n";
    size_t whole = sizeof(text) - 1 - 2;
    for (size_t length = 0; length < sizeof(text); length++) {
        char *copy = memory_alloc(length, MEMORY_OTHER); /* a read behind the cut is seen */
        struct buffer why;
        memcpy(copy, text, length);
        buffer_init(&why, MEMORY_OTHER);
        struct cluster *c = cluster_file_parse((struct slice){copy, length}, &why);
        if ((c != NULL) != (length >= whole))
            fail_msg("cut at %zu of %zu: %s", length, whole, c ? "taken" : why.bytes);
        cluster_free(c);
        buffer_free(&why);
        memory_free(copy, MEMORY_OTHER);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),          cmocka_unit_test(test_unconfirmed_slots),
        cmocka_unit_test(test_whole_file),     cmocka_unit_test(test_other_versions),
        cmocka_unit_test(test_damages),        cmocka_unit_test(test_too_many_nodes),
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_cut_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
