# SPDX-License-Identifier: BSD-3-Clause
# The debugger of scripts: SCRIPT DEBUG YES and SYNC, what it is told and what it shows.

# A client whose script stands at its first line. `arguments` are those of EVAL behind the script.
proc debug_script {mode script {arguments 0}} {
    set c [redis_client]
    assert_equal OK [$c script debug $mode]
    set lines [$c eval $script {*}$arguments]
    assert_match {\* Stopped at *} [lindex $lines 0]
    return $c
}

# What each word, said as a command, is answered must be these lines; patterns where they begin
# with a tilde.
proc assert_dialog {c dialog} {
    foreach {command expected} $dialog {
        set lines [$c {*}$command]
        assert_equal [llength $expected] [llength $lines] "$command: $lines"
        foreach line $lines want $expected {
            if {[string index $want 0] eq "~"} {
                assert_match [string range $want 1 end] $line $command
            } else {
                assert_equal $want $line $command
            }
        }
    }
}

# The session ends, with this reply of EVAL, and so does the connection.
proc assert_end {c reply {command c}} {
    assert_equal <endsession> [lindex [$c {*}$command] end]
    if {[string match -* $reply]} {
        assert_error [string range $reply 1 end] {$c read}
    } else {
        assert_equal $reply [$c read]
    }
    assert {[$c closed]}
    $c close
}

# Waits until the server has no child any more.
proc await_no_children {} {
    wait_for_condition 200 50 {[children_of [srv pid]] eq {}} else {fail "a child lives on"}
}

set counting {local a = 0
for i = 1, 2 do
  a = a + i
end
redis.call('set', 'k', a)
return a}

start_server {tags {scripting needs:eval}} {
    test {SCRIPT DEBUG: what it takes} {
        assert_error {*Use SCRIPT DEBUG YES/SYNC/NO*} {r script debug maybe}
        assert_error {*wrong number of arguments*} {r script debug}
        foreach mode {yes sync no} { assert_equal OK [r script debug $mode] }
        assert_equal 5 [r eval {return 5} 0]
    }

    test {SCRIPT DEBUG: EVALSHA is refused, other commands are not} {
        set sha [r script load {return 1}]
        assert_equal OK [r script debug yes]
        assert_error {ERR Please use EVAL instead of EVALSHA for debugging} {r evalsha $sha 0}
        assert_equal PONG [r ping]
        assert_equal OK [r script debug no]
        assert_equal 1 [r evalsha $sha 0]
    }

    test {SCRIPT DEBUG: not where replies are to come before} {
        set c [redis_deferring_client]
        $c write "[client::encode ping][client::encode {script debug yes}]"
        assert_equal PONG [$c read]
        assert_error {ERR SCRIPT DEBUG must be called outside a pipeline} {$c read}
        $c close
        assert_equal OK [r multi]
        r script debug yes
        r set x 1
        assert_match {*SCRIPT DEBUG must be called outside a pipeline*OK} [r exec]
    }

    test {EVAL: not debugged where replies are to come before} {
        set c [redis_deferring_client]
        $c script debug yes
        assert_equal OK [$c read]
        $c write "[client::encode ping][client::encode {eval {return 1} 0}]"
        assert_equal PONG [$c read]
        assert_error {ERR A script must be debugged outside a pipeline} {$c read}
        $c close
    } undefined {ours}

    foreach mode {yes sync} {
        test "debugger ($mode): steps from line to line" {
            set c [redis_client]
            $c script debug $mode
            assert_equal {{* Stopped at 1, stop reason = step over} {-> 1   local a = 0}} \
                [$c eval $counting 0]
            assert_dialog $c {
                s {{* Stopped at 2, stop reason = step over} {-> 2   for i = 1, 2 do}}
                step {{* Stopped at 3, stop reason = step over} {-> 3     a = a + i}}
                n {{* Stopped at 2, stop reason = step over} {-> 2   for i = 1, 2 do}}
                NEXT {{* Stopped at 3, stop reason = step over} {-> 3     a = a + i}}
                S {{* Stopped at 2, stop reason = step over} {-> 2   for i = 1, 2 do}}
                sTeP {{* Stopped at 5, stop reason = step over} {-> 5   redis.call('set', 'k', a)}}
                s {{<redis> set k 3} {<reply> "+OK"}
                   {* Stopped at 6, stop reason = step over} {-> 6   return a}}
            }
            assert_end $c 3 continue
        }
    }

    test {debugger: list, whole} {
        set c [debug_script yes "[string repeat "local a = 1\n" 12]return 1\n\n"]
        assert_equal 13 [llength [$c whole]]
        assert_equal [$c whole] [$c w]
        assert_equal {   13  return 1} [lindex [$c w] end]
        assert_equal [$c whole] [$c list 1 100]
        assert_equal [lrange [$c whole] 0 5] [$c list]
        assert_equal [lrange [$c whole] 0 5] [$c l 0]
        assert_equal [lrange [$c whole] 0 6] [$c l 2]
        assert_equal [lrange [$c whole] 4 6] [$c l 6 1]
        assert_equal {{   6   local a = 1}} [$c l 6 0]
        assert_equal [lrange [$c whole] 0 2] [$c l -4 2]
        assert_equal {} [$c l 100]
        assert_equal {} [$c l 3 -2]
        assert_end $c 1
    }

    test {debugger: an empty script, lines that are left empty} {
        set c [redis_client]
        $c script debug yes
        assert_equal {-> 1   <out of range source code line>} [lindex [$c eval {} 0] 1]
        assert_end $c {}
        set c [redis_client]
        $c script debug yes
        assert_equal {{* Stopped at 3, stop reason = step over} {-> 3   return 1}} \
            [$c eval "\n\nreturn 1\n\n" 0]
        assert_equal {{   1   } {   2   } {-> 3   return 1}} [$c w]
        assert_end $c 1
    }

    test {debugger: print} {
        set c [debug_script yes {local a, b, c = 1.5, 'x"y\n', {1, 'b', {k = true}}
            local d = {[2] = 1}
            local itself = {}
            itself[1] = itself
            local inner = function(p)
              local a
              return p
            end
            inner(KEYS)
            return 1} {1 key argument}]
        assert_dialog $c {
            p {{No local variables in the current context.}}
            {p a} {{No such variable.}}
            {print KEYS} {{<value> {"key"}}}
            {print ARGV} {{<value> {"argument"}}}
            {b 7} {~* {~  #7*} ~*}
            c {{* Stopped at 7, stop reason = break point} ~->#7*}
            print {{<value> p = {"key"}} {<value> a = nil}}
            {p c} {{<value> {1; "b"; {["k"]=true}}}}
            {p b} {{<value> "x\"y\n"}}
            {p d} {{<value> {[2]=1}}}
            {p itself} {{<value> {{{{{{{{{{<max recursion level reached! Nested table?>}}}}}}}}}}}}
            {p inner} {{~<value> "function@*"}}
            {p nothing} {{No such variable.}}
            {p a} {{<value> nil}}
        }
        assert_end $c 1
    }

    test {debugger: breakpoints} {
        set c [debug_script yes $counting]
        assert_dialog $c {
            b {{No breakpoints set. Use 'b <line>' to add one.}}
            {b 3} {{   2   for i = 1, 2 do} {  #3     a = a + i} {   4   end}}
            {break 6 77 0x1} {{   5   redis.call('set', 'k', a)} {  #6   return a}
                {Wrong line number.} {Invalid argument:'0x1'}}
            break {{2 breakpoints set:} {  #3     a = a + i} {  #6   return a}}
            {b -5} {{No breakpoint in the specified line.}}
            {b 3} {{Wrong line number.}}
            c {{* Stopped at 3, stop reason = break point} {->#3     a = a + i}}
            c {{* Stopped at 3, stop reason = break point} {->#3     a = a + i}}
            {b -3} {{Breakpoint removed.}}
            c {{* Stopped at 6, stop reason = break point} {->#6   return a}}
            {b 0} {{All breakpoints removed.}}
            b {{No breakpoints set. Use 'b <line>' to add one.}}
        }
        assert_end $c 3
    }

    test {debugger: no more than 64 breakpoints} {
        set c [debug_script yes [string repeat "local a = 1 a = 2\n" 70]]
        for {set i 1} {$i <= 64} {incr i} {
            assert_equal "  #" [string range [lindex [$c b [expr {$i + 1}]] 1] 0 2]
        }
        assert_equal {{Too many breakpoints set.}} [$c b 70]
        $c b -2
        assert_equal {  #70  local a = 1 a = 2} [lindex [$c b 70] end]
        assert_equal {65} [llength [$c b]]
        assert_equal {{All breakpoints removed.}} [$c b 0]
        assert_end $c {}
    }

    test {debugger: trace, and the name of a function} {
        set c [debug_script yes {local function inner(x)
            return x + 1
            end
            local function outer(x)
            local y = inner(x)
            return y
            end
            local z = outer(1)
            return z}]
        assert_dialog $c {
            t {{In top level:} ~->*}
            {b 2} {~* ~* ~*}
            c {{* Stopped at 2, stop reason = break point} ~->*}
            trace {{In inner:} {~->#2 *return x + 1} {From outer:} {~   5 *inner(x)}
                {From top level:} {~   8 *outer(1)}}
        }
        assert_end $c 2
    }

    test {debugger: eval} {
        set c [debug_script yes {local a = 1
            return a} {1 k}]
        assert_dialog $c {
            {e 1+1} {{<retval> 2}}
            {eval {return {1, 2}}} {{<retval> {1; 2}}}
            {e local x = 3; return x} {{<retval> 3}}
            {e local x = 3} {{<retval> nil}}
            {e KEYS[1]} {{<retval> "k"}}
            {e error('boom')} {{<error> ldb_eval:1: boom}}
            {e x =} {{<error> ldb_eval:1: unexpected symbol near '<eof>'}}
            {e nothing} {{~<error> ldb_eval:1: *nonexistent global variable 'nothing'}}
            {e redis.call('set','evalkey','1')} {{<retval> {["ok"]="OK"}}}
            {e redis.call('get','evalkey')} {{<retval> "1"}}
            {e redis.call('nosuch')} {{~<error> @ldb_eval: 1: Unknown Redis command*}}
            {e redis.debug('hi', 1)} {{<debug> line 1: "hi", 1} {<retval> nil}}
        }
        assert_end $c 1
        assert_equal {} [r get evalkey]
    }

    test {debugger: eval ends in time, and shows what is no text} {
        with_config {lua-time-limit 100} {
            set c [debug_script sync {return 1}]
            foreach code {{while true do end}
                {while true do pcall(function() while true do end end) end}} {
                assert_match {<error> *lua-time-limit*} [lindex [$c e $code] 0]
            }
            assert_equal {{<error> {["a"]=1}}} [$c e {error({a = 1})}]
            assert_end $c 1
        }
    } undefined {ours}

    test {debugger: redis, and the forms of replies} {
        set c [debug_script yes {redis.setresp(3)
            return 1}]
        assert_dialog $c {
            {r set k v} {{<redis> set k v} {<reply> "+OK"}}
            {redis get k} {{<redis> get k} {<reply> "v"}}
            {r get nothing} {{<redis> get nothing} {<reply> NULL}}
            {r rpush list 1 2 3} {{<redis> rpush list 1 2 3} {<reply> 3}}
            {r lrange list 0 -1} {{<redis> lrange list 0 -1} {<reply> ["1","2","3"]}}
            {r lrange nothing 0 -1} {{<redis> lrange nothing 0 -1} {<reply> []}}
            {r mget k nothing} {{<redis> mget k nothing} {<reply> ["v",NULL]}}
            {r incr k} {{<redis> incr k}
                {<reply> "-ERR value is not an integer or out of range"}}
            {r nosuch} {{<redis> nosuch} {<error> Unknown Redis command called from Lua script}}
            {r get} {{<redis> get}
                {<error> Wrong number of args calling Redis command From Lua script}}
            {r multi} {{<redis> multi} {<error> This Redis command is not allowed from scripts}}
            {r hset h f 1} {{<redis> hset h f 1} {<reply> 1}}
            {r sadd s a} {{<redis> sadd s a} {<reply> 1}}
            {r zadd z 1.5 m} {{<redis> zadd z 1.5 m} {<reply> 1}}
            s {{* Stopped at 2, stop reason = step over} ~->*}
            {r hgetall h} {{<redis> hgetall h} {<reply> {"f" => "1"}}}
            {r hgetall nothing} {{<redis> hgetall nothing} {<reply> {}}}
            {r smembers s} {{<redis> smembers s} {<reply> ~("a")}}
            {r smembers nothing} {{<redis> smembers nothing} {<reply> ~()}}
            {r zscore z m} {{<redis> zscore z m} {<reply> (double) 1.5}}
            {r zrange z 0 -1 withscores} {{<redis> zrange z 0 -1 withscores}
                {<reply> [["m",(double) 1.5]]}}
            {r mget k nothing} {{<redis> mget k nothing} {<reply> ["v",(null)]}}
        }
        assert_end $c 1
    }

    test {debugger: long lines are cut as maxlen says} {
        set c [debug_script yes {local s = string.rep('x', 600)
            return 1}]
        $c s
        assert_equal {{<value> replies are truncated at 256 bytes.}} [$c maxlen]
        set lines [$c p s]
        assert_equal 2 [llength $lines]
        assert_equal "<value> \"[string repeat x 247] ..." [lindex $lines 0]
        assert_match {<hint> *} [lindex $lines 1]
        assert_equal 1 [llength [$c p s]]
        assert_dialog $c {
            {m 100} {{<value> replies are truncated at 100 bytes.}}
            {p s} {{~<value> "xxxx* ...}}
            {m 7} {{<value> replies are truncated at 60 bytes.}}
            {m 0} {{<value> replies are unlimited.}}
        }
        assert_equal "<value> \"[string repeat x 600]\"" [lindex [$c p s] 0]
        assert_end $c 1
    }

    test {debugger: what grows without bounds is left out} {
        set c [debug_script yes {local t, u = {}, {}
            for i = 1, 100 do t[i] = u; u[i] = t end
            for i = 1, 200000 do redis.debug('a line of the script', i) end
            redis.breakpoint()
            return 1}]
        set lines [$c c]
        assert_morethan 200000 [llength $lines]
        assert_match {<hint> * more lines *} [lindex $lines end]
        assert_match {\* Stopped at 5*} [lindex $lines end-2]
        $c m 0
        assert_lessthan [string length [lindex [$c p t] 0]] 2000000
        assert_end $c 1
    } undefined {ours}

    test {debugger: redis.debug and redis.breakpoint} {
        assert_equal {} [r eval {return redis.breakpoint()} 0]
        set c [debug_script yes {redis.debug('a', 1, {2}, nil, true)
            local a = redis.breakpoint()
            redis.debug(a)
            redis.debug()
            return 1}]
        assert_dialog $c {
            c {{<debug> line 1: "a", 1, {2}, nil, true}
                {* Stopped at 3, stop reason = redis.breakpoint() called} ~->*}
        }
        assert_equal {{<debug> line 3: true} {<debug> line 4: } <endsession>} [$c c]
        assert_equal 1 [$c read]
        assert {[$c closed]}
        $c close
    }

    test {debugger: coroutines, and functions that others call} {
        set c [debug_script yes {local co = coroutine.wrap(function()
            local within = 7
            coroutine.yield(within)
            end)
            table.sort({2, 1}, function(a, b)
            return a < b end)
            return co()}]
        assert_dialog $c {
            {b 3 6} {~* ~* ~* ~* ~* ~*}
            c {{* Stopped at 6, stop reason = break point} ~->*}
            {b -6} {{Breakpoint removed.}}
            c {{* Stopped at 3, stop reason = break point} ~->*}
            p {{<value> within = 7}}
        }
        assert_end $c 7
    }

    test {debugger: abort, which no pcall survives} {
        set c [debug_script yes {return 1}]
        assert_end $c {-ERR Error running script *@user_script:1: script aborted for user request} a
    }

    test {debugger: an aborted script does not go on behind a pcall} {
        set c [debug_script sync {pcall(function()
            local a = 1
            end)
            redis.call('set', 'behind', '1')
            return 1}]
        $c b 2
        $c c
        assert_end $c {-ERR Error running script *script aborted for user request} abort
        assert_equal {} [r get behind]
    } undefined {ours}

    test {debugger: an error of the script ends the session} {
        set c [debug_script yes {redis.call('set', 'x')
            return 1}]
        assert_dialog $c {
            s {{<redis> set x}
                {<error> Wrong number of args calling Redis command From Lua script}
                <endsession>}
        }
        assert_error {ERR Error running script *Wrong number of args*} {$c read}
        assert {[$c closed]}
        $c close
    }

    test {debugger: a script that does not run ends the session} {
        foreach {script arguments text} {
            {x = = 1} 0 {ERR Error compiling script*user_script:1: unexpected symbol*}
            {return 1} 5 {ERR Number of keys can't be greater than number of args}
            {return 1} x {ERR value is not an integer or out of range}
        } {
            set c [redis_client]
            $c script debug yes
            assert_equal <endsession> [$c eval $script {*}$arguments]
            assert_error $text {$c read}
            assert {[$c closed]}
            $c close
        }
    }

    test {debugger: words that it does not know} {
        set c [debug_script yes {return 1}]
        foreach words {quit restart PING foo r} {
            assert_match {<error> Unknown*} [lindex [$c {*}$words] 0]
        }
        assert_match {*step*} [join [$c help]]
        assert_equal [$c help] [$c h]
        assert_end $c 1
    }

    test {debugger: what is no protocol ends the session} {
        foreach bytes {hello\r\n \r\n *0\r\n *-1\r\n *x\r\n *1\r\n\$-1\r\n *1\r\n\$x\r\n
            *1\r\n\$99999999\r\n \$1\r\ns\r\n \x00 *2\r\n\$1\r\ns\r\n:1\r\n
            *1000000\r\n\$1\r\ns\r\n} {
            set c [debug_script yes {return 1}]
            $c write [subst -nocommands -novariables $bytes]
            assert_equal <endsession> [$c read]
            assert_error {ERR Error running script *@user_script:1: protocol error} {$c read}
            assert {[$c closed]}
            $c close
        }
        assert_equal PONG [r ping]
    }

    test {debugger: a command that comes in pieces, and one of many words} {
        set c [debug_script yes {local a = 1
            return a}]
        foreach byte [split [client::encode {b 2}] {}] {
            $c write $byte
            $c flush
        }
        assert_equal 2 [llength [$c read]]
        assert_equal 1023 [llength [$c b {*}[lrepeat 1023 99]]]
        $c write [client::encode [list b {*}[lrepeat 1024 99]]]
        assert_equal <endsession> [$c read]
        assert_error {*protocol error} {$c read}
        $c close
    }

    test {debugger: commands that come together, empty words} {
        set c [debug_script yes {local a = 1
            return a}]
        $c write "[client::encode b][client::encode {redis set k {}}][client::encode c]"
        assert_match {{No breakpoints*}} [$c read]
        assert_equal {{<redis> set k } {<reply> "+OK"}} [$c read]
        assert_equal <endsession> [$c read]
        assert_equal 1 [$c read]
        $c close
    } undefined {ours}
}

start_server {tags {scripting needs:eval}} {
    # ---- whose data it is ----

    test {debugger (yes): the server goes on, and what the script changes is gone} {
        r set k before
        set c [debug_script yes $counting]
        $c b 6
        assert_match {*<redis> set k 3*} [join [list {*}[$c s] {*}[$c c] {*}[$c r set k 3]]]
        assert_equal {{<redis> get k} {<reply> "3"}} [$c r get k]
        assert_equal before [r get k]
        r set k after
        r set other 1
        assert_equal {{<redis> get k} {<reply> "3"}} [$c r get k]
        assert_equal {{<redis> get other} {<reply> NULL}} [$c r get other]
        assert_end $c 3
        assert_equal after [r get k]
        await_no_children
    }

    test {debugger (sync): nobody else is served, and what the script changes stays} {
        r set k before
        set forks [s total_forks]
        set other [redis_deferring_client]
        set c [debug_script sync $counting]
        $other get k
        $c b 6
        $c c
        assert_equal 0 [$other readable 100]
        assert_end $c 3
        assert_equal 3 [$other read]
        $other close
        assert_equal $forks [s total_forks]
    }

    test {debugger (sync): an aborted script leaves what it has changed} {
        r del k
        set c [debug_script sync $counting]
        $c b 6
        $c c
        assert_end $c {-ERR Error running script *@user_script:6: script aborted for user request} a
        assert_equal 3 [r get k]
    }

    test {debugger (yes): several sessions beside each other, and beside BGSAVE} {
        await_no_children
        r set k 0
        set forks [s total_forks]
        set sessions {}
        for {set i 0} {$i < 4} {incr i} {
            lappend sessions [debug_script yes "redis.call('incrby', 'k', $i)
                return redis.call('get', 'k')"]
        }
        assert_equal 4 [llength [children_of [srv pid]]]
        assert_equal [expr {$forks + 4}] [s total_forks]
        assert_equal 0 [s rdb_bgsave_in_progress]
        foreach c $sessions {$c s}
        r bgsave
        wait_for_condition 200 50 {[s rdb_bgsave_in_progress] == 0} else {fail "no snapshot"}
        assert_equal ok [s rdb_last_bgsave_status]
        assert_error {NOTBUSY*} {r script kill}
        set i 0
        foreach c $sessions {
            assert_end $c $i
            incr i
        }
        assert_equal 0 [r get k]
        await_no_children
    }

    test {debugger (yes): no more than 64 sessions at a time} {
        set sessions {}
        for {set i 0} {$i < 64} {incr i} { lappend sessions [debug_script yes {return 1}] }
        set c [redis_client]
        $c script debug yes
        assert_error {ERR Too many debugging sessions} {$c eval {return 1} 0}
        foreach session $sessions { $session close }
        await_no_children
        assert_match {\* Stopped*} [lindex [$c eval {return 1} 0] 0]
        assert_end $c 1
        await_no_children
    } undefined {ours}

    # ---- the client goes ----

    test {debugger (yes): the child goes with its client} {
        await_no_children
        set c [debug_script yes $counting]
        assert_equal 1 [llength [children_of [srv pid]]]
        $c close
        await_no_children
    }

    test {debugger (sync): the script runs to its end when its client is gone} {
        r del k
        set c [debug_script sync $counting]
        $c b 3
        $c close
        assert_equal 3 [r get k]
    }

    foreach mode {yes sync} {
        test "debugger ($mode): a script that does not end stops, and ends with its client" {
            with_config {lua-time-limit 100} {
                set c [debug_script $mode {while true do
                    local a = 1
                    end}]
                assert_match {{* Stopped at ?, stop reason = timeout reached, infinite loop?} *} \
                    [$c c]
                $c s
                assert_match {*stop reason = timeout reached, infinite loop?} [lindex [$c c] 0]
                $c close
                assert_equal PONG [r ping]
                await_no_children
            }
        }

        test "debugger ($mode): a script that does not end does so without its client" {
            with_config {lua-time-limit 100} {
                set c [debug_script $mode {while true do
                    local a = 1
                    end}]
                $c write [client::encode c]
                $c flush
                $c close
                assert_equal PONG [r ping]
                await_no_children
            }
        }
    }

    test {debugger (yes): who is closed sees it while a session lives} {
        set other [redis_client]
        set id [$other client id]
        set c [debug_script yes $counting]
        r client kill id $id
        assert {[$other closed]}
        $other close
        assert_end $c 3
    } undefined {ours}

    # ---- what others see ----

    test {debugger (yes): its client is none of the server's any more} {
        r client setname me
        set c [redis_client]
        $c client setname stepping
        set id [$c client id]
        $c script debug yes
        $c eval $counting 0
        assert_no_match {*stepping*} [r client list]
        assert_equal 0 [r client kill id $id]
        assert_end $c 3
    }

    test {debugger: MONITOR shows the script, and by SYNC what it does} {
        foreach {mode calls} {yes 0 sync 2} {
            set c [redis_client]
            set m [redis_deferring_client]
            $m monitor
            assert_equal OK [$m read]
            $c script debug $mode
            $c eval {redis.call('set', 'k', 'v')
                return redis.call('get', 'k')} 0
            assert_end $c v
            r ping
            set lines {}
            while {![string match {*"ping"*} [set line [$m read]]]} { lappend lines $line }
            assert_match {*"script" "debug" *} [lindex $lines 0]
            assert_match {*"eval" *} [lindex $lines 1]
            assert_equal $calls [llength [lsearch -all $lines {*\[* lua\]*}]]
            assert_equal [expr {2 + $calls}] [llength $lines]
            $m close
        }
    }

    test {debugger: within MULTI a script is not debugged} {
        r script debug yes
        r multi
        r set multikey 1
        r eval {return 1} 0
        r incr multikey
        assert_match {OK *A script must be debugged outside a pipeline* 2} [r exec]
        assert_equal OK [r script debug no]
        assert_equal 2 [r get multikey]
    } undefined {ours}

    test {debugger: the log and replicas hear of SYNC alone} {
        r debug effects start
        set c [debug_script yes {redis.call('set', 'k', '1')
            return 1}]
        assert_end $c 1
        assert_equal {} [r debug effects log]
        set c [debug_script sync {redis.call('set', 'k', '1')
            return 1}]
        assert_end $c 1
        assert_match {*MULTI*set k 1*EXEC*} [r debug effects log]
        r debug effects stop
    } undefined {ours}

    test {debugger: its rights are its client's} {
        r acl setuser dave on nopass ~d* +@all -get
        set c [redis_client]
        $c auth dave any
        $c script debug yes
        $c eval {return 1} 0
        assert_match {<error> *} [lindex [$c r get d] 1]
        assert_match {<error> *} [lindex [$c r set k 1] 1]
        assert_equal {<reply> "+OK"} [lindex [$c r set d 1] 1]
        assert_end $c 1
        r acl deluser dave
    }

    test {debugger: the script is in the cache by SYNC alone} {
        r script flush
        set sha [lindex [r eval {return redis.sha1hex("return 'cached'")} 0] 0]
        r script flush
        assert_end [debug_script yes {return 'cached'}] cached
        assert_equal 0 [r script exists $sha]
        assert_end [debug_script sync {return 'cached'}] cached
        assert_equal 1 [r script exists $sha]
    }
}

start_server {tags {scripting needs:eval}} {
    test {debugger: sessions end with the server} {
        set forked [debug_script yes $counting]
        set pid [srv pid]
        set children [children_of $pid]
        assert_equal 1 [llength $children]
        catch {r shutdown nosave}
        wait_for_condition 200 50 {![process_alive [lindex $children 0]]} else {fail "it lives on"}
        assert {[$forked closed]}
        $forked close
    }
}

start_server {tags {scripting needs:eval}} {
    test {debugger (sync): a signal to end the server ends the session} {
        set c [debug_script sync $counting]
        exec kill [srv pid]
        assert_equal <endsession> [$c read]
        $c close
        wait_for_condition 200 50 {![process_alive [srv pid]]} else {fail "it lives on"}
    } undefined {ours}
}
