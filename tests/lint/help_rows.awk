# SPDX-License-Identifier: BSD-3-Clause
# The rows of src/cli/cli_summaries.h from the page of `redis-server --describe-commands`:
# name, group and what each command does, so that redis-cli says what the server's rows say.
BEGIN {
    FS = " [|] "
    split("string list set hash sortedset stream geo hyperloglog bitmap pubsub transaction " \
          "scripting connection keyspace", order, " ")
    print "/* SPDX-License-Identifier: BSD-3-Clause"
    print " * What each command does. Made from the server's rows by `make generated`; not written by hand."
    print " */"
    print "#ifndef EVENKEEL_CLI_CLI_SUMMARIES_H"
    print "#define EVENKEEL_CLI_CLI_SUMMARIES_H"
    print ""
    print "struct cli_summary {"
    print "    const char *name, *group, *text;"
    print "};"
    print ""
    print "/* clang-format off */"
    print "static const struct cli_summary cli_summaries[] = {"
}
/^[|] `/ {
    name = $1
    gsub(/[|` ]/, "", name)
    group = "server"
    if ($5 !~ /@admin/)
        for (i = 1; i in order; i++)
            if ($5 ~ "@" order[i] "( |$)") {
                group = order[i]
                break
            }
    text = $6
    for (i = 7; i <= NF; i++) text = text " | " $i
    sub(/ [|]$/, "", text)
    gsub(/\\[|]/, "|", text)
    gsub(/["\\]/, "\\\\&", text)
    gsub(/`/, "", text)
    row = "    {\"" name "\", \"" group "\","
    if (length(row text) + 5 <= 100) {
        print row " \"" text "\"},"
        next
    }
    print row
    # A long text goes on in the next lines.
    while (length(text) > 84) {
        cut = 84
        while (cut > 1 && substr(text, cut, 1) != " ") cut--
        print "     \"" substr(text, 1, cut) "\""
        text = substr(text, cut + 1)
    }
    print "     \"" text "\"},"
}
END {
    print "};"
    print "/* clang-format on */"
    print "#endif"
}
