# SPDX-License-Identifier: BSD-3-Clause
# The server over a system that fails (tests/c/server/faulty.c), which reads what shall fail from a
# file.

# From now on these lines say what fails, none of them nothing.
proc faults {rules_file args} {
    write_whole $rules_file.new [join [concat $args {{}}] \n]
    file rename -force $rules_file.new $rules_file
}

# A server that begins without faults. The variable is for it alone.
proc with_faulty_server {faulty rules_file settings body} {
    set before $::options(server)
    faults $rules_file
    set ::options(server) $faulty
    set ::env(EVENKEEL_FAULTS) $rules_file
    set code [catch {uplevel 1 [list start_server $settings $body]} result options]
    unset ::env(EVENKEEL_FAULTS)
    set ::options(server) $before
    return -options $options -code $code $result
}
