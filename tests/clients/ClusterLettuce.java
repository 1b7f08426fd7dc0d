// SPDX-License-Identifier: BSD-3-Clause
// Lettuce and a cluster: RedisClusterClient, with adaptive refreshes of its map, and its
// connections for pub/sub and for replicas. What is checked is in ClusterChecks.java.
//
// usage: ClusterLettuce HOST PORT...     (with_cluster.py starts the nodes and calls it)
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.logging.Level;
import java.util.logging.Logger;

final class ClusterLettuce extends ClusterChecks {
    private static final Duration LIMIT = Duration.ofMillis(LIMIT_MSEC);

    private ClusterLettuce(String[] words) {
        super(words);
    }

    private RedisURI uri(int port) {
        return RedisURI.builder().withHost(host).withPort(port).withTimeout(LIMIT).build();
    }

    private RedisClusterClient client() {
        RedisClusterClient client =
            RedisClusterClient.create(ports.stream().map(this::uri).toList());
        client.setOptions(ClusterClientOptions.builder()
            .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                .enableAllAdaptiveRefreshTriggers()
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(100)).build())
            .build());
        return client;
    }

    @Override
    Cluster cluster() {
        RedisClusterClient client = client();
        StatefulRedisClusterConnection<String, String> connection = client.connect();
        StatefulRedisClusterConnection<String, String> reader = client.connect();
        reader.setReadFrom(ReadFrom.REPLICA);
        RedisAdvancedClusterCommands<String, String> commands = connection.sync();
        return new Cluster() {
            public String set(String key, String value) { return commands.set(key, value); }
            public String get(String key) { return commands.get(key); }
            public long incr(String key) { return commands.incr(key); }
            public long delete(String key) { return commands.del(key); }
            public String setBoth(String key, String value, String other, String otherValue) {
                return commands.mset(Map.of(key, value, other, otherValue));
            }
            public List<String> getBoth(String key, String other) {
                return commands.mget(key, other).stream().map(found -> found.getValue()).toList();
            }
            public String script(String text, String key, String other) {
                return commands.eval(text, ScriptOutputType.VALUE, key, other);
            }
            public List<Long> incrAll(List<String> keys) {
                connection.setAutoFlushCommands(false);
                List<RedisFuture<Long>> replies =
                    keys.stream().map(connection.async()::incr).toList();
                connection.flushCommands();
                connection.setAutoFlushCommands(true);
                LettuceFutures.awaitAll(LIMIT, replies.toArray(RedisFuture[]::new));
                return replies.stream().map(reply -> reply.toCompletableFuture().join()).toList();
            }
            public String getFromReplica(String key) { return reader.sync().get(key); }
            public void publish(String channel, String text) { commands.publish(channel, text); }
            public void close() { client.shutdown(Duration.ZERO, LIMIT); }
        };
    }

    @Override
    Closed listen(String channel, BlockingQueue<String> heard) {
        RedisClusterClient client = client();
        StatefulRedisClusterPubSubConnection<String, String> connection = client.connectPubSub();
        connection.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String name, String text) {
                heard.add(text);
            }
        });
        connection.sync().subscribe(channel);
        return () -> client.shutdown(Duration.ZERO, LIMIT);
    }

    public static void main(String[] words) {
        Logger.getLogger("").setLevel(Level.OFF); // what is logged of nodes that are gone
        System.exit(new ClusterLettuce(words).runAll());
    }
}
