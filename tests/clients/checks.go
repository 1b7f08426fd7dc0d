// SPDX-License-Identifier: BSD-3-Clause
// What the programs of go-redis' checks share: the addresses that they are given, waiting, and the
// count of what passes. It is built together with one of them.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

const patience = 60 * time.Second

var (
	ctx            = context.Background()
	addresses      []string // of Sentinels, or of the nodes of a cluster
	passed, failed int
)

// What go-redis logs of servers that are gone is left out.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Reads the program's words: HOST PORT...
func readWords() {
	for _, port := range os.Args[2:] {
		addresses = append(addresses, net.JoinHostPort(os.Args[1], port))
	}
	redis.SetLogger(silence{})
}

func until(what string, condition func() bool) error {
	for end := time.Now().Add(patience); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("not in time: %s", what)
		}
	}
	return nil
}

func expect(holds bool, format string, values ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, values...)
}

// First of the errors that is one.
func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func count(title string, err error) {
	if err != nil {
		failed++
		fmt.Printf("FAIL  go-redis %s\n      %v\n", title, err)
	} else {
		passed++
	}
}

// Ends the program.
func finish() {
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
