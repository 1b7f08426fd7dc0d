#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A session with redis-py: does a client that people use work with the server unchanged?

usage: redis_py.py HOST PORT     (tests/clients/run starts a server and calls it)

Each function whose name begins with check_ is one test, run in RESP2 and in RESP3. What a server
does not have yet is named by the reply's error and fails like anything else. Prints the failures
and last `N passed, N failed`.
"""
import logging
import os
import sys
import threading
import time
import traceback

import redis


def connect(protocol, **options):
    host, port = sys.argv[1], int(sys.argv[2])
    return redis.Redis(host=host, port=port, protocol=protocol, socket_timeout=300, **options)


def check_ping_and_echo(r):
    assert r.ping() is True
    assert r.echo('hello') == b'hello'
    assert r.echo(b'\x00\r\n') == b'\x00\r\n'


def check_strings(r):
    assert r.set('k', 'value') is True
    assert r.get('k') == b'value'
    assert r.get('nokey') is None
    blob = bytes(range(256)) * 1000
    assert r.set('blob', blob) and r.get('blob') == blob
    assert r.exists('k', 'blob', 'nokey') == 2
    assert r.type('k') == b'string'
    assert r.delete('k', 'blob', 'nokey') == 2


def check_unicode_and_decoding(r):
    r.set('Schlüssel', 'Wert: äöü €')
    assert r.get('Schlüssel').decode() == 'Wert: äöü €'
    decoding = connect(r.connection_pool.connection_kwargs['protocol'], decode_responses=True)
    assert decoding.get('Schlüssel') == 'Wert: äöü €'
    decoding.close()
    r.delete('Schlüssel')


def check_set_options(r):
    r.delete('k')
    assert r.set('k', 1, xx=True) is None
    assert r.set('k', 1, nx=True) is True
    assert r.set('k', 2, nx=True) is None
    assert r.set('k', 3, get=True) == b'1'
    assert r.set('k', 4, ex=100) and 50 <= r.ttl('k') <= 100
    assert r.set('k', 5, keepttl=True) and 50 <= r.ttl('k') <= 100
    assert r.set('k', 6, exat=int(time.time()) + 200) and 100 <= r.ttl('k') <= 201
    assert r.set('k', 7) and r.ttl('k') == -1
    r.delete('k')


def check_counting(r):
    r.delete('n')
    assert [r.execute_command('INCR', 'n') for _ in range(5)] == [1, 2, 3, 4, 5]
    r.delete('n')


def check_expiry(r):
    # Set and read at one moment, however short the key lives.
    assert r.pipeline().set('soon', 'x', px=60).get('soon').execute() == [True, b'x']
    deadline = time.time() + 300
    while r.get('soon') is not None:
        assert time.time() < deadline, 'the key does not expire'
        time.sleep(0.02)
    assert r.ttl('soon') == -2


def check_pipeline(r):
    with r.pipeline(transaction=False) as p:
        for i in range(5000):
            p.set(f'p:{i}', i)
        for i in range(5000):
            p.get(f'p:{i}')
        replies = p.execute()
    assert replies[:5000] == [True] * 5000
    assert replies[5000:] == [str(i).encode() for i in range(5000)]
    assert r.dbsize() >= 5000
    assert r.flushall() is True
    assert r.dbsize() == 0


def check_pipeline_with_errors(r):
    with r.pipeline(transaction=False) as p:
        p.set('k', 'x').execute_command('INCR', 'k').execute_command('NOSUCH').get('k')
        replies = p.execute(raise_on_error=False)
    assert replies[0] is True and replies[3] == b'x'
    assert 'not an integer' in str(replies[1])
    assert 'unknown command' in str(replies[2]).lower()


def check_errors(r):
    for words in (['GET'], ['NOSUCH', 'a'], ['SET', 'k', 'v', 'EX', '0'], ['SELECT', '99']):
        try:
            r.execute_command(*words)
        except redis.ResponseError:
            continue
        raise AssertionError(f'{words} did not fail')
    assert r.ping()


def check_info(r):
    info = r.info()
    assert info['redis_version'].startswith('6.2.')
    assert info['redis_mode'] == 'standalone'
    assert isinstance(info['used_memory'], int) and info['used_memory'] > 0
    assert info['connected_clients'] >= 1
    r.set('k', 1)
    assert r.info('keyspace')['db0']['keys'] >= 1
    assert 'cmdstat_set' in r.info('commandstats')


def check_config(r):
    before = r.config_get('maxmemory-samples')['maxmemory-samples']
    assert r.config_set('maxmemory-samples', 9) is True
    assert r.config_get('maxmemory-samples') == {'maxmemory-samples': '9'}
    r.config_set('maxmemory-samples', before)
    assert 'port' in r.config_get()
    try:
        r.config_set('maxmemory', 'nonsense')
        raise AssertionError('a bad value was taken')
    except redis.ResponseError as e:
        assert 'memory value' in str(e)
    assert r.config_resetstat() is True


def check_command_table(r):
    rows = r.command()
    assert rows['get']['arity'] == 2 and 'readonly' in rows['get']['flags']
    assert r.command_count() == len(rows)
    assert r.command_getkeys('SET', 'a', 'b') in (['a'], [b'a'])


def check_select(r):
    other = connect(r.connection_pool.connection_kwargs['protocol'], db=5)
    other.set('only-in-5', 1)
    assert r.exists('only-in-5') == 0
    assert other.dbsize() == 1
    other.flushall()
    other.close()


def check_many_threads(r):
    r.delete('n')
    failures = []

    def count():
        mine = connect(r.connection_pool.connection_kwargs['protocol'])
        try:
            for _ in range(200):
                mine.execute_command('INCR', 'n')
        except Exception as e:
            failures.append(e)
        finally:
            mine.close()

    threads = [threading.Thread(target=count) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures
    assert r.get('n') == b'2000'


def check_string_commands(r):
    r.delete('a', 'b', 'c')
    assert r.mset({'a': 'ohmytext', 'b': 'mynewtext'}) and r.mget('a', 'b', 'none') == [
        b'ohmytext', b'mynewtext', None]
    assert r.msetnx({'a': 1, 'c': 2}) is False and r.get('c') is None
    assert r.append('a', '!') == 9 and r.strlen('a') == 9
    assert r.getrange('a', 2, 3) == b'my' and r.setrange('a', 8, '?') == 9
    assert r.getdel('a') == b'ohmytext?' and r.get('a') is None
    assert r.set('n', 10) and r.incrby('n', 5) == 15 and r.decr('n', 3) == 12
    assert r.incrbyfloat('n', 0.5) == 12.5
    assert r.getex('n', ex=50) == b'12.5' and 1 <= r.ttl('n') <= 50
    assert r.getex('n', persist=True) == b'12.5' and r.ttl('n') == -1
    assert r.setex('n', 20, 'x') and r.psetex('n', 20000, 'y') and r.pttl('n') > 100
    r.delete('b', 'c', 'n')


def check_bits(r):
    r.delete('bits')
    assert [r.setbit('bits', i, 1) for i in (1, 7, 100)] == [0, 0, 0]
    assert r.getbit('bits', 7) == 1 and r.bitcount('bits') == 3 and r.bitpos('bits', 1) == 1
    assert r.bitop('NOT', 'inverted', 'bits') == 13 and r.bitcount('inverted') == 101
    assert r.bitfield('bits').set('u8', 0, 200).incrby('u8', 0, 100).execute() == [65, 44]
    r.delete('bits', 'inverted')


def check_keys(r):
    r.flushdb()
    for i in range(300):
        r.set(f'scan:{i}', i)
    assert len(set(r.scan_iter('scan:*', count=20))) == 300
    assert len(r.keys('scan:29?')) == 10
    assert r.randomkey().startswith(b'scan:')
    assert r.rename('scan:0', 'first') and r.renamenx('first', 'scan:1') is False
    assert r.copy('first', 'second') is True and r.get('second') == b'0'
    assert r.touch('first', 'second', 'none') == 2 and r.unlink('first', 'second') == 2
    assert r.expire('scan:1', 100) and r.persist('scan:1') and r.ttl('scan:1') == -1
    assert r.object('encoding', 'scan:1') == b'int'
    assert r.memory_usage('scan:1') > 0
    assert r.move('scan:1', 7) is True and r.exists('scan:1') == 0
    assert r.swapdb(0, 7) and r.get('scan:1') == b'1' and r.swapdb(0, 7)
    assert r.flushall() is True


def check_clients(r):
    r.client_setname('session')
    assert r.client_getname() in ('session', b'session')
    mine = r.client_id()
    me = [c for c in r.client_list() if int(c['id']) == mine]
    assert len(me) == 1 and me[0]['name'] == 'session' and me[0]['cmd'] == 'client'
    other = connect(r.connection_pool.connection_kwargs['protocol'], single_connection_client=True)
    assert r.client_kill_filter(_id=other.client_id()) == 1
    other.close()
    assert r.client_pause(10) is True and r.client_unpause() in (True, b'OK', 'OK')


def check_server(r):
    seconds, micros = r.time()
    assert abs(seconds - time.time()) < 100 and 0 <= micros < 1000000
    assert 'Redis ver' in r.lolwut().decode()
    r.config_set('slowlog-log-slower-than', 0)
    r.slowlog_reset()
    r.get('slow')
    assert any(b'GET slow' in entry['command'] for entry in r.slowlog_get())
    assert r.slowlog_len() >= 1
    r.config_set('slowlog-log-slower-than', 10000)
    assert r.memory_stats()['keys.count'] >= 0
    assert r.latency_latest() == []


def check_monitor(r):
    with r.monitor() as monitor:
        r.set('monitored', 'value')
        for command in monitor.listen():
            if command['command'] == 'SET monitored value':
                break
    r.delete('monitored')


def check_protocol(r):
    protocol = r.connection_pool.connection_kwargs['protocol']
    reply = r.execute_command('HELLO')
    if isinstance(reply, list):
        reply = dict(zip(reply[::2], reply[1::2]))
    assert reply[b'proto'] == protocol and reply[b'server'] == b'redis'


def next_message(p):
    for _ in range(3000):
        message = p.get_message(timeout=0.1)
        if message:
            return message['type'], message['pattern'], message['channel'], message['data']
    raise AssertionError('no message')


logging.getLogger('push_response').setLevel(logging.WARNING)  # it prints each message


def check_publish_and_subscribe(r):
    p = r.pubsub()
    p.subscribe('news', 'weather')
    p.psubscribe('n*')
    assert next_message(p) == ('subscribe', None, b'news', 1)
    assert next_message(p) == ('subscribe', None, b'weather', 2)
    assert next_message(p) == ('psubscribe', None, b'n*', 3)
    assert r.publish('news', 'hello') == 2
    assert next_message(p) == ('message', None, b'news', b'hello')
    assert next_message(p) == ('pmessage', b'n*', b'news', b'hello')
    assert sorted(r.pubsub_channels()) == [b'news', b'weather']
    assert r.pubsub_numsub('news', 'none') == [(b'news', 1), (b'none', 0)]
    assert r.pubsub_numpat() == 1
    p.ping()
    assert next_message(p)[0] == 'pong' or r.connection_pool.connection_kwargs['protocol'] == 3
    p.unsubscribe()
    p.punsubscribe()
    kinds = sorted(next_message(p)[0] for _ in range(3))
    assert kinds == ['punsubscribe', 'unsubscribe', 'unsubscribe']
    assert r.publish('news', 'nobody') == 0
    p.close()


def check_subscriber_thread(r):
    got = []
    p = r.pubsub(ignore_subscribe_messages=True)
    p.subscribe(numbers=lambda message: got.append(int(message['data'])))
    thread = p.run_in_thread(sleep_time=0.05)
    for _ in range(3000):
        if r.pubsub_numsub('numbers')[0][1] == 1:
            break
        time.sleep(0.05)
    for i in range(100):
        assert r.publish('numbers', i) == 1
    for _ in range(3000):
        if len(got) == 100:
            break
        time.sleep(0.05)
    thread.stop()
    thread.join()
    assert got == list(range(100))


def main():
    passed = failed = 0
    chosen = os.environ.get('ONLY')
    checks = [f for name, f in globals().items() if name.startswith('check_')]
    for protocol in (2, 3):
        r = connect(protocol)
        for check in checks:
            if chosen and chosen not in check.__name__:
                continue
            try:
                check(r)
                passed += 1
            except Exception:
                failed += 1
                print(f'FAIL  redis-py RESP{protocol} {check.__name__}')
                print('      ' + traceback.format_exc(limit=-2).strip().replace('\n', '\n      '))
        r.close()
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
