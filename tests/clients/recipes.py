#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Scripts as people write them, with redis-py: a lock, a limiter of rates, a leaderboard.

usage: recipes.py HOST PORT     (tests/clients/run starts a server and calls it)

Each is written here after what public documentation says of the pattern: a lock that only its owner
gives back, a window that slides over a sorted set, a bucket of tokens in a hash, ranks with what
stands around them. Prints the failures and last `N passed, N failed`.
"""
import json
import sys
import threading
import time
import traceback

import redis

THREADS = 4
TURNS = 50

# KEYS: the lock. ARGV: who; for how many milliseconds.
TAKE = '''
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0'''
GIVE_BACK = '''
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0'''
EXTEND = '''
if redis.call('get', KEYS[1]) ~= ARGV[1] then return redis.error_reply('NOTOWNER not yours') end
return redis.call('pexpire', KEYS[1], ARGV[2])'''

# KEYS: the window. ARGV: now; its length; how many; a name for this one.
SLIDE = '''
local now, length, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('zremrangebyscore', KEYS[1], '-inf', now - length)
local count = redis.call('zcard', KEYS[1])
if count >= most then
    local oldest = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES')
    return {0, most - count, tonumber(oldest[2]) + length - now}
end
redis.call('zadd', KEYS[1], now, ARGV[4])
redis.call('pexpire', KEYS[1], length)
return {1, most - count - 1, 0}'''

# KEYS: the bucket. ARGV: now in seconds; tokens a second; how many it holds; how many are wanted.
BUCKET = '''
local now, rate, size, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]),
    tonumber(ARGV[4])
local was = redis.call('hmget', KEYS[1], 'tokens', 'at')
local tokens = math.min(size, (tonumber(was[1]) or size) + (now - (tonumber(was[2]) or now)) * rate)
local granted = tokens >= wanted
if granted then tokens = tokens - wanted end
redis.call('hset', KEYS[1], 'tokens', tokens, 'at', now)
return {granted and 1 or 0, tostring(tokens)}'''

# KEYS: the board, the names. ARGV: who; how many on each side.
AROUND = '''
local rank = redis.call('zrevrank', KEYS[1], ARGV[1])
if not rank then return cjson.encode({rank = cjson.null}) end
local first = math.max(0, rank - tonumber(ARGV[2]))
local rows, found = {}, redis.call('zrevrange', KEYS[1], first, rank + ARGV[2], 'WITHSCORES')
for i = 1, #found, 2 do
    rows[#rows + 1] = {rank = first + #rows, id = found[i], score = tonumber(found[i + 1]),
                       name = redis.call('hget', KEYS[2], found[i]) or 'nobody'}
end
return cjson.encode({rank = rank, rows = rows})'''


def connect(protocol):
    return redis.Redis(host=sys.argv[1], port=int(sys.argv[2]), protocol=protocol,
                       socket_timeout=300)


def refused(code, call, *args, **named):
    try:
        call(*args, **named)
    except redis.ResponseError as error:
        assert str(error).startswith(code), error
    else:
        raise AssertionError(f'no error {code}')


def check_a_lock_is_its_owners(r):
    take, give_back, extend = map(r.register_script, (TAKE, GIVE_BACK, EXTEND))
    assert take(['lock'], ['a', 100000]) == 1
    assert take(['lock'], ['b', 100000]) == 0
    assert give_back(['lock'], ['b']) == 0
    refused('NOTOWNER', extend, ['lock'], ['b', 200000])
    assert extend(['lock'], ['a', 200000]) == 1
    assert 100000 < r.pttl('lock') <= 200000
    assert give_back(['lock'], ['a']) == 1
    assert give_back(['lock'], ['a']) == 0
    assert take(['lock'], ['b', 100000]) == 1
    r.delete('lock')


def check_a_lock_keeps_others_out(r):
    """What is read and written again under the lock loses nothing."""
    failures = []
    protocol = r.connection_pool.connection_kwargs['protocol']
    r.set('shared', 0)

    def work(name):
        try:
            mine = connect(protocol)
            take, give_back = mine.register_script(TAKE), mine.register_script(GIVE_BACK)
            for _ in range(TURNS):
                while not take(['lock'], [name, 100000]):
                    time.sleep(0.001)
                mine.set('shared', int(mine.get('shared')) + 1)
                assert give_back(['lock'], [name]) == 1
            mine.close()
        except Exception:  # noqa: BLE001
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=work, args=(f't{n}',)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert int(r.get('shared')) == THREADS * TURNS


def check_redis_pys_own_lock(r):
    with r.lock('own', timeout=100) as lock:
        assert lock.owned()
        assert not r.lock('own', timeout=100).acquire(blocking=False)
        assert lock.extend(50) and lock.reacquire()
    assert r.exists('own') == 0


def check_a_window_slides(r):
    slide = r.register_script(SLIDE)
    for n in range(3):
        assert slide(['window'], [1000 + n, 100, 3, f'a{n}']) == [1, 2 - n, 0]
    assert slide(['window'], [1050, 100, 3, 'b']) == [0, 0, 50]
    assert slide(['window'], [1100, 100, 3, 'c']) == [1, 0, 0]
    assert slide(['window'], [1100, 100, 3, 'd']) == [0, 0, 1]
    assert r.zrange('window', 0, -1) == [b'a1', b'a2', b'c']


def check_a_bucket_fills(r):
    bucket = r.register_script(BUCKET)
    assert bucket(['bucket'], [100, 0.5, 2, 1]) == [1, b'1']
    assert bucket(['bucket'], [100, 0.5, 2, 1]) == [1, b'0']
    assert bucket(['bucket'], [101, 0.5, 2, 1]) == [0, b'0.5']
    assert bucket(['bucket'], [101.5, 0.5, 2, 0.7]) == [1, b'0.05']
    assert r.hget('bucket', 'tokens') == b'0.050000000000000044'
    assert bucket(['bucket'], [1000, 0.5, 2, 2]) == [1, b'0']


def check_a_leaderboard_shows_who_stands_around(r):
    around = r.register_script(AROUND)
    for n in range(1, 10):
        r.zadd('board', {f'p{n}': n * 1.5})
        r.hset('names', f'p{n}', f'name {n}')
    r.hdel('names', 'p6')
    assert around(['board', 'names'], ['p5', 1]) == (
        around(['board', 'names'], ['p5', '1']))
    answer = json.loads(around(['board', 'names'], ['p5', 1]))
    assert answer == {'rank': 4, 'rows': [
        {'id': 'p6', 'name': 'nobody', 'rank': 3, 'score': 9},
        {'id': 'p5', 'name': 'name 5', 'rank': 4, 'score': 7.5},
        {'id': 'p4', 'name': 'name 4', 'rank': 5, 'score': 6}]}, answer
    assert json.loads(around(['board', 'names'], ['nobody', 1])) == {'rank': None}


def check_scripts_in_a_pipeline(r):
    """What a script loads is there for EVALSHA, and comes again when it was flushed."""
    slide = r.register_script(SLIDE)
    r.script_flush()
    with r.pipeline() as pipe:
        for n in range(3):
            slide(['piped'], [n, 10, 2, f'{n}'], client=pipe)
        assert pipe.execute() == [[1, 1, 0], [1, 0, 0], [0, 0, 8]]
    assert r.script_exists(slide.sha) == [True]
    r.script_flush()
    assert r.script_exists(slide.sha) == [False]
    assert slide(['other'], [1, 10, 1, 'x']) == [1, 0, 0]


def main():
    passed = failed = 0
    checks = [(name, check) for name, check in globals().items() if name.startswith('check_')]
    for protocol in (2, 3):
        r = connect(protocol)
        for name, check in checks:
            r.flushall()
            try:
                check(r)
                passed += 1
            except Exception:  # noqa: BLE001
                failed += 1
                print(f'FAIL  recipes: {name[6:]}, RESP{protocol}\n{traceback.format_exc()}')
        r.flushall()
        r.close()
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
