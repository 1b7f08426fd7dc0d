# SPDX-License-Identifier: BSD-3-Clause
# EVAL, EVALSHA and SCRIPT: what scripts are answered, byte by byte, and what their calls do.

# Scripts and the replies of 6.2 to them, with the digest of an error left out. The keys `list` and
# `set` are there.
set table {
    {return redis.pcall('nosuch')}
        "-@user_script: 1: Unknown Redis command called from Lua script\r\n"
    {return redis.pcall('get')}
        "-@user_script: 1: Wrong number of args calling Redis command From Lua script\r\n"
    {return redis.pcall()}
        "-@user_script: 1: Please specify at least one argument for redis.call()\r\n"
    {return redis.pcall('get',{})}
        "-@user_script: 1: Lua redis() command arguments must be strings or integers\r\n"
    {return redis.pcall('get','list')}
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
    {return redis.error_reply('x')} "-x\r\n"
    {return redis.error_reply()} "-@user_script: 1: wrong number or type of arguments\r\n"
    {return redis.error_reply(1)} "-@user_script: 1: wrong number or type of arguments\r\n"
    {return redis.status_reply({})} "-@user_script: 1: wrong number or type of arguments\r\n"
    {return redis.error_reply('-x y')} "--x y\r\n"
    {return redis.status_reply('a\r\nb')} "+a  b\r\n"
    {return redis.error_reply('a\r\nb')} "-a  b\r\n"
    {return {err=1}} "*0\r\n"
    {return {ok=1}} "*0\r\n"
    {return {ok='a',err='b'}} "-b\r\n"
    {return {err={}}} "*0\r\n"
    {return {double='3'}} "*0\r\n"
    {return {double='x'}} "*0\r\n"
    {return redis.call({})}
        "-ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: Lua\
            redis() command arguments must be strings or integers\r\n"
    {return redis.call('get',1.5)} "\$-1\r\n"
    {return redis.call('set','k',0.1)} "+OK\r\n"
    {return redis.call('get','k')} "\$19\r\n0.10000000000000001\r\n"
    {return redis.call('set','k',1e20)} "+OK\r\n"
    {return redis.call('get','k')} "\$5\r\n1e+20\r\n"
    {return redis.call('set','k',-0)} "+OK\r\n"
    {return redis.call('get','k')} "\$2\r\n-0\r\n"
    {redis.call('set','k',1/0) return redis.call('get','k')} "\$3\r\ninf\r\n"
    {return redis.call('set','k',true)}
        "-ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: Lua\
            redis() command arguments must be strings or integers\r\n"
    {return redis.log()}
        "-ERR Error running script (call to f_SHA): @user_script:1: redis.log() requires two\
            arguments or more.\r\n"
    {return redis.log('a','b')}
        "-ERR Error running script (call to f_SHA): @user_script:1: First argument must be a\
            number (log level).\r\n"
    {return redis.log(9,'b')}
        "-ERR Error running script (call to f_SHA): @user_script:1: Invalid debug level.\r\n"
    {return redis.log(1,'b','c')} "\$-1\r\n"
    {return redis.log(1,{})} "\$-1\r\n"
    {return redis.sha1hex(1)} "\$40\r\n356a192b7913b04c54574d18c28d46e6395428ab\r\n"
    {return redis.sha1hex({})} "\$40\r\nda39a3ee5e6b4b0d3255bfef95601890afd80709\r\n"
    {return redis.sha1hex('')} "\$40\r\nda39a3ee5e6b4b0d3255bfef95601890afd80709\r\n"
    {return redis.sha1hex('a','b')}
        "-ERR Error running script (call to f_SHA): @user_script:1: wrong number of arguments\r\n"
    {return redis.setresp()}
        "-ERR Error running script (call to f_SHA): @user_script:1: redis.setresp() requires\
            one argument.\r\n"
    {return redis.setresp(3)} "\$-1\r\n"
    {return redis.setresp('3')} "\$-1\r\n"
    {return redis.setresp({})}
        "-ERR Error running script (call to f_SHA): @user_script:1: RESP version must be 2 or\
            3.\r\n"
    {return redis.set_repl()}
        "-ERR Error running script (call to f_SHA): @user_script:1: redis.set_repl() requires\
            two arguments.\r\n"
    {return redis.set_repl(3)} "\$-1\r\n"
    {return redis.set_repl(4)}
        "-ERR Error running script (call to f_SHA): @user_script:1: Invalid replication flags.\
            Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.\r\n"
    {return redis.set_repl(-1)}
        "-ERR Error running script (call to f_SHA): @user_script:1: Invalid replication flags.\
            Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.\r\n"
    {return redis.replicate_commands()} ":1\r\n"
    {redis.call('set','k','v') return redis.replicate_commands()} "\$-1\r\n"
    {return redis.breakpoint()} "\$-1\r\n"
    {return redis.debug('x')} "\$-1\r\n"
    {return tostring(math.random())} "\$16\r\n0.17082803611217\r\n"
    {return {tostring(math.random()),math.random(10),math.random(5,9)}}
        "*3\r\n\$16\r\n0.17082803611217\r\n:8\r\n:5\r\n"
    {math.randomseed(5) return tostring(math.random())} "\$16\r\n0.52483957937213\r\n"
    {return math.random(0)}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'random' (interval is empty)\r\n"
    {return math.random(5,1)}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #2 to 'random' (interval is empty)\r\n"
    {return math.random(1,2,3)}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: wrong number\
            of arguments\r\n"
    {return math.random('x')}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'random' (number expected, got string)\r\n"
    {math.randomseed() }
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'randomseed' (number expected, got no value)\r\n"
    {math.randomseed('a')}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'randomseed' (number expected, got string)\r\n"
    {return tostring(math.randomseed(1))}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'tostring' (value expected)\r\n"
    {error('x')} "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: x\r\n"
    {error('x',0)} "-ERR Error running script (call to f_SHA): @user_script:1: x\r\n"
    {error('x',2)} "-ERR Error running script (call to f_SHA): @user_script:1: x\r\n"
    {error()}
        "-ERR Error running script (call to f_SHA): @err_handler_def:9: err_handler_def:9:\
            attempt to concatenate local 'err' (a nil value)\r\n"
    {error(nil)}
        "-ERR Error running script (call to f_SHA): @err_handler_def:9: err_handler_def:9:\
            attempt to concatenate local 'err' (a nil value)\r\n"
    {error({})}
        "-ERR Error running script (call to f_SHA): @err_handler_def:9: err_handler_def:9:\
            attempt to concatenate local 'err' (a table value)\r\n"
    {error(true)}
        "-ERR Error running script (call to f_SHA): @err_handler_def:9: err_handler_def:9:\
            attempt to concatenate local 'err' (a boolean value)\r\n"
    {error(12)} "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: 12\r\n"
    {error({err='x'})}
        "-ERR Error running script (call to f_SHA): @err_handler_def:9: err_handler_def:9:\
            attempt to concatenate local 'err' (a table value)\r\n"
    {error(redis.error_reply('x'))}
        "-ERR Error running script (call to f_SHA): @err_handler_def:9: err_handler_def:9:\
            attempt to concatenate local 'err' (a table value)\r\n"
    {assert(false)}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: assertion\
            failed!\r\n"
    {assert(nil,'m')}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: m\r\n"
    {assert(false,{})}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #2 to 'assert' (string expected, got table)\r\n"
    {local x=nil; x.y=1}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: attempt to\
            index local 'x' (a nil value)\r\n"
    {return nil..'a'}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: attempt to\
            concatenate a nil value\r\n"
    {return #5}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: attempt to\
            get length of a number value\r\n"
    {return 1+{}}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: attempt to\
            perform arithmetic on a table value\r\n"
    {x()}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Script\
            attempted to access nonexistent global variable 'x'\r\n"
    {string.rep()}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'rep' (string expected, got no value)\r\n"
    {return ('x'):bad()}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: attempt to\
            call method 'bad' (a nil value)\r\n"
    {return foo}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Script\
            attempted to access nonexistent global variable 'foo'\r\n"
    {foo=1}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Attempt to\
            modify a readonly table\r\n"
    {_G.foo=1}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Attempt to\
            modify a readonly table\r\n"
    {rawset(_G,'foo',1)}
        "-ERR Error running script (call to f_SHA): @user_script:1: Attempt to modify a\
            readonly table\r\n"
    {return rawget(_G,'foo')} "\$-1\r\n"
    {getmetatable(_G).__index=1}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Attempt to\
            modify a readonly table\r\n"
    {setmetatable(_G,{})}
        "-ERR Error running script (call to f_SHA): @user_script:1: Attempt to modify a\
            readonly table\r\n"
    {setmetatable(redis,{})}
        "-ERR Error running script (call to f_SHA): @user_script:1: Attempt to modify a\
            readonly table\r\n"
    {redis.x=1}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Attempt to\
            modify a readonly table\r\n"
    {redis.call=nil}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Attempt to\
            modify a readonly table\r\n"
    {rawset(redis,'x',1)}
        "-ERR Error running script (call to f_SHA): @user_script:1: Attempt to modify a\
            readonly table\r\n"
    {table.insert(redis,1)}
        "-ERR Error running script (call to f_SHA): @user_script:1: Attempt to modify a\
            readonly table\r\n"
    {string.x=1}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Attempt to\
            modify a readonly table\r\n"
    {KEYS=1}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: Attempt to\
            modify a readonly table\r\n"
    {KEYS[1]='x' return KEYS[1]} "\$1\r\nx\r\n"
    {return tostring(_G)==tostring(getfenv(0))} ":1\r\n"
    {return tostring(_G._G==_G)} "\$4\r\ntrue\r\n"
    {setfenv(print,{})}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: 'setfenv'\
            cannot change environment of given object\r\n"
    {return type(getfenv(print))} "\$5\r\ntable\r\n"
    {return redis.foo} "\$-1\r\n"
    {return string.foo} "\$-1\r\n"
    {return load('return 1')()}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'load' (function expected, got string)\r\n"
    {return loadstring('return 7')()} ":7\r\n"
    {return loadstring(string.dump(function() return 1 end))} "\$-1\r\n"
    {local f,e=loadstring('x x') return e} "\$39\r\n\[string \"x x\"\]:1: '=' expected near 'x'\r\n"
    {local f,e=loadstring('x x','=nm') return e} "\$27\r\nnm:1: '=' expected near 'x'\r\n"
    {return load(function() return nil end)} "\$-1\r\n"
    {local f,e=loadstring(string.dump(function() return 1 end)) return e}
        "\$53\r\n\[string \"\x1bLuaQ\"\]:1: unexpected symbol near 'char(27)'\r\n"
    {local n, parts = 0, {'return ', '5'} return load(function() n=n+1 return parts[n] end)()}
        ":5\r\n"
    {local t={} for i=1,10000 do t[i]=i end return unpack(t)}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: too many\
            results to unpack\r\n"
    {return {1,false,3}} "*3\r\n:1\r\n\$-1\r\n:3\r\n"
    {return {1,nil,3}} "*1\r\n:1\r\n"
    {return function() end} "\$-1\r\n"
    {return coroutine.create(function() end)} "\$-1\r\n"
    {return 1,2} ":1\r\n"
    {return {[2]=1}} "*0\r\n"
    {return {'a',{ok='x'},{err='y'}}} "*3\r\n\$1\r\na\r\n+x\r\n-y\r\n"
    {return collectgarbage('count')>0} ":1\r\n"
    {return type(gcinfo())} "\$6\r\nnumber\r\n"
    {return collectgarbage('stop')} ":0\r\n"
    {return collectgarbage('bad')}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: bad argument\
            #1 to 'collectgarbage' (invalid option 'bad')\r\n"
    {return tostring(pcall(redis.call,'get','list'))} "\$5\r\nfalse\r\n"
    {local a,b=pcall(redis.call,'get','list') return type(b)..':'..tostring(b)}
        "\$72\r\nstring:WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
    {local a,b=pcall(redis.call,'nosuch') return b}
        "\$54\r\n=\[C\]: -1: Unknown Redis command called from Lua script\r\n"
    {local a,b=pcall(function() redis.call('nosuch') end) return b}
        "\$61\r\n@user_script: 1: Unknown Redis command called from Lua script\r\n"
    {local a,b=pcall(function() error({1}) end) return type(b)} "\$5\r\ntable\r\n"
    {return xpcall(function() error('x') end, function(e) return e..'!' end)} "\$-1\r\n"
    {return {xpcall(function() error('x') end, function(e) return e..'!' end)}}
        "*2\r\n\$-1\r\n\$17\r\nuser_script:1: x!\r\n"
    {local c=coroutine.wrap(function() return redis.call('get','list') end) return c()}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: WRONGTYPE\
            Operation against a key holding the wrong kind of value\r\n"
    {local c=coroutine.wrap(function() coroutine.yield(1) end) return c()} ":1\r\n"
    {return coroutine.yield(1)}
        "-ERR Error running script (call to f_SHA): @user_script:1: attempt to yield across\
            metamethod/C-call boundary\r\n"
    {bad(}
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol near\
            '<eof>'\r\n"
    {return 1 +}
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol near\
            '<eof>'\r\n"
    {a b} "-ERR Error compiling script (new function): user_script:1: '=' expected near 'b'\r\n"
    {return '}
        "-ERR Error compiling script (new function): user_script:1: unfinished string near\
            '<eof>'\r\n"
    {--[[}
        "-ERR Error compiling script (new function): user_script:1: unfinished long comment\
            near '<eof>'\r\n"
    {goto x} "-ERR Error compiling script (new function): user_script:1: '=' expected near 'x'\r\n"
    {return \1}
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol near '\\'\r\n"
    {local a=1 local a} "\$-1\r\n"
    {for i=1}
        "-ERR Error compiling script (new function): user_script:1: ',' expected near '<eof>'\r\n"
    {x=}
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol near\
            '<eof>'\r\n"
    {redis.call('select',3) return redis.call('get','k')} "\$-1\r\n"
    {return redis.call('echo','a\0b')} "\$3\r\na\x00b\r\n"
    {return redis.call('time')[3]} "\$-1\r\n"
    {return redis.call('config','get','hz')}
        "-ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: This Redis\
            command is not allowed from scripts\r\n"
    {return redis.call('multi')}
        "-ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: This Redis\
            command is not allowed from scripts\r\n"
    {return redis.call('GET','list','x')}
        "-ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: Wrong\
            number of args calling Redis command From Lua script\r\n"
    {return redis.call('subscribe','a')}
        "-ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: This Redis\
            command is not allowed from scripts\r\n"
    {return redis.call('SeT','k','v','EX')}
        "-ERR Error running script (call to f_SHA): @user_script:1: ERR syntax error\r\n"
    {return tostring(1e15)} "\$5\r\n1e+15\r\n"
    {return tostring(1/3)} "\$16\r\n0.33333333333333\r\n"
    {return 1e15} ":1000000000000000\r\n"
    {return 9007199254740993} ":9007199254740992\r\n"
    {return 0/0} ":-9223372036854775808\r\n"
    {return -1e30} ":-9223372036854775808\r\n"
    {return tostring(0/0)} "\$4\r\n-nan\r\n"
    {return math.huge} ":-9223372036854775808\r\n"
    {while}
        "-ERR Error compiling script (new function): user_script:1: unexpected symbol near\
            '<eof>'\r\n"
    {return table.concat({1,2,'x'},',')} "\$5\r\n1,2,x\r\n"
    {return table.concat({{}})}
        "-ERR Error running script (call to f_SHA): @user_script:1: user_script:1: invalid\
            value (table) at index 1 in table for 'concat'\r\n"
    {return string.format('%d',3.7)} "\$1\r\n3\r\n"
    {return string.format('%5.2s|','abc')} "\$6\r\n   ab|\r\n"
    {return string.rep("a",-1)} "\$0\r\n\r\n"
}

# The exact bytes of a reply, without the digest that an error names.
proc script_reply {client words} {
    $client write [client::encode $words]
    $client flush
    set reply [$client raw_reply]
    regsub {call to f_[0-9a-f]{40}} $reply {call to f_SHA} reply
    return $reply
}

start_server {} {
    r rpush list a
    r sadd set c b a
    set client [raw_client]
    $client write [client::encode {select 9}]
    $client flush
    $client raw_reply

    test {EVAL: scripts and their replies} {
        foreach {script reply} $table {
            assert_equal $reply \
                [script_reply $client [list eval $script 0]] "($script)"
        }
    }

    test {EVAL: keys and arguments} {
        assert_equal {a b} [r eval {return {KEYS[1], ARGV[1]}} 1 a b]
        assert_equal {0 0} [r eval {return {#KEYS, #ARGV}} 0]
        foreach {words text} {
            {eval {return 1}} {ERR wrong number of arguments for 'eval' command}
            {eval {return 1} x} {ERR value is not an integer or out of range}
            {eval {return 1} -1} {ERR Number of keys can't be negative}
            {eval {return 1} 1} {ERR Number of keys can't be greater than number of args}
            {evalsha ffffffffffffffffffffffffffffffffffffffff x}
                {ERR value is not an integer or out of range}
            {evalsha short x} {NOSCRIPT No matching script. Please use EVAL.}
        } {
            assert_error_text $text {r {*}$words}
        }
    }

    test {SCRIPT: LOAD, EXISTS, FLUSH, EVALSHA} {
        set sha e0e1f9fabfc9d4800c877a703b823ac0578ff8db
        r script flush
        assert_error_text {NOSCRIPT No matching script. Please use EVAL.} {r evalsha $sha 0}
        assert_equal $sha [r script load {return 1}]
        assert_equal $sha [r script load {return 1}]
        assert_equal {1 1 0} [r script exists $sha [string toupper $sha] x]
        assert_equal 1 [r evalsha $sha 0]
        assert_equal 1 [r evalsha [string toupper $sha] 0]
        assert_equal 1 [s number_of_cached_scripts]
        assert {[s used_memory_scripts] > 0}
        foreach word {sync async} {
            r script load {return 1}
            assert_equal OK [r script flush $word]
            assert_equal 0 [r script exists $sha]
        }
        assert_error_text {ERR SCRIPT FLUSH only support SYNC|ASYNC option} {r script flush x}
        assert_error_text {NOTBUSY No scripts in execution right now.} {r script kill}
    }

    test {what a reply may take is bounded, also where a command says so many elements} {
        with_config {lua-memory-limit 10mb} {
            r del few
            r sadd few a
            assert_equal 100000 [r eval {return #redis.call('srandmember', 'few', -100000)} 0]
            assert_error {*not enough memory for the reply*} {
                r eval {return redis.call('srandmember', 'few', -1000000)} 0
            }
            assert_error {ERR not enough memory for the reply} {
                r eval {return redis.pcall('srandmember', 'few', -1000000)} 0
            }
            assert_equal 2 [r eval {redis.pcall('srandmember', 'few', -1000000) return 1 + 1} 0]
            # Nor is it drawn what nobody hears: this would take minutes.
            assert_error {ERR not enough memory for the reply} {
                r eval {return redis.pcall('srandmember', 'few', -2000000000)} 0
            }
            # Lua has no table of more than 2^26 values, whatever the limit is.
            r config set lua-memory-limit 0
            assert_error {ERR not enough memory for the reply} {
                r eval {return redis.pcall('srandmember', 'few', -67108865)} 0
            }
            assert_equal few [r eval {return redis.call('keys', 'few')[1]} 0]
        }
    } undefined {ours}

    test {an error that names a command has the spelling of the caller where 6.2 has it} {
        assert_error {*xReAd command is not allowed with BLOCK option from scripts*} {
            r eval {return redis.call('xReAd', 'block', '0', 'streams', 's', '$')} 0
        }
        assert_error {*XReadGroup command is not allowed with BLOCK option from scripts*} {
            r eval {return redis.call('XReadGroup', 'group', 'g', 'c', 'block', '0', 'streams',
                's', '>')} 0
        }
        assert_error {*wrong number of arguments for 'xread' command} {r xReAd}
        assert_error {*unknown command `nOsUcH`*} {r nOsUcH}
    }

    test {a double that is no number keeps its sign} {
        set c [redis_client]
        $c hello 3
        assert_equal {-nan} [$c eval {return {double = 0/0}} 0]
        assert_equal {nan} [$c eval {return {double = -(0/0)}} 0]
        assert_equal {inf} [$c eval {return {double = 1/0}} 0]
        $c close
    }

    test {load with a reader function: what it gives, and its errors} {
        foreach {script expected} {
            {local i = 0 return load(function() i = i + 1 return ({'return ', '7'})[i] end)()} 7
            {return select(2, load(function() return {} end))}
                {@user_script:1: user_script:1: reader function must return a string}
            {return select(2, load(function() error('boom') end))}
                {@user_script:1: user_script:1: boom}
            {return select(2, load(function() return redis.call('nosuch') end))}
                {@user_script:1: @user_script: 1: Unknown Redis command called from Lua script}
            {local ok, f, e = pcall(load, function() error('boom') end) return e}
                {user_script:1: boom}
            {local i = 0
             return select(2, load(function() i = i + 1 return ({'x = ', '= 1'})[i] end, '@name'))}
                {name:1: unexpected symbol near '='}
        } {
            assert_equal $expected [r eval $script 0] $script
        }
    }

    test {SCRIPT FLUSH: in the background by ASYNC, or where lazyfree-lazy-user-flush says so} {
        foreach {word option lazily} {async no 1 sync yes 0 {} yes 1 {} no 0} {
            with_config [list lazyfree-lazy-user-flush $option] {
                set sha [r script load {return 'first'}]
                for {set i 0} {$i < 200} {incr i} { r script load "return $i" }
                set freed [s lazyfreed_objects]
                r script flush {*}$word
                assert_equal 0 [r script exists $sha]
                assert_equal 0 [s number_of_cached_scripts]
                wait_for_condition 100 50 {[s lazyfree_pending_objects] == 0} else {
                    fail "not freed"
                }
                set since [expr {[s lazyfreed_objects] - $freed}]
                assert_equal $lazily [expr {$since >= 200}] "$word $option"
                assert_equal first [r eval {return 'first'} 0]
            }
        }
    }

    test {SCRIPT FLUSH ASYNC: what is on its way out is counted, and goes} {
        r script flush
        set before [s used_memory_lua]
        for {set i 0} {$i < 200} {incr i} { r script load "return '[string repeat x 9999]$i'" }
        assert_morethan [s used_memory_lua] [expr {$before + 1000000}]
        r script flush async
        wait_for_condition 100 50 {[s used_memory_lua] <= $before + 1000} else {fail "not freed"}
    }


    test {A script has a database and a protocol of its own} {
        r select 9
        r set own 9
        assert_equal 9 [r eval {return redis.call('get', 'own')} 0]
        assert_equal 3 [r eval {redis.call('select', 3) redis.call('set', 'x', 1)
            return redis.call('incrby', 'x', 2)} 0]
        assert_equal {} [r get x]
        r select 3
        assert_equal 3 [r get x]
        r select 9
        assert_equal {table boolean} [list \
            [r eval {redis.setresp(3) return type(redis.call('hgetall', 'none'))} 0] \
            [r eval {return type(redis.call('get', 'none'))} 0]]
    }

    test {RESP3: values both ways} {
        r hset h a 1
        r zadd z 1.5 m
        $client write [client::encode {hello 3}]
        $client flush
        $client raw_reply
        foreach {script reply} {
            {return redis.call('hgetall', 'h')} "*2\r\n$1\r\na\r\n$1\r\n1\r\n"
            {redis.setresp(3) return redis.call('hgetall', 'h')} "%1\r\n$1\r\na\r\n$1\r\n1\r\n"
            {redis.setresp(3) return redis.call('zscore', 'z', 'm')} ",1.5\r\n"
            {redis.setresp(3) return redis.call('get', 'none')} "_\r\n"
            {return true} ":1\r\n"
            {return false} "_\r\n"
            {redis.setresp(3) return true} "#t\r\n"
            {redis.setresp(3) return {true, false, nil}} "*2\r\n#t\r\n#f\r\n"
            {return {map = {a = 1}}} "%1\r\n$1\r\na\r\n:1\r\n"
            {return {set = {a = true}}} "~1\r\n$1\r\na\r\n"
            {return {double = 1 / 0}} ",inf\r\n"
            {redis.setresp(3) return type(redis.call('zscore', 'z', 'm').double)} "$6\r\nnumber\r\n"
        } {
            assert_equal $reply \
                [script_reply $client [list eval $script 0]] "($script)"
        }
        $client write [client::encode {hello 2}]
        $client flush
        $client raw_reply
        foreach {script reply} {
            {redis.setresp(3) return {double = 0.1}} "$19\r\n0.10000000000000001\r\n"
            {redis.setresp(3) return {false}} "*1\r\n:0\r\n"
            {return {map = {a = 1}}} "*2\r\n$1\r\na\r\n:1\r\n"
        } {
            assert_equal $reply \
                [script_reply $client [list eval $script 0]] "($script)"
        }
    }

    test {A reply nested without an end breaks off} {
        $client write [client::encode [list eval {local t = {} t[1] = t return t} 0]]
        $client flush
        set reply "[string repeat "*1\r\n" 7995]-ERR reached lua stack limit\r\n"
        assert {[$client raw_read [string length $reply]] eq $reply}
    }

    # Each array takes one place of the 7,995 that there are, what has keys up to three.
    test {Where a deep reply breaks off depends on what it is nested in} {
        set limit "-ERR reached lua stack limit\r\n"
        foreach {script reply} [list \
            {local t = 'x' for i = 1, 7994 do t = {t} end return t} \
                "[string repeat "*1\r\n" 7994]\$1\r\nx\r\n" \
            {local t = 'x' for i = 1, 7995 do t = {t} end return t} \
                "[string repeat "*1\r\n" 7995]$limit" \
            {local t = 'x' for i = 1, 2664 do t = {map = {a = t}} end return t} \
                "[string repeat "*2\r\n\$1\r\na\r\n" 2664]\$1\r\nx\r\n" \
            {local t = 'x' for i = 1, 9999 do t = {map = {a = t}} end return t} \
                "[string repeat "*2\r\n\$1\r\na\r\n" 2664]*2\r\n$limit$limit" \
            {local t = 'x' for i = 1, 9999 do t = {set = {[t] = true}} end return t} \
                "[string repeat "*1\r\n" 2665]$limit" \
            {local t = {map = {a = 1}} for i = 1, 7991 do t = {t} end return t} \
                "[string repeat "*1\r\n" 7991]*2\r\n$limit:1\r\n" \
        ] {
            $client write [client::encode [list eval $script 0]]
            $client flush
            assert {[$client raw_read [string length $reply]] eq $reply}
        }
    }

    test {Errors in scripts are counted as 6.2 counts them} {
        r config resetstat
        r set text x
        r eval {redis.pcall('nosuch') redis.pcall('get') redis.pcall('lpush', 'text', 'x')} 0
        assert_error * {r eval {return redis.call('nosuch')} 0}
        assert_match {*errorstat_ERR:count=1*} [r info errorstats]
        assert_match {*errorstat_WRONGTYPE:count=1*} [r info errorstats]
        assert_match {*cmdstat_lpush:calls=1,*failed_calls=1*} [r info commandstats]
        assert_match {*cmdstat_eval:calls=2,*failed_calls=1*} [r info commandstats]
    }

    test {errorstats: an error without a first word, or with a long one, counts as ERR} {
        r config resetstat
        foreach text {word {} {A\tb} {ABCDEFGHIJKLMNOPQRSTUVWXYZABCDE text}} {
            assert_error * {r eval "return {err = '$text'}" 0}
        }
        assert_equal {count=4} [info_property [r info errorstats] errorstat_ERR]
        assert_error * {r eval {return {err = 'ABCDEFGHIJKLMNOPQRSTUVWXYZABCD text'}} 0}
        assert_equal {count=1} [info_property [r info errorstats] \
            errorstat_ABCDEFGHIJKLMNOPQRSTUVWXYZABCD]
    }

    # CVE-2025-67733: whoever shares the connection would take the rest for a reply.
    test {An error or a status is one line, whatever a script puts into it} {
        foreach {script reply} {
            {return {err = 'A b\r\n:1\r\n'}} "-A b  :1\r\n"
            {return {ok = 'A b\r\n:1\r\n'}} "+A b  :1  \r\n"
            {return redis.error_reply('A\n\r\n')} "-A\r\n"
            {return redis.status_reply('A\nb')} "+A b\r\n"
            {return {map = {x = {err = 'A\r\n+b'}}}} "*2\r\n\$1\r\nx\r\n-A  +b\r\n"
            {return {err = 'A\0b'}} "-A\r\n"
            {return {ok = 'A\0b'}} "+A\r\n"
            {error({err = 'A\r\n:1'})} "-ERR Error running script*(a table value)\r\n"
            {error('A\r\n:1\r\n')} "-ERR Error running script*: A  :1\r\n"
            {return redis.call('get\r\n:1', 'x')} "-ERR Error running script*Lua script\r\n"
            {return loadstring('x\r\n:1')} "\$-1\r\n"
        } {
            $client write [client::encode [list eval $script 0]]
            $client write [client::encode [list ping end]]
            $client flush
            set lines {}
            while {[string range $lines end-8 end] ne "\$3\r\nend\r\n"} {
                append lines [$client raw_read 1]
            }
            assert_match "$reply\$3\r\nend\r\n" $lines
        }
    }

    test {A refusal with a code of its own has its end of line for a script} {
        r config set maxmemory 1
        assert_equal 1 [r eval {
            local reply = redis.pcall('set', 'a', 'b')
            return reply.err:sub(-2) == '\r\n' and reply.err:find('-OOM', 1, true) and 1} 0]
        r config set maxmemory 0
        assert_equal 1 [r eval {return redis.pcall('nosuch').err:sub(-2) == 'pt' and 1} 0]
    }

    test {maxmemory: what a script may do is decided when it begins} {
        r config set maxmemory 1
        assert_error {*user_script: 1: -OOM command not allowed when used memory*} {
            r eval {return redis.call('set', 'a', 'b')} 0}
        assert_equal 0 [r eval {return redis.call('del', 'none')} 0]
        assert_equal OK [r eval {redis.call('del', 'none') return redis.call('set', 'a', 'b')} 0]
        r config set maxmemory 0
    }

    test {MONITOR shows a script before its commands, these as of lua} {
        set monitor [redis_deferring_client]
        $monitor monitor
        $monitor read
        r eval {redis.call('select', 2) redis.call('get', 'x') redis.pcall('nosuch')} 0
        assert_match {*\[9 127.0.0.1:*\] "eval" *} [$monitor read]
        assert_match {*\[2 lua\] "select" "2"} [$monitor read]
        assert_match {*\[2 lua\] "get" "x"} [$monitor read]
        $monitor close
    }

    test {ACL: a script has its caller's rights, and the log says lua} {
        r acl setuser al on >p +@all -set ~ok:* resetchannels &ch:*
        r acl log reset
        set al [redis_client]
        $al auth al p
        foreach {script text} {
            {return redis.call('set', 'ok:1', 'b')} {can't run this command or subcommand}
            {return redis.call('get', 'bad')}
                {can't access at least one of the keys mentioned in the command arguments}
            {return redis.call('publish', 'x', 'y')}
                {can't publish to the channel mentioned in the command}
        } {
            assert_error "*user_script: 1: The user executing the script $text" {
                $al eval $script 0}
        }
        assert_equal {} [$al eval {return redis.call('get', 'ok:1')} 0]
        foreach entry [r acl log] reason {channel key command} {
            assert_equal [list lua $reason al] [list [dict get $entry context] \
                [dict get $entry reason] [dict get $entry username]]
            assert_match {*user=al*} [dict get $entry client-info]
        }
        # Of a script in a transaction it says multi.
        $al multi
        $al eval {return redis.pcall('get', 'bad')} 0
        $al exec
        assert_equal multi [dict get [lindex [r acl log] 0] context]
        $al close
        r acl deluser al
    }

    test {The keys of a script that reads are its caller's to cache} {
        set reader [redis_client]
        $reader hello 3
        $reader client tracking on
        $reader eval {return redis.call('get', KEYS[1])} 1 cached
        r set cached 1
        $reader ping
        assert_equal {{invalidate cached}} [$reader pushes]
        $reader close
    }

    test {XREAD and XREADGROUP may not wait in a script} {
        r xadd stream 1-1 a b
        foreach words {{'xread'} {'xreadgroup', 'group', 'g', 'c'}} {
            regexp {'(\w+)'} $words -> name
            assert_equal "ERR $name command is not allowed with BLOCK option from scripts" [r eval "
                return redis.pcall($words, 'block', 10, 'streams', 'stream', '\$')\['err']" 0]
        }
    }

    test {EXEC runs scripts, and WATCH sees what they write} {
        r multi
        r eval {return redis.call('set', 'x', ARGV[1])} 0 5
        r eval {return redis.call('incr', 'x')} 0
        assert_equal {OK 6} [r exec]
        r watch x
        set other [redis_client]
        $other eval {redis.call('set', 'x', 1)} 0
        r multi
        r ping
        assert_equal {} [r exec]
        $other close
    }
}

# Recorded effects without the number of their database.
proc effects {{reader log}} {
    set log {}
    foreach effect [r debug effects $reader] {
        lappend log [lrange $effect 1 end]
    }
    return $log
}

start_server {tags {ours}} {
    r debug effects start

    test {Effects of a script stand in a transaction} {
        effects
        r eval {redis.call('set', 'a', 1) return redis.call('get', 'a')} 0
        assert_equal {MULTI {set a 1} EXEC} [effects]
        r eval {return redis.call('get', 'a')} 0
        assert_equal {} [effects]
        # What is no write needs none.
        effects stream
        r eval {redis.call('publish', 'channel', 'x') return redis.call('get', 'a')} 0
        assert_equal {} [effects]
        assert_equal {{publish channel x}} [effects stream]
        r multi
        r eval {redis.call('incr', 'a')} 0
        r incr a
        r exec
        assert_equal {MULTI {incr a} {incr a} EXEC} [effects]
    }

    test {redis.set_repl chooses who gets them} {
        r eval {redis.set_repl(redis.REPL_NONE) redis.call('set', 'a', 1)
            redis.set_repl(redis.REPL_AOF) redis.call('set', 'b', 1)
            redis.set_repl(redis.REPL_REPLICA) redis.call('set', 'c', 1)
            redis.set_repl(redis.REPL_ALL) redis.call('set', 'd', 1)} 0
        assert_equal {MULTI {set b 1} {set d 1} EXEC} [effects]
        # What was chosen stays where effects were repeated before.
        r eval {redis.set_repl(redis.REPL_NONE) redis.replicate_commands()
            redis.call('set', 'a', 1)} 0
        assert_equal {} [effects]
        r debug effects stream
    }

    test {lua-replicate-commands no: the script is repeated, by its text where it is not known} {
        r config set lua-replicate-commands no
        r script flush
        set sha [r script load {return redis.call('incr', KEYS[1])}]
        effects
        r evalsha $sha 1 a
        assert_equal [list [list evalsha $sha 1 a]] [effects]
        r debug effects stop
        r debug effects start
        r evalsha $sha 1 a
        r evalsha $sha 1 a
        assert_equal [list [list EVAL {return redis.call('incr', KEYS[1])} 1 a] \
            [list evalsha $sha 1 a]] [effects]
        r eval {return redis.call('get', 'a')} 0
        assert_equal {} [effects]
        r eval {redis.replicate_commands() redis.call('time') redis.call('set', 'a', 1)} 0
        assert_equal {MULTI {set a 1} EXEC} [effects]
        assert_error {*Write commands not allowed after non deterministic commands.*} {
            r eval {redis.call('time') return redis.call('set', 'k', 'v')} 0}
        r sadd s c a b
        assert_equal {a b c} [r eval {return redis.call('smembers', 's')} 0]
        r config set lua-replicate-commands yes
    }
}

start_server {} {
    r config set lua-time-limit 20
    set command_rows [r command]

    # A client whose script runs beyond its time: others are told so.
    proc slow_script {script} {
        set client [redis_deferring_client]
        $client eval $script 0
        wait_for_condition 300 20 {[catch {r ping} reply] && [string match BUSY* $reply]} else {
            fail "the script does not count as slow"
        }
        return $client
    }

    test {A slow script: others are told BUSY, SCRIPT KILL ends it} {
        set client [slow_script {while true do end}]
        assert_error_text "BUSY Redis is busy running a script. You can only call SCRIPT KILL or\
            SHUTDOWN NOSAVE." {r get x}
        assert_equal OK [r script kill]
        assert_error "ERR Error running script*Script killed by user with SCRIPT KILL..." {
            $client read}
        assert_equal PONG [r ping]
        $client close
    }

    # Each command of 6.2 with as few arguments as it takes, and what of others ends a script. What
    # is refused by another error, or holds its peace, has passed.
    test {Which commands pass while a script is slow} {
        set client [slow_script {while true do end}]
        set passed {}
        set rows [lmap row $command_rows {list [lindex $row 0] [lindex $row 1]}]
        foreach row [concat $rows {{quit 1} {script 3} {shutdown 3}}] {
            lassign $row name arity
            set other [raw_client]
            $other {*}[list $name {*}[lrepeat [expr {abs($arity) - 1}] x]]
            if {![string match "*BUSY Redis*" [$other raw_line]]} {
                lappend passed $name
            }
            $other close
        }
        r script kill
        catch {$client read}
        $client close
        assert_equal {auth discard hello multi quit replconf reset unwatch watch} [lsort $passed]
    }

    # What of a transaction passes alone is queued; EXEC does not pass.
    test {A transaction while a script is slow} {
        set other [redis_client]
        set client [slow_script {while true do end}]
        assert_equal OK [$other multi]
        assert_equal QUEUED [$other replconf capa eof]
        assert_error {EXECABORT Transaction discarded because of: BUSY *} {$other exec}
        assert_equal OK [$other quit]
        assert {[$other closed]}
        r script kill
        catch {$client read}
        $client close
    }

    test {pcall and coroutines do not survive SCRIPT KILL} {
        foreach script {
            {while true do pcall(function() while true do end end) end}
            {local function f() while true do pcall(f) end end f()}
            {while true do coroutine.wrap(function() while true do
                pcall(function() while true do end end) end end)() end}
            {while true do local c = coroutine.create(function() while true do end end)
                coroutine.resume(c) end}
        } {
            set client [slow_script $script]
            r script kill
            assert_error {*Script killed by user with SCRIPT KILL...} {$client read}
            $client close
        }
    }

    # 6.2 holds SCRIPT KILL, too: nobody can end the script, nor can the pause end.
    test {A pause does not keep a slow script from being killed} {
        set client [redis_deferring_client]
        foreach command {multi {client pause 1000000 write} {eval {while true do end} 0} exec} {
            $client {*}$command
        }
        wait_for_condition 300 20 {[catch {r ping} reply] && [string match BUSY* $reply]} else {
            fail "the script does not count as slow"
        }
        assert_equal OK [r script kill]
        foreach reply {OK QUEUED QUEUED} {
            assert_equal $reply [$client read]
        }
        assert_match {*OK*Script killed by user*} [$client read_typed]
        assert_equal OK [r client unpause]
        $client close
    } {} {ours}

    test {A script that has written is not ended} {
        set client [slow_script {redis.call('set', 'x', 'y')
            for i = 1, 1e8 do end return redis.call('get', 'x')}]
        assert_error "UNKILLABLE Sorry the script already executed write commands*" {r script kill}
        assert_equal y [$client read]
        $client close
    }

    test {A command that closes its connection does not end later scripts' replies} {
        r set answer 42
        foreach command {post host:} {
            r eval "return redis.pcall('$command')" 0
            assert_equal 42 [r eval {return redis.call('get', KEYS[1])} 1 answer]
        }
    }

    test {The caller of a slow script may go} {
        set client [slow_script {while true do end}]
        $client close
        r script kill
        wait_for_condition 300 20 {![catch {r ping}]} else {
            fail "the script goes on"
        }
        assert_equal {} [r get none]
    }
}

# What a script has written is logged when it ends, which this one never does: no reply that tells
# nothing of it may wait for that.
foreach policy {everysec always} {
    start_server [list overrides [list appendonly yes appendfsync $policy lua-time-limit 20]] {
        test "A script that writes and does not end: SCRIPT KILL is answered, appendfsync $policy" {
            set client [redis_deferring_client]
            set other [redis_deferring_client]
            $client eval {redis.call('set', 'x', 'y') while true do end} 0
            wait_for_condition 300 20 {[$other ping] eq {} && [catch {$other read} reply]} else {
                fail "the script does not count as slow"
            }
            assert_match BUSY* $reply
            foreach round {1 2} {
                $other script kill
                assert {[$other readable 20000]}
                assert_error "UNKILLABLE Sorry the script already executed write commands*" {
                    $other read}
            }
            $other shutdown nosave
            assert {[$other closed]}
            $client close
        }
    }
}

start_server {} {
    test {SHUTDOWN NOSAVE ends a server whose script does not end} {
        r config set lua-time-limit 20
        set client [redis_deferring_client]
        $client eval {redis.call('set', 'x', 'y') while true do end} 0
        wait_for_condition 300 20 {[catch {r ping} reply] && [string match BUSY* $reply]} else {
            fail "the script does not count as slow"
        }
        catch {r shutdown nosave}
        wait_for_condition 300 20 {[catch {redis_client}]} else {
            fail "the server goes on"
        }
    }
}
