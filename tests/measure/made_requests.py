# SPDX-License-Identifier: BSD-3-Clause
"""Requests of a fill that the load's own mixes do not have: other types' commands, deletes of three
keys in four. LAB.md says what stands in a scenario's file.
"""
import servers

PIPELINE = 200


def _numbers(made):
    spare = made['spare-each']
    return [n for n in range(made['first'], made['first'] + made['count'])
            if not spare or n % spare]


def encoded(made):
    """Each request as the protocol has it."""
    numbers, at_once, value = _numbers(made), made['at-once'], 'v' * made['value-bytes']
    for count, start in enumerate(range(0, len(numbers), at_once)):
        some = numbers[start:start + at_once]
        known = {'group': count % made['groups'], 'value': value}
        request = [word.format(n=some[0], **known) for word in made['words']]
        request += [word.format(n=n, **known) for n in some for word in made['each']]
        yield servers.encode(request)


def send(wire, made):
    """Sends them all; an error as a reply ends it (servers.MeasureError)."""
    wire.many(encoded(made), PIPELINE)
