# SPDX-License-Identifier: BSD-3-Clause Assertions: they fail the test with both values in the
# message.
#
# A failed assertion is a Tcl error with the code ASSERTION, which distinguishes it from a mistake
# in the test itself and passes through `catch` only where a test asks for it.

# Values longer than this are cut in messages.
set ::assert_shown_max 400

proc assert_shown {value} {
    # Bytes that a terminal cannot show become \xNN.
    set out ""
    foreach character [split [string range $value 0 $::assert_shown_max] ""] {
        scan $character %c code
        switch -- $code {
            10 { append out {\n} }
            13 { append out {\r} }
            default {
                append out [expr {$code < 32 || ($code > 126 && $code < 256)
                                  ? [format {\x%02x} $code] : $character}]
            }
        }
    }
    if {[string length $value] > $::assert_shown_max} {
        append out " ... ([string length $value] bytes)"
    }
    return "'$out'"
}

# Ends the test.
proc fail {{message "failed"}} {
    return -code error -errorcode ASSERTION $message
}

# Where in the test the assertion stood, for the message.
proc assert_place {} {
    set frame [info frame -2]
    if {[dict exists $frame cmd]} {
        return " (in: [string range [string trim [dict get $frame cmd]] 0 160])"
    }
    return ""
}

proc assert {condition {detail ""}} {
    if {![uplevel 1 [list expr $condition]]} {
        set values [uplevel 1 [list subst -nocommands $condition]]
        if {$values ne $condition} {
            set values [string trim [string range $values 0 $::assert_shown_max]]
            append detail " (with values: $values)"
        }
        fail "expected [string trim $condition] to hold $detail"
    }
}

proc assert_equal {expected value {detail ""}} {
    if {$expected ne $value} {
        fail "expected [assert_shown $expected] but got [assert_shown $value] $detail[assert_place]"
    }
}

proc assert_not_equal {unwanted value {detail ""}} {
    if {$unwanted eq $value} {
        fail "expected anything but [assert_shown $value] $detail[assert_place]"
    }
}

# Glob pattern.
proc assert_match {pattern value {detail ""}} {
    if {![string match $pattern $value]} {
        fail "expected [assert_shown $value] to match [assert_shown $pattern] $detail[assert_place]"
    }
}

proc assert_no_match {pattern value {detail ""}} {
    if {[string match $pattern $value]} {
        fail "expected [assert_shown $value] not to match\
            [assert_shown $pattern] $detail[assert_place]"
    }
}

# The code must end in an error whose text matches the glob pattern.
proc assert_error {pattern code {detail ""}} {
    if {![catch {uplevel 1 $code} message options]} {
        fail "expected an error like [assert_shown $pattern] but got\
            [assert_shown $message] $detail[assert_place]"
    }
    if {[dict get $options -errorcode] eq "ASSERTION"} {
        return -options $options $message
    }
    if {![string match $pattern $message]} {
        fail "expected an error like [assert_shown $pattern] but it was\
            [assert_shown $message] $detail[assert_place]"
    }
}

# The code must end in an error of exactly this text.
proc assert_error_text {text code {detail ""}} {
    if {![catch {uplevel 1 $code} message]} {
        fail "expected the error [assert_shown $text] but got\
            [assert_shown $message] $detail[assert_place]"
    }
    if {$message ne $text} {
        fail "expected the error [assert_shown $text] but it was\
            [assert_shown $message] $detail[assert_place]"
    }
}

proc assert_lessthan {value limit {detail ""}} {
    if {!($value < $limit)} {
        fail "expected $value to be less than $limit $detail[assert_place]"
    }
}

proc assert_lessthan_equal {value limit {detail ""}} {
    if {!($value <= $limit)} {
        fail "expected $value to be at most $limit $detail[assert_place]"
    }
}

proc assert_morethan {value limit {detail ""}} {
    if {!($value > $limit)} {
        fail "expected $value to be more than $limit $detail[assert_place]"
    }
}

proc assert_morethan_equal {value limit {detail ""}} {
    if {!($value >= $limit)} {
        fail "expected $value to be at least $limit $detail[assert_place]"
    }
}

proc assert_range {value low high {detail ""}} {
    if {!($value >= $low && $value <= $high)} {
        fail "expected $value to be within $low and $high $detail[assert_place]"
    }
}

proc assert_type {type key} {
    assert_equal $type [r type $key] "(type of $key)"
}

# The key must have the encoding that OBJECT ENCODING says.
proc assert_encoding {encoding key} {
    assert_equal $encoding [r object encoding $key] "(encoding of $key)"
}

# The machine may be busy. A condition that does not hold after so long is taken as never true.
set ::patience_ms 120000

# Tries the condition at least `tries` times, `delay` milliseconds apart, and for ::patience_ms;
# evaluates `body` when it never held. The fourth word is "else".
proc wait_for_condition {tries delay condition else body} {
    set until [expr {[clock milliseconds] + $::patience_ms}]
    for {set i 0} {$i < $tries || [clock milliseconds] < $until} {incr i} {
        if {[uplevel 1 [list expr $condition]]} {
            return
        }
        after $delay
    }
    uplevel 1 $body
}
