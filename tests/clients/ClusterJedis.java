// SPDX-License-Identifier: BSD-3-Clause
// Jedis and a cluster: JedisCluster, ClusterPipeline, and RedisClusterClient for replicas. What is
// checked is in ClusterChecks.java.
//
// usage: ClusterJedis HOST PORT...     (with_cluster.py starts the nodes and calls it)
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import redis.clients.jedis.ClusterPipeline;
import redis.clients.jedis.CommandObjects;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;

@SuppressWarnings("deprecation") // of JedisCluster, which programs have
final class ClusterJedis extends ClusterChecks {
    private static final int ATTEMPTS = 5;
    private static final JedisClientConfig CONFIG = config().build();
    private static final CommandObjects COMMANDS = new CommandObjects(RedisProtocol.RESP2);

    private ClusterJedis(String[] words) {
        super(words);
    }

    private static DefaultJedisClientConfig.Builder config() {
        return DefaultJedisClientConfig.builder().connectionTimeoutMillis(LIMIT_MSEC)
            .socketTimeoutMillis(LIMIT_MSEC);
    }

    private Set<HostAndPort> nodes() {
        return ports.stream().map(port -> new HostAndPort(host, port)).collect(Collectors.toSet());
    }

    // Writes and reads go through one client, reads from replicas through another.
    @Override
    Cluster cluster() {
        JedisCluster client = new JedisCluster(nodes(), CONFIG, ATTEMPTS);
        RedisClusterClient reader = RedisClusterClient.builder().nodes(nodes())
            .clientConfig(config().readOnlyForRedisClusterReplicas().build()).build();
        return new Cluster() {
            public String set(String key, String value) { return client.set(key, value); }
            public String get(String key) { return client.get(key); }
            public long incr(String key) { return client.incr(key); }
            public long delete(String key) { return client.del(key); }
            public String setBoth(String key, String value, String other, String otherValue) {
                return client.mset(key, value, other, otherValue);
            }
            public List<String> getBoth(String key, String other) {
                return client.mget(key, other);
            }
            public String script(String text, String key, String other) {
                return (String) client.eval(text, List.of(key, other), List.of());
            }
            public List<Long> incrAll(List<String> keys) {
                try (ClusterPipeline pipeline = client.pipelined()) {
                    List<Response<Long>> replies = keys.stream().map(pipeline::incr).toList();
                    pipeline.sync();
                    return replies.stream().map(Response::get).toList();
                }
            }
            public String getFromReplica(String key) {
                return reader.executeCommandToReplica(COMMANDS.get(key));
            }
            public void publish(String channel, String text) { client.publish(channel, text); }
            public void close() {
                client.close();
                reader.close();
            }
        };
    }

    @Override
    Closed listen(String channel, BlockingQueue<String> heard) throws Exception {
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
        JedisCluster client = new JedisCluster(nodes(), config().socketTimeoutMillis(0).build());
        Thread thread = new Thread(() -> {
            client.subscribe(listener, channel);
            client.close();
        });
        thread.setDaemon(true);
        thread.start();
        expect(begun.await(LIMIT_MSEC, TimeUnit.MILLISECONDS), "no subscription");
        return listener::unsubscribe;
    }

    public static void main(String[] words) {
        Logger.getLogger("").setLevel(Level.OFF); // what is logged of nodes that are gone
        System.exit(new ClusterJedis(words).runAll());
    }
}
