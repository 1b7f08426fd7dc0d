// SPDX-License-Identifier: BSD-3-Clause
// What the checks of ioredis share: waiting, and running all checks.
'use strict';
const assert = require('node:assert');
const { setTimeout: sleep } = require('node:timers/promises');

const PATIENCE_MS = 60000;

async function until(condition, what) {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(50)) {
        if (await Promise.resolve().then(condition).catch(() => false)) return;
        assert.ok(Date.now() < end, `not in time: ${what}`);
    }
}

// Runs the checks, functions by their titles, one after the other; prints the failures and last
// `N passed, N failed`, and ends the process.
async function runAll(client, checks) {
    let passed = 0, failed = 0;
    for (const [title, check] of Object.entries(checks)) {
        try {
            await check();
            passed++;
        } catch (error) {
            failed++;
            console.log(`FAIL  ${client}, ${title}\n      ${String(error.stack)
                .replaceAll('\n', '\n      ')}`);
        }
    }
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed || !passed ? 1 : 0);
}

module.exports = { until, runAll };
