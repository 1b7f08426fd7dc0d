// SPDX-License-Identifier: BSD-3-Clause
// ioredis' Sentinel client: the primary, replicas and preferred ones, what Sentinels tell, clients
// over two failovers, one asked for and one of a primary that hangs.
//
// usage: sentinel_ioredis.cjs HOST PORT...     (with_sentinels.py starts the Sentinels and calls it)
// Prints the failures and last `N passed, N failed`.
'use strict';
const assert = require('node:assert');
const { setTimeout: sleep } = require('node:timers/promises');
const Redis = require('ioredis');
const { until, runAll } = require('./checks.cjs');

const [, , host, ...ports] = process.argv;
const sentinels = ports.map((port) => ({ host, port: Number(port) }));
const name = 'm';

// Runs `body` with a client that asks the Sentinels; closes the client.
async function within(options, body) {
    const client = new Redis({ sentinels, name, sentinelRetryStrategy: () => 50, ...options });
    client.on('error', () => {});
    try {
        return await body(client);
    } finally {
        client.disconnect();
    }
}

// The same with a connection to one Sentinel.
async function asking(body, number = 0) {
    const client = new Redis({ host, port: sentinels[number].port });
    try {
        return await body(client);
    } finally {
        client.disconnect();
    }
}

const pairs = (words) =>
    Object.fromEntries(words.flatMap((word, k) => (k % 2 ? [] : [[word, words[k + 1]]])));
const port = (client) => client.stream.remotePort;

// No failover is under way at any Sentinel, and two replicas are up.
const rested = () =>
    until(async () => {
        for (const number of sentinels.keys()) {
            const [state, replicas] = await asking(
                (s) => Promise.all([s.call('SENTINEL', 'MASTER', name),
                    s.call('SENTINEL', 'REPLICAS', name)]), number);
            if ('failover-state' in pairs(state) || pairs(state).flags !== 'master') return false;
            const up = replicas.map(pairs).filter((r) => r['role-reported'] === 'slave');
            if (up.length !== 2 || up.some((r) => r['master-link-status'] !== 'ok')) return false;
        }
        return true;
    }, 'rest');

// A change of primaries, which the standing client and a listener must see.
async function followed(options, strike) {
    await rested();
    await within(options, async (primary) => {
        await primary.set('before', '1');
        const old = port(primary);
        const heard = new Redis({ host, port: sentinels[0].port });
        await heard.subscribe('+switch-master');
        const message = new Promise((resolve) => heard.once('message', (_, text) => resolve(text)));
        await strike(old);
        await until(async () => {
            const known = await asking((s) => s.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name));
            return Number(known[1]) !== old;
        }, 'another primary');
        await until(async () => (await primary.set('after', '1')) === 'OK' && port(primary) !== old,
            'a write to it');
        const words = (await message).split(' ');
        assert.deepStrictEqual(words.slice(0, 3), [name, host, String(old)]);
        heard.disconnect();
    });
    await rested();
}

const failover = () =>
    until(async () => (await asking((s) => s.call('SENTINEL', 'FAILOVER', name), 1)) === 'OK',
        'FAILOVER');

const checks = {
    'the primary': () =>
        within({}, async (primary) => {
            assert.strictEqual(await primary.set('key', 'value'), 'OK');
            assert.strictEqual((await primary.role())[0], 'master');
        }),
    'a replica': () =>
        within({ role: 'slave' }, async (replica) => {
            assert.strictEqual((await replica.role())[0], 'slave');
            await until(async () => (await replica.get('key')) === 'value', 'the key');
            await assert.rejects(replica.set('key', 'x'), /READONLY/);
        }),
    'a preferred replica': async () => {
        const replicas = await asking((s) => s.call('SENTINEL', 'REPLICAS', name));
        const wanted = pairs(replicas[1]);
        await within({ role: 'slave', preferredSlaves: [{ ip: wanted.ip, port: wanted.port, prio: 1 }] },
            async (replica) => {
                await replica.ping();
                assert.strictEqual(String(port(replica)), wanted.port);
            });
    },
    'a Sentinel that is not there is passed over': () =>
        within({ sentinels: [{ host, port: 1 }, ...sentinels] }, async (primary) => {
            assert.strictEqual((await primary.role())[0], 'master');
        }),
    'an unknown name': () =>
        within({ name: 'none', sentinelRetryStrategy: null }, async (nobody) => {
            await assert.rejects(nobody.ping());
        }),
    'what Sentinels tell': () =>
        asking(async (s) => {
            const state = pairs(await s.call('SENTINEL', 'MASTER', name));
            assert.strictEqual(state['num-slaves'], '2');
            assert.strictEqual(state['num-other-sentinels'], '2');
            assert.match(await s.call('SENTINEL', 'CKQUORUM', name), /^OK 3 usable Sentinels/);
            await assert.rejects(s.call('SENTINEL', 'MASTER', 'none'), /No such master/);
            assert.match(await s.info('sentinel'), /master0:name=m,status=ok/);
        }),
    'a failover': () => followed({}, failover),
    'a failover, with its detector': () => followed({ failoverDetector: true }, failover),
    'a primary that hangs': () =>
        followed({ failoverDetector: true }, async (old) => {
            const direct = new Redis({ host, port: old, retryStrategy: null });
            direct.on('error', () => {});
            direct.call('DEBUG', 'SLEEP', '12').catch(() => {}).finally(() => direct.disconnect());
            await sleep(100);
        }),
};

runAll('ioredis Sentinel', checks);
