# SPDX-License-Identifier: BSD-3-Clause The server over a system that fails
# (tests/c/server/faulty.c). A file says which calls fail.

# From now on these lines say which calls fail; without lines none fails.
proc faults {rules_file args} {
    write_whole $rules_file.new [join [concat $args {{}}] \n]
    file rename -force $rules_file.new $rules_file
}

# A server that begins without faults. The variable is set only for it.
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
