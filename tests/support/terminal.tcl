# SPDX-License-Identifier: BSD-3-Clause
# Programs on a pseudo-terminal.
#
# A driver in Python owns the terminal. Each order to it is a line of its own, because on a busy
# machine keys and sizes that follow each other closely are read at once:
#   keys BASE64        these bytes are typed
#   size ROWS COLUMNS  the terminal gets this size, before keys that are typed later
#   output on|off      off: a program that writes waits in its write
#   cook               the terminal's attributes become those of a shell
#   modes              answers "%modes LINE", where LINE is raw or cooked
# Its own lines begin with "%", between those that the program shows: "%pid N" comes first,
# "%ended STATUS ATTRIBUTES" last, where ATTRIBUTES says whether the terminal's are as before.
set ::terminal_program {
import base64, fcntl, os, select, signal, struct, sys, termios
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
ours, theirs = os.openpty()

def set_size(rows, columns):
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack('HHHH', int(rows), int(columns), 0, 0))

def obey(order, *words):
    if order == b'keys':
        os.write(ours, base64.b64decode(words[0]))
    elif order == b'size':
        set_size(*words)
    elif order == b'output':
        termios.tcflow(theirs, termios.TCOON if words[0] == b'on' else termios.TCOOFF)
    elif order == b'cook':
        termios.tcsetattr(theirs, termios.TCSANOW, before)
    elif order == b'modes':
        raw = not termios.tcgetattr(theirs)[3] & termios.ICANON
        os.write(1, b'%modes raw\n' if raw else b'%modes cooked\n')

set_size(*sys.argv[1:3])
before = termios.tcgetattr(theirs)
if sys.argv[3] == 'off':
    obey(b'output', b'off')
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(theirs, fd)
    os.closerange(3, 100)
    os.execv(sys.argv[4], sys.argv[4:])
os.write(1, b'%%pid %d\n' % pid)
status, orders, more = None, b'', True
while True:
    ready = select.select([ours] + ([0] if more else []), [], [], 0.05)[0]
    if ours in ready:
        os.write(1, os.read(ours, 65536))
    if 0 in ready:
        read = os.read(0, 65536)
        more = bool(read)
        *whole, orders = (orders + read).split(b'\n')
        for order in whole:
            obey(*order.split())
        if not more and status is None:
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

# Starts a program with its arguments in a terminal of that size; the channel to it. Output that is
# off is let through by the order that turns it on.
proc terminal_open {rows columns args} {
    return [terminal_start on $rows $columns $args]
}

proc terminal_start {output rows columns words} {
    set channel [open |[list python3 -c $::terminal_program $rows $columns $output {*}$words \
        2>@stderr] r+]
    fconfigure $channel -translation binary -blocking 0 -buffering none
    return $channel
}

proc terminal_order {channel args} {
    puts $channel [join $args " "]
}

proc send_keys {channel keys} {
    terminal_order $channel keys [binary encode base64 $keys]
}

proc terminal_size {channel rows columns} {
    terminal_order $channel size $rows $columns
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
    send_keys $channel $keys
}

# Waits for the program's end. Returns its status, and whether the terminal's attributes are
# restored.
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
# CHA, EL, ICH, DCH; colours are ignored.
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
