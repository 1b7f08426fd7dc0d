# SPDX-License-Identifier: BSD-3-Clause
# Programs on a pseudo-terminal.

# A program on a pseudo terminal: what is written to the channel are keys, what is read is what it
# shows. "%pid N" comes first, "%ended STATUS ATTRIBUTES" last, where ATTRIBUTES says whether the
# terminal's are as before.
set ::terminal_program {
import fcntl, os, select, signal, struct, sys, termios
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
rows, columns = int(sys.argv[1]), int(sys.argv[2])
ours, theirs = os.openpty()
fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
before = termios.tcgetattr(theirs)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(theirs, fd)
    os.closerange(3, 100)
    os.execv(sys.argv[3], sys.argv[3:])
os.write(1, b'%%pid %d\n' % pid)
status, keys_open = None, True
while True:
    ready = select.select([ours] + ([0] if keys_open else []), [], [], 0.05)[0]
    if ours in ready:
        os.write(1, os.read(ours, 65536))
    if 0 in ready:
        keys = os.read(0, 4096)
        keys_open = bool(keys)
        if keys.startswith(b'%size '):
            size = [int(word) for word in keys.split()[1:3]]
            fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack('HHHH', size[0], size[1], 0, 0))
        elif keys:
            os.write(ours, keys)
        elif status is None:
            os.kill(pid, signal.SIGKILL)
    if not ready and status is not None:
        break
    if status is None:
        done, result = os.waitpid(pid, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(result)
same = 'restored' if termios.tcgetattr(theirs) == before else 'changed'
os.write(1, b'\n%%ended %d %s\n' % (status, same.encode()))
}

# Starts a program with its arguments in a terminal of that size; the channel to it.
proc terminal_open {rows columns args} {
    set channel [open |[list python3 -c $::terminal_program $rows $columns {*}$args 2>@stderr] r+]
    fconfigure $channel -translation binary -blocking 0 -buffering none
    return $channel
}

# Waits until what was shown since `text` was begun matches; appends it to the variable.
proc await_shown {channel variable pattern} {
    upvar 1 $variable text
    set until [expr {[clock milliseconds] + $::patience_ms}]
    while {[clock milliseconds] < $until} {
        append text [read $channel]
        if {[regexp -- $pattern $text]} {
            return
        }
        after 25
    }
    fail "the terminal does not show '$pattern' but: [string range $text end-1500 end]"
}

# What is shown next begins a new text: for patterns that must not see what stood there before.
proc type_keys {channel variable keys} {
    upvar 1 $variable text
    set text ""
    puts -nonewline $channel $keys
}

# Waits for the program's end: its status, and what is with the terminal's attributes.
proc terminal_end {channel variable} {
    upvar 1 $variable text
    await_shown $channel text {%ended -?\d+ \w+\n}
    fconfigure $channel -blocking 1
    close $channel
    regexp {%ended (-?\d+) (\w+)} $text -> status attributes
    return [list $status $attributes]
}

# The rows that a terminal of so many columns shows after this text, without blanks at their ends;
# nothing scrolls away. Knows what editors of lines use: CR, LF, BS, and of ECMA-48 CUU, CUF, CUB,
# CHA, EL, ICH, DCH; colours are passed over.
proc terminal_rows {text columns} {
    set rows {}
    set line {}
    set row 0
    set column 0
    set pattern {\x1b\[([0-9;?]*)([A-Za-z@])|[^\x1b]}
    foreach {piece number letter} [regexp -all -inline -- $pattern $text] {
        set line [lindex $rows $row]
        set n [expr {[string is integer -strict $number] ? $number : 1}]
        switch -- $letter {
            A { incr row -$n; continue }
            C { incr column $n; continue }
            D { set column [expr {max(0, $column - $n)}]; continue }
            G { set column [expr {$n - 1}]; continue }
            K { set line [string range $line 0 $column-1] }
            P { set line [string replace $line $column $column+$n-1] }
            @ { set line [string replace $line $column $column \
                [string repeat " " $n][string index $line $column]] }
            default { if {$letter ne ""} continue }
        }
        if {$letter eq ""} {
            switch -- $piece {
                "\r" { set column 0; continue }
                "\n" { incr row; continue }
                "\b" { set column [expr {max(0, $column - 1)}]; continue }
                "\a" continue
            }
            if {$column >= $columns} {
                incr row
                set column 0
                set line [lindex $rows $row]
            }
            set line [format %-${column}s $line]
            set line [string range $line 0 $column-1]$piece[string range $line $column+1 end]
            incr column
        }
        while {[llength $rows] <= $row} {
            lappend rows ""
        }
        lset rows $row $line
    }
    return [lmap line $rows {string trimright $line}]
}
