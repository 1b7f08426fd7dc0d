// SPDX-License-Identifier: BSD-3-Clause
// Jedis behind Sentinels: RedisSentinelClient and JedisSentinelPool, which find the primary, and
// Jedis' commands for Sentinels. What is checked is in SentinelChecks.java.
//
// usage: SentinelJedis HOST PORT...     (with_sentinels.py starts the Sentinels and calls it)
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.JedisSentinelPool;
import redis.clients.jedis.RedisSentinelClient;

@SuppressWarnings("deprecation") // of JedisSentinelPool, which programs have
final class SentinelJedis extends SentinelChecks {
    private static final JedisClientConfig CONFIG = DefaultJedisClientConfig.builder()
        .connectionTimeoutMillis((int) LIMIT.toMillis()).socketTimeoutMillis((int) LIMIT.toMillis())
        .build();

    private SentinelJedis(String[] words) {
        super(words);
    }

    private Jedis jedis(int number) {
        return new Jedis(new HostAndPort(host, ports.get(number)), CONFIG);
    }

    private Set<HostAndPort> sentinels() {
        return ports.stream().map(port -> new HostAndPort(host, port)).collect(Collectors.toSet());
    }

    @Override
    Sentinel sentinel(int number) {
        Jedis jedis = jedis(number);
        return new Sentinel() {
            public String address(String name) {
                return String.join(":", jedis.sentinelGetMasterAddrByName(name));
            }
            public Map<String, String> primary(String name) { return jedis.sentinelMaster(name); }
            public List<Map<String, String>> primaries() { return jedis.sentinelMasters(); }
            public List<Map<String, String>> replicas(String name) {
                return jedis.sentinelReplicas(name);
            }
            public List<Map<String, String>> others(String name) {
                return jedis.sentinelSentinels(name);
            }
            public String failover(String name) { return jedis.sentinelFailover(name); }
            public String monitor(String name, String host, int port, int quorum) {
                return jedis.sentinelMonitor(name, host, port, quorum);
            }
            public String set(String name, String option, String value) {
                return jedis.sentinelSet(name, Map.of(option, value));
            }
            public long reset(String pattern) { return jedis.sentinelReset(pattern); }
            public String remove(String name) { return jedis.sentinelRemove(name); }
            public void close() { jedis.close(); }
        };
    }

    // Writes go through the client, reads through the pool: each finds the primary by itself.
    @Override
    Server primary() {
        RedisSentinelClient client = RedisSentinelClient.builder().masterName(NAME)
            .sentinels(sentinels()).clientConfig(CONFIG).sentinelClientConfig(CONFIG).build();
        JedisSentinelPool pool = new JedisSentinelPool(NAME, sentinels(), CONFIG, CONFIG);
        return new Server() {
            public String set(String key, String value) { return client.set(key, value); }
            public String get(String key) {
                try (Jedis jedis = pool.getResource()) {
                    return jedis.get(key);
                }
            }
            public String info() {
                try (Jedis jedis = pool.getResource()) {
                    return jedis.info("server");
                }
            }
            public void close() {
                client.close();
                pool.close();
            }
        };
    }

    // Jedis has no client of replicas: who uses it asks a Sentinel for them.
    @Override
    Server replica() {
        Jedis jedis;
        try (Sentinel s = sentinel(0)) {
            Map<String, String> first = s.replicas(NAME).get(0);
            int port = Integer.parseInt(first.get("port"));
            jedis = new Jedis(new HostAndPort(first.get("ip"), port), CONFIG);
        }
        return new Server() {
            public String set(String key, String value) { return jedis.set(key, value); }
            public String get(String key) { return jedis.get(key); }
            public String info() { return jedis.info("server"); }
            public void close() { jedis.close(); }
        };
    }

    @Override
    Closed listen(int number, String channel, BlockingQueue<String> heard) throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onSubscribe(String name, int count) {
                begun.countDown();
            }
            @Override
            public void onMessage(String name, String text) {
                heard.add(text);
            }
        };
        Thread thread = new Thread(() -> {
            try (Jedis jedis = new Jedis(host, ports.get(number), (int) LIMIT.toMillis(), 0)) {
                jedis.subscribe(listener, channel);
            }
        });
        thread.setDaemon(true);
        thread.start();
        expect(begun.await(PATIENCE.toSeconds(), TimeUnit.SECONDS), "no subscription");
        return listener::unsubscribe;
    }

    public static void main(String[] words) {
        Logger.getLogger("").setLevel(Level.OFF); // what is logged of failovers is left out
        System.exit(new SentinelJedis(words).runAll());
    }
}
