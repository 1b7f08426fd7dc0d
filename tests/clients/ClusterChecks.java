// SPDX-License-Identifier: BSD-3-Clause
// What a client of a cluster for Java must see, whichever client it is: its map of the slots,
// redirections of slots that move and have moved, keys of one slot, pipelines, pub/sub, replicas, a
// failover and a primary that ends. The classes of the clients extend this one: ClusterJedis.java,
// ClusterLettuce.java.
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

abstract class ClusterChecks extends Checks {
    private static final int SLOTS = 16384;
    static final int LIMIT_MSEC = 10000;

    ClusterChecks(String[] words) {
        super(words);
    }

    // A client of the cluster. An error of the server is an exception with the error's text.
    interface Cluster extends Closed {
        String set(String key, String value);
        String get(String key);
        long incr(String key);
        long delete(String key);
        String setBoth(String key, String value, String other, String otherValue);
        List<String> getBoth(String key, String other);
        String script(String text, String key, String other);
        // Increments all of the keys in one pipeline; the replies.
        List<Long> incrAll(List<String> keys);
        String getFromReplica(String key);
        void publish(String channel, String text);
    }

    abstract Cluster cluster();
    // Puts into the queue what is published on the channel; returns when that has begun.
    abstract Closed listen(String channel, BlockingQueue<String> heard) throws Exception;

    // ---- Tools ----

    static void expectEqual(Object wanted, Object found) {
        expect(wanted.equals(found), "expected " + wanted + ", found " + found);
    }

    // ---- One node, asked without a client ----

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\r'; c = in.read()) {
            if (c < 0) throw new EOFException();
            line.append((char) c);
        }
        in.read();
        return line.toString();
    }

    // Arrays are lists, others texts; an error is an exception.
    private static Object reply(InputStream in) throws IOException {
        String line = line(in), rest = line.substring(1);
        switch (line.charAt(0)) {
        case '-':
            throw new IllegalStateException(rest);
        case '$':
            int length = Integer.parseInt(rest);
            if (length < 0) return "";
            String text = new String(in.readNBytes(length), StandardCharsets.UTF_8);
            line(in);
            return text;
        case '*':
            List<Object> list = new ArrayList<>();
            for (int i = Integer.parseInt(rest); i > 0; i--) list.add(reply(in));
            return list;
        default:
            return rest;
        }
    }

    // What the node at the port answers to the words on one connection; the last reply.
    private Object call(int port, String[]... commands) {
        try (Socket socket = new Socket(host, port)) {
            socket.setSoTimeout(LIMIT_MSEC);
            InputStream in = new BufferedInputStream(socket.getInputStream());
            Object found = "";
            for (String[] words : commands) {
                StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
                for (String word : words)
                    request.append("$" + word.length() + "\r\n" + word + "\r\n");
                socket.getOutputStream().write(
                    request.toString().getBytes(StandardCharsets.US_ASCII));
                found = reply(in);
            }
            return found;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Object call(int port, String... words) {
        return call(port, new String[][] {words});
    }

    private void expectError(String wanted, int port, String... words) {
        try {
            throw new AssertionError("no error: " + call(port, words));
        } catch (RuntimeException e) {
            expect(String.valueOf(e.getMessage()).contains(wanted), e);
        }
    }

    // The ports of each slot's primary and replicas, as the node shows them.
    private List<List<Integer>> map(int port) {
        List<List<Integer>> found = new ArrayList<>();
        for (int slot = 0; slot < SLOTS; slot++) found.add(List.of());
        for (Object row : (List<?>) call(port, "CLUSTER", "SLOTS")) {
            List<?> words = (List<?>) row;
            List<Integer> nodes = words.stream().skip(2)
                .map(node -> Integer.valueOf((String) ((List<?>) node).get(1))).toList();
            int first = Integer.parseInt((String) words.get(0));
            int last = Integer.parseInt((String) words.get(1));
            for (int slot = first; slot <= last; slot++) found.set(slot, nodes);
        }
        return found;
    }

    private int slotOf(String key) {
        return Integer.parseInt((String) call(ports.get(0), "CLUSTER", "KEYSLOT", key));
    }

    private List<Integer> shard(String key) {
        return map(ports.get(0)).get(slotOf(key));
    }

    // All nodes are up and agree, and each slot has a primary and a replica.
    private boolean isAtRest() {
        Set<List<List<Integer>>> maps = new HashSet<>();
        for (int port : ports) {
            String state = (String) call(port, "CLUSTER", "INFO");
            String data = (String) call(port, "INFO", "replication");
            if (!state.contains("cluster_state:ok") || data.contains("link_status:down"))
                return false;
            maps.add(map(port));
        }
        return maps.size() == 1 && maps.iterator().next().stream().allMatch(s -> s.size() == 2);
    }

    // The slot of a key on its way from its primary to another one.
    private final class Move {
        final int slot, source, target;
        private final String id;

        Move(String key) {
            List<List<Integer>> map = map(ports.get(0));
            slot = slotOf(key);
            source = map.get(slot).get(0);
            target = map.stream().map(nodes -> nodes.get(0)).filter(port -> port != source)
                .findFirst().orElseThrow();
            id = (String) call(target, "CLUSTER", "MYID");
            String from = (String) call(source, "CLUSTER", "MYID");
            call(target, "CLUSTER", "SETSLOT", "" + slot, "IMPORTING", from);
            call(source, "CLUSTER", "SETSLOT", "" + slot, "MIGRATING", id);
        }

        void keys() {
            for (;;) {
                List<?> some = (List<?>) call(source, "CLUSTER", "GETKEYSINSLOT", "" + slot, "100");
                if (some.isEmpty()) return;
                List<String> words = new ArrayList<>(
                    List.of("MIGRATE", host, "" + target, "", "0", "5000", "KEYS"));
                some.forEach(key -> words.add((String) key));
                call(source, words.toArray(String[]::new));
            }
        }

        void end() throws InterruptedException {
            keys();
            for (int port : List.of(target, source))
                call(port, "CLUSTER", "SETSLOT", "" + slot, "NODE", id);
            await("all nodes know the owner",
                () -> ports.stream().allMatch(port -> map(port).get(slot).get(0) == target));
        }
    }

    // ---- Checks ----

    private void knowsMap() {
        List<List<Integer>> map = map(ports.get(0));
        Set<Integer> owners = new HashSet<>();
        try (Cluster c = cluster()) {
            for (int i = 0; i < 300; i++) expectEqual("OK", c.set("map:" + i, "" + i));
            for (int i = 0; i < 300; i++) {
                int owner = map.get(slotOf("map:" + i)).get(0);
                owners.add(owner);
                expectEqual("" + i, c.get("map:" + i));
                expectEqual("" + i, call(owner, "GET", "map:" + i));
            }
        }
        expectEqual(3, owners.size());
    }

    private void takesKeysOfOneSlot() {
        try (Cluster c = cluster()) {
            expectEqual("OK", c.setBoth("{t}a", "1", "{t}b", "2"));
            expectEqual(List.of("1", "2"), c.getBoth("{t}a", "{t}b"));
            String script = "return redis.call('get', KEYS[1]) .. redis.call('get', KEYS[2])";
            expectEqual("12", c.script(script, "{t}a", "{t}b"));
        }
        expectError("CROSSSLOT Keys in request don't hash to the same slot", shard("a").get(0),
            "MGET", "a", "b");
    }

    private void findsMovedSlot() throws InterruptedException {
        try (Cluster c = cluster()) {
            c.set("{moved}", "before");
            Move move = new Move("{moved}");
            move.end();
            expectEqual("before", c.get("{moved}"));
            expectEqual("OK", c.set("{moved}", "after"));
            expectEqual("after", call(move.target, "GET", "{moved}"));
            expectError("MOVED " + move.slot + " " + host + ":" + move.target, move.source,
                "GET", "{moved}");
            new Move("{moved}").end();
        }
    }

    private void findsMovingSlot() throws InterruptedException {
        try (Cluster c = cluster()) {
            c.set("{ask}here", "1");
            c.delete("{ask}there");
            Move move = new Move("{ask}");
            expectError("ASK " + move.slot + " " + host + ":" + move.target, move.source,
                "GET", "{ask}there");
            expectEqual("OK", c.set("{ask}there", "2"));
            expectEqual("1", c.get("{ask}here"));
            expectEqual(3L, c.incr("{ask}there"));
            expectEqual("1", call(move.source, "CLUSTER", "COUNTKEYSINSLOT", "" + move.slot));
            move.keys();
            expectEqual("1", c.get("{ask}here"));
            expectEqual("3", c.get("{ask}there"));
            move.end();
            expectEqual(List.of("1", "3"), c.getBoth("{ask}here", "{ask}there"));
            new Move("{ask}").end();
        }
    }

    // Of the keys' slots one has moved, and the client does not know; it does at the second time.
    private void pipelines() throws InterruptedException {
        List<String> keys = List.of("pipe:0", "pipe:1", "pipe:2", "pipe:3", "pipe:4");
        try (Cluster c = cluster()) {
            for (String key : keys) c.set(key, "0");
            expectEqual(List.of(1L, 1L, 1L, 1L, 1L), c.incrAll(keys));
            new Move("pipe:1").end();
            c.get("pipe:1");
            expectEqual(List.of(2L, 2L, 2L, 2L, 2L), c.incrAll(keys));
            new Move("pipe:1").end();
        }
    }

    private void publishes() throws Exception {
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        try (Cluster c = cluster(); Closed listener = listen("news", heard)) {
            c.publish("news", "by the client");
            expectEqual("by the client", heard.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            for (int port : ports) {
                call(port, "PUBLISH", "news", "by " + port);
                expectEqual("by " + port, heard.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            }
        }
    }

    private void readsFromReplicas() throws InterruptedException {
        try (Cluster c = cluster()) {
            c.set("{r}", "value");
            for (int i = 0; i < 6; i++)
                await("the key", () -> c.getFromReplica("{r}").equals("value"));
        }
        String redirection = "MOVED " + slotOf("{r}") + " " + host + ":" + shard("{r}").get(0);
        expectEqual("value", call(shard("{r}").get(1), new String[][] {
            {"READONLY"}, {"GET", "{r}"}}));
        expectError(redirection, shard("{r}").get(1), "GET", "{r}");
        expectError(redirection, shard("{r}").get(1), "SET", "{r}", "x");
    }

    interface Strike {
        void at(int old, int replica);
    }

    // Another node gets the slots of a primary; a standing client goes on.
    private void follow(Strike strike) throws InterruptedException {
        int old = shard("{f}").get(0), replica = shard("{f}").get(1);
        try (Cluster c = cluster()) {
            c.set("{f}before", "1");
            await("the copy", () -> call(old, "DBSIZE").equals(call(replica, "DBSIZE")));
            strike.at(old, replica);
            await("another primary",
                () -> ((List<?>) call(replica, "ROLE")).get(0).equals("master"));
            await("a write", () -> c.set("{f}after", "1").equals("OK"));
            expectEqual("1", c.get("{f}before"));
            await("rest", this::isAtRest);
            await("a read", () -> c.get("{f}after").equals("1"));
            expectEqual("slave", ((List<?>) call(old, "ROLE")).get(0));
        }
    }

    private void failsOver() throws InterruptedException {
        follow((old, replica) -> call(replica, "CLUSTER", "FAILOVER"));
    }

    private void losesPrimary() throws InterruptedException {
        follow((old, replica) -> {
            try {
                call(old, "SHUTDOWN", "NOSAVE");
            } catch (RuntimeException e) {
                return; /* it has closed the connection */
            }
        });
    }

    // ---- All of it ----

    @Override
    void prepare() throws Exception {
        await("rest", this::isAtRest);
    }

    // Returns the exit status.
    int runAll() {
        run("the map", this::knowsMap);
        run("keys of one slot", this::takesKeysOfOneSlot);
        run("a slot that has moved", this::findsMovedSlot);
        run("a slot that moves", this::findsMovingSlot);
        run("pipelines", this::pipelines);
        run("pub/sub", this::publishes);
        run("replicas", this::readsFromReplicas);
        run("a failover", this::failsOver);
        run("a primary that ends", this::losesPrimary);
        return end();
    }
}
