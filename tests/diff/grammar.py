# SPDX-License-Identifier: BSD-3-Clause
"""Commands drawn at random from templates.

A template is a line: words in capitals, digits and signs stand for themselves, words in small
letters are pools of arguments (pools.py); (a b | c) is a choice, and ? * + behind a word or a
bracket is none or one, none to three, one to three. "3x" in front weighs a line three times.

    SET string value (NX | XX | GET | EX seconds)*
"""
import re

TOKEN = re.compile(r'[()|]|[^\s()|]+')
POOL = re.compile(r'[a-z][a-z_0-9]*\Z')
WEIGHT = re.compile(r'(\d+)x\Z')
REPEATS = {'?': (0, 1), '*': (0, 3), '+': (1, 3)}
ODD_CASE = 0.05


class Template:
    def __init__(self, line, pools):
        self.tokens = TOKEN.findall(line)
        self.pools = pools
        self.weight = 1
        weight = WEIGHT.match(self.tokens[0])
        if weight:
            self.weight = int(weight.group(1))
            self.tokens.pop(0)
        self.at = 0
        self.node = self._choice()
        if self.at != len(self.tokens):
            raise ValueError(f'a bracket too many: {line}')

    def draw(self, world):
        args = []
        self.node(world, args)
        return args

    def _choice(self):
        ways = [self._sequence()]
        while self.at < len(self.tokens) and self.tokens[self.at] == '|':
            self.at += 1
            ways.append(self._sequence())
        if len(ways) == 1:
            return ways[0]
        return lambda world, args: world.rng.choice(ways)(world, args)

    def _sequence(self):
        parts = []
        while self.at < len(self.tokens) and self.tokens[self.at] not in '|)':
            parts.append(self._repeated())

        def draw(world, args):
            for part in parts:
                part(world, args)
        return draw

    def _repeated(self):
        token = self.tokens[self.at]
        self.at += 1
        if token == '(':
            node = self._choice()
            if self.at == len(self.tokens):
                raise ValueError('a bracket is not closed')
            self.at += 1
            if self.at < len(self.tokens) and self.tokens[self.at] in REPEATS:
                mark = self.tokens[self.at]
                self.at += 1
                return _repeat(node, mark)
            return node
        if len(token) > 1 and token[-1] in REPEATS and POOL.match(token[:-1]):
            return _repeat(self._pool(token[:-1]), token[-1])
        if len(token) > 1 and token[-1] in REPEATS and token[:-1].isupper():
            return _repeat(_literal(token[:-1]), token[-1])
        return self._pool(token) if POOL.match(token) else _literal(token)

    def _pool(self, name):
        pool = self.pools[name]

        def draw(world, args):
            drawn = pool(world)
            if isinstance(drawn, list):
                args.extend(drawn)
            else:
                args.append(drawn)
        return draw


def _repeat(node, mark):
    least, most = REPEATS[mark]

    def draw(world, args):
        for _ in range(world.rng.randint(least, most)):
            node(world, args)
    return draw


def _literal(token):
    word = token.encode()

    def draw(world, args):
        odd = world.rng.random() < ODD_CASE
        args.append(odd_case(world.rng, word) if odd else word)
    return draw


def odd_case(rng, word):
    return bytes(byte ^ 32 if chr(byte).isalpha() and rng.random() < 0.5 else byte
                 for byte in word)


def templates(text, pools):
    """The templates of a text, one a line; blank lines and those of # are passed over."""
    lines = [line.strip() for line in text.split('\n')]
    return [Template(line, pools) for line in lines if line and not line.startswith('#')]
