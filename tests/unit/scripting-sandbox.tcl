# SPDX-License-Identifier: BSD-3-Clause
# Attempts of scripts to get out, to stay, or to bring the server down: by public advisories on Lua
# in servers. docs/scripting-safety.md names the measure against each. 6.2.16 fails or ends at some.

# Runs each script; it must end with an error that matches.
proc assert_refused {rows} {
    foreach {script pattern} $rows {
        set code [catch {r eval $script 0} reply]
        assert {$code == 1 && [string match $pattern $reply]} "($script: $reply)"
    }
}

start_server {tags {ours}} {
    test {Libraries that reach out are not there} {
        foreach name {package io os debug dofile loadfile require module} {
            assert_refused [list "return $name" "*nonexistent global variable '$name'"]
        }
        assert_equal {} [r eval {return rawget(_G, 'package')} 0]
        assert_equal {} [r eval {return getfenv(0).rawget(_G, 'os')} 0]
    }

    test {CVE-2015-4335: no byte code} {
        foreach load {
            {loadstring(code)} {load(function() local c = code code = nil return c end)}
        } {
            assert_match {*unexpected symbol near 'char(27)'} [r eval "
                local code = string.dump(function() return 1 end)
                local f, fault = $load
                return fault" 0]
        }
        assert_error {*unexpected symbol near 'char(27)'} {r eval "\x1bLuaQ" 0}
        assert_error {*unexpected symbol near 'char(27)'} {r script load "\x1bLuaQ"}
    }

    test {CVE-2022-24735: what is common cannot be changed} {
        assert_refused {
            {x = 1} {*Attempt to modify a readonly table}
            {_G.x = 1} {*Attempt to modify a readonly table}
            {rawset(_G, 'x', 1)} {*Attempt to modify a readonly table}
            {setmetatable(_G, {})} {*Attempt to modify a readonly table}
            {getmetatable(_G).__index = nil} {*Attempt to modify a readonly table}
            {getmetatable(_G).__newindex = nil} {*Attempt to modify a readonly table}
            {redis.call = nil} {*Attempt to modify a readonly table}
            {rawset(redis, 'call', 1)} {*Attempt to modify a readonly table}
            {table.insert(redis, 1)} {*Attempt to modify a readonly table}
            {table.remove(redis)} {*Attempt to modify a readonly table}
            {table.sort(redis)} {*Attempt to modify a readonly table}
            {string.rep = nil} {*Attempt to modify a readonly table}
            {math.random = nil} {*Attempt to modify a readonly table}
            {coroutine.wrap = nil} {*Attempt to modify a readonly table}
            {setfenv(0, {})} {*Attempt to modify a readonly table}
            {setfenv(print, {})} {*cannot change environment of given object}
        }
        assert_equal PONG [r eval {return redis.call('ping').ok} 0]
        assert_equal {} [r eval {return getmetatable(redis) or getmetatable(string)} 0]
    }

    test {CVE-2025-46818: neither can what strings share} {
        assert_refused {
            {getmetatable('').__index = function() end} {*Attempt to modify a readonly table}
            {getmetatable('').__add = function() end} {*Attempt to modify a readonly table}
            {rawset(getmetatable(''), '__index', nil)} {*Attempt to modify a readonly table}
            {getmetatable('').__index.upper = nil} {*Attempt to modify a readonly table}
            {setmetatable(getmetatable(''), {})} {*Attempt to modify a readonly table}
            {return 'a' + 1} {*attempt to perform arithmetic on a string value}
        }
        assert_equal A [r eval {return ('a'):upper()} 0]
    }

    test {Nothing of a script stays for the next} {
        r eval {setfenv(1, {}) return 1} 0
        assert_equal 1 [r eval {setfenv(1, {}) return 1} 0]
        r eval {collectgarbage('stop') return 1} 0
        set script {return pcall(function() return redis.call('ping') end)}
        assert_equal 1 [r eval $script 0]
        r eval {KEYS[1] = 'x' return KEYS[1]} 1 a
        assert_equal a [r eval {return KEYS[1]} 1 a]
        assert_equal {} [r eval {return KEYS[1]} 0]
    }

    test {pairs and next look at libraries as ever} {
        assert_equal 1 [r eval {local n = 0 for k, v in pairs(redis) do n = n + 1 end
            return n >= 20} 0]
        assert_equal 1 [r eval {for k in pairs(_G) do if k == 'KEYS' then return 1 end end} 0]
        assert_equal 1 [r eval {return next(string) ~= nil} 0]
        assert_equal 1 [r eval {local n = 0 table.foreach(math, function() n = n + 1 end)
            return n > 20} 0]
        assert_equal 6 [r eval {local n = 0 for i, v in ipairs({1, 2, 3}) do n = n + v end
            return n} 0]
    }

    test {CVE-2022-24736: errors of any kind} {
        foreach value {{} nil true 12 '' {{}} {function() end} {setmetatable({},
                {__tostring = error, __concat = error})}} {
            assert_error {ERR Error running script*} {r eval "error($value)" 0}
        }
        assert_error {ERR Error running script*stack overflow*} {
            r eval {local function f() return 1 + f() end return f()} 0}
        assert_error {ERR Error running script*} {
            r eval {local t = setmetatable({}, {__index = function(t, k) return t[k] end})
                return t.x} 0}
        assert_error {ERR Error compiling script*} {
            r eval "return [string repeat ( 1000]1[string repeat ) 1000]" 0}
        assert_error {ERR Error compiling script*} {
            r eval "return [string repeat \{ 1000][string repeat \} 1000]" 0}
        assert_equal PONG [r ping]
    }

    test {CVE-2024-46981, CVE-2025-49844: no finalizers, nothing collected while compiling} {
        assert_refused {{newproxy(true)} {*newproxy makes no metatables here}}
        assert_equal userdata [r eval {return type(newproxy())} 0]
        assert_equal 1 [r eval {
            local n = 0
            return load(function()
                n = n + 1
                collectgarbage('collect')
                if n < 100 then return ' local v' .. n .. ' = ' .. n end
                if n == 100 then return ' return v1' end
            end)()} 0]
        for {set i 0} {$i < 50} {incr i} {
            r eval "local t = {[string repeat "'a$i', " 500]} collectgarbage('collect') return #t" 0
        }
    }

    test {CVE-2025-46817: ranges of unpack} {
        assert_refused {
            {return unpack({}, 0, 2147483647)} {*too many results to unpack}
            {return unpack({}, -2147483648, 2147483647)} {*too many results to unpack}
            {return unpack({}, 1, 1e300)} {*too many results to unpack}
            {return unpack({}, 1, 1 / 0)} {*too many results to unpack}
            {return unpack({}, -1e15, -1e15 + 10)} {*too many results to unpack}
        }
        assert_equal 0 [r eval {return select('#', unpack({}, 5, 1))} 0]
        assert_equal 7000 [r eval {return select('#', unpack({}, 1, 7000)) } 0]
    }

    test {CVE-2024-31449: digits of bit.tohex} {
        foreach count {-2147483648 2147483647 -8 0 9 1e300 -1e300 0/0} {
            assert {[string length [r eval "return bit.tohex(65535, $count)" 0]] <= 8}
        }
    }

    test {CVE-2015-8080, CVE-2018-11219, CVE-2020-14147: sizes and positions of struct} {
        foreach format {i2147483648 i4294967297 i99999999999999999999 c2147483647 c4294967296
                !2147483647 i33 bc0 c0} {
            foreach call {{struct.pack(f, 1, 'x')} {struct.unpack(f, 'xxxx')} {struct.size(f)}} {
                r eval "local f = '$format' return (pcall(function() return $call end))" 0
            }
        }
        foreach position {-1 0 5 2147483647 -2147483648 1e300 1/0 0/0} {
            r eval "return (pcall(struct.unpack, 'i4', 'xxxx', $position))" 0
        }
        assert_equal PONG [r ping]
    }

    test {CVE-2018-11218: many and deep values of cmsgpack} {
        assert_refused {
            {return cmsgpack.unpack(('\145'):rep(100000))} {*stack overflow*}
            {return cmsgpack.unpack(('\1'):rep(100000))} {*too many return values*}
            {return cmsgpack.unpack('\223\1\2')} {*Missing bytes in input*}
            {return cmsgpack.unpack('\219\255\255\255\255')} {*Missing bytes in input*}
        }
        assert_equal 1 [r eval {local t = {} t[1] = t return #cmsgpack.pack(t) > 0} 0]
        assert_equal {} [r eval {local t = {} for i = 1, 8001 do t[i] = i end
            return (pcall(function() return cmsgpack.pack(unpack(t)) end))} 0]
    }

    test {CVE-2022-24834: lengths of cjson and cmsgpack that overflow} {
        r config set lua-memory-limit 30mb
        assert_refused {
            {local s = ('\1'):rep(5000000) return #cjson.encode(s)} {*not enough memory*}
            {local s = ('x'):rep(5000000) return #cmsgpack.pack(s, s, s, s, s)}
                {*not enough memory*}
        }
        r config set lua-memory-limit 1gb
        assert_equal 1200002 [r eval {return #cjson.encode(('\1'):rep(200000))} 0]
        assert_refused {
            {return cjson.decode(('['):rep(100000))} {*too many nested data structures*}
            {local t = {} t.t = t return cjson.encode(t)} {*excessive nesting*}
        }
    }

    test {As many arguments as a call can have, and replies to it} {
        foreach count {33 7990 7997 7998 7999} {
            r del l
            assert_equal $count [r eval "local a = {} for i = 1, $count do a\[i] = i end
                return redis.call('rpush', 'l', unpack(a))" 0]
            assert_equal $count [r lindex l -1]
            assert_equal $count [r eval "local a = {} for i = 1, $count do a\[i] = 'x' end
                return #redis.call('mget', unpack(a))" 0]
            assert_error * {r eval "local a = {} for i = 1, $count do a\[i] = 'x' end
                return redis.call(unpack(a))" 0}
        }
    }

    test {Deep patterns, large results, large tables} {
        assert_refused {
            {local n = 400000 return string.find(('a'):rep(n), ('a?'):rep(n))} {*pattern too long}
            {return ('a'):rep(400000):gsub(('a?'):rep(400000), '')} {*pattern too long}
            {for w in ('a'):gmatch(('a?'):rep(400000)) do end} {*pattern too long}
            {return ('a'):match(('a?'):rep(400000))} {*pattern too long}
            {return ('x'):rep(2147483647)} {*resulting string too large}
        }
        assert_equal {} [r eval {return (''):rep(2147483647)} 0]
        assert_equal 1 [r eval {return string.find(('a'):rep(8000), ('a?'):rep(8000))} 0]
        assert_error {*script too long*} {
            r eval {return assert(loadstring(('x'):rep(1000):rep(70000)))} 0}
    }

    test {lua-memory-limit bounds what scripts hold} {
        r config set lua-memory-limit 20mb
        assert_refused {
            {local t = {} for i = 1, 1e9 do t[i] = i end} {*not enough memory*}
            {local s = 'x' while true do s = s .. s end} {*not enough memory*}
            {local t = {} while true do t = {t} end} {*not enough memory*}
            {local c = {} while true do c[#c + 1] = coroutine.create(function() end) end}
                {*not enough memory*}
            {return ('x'):rep(30000000)} {*resulting string too large*}
        }
        assert_equal 5000000 [r eval {return #('x'):rep(5000000)} 0]
        # What a command replies a script gets, whatever the limit.
        r set large [string repeat x 30000000]
        assert_equal 30000000 [r eval {return #redis.call('get', 'large')} 0]
        r config set lua-memory-limit 1gb
        r script flush
        assert {[s used_memory_lua] < 1000000}
    }
}
