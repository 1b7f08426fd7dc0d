// SPDX-License-Identifier: BSD-3-Clause
// go-redis' ClusterClient: its map of the slots, redirections of slots that move and have moved,
// keys of one slot, pipelines and transactions, pub/sub, replicas, a failover and a primary that
// ends.
//
// usage: cluster_go_redis HOST PORT...     (with_cluster.py starts the nodes and calls it)
// Prints the failures and last `N passed, N failed`.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func cluster(protocol int) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, Protocol: protocol,
		DialTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second})
}

// What the node at the address answers.
func call(address string, words ...any) *redis.Cmd {
	node := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	defer node.Close()
	return node.Do(ctx, words...)
}

// The command is answered by this value, or by this error's text.
func answers(command *redis.Cmd, wanted any) func() error {
	return func() error {
		value, err := command.Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			value = err.Error()
		}
		return expect(fmt.Sprint(value) == fmt.Sprint(wanted), "%v: %v, not %v", command.Args(),
			value, wanted)
	}
}

func slots(address string) []redis.ClusterSlot {
	node := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	defer node.Close()
	return node.ClusterSlots(ctx).Val()
}

// The addresses of the slot's primary and replicas, as the node at the address shows them.
func shard(slot int64, address string) (found []string) {
	for _, row := range slots(address) {
		if int64(row.Start) <= slot && slot <= int64(row.End) {
			for _, node := range row.Nodes {
				found = append(found, node.Addr)
			}
		}
	}
	return found
}

// All nodes are up and agree, and each slot has a primary and a replica.
func rest() error {
	return until("rest", func() bool {
		maps := map[string]bool{}
		for _, address := range addresses {
			state, _ := call(address, "cluster", "info").Text()
			data, err := call(address, "info", "replication").Text()
			if err != nil || !strings.Contains(state, "cluster_state:ok") ||
				strings.Contains(data, "link_status:down") {
				return false
			}
			owners := make([]string, 16384)
			for _, row := range slots(address) {
				if len(row.Nodes) != 2 {
					return false
				}
				for slot := row.Start; slot <= row.End; slot++ {
					owners[slot] = row.Nodes[0].Addr
				}
			}
			maps[strings.Join(owners, " ")] = true
		}
		return len(maps) == 1
	})
}

// The slot of a key on its way from its primary to another one.
type move struct {
	slot                       int64
	source, target, to, fromID string
}

func begin(key string) (*move, error) {
	m := &move{slot: call(addresses[0], "cluster", "keyslot", key).Val().(int64)}
	m.source = shard(m.slot, addresses[0])[0]
	for _, row := range slots(addresses[0]) {
		if row.Nodes[0].Addr != m.source {
			m.target = row.Nodes[0].Addr
		}
	}
	m.to, _ = call(m.target, "cluster", "myid").Text()
	m.fromID, _ = call(m.source, "cluster", "myid").Text()
	return m, all(
		answers(call(m.target, "cluster", "setslot", m.slot, "importing", m.fromID), "OK"),
		answers(call(m.source, "cluster", "setslot", m.slot, "migrating", m.to), "OK"),
	)
}

func (m *move) keys() error {
	host, port, _ := net.SplitHostPort(m.target)
	for {
		keys := call(m.source, "cluster", "getkeysinslot", m.slot, 100).Val().([]any)
		if len(keys) == 0 {
			return nil
		}
		words := append([]any{"migrate", host, port, "", 0, 5000, "keys"}, keys...)
		if err := call(m.source, words...).Err(); err != nil {
			return err
		}
	}
}

func (m *move) end() error {
	return all(
		m.keys,
		func() error { return call(m.target, "cluster", "setslot", m.slot, "node", m.to).Err() },
		func() error { return call(m.source, "cluster", "setslot", m.slot, "node", m.to).Err() },
		func() error {
			return until("all nodes know the owner", func() bool {
				for _, address := range addresses {
					if shard(m.slot, address)[0] != m.target {
						return false
					}
				}
				return true
			})
		},
	)
}

func moveWhole(key string) error {
	m, err := begin(key)
	if err != nil {
		return err
	}
	return m.end()
}

// ---- checks ----

func knowsMap(c *redis.ClusterClient) error {
	for i := 0; i < 300; i++ {
		key := fmt.Sprintf("map:%d", i)
		if err := c.Set(ctx, key, i, 0).Err(); err != nil {
			return err
		}
		owner := shard(c.ClusterKeySlot(ctx, key).Val(), addresses[0])[0]
		if err := answers(call(owner, "get", key), i)(); err != nil {
			return err
		}
	}
	primaries, replicas, keys := make(chan string, 9), make(chan string, 9), make(chan int64, 9)
	return all(
		func() error {
			return c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
				primaries <- node.Options().Addr
				keys <- node.DBSize(ctx).Val()
				return nil
			})
		},
		func() error {
			return c.ForEachSlave(ctx, func(ctx context.Context, node *redis.Client) error {
				replicas <- node.Options().Addr
				return node.Ping(ctx).Err()
			})
		},
		func() error {
			return expect(len(primaries) == 3 && len(replicas) == 3, "%d primaries, %d replicas",
				len(primaries), len(replicas))
		},
		func() error {
			total := <-keys + <-keys + <-keys
			size, err := c.DBSize(ctx).Result()
			return expect(err == nil && total >= 300 && size == total, "%d keys, %d", total, size)
		},
	)
}

func takesKeysOfOneSlot(c *redis.ClusterClient) error {
	return all(
		func() error { return c.MSet(ctx, "{t}a", 1, "{t}b", 2).Err() },
		func() error {
			found, err := c.MGet(ctx, "{t}a", "{t}b", "{t}none").Result()
			return expect(fmt.Sprint(found) == "[1 2 <nil>]", "%v, %v", found, err)
		},
		func() error {
			script := redis.NewScript("return redis.call('get', KEYS[1]) .. ARGV[1]")
			found, err := script.Run(ctx, c, []string{"{t}b"}, "x").Text()
			return expect(found == "2x", "%s, %v", found, err)
		},
		func() error {
			return c.Watch(ctx, func(tx *redis.Tx) error {
				_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
					pipe.Incr(ctx, "{t}a")
					return pipe.Set(ctx, "{t}c", "x", 0).Err()
				})
				return err
			}, "{t}a", "{t}b")
		},
		func() error { return expect(c.Get(ctx, "{t}a").Val() == "2", "EXEC") },
		answers(call(shard(c.ClusterKeySlot(ctx, "a").Val(), addresses[0])[0], "mget", "a", "b"),
			"CROSSSLOT Keys in request don't hash to the same slot"),
	)
}

func findsMovedSlot(c *redis.ClusterClient) error {
	if err := c.Set(ctx, "{moved}", "before", 0).Err(); err != nil {
		return err
	}
	m, err := begin("{moved}")
	if err != nil {
		return err
	}
	return all(
		m.end,
		func() error { return expect(c.Get(ctx, "{moved}").Val() == "before", "GET") },
		func() error { return c.Set(ctx, "{moved}", "after", 0).Err() },
		func() error { return answers(call(m.target, "get", "{moved}"), "after")() },
		func() error {
			wanted := fmt.Sprintf("MOVED %d %s", m.slot, m.target)
			return answers(call(m.source, "get", "{moved}"), wanted)()
		},
		func() error { return moveWhole("{moved}") },
	)
}

func findsMovingSlot(c *redis.ClusterClient) error {
	c.Set(ctx, "{ask}here", 1, 0)
	c.Del(ctx, "{ask}there")
	m, err := begin("{ask}")
	if err != nil {
		return err
	}
	both := func() error {
		found, err := c.MGet(ctx, "{ask}here", "{ask}there").Result()
		return expect(fmt.Sprint(found) == "[1 3]", "%v, %v", found, err)
	}
	return all(
		answers(call(m.source, "get", "{ask}there"), fmt.Sprintf("ASK %d %s", m.slot, m.target)),
		func() error { return c.Set(ctx, "{ask}there", 2, 0).Err() },
		func() error { return expect(c.Get(ctx, "{ask}here").Val() == "1", "GET") },
		func() error { return expect(c.Incr(ctx, "{ask}there").Val() == 3, "INCR") },
		func() error { return answers(call(m.source, "cluster", "countkeysinslot", m.slot), 1)() },
		m.keys,
		both,
		m.end,
		both,
		func() error { return moveWhole("{ask}") },
	)
}

func counts(c *redis.ClusterClient, wanted string) error {
	found := []int64{}
	replies, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := 0; i < 8; i++ {
			pipe.Incr(ctx, fmt.Sprintf("pipe:%d", i))
		}
		return nil
	})
	for _, reply := range replies {
		found = append(found, reply.(*redis.IntCmd).Val())
	}
	return expect(fmt.Sprint(found) == wanted && err == nil, "%v, %v", found, err)
}

// Of the keys' slots one moves and one has moved, and the client does not know.
func pipelines(c *redis.ClusterClient) error {
	for i := 0; i < 8; i++ {
		c.Set(ctx, fmt.Sprintf("pipe:%d", i), i, 0)
	}
	if err := counts(c, "[1 2 3 4 5 6 7 8]"); err != nil {
		return err
	}
	if err := moveWhole("pipe:1"); err != nil {
		return err
	}
	m, err := begin("pipe:2")
	if err != nil {
		return err
	}
	return all(
		m.keys,
		func() error { return counts(c, "[2 3 4 5 6 7 8 9]") },
		m.end,
		func() error { return counts(c, "[3 4 5 6 7 8 9 10]") },
		func() error { return moveWhole("pipe:1") },
		func() error { return moveWhole("pipe:2") },
	)
}

func publishes(c *redis.ClusterClient) error {
	listener := c.Subscribe(ctx, "news")
	defer listener.Close()
	if _, err := listener.Receive(ctx); err != nil {
		return err
	}
	for _, address := range addresses {
		if err := call(address, "publish", "news", address).Err(); err != nil {
			return err
		}
		select {
		case message := <-listener.Channel():
			if message.Payload != address {
				return fmt.Errorf("%s instead of %s", message.Payload, address)
			}
		case <-time.After(patience):
			return fmt.Errorf("nothing of %s", address)
		}
	}
	return nil
}

func readsFromReplicas(c *redis.ClusterClient) error {
	reader := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses, ReadOnly: true})
	defer reader.Close()
	if err := c.Set(ctx, "{r}", "value", 0).Err(); err != nil {
		return err
	}
	slot := c.ClusterKeySlot(ctx, "{r}").Val()
	nodes := shard(slot, addresses[0])
	for i := 0; i < 6; i++ {
		if err := until("the key", func() bool {
			return reader.Get(ctx, "{r}").Val() == "value"
		}); err != nil {
			return err
		}
	}
	return all(
		answers(call(nodes[1], "get", "{r}"), fmt.Sprintf("MOVED %d %s", slot, nodes[0])),
		func() error { return reader.Set(ctx, "{r}", "next", 0).Err() },
		answers(call(nodes[1], "set", "{r}", "x"), fmt.Sprintf("MOVED %d %s", slot, nodes[0])),
	)
}

// Another node gets the slots of a primary; a standing client goes on.
func follow(c *redis.ClusterClient, strike func(old, replica string)) error {
	nodes := shard(c.ClusterKeySlot(ctx, "{f}").Val(), addresses[0])
	size := func(address string) any { return call(address, "dbsize").Val() }
	return all(
		func() error { return c.Set(ctx, "{f}before", 1, 0).Err() },
		func() error {
			return until("the copy", func() bool { return size(nodes[0]) == size(nodes[1]) })
		},
		func() error { strike(nodes[0], nodes[1]); return nil },
		func() error {
			return until("another primary", func() bool {
				role, err := call(nodes[1], "role").Slice()
				return err == nil && role[0] == "master"
			})
		},
		func() error {
			return until("a write", func() bool { return c.Set(ctx, "{f}after", 1, 0).Err() == nil })
		},
		func() error { return expect(c.Get(ctx, "{f}before").Val() == "1", "a write is lost") },
		rest,
		func() error { return expect(c.Get(ctx, "{f}after").Val() == "1", "a write is lost") },
	)
}

func failsOver(c *redis.ClusterClient) error {
	return follow(c, func(_, replica string) { call(replica, "cluster", "failover") })
}

func losesPrimary(c *redis.ClusterClient) error {
	return follow(c, func(old, _ string) { call(old, "shutdown", "nosave") })
}

func main() {
	readWords()
	for protocol := 2; protocol <= 3; protocol++ {
		for _, check := range []struct {
			title string
			run   func(*redis.ClusterClient) error
		}{
			{"the map", knowsMap}, {"keys of one slot", takesKeysOfOneSlot},
			{"a slot that has moved", findsMovedSlot}, {"a slot that moves", findsMovingSlot},
			{"pipelines", pipelines}, {"pub/sub", publishes}, {"replicas", readsFromReplicas},
			{"a failover", failsOver}, {"a primary that ends", losesPrimary},
		} {
			err := rest()
			if err == nil {
				c := cluster(protocol)
				err = check.run(c)
				c.Close()
			}
			count(fmt.Sprintf("Cluster RESP%d, %s", protocol, check.title), err)
		}
	}
	finish()
}
