# SPDX-License-Identifier: BSD-3-Clause
# ACL: users, their rules in every form, what they may run, who is disconnected, files, the log.

set ::noperm_keys {NOPERM this user has no permissions to access one of the keys used as arguments}
set ::noperm_channels {NOPERM this user has no permissions to access one of the channels used as\
    arguments}

proc noperm {command} {
    return "NOPERM this user has no permissions to run the '$command' command or its subcommand"
}

# A user made anew by rules; the reply is its line in ACL LIST behind "user <name> ".
proc user {name args} {
    r acl deluser $name
    r acl setuser $name {*}$args
    return [rules_of $name]
}

proc rules_of {name} {
    foreach line [r acl list] {
        if {[string match "user $name *" $line]} {
            return [string range $line [string length "user $name "] end]
        }
    }
    fail "no user $name"
}

# A client that is the user.
proc client_of {name {password x}} {
    set client [redis_client]
    $client auth $name $password
    return $client
}

# 1 where the connection goes on: nothing but a reply to PING comes of it.
proc is_open {client} {
    return [expr {![catch {$client ping} text] || [string match NOPERM* $text]}]
}

# A map, as a dict, in both protocols.
proc getuser {name} {
    return [r acl getuser $name]
}

start_server {tags {acl}} {
    test {At first there is one user who may do everything} {
        assert_equal {{user default on nopass ~* &* +@all}} [r acl list]
        assert_equal default [r acl users]
        assert_equal default [r acl whoami]
        assert_equal {flags {on allkeys allchannels allcommands nopass} passwords {} commands +@all\
            keys * channels *} [getuser default]
    }

    test {A new user may do nothing} {
        assert_equal {off &* -@all} [user u]
        assert_equal {flags {off allchannels} passwords {} commands -@all keys {} channels *} \
            [getuser u]
        assert_equal {} [r acl getuser nosuch]
    }

    test {ACL GETUSER: types} {
        user u on >p ~a
        set client [raw_client]
        $client hello 3
        $client raw_reply
        $client acl getuser u
        assert_match "%5\r\n\$5\r\nflags\r\n~2\r\n\$2\r\non\r\n*\$9\r\npasswords\r\n\\*1\r\n\$64*" \
            [$client raw_reply]
        $client hello 2
        $client raw_reply
        $client acl getuser u
        assert_match "\\*10\r\n\$5\r\nflags\r\n\\*2\r\n*" [$client raw_reply]
        $client close
    }

    foreach {rules expected} {
        {on}                                {on &* -@all}
        {ON OFF}                            {off &* -@all}
        {nopass}                            {off nopass &* -@all}
        {>p}                                {off #P &* -@all}
        {>p >p}                             {off #P &* -@all}
        {>p nopass}                         {off nopass &* -@all}
        {nopass >p}                         {off #P &* -@all}
        {>q >p <q}                          {off #P &* -@all}
        {#P}                                {off #P &* -@all}
        {>p !P}                             {off &* -@all}
        {>p resetpass}                      {off &* -@all}
        {~a ~b ~a}                          {off ~a ~b &* -@all}
        {~}                                 {off ~ &* -@all}
        {~a allkeys}                        {off ~* &* -@all}
        {~* ~*}                             {off ~* &* -@all}
        {~* resetkeys ~a}                   {off ~a &* -@all}
        {resetchannels}                     {off resetchannels -@all}
        {resetchannels &a &b &a}            {off resetchannels &a &b -@all}
        {resetchannels &a allchannels}      {off &* -@all}
        {+get}                              {off &* -@all +get}
        {+GET -Get}                         {off &* -@all}
        {allcommands}                       {off &* +@all}
        {+@all nocommands}                  {off &* -@all}
        {+@ALL -@All}                       {off &* -@all}
        {+config|get}                       {off &* -@all +config|get}
        {+config|GET +config|get +config|x} {off &* -@all +config|GET +config|x}
        {+config|get +config}               {off &* -@all +config}
        {+config +config|get}               {off &* -@all +config}
        {+config|get -config}               {off &* -@all}
        {+config|get +@admin -@admin}       {off &* -@all}
        {+config|get|x}                     {off &* -@all +config|get|x}
        {+@all -config +config|get}         {off &* +@all -config +config|get}
        {+@all +config|get}                 {off &* +@all}
        {+@hash -hget}                      {off &* -@all +@hash -hget}
        {+@all -@hash}                      {off &* +@all -@hash}
        {skip-sanitize-payload}             {off skip-sanitize-payload &* -@all}
        {sanitize-payload}                  {off sanitize-payload &* -@all}
        {on >p ~a +get reset}               {off sanitize-payload &* -@all}
        {{}}                                {off &* -@all}
    } {
        test "Rules: $rules" {
            set digest 148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940
            set given [lmap rule $rules {
                expr {$rule in {#P !P} ? "[string index $rule 0]$digest" : $rule}
            }]
            assert_equal [string map "P $digest" $expected] [user u {*}$given]
        }
    }

    test {What is printed of a user makes the same user} {
        foreach rules {
            {on >p ~a ~b resetchannels &c +@all -@hash +hget -get +config|get}
            {+@string +@hash -set -hset +@list +ping}
            {nopass allkeys +@all -@write -@admin +acl|whoami skip-sanitize-payload}
        } {
            set printed [user u {*}$rules]
            assert_equal $printed [user v {*}$printed]
        }
    }

    test {Whether a user has all commands, and prints as if} {
        user u +@all
        assert_equal {off allchannels allcommands} [dict get [getuser u] flags]
        assert_equal {off &* +@all} [user u +@all -get +get]
        assert_equal {off allchannels} [dict get [getuser u] flags]
    }

    test {Rules may name each command of 6.2, with a subcommand or without} {
        foreach rule {+cluster -cluster +cluster|info +MODULE|list -replicaof +slaveof +failover
            +asking +readonly -readwrite} {
            assert_equal OK [r acl setuser u $rule] $rule
        }
        assert_error_text {ERR Error in ACL SETUSER modifier '+cluster|': Syntax error} {
            r acl setuser u +cluster|
        }
        assert_error {*'-cluster|info': Unknown command or category name in ACL} {
            r acl setuser u -cluster|info
        }
        r acl deluser u
    }

    foreach {rule reason} {
        bogus          {Syntax error}
        %R~x           {Syntax error}
        (+get)         {Syntax error}
        +config|       {Syntax error}
        {~a b}         {Syntax error}
        +bogus         {Unknown command or category name in ACL}
        +              {Unknown command or category name in ACL}
        +@bogus        {Unknown command or category name in ACL}
        +@             {Unknown command or category name in ACL}
        +quit          {Unknown command or category name in ACL}
        -config|get    {Unknown command or category name in ACL}
        +bogus|x       {Unknown command or category name in ACL}
        <nosuch        {The password you are trying to remove from the user does not exist}
        #bad           {The password hash must be exactly 64 characters and contain only lowercase\
                           hexadecimal characters}
        !bad           {The password hash must be exactly 64 characters and contain only lowercase\
                           hexadecimal characters}
        &x             {Adding a pattern after the * pattern (or the 'allchannels' flag) is not\
                           valid and does not have any effect. Try 'resetchannels' to start with an\
                           empty list of channels}
        ~x             {Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid\
                           and does not have any effect. Try 'resetkeys' to start with an empty\
                           list of patterns}
    } {
        test "A rule that is at fault: $rule" {
            set before [user u {*}[expr {$rule eq "~x" ? "allkeys" : "~a"}]]
            assert_error_text "ERR Error in ACL SETUSER modifier '$rule': $reason" {
                r acl setuser u on +get $rule ~z
            }
            assert_equal $before [rules_of u] "nothing has changed"
        }
    }

    test {A rule with a NUL byte is at fault} {
        user u
        assert_error_text {ERR Error in ACL SETUSER modifier '~a': Syntax error} {
            r acl setuser u "~a\0b"
        }
    }

    test {A subcommand with a blank is refused: it would not survive a file} {
        user u
        foreach rule [list "+config|a b" "+config|a\nb" "+config|a\0"] {
            assert_error {*: Syntax error} {r acl setuser u $rule}
        }
    } {} {ours}

    test {Names of users} {
        foreach name [list "a b" "a\0" "a\n" "a\t"] {
            assert_error_text {ERR Usernames can't contain spaces or null characters} {
                r acl setuser $name on
            }
        }
        r acl setuser {x"y} on
        r acl setuser {} on
        assert_equal [list {} default u v "x\"y"] [r acl users]
        assert_equal 2 [r acl deluser {x"y} {} nosuch]
        assert_error_text {ERR The 'default' user cannot be removed} {r acl deluser u default}
        assert_equal 2 [r acl deluser u v]
        assert_equal default [r acl users]
    }

    test {acl-pubsub-default is for users to come} {
        with_config {acl-pubsub-default resetchannels} {
            assert_equal {off resetchannels -@all} [user u]
            assert_equal {off &a -@all} [string map {resetchannels\  {}} [user u &a]]
            assert_equal {off sanitize-payload resetchannels -@all} [user u allchannels reset]
        }
        assert_equal {off sanitize-payload resetchannels -@all} [rules_of u]
        assert_equal {off &* -@all} [user v]
        r acl deluser u v
    }

    test {Forms that are wrong} {
        foreach words {
            {acl nosuch} {acl getuser} {acl deluser} {acl setuser} {acl list x} {acl users x}
            {acl whoami x} {acl cat a b} {acl genpass 1 2} {acl log 1 2} {acl log reset x}
            {acl help x}
        } {
            set sub [lindex $words 1]
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for '$sub'. Try\
                ACL HELP." {r {*}$words} $words
        }
        assert_error_text "ERR wrong number of arguments for 'acl' command" {r acl}
    }

    test {ACL HELP} {
        assert_match {ACL <subcommand> *} [lindex [r acl help] 0]
    }

    # ---- categories and passwords ----

    test {ACL CAT} {
        assert_equal {keyspace read write set sortedset list hash string bitmap hyperloglog geo\
            stream pubsub admin fast slow blocking dangerous connection transaction scripting} \
            [r acl cat]
        assert_error_text {ERR Unknown category 'all'} {r acl cat all}
        assert_equal {hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset\
            hrandfield hscan hset hsetnx hstrlen hvals} [lsort [r acl cat HASH]]
        assert_equal [lsort [r acl cat admin]] [lsort [r acl cat Admin]]
        assert_equal 0 [expr {"quit" in [r acl cat connection]}]
        assert_equal {0 1} [list [expr {"role" in [r acl cat admin]}] \
            [expr {"role" in [r acl cat dangerous]}]]
    }

    test {Categories of a command are those of COMMAND INFO} {
        set of {}
        foreach category [r acl cat] {
            foreach command [r acl cat $category] {
                dict lappend of $command @$category
            }
        }
        foreach info [r command] {
            set name [lindex $info 0]
            assert_equal [lsort [dict get $of $name]] [lsort [lindex $info 6]] $name
        }
    }

    test {ACL GENPASS} {
        assert_match {[0-9a-f]*} [r acl genpass]
        foreach {bits digits} {1 1 4 1 5 2 8 2 256 64 4096 1024} {
            set password [r acl genpass $bits]
            assert_equal $digits [string length $password] $bits
            assert_equal 1 [regexp {^[0-9a-f]+$} $password]
        }
        assert_equal 64 [string length [r acl genpass]]
        assert_not_equal [r acl genpass] [r acl genpass]
        foreach bits {0 -1 4097} {
            assert_error_text {ERR ACL GENPASS argument must be the number of bits for the output\
                password, a positive number up to 4096} {r acl genpass $bits}
        }
        assert_error_text {ERR value is not an integer or out of range} {r acl genpass x}
    }

    # ---- who one is ----

    test {AUTH as a user} {
        user u on >p >q ~* +@all
        set client [redis_client]
        foreach password {p q} {
            assert_equal OK [$client auth u $password]
            assert_equal u [$client acl whoami]
        }
        foreach {name password} {u x u {} nosuch p default\0 x} {
            assert_error_text {WRONGPASS invalid username-password pair or user is disabled.} {
                $client auth $name $password
            }
            assert_equal u [$client acl whoami]
        }
        assert_equal OK [$client auth default anything]
        assert_equal default [$client acl whoami]
        r acl setuser u off
        assert_error_text {WRONGPASS invalid username-password pair or user is disabled.} {
            $client auth u p
        }
        $client close
    }

    test {A user that is switched off stays connected} {
        user u on nopass +@all
        set client [client_of u]
        r acl setuser u off
        assert_equal u [$client acl whoami]
        $client close
    }

    test {HELLO AUTH} {
        user u on >p +acl
        set client [raw_client]
        $client deferred no
        assert_equal server [lindex [$client hello 2 auth u p] 0]
        assert_equal u [$client acl whoami]
        assert_error_text {WRONGPASS invalid username-password pair or user is disabled.} {
            $client hello 3 auth u x
        }
        assert_error_text [noperm ping] {$client ping}
        assert_equal RESET [$client auth default x; $client reset]
        assert_equal default [$client acl whoami]
        $client close
    }

    test {AUTH, HELLO and QUIT are for everybody, RESET is not} {
        user u on nopass
        set client [client_of u]
        $client hello
        assert_error_text [noperm reset] {$client reset}
        assert_equal OK [$client auth u y]
        assert_equal OK [$client quit]
        $client close
    }

    test {CLIENT LIST and KILL know users} {
        user u on nopass +@all
        user v on nopass
        set clients [list [client_of u] [client_of u] [client_of v]]
        assert_match "* user=u *" [[lindex $clients 0] client info]
        assert_equal 3 [regexp -all { user=[uv] } [r client list]]
        assert_error_text {ERR No such user 'nosuch'} {r client kill user nosuch}
        assert_equal 2 [r client kill user u]
        assert_equal {0 0 1} [lmap client $clients {is_open $client}]
        foreach client $clients {
            $client close
        }
    }

    # ---- what one may run ----

    test {Commands} {
        user u on nopass ~* +@all -set +config|get -config +config|get
        set client [client_of u]
        assert_equal {} [$client get x]
        assert_error_text [noperm set] {$client SET x y}
        assert_error_text [noperm config] {$client config set a b}
        assert_error_text [noperm config] {$client config resetstat}
        assert_equal {} [$client config get nosuch]
        assert_equal {} [$client CONFIG Get nosuch]
        assert_error_text {ERR wrong number of arguments for 'set' command} {$client set}
        assert_error {ERR unknown command `nosuch`*} {$client nosuch}
        $client close
    }

    test {Rules count at once} {
        user u on nopass ~* +get
        set client [client_of u]
        assert_equal {} [$client get x]
        r acl setuser u -get
        assert_error_text [noperm get] {$client get x}
        r acl setuser u +get resetkeys
        assert_error_text $::noperm_keys {$client get x}
        r acl setuser u +@all allkeys
        assert_equal OK [$client set x y]
        assert_equal 1 [$client del x]
        $client close
    }

    test {Keys} {
        user u on nopass +@all ~k* ~z ~?q
        set client [client_of u]
        foreach words {
            {get x} {mget k1 z x} {mset k1 1 x 2} {sort k1 store x} {rename k1 x}
            {object encoding x} {zunionstore x 1 k1} {xread streams x 0} {bitop and x k1}
            {watch x} {get zz} {get xxq} {blpop k1 x 0}
        } {
            assert_error_text $::noperm_keys {$client {*}$words} $words
        }
        foreach words {
            {get k} {get z} {get xq} {mget k1 k2 z} {object help} {dbsize} {zunionstore k 1 k1}
            {sort k1 by w_* get v_* store k2} {exists kk}
        } {
            $client {*}$words
        }
        $client close
    }

    test {Keys, where the arguments are at fault: the command says so} {
        user u on nopass +@all ~k
        set client [client_of u]
        assert_error {ERR*} {$client zunionstore k 5 x}
        assert_error {ERR syntax error} {$client xread x y z}
        $client close
    }

    test {Channels} {
        user u on nopass +@all resetchannels &ch:* &one
        set client [client_of u]
        assert_equal 0 [$client publish ch:x m]
        assert_equal 0 [$client publish one m]
        assert_equal 0 [$client publish ch:* m]
        foreach words {
            {publish two m} {subscribe ch:x two} {psubscribe *} {psubscribe ch:x} {psubscribe ch:}
        } {
            assert_error_text $::noperm_channels {$client {*}$words} $words
        }
        assert_equal {subscribe ch:x 1} [$client subscribe ch:x]
        assert_equal {psubscribe ch:* 2} [$client psubscribe ch:*]
        $client close
    } {} {needs:pubsub resp2}

    test {MULTI: what is refused spoils the transaction} {
        user u on nopass +@all -set ~k
        set client [client_of u]
        $client multi
        assert_error_text [noperm set] {$client set k v}
        assert_error_text $::noperm_keys {$client get x}
        assert_error_text {EXECABORT Transaction discarded because of previous errors.} {
            $client exec
        }
        $client close
    } {} {needs:multi}

    test {EXEC: rules may have changed since} {
        user u on nopass +@all ~* allchannels
        set client [client_of u]
        $client multi
        foreach words {{get x} {set y 1} {publish c m} {echo still}} {
            assert_equal QUEUED [$client {*}$words]
        }
        r acl setuser u -get resetkeys resetchannels
        $client deferred yes
        $client exec
        set text [$client raw_reply]
        set why "-NOPERM ACLs rules changed between the moment the transaction was accumulated and\
            the EXEC call. This command is no longer allowed for the following reason:"
        assert_equal "*4\r\n$why no permission to execute the command or subcommand\r\n$why no\
            permission to touch the specified keys\r\n$why no permission to access one of the\
            channels used as arguments\r\n\$5\r\nstill\r\n" $text
        $client close
    } {} {needs:multi}

    test {EXEC itself may be refused} {
        user u on nopass +@all -exec
        set client [client_of u]
        $client multi
        assert_error_text "EXECABORT Transaction discarded because of: [noperm exec]" {
            $client exec
        }
        assert_error_text {ERR DISCARD without MULTI} {$client discard}
        $client close
    } {} {needs:multi}

    test {A denied command counts as rejected} {
        user u on nopass
        set client [client_of u]
        r config resetstat
        assert_error {NOPERM this user has no permissions to run the 'ping' command*} {$client ping}
        assert_equal 1 [command_stat ping rejected_calls]
        assert_equal 1 [error_stat NOPERM]
        $client close
    }

    # ---- who is disconnected ----

    test {DELUSER disconnects the user's clients} {
        user u on nopass +@all
        user v on nopass +@all
        set clients [list [client_of u] [client_of u] [client_of v]]
        assert_equal 1 [r acl deluser u]
        assert_equal {0 0 1} [lmap client $clients {is_open $client}]
        foreach client $clients {
            $client close
        }
    }

    test {A client that deletes its own user gets the reply first} {
        user u on nopass +@all
        set client [redis_deferring_client]
        $client write [client::encode {auth u x}][client::encode {acl deluser u}]
        $client write [client::encode {ping}]
        assert_equal "+OK\r\n:1\r\n" [$client raw_rest]
        $client close
    }

    foreach {rules subscribe change open} {
        allchannels              {subscribe x}   {resetchannels &x}    1
        allchannels              {subscribe x}   {resetchannels &?}    1
        allchannels              {subscribe x}   {resetchannels &y}    0
        allchannels              {psubscribe x*} {resetchannels &x*}   1
        allchannels              {psubscribe x*} {resetchannels &*x*}  0
        allchannels              {psubscribe x*} {resetchannels &x}    0
        {resetchannels &a &b}    {subscribe a}   &c                    1
        {resetchannels &a &b}    {subscribe a}   off                   1
        {resetchannels &a &b}    {subscribe a}   allchannels           1
        {resetchannels &a &b}    {subscribe a}   reset                 1
        {resetchannels &a &b}    {subscribe a}   {resetchannels &b}    0
        {resetchannels &a &b}    {subscribe b}   {resetchannels &b}    1
    } {
        test "A subscriber of {$subscribe} when $rules becomes $change" {
            user u on nopass +@all {*}$rules
            set client [client_of u]
            $client deferred yes
            $client {*}$subscribe
            $client read
            assert_equal 1 [regexp { user=u } [r client list]]
            r acl setuser u {*}$change
            if {$open} {
                assert_equal 1 [regexp { user=u } [r client list]]
            } else {
                assert_equal 1 [$client closed]
                assert_equal 0 [regexp { user=u } [r client list]]
            }
            $client close
        } {} {needs:pubsub resp2}
    }

    test {A client that takes its own channels away gets the reply first} {
        user u on nopass +@all
        set client [raw_client]
        $client write [client::encode {hello 3 auth u x}]
        $client raw_reply
        $client write [client::encode {subscribe x}]
        $client raw_reply
        $client write [client::encode {acl setuser u resetchannels}]
        assert_equal "+OK\r\n" [$client raw_rest]
        $client close
    } {} {needs:pubsub ours}

    # ---- the default user ----

    test {requirepass is the default user's password} {
        assert_equal OK [r config set requirepass one]
        assert_match {on *#7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed ~* &*\
            +@all} [rules_of default]
        set client [raw_client]
        $client deferred no
        assert_error_text {NOAUTH Authentication required.} {$client ping}
        assert_error_text {NOAUTH Authentication required.} {$client reset}
        assert_equal OK [$client auth one]
        r acl setuser default >two
        assert_equal one [config_get requirepass]
        assert_equal OK [$client auth two]
        assert_equal OK [$client auth default one]
        r config set requirepass {}
        assert_match {on nopass *} [rules_of default]
        assert_error {ERR AUTH <password> called without any password configured for the default\
            user.*} {$client auth one}
        $client close
    }

    test {Who has not authenticated is let in while no password is needed} {
        r acl setuser default >p
        set client [raw_client]
        $client deferred no
        assert_error_text {NOAUTH Authentication required.} {$client ping}
        r acl setuser default nopass
        assert_equal PONG [$client ping]
        assert_error {NOAUTH HELLO must be called with the client already authenticated*} {
            $client hello
        }
        r acl setuser default >p
        assert_error_text {NOAUTH Authentication required.} {$client ping}
        r acl setuser default nopass
        $client close
    }

    test {HELLO names nobody who has not authenticated, but then it does} {
        r acl setuser default >p
        set client [raw_client]
        $client deferred no
        proc listed_names {} {
            set names {}
            foreach line [split [string trim [r client list]] "\n"] {
                regexp { name=(\S*) } $line -> name
                lappend names $name
            }
            return [lsort $names]
        }
        assert_error_text {NOAUTH Authentication required.} {$client client setname a}
        assert_error {NOAUTH HELLO must*} {$client hello 2 setname early}
        assert_error {ERR Client names cannot*} {$client hello 2 setname {a b}}
        assert_error {WRONGPASS*} {$client hello 2 setname early auth default wrong}
        assert_equal {{} {}} [listed_names]
        assert_error {ERR Syntax error in HELLO option 'x'} {
            $client hello 2 setname early auth default p x
        }
        assert_equal early [$client client getname]
        $client hello 2 setname late
        assert_equal late [$client client getname]
        $client close
        r acl setuser default nopass
    }

    test {The default user, switched off, lets in only who authenticates as another} {
        user u on nopass +@all
        r acl setuser default off
        assert_equal PONG [r ping] "who is in stays in"
        set client [raw_client]
        $client deferred no
        assert_error_text {NOAUTH Authentication required.} {$client ping}
        assert_error_text {WRONGPASS invalid username-password pair or user is disabled.} {
            $client auth default x
        }
        assert_equal OK [$client auth u x]
        assert_equal RESET [$client reset]
        assert_error_text {NOAUTH Authentication required.} {$client ping}
        r acl setuser default on
        $client close
    }

    test {The default user may be limited, new clients included} {
        set admin [client_of u]
        $admin acl setuser default -get
        assert_error_text [noperm get] {r get x}
        set client [redis_client]
        assert_error_text [noperm get] {$client get x}
        $admin acl setuser default +@all
        assert_equal {} [r get x]
        assert_equal {} [$client get x]
        $client close
        $admin close
    }

    test {EXEC after a client has deleted its own user} {
        user u on nopass +@all ~*
        r acl setuser default >p
        set client [raw_client]
        foreach words {{auth u x} multi {acl deluser u} {set k v} exec} {
            $client write [client::encode $words]
        }
        $client raw_rest
        r acl setuser default nopass
        assert_equal {} [r get k]
        $client close
    } {} {needs:multi ours}

    # ---- the log ----

    test {ACL LOG: reasons, the newest first} {
        r acl log reset
        user u on nopass +@all -set ~k resetchannels
        set client [client_of u]
        assert_error {NOPERM *run the 'set' command*} {$client SET k v}
        assert_error {NOPERM *one of the keys*} {$client get x}
        assert_error {NOPERM *one of the channels*} {$client publish c m}
        assert_error {WRONGPASS invalid username-password pair*} {$client AUTH nosuch y}
        set id [$client client id]
        set entries [r acl log]
        foreach entry $entries {reason object name} {
            auth AUTH nosuch channel c u key x u command set u
        } {
            assert_equal {count reason context object username age-seconds client-info} \
                [dict keys $entry]
            assert_equal [list 1 $reason toplevel $object $name] \
                [lrange [dict values $entry] 0 4]
            assert_range [dict get $entry age-seconds] 0 60
            assert_match "id=$id addr=* cmd=* user=u *" [dict get $entry client-info]
        }
        $client close
    } {} {needs:pubsub}

    test {ACL LOG: count and RESET} {
        assert_equal 4 [llength [r acl log 10]]
        assert_equal 2 [llength [r acl log 2]]
        assert_equal 0 [llength [r acl log 0]]
        assert_equal 0 [llength [r acl log -1]]
        assert_error_text {ERR value is not an integer or out of range} {r acl log x}
        assert_equal OK [r acl log Reset]
        assert_equal {} [r acl log]
    } {} {needs:pubsub}

    # What was denied, newest first: {object count} for each.
    proc denied {{count 100}} {
        return [lmap entry [r acl log $count] {
            list [dict get $entry object] [dict get $entry count]
        }]
    }

    test {ACL LOG: what is denied again is counted, and comes to the front} {
        r acl log reset
        user u on nopass +@all
        set client [client_of u]
        foreach key {a b a} {
            assert_error {NOPERM *one of the keys*} {$client get $key}
        }
        assert_error {NOPERM *one of the keys*} {$client mget c a}
        assert_error {NOPERM *one of the keys*} {$client set a 1}
        assert_equal {{a 3} {c 1} {b 1}} [denied]
        assert_match {* cmd=set *} [dict get [lindex [r acl log] 0] client-info]
        $client close
    }

    test {ACL LOG: a transaction is another context} {
        set client [client_of u]
        $client multi
        assert_error {NOPERM *one of the keys*} {$client get a}
        $client discard
        set entry [lindex [r acl log] 0]
        assert_equal {1 key multi a} [lrange [dict values $entry] 0 3]
        assert_equal 4 [llength [r acl log]]
        $client close
    } {} {needs:multi}

    test {ACL LOG: only the newest are looked at, ten are shown, a limit is kept} {
        r acl log reset
        set client [client_of u]
        for {set i 0} {$i < 12} {incr i} {
            assert_error {NOPERM *one of the keys*} {$client get k$i}
        }
        assert_error {NOPERM *one of the keys*} {$client get k0}
        assert_equal 13 [llength [denied]]
        assert_equal 10 [llength [r acl log]]
        assert_error {NOPERM *one of the keys*} {$client get k5}
        assert_equal {k5 2} [lindex [denied] 0]
        assert_equal 13 [llength [denied]]
        with_config {acllog-max-len 2} {
            assert_error {NOPERM *one of the keys*} {$client get new}
            assert_equal {{new 1} {k5 2}} [denied]
        }
        with_config {acllog-max-len 0} {
            assert_error {NOPERM *one of the keys*} {$client get newer}
            assert_equal {} [denied]
        }
        $client close
    }

    test {ACL LOG: a long key is cut} {
        set client [client_of u]
        assert_error {NOPERM *one of the keys*} {$client get [string repeat x 100000]}
        assert_match {xxx* (95904 more bytes)} [lindex [denied] 0 0]
        $client close
    } {} {ours}

    # ---- secrets ----

    test {Passwords are no one's to read in SLOWLOG} {
        r slowlog reset
        r config set slowlog-log-slower-than 0
        r acl setuser u >secret
        r acl getuser u
        r auth u secret
        r config set slowlog-log-slower-than -1
        assert_equal {{auth (redacted) (redacted)} {acl getuser u} {acl setuser (redacted)\
            (redacted)}} [lmap entry [lrange [r slowlog get] 0 2] {lindex $entry 3}]
    }

    test {ACL is no command for MONITOR} {
        set monitor [redis_deferring_client]
        $monitor monitor
        $monitor read
        r acl setuser u >secret
        r echo end
        assert_match {*"echo" "end"*} [$monitor read]
        $monitor close
    }

    test {Without a file of users} {
        foreach sub {load save} {
            assert_error {ERR This Redis instance is not configured to use an ACL file.*} {
                r acl $sub
            }
        }
        assert_equal {} [config_get aclfile]
        assert_error {ERR Unsupported CONFIG parameter: aclfile} {r config set aclfile x}
    }

    test {Many users} {
        for {set i 0} {$i < 500} {incr i} {
            r acl setuser many$i on >p$i ~$i:* +@read
        }
        assert_equal [lsort [r acl users]] [r acl users]
        set client [redis_client]
        $client auth many123 p123
        assert_equal {} [$client get 123:x]
        assert_error_text $::noperm_keys {$client get 12:x}
        $client close
        for {set i 0} {$i < 500} {incr i} {
            assert_equal 1 [r acl deluser many$i]
        }
    }
}

# ---- users in the configuration ----

start_server {tags {acl} lines {user ann on >p ~a* +@all
user default on nopass ~* &* +@all
user bob +get
user ann on nopass +get
acl-pubsub-default resetchannels
user "cy" on resetchannels &c}} {
    test {Users of the configuration; the second line of one counts} {
        assert_equal {{user ann on nopass sanitize-payload resetchannels -@all +get} {user bob off\
            resetchannels -@all +get} {user cy on resetchannels &c -@all} {user default on nopass\
            sanitize-payload ~* resetchannels +@all}} [lmap line [r acl list] {
                string map {&* resetchannels} $line
            }]
        wait_for_log {*The user 'bob' is disabled (there is no 'on' modifier in the user\
            description). Make sure this is not a configuration error.*}
    }

    test {CONFIG REWRITE keeps users; after a restart all is as it was} {
        r acl setuser dan on >p allchannels ~x
        r acl setuser {e"e} on {~a"b} {~'}
        r acl deluser bob
        set before [r acl list]
        assert_equal OK [r config rewrite]
        set lines [lsearch -all -inline [split [read_whole [srv 0 config_file]] \n] "user *"]
        assert_equal 5 [llength $lines]
        assert_equal {user ann on nopass sanitize-payload &* -@all +get} \
            [string map {resetchannels &*} [lindex $lines 0]]
    }

    test {After the restart} {
        set before [r acl list]
        reconnect
        restart_server
        assert_equal $before [r acl list]
    } {} {ours}
}

foreach {line reason} {
    {user ann bogus}        {Error in user declaration 'bogus': Syntax error}
    {user ann #x}           {Error in user declaration '#x': The password hash must be exactly 64\
                             characters and contain only lowercase hexadecimal characters}
    {user ann <p}           {Error in user declaration '<p': The password you are trying to remove\
                             from the user does not exist}
    {user ann &x}           {Error in user declaration '&x': Adding a pattern after the * pattern*}
    {user ann +config|}     {Error in user declaration '+config|': Syntax error}
    {user}                  {Bad directive or wrong number of arguments}
} {
    test "A line of the configuration that is at fault: $line" {
        set path [tmpfile redis.conf]
        write_whole $path "port 0\n$line\n"
        set result [run_server_to_end [list $path]]
        assert_equal 1 [dict get $result status]
        assert_match "*at line 2\n>>> 'user*'\n$reason\n" [dict get $result err]
    }
}

foreach {line text} {
    {user ann on +bogus}    {Error loading ACL rule '+bogus' for the user named 'ann': Unknown\
                             command or category name in ACL*Critical error while loading ACLs.\
                             Exiting.}
    {user ann -config|get}  {Error loading ACL rule '-config|get' for the user named 'ann': Unknown\
                             command or category name in ACL*Critical error while loading ACLs.\
                             Exiting.}
    {user "a b" on}         {Spaces not allowed in ACL usernames*Critical error while loading ACLs.\
                             Exiting.}
    {aclfile /no/such/file} {Aborting Redis startup because of ACL errors: Error loading ACLs,\
                             opening file '/no/such/file': No such file or directory}
    "user ann on\naclfile x" {Configuring Redis with users defined in redis.conf and at the same\
                             setting an ACL file path is invalid.*}
} {
    test "The server does not start with: $line" {
        set path [tmpfile redis.conf]
        write_whole $path "port [find_free_port]\nbind 127.0.0.1\n$line\n"
        set result [run_server_to_end [list $path]]
        assert_equal 1 [dict get $result status]
        assert_match "*$text*" [dict get $result out]
    }
}

# ---- the file of users ----

set ::users [tmpfile users.acl]
write_whole $::users "user ann on >p ~a +@all\n\n  user bob on nopass  -@all +acl \r\n"

start_server [list tags {acl} overrides [list aclfile $::users requirepass ignored]] {
    test {Users of the file} {
        assert_equal 3 [llength [r acl list]]
        assert_equal {on nopass &* -@all +acl} [rules_of bob]
        assert_equal {on nopass ~* &* +@all} [rules_of default]
        assert_equal $::users [config_get aclfile]
    }

    test {ACL SAVE writes the users as they are} {
        r acl setuser cy on ~x +@string
        assert_equal OK [r acl save]
        set text [read_whole $::users]
        assert_equal [join [r acl list] \n]\n $text
        r acl deluser cy
        assert_equal OK [r acl load]
        # A line about a user who is there already resets it, and that sets this flag.
        assert_equal [join [r acl list] \n]\n [string map {"default on nopass" \
            "default on nopass sanitize-payload"} $text]
    }

    test {ACL LOAD: faults change nothing, and are all told} {
        set before [r acl list]
        foreach {text errors} {
            "bogus\n" {F:1 should start with user keyword followed by the username. }
            "user x on\nuser\n" {F:2 should start with user keyword followed by the username. }
            "# x\n" {F:1 should start with user keyword followed by the username. }
            "USER x on\n" {F:1 should start with user keyword followed by the username. }
            "user x bogus\n" {F:1: Syntax error. }
            "user  x on\n" {F:1: Syntax error. }
            "\n\nuser x on +foo ~* ~x\nuser\n" {F:3: Unknown command or category name in ACL. F:3:\
                Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does\
                not have any effect. Try 'resetkeys' to start with an empty list of patterns. F:4\
                should start with user keyword followed by the username. }
            "user a\tb on\n" {'F:1: username 'a b' contains invalid characters. }
        } {
            write_whole $::users $text
            catch {r acl load} message
            assert_equal "ERR [string map [list F $::users] $errors]WARNING: ACL errors detected,\
                no change to the previously active ACL rules was performed" \
                [string map {"\t" " "} $message]
            assert_equal $before [r acl list]
        }
        file delete $::users
        assert_error_text "ERR Error loading ACLs, opening file '$::users': No such file or\
            directory" {r acl load}
        assert_equal $before [r acl list]
    }

    test {ACL LOAD disconnects the clients of all users but the default one} {
        write_whole $::users "user ann on nopass +@all\nuser bob on nopass +acl\n"
        r acl load
        set clients [list [client_of ann] [client_of bob]]
        write_whole $::users "user ann on nopass +@all\n"
        assert_equal OK [r acl load]
        assert_equal {0 0} [lmap client $clients {is_open $client}]
        assert_equal PONG [r ping]
        foreach client $clients {
            $client close
        }
        set client [redis_deferring_client]
        $client write [client::encode {auth ann x}][client::encode {acl load}]
        assert_equal "+OK\r\n+OK\r\n" [$client raw_rest]
        $client close
    }

    test {ACL LOAD: without a line about it the default user may do everything} {
        r acl setuser default -get
        write_whole $::users "\n"
        assert_equal OK [r acl load]
        assert_equal {{user default on nopass ~* &* +@all}} [r acl list]
        assert_equal {} [r get x]
    }

    test {CONFIG REWRITE writes no users where they have a file} {
        assert_equal OK [r config rewrite]
        assert_no_match "*\nuser *" [read_whole [srv 0 config_file]]
    }

    test {ACL SAVE that fails leaves the file} {
        file delete $::users
        file mkdir [file join $::users below]
        assert_error {ERR There was an error trying to save the ACLs. Please check the server*} {
            r acl save
        }
        file delete -force $::users
        assert_equal OK [r acl save]
        assert_equal "user default on nopass ~* &* +@all\n" [read_whole $::users]
    }
}
