# SPDX-License-Identifier: BSD-3-Clause
"""The family of scripts: programs of lua.py by EVAL and EVALSHA, alone, in transactions, without
memory and by a user with few rights, among commands on the same data.
"""
import hashlib

import pools
from families import (BITS, GEO, HASHES, HLL, KEYS, LISTS, SETS, STREAMS, STRINGS, ZSETS, Family,
                      opened)
from lua import Programs
from script import Op, call, calls

LIMITED_CLIENT = 3
LIMITED = ('on', 'nopass', '~string:*', '~list:*', '~hash:*', '+@all', '-set', '-rpush',
           '-@dangerous', '+script', '+eval', '+evalsha')
KEPT_PROGRAMS = 20
# Orders that scripts alone see: of sets without members that are equal but for a NUL.
pools.POOLS.update({'letters': pools.words('letters:0 letters:1'),
                    'letter': pools.words(' '.join('abcdefghijklmnopqrstuvwxyz'))})
SCRIPTED = '''
2x SADD letters letter+
2x SORT letters BY NOSORT
SORT letters BY NOSORT LIMIT int count_any
SORT letters ALPHA (ASC | DESC)?
SORT set BY NOSORT
SORT zset BY NOSORT (ASC | DESC)?
SPOP NOKEY
TIME
2x SMEMBERS set
HKEYS hash
PUBLISH channel value
'''


class Scripts(Family):
    """Most requests are programs; `self.loaded` are those that EVALSHA may name."""

    def opening(self, world):
        by_effects = world.rng.random() < 0.6
        self.monitored = by_effects
        self.programs = Programs(super().request, by_effects, world.rng.random() < 0.3)
        self.loaded = []
        self.refused = by_effects  # who runs a script again knows no users and no limits
        if not by_effects:
            return super().opening(world) + [
                call(1, 'CONFIG', 'SET', 'lua-replicate-commands', 'no')]
        return super().opening(world) + [
            call(1, 'ACL', 'SETUSER', 'limited', *LIMITED),
            opened(LIMITED_CLIENT, world.rng.choice((2, 3)), ('AUTH', 'limited', 'x'))]

    def op(self, world, client):
        rng = world.rng
        chance = rng.random()
        if chance < 0.06:
            return calls(client, (b'MULTI',), *[self.either(world) for _ in range(
                rng.randint(0, 4))], (b'EXEC',))
        if chance < 0.08 and self.refused:
            return calls(1, (b'CONFIG', b'SET', b'maxmemory', b'1'), self.program(world),
                         (b'CONFIG', b'SET', b'maxmemory', b'0'), alone=True)
        if chance < 0.09:
            return call(1, *rng.choice((('ACL', 'LOG'), ('ACL', 'LOG', 'RESET'),
                                        ('SCRIPT', 'FLUSH'), ('SCRIPT', 'KILL'),
                                        ('SCRIPT', 'FLUSH', 'SYNC'), ('SCRIPT', 'FLUSH', 'x'))))
        if chance < 0.24:
            return super().op(world, client)
        return Op(client, [('call', self.program(world))])

    def either(self, world):
        return self.program(world) if world.rng.random() < 0.6 else super().request(world)

    def program(self, world):
        """A request that runs a program, or is about one."""
        rng = world.rng
        chance = rng.random()
        if chance < 0.15 and self.loaded:
            text, keys, arguments = rng.choice(self.loaded)
            sha = hashlib.sha1(text).hexdigest().encode()
            if chance < 0.01:
                return [b'SCRIPT', b'EXISTS', sha, b'x' * 40, b'', sha.upper()]
            if chance < 0.03:
                return [b'SCRIPT', b'LOAD', text]
            if chance < 0.04:
                sha = rng.choice((sha[:-1], b'0' * 40, sha + b'x'))
            head = [b'EVALSHA', sha.upper() if rng.random() < 0.1 else sha]
        else:
            text, keys, arguments = self.programs.draw(world)
            self.loaded = (self.loaded + [(text, keys, arguments)])[-KEPT_PROGRAMS:]
            head = [b'EVAL', text]
        count = b'%d' % len(keys)
        if rng.random() < 0.01:
            count = rng.choice((b'-1', b'100', b'x', b'', b'1.0'))
        return head + [count] + keys + arguments


Scripts('scripts', SCRIPTED + STRINGS + BITS + HLL + LISTS + SETS + HASHES + ZSETS + GEO + STREAMS
        + KEYS, pools.TYPES, clients=3, lengths=(1, 2, 5, 20))
