# SPDX-License-Identifier: BSD-3-Clause
"""The part "scripts": what EVALSHA costs beside the commands that it runs, and Lua itself.

A script that sets a key and gets it again is little but the way between Lua and commands: CPU
time and instructions a call. A loop of numbers is nothing but Lua: its instructions say what our
hook and our sandbox add to it.
"""
import hashlib
import os
import random
import struct
import time

import callgrind
from bench_report import Row
from servers import LOAD_CORE, SERVER_CORE, Server, encode, run_load, scratch_folder

KEYS = 1000
VALUE = b'v' * 32
REQUESTS = 5000  # different ones
CONNECTIONS = 10
PIPELINES = (1, 16)
SET_AND_GET = b"redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1])"
LOOP = b'local x = 0 for i = 1, 10000 do x = (x * 31 + i) % 1000003 end return x'
CPU_BOUND, LOOP_BOUND = 0.6, 1.02
# Calls of a counted run; twice as many less this one are what a call costs.
COUNTED = {SET_AND_GET: 2000, LOOP: 20}
BATCH = 20


def evalsha(script, generator):
    words = ['EVALSHA', hashlib.sha1(script).hexdigest()]
    if script == LOOP:
        return encode([*words, 0])
    return encode([*words, 1, f'key:{generator.randrange(KEYS):012d}', VALUE])


def write_requests(path):
    generator = random.Random(1)
    with open(path, 'wb') as out:
        for _ in range(REQUESTS):
            request = evalsha(SET_AND_GET, generator)
            out.write(struct.pack('<I', len(request)) + request)


def run_seconds(config, pipeline):
    return config.seconds / 2 * (config.unpipelined_factor if pipeline == 1 else 1)


def plan(config):
    seconds = sum(2 * (run_seconds(config, pipeline) + 0.1) for pipeline in PIPELINES)
    return [(f'scripts: {name} under callgrind', 20) for name in ('ours', 'baseline')] + [
        (f'scripts: round {i + 1} of {config.rounds}', seconds) for i in range(config.rounds)]


# ---- instructions ----

def instructions_of(server, script, calls):
    generator = random.Random(2)
    callgrind.order(server, 'zero')
    server.wire.many((evalsha(script, generator) for _ in range(calls)), BATCH)
    return callgrind.take_total(server)


def instructions_a_call(name, binary):
    """By script."""
    found = {}
    prefix = [*callgrind.PREFIX, '--instr-atstart=no']
    with Server(name, binary, prefix=prefix, patience=120) as server:
        callgrind.order(server, 'instrumentation on')
        for script, calls in COUNTED.items():
            server.wire.command('SCRIPT', 'LOAD', script)
            instructions_of(server, script, calls)
            once = instructions_of(server, script, calls)
            found[script] = (instructions_of(server, script, 2 * calls) - once) / calls
    return found


# ---- CPU time ----

def sample(config, server, path, pipeline):
    """CPU nanoseconds a call of one run, the other server standing still."""
    server.resume()
    before = server.cpu()[0]
    result = run_load(server, LOAD_CORE, script=path, pipeline=pipeline, connections=CONNECTIONS,
                      seconds=run_seconds(config, pipeline))
    time.sleep(0.005)  # until the server sleeps again: see Server.cpu
    after = server.cpu()[0]
    server.pause()
    return (after - before) / result['requests']


def measure_cpu(config, progress):
    """{(pipeline, server's name): figures}"""
    path = os.path.join(scratch_folder(), 'evalsha')
    write_requests(path)
    pair = [Server('ours', config.ours), Server('baseline', config.baseline)]
    for server in pair:
        server.wire.command('SCRIPT', 'LOAD', SET_AND_GET)
        server.pin(SERVER_CORE)
        server.pause()
    samples = {}
    for number in range(config.rounds):
        progress.next()
        for pipeline in PIPELINES:
            for server in pair if number % 2 else reversed(pair):
                samples.setdefault((pipeline, server.name), []).append(
                    sample(config, server, path, pipeline))
    for server in pair:
        server.stop()
    return samples


def measure(config, progress):
    callgrind.demand()
    counted = []
    for name, binary in (('ours', config.ours), ('baseline', config.baseline)):
        progress.next()
        counted.append(instructions_a_call(name, binary))
    samples = measure_cpu(config, progress)
    return [Row(f'EVALSHA of SET and GET, pipeline {pipeline}', 'CPU ns a call',
                samples[pipeline, 'ours'], samples[pipeline, 'baseline'],
                limit=('ratio', '<=', CPU_BOUND)) for pipeline in PIPELINES] + [
        Row(label, 'instructions a call', *([figures[script]] for figures in counted),
            limit=limit)
        for label, script, limit in (
            ('the same, pipeline 20', SET_AND_GET, None),
            ('a loop of 10,000 steps with numbers', LOOP, ('ratio', '<=', LOOP_BOUND)))]


def notes(config):
    return [f'{config.rounds} rounds, the servers in turn, runs of {run_seconds(config, 16):g} s '
            f'(pipeline 16) and {run_seconds(config, 1):g} s (pipeline 1); ratios are taken round '
            'by round: median [min..max].',
            f'{CONNECTIONS} connections, closed loop, {KEYS:,} keys, values of {len(VALUE)} bytes. '
            'CPU time is the main thread\'s, with that of the network, from schedstat.',
            f'Scripts: `{SET_AND_GET.decode()}` and `{LOOP.decode()}`. Instructions under '
            'callgrind: a run of twice as many calls less one of as many.']
