// SPDX-License-Identifier: BSD-3-Clause
// What a client for Java must see behind Sentinels, whichever client it is: what Sentinels tell and
// are told, reads and writes, a failover that was asked for, one of a primary that hangs. The classes
// of the clients extend this one: SentinelJedis.java, SentinelLettuce.java.
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

abstract class SentinelChecks extends Checks {
    static final String NAME = "m";
    static final Duration LIMIT = Duration.ofSeconds(2);

    SentinelChecks(String[] words) {
        super(words);
    }

    // A connection to one Sentinel. A primary that is not known is an error.
    interface Sentinel extends Closed {
        String address(String name); // HOST:PORT
        Map<String, String> primary(String name);
        List<Map<String, String>> primaries();
        List<Map<String, String>> replicas(String name);
        List<Map<String, String>> others(String name);
        String failover(String name);
        String monitor(String name, String host, int port, int quorum);
        String set(String name, String option, String value);
        long reset(String pattern);
        String remove(String name);
    }

    // A client of a server that was found by asking Sentinels, and is found anew when it changes.
    interface Server extends Closed {
        String set(String key, String value);
        String get(String key);
        String info(); // its section `server`
    }

    abstract Sentinel sentinel(int number);
    abstract Server primary();
    abstract Server replica();
    // Puts into the queue what one Sentinel publishes; returns when that has begun.
    abstract Closed listen(int number, String channel, BlockingQueue<String> heard)
        throws Exception;

    // ---- Tools ----

    static boolean fails(Condition condition) {
        try {
            condition.holds();
            return false;
        } catch (Exception e) {
            return true;
        }
    }

    private String addressOfPrimary() {
        try (Sentinel s = sentinel(0)) {
            return s.address(NAME);
        }
    }

    private boolean isPrimary(Server server) {
        String port = addressOfPrimary().split(":")[1];
        return server.info().contains("tcp_port:" + port + "\r\n");
    }

    private boolean isAtRest(int number) {
        try (Sentinel s = sentinel(number)) {
            List<Map<String, String>> replicas = s.replicas(NAME);
            return !s.primary(NAME).containsKey("failover-state") && replicas.size() == 2
                && replicas.stream().allMatch(replica ->
                    replica.get("role-reported").equals("slave")
                        && replica.get("master-link-status").equals("ok"));
        }
    }

    // No failover is under way at any Sentinel, and two replicas are up.
    private void rest() throws InterruptedException {
        await("rest", () -> isAtRest(0) && isAtRest(1) && isAtRest(2));
    }

    // ---- Checks ----

    private void tells() {
        try (Sentinel s = sentinel(0)) {
            Map<String, String> state = s.primary(NAME);
            String address = state.get("ip") + ":" + state.get("port");
            expect(state.get("num-slaves").equals("2"), state);
            expect(state.get("flags").equals("master"), state);
            expect(s.address(NAME).equals(address), address);
            expect(s.primaries().size() == 1, s.primaries());
            expect(s.replicas(NAME).size() == 2, s.replicas(NAME));
            expect(s.others(NAME).size() == 2, s.others(NAME));
            expect(s.others(NAME).stream().allMatch(other ->
                ports.contains(Integer.valueOf(other.get("port")))), s.others(NAME));
            expect(fails(() -> s.primary("none") == null), "an unknown primary is known");
        }
    }

    private void isTold() {
        String[] address = addressOfPrimary().split(":");
        try (Sentinel s = sentinel(0)) {
            String monitored = s.monitor("other", address[0], Integer.parseInt(address[1]), 2);
            expect(monitored.equals("OK"), monitored);
            expect(s.set("other", "down-after-milliseconds", "4000").equals("OK"), "SET");
            expect(s.primary("other").get("down-after-milliseconds").equals("4000"), "not set");
            expect(fails(() -> s.set("other", "quorum", "0").isEmpty()), "quorum 0 is taken");
            expect(s.reset("oth*") == 1, "RESET");
            expect(s.remove("other").equals("OK"), "REMOVE");
            expect(fails(() -> s.failover("other").isEmpty()), "it is there yet");
        }
    }

    private void readsAndWrites() throws InterruptedException {
        rest();
        try (Server primary = primary(); Server replica = replica()) {
            expect(primary.set("key", "value").equals("OK"), "SET");
            await("the key at a replica", () -> replica.get("key").equals("value"));
            expect(replica.info().contains("tcp_port:"), replica.info());
            expect(!isPrimary(replica), "it is the primary");
        }
    }

    interface Strike {
        void at(String address) throws Exception;
    }

    // A change of primaries, which the standing client and a listener must see.
    private void follow(Strike strike) throws Exception {
        rest();
        String old = addressOfPrimary();
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        try (Server primary = primary(); Closed listener = listen(0, "+switch-master", heard)) {
            expect(primary.set("before", "1").equals("OK"), "SET");
            strike.at(old);
            await("another primary", () -> !addressOfPrimary().equals(old));
            await("a write to it", () ->
                primary.set("after", "1").equals("OK") && isPrimary(primary));
            String said = heard.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            String wanted = NAME + " " + old.replace(':', ' ') + " ";
            expect(said != null && said.startsWith(wanted), said);
            rest();
            expect(primary.get("before").equals("1"), "a write before it is lost");
        }
    }

    private void failsOver() throws Exception {
        follow(old -> await("FAILOVER", () -> {
            try (Sentinel s = sentinel(1)) {
                return s.failover(NAME).equals("OK");
            }
        }));
    }

    private void hangs() throws Exception {
        follow(old -> {
            try (Socket socket = new Socket(host, Integer.parseInt(old.split(":")[1]))) {
                socket.setSoTimeout(200);
                socket.getOutputStream().write("DEBUG SLEEP 12\r\n".getBytes());
                expect(socket.getInputStream().read() < 0, "it does not sleep");
            } catch (SocketTimeoutException e) {
                return; /* it sleeps */
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
    }

    // ---- All of it ----

    // Returns the exit status.
    int runAll() {
        run("what Sentinels tell", this::tells);
        run("what Sentinels are told", this::isTold);
        run("reads and writes", this::readsAndWrites);
        run("a failover", this::failsOver);
        run("a primary that hangs", this::hangs);
        return end();
    }
}
