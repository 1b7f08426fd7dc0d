// SPDX-License-Identifier: BSD-3-Clause
// go-redis' Sentinel client: FailoverClient and FailoverClusterClient over a failover that was asked
// for and one of a primary that hangs; what Sentinels tell.
//
// usage: sentinel_go_redis HOST PORT...     (with_sentinels.py starts the Sentinels and calls it)
// Prints the failures and last `N passed, N failed`.
package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const name = "m"

func sentinel(number int) *redis.SentinelClient {
	return redis.NewSentinelClient(&redis.Options{Addr: addresses[number]})
}

func options() *redis.FailoverOptions {
	return &redis.FailoverOptions{MasterName: name, SentinelAddrs: addresses,
		DialTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second}
}

func primaryAddress() string {
	s := sentinel(0)
	defer s.Close()
	found, err := s.GetMasterAddrByName(ctx, name).Result()
	if err != nil || len(found) != 2 {
		return ""
	}
	return net.JoinHostPort(found[0], found[1])
}

// No failover is under way at any Sentinel, and two replicas are up.
func rested() bool {
	for number := range addresses {
		s := sentinel(number)
		state, err := s.Master(ctx, name).Result()
		replicas, err2 := s.Replicas(ctx, name).Result()
		s.Close()
		if err != nil || err2 != nil || state["failover-state"] != "" || len(replicas) != 2 {
			return false
		}
		for _, replica := range replicas {
			if replica["role-reported"] != "slave" || replica["master-link-status"] != "ok" {
				return false
			}
		}
	}
	return true
}

func rest() error { return until("rest", rested) }

func tellsState() error {
	s := sentinel(0)
	defer s.Close()
	state, err := s.Master(ctx, name).Result()
	if err != nil {
		return err
	}
	quorum, err := s.CkQuorum(ctx, name).Result()
	if err != nil {
		return err
	}
	masters, err := s.Masters(ctx).Result()
	if err != nil {
		return err
	}
	others, err := s.Sentinels(ctx, name).Result()
	if err != nil {
		return err
	}
	_, unknown := s.Master(ctx, "none").Result()
	return all(
		func() error {
			return expect(state["num-slaves"] == "2" && state["flags"] == "master", "%v", state)
		},
		func() error { return expect(strings.HasPrefix(quorum, "OK 3 usable"), "%s", quorum) },
		func() error { return expect(len(masters) == 1 && len(others) == 2, "%v", masters) },
		func() error { return expect(unknown != nil, "an unknown primary is known") },
	)
}

func changesState() error {
	s := sentinel(0)
	defer s.Close()
	host, port, _ := net.SplitHostPort(primaryAddress())
	return all(
		func() error { return s.Monitor(ctx, "other", host, port, "2").Err() },
		func() error { return s.Set(ctx, "other", "down-after-milliseconds", "4000").Err() },
		func() error {
			reset, err := s.Reset(ctx, "oth*").Result()
			return expect(err == nil && reset == 1, "RESET: %d, %v", reset, err)
		},
		func() error { return s.Remove(ctx, "other").Err() },
		func() error { return s.FlushConfig(ctx).Err() },
	)
}

func readsAndWrites() error {
	o := options()
	o.ReplicaOnly = true
	primary, replica := redis.NewFailoverClient(options()), redis.NewFailoverClient(o)
	defer primary.Close()
	defer replica.Close()
	return all(
		func() error { return primary.Set(ctx, "key", "value", 0).Err() },
		func() error {
			return until("the key at a replica", func() bool {
				return replica.Get(ctx, "key").Val() == "value"
			})
		},
		func() error {
			err := replica.Set(ctx, "key", "x", 0).Err()
			return expect(err != nil && strings.HasPrefix(err.Error(), "READONLY"), "%v", err)
		},
	)
}

func routesReads() error {
	o := options()
	o.RouteRandomly = true
	client := redis.NewFailoverClusterClient(o)
	defer client.Close()
	return all(
		func() error { return client.Set(ctx, "routed", "1", 0).Err() },
		func() error {
			return until("the key everywhere", func() bool {
				return client.Get(ctx, "routed").Val() == "1"
			})
		},
	)
}

// A change of primaries, which the standing client and a listener must see.
func follow(strike func(old string) error) error {
	if err := rest(); err != nil {
		return err
	}
	client, s := redis.NewFailoverClient(options()), sentinel(0)
	defer client.Close()
	defer s.Close()
	heard := s.Subscribe(ctx, "+switch-master")
	defer heard.Close()
	if _, err := heard.Receive(ctx); err != nil {
		return err
	}
	old := primaryAddress()
	return all(
		func() error { return client.Set(ctx, "before", "1", 0).Err() },
		func() error { return strike(old) },
		func() error {
			return until("another primary", func() bool { return primaryAddress() != old })
		},
		func() error {
			return until("a write to it", func() bool {
				_, port, _ := net.SplitHostPort(primaryAddress())
				return client.Set(ctx, "after", "1", 0).Err() == nil &&
					strings.Contains(client.Info(ctx, "server").Val(), "tcp_port:"+port+"\r\n")
			})
		},
		func() error {
			select {
			case message := <-heard.Channel():
				return expect(strings.HasPrefix(message.Payload, name+" "), "%s", message.Payload)
			case <-time.After(patience):
				return fmt.Errorf("no +switch-master")
			}
		},
		rest,
	)
}

func failsOver() error {
	return follow(func(string) error {
		s := sentinel(1)
		defer s.Close()
		return until("FAILOVER", func() bool { return s.Failover(ctx, name).Err() == nil })
	})
}

func hangs() error {
	return follow(func(old string) error {
		direct := redis.NewClient(&redis.Options{Addr: old, ReadTimeout: 100 * time.Millisecond,
			MaxRetries: -1})
		defer direct.Close()
		direct.Do(ctx, "DEBUG", "SLEEP", "12")
		return nil
	})
}

func main() {
	readWords()
	for _, check := range []struct {
		title string
		run   func() error
	}{
		{"what Sentinels tell", tellsState}, {"what Sentinels are told", changesState},
		{"reads and writes", readsAndWrites}, {"routed reads", routesReads},
		{"a failover", failsOver}, {"a primary that hangs", hangs},
	} {
		count("Sentinel, "+check.title, check.run())
	}
	finish()
}
