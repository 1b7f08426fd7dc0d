// SPDX-License-Identifier: BSD-3-Clause
// Lettuce behind Sentinels: MasterReplica, which finds the primary and its replicas, and Lettuce's
// commands for Sentinels. What is checked is in SentinelChecks.java.
//
// usage: SentinelLettuce HOST PORT...     (with_sentinels.py starts the Sentinels and calls it)
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.lettuce.core.output.ListOfMapsOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import io.lettuce.core.sentinel.api.sync.RedisSentinelCommands;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.logging.Level;
import java.util.logging.Logger;

final class SentinelLettuce extends SentinelChecks {
    private final RedisClient client = RedisClient.create();

    private SentinelLettuce(String[] words) {
        super(words);
    }

    private RedisURI uri(int number) {
        return RedisURI.builder().withHost(host).withPort(ports.get(number)).withTimeout(LIMIT)
            .build();
    }

    private RedisURI uriOfAll() {
        RedisURI.Builder builder = RedisURI.builder().withSentinelMasterId(NAME).withTimeout(LIMIT);
        for (int port : ports) builder.withSentinel(host, port);
        return builder.build();
    }

    @Override
    Sentinel sentinel(int number) {
        StatefulRedisSentinelConnection<String, String> connection =
            client.connectSentinel(uri(number));
        RedisSentinelCommands<String, String> commands = connection.sync();
        return new Sentinel() {
            public String address(String name) {
                InetSocketAddress found = (InetSocketAddress) commands.getMasterAddrByName(name);
                return found.getHostString() + ":" + found.getPort();
            }
            public Map<String, String> primary(String name) { return commands.master(name); }
            public List<Map<String, String>> primaries() { return commands.masters(); }
            public List<Map<String, String>> replicas(String name) {
                return commands.replicas(name);
            }
            // Lettuce has no call for this one.
            public List<Map<String, String>> others(String name) {
                return commands.dispatch(CommandType.SENTINEL,
                    new ListOfMapsOutput<>(StringCodec.UTF8),
                    new CommandArgs<>(StringCodec.UTF8).add("SENTINELS").addKey(name));
            }
            public String failover(String name) { return commands.failover(name); }
            public String monitor(String name, String host, int port, int quorum) {
                return commands.monitor(name, host, port, quorum);
            }
            public String set(String name, String option, String value) {
                return commands.set(name, option, value);
            }
            public long reset(String pattern) { return commands.reset(pattern); }
            public String remove(String name) { return commands.remove(name); }
            public void close() { connection.close(); }
        };
    }

    private Server server(ReadFrom from) {
        StatefulRedisMasterReplicaConnection<String, String> connection =
            MasterReplica.connect(client, StringCodec.UTF8, uriOfAll());
        connection.setReadFrom(from);
        return new Server() {
            public String set(String key, String value) {
                return connection.sync().set(key, value);
            }
            public String get(String key) { return connection.sync().get(key); }
            public String info() { return connection.sync().info("server"); }
            public void close() { connection.close(); }
        };
    }

    @Override
    Server primary() {
        return server(ReadFrom.UPSTREAM);
    }

    @Override
    Server replica() {
        return server(ReadFrom.REPLICA);
    }

    @Override
    Closed listen(int number, String channel, BlockingQueue<String> heard) {
        StatefulRedisPubSubConnection<String, String> connection =
            client.connectPubSub(uri(number));
        connection.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String name, String text) {
                heard.add(text);
            }
        });
        connection.sync().subscribe(channel);
        return connection::close;
    }

    public static void main(String[] words) {
        Logger.getLogger("").setLevel(Level.OFF); // what is logged of failovers is left out
        System.exit(new SentinelLettuce(words).runAll());
    }
}
