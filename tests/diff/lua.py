# SPDX-License-Identifier: BSD-3-Clause
"""Lua programs drawn at random: what the requests of the family "scripts" run.

A program assigns to a few variables what calls and expressions give, and returns one of them, or
all of them as one text. What chance, time or a table's order decides it never shows: the reply of
such a call goes through a function that leaves its type, or sorts it.
"""
import compare
import known
import pools
import wire

# In front of each program: a value as a text, sorted; a list sorted; the type alone.
PRELUDE = b'''local show
function show(v, depth)
  local kind = type(v)
  if kind == 'number' then return v ~= v and 'nan' or string.format('%.17g', v) end
  if kind == 'string' then return string.format('%q', v) end
  if kind ~= 'table' then return kind == 'boolean' and tostring(v) or kind end
  if depth > 9 then return '...' end
  local keys, parts = {}, {}
  for k in pairs(v) do keys[#keys + 1] = k end
  table.sort(keys, function(x, y)
    if type(x) ~= type(y) then return type(x) < type(y) end
    if type(x) == 'boolean' then return x and not y end
    return x < y end)
  for i, k in ipairs(keys) do parts[i] = show(k, depth + 1) .. '=' .. show(v[k], depth + 1) end
  return '{' .. table.concat(parts, ', ') .. '}'
end
local function sorted(v)
  if type(v) ~= 'table' or v.err or #v == 0 then return v end
  local parts = {}
  for i, item in ipairs(v) do parts[i] = show(item, 0) end
  table.sort(parts)
  return parts
end
local function kind(v) return type(v) == 'table' and v.err or type(v) end
local a, b, c, d
'''
PASSING = {b'EXPIRE', b'PEXPIRE', b'EXPIREAT', b'PEXPIREAT', b'EXAT', b'PXAT'}
WITHHOLDING = b'redis.set_repl(redis.REPL_'
VARIABLES = 'abcd'
# None that a conversion finds out of range: known.py, `SORT` after an earlier number.
NUMBERS = '''0 1 -1 2 3 10 1.5 -2.7 3.9999999 -0.5 0.1 1e3 1e15 1e17 1e20 1e300 -1e300
2^31 -2^31 2^31-1 2^32 2^53 2^53+1 -2^53 2^63 -2^63 2^64 123456789012345678 0/0 -(0/0) 1/0 -1/0
0*-1 0x10 100 255 65535 4294967295 16777216 9007199254740993 1e-7 1/3 12345.678'''.split()
TEXTS = [b'', b'a', b'abc', b'0', b'12', b'-7', b'1.5', b' 3 ', b'0x1F', b'1e2', b'nan', b'inf',
         b'a\nb', b'a\r\nb', b'\x00', b'a\x00b', b'\xff\xfe', b'x' * 60, b'OK', b'ERR text',
         b'ok', b'{}', b'[]', b'[1,2,{"a":null}]', b'"\\u00e9"', b'{"a":1,"b":[true,false]}',
         b'[1e300,-1.5e3]', b'{"a"', b'nul', b'\x93\x01\x02\x03', b'\x81\xa1a\x01', b'\xc0',
         b'\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00', b'\xd9', b'%d %s', b'%a+', b'[', b'\x01\x02\x03']
NOT_FOR_SCRIPTS = '''MULTI|EXEC|DISCARD|WATCH x|UNWATCH|AUTH x|HELLO|HELLO 3|SUBSCRIBE ch1|CLIENT ID
CLIENT GETNAME|BLPOP list:0 0|EVAL x 0|EVALSHA x 0|SCRIPT LOAD x|CONFIG GET maxmemory|RESET|nosuch
nosuch a b|GET|GET a b|SET|DBSIZE x|MONITOR|SHUTDOWN x y|DEBUG OBJECT x|SAVE|ACL WHOAMI
PSUBSCRIBE x|PING|PING x|ECHO x|SELECT 1|SELECT 0|SELECT 99|DBSIZE
PUBLISH ch1 x|TYPE string:0|WAIT 0 0|LOLWUT x y z|COMMAND COUNT|TIME x'''.replace('\n', '|')
NOT_FOR_SCRIPTS = [line.split(b' ') for line in NOT_FOR_SCRIPTS.encode().split(b'|')]
FORMATS = ['>i4', '<I2', 'b', 'B', '>h', '<H', 'l', 'L', 'd', 'f', 's', 'c0', 'c3', 'x', '!4', '!8',
           ' ', '=', 'i1', 'i3', 'I8', 'i16', '>I5', 'i33', 'z', '<d', '>f', 'c', 'bc0', 'T']
BITS = ['tobit', 'bnot', 'band', 'bor', 'bxor', 'lshift', 'rshift', 'arshift', 'rol', 'ror',
        'bswap', 'tohex']
SANDBOX = '''x = 1|return nosuchglobal|_G.x = 1|rawset(_G, 'x', 1)|a = rawget(_G, 'nosuch')
setmetatable(_G, {})|a = getmetatable(_G) ~= nil|redis.call = nil|a = type(redis.call)
a = getmetatable('').__index == string|a = tostring(nil)
a = loadstring('return 1 + 1')()|a = {loadstring('return +')}|a = loadstring('local')
a = {load(function() return nil end)}|a = type(getfenv(1))|a = {pcall(error)}
a = _VERSION|a = type(os)|a = type(io)|a = type(debug)|a = type(package)|a = type(dofile)
a = {pcall(string.rep)}|a = {pcall(string.rep, 'x', -1)}|a = ('x'):rep(3)|string.x = 1
a = {pcall(setmetatable, 1, 2)}|a = {pcall(rawset, {}, nil, 1)}|a = {pcall(next, {}, 1)}
a = {unpack({1, 2, 3}, 2)}|a = {pcall(unpack, 1)}|a = {pcall(unpack, {}, 1, 8001)}
a = select('#', unpack({}, 1, 100))|a = {pcall(table.concat, {1, {}, 3})}|table.insert(redis, 1)
a = collectgarbage('step') ~= nil|a = {pcall(collectgarbage, 'x')}|a = type(newproxy())
a = {pcall(ipairs)}|a = {pcall(pairs, 1)}|a = {pcall(tostring)}|a = {pcall(redis.nosuch)}
a = coroutine.wrap(function(x) coroutine.yield(x) return 2 end)(5)|a = #KEYS + #ARGV
a = coroutine.wrap(function() return redis.call('ping') end)()|KEYS[1] = 'changed' a = KEYS
ARGV = nil|KEYS = nil|a = {pcall(function() x = 1 end)}|a = type(print)|a = {xpcall(error, type)}
a = setmetatable({}, {__index = function(t, k) return k end}).x|a = {getmetatable(redis) ~= nil}
local t = setmetatable({1}, {__len = error, __index = error}) a = t|a = math.pi > 3
a = {pcall(error, {err = 'x'})}|error({})|error({err = 'x'})|error(nil)|error('text')|error('x', 0)
error('x', 2)|error(12)|assert(false)|assert(nil, 'no')|assert(false, {})|local n = nil; n.x = 1
a = nil .. 'x'|a = {} < {}|a = 1 < 'x'|a = #5|local f = 5; f()|redis.nosuch()|string.nosuch('x')
local function f() return f() + 1 end f()|goto x|return|break|for i = 1, 0 do end|a = -{}'''
SANDBOX = SANDBOX.replace('\n', '|').split('|')


class Programs:
    """Draws programs. `request` draws a command; without `by_effects` what has no order comes
    sorted to a script, where the command's row says so; with `withholding` some keep what they do
    from the log or from replicas."""

    def __init__(self, request, by_effects, withholding):
        self.request = request
        self.by_effects = by_effects
        self.withholding = withholding

    def draw(self, world):
        """A program, its keys and its arguments."""
        return Program(self, world).built()


class Program:
    def __init__(self, programs, world):
        self.programs = programs
        self.world = world
        self.rng = world.rng
        self.keys = []
        self.arguments = []
        self.seeded = True

    def built(self):
        rng = self.rng
        for _ in range(rng.randrange(3)):
            self.arguments.append(pools.value(self.world))
        body = [self.statement(2) for _ in range(rng.choice((1, 1, 2, 3, 5)))]
        text = PRELUDE + '\n'.join(body + [self.ending()]).encode('latin-1')
        return text, self.keys, self.arguments

    def ending(self):
        chance = self.rng.random()
        if chance < 0.4:
            return 'return show({a, b, c, d}, 0)'
        if chance < 0.7:
            return f'return {self.rng.choice(VARIABLES)}'
        if chance < 0.8:
            return 'return {a, b, c, d}'
        if chance < 0.9:
            return f'return {self.expression(2)}'
        return self.rng.choice(('', 'return', 'return {a, {b, {c}}}', 'return a, b',
                                'return KEYS', 'return ARGV', 'return {KEYS, ARGV}'))

    # ---- statements ----

    def statement(self, depth):
        chance = self.rng.random()
        if chance < 0.78 or not depth:
            return f'{self.rng.choice(VARIABLES)} = {self.expression(depth)}'
        if chance < 0.82:
            line = self.rng.choice(SANDBOX)
            return f'do {line} end'
        if chance < 0.87:
            return f'for i = 1, {self.rng.randrange(4)} do {self.statement(depth - 1)} end'
        if chance < 0.92:
            return f'if {self.rng.choice(VARIABLES)} then {self.statement(depth - 1)} ' \
                   f'else {self.statement(depth - 1)} end'
        if chance < 0.97:
            return f'{self.rng.choice(VARIABLES)} = {{pcall(function() ' \
                   f'{self.statement(depth - 1)} return {self.rng.choice(VARIABLES)} end)}}'
        return f'for i, v in ipairs(ARGV) do {self.rng.choice(VARIABLES)} = v end'

    # ---- values ----

    def number(self):
        return self.rng.choice(NUMBERS)

    def text(self):
        return quoted(self.rng.choice(TEXTS))

    def value(self, depth):
        """A value without a call."""
        rng = self.rng
        chance = rng.random()
        if chance < 0.3:
            return self.number()
        if chance < 0.55:
            return self.text()
        if chance < 0.65:
            return rng.choice(('true', 'false', 'nil', 'cjson.null', 'nil'))
        if chance < 0.7:
            return rng.choice(VARIABLES)
        if chance < 0.75:
            return rng.choice(('KEYS[1]', 'ARGV[1]', 'ARGV[2]', 'KEYS', 'ARGV', '#ARGV'))
        if not depth:
            return '{}'
        return self.table(depth - 1)

    def table(self, depth):
        rng = self.rng
        chance = rng.random()
        if chance < 0.5:
            return '{' + ', '.join(self.value(depth) for _ in range(rng.randrange(5))) + '}'
        if chance < 0.65:
            return '{%s = %s}' % (rng.choice(('ok', 'err')), self.value(depth))
        if chance < 0.75:
            return '{double = %s}' % self.value(0)
        if chance < 0.9:
            pairs = ', '.join(f'[{self.key()}] = {self.value(depth)}'
                              for _ in range(rng.randrange(3)))
            return '{%s = {%s}}' % (rng.choice(('map', 'set')), pairs)
        return '{' + ', '.join(f'[{self.key()}] = {self.value(depth)}'
                               for _ in range(rng.randrange(4))) + '}'

    def key(self):
        return self.rng.choice(("'a'", "'b'", "'x'", "''", '1', '2', '3', '1.5', '-1', 'true',
                                "'1'", '10'))

    # ---- expressions ----

    def expression(self, depth):
        rng = self.rng
        way = rng.choices((self.command, self.value_shown, self.redis, self.json, self.msgpack,
                           self.struct, self.bits, self.random, self.strings),
                          (50, 14, 9, 7, 6, 5, 4, 3, 6))[0]
        return way(depth)

    def value_shown(self, depth):
        return self.value(depth)

    def command(self, depth):
        rng = self.rng
        if rng.random() < 0.06:
            args = rng.choice(NOT_FOR_SCRIPTS)
        else:
            args = self.request()
        call = 'redis.%s(%s)' % ('call' if rng.random() < 0.3 else 'pcall',
                                 ', '.join(self.argument(at, arg) for at, arg in enumerate(args)))
        return self.hidden(args, call)

    def request(self):
        """Without what meets keys that are due; and where the log has the program and not what it
        did, without what makes them: 6.2 does not delete them while it loads its log."""
        while True:
            args = self.programs.request(self.world)
            words = [arg.upper() for arg in args]
            if words[0] not in (b'SCAN', b'KEYS') and (
                    self.programs.by_effects or not PASSING.intersection(words)):
                return args

    def hidden(self, args, call):
        """What of a reply is comparable."""
        name = args[0].upper()
        if name == b'SORT':
            return call if args[1:] and args[1].startswith(b'letters') else f'kind({call})'
        rule = compare.rule_of(args)
        if known.ever_forgiven(args):
            return f'kind({call})'
        if rule is None:
            return call
        if rule in (compare.unordered, compare.unordered_pairs):
            if not self.programs.by_effects and self.seeded and name in SORTED_FOR_SCRIPTS:
                return call
            return f'sorted({call})'
        return f'kind({call})'

    def argument(self, at, arg):
        rng = self.rng
        chance = rng.random()
        if chance < 0.005:
            return rng.choice(('nil', 'true', '{}', 'KEYS', 'redis.call', '0/0', '1/0'))
        if at and chance < 0.3 and b':' in arg and len(arg) < 12:
            self.keys.append(arg)
            return f'KEYS[{len(self.keys)}]'
        if at and chance < 0.4:
            self.arguments.append(arg)
            return f'ARGV[{len(self.arguments)}]'
        if chance < 0.7 and is_number(arg):
            return arg.decode()
        return quoted(arg)

    def redis(self, depth):
        rng = self.rng
        value = self.value(depth)
        return rng.choice((
            f'redis.sha1hex({value})', f'redis.error_reply({value})',
            f'redis.status_reply({value})', 'redis.error_reply()', 'redis.status_reply(1, 2)',
            'redis.setresp(3)', 'redis.setresp(3)', 'redis.setresp(2)', 'redis.setresp(4)',
            'redis.setresp()', 'redis.log(redis.LOG_DEBUG, "x")', 'redis.log(9, "x")',
            'redis.log("x")', 'redis.breakpoint()', 'redis.debug(1)', 'redis.sha1hex()',
            f'redis.pcall({value})', 'redis.pcall()', 'redis.call()',
            self.set_repl(), self.set_repl(), 'redis.set_repl(9)', 'redis.set_repl()',
            'redis.REPL_SLAVE', 'redis.LOG_WARNING')) \
            if rng.random() > 0.12 else self.by_effects()

    def set_repl(self):
        if not self.programs.withholding:
            return 'redis.set_repl(15)'
        readers = self.rng.choice(('ALL', 'NONE', 'AOF', 'REPLICA'))
        return f'{WITHHOLDING.decode()}{readers})'

    def by_effects(self):
        """From there on numbers are drawn anew, and nothing is sorted."""
        self.seeded = False
        return 'redis.replicate_commands()'

    def json(self, depth):
        rng = self.rng
        return rng.choice((
            f'cjson.encode({self.value(depth)})', f'cjson.encode({self.value(depth)})',
            f'cjson.decode({self.text()})', f'{{pcall(cjson.decode, {self.text()})}}',
            f'{{pcall(cjson.encode, {self.value(depth)})}}',
            f'cjson.decode(cjson.encode({self.value(depth)}))', 'cjson.encode(cjson.null)',
            'cjson.encode_keep_buffer(true)', 'cjson._VERSION', 'cjson._NAME',
            f'cjson.new().encode({self.value(depth)})'))

    def msgpack(self, depth):
        rng = self.rng
        values = ', '.join(self.value(depth) for _ in range(rng.randrange(3)))
        return rng.choice((
            f'cmsgpack.pack({values})', f'{{pcall(cmsgpack.pack, {values or "1"})}}',
            f'{{cmsgpack.unpack(cmsgpack.pack({values or "nil"}))}}',
            f'{{pcall(cmsgpack.unpack, {self.text()})}}',
            f'{{pcall(cmsgpack.unpack_one, {self.text()}, {rng.randrange(-2, 4)})}}',
            f'{{pcall(cmsgpack.unpack_limit, {self.text()}, {rng.randrange(-2, 4)}, '
            f'{rng.randrange(-2, 4)})}}', 'cmsgpack._VERSION'))

    def struct(self, depth):
        rng = self.rng
        form = ''.join(rng.choice(FORMATS) for _ in range(rng.randint(1, 3)))
        values = ', '.join(self.value(0) for _ in range(rng.randrange(4)))
        return rng.choice((
            f"{{pcall(struct.pack, '{form}', {values or '1'})}}",
            f"{{pcall(struct.unpack, '{form}', {self.text()})}}",
            f"{{pcall(struct.unpack, '{form}', {self.text()}, {rng.randrange(-1, 5)})}}",
            f"{{pcall(struct.size, '{form}')}}"))

    def bits(self, depth):
        rng = self.rng
        values = ', '.join(self.number() if rng.random() < 0.9 else self.text()
                           for _ in range(rng.randint(1, 3)))
        return f'{{pcall(bit.{rng.choice(BITS)}, {values})}}'

    def random(self, depth):
        if not self.seeded:
            return '1'
        return self.rng.choice(('math.random()', 'math.random(10)', 'math.random(5, 9)',
                                '{pcall(math.random, 0)}', '{pcall(math.random, 2, 1)}',
                                'math.randomseed(7)', 'math.randomseed(123456)',
                                'math.floor(math.random() * 1e6)'))

    def strings(self, depth):
        number, text, other = self.number(), self.text(), self.text()
        return self.rng.choice((
            f'tostring({number})', f'tonumber({text})', f"string.format('%d', {number})",
            f"string.format('%.14g|%5.1f', {number}, {number})", f'{{string.byte({text}, 1, -1)}}',
            f'#{text}', f'{text} .. {other}', f'{{pcall(string.find, {text}, {other})}}',
            f"{{pcall(string.gsub, {text}, {other}, 'x')}}", f'string.upper({text})',
            f'{text} == {other}', f'{text} < {other}', f'{number} .. ""', f'{number} < {number}',
            f'math.floor({number})', f'{{math.modf({number})}}', f'string.sub({text}, 2, -2)',
            f'{{select(2, {number}, {text}, nil, 1)}}', f'table.concat({{{number}, {text}}}, ",")',
            f'tostring({text} + 1)', f'{{tonumber({text}, 16)}}', f'string.format("%q", {text})'))


SORTED_FOR_SCRIPTS = {b'SMEMBERS', b'SINTER', b'SUNION', b'SDIFF', b'HKEYS', b'HVALS', b'KEYS'}


def without_prelude(text):
    return b'(prelude)\n' + text[len(PRELUDE):] if text.startswith(PRELUDE) else text


def brief(text):
    """The text of an op without the prelude of its programs."""
    return text.replace(wire.quote(PRELUDE)[1:-1], '(prelude) ')


def shorter(args):
    """The same request with a line less of its program, for each line."""
    for at, arg in enumerate(args):
        if arg.startswith(PRELUDE):
            lines = arg[len(PRELUDE):].split(b'\n')
            for line in range(len(lines)):
                rest = b'\n'.join(lines[:line] + lines[line + 1:])
                yield args[:at] + [PRELUDE + rest] + args[at + 1:]


def quoted(data):
    """Bytes as a text of Lua."""
    return '"' + ''.join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f'\\{byte:03d}'
                         for byte in data) + '"'


def is_number(arg):
    """Whether Lua reads it as a number of the same digits."""
    text = arg[1:] if arg[:1] == b'-' else arg
    return len(text) < 16 and text.isdigit() and text == b'%d' % int(text) and arg != b'-0'
