// SPDX-License-Identifier: BSD-3-Clause
// ioredis' Cluster: its map of the slots, redirections of slots that move and have moved, keys of
// one slot, pipelines, pub/sub, replicas, a failover and a primary that ends.
//
// usage: cluster_ioredis.cjs HOST PORT...     (with_cluster.py starts the nodes and calls it)
// Prints the failures and last `N passed, N failed`.
'use strict';
const assert = require('node:assert');
const Redis = require('ioredis');
const { until, runAll } = require('./checks.cjs');
const slotOf = require('cluster-key-slot');

const [, , host, ...words] = process.argv;
const ports = words.map(Number);

// Runs `body` with a client of the cluster; closes the client.
async function within(options, body) {
    const client = new Redis.Cluster(ports.map((port) => ({ host, port })), {
        clusterRetryStrategy: () => 100, retryDelayOnFailover: 100, maxRedirections: 100,
        ...options,
    });
    client.on('error', () => {});
    try {
        return await body(client);
    } finally {
        client.disconnect();
    }
}

// Runs `body` with a connection to the node at the port.
async function asking(port, body) {
    const node = new Redis({ host, port, retryStrategy: null, maxRetriesPerRequest: 0 });
    node.on('error', () => {});
    try {
        return await body(node);
    } finally {
        node.disconnect();
    }
}

const call = (port, ...command) => asking(port, (node) => node.call(...command));

// The row of CLUSTER SLOTS that has the slot: its primary's port, and its replicas'.
async function shard(slot, at) {
    const rows = await call(at, 'CLUSTER', 'SLOTS');
    const [, , ...nodes] = rows.find(([first, last]) => first <= slot && slot <= last);
    return nodes.map(([, port]) => port);
}

// All nodes are up and agree, and each slot has a primary and a replica.
const rested = () =>
    until(async () => {
        const maps = new Set();
        for (const port of ports) {
            if (!(await call(port, 'CLUSTER', 'INFO')).includes('cluster_state:ok')) return false;
            const data = await call(port, 'INFO', 'replication');
            if (data.includes('link_status:down')) return false;
            const rows = await call(port, 'CLUSTER', 'SLOTS');
            if (rows.some((row) => row.length !== 4)) return false;
            maps.add(JSON.stringify(rows.sort(([a], [b]) => a - b)));
        }
        return maps.size === 1;
    }, 'rest');

// Opens the key's slot between its primary and another one.
async function moveBegun(key) {
    const slot = slotOf(key);
    const [source] = await shard(slot, ports[0]);
    const rows = await call(ports[0], 'CLUSTER', 'SLOTS');
    const target = rows.map(([, , [, port]]) => port).find((port) => port !== source);
    const ids = { [source]: await call(source, 'CLUSTER', 'MYID'),
        [target]: await call(target, 'CLUSTER', 'MYID') };
    await call(target, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[source]);
    await call(source, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[target]);
    const keys = async () => {
        for (;;) {
            const some = await call(source, 'CLUSTER', 'GETKEYSINSLOT', slot, 100);
            if (!some.length) return;
            await call(source, 'MIGRATE', host, target, '', 0, 5000, 'KEYS', ...some);
        }
    };
    const end = async () => {
        await keys();
        for (const port of [target, source])
            await call(port, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids[target]);
        await until(async () => {
            for (const port of ports) if ((await shard(slot, port))[0] !== target) return false;
            return true;
        }, 'all nodes know the owner');
    };
    return { slot, source, target, keys, end };
}

const moved = async (key) => (await moveBegun(key)).end();

// Another node gets the slots of a primary; a standing client goes on.
async function followed(strike) {
    await rested();
    await within({}, async (client) => {
        await client.set('{f}before', '1');
        const [old, replica] = await shard(slotOf('f'), ports[0]);
        await until(async () => (await call(replica, 'DBSIZE')) === (await call(old, 'DBSIZE')),
            'the copy');
        await strike(old, replica);
        await until(async () => (await call(replica, 'ROLE'))[0] === 'master', 'another primary');
        await until(async () => (await client.set('{f}after', '1')) === 'OK', 'a write');
        assert.strictEqual(await client.get('{f}before'), '1');
        await rested();
        assert.strictEqual(await client.get('{f}after'), '1');
        assert.strictEqual((await call(old, 'ROLE'))[0], 'slave');
    });
}

const checks = {
    'the map': () =>
        within({}, async (client) => {
            for (let i = 0; i < 300; i++) await client.set(`map:${i}`, i);
            for (let i = 0; i < 300; i++) {
                const [port] = await shard(slotOf(`map:${i}`), ports[0]);
                assert.strictEqual(await client.get(`map:${i}`), String(i));
                assert.strictEqual(await call(port, 'GET', `map:${i}`), String(i));
                assert.strictEqual(await client.cluster('KEYSLOT', `map:${i}`), slotOf(`map:${i}`));
            }
            assert.strictEqual(client.nodes('master').length, 3);
            assert.strictEqual(client.nodes('slave').length, 3);
            const counts = await Promise.all(client.nodes('master').map((node) => node.dbsize()));
            assert.ok(counts.reduce((a, b) => a + b) >= 300);
        }),
    'keys of one slot': () =>
        within({}, async (client) => {
            assert.strictEqual(await client.mset('{t}a', 1, '{t}b', 2), 'OK');
            assert.deepStrictEqual(await client.mget('{t}a', '{t}b', '{t}none'), ['1', '2', null]);
            assert.deepStrictEqual(
                await client.multi().incr('{t}a').get('{t}b').exec(), [[null, 2], [null, '2']]);
            const script = 'return redis.call("get", KEYS[1]) .. redis.call("get", KEYS[2])';
            assert.strictEqual(await client.eval(script, 2, '{t}a', '{t}b'), '22');
            await assert.rejects(client.mget('a', 'b'), /CROSSSLOT/);
        }),
    'a slot that has moved': () =>
        within({ slotsRefreshInterval: 0 }, async (client) => {
            await client.set('{moved}', 'before');
            const move = await moveBegun('{moved}');
            await move.end();
            assert.strictEqual(await client.get('{moved}'), 'before');
            assert.strictEqual(await client.set('{moved}', 'after'), 'OK');
            assert.strictEqual(await call(move.target, 'GET', '{moved}'), 'after');
            await assert.rejects(call(move.source, 'GET', '{moved}'),
                { message: `MOVED ${move.slot} ${host}:${move.target}` });
            await moved('{moved}');
        }),
    'a slot that moves': () =>
        within({}, async (client) => {
            await client.set('{ask}here', 1);
            await client.del('{ask}there');
            const move = await moveBegun('{ask}');
            await assert.rejects(call(move.source, 'GET', '{ask}there'),
                { message: `ASK ${move.slot} ${host}:${move.target}` });
            assert.strictEqual(await client.set('{ask}there', 2), 'OK');
            assert.strictEqual(await client.get('{ask}here'), '1');
            assert.strictEqual(await client.incr('{ask}there'), 3);
            assert.strictEqual(await call(move.source, 'CLUSTER', 'COUNTKEYSINSLOT', move.slot), 1);
            await move.keys();
            assert.deepStrictEqual(await client.mget('{ask}here', '{ask}there'), ['1', '3']);
            await move.end();
            assert.deepStrictEqual(await client.mget('{ask}here', '{ask}there'), ['1', '3']);
            await moved('{ask}');
        }),
    'pipelines': () =>
        within({}, async (client) => {
            const pipeline = client.pipeline();
            for (let i = 0; i < 300; i++) pipeline.set(`{p}${i}`, i).incr(`{p}${i}`);
            const replies = await pipeline.exec();
            replies.forEach(([error, reply], j) => {
                assert.strictEqual(error, null);
                assert.strictEqual(reply, j % 2 ? (j + 1) / 2 : 'OK');
            });
            // ioredis takes keys of one slot in a pipeline, and sends all of it after an ASK: no
            // key may be left behind.
            const move = await moveBegun('{p}');
            await move.keys();
            assert.deepStrictEqual(await client.pipeline().get('{p}0').set('{p}new', 1).exec(),
                [[null, '1'], [null, 'OK']]);
            await move.end();
            assert.deepStrictEqual(await client.pipeline().get('{p}1').get('{p}new').exec(),
                [[null, '2'], [null, '1']]);
            await moved('{p}');
        }),
    'pub/sub': () =>
        within({}, (client) => within({}, async (listener) => {
            const heard = [];
            listener.on('message', (channel, text) => heard.push([channel, text]));
            listener.on('pmessage', (pattern, channel, text) =>
                heard.push([pattern, channel, text]));
            await listener.subscribe('news');
            await listener.psubscribe('ne*');
            for (const node of client.nodes('all')) await node.publish('news', 'hello');
            await until(() => heard.length === 2 * ports.length, 'the news of all nodes');
            assert.strictEqual(heard.filter((one) => one.length === 2).length, ports.length);
        })),
    'replicas': async () => {
        await rested();
        await within({ scaleReads: 'slave' }, async (client) => {
            await client.set('{r}', 'value');
            for (let i = 0; i < 6; i++)
                await until(async () => (await client.get('{r}')) === 'value', 'the key');
            const [primary, replica] = await shard(slotOf('r'), ports[0]);
            await asking(replica, async (node) => {
                await assert.rejects(node.get('{r}'),
                    { message: `MOVED ${slotOf('r')} ${host}:${primary}` });
                assert.strictEqual(await node.call('READONLY'), 'OK');
                assert.strictEqual(await node.get('{r}'), 'value');
                await assert.rejects(node.set('{r}', 'x'), /MOVED/);
            });
        });
    },
    'a failover': () => followed((old, replica) => call(replica, 'CLUSTER', 'FAILOVER')),
    'a primary that ends': () =>
        followed((old) => call(old, 'SHUTDOWN', 'NOSAVE').catch(() => {})),
};

runAll('ioredis Cluster', checks);
