# SPDX-License-Identifier: BSD-3-Clause
"""Cluster mode (--cluster): both servers are the same node of the same cluster.

Both start with one nodes.conf: this node owns most slots, another node, which nobody runs, owns
some, and nobody owns one. A family's script is spread over slots: its keys get hash tags, most
often one for a whole op, so that commands with several keys run, too. In between, marks are set
and taken away (MIGRATING, IMPORTING, STABLE), slots change their owner (NODE, ADDSLOTS, DELSLOTS),
and clients say ASKING, READONLY and READWRITE. Some rounds are those of a cluster that is down, or
of a replica.

Left out are keys that are due: 6.2 deletes them when it looks whether they are in an open slot.
"""
import os
import random
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../support'))

import pair  # noqa: E402
import servers  # noqa: E402
from script import call, calls  # noqa: E402
from slots import SLOTS, slot_of  # noqa: E402

ME, OTHER = '1' * 40, '2' * 40
OPTIONS = '''cluster-enabled yes
cluster-config-file nodes.conf
cluster-node-timeout 100000000
cluster-require-full-coverage no
cluster-announce-ip 127.0.0.1
cluster-announce-port 7000
cluster-announce-bus-port 17000
'''
# Keys of these tags are this node's, another node's, nobody's.
OURS, OTHERS, NOBODYS = (b'a', b'b', b'c', b'f'), (b'd', b'e'), (b'n',)
TAGS = OURS * 3 + OTHERS * 2 + NOBODYS
# These keys, without a tag, are another node's: programs name keys so.
OTHERS_KEYS = (b'string:1', b'list:2', b'zset:3', b'hash:0', b'set:1')
KEY = re.compile(rb'(string|bits|hll|list|set|hash|zset|geo|stream|nokey):\d+$')
# Of what is random about this key nothing may stay, so its slot is always this node's.
CHANCE = b'chance'
MARKS_CLIENT = 12
READY_SECONDS = 30


def ranges(slots):
    text = []
    for slot in sorted(slots):
        if text and text[-1][1] == slot - 1:
            text[-1][1] = slot
        else:
            text.append([slot, slot])
    return ' '.join(f'{a}' if a == b else f'{a}-{b}' for a, b in text)


def nodes_conf():
    others = {slot_of(key) for key in OTHERS + OTHERS_KEYS}
    ours = set(range(SLOTS)) - others - {slot_of(key) for key in NOBODYS}
    return (f'{ME} 127.0.0.1:7000@17000 myself,master - 0 0 1 connected {ranges(ours)}\n'
            f'{OTHER} 127.0.0.1:7001@17001 master - 0 0 2 connected {ranges(others)}\n'
            'vars currentEpoch 2 lastVoteEpoch 0\n').encode()


class ClusterPair(pair.Pair):
    """A pair of nodes."""

    def server(self, name, path):
        return servers.Server(name, path, OPTIONS, {'nodes.conf': nodes_conf()})

    def level_ids(self):
        # A primary that starts is down for some time.
        for server in self.servers:
            control = servers.Control(server)
            until = time.monotonic() + READY_SECONDS
            while b'cluster_state:ok' not in control.ask([b'CLUSTER', b'INFO'])[0][1]:
                if time.monotonic() > until:
                    raise servers.ServerGone(server.name, f'{server.name} stays down')
                time.sleep(0.02)
            control.close()
        super().level_ids()

    def run_turn(self, ops):
        super().run_turn(ops)
        # In 6.2 a primary that becomes a replica takes a client's id.
        if ops[0].client == MARKS_CLIENT and b'REPLICATE' in ops[-1].actions[-1][1]:
            super().level_ids()
            for control in self.controls:
                control.ask([b'CONFIG', b'RESETSTAT'])


def spread(script, seed):
    """The script of a family as one of a cluster's clients: the same for the same seed."""
    rng = random.Random(f'{seed}/cluster')
    found = opening(rng)
    often = rng.choice((0.002, 0.01, 0.05))
    for op in script:
        if any(kind == 'pause' or is_left_out(content) for kind, content in op.actions):
            continue
        if rng.random() < often:
            found.append(mark(rng))
        found.append(with_tags(rng, op))
    return found


def is_left_out(args):
    """SET with a date, which may have passed; and events of misses, which 6.2 publishes when it
    looks whether a key is in an open slot."""
    words = [arg.upper() for arg in args] if isinstance(args, list) else []
    if words[1:3] == [b'SET', b'NOTIFY-KEYSPACE-EVENTS']:
        return b'm' in args[-1]
    return words[:1] == [b'SET'] and bool({b'EXAT', b'PXAT'} & set(words))


def opening(rng):
    chance = rng.random()
    slot = slot_of(OURS[0])
    if chance < 0.1:
        return [call(MARKS_CLIENT, 'CONFIG', 'SET', 'cluster-allow-reads-when-down',
                     rng.choice(('yes', 'no'))),
                call(MARKS_CLIENT, 'CONFIG', 'SET', 'cluster-require-full-coverage', 'yes'),
                call(MARKS_CLIENT, 'CLUSTER', 'SETSLOT', slot, 'STABLE', alone=True)]
    if chance < 0.2:
        return [call(MARKS_CLIENT, 'CLUSTER', 'FLUSHSLOTS'),
                call(MARKS_CLIENT, 'CLUSTER', 'REPLICATE', OTHER, alone=True)]
    return []


def mark(rng):
    """A command that opens, closes or moves a slot, or is refused. A slot that is given up is
    closed before, because its mark stays in 6.2."""
    slot = slot_of(rng.choice(OURS + OTHERS + NOBODYS + OTHERS_KEYS))
    chance = rng.random()
    words = ['COUNTKEYSINSLOT', slot]
    if chance < 0.3:
        words = ['SETSLOT', slot, 'MIGRATING', OTHER]
    elif chance < 0.6:
        words = ['SETSLOT', slot, 'IMPORTING', OTHER]
    elif chance < 0.85:
        words = ['SETSLOT', slot, 'STABLE']
    elif chance < 0.93:
        words = ['SETSLOT', slot, 'NODE', rng.choice((ME, OTHER))]
    elif chance < 0.96:
        words = [rng.choice(('ADDSLOTS', 'DELSLOTS')), slot]
    stable = [['CLUSTER', 'SETSLOT', slot, 'STABLE']] if words[0] == 'DELSLOTS' else []
    return calls(MARKS_CLIENT, *stable, ['CLUSTER', *words], alone=True)


def with_tags(rng, op):
    """The op with tags in its keys; its client may say before what a cluster's client says."""
    if any(kind == 'call' and CHANCE in content for kind, content in op.actions):
        return op
    one = rng.choice(TAGS) if rng.random() < 0.85 else None
    actions = []
    for kind, content in op.actions:
        if kind not in ('call', 'inline'):
            actions.append((kind, content))
            continue
        chance = rng.random()
        if chance < 0.06 and kind == 'call':
            actions.append(('call', [b'ASKING']))
        elif chance < 0.075 and kind == 'call':
            actions.append(('call', [rng.choice((b'READONLY', b'READONLY', b'READWRITE'))]))
        actions.append((kind, [tagged(rng, one, arg) for arg in content]))
    return op.with_actions(actions)


def tagged(rng, one, arg):
    if not KEY.match(arg) or rng.random() < 0.03:
        return arg
    return b'{%s}%s' % (one or rng.choice(TAGS), arg)
