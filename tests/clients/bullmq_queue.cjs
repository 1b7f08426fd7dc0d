// SPDX-License-Identifier: BSD-3-Clause
// A session with bullmq, a queue for Node.js that does all its work by scripts: jobs by priority,
// delayed, tried again, with children, a limit of rates, a queue that is drained.
//
// usage: bullmq_queue.cjs HOST PORT     (tests/clients/run starts a server and calls it)
// Prints the failures and last `N passed, N failed`.
'use strict';
const assert = require('node:assert');
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');

const [, , host, port] = process.argv;
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const PATIENCE_MS = 60000;
let number = 0;

// Runs `body` with a queue of its own, its events and a way to make workers; closes all.
async function within(body) {
    const name = `queue${number++}`;
    const queue = new Queue(name, { connection });
    const events = new QueueEvents(name, { connection });
    const workers = [];
    await events.waitUntilReady();
    const work = (processor, options = {}) => {
        const worker = new Worker(name, processor, { connection, ...options });
        worker.on('error', () => {});
        workers.push(worker);
        return worker;
    };
    try {
        await body(queue, events, work, name);
    } finally {
        await Promise.all(workers.map((worker) => worker.close(true)));
        await queue.obliterate({ force: true });
        await events.close();
        await queue.close();
    }
}

const done = (jobs, events) =>
    Promise.all(jobs.map((job) => job.waitUntilFinished(events, PATIENCE_MS)));
const upTo = (count) => [...Array(count).keys()];
const numbered = (count) => upTo(count).map((n) => ({ name: 'job', data: { n } }));

const checks = {
    async 'jobs run in order'() {
        await within(async (queue, events, work) => {
            const order = [];
            const jobs = await queue.addBulk(numbered(30));
            assert.strictEqual(await queue.getWaitingCount(), 30);
            work(async (job) => { order.push(job.data.n); return job.data.n * 2; });
            assert.deepStrictEqual(await done(jobs, events), upTo(30).map((n) => n * 2));
            assert.deepStrictEqual(order, upTo(30));
            assert.strictEqual((await queue.getJobCounts('completed')).completed, 30);
        });
    },
    async 'by priority'() {
        await within(async (queue, events, work) => {
            const order = [];
            const jobs = [];
            for (const priority of [5, 1, 3, 1]) {
                jobs.push(await queue.add('job', { priority }, { priority }));
            }
            work(async (job) => { order.push(job.data.priority); });
            await done(jobs, events);
            assert.deepStrictEqual(order, [1, 1, 3, 5]);
        });
    },
    async 'delayed, and moved to now'() {
        await within(async (queue, events, work) => {
            const soon = await queue.add('job', {}, { delay: 50 });
            const late = await queue.add('job', {}, { delay: 3600000 });
            assert.strictEqual(await queue.getDelayedCount(), 2);
            work(async () => 'ran');
            assert.strictEqual(await soon.waitUntilFinished(events, PATIENCE_MS), 'ran');
            await late.promote();
            assert.strictEqual(await late.waitUntilFinished(events, PATIENCE_MS), 'ran');
        });
    },
    async 'fails, and is tried again'() {
        await within(async (queue, events, work) => {
            const job = await queue.add('job', {}, { attempts: 3 });
            let tries = 0;
            work(async () => { if (++tries < 3) throw new Error('not yet'); return tries; });
            assert.strictEqual(await job.waitUntilFinished(events, PATIENCE_MS), 3);
            const bad = await queue.add('bad', {}, { attempts: 1 });
            tries = -10;
            await assert.rejects(bad.waitUntilFinished(events, PATIENCE_MS), /not yet/);
            assert.strictEqual(await bad.getState(), 'failed');
            tries = 10;
            await bad.retry();
            assert.strictEqual(await bad.waitUntilFinished(events, PATIENCE_MS), 11);
        });
    },
    async 'one job of an id'() {
        await within(async (queue) => {
            await queue.add('job', { n: 1 }, { jobId: 'same' });
            await queue.add('job', { n: 2 }, { jobId: 'same' });
            assert.strictEqual(await queue.getWaitingCount(), 1);
            assert.strictEqual((await queue.getJob('same')).data.n, 1);
            await queue.remove('same');
            assert.strictEqual(await queue.getWaitingCount(), 0);
        });
    },
    async 'a parent waits for its children'() {
        await within(async (queue, events, work, name) => {
            const flow = new FlowProducer({ connection });
            const tree = await flow.add({
                name: 'parent', queueName: name,
                children: [1, 2, 3].map((n) => ({ name: 'child', queueName: name, data: { n } })),
            });
            assert.strictEqual(await tree.job.getState(), 'waiting-children');
            work(async (job) => {
                if (job.name === 'child') return job.data.n;
                return Object.values(await job.getChildrenValues()).reduce((a, b) => a + b, 0);
            });
            assert.strictEqual(await tree.job.waitUntilFinished(events, PATIENCE_MS), 6);
            await flow.close();
        });
    },
    async 'a limit of rates'() {
        await within(async (queue, events, work) => {
            const jobs = await queue.addBulk(numbered(6));
            work(async (job) => job.data.n, { limiter: { max: 2, duration: 50 } });
            assert.deepStrictEqual(await done(jobs, events), upTo(6));
        });
    },
    async 'paused, resumed, drained, cleaned'() {
        await within(async (queue, events, work) => {
            await queue.pause();
            const job = await queue.add('job', {});
            work(async () => 1);
            assert.strictEqual(await queue.isPaused(), true);
            await queue.resume();
            assert.strictEqual(await job.waitUntilFinished(events, PATIENCE_MS), 1);
            assert.deepStrictEqual(await queue.clean(0, 10, 'completed'), [job.id]);
            await queue.add('late', {}, { delay: 3600000 });
            await queue.drain(true);
            assert.strictEqual(await queue.getDelayedCount(), 0);
        });
    },
};

(async () => {
    let passed = 0, failed = 0;
    for (const [name, check] of Object.entries(checks)) {
        try {
            await check();
            passed++;
        } catch (error) {
            failed++;
            console.log(`FAIL  bullmq: ${name}\n${error.stack}`);
        }
    }
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
})();
