// SPDX-License-Identifier: BSD-3-Clause
// How checks of a client for Java are run and counted: SentinelChecks.java and ClusterChecks.java
// have the checks.
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

abstract class Checks {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    final String host;
    final List<Integer> ports;
    private int passed, failed;

    // HOST PORT...: of Sentinels, or of the nodes of a cluster
    Checks(String[] words) {
        host = words[0];
        ports = Arrays.stream(words).skip(1).map(Integer::valueOf).toList();
    }

    interface Closed extends AutoCloseable {
        @Override
        void close();
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static boolean holds(Condition condition) {
        try {
            return condition.holds();
        } catch (Exception e) {
            return false;
        }
    }

    static void expect(boolean holds, Object shown) {
        if (!holds) throw new AssertionError(String.valueOf(shown));
    }

    static void await(String what, Condition condition) throws InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!holds(condition)) {
            expect(System.nanoTime() < end, "not in time: " + what);
            Thread.sleep(50);
        }
    }

    interface Check {
        void run() throws Exception;
    }

    // Called before each check.
    void prepare() throws Exception {}

    final void run(String title, Check check) {
        try {
            prepare();
            check.run();
            passed++;
        } catch (Exception | AssertionError e) {
            failed++;
            System.out.println("FAIL  " + getClass().getName() + ", " + title + "\n      " + e);
        }
    }

    // Prints the sum; returns the exit status.
    final int end() {
        System.out.println(passed + " passed, " + failed + " failed");
        return failed > 0 || passed == 0 ? 1 : 0;
    }
}
