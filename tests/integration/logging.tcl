# SPDX-License-Identifier: BSD-3-Clause
# What the log says when the server hangs or crashes.

start_server {} {
    test {watchdog-period: at least two of the cron's periods; what is refused changes nothing} {
        assert_equal 0 [config_get watchdog-period]
        r config set watchdog-period 1
        assert_equal 200 [config_get watchdog-period]
        r config set watchdog-period 450
        assert_equal 450 [config_get watchdog-period]
        foreach value {-1 x {} {1 2} 10% 99999999999999999999} {
            assert_error_text "ERR Invalid argument '$value' for CONFIG SET 'watchdog-period'" \
                {r config set watchdog-period $value}
        }
        assert_equal 450 [config_get watchdog-period]
        r config set watchdog-period 0
        assert_equal 0 [config_get watchdog-period]
    }

    test {A hang longer than watchdog-period shows the stack, and the command ends as it should} {
        r config set watchdog-period 200
        set from [count_log_lines]
        assert_equal OK [r debug sleep 1.5]
        wait_for_log "*--- WATCHDOG TIMER EXPIRED ---*" [expr {$from - 1}]
        wait_for_log "*------ STACK TRACE ------*" [expr {$from - 1}]
        wait_for_log "*nanosleep*" [expr {$from - 1}]
        # The handler of the command that hangs is named as 6.2 names it.
        wait_for_log "*debugCommand*" [expr {$from - 1}]
        wait_for_log "*signal-handler (*) --------" [expr {$from - 1}]
    } undefined

    test {The report names the command and its client} {
        wait_for_log "The command debug of client * (3 arguments) is running."
        wait_for_log "*(command_debug*+0x*)* {debugCommand} at *src/server/debug*.c:*"
    } undefined {ours}

    # A machine that stands still is a hang of its own: those of the command are counted.
    test {One hang is reported once, and the server goes on} {
        assert_equal 1 [regexp -all {debugCommand} [server_text [server_id 0]]]
        assert_equal PONG [r ping]
        after 500
        assert_equal 1 [regexp -all {debugCommand} [server_text [server_id 0]]]
    }

    test {watchdog-period 0 switches it off} {
        r config set watchdog-period 0
        r debug sleep 0.6
        assert_equal 1 [regexp -all {debugCommand} [server_text [server_id 0]]]
    }
}

test {watchdog-period cannot stand in a configuration file} {
    set path [tmpfile watchdog.conf]
    write_whole $path "watchdog-period 500\n"
    set result [run_server_to_end [list $path]]
    assert_equal 1 [dict get $result status]
    assert_match "*Bad directive or wrong number of arguments*" [dict get $result err]
}

start_server {} {
    test {CONFIG REWRITE does not write watchdog-period} {
        r config set watchdog-period 500
        r config rewrite
        assert_no_match *watchdog-period* [read_whole [srv config_file]]
    }
}

# --- crashes ------------------------------------------------------------------------------------

# Sends the command and waits for the server's end; returns status and log.
proc crash {words} {
    set client [redis_deferring_client]
    $client {*}$words
    assert_equal 1 [$client closed]
    $client close
    assert_equal 1 [await_end [srv process]]
    return [list [reap [srv process]] [server_text [server_id 0]]]
}

set cases {
    {debug segfault} SIGSEGV {*crashed by signal: 11*Accessing address:*}
    {debug panic}    SIGABRT {*Guru Meditation*DEBUG PANIC*}
    {debug assert}   SIGABRT {*ASSERTION FAILED*}
    {debug oom}      SIGABRT {*Out Of Memory allocating *bytes*Guru Meditation*}
}
foreach {words signal text} $cases {
    start_server {crash 1} {
        test "The report of [join $words]" {
            r set key value
            if {$words eq {debug oom} && [s mem_allocator] eq "libc"} {
                skip "the sanitizer itself ends the process then"
            }
            lassign [crash $words] status log
            assert_equal $signal $status
            assert_match $text $log
            set parts {{REDIS BUG REPORT START} {STACK TRACE} {debugCommand} {INFO OUTPUT}
                {# Server} {redis_version:6.2} {db9:keys=1} {CLIENT LIST OUTPUT} {id=}
                {REDIS BUG REPORT END}}
            foreach part $parts {
                assert {[string first $part $log] >= 0} "no $part in the report"
            }
            server_launch [server_id 0]
        } {1}
    }
}

start_server {crash 1} {
    test {Registers, the command with its arguments, the last lines, the memory test} {
        r debug log "remember this"
        set sanitizer [expr {[s mem_allocator] eq "libc"}]
        lassign [crash {debug segfault}] status log
        foreach part {{REGISTERS} {CURRENT CLIENT INFO} {cmd=debug argc=2}
                {argv\[1\] (8 bytes): 'segfault'} {LAST LOG LINES*DEBUG LOG: remember this}} {
            assert_match "*$part*" $log
        }
        if {!$sanitizer} {
            assert_match "*FAST MEMORY TEST*KiB tested*No fault was found*" $log
        }
        if {$::tcl_platform(machine) eq "x86_64"} {
            assert {[regexp {RIP:[0-9a-f]{16}} $log]}
        }
        assert {[regexp {\(debug_segfault[.\w]*\+0x[0-9a-f]+\)} $log]}
        server_launch [server_id 0]
    } {1} {ours}
}

start_server {crash 1} {
    test {SIGABRT from outside: the report names the sender} {
        exec kill -ABRT [srv pid]
        assert_equal 1 [await_end [srv process]]
        set log [server_text [server_id 0]]
        assert_equal SIGABRT [reap [srv process]]
        assert_match "*crashed by signal: 6*Killed by PID: *STACK TRACE*BUG REPORT END*" $log
        server_launch [server_id 0]
    } {1}
}

start_server {crash 1 overrides {crash-log-enabled no}} {
    test {crash-log-enabled no: no report} {
        lassign [crash {debug segfault}] status log
        assert_equal SIGSEGV $status
        assert_no_match "*BUG REPORT*" $log
        server_launch [server_id 0]
    } {1}
}

start_server {crash 1 overrides {crash-memcheck-enabled no}} {
    test {crash-memcheck-enabled no: no memory test} {
        lassign [crash {debug segfault}] status log
        assert_match "*BUG REPORT END*" $log
        assert_no_match "*FAST MEMORY TEST*" $log
        server_launch [server_id 0]
    } {1}
}

foreach what {panic assert} {
    start_server {crash 1 overrides {use-exit-on-panic yes}} {
        test "use-exit-on-panic yes: DEBUG $what exits with status 1" {
            lassign [crash [list debug $what]] status log
            assert_match "*BUG REPORT END*" $log
            set status
        } {1}
        server_launch [server_id 0]
    }
}

# --- syslog -------------------------------------------------------------------------------------

start_server {overrides {syslog-enabled yes syslog-ident evenkeel-test syslog-facility local3}} {
    test {With syslog the log goes on as before, whether or not one listens} {
        wait_for_log {*eady to accept connections*}
        foreach {name value} {syslog-enabled yes syslog-ident evenkeel-test
                syslog-facility local3} {
            assert_equal $value [config_get $name]
            assert_error_text "ERR Unsupported CONFIG parameter: $name" \
                {r config set $name $value}
        }
    }
}

test {syslog-facility: a facility that is none} {
    set path [tmpfile syslog.conf]
    write_whole $path "syslog-facility mail\n"
    set result [run_server_to_end [list $path]]
    assert_equal 1 [dict get $result status]
    assert_match "*argument must be one of the following: user, local0, local1, local2, local3,\
        local4, local5, local6, local7\n" [dict get $result err]
}

test {Lines before the configuration counts have the role C, later ones M} {
    set port [find_free_port]
    set process [spawn_server [list --port $port --bind 127.0.0.1 --save {}]]
    set path [dict get $process log]
    wait_for_condition 400 20 {[file exists $path] \
        && [string match "*eady to accept*" [read_whole $path]]} else {
        fail "it does not start"
    }
    set log [read_whole $path]
    assert {[regexp -line {^\d+:C .*Configuration loaded} $log]} $log
    assert {[regexp -line {^\d+:M .*eady to accept} $log]} $log
    exec kill [dict get $process pid]
    await_end $process
    reap $process
} {0}
