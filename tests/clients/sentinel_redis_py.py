# SPDX-License-Identifier: BSD-3-Clause
"""redis-py's Sentinel client: discovery, what Sentinels tell, clients of the primary and of
replicas over two failovers, one asked for and one of a primary that hangs; RESP2 and RESP3.

usage: sentinel_redis_py.py HOST PORT...     (with_sentinels.py starts the Sentinels and calls it)
Prints the failures and last `N passed, N failed`.
"""
import sys
import time

import redis
from redis.sentinel import MasterNotFoundError, Sentinel, SlaveNotFoundError

from checks import PATIENCE_SECONDS, await_true, run_all

HOST, PORTS = sys.argv[1], [int(word) for word in sys.argv[2:]]
NAME = 'm'


def client(protocol, **options):
    """Sentinels are asked over RESP2: redis-py 5.2 cannot read their maps."""
    return Sentinel([(HOST, port) for port in PORTS], socket_timeout=2, protocol=protocol,
                    sentinel_kwargs={'protocol': 2, 'socket_timeout': 2}, **options)


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def rested(s):
    """No failover is under way at any Sentinel, and two replicas are up."""
    return len(s.discover_slaves(NAME)) == 2 and all(
        'failover-state' not in one.sentinel_master(NAME) and
        all(row['role-reported'] == 'slave' and row['master-link-status'] == 'ok'
            for row in one.sentinel_slaves(NAME)) for one in s.sentinels)


def check_discovery(protocol):
    s = client(protocol)
    host, port = s.discover_master(NAME)
    assert host == HOST and port not in PORTS
    replicas = s.discover_slaves(NAME)
    assert len(replicas) == 2 and (host, port) not in replicas
    assert client(protocol, min_other_sentinels=2).discover_master(NAME) == (host, port)
    for unknown in (lambda: s.discover_master('none'),
                    lambda: client(protocol, min_other_sentinels=3).discover_master(NAME)):
        try:
            unknown()
            raise AssertionError('a primary was found')
        except MasterNotFoundError:
            pass
    assert s.discover_slaves('none') == []
    try:
        s.slave_for('none').ping()
        raise AssertionError('a replica was found')
    except SlaveNotFoundError:
        pass


def check_what_sentinels_tell(protocol):
    s = client(protocol)
    one = s.sentinels[0]
    host, port = s.discover_master(NAME)
    address = one.sentinel_get_master_addr_by_name(NAME)
    assert (text(address[0]), int(address[1])) == (host, port)
    assert one.sentinel_get_master_addr_by_name('none') is None
    state = one.sentinel_master(NAME)
    assert state['name'] == NAME and state['port'] == port and state['is_master'] is True
    assert state['num-slaves'] == 2 and state['num-other-sentinels'] == 2 and state['quorum'] == 2
    assert state['is_sdown'] is False and state['down-after-milliseconds'] == 1000
    assert list(one.sentinel_masters()) == [NAME]
    assert {int(row['port']) for row in one.sentinel_slaves(NAME)} == \
        {found for _, found in s.discover_slaves(NAME)}
    assert {int(row['port']) for row in one.sentinel_sentinels(NAME)} == set(PORTS[1:])
    assert text(one.execute_command('SENTINEL', 'CKQUORUM', NAME)).startswith('OK 3 usable')
    assert one.sentinel_flushconfig() is True
    assert text(one.execute_command('SENTINEL MYID')) not in \
        {text(row['runid']) for row in one.sentinel_sentinels(NAME)}


def check_monitor_set_remove(protocol):
    one = client(protocol).sentinels[0]
    port = client(protocol).discover_master(NAME)[1]
    assert one.sentinel_monitor('other', HOST, port, 3) is True
    assert one.sentinel_set('other', 'down-after-milliseconds', 4000) is True
    state = one.sentinel_master('other')
    assert state['down-after-milliseconds'] == 4000 and state['quorum'] == 3
    assert one.execute_command('SENTINEL', 'RESET', 'oth*') == 1
    assert one.sentinel_remove('other') is True
    assert list(one.sentinel_masters()) == [NAME]
    for bad in (lambda: one.sentinel_master('other'), lambda: one.sentinel_failover('other'),
                lambda: one.sentinel_set(NAME, 'quorum', 0)):
        try:
            bad()
            raise AssertionError('no error')
        except redis.ResponseError:
            pass


def check_clients(protocol):
    s = client(protocol)
    primary, replica = s.master_for(NAME), s.slave_for(NAME)
    assert primary.set('key', protocol) is True
    assert primary.role()[0] in (b'master', 'master')
    assert replica.role()[0] in (b'slave', 'slave')
    await_true(lambda: replica.get('key') == b'%d' % protocol, 'the replica has the key')
    try:
        replica.set('key', 'x')
        raise AssertionError('a replica took a write')
    except redis.ReadOnlyError:
        pass


def follow(s, protocol, primary, strike):
    """A change of primaries, which the standing client and a listener must see."""
    old = s.discover_master(NAME)
    heard = s.sentinels[0].pubsub(ignore_subscribe_messages=True)
    heard.subscribe('+switch-master')
    heard.get_message(timeout=1)
    strike()
    await_true(lambda: s.discover_master(NAME) != old, 'another primary')
    await_true(lambda: primary.set('after', protocol), 'a write')
    assert primary.connection_pool.get_master_address() != old
    message = None
    until = time.monotonic() + PATIENCE_SECONDS
    while not message and time.monotonic() < until:
        message = heard.get_message(timeout=1)
    assert text(message['data']).split()[:3] == [NAME, HOST, str(old[1])]
    heard.close()
    return old


def check_failover(protocol):
    s = client(protocol)
    primary = s.master_for(NAME)
    await_true(lambda: rested(s), 'rest')
    primary.set('before', 1)
    follow(s, protocol, primary,
           lambda: await_true(lambda: s.sentinels[1].sentinel_failover(NAME), 'FAILOVER'))
    await_true(lambda: rested(s), 'the old primary is a replica')
    assert primary.get('before') == b'1'


def check_a_primary_that_hangs(protocol):
    s = client(protocol)
    primary = s.master_for(NAME)
    await_true(lambda: rested(s), 'rest')

    def hang():
        direct = redis.Redis(*s.discover_master(NAME), socket_timeout=0.2)
        try:
            direct.execute_command('DEBUG', 'SLEEP', 12)
        except redis.TimeoutError:
            pass

    old = follow(s, protocol, primary, hang)
    await_true(lambda: rested(s), 'the old primary is a replica')
    assert old in s.discover_slaves(NAME)


if __name__ == '__main__':
    sys.exit(run_all('redis-py Sentinel', globals()))
