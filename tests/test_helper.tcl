# SPDX-License-Identifier: BSD-3-Clause
# The entry of the Tcl suite: options, the list of files, and the two roles of this program.
#
# Called by tests/run it conducts the run; called by itself with --worker it runs one file.
# Reading order: this file, support/conductor.tcl, support/test.tcl, support/server.tcl,
# support/client.tcl, then any file of unit/.

# A string of a test is bytes, one character for each: over the wire, in files, in the arguments and
# the output of programs, in the names of files. The locale must not say otherwise, so its encoding
# is taken off what Tcl has read with it already.
set locale_encoding [encoding system]
encoding system iso8859-1
foreach channel {stdin stdout stderr} {
    fconfigure $channel -encoding iso8859-1
}
set ::argv [lmap word $::argv {encoding convertto $locale_encoding $word}]
set ::tclsh [encoding convertto $locale_encoding [info nameofexecutable]]
set ::tests [file dirname [file normalize [encoding convertto $locale_encoding [info script]]]]
set ::tmp_serial 0

# What the environment could tell servers and programs; a test that wants it sets it. The locale is
# the order of texts in SORT ALPHA and in scripts.
unset -nocomplain ::env(NOTIFY_SOCKET) ::env(UPSTART_JOB) ::env(REDISCLI_AUTH) ::env(LANG)
array unset ::env LC_*

foreach part {
    client assert stolen util server test conductor replica faulty tls terminal trace_file
} {
    source [file join $::tests support $part.tcl]
}

# Tags of the features that are not built yet. Their tests are left out when our own server is
# tested, unless --tags names the tag. Whoever builds a feature takes its tag out of this list.
set ::not_built {}

array set ::options [list \
    tests $::tests server {} wrapper {} scratch {} worker 0 \
    single {} draw 1 only {} skiptest {} allow {} deny {} config {} clients 2 timeout 900 seed 0 \
    verbose 0 accurate 0 resp3 0 tls 0 certificates {} list 0 keep 0 colour 0 log_lines 15]

set ::usage {usage: tests/run [options]       (many: may be given several times)

  --single FILE         only this file (unit/protocol); (many)
  --draw N              only one in N of the files, drawn by the seed
  --only NAME           only tests of this name, or that match it as a regular expression (many)
  --skiptest NAME       leave such tests out (many)
  --tags "A B -C"       only tests with tag A or B, none with tag C
  --list-tests          print the files and the names of their tests
  --verbose             a line a test
  --accurate            more rounds in random and large tests
  --seed N              repeat a run's random choices
  --clients N           files run at once (2)
  --server PATH         the server to test (build/bin/redis-server)
  --config NAME VALUE   an option for every server (many)
  --resp3               clients speak RESP3
  --tls                 servers and clients speak TLS
  --wrapper "WORDS"     put in front of the server's command line (strace -f, nice -n 5 ...)
  --timeout SECONDS     end a file whose test shows no sign of life for so long (900)
  --log-lines N         lines of the server's log shown with a failure (15)
  --keep                keep the scratch folder (it always stays when something failed)

Tags: ours (differs from Redis 6.2 on purpose; left out when another server is tested), resp2 (makes
sense in RESP2 only), tls:skip (not over TLS), slow, needs:client, needs:list ... (wants a feature;
our server is not asked for those that are not built: ::not_built in tests/test_helper.tcl).
The last line printed is `N passed, N failed`; the exit status is 0 when nothing failed. Before it
stand the tests that were skipped because `the machine stole N ms`.}

proc usage_error {message} {
    puts stderr "tests/run: $message (--help lists the options)"
    exit 2
}

# Reads the command line into ::options.
proc parse_options {words} {
    while {$words ne ""} {
        set words [lassign $words word]
        switch -- $word {
            --single - --only - --skiptest {
                set words [lassign $words value]
                lappend ::options([string range $word 2 end]) $value
            }
            --tags {
                set words [lassign $words value]
                foreach tag $value {
                    if {[string match -* $tag]} {
                        lappend ::options(deny) [string range $tag 1 end]
                    } else {
                        lappend ::options(allow) $tag
                    }
                }
            }
            --config {
                set words [lassign $words name value]
                lappend ::options(config) $name $value
            }
            --seed - --draw - --clients - --timeout - --log-lines {
                set words [lassign $words value]
                if {![string is integer -strict $value]} {
                    usage_error "$word wants a number"
                }
                set ::options([string map {- _} [string range $word 2 end]]) $value
            }
            --server - --wrapper {
                set words [lassign $words ::options([string range $word 2 end])]
            }
            --verbose - --accurate - --resp3 - --tls - --keep {
                set ::options([string range $word 2 end]) 1
            }
            --list-tests { set ::options(list) 1 }
            --help {
                puts $::usage
                exit 0
            }
            default { usage_error "unknown option $word" }
        }
    }
}

# All files of tests, as names below tests/ without .tcl.
proc all_units {} {
    set units {}
    foreach folder {unit unit/type integration cluster sentinel} {
        foreach path [lsort [glob -nocomplain [file join $::tests $folder *.tcl]]] {
            lappend units $folder/[file rootname [file tail $path]]
        }
    }
    return $units
}

# Files about the process, its plain port, and programs that do not speak TLS.
set ::plain_units {integration/host integration/lab-watch integration/protected integration/startup}

proc chosen_units {} {
    if {$::options(single) eq ""} {
        set units [all_units]
        if {$::options(tls)} {
            set units [lmap unit $units {expr {$unit in $::plain_units ? [continue] : $unit}}]
        }
        return $units
    }
    set units {}
    foreach unit $::options(single) {
        set unit [string trimleft [regsub {\.tcl$} [regsub {^(\./)?tests/} $unit {}] {}] /]
        if {![file exists [file join $::tests $unit.tcl]]} {
            usage_error "there is no tests/$unit.tcl"
        }
        lappend units $unit
    }
    return $units
}

# One in --draw of the units, at least one, in their order. Which ones follows from the seed.
proc drawn_units {units} {
    set wanted [expr {([llength $units] + $::options(draw) - 1) / $::options(draw)}]
    expr {srand($::options(seed))}
    set left [llength $units]
    set drawn {}
    foreach unit $units {
        if {rand() * $left < $wanted} {
            lappend drawn $unit
            incr wanted -1
        }
        incr left -1
    }
    return $drawn
}

# Names as they stand in the files; those made in loops show their variables.
proc list_tests {} {
    foreach unit [chosen_units] {
        puts $unit
        foreach line [split [read_whole [file join $::tests $unit.tcl]] \n] {
            if {[regexp {^\s*test\s+(?:\{([^\}]*)\}|"([^"]*)")} $line -> braced quoted]} {
                puts "    $braced$quoted"
            }
        }
    }
}

# True for our own server: no other knows this flag.
proc server_is_ours {path} {
    set result [run_program [list $path --describe-options]]
    return [expr {[dict get $result status] == 0}]
}

proc prepare {} {
    set build [file join [file dirname $::tests] build]
    if {$::options(server) eq ""} {
        set ::options(server) [file join $build bin redis-server]
    }
    set ::options(server) [file normalize $::options(server)]
    if {![file executable $::options(server)]} {
        usage_error "there is no server at $::options(server)"
    }
    if {!$::options(seed)} {
        set ::options(seed) [expr {([clock microseconds] ^ [pid]) & 0x3fffffff}]
    }
    if {$::options(scratch) eq ""} {
        set ::options(scratch) $::env(TEST_SCRATCH)
    }
    if {![server_is_ours $::options(server)]} {
        lappend ::options(deny) ours
    } else {
        foreach tag $::not_built {
            if {$tag ni $::options(allow)} {
                lappend ::options(deny) $tag
            }
        }
    }
    if {$::options(resp3)} {
        lappend ::options(deny) resp2
    }
    if {$::options(tls)} {
        lappend ::options(deny) tls:skip
        set ::options(certificates) [file join $::options(scratch) certificates]
        exec sh [file join $::tests support certificates.sh] $::options(certificates)
    }
    set ::options(colour) [expr {[info exists ::env(TEST_COLOUR)] && $::env(TEST_COLOUR)}]
}

if {[lindex $::argv 0] eq "--worker"} {
    array set ::options [lindex $::argv 1]
    run_unit [lindex $::argv 2]
    exit 0
}
parse_options $::argv
if {$::options(draw) < 1} {
    usage_error "--draw wants a number of 1 or more"
}
if {$::options(list)} {
    list_tests
    exit 0
}
prepare
exit [conductor::run [drawn_units [chosen_units]]]
