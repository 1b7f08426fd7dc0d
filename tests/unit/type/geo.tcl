# SPDX-License-Identifier: BSD-3-Clause
# Positions: replies and errors, searches against a model, what is stored.

# Metres between two positions, by the haversine formula.
proc metres {from to} {
    lassign $from from_longitude from_latitude
    lassign $to to_longitude to_latitude
    set degree [expr {acos(-1) / 180}]
    set north [expr {sin(($to_latitude - $from_latitude) * $degree / 2)}]
    set east [expr {sin(($to_longitude - $from_longitude) * $degree / 2)}]
    set chord [expr {$north * $north + cos($from_latitude * $degree) *
        cos($to_latitude * $degree) * $east * $east}]
    return [expr {2 * 6372797.560856 * asin(sqrt($chord))}]
}

# 1 within, 0 outside, -1 so near to the border that rounding decides.
proc model_contains {shape centre position} {
    lassign $shape kind a b
    if {$kind eq "byradius"} {
        set shares [list [expr {[metres $centre $position] / $a}]]
    } else {
        lassign $centre longitude latitude
        set shares [list \
            [expr {[metres $position [list $longitude [lindex $position 1]]] / ($a / 2)}] \
            [expr {[metres $position [list [lindex $position 0] $latitude]] / ($b / 2)}]]
    }
    set share [tcl::mathfunc::max {*}$shares]
    return [expr {abs($share - 1) < 1e-9 ? -1 : $share < 1}]
}

proc random_position {{span 360}} {
    return [list [expr {(rand() - 0.5) * $span}] [expr {(rand() - 0.5) * $span * 0.38}]]
}

# A sorted set of so many positions; returns the dictionary of what GEOPOS says of them.
proc fill {key count span} {
    set members {}
    r del $key
    for {set i 0} {$i < $count} {incr i} {
        lappend members m$i
        r geoadd $key {*}[random_position $span] m$i
    }
    set positions {}
    foreach member $members position [r geopos $key {*}$members] {
        dict set positions $member $position
    }
    return $positions
}

start_server {tags {geo}} {
    test {GEOADD: replies and errors} {
        assert_conversation {
            GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania  :2
            GEOADD g 13.361389 38.115556 Palermo  :0
            GEOADD g ch 13.361389 38.115556 Palermo  :0
            GEOADD g nx ch 13.3 38.1 Palermo 1 2 new  :1
            GEOADD g xx ch 13.3 38.1 Palermo 1 2 newer  :1
            GEOADD g xx 1 1 newest  :0
            GEOADD g nx 1 1 new  :0
            GEOADD g CH Xx 1 1 new  :1
            GEOADD g ch 1 1 new 1 1 new 2 2 new 3 3 a 4 4 a  :3
            GEOADD g nx xx 1 1 a  -ERR syntax error
            GEOADD g 1 1  -ERR wrong number of arguments for 'geoadd' command
            GEOADD g 1 1 a 1  -ERR syntax error
            GEOADD g ch ch nx  -ERR syntax error
            GEOADD g ch ch nx 1 2  -ERR syntax error
            GEOADD g 200 1 m  -ERR invalid longitude,latitude pair 200.000000,1.000000
            GEOADD g 1 86 m  -ERR invalid longitude,latitude pair 1.000000,86.000000
            GEOADD g -180.0001 1 m  -ERR invalid longitude,latitude pair -180.000100,1.000000
            GEOADD g 180 85.05112878 corner -180 -85.05112878 corner2  :2
            GEOADD g x 1 m  -ERR value is not a valid float
            GEOADD g 1 y m  -ERR value is not a valid float
            GEOADD g nan 1 m  -ERR value is not a valid float
            GEOADD g inf 1 m  -ERR invalid longitude,latitude pair inf,1.000000
            GEOADD g 1 2 fine 200 1 m  -ERR invalid longitude,latitude pair 200.000000,1.000000
            ZSCORE g fine  nil
            GEOADD none xx 1 2 a  :0
            EXISTS none  :0
            GEOADD none 1 2 a x 1 b  -ERR value is not a valid float
            EXISTS none  :0
            SET str x  +OK
            GEOADD str 1 1 m  -WRONGTYPE Operation against a key holding the wrong kind of value
            GEOADD str 1 x m  -ERR value is not a valid float
            ZSCORE g Palermo  "3479076843417631"
            TYPE g  +zset
            EXPIRE g 100  :1
            GEOADD g 5 5 more  :1
            TTL g  :100
        } 2
    }

    test {GEOPOS, GEOHASH, GEODIST: replies and errors} {
        r flushall
        assert_conversation {
            SET str x  +OK
            GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania  :2
            GEOPOS g Palermo none  * {* {"13.36138933897018433"} {"38.11555639549629859"}} nil*
            GEOPOS g Catania  * {* {"15.08726745843887329"} {"37.50266842333162032"}}
            GEOPOS g  *
            GEOPOS none a b  * nil* nil*
            GEOPOS none  *
            GEOPOS str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            GEOHASH g Palermo none Catania  * {"sqc8b49rny0"} nil {"sqdtr74hyu0"}
            GEOHASH g  *
            GEOHASH none a  * nil
            GEOHASH str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            GEODIST g Palermo Catania  "166274.1516"
            GEODIST g Palermo Catania m  "166274.1516"
            GEODIST g Palermo Catania km  "166.2742"
            GEODIST g Palermo Catania mi  "103.3182"
            GEODIST g Palermo Catania ft  "545518.8700"
            GEODIST g Palermo Catania KM  -ERR unsupported unit provided. please use m, km, ft, mi
            GEODIST g Palermo Catania bogus  -ERR unsupported unit provided. please use m, km, ft,\
                mi
            GEODIST g Palermo none  nil
            GEODIST g none Palermo km  nil
            GEODIST none a b  nil
            GEODIST none a b bogus  -ERR unsupported unit provided. please use m, km, ft, mi
            GEODIST g Palermo Catania km x  -ERR syntax error
            GEODIST str a b  -WRONGTYPE Operation against a key holding the wrong kind of value
            GEODIST str a b bogus  -ERR unsupported unit provided. please use m, km, ft, mi
            GEODIST g Palermo Palermo  "0.0000"
            GEODIST g Palermo  -ERR wrong number of arguments for 'geodist' command
            GEOADD h 0 0 zero -0.0 -0.0 zero2 180 85.05112878 ne -180 -85.05112878 sw  :4
            GEOPOS h zero  * {* {"0.00000268220901489"} {"0.00000126736058093"}}
            GEOPOS h zero2  * {* {"0.00000268220901489"} {"0.00000126736058093"}}
            GEOPOS h ne  * {* {"180"} {"85.0511287799999991"}}
            GEOPOS h sw  * {* {"-179.99999731779098511"} {"-85.05112751263942528"}}
            GEOHASH h zero ne sw  * {"s0000000000"} {"bp05b5048p0"} {"00bh0hbj200"}
            GEODIST h ne sw  "18919844.5891"
        } 2
    }

    test {scores that are no cells} {
        r flushall
        assert_conversation {
            ZADD w -5 neg 1e300 big inf inf -inf ninf 0.5 half 1.8446744073709552e19 twop64  :6
            ZADD w 9.3e18 over 4503599627370496 p52 -1e300 nbig  :3
            GEOPOS w neg  * {* {"180"} {"85.0511287799999991"}}
            GEOPOS w big  * {* {"-179.99999731779098511"} {"-85.05112751263942528"}}
            GEOPOS w inf  * {* {"-179.99999731779098511"} {"-85.05112751263942528"}}
            GEOPOS w ninf  * {* {"180"} {"-85.05112751263942528"}}
            GEOPOS w half  * {* {"-179.99999731779098511"} {"-85.05112751263942528"}}
            GEOPOS w twop64  * {* {"-179.99999731779098511"} {"-85.05112751263942528"}}
            GEOPOS w over  * {* {"180"} {"85.0511287799999991"}}
            GEOPOS w p52  * {* {"-179.99999731779098511"} {"85.0511287799999991"}}
            GEOPOS w nbig  * {* {"180"} {"-85.05112751263942528"}}
            GEOHASH w neg big inf ninf half  * {"bp05b5048p0"} {"00bh0hbj200"} {"00bh0hbj200"}\
                {"00bh0hbj200"} {"00bh0hbj200"}
            GEOHASH w twop64 over p52 nbig  * {"00bh0hbj200"} {"bp05b5048p0"} {"bp05b5048p0"}\
                {"00bh0hbj200"}
            GEODIST w neg inf  "18919844.5891"
            GEORADIUS w 0 0 40000 km withhash withdist  * {* {"half"} {"10560.8118"} :0}
            GEORADIUS w -180 -85 40000 km store q  :1
            ZRANGE q 0 -1 withscores  * {"half"} {"0.5"}
            GEORADIUSBYMEMBER w neg 40000 km  *
            GEORADIUSBYMEMBER w over 1 m  *
        } 2
    }

    test {GEORADIUS: replies and errors} {
        r flushall
        assert_conversation {
            SET str x  +OK
            GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 1 2 far  :3
            GEORADIUS g 15 37 200 km  * {"Palermo"} {"Catania"}
            GEORADIUS g 15 37 200 km withdist  * {* {"Palermo"} {"190.4424"}} {* {"Catania"}\
                {"56.4413"}}
            GEORADIUS g 15 37 200 km withhash  * {* {"Palermo"} :3479099956230698} {* {"Catania"}\
                :3479447370796909}
            GEORADIUS g 15 37 100 km withcoord  * {* {"Catania"} {* {"15.08726745843887329"}\
                {"37.50266842333162032"}}}
            GEORADIUS g 15 37 100 km withcoord withhash withdist desc  * {* {"Catania"}\
                {"56.4413"} :3479447370796909 {* {"15.08726745843887329"} {"37.50266842333162032"}}}
            GEORADIUS g 15 37 100 km WITHDIST withdist  * {* {"Catania"} {"56.4413"}}
            GEORADIUS g 15 37 200 km asc  * {"Catania"} {"Palermo"}
            GEORADIUS g 15 37 200 km asc desc  * {"Palermo"} {"Catania"}
            GEORADIUS g 15 37 200 km asc count 1  * {"Catania"}
            GEORADIUS g 15 37 200 km count 1  * {"Catania"}
            GEORADIUS g 15 37 200 km desc count 1  * {"Palermo"}
            GEORADIUS g 15 37 200 km count 1 any  * {"Palermo"}
            GEORADIUS g 15 37 200 km any count 1 asc  * {"Palermo"}
            GEORADIUS g 15 37 200 km count 9223372036854775807  * {"Catania"} {"Palermo"}
            GEORADIUS g 15 37 200 km count 9223372036854775808  -ERR value is not an integer or\
                out of range
            GEORADIUS g 15 37 200 km count 0  -ERR COUNT must be > 0
            GEORADIUS g 15 37 200 km count -1  -ERR COUNT must be > 0
            GEORADIUS g 15 37 200 km count x  -ERR value is not an integer or out of range
            GEORADIUS g 15 37 200 km count  -ERR syntax error
            GEORADIUS g 15 37 200 km any  -ERR the ANY argument requires COUNT argument
            GEORADIUS g 15 37 200 bogus  -ERR unsupported unit provided. please use m, km, ft, mi
            GEORADIUS g 15 37 x km  -ERR need numeric radius
            GEORADIUS g 15 37 -1 km  -ERR radius cannot be negative
            GEORADIUS g 15 370 1 km  -ERR invalid longitude,latitude pair 15.000000,370.000000
            GEORADIUS g a 37 1 km  -ERR value is not a valid float
            GEORADIUS g 15 37 nan km  -ERR need numeric radius
            GEORADIUS g 15 37 inf km  * {"far"} {"Palermo"} {"Catania"}
            GEORADIUS g 15 37 1e300 mi  * {"far"} {"Palermo"} {"Catania"}
            GEORADIUS g 15 37 0 km  *
            GEORADIUS g 15 37 200  -ERR wrong number of arguments for 'georadius' command
            GEORADIUS g 15 37 200 km bybox 1 2 km  -ERR syntax error
            GEORADIUS g 15 37 200 km fromlonlat 1 2  -ERR syntax error
            GEORADIUS none 15 37 1 km  *
            GEORADIUS none 15 37 1 km bogus  -ERR syntax error
            GEORADIUS none 15 x 1 km  -ERR value is not a valid float
            GEORADIUS none 15 37 1 km any  -ERR the ANY argument requires COUNT argument
            GEORADIUS str 15 x 1 km bogus  -WRONGTYPE Operation against a key holding the wrong\
                kind of value
            GEORADIUS_RO g 15 37 200 km store d  -ERR syntax error
            GEORADIUS_RO g 15 37 200 km storedist d  -ERR syntax error
            GEORADIUS_RO g 15 37 200 km withdist  * {* {"Palermo"} {"190.4424"}} {* {"Catania"}\
                {"56.4413"}}
            GEORADIUSBYMEMBER g Catania 200 km  * {"Palermo"} {"Catania"}
            GEORADIUSBYMEMBER g Catania 200 km withdist asc  * {* {"Catania"} {"0.0000"}} {*\
                {"Palermo"} {"166.2742"}}
            GEORADIUSBYMEMBER g none 200 km  -ERR could not decode requested zset member
            GEORADIUSBYMEMBER g none x km  -ERR could not decode requested zset member
            GEORADIUSBYMEMBER g Catania x km  -ERR need numeric radius
            GEORADIUSBYMEMBER g Catania -1 km  -ERR radius cannot be negative
            GEORADIUSBYMEMBER g Catania 1 bogus  -ERR unsupported unit provided. please use m, km,\
                ft, mi
            GEORADIUSBYMEMBER none none 200 km  *
            GEORADIUSBYMEMBER none none x bogus  *
            GEORADIUSBYMEMBER none none x km bogus  -ERR syntax error
            GEORADIUSBYMEMBER none none x km any  -ERR the ANY argument requires COUNT argument
            GEORADIUSBYMEMBER str none x km  -WRONGTYPE Operation against a key holding the wrong\
                kind of value
            GEORADIUSBYMEMBER_RO g Catania 200 km store d  -ERR syntax error
            GEORADIUSBYMEMBER_RO g Catania 200 km withdist asc  * {* {"Catania"} {"0.0000"}} {*\
                {"Palermo"} {"166.2742"}}
        } 2
    }

    test {GEORADIUS: STORE and STOREDIST} {
        r flushall
        set both {-ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and}
        append both { WITHCOORDS options}
        assert_conversation {
            GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 1 2 far  :3
            GEORADIUS g 15 37 200 km store  -ERR syntax error
            GEORADIUS g 15 37 200 km storedist  -ERR syntax error
            SET d string ex 100  +OK
            GEORADIUS g 15 37 200 km store d  :2
            TYPE d  +zset
            TTL d  :-1
            ZRANGE d 0 -1 withscores  * {"Palermo"} {"3479099956230698"} {"Catania"}\
                {"3479447370796909"}
            GEORADIUS g 15 37 200 km storedist d  :2
            ZRANGE d 0 -1 withscores  * {"Catania"} {"56.441257870158204"} {"Palermo"}\
                {"190.44242984775784"}
            GEORADIUS g 15 37 200 mi storedist d store e  :2
            ZRANGE e 0 -1 withscores  * {"Palermo"} {"3479099956230698"} {"Catania"}\
                {"3479447370796909"}
            GEORADIUS g 15 37 200 km storedist d count 1  :1
            ZRANGE d 0 -1 withscores  * {"Catania"} {"56.441257870158204"}
            GEORADIUS g 15 37 1 km store d  :0
            EXISTS d  :0
            GEORADIUS none 15 37 1 km store e  :0
            EXISTS e  :0
            GEORADIUSBYMEMBER g Catania 200 km storedist d  :2
            ZRANGE d 0 -1 withscores  * {"Catania"} {"0"} {"Palermo"} {"166.27415156960032"}
            GEORADIUSBYMEMBER none x y z store d  :0
            EXISTS d  :0
            GEORADIUS g 15 37 200 km store g  :2
            ZRANGE g 0 -1 withscores  * {"Palermo"} {"3479099956230698"} {"Catania"}\
                {"3479447370796909"}
        } 2
        foreach words {{store d withdist} {storedist d withcoord} {withhash store d}} {
            catch {r georadius g 15 37 200 km {*}$words} error
            assert_equal $both "-$error"
            catch {r georadius none 15 37 200 km {*}$words} error
            assert_equal $both "-$error"
        }
    }

    test {GEOSEARCH: replies and errors} {
        r flushall
        assert_conversation {
            SET str x  +OK
            GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 1 2 far  :3
            GEOSEARCH g fromlonlat 15 37 byradius 200 km  * {"Palermo"} {"Catania"}
            GeoSearch g FromLonLat 15 37 ByRadius 200 km Asc WithDist  * {* {"Catania"}\
                {"56.4413"}} {* {"Palermo"} {"190.4424"}}
            GEOSEARCH g byradius 200 km asc fromlonlat 15 37 count 1 withhash  * {* {"Catania"}\
                :3479447370796909}
            GEOSEARCH g fromlonlat 15 37 bybox 400 400 km asc withdist  * {* {"Catania"}\
                {"56.4413"}} {* {"Palermo"} {"190.4424"}}
            GEOSEARCH g frommember Palermo bybox 400 400 km asc withdist  * {* {"Palermo"}\
                {"0.0000"}} {* {"Catania"} {"166.2742"}}
            GEOSEARCH g frommember Palermo bybox 10 1e9 m  * {"Palermo"}
            GEOSEARCH g fromlonlat 15 37 bybox inf inf km  * {"far"} {"Palermo"} {"Catania"}
            GEOSEARCH g fromlonlat 15 37 bybox 0 0 km  *
            GEOSEARCH g frommember Palermo byradius 0 m  * {"Palermo"}
            GEOSEARCH g frommember Palermo bybox 0 0 m  * {"Palermo"}
            GEOSEARCH g frommember Palermo fromlonlat 1 2 bybox 400 400 km  -ERR syntax error
            GEOSEARCH g fromlonlat 1 2 frommember Palermo bybox 400 400 km  -ERR syntax error
            GEOSEARCH g frommember Palermo frommember Catania byradius 1 km  * {"Catania"}
            GEOSEARCH g fromlonlat 1 1 fromlonlat 2 2 bybox 400 400 km  * {"far"}
            GEOSEARCH g fromlonlat 1 1 byradius 1 km byradius 2000 km  * {"far"}
            GEOSEARCH g fromlonlat 1 1 byradius 1 km bybox 1 1 km  -ERR syntax error
            GEOSEARCH g fromlonlat 1 1 bybox 1 1 km byradius 1 km  -ERR syntax error
            GEOSEARCH g fromlonlat 1 1 bybox 1 1 km bybox 800 800 km  * {"far"}
            GEOSEARCH g frommember none byradius 1 km  -ERR could not decode requested zset member
            GEOSEARCH g frommember Palermo asc desc asc  -ERR exactly one of BYRADIUS and BYBOX\
                can be specified for GEOSEARCH
            GEOSEARCH g byradius 1 km asc withdist  -ERR exactly one of FROMMEMBER or FROMLONLAT\
                can be specified for GEOSEARCH
            GEOSEARCH g asc desc asc desc asc  -ERR exactly one of FROMMEMBER or FROMLONLAT can be\
                specified for GEOSEARCH
            GEOSEARCH g fromlonlat 1 2 byradius 1  -ERR syntax error
            GEOSEARCH g fromlonlat 1 2 byradius x km  -ERR need numeric radius
            GEOSEARCH g fromlonlat 1 2 byradius -1 km  -ERR radius cannot be negative
            GEOSEARCH g fromlonlat 1 2 bybox 1 2  -ERR syntax error
            GEOSEARCH g fromlonlat 1 2 bybox x 2 km  -ERR need numeric width
            GEOSEARCH g fromlonlat 1 2 bybox 1 x km  -ERR need numeric height
            GEOSEARCH g fromlonlat 1 2 bybox -1 2 km  -ERR height or width cannot be negative
            GEOSEARCH g fromlonlat 1 2 bybox 1 -2 km  -ERR height or width cannot be negative
            GEOSEARCH g fromlonlat 1 2 bybox 1 2 bogus  -ERR unsupported unit provided. please use\
                m, km, ft, mi
            GEOSEARCH g fromlonlat 1 200 byradius 1 km  -ERR invalid longitude,latitude pair\
                1.000000,200.000000
            GEOSEARCH g fromlonlat 1 2 byradius 1 km store d  -ERR syntax error
            GEOSEARCH g fromlonlat 1 2 byradius 1 km storedist  -ERR syntax error
            GEOSEARCH g fromlonlat 1 2 byradius 1 km any  -ERR the ANY argument requires COUNT\
                argument
            GEOSEARCH g fromlonlat 1 2 byradius 1 km count 0  -ERR COUNT must be > 0
            GEOSEARCH none frommember a byradius 1 km  *
            GEOSEARCH none frommember a fromlonlat 1 2 byradius 1 km  -ERR syntax error
            GEOSEARCH none frommember a byradius x km  -ERR need numeric radius
            GEOSEARCH none asc asc asc asc asc  -ERR exactly one of FROMMEMBER or FROMLONLAT can\
                be specified for GEOSEARCH
            GEOSEARCH str frommember a byradius x km  -WRONGTYPE Operation against a key holding\
                the wrong kind of value
            GEOSEARCHSTORE d g fromlonlat 15 37 byradius 200 km  :2
            ZRANGE d 0 -1 withscores  * {"Palermo"} {"3479099956230698"} {"Catania"}\
                {"3479447370796909"}
            GEOSEARCHSTORE d g storedist fromlonlat 15 37 byradius 200 km asc count 1  :1
            ZRANGE d 0 -1 withscores  * {"Catania"} {"56.441257870158204"}
            GEOSEARCHSTORE d g fromlonlat 15 37 byradius 200 km store e  -ERR syntax error
            GEOSEARCHSTORE d g fromlonlat 15 37 byradius 1 km  :0
            EXISTS d  :0
            GEOSEARCHSTORE str none frommember a byradius 1 km  :0
            EXISTS str  :0
            SET str x  +OK
            GEOSEARCHSTORE d str fromlonlat 15 37 byradius 1 km  -WRONGTYPE Operation against a\
                key holding the wrong kind of value
            GEOSEARCHSTORE str g fromlonlat 15 37 byradius 400 km  :2
            TYPE str  +zset
            GEOSEARCHSTORE d g asc asc asc asc asc asc  -ERR exactly one of FROMMEMBER or\
                FROMLONLAT can be specified for GEOSEARCHSTORE
            GEOSEARCHSTORE d g fromlonlat 1 1 asc desc asc  -ERR exactly one of BYRADIUS and BYBOX\
                can be specified for GEOSEARCHSTORE
            GEOSEARCHSTORE g g fromlonlat 15 37 byradius 400 km  :2
            ZCARD g  :2
        } 2
    }

    test {searches over the edges of the map} {
        r flushall
        assert_conversation {
            GEOADD g 0 0 zero 179.9999 0 e -179.9999 0 w 180 85.05112878 ne -180 -85.05112878 sw  :5
            GEOSEARCH g fromlonlat 179.9999 0 byradius 1 km asc withdist  * {* {"e"} {"0.0002"}}\
                {* {"w"} {"0.0222"}}
            GEOSEARCH g fromlonlat -179.9999 0 byradius 1000 km desc withdist  * {* {"e"}\
                {"0.0222"}} {* {"w"} {"0.0002"}}
            GEORADIUS g 180 0 1000 km asc withdist  * {* {"e"} {"0.0110"}}
            GEORADIUS g 180 85 30000 km withdist  * {* {"zero"} {"10566.4984"}} {* {"e"}\
                {"9454.2354"}}
            GEORADIUS g -180 85 30000 km withdist  * {* {"w"} {"9454.2354"}} {* {"sw"}\
                {"18914.1577"}} {* {"zero"} {"10566.4984"}} {* {"e"} {"9454.2354"}}
            GEORADIUS g 0 85.05112878 3000 km withdist  *
            GEORADIUS g 0 85 10000 km asc withdist  * {* {"zero"} {"9454.2354"}}
            GEOSEARCH g fromlonlat 180 0 bybox 10000 10000 km desc withdist  * {* {"e"} {"0.0110"}}
            GEOSEARCH g fromlonlat 0 0 bybox 1e300 1e300 mi desc withdist  * {* {"e"}\
                {"12440.3314"}} {* {"w"} {"12440.3314"}} {* {"sw"} {"6562.2005"}} {* {"zero"}\
                {"0.0002"}}
            GEOSEARCH g fromlonlat 0 85 bybox 4000 400000 km  * {"zero"} {"sw"}
            GEOSEARCH g fromlonlat -180 -85 bybox 50000 400 km withhash  * {* {"sw"} :0}
        } 2
    }

    test {positions: RESP3} {
        r flushall
        assert_conversation {
            GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania  :2
            GEOPOS g Palermo  * {* ,13.36138933897018433 ,38.11555639549629859}
            GEOPOS g none  * null
            GEODIST g Palermo Catania km  "166.2742"
            GEODIST g none Catania  null
            GEOHASH g none Palermo  * null {"sqc8b49rny0"}
            GEOPOS none a  * null
            GEORADIUS g 15 37 100 km WITHDIST  * {* {"Catania"} {"56.4413"}}
            GEORADIUS g 15 37 100 km WITHHASH  * {* {"Catania"} :3479447370796909}
            GEOSEARCH none FROMMEMBER a BYRADIUS 1 m  *
        } 3
    }

    test {positions: where the keys stand} {
        assert_conversation {
            COMMAND getkeys georadius k 1 2 3 m  * {"k"}
            COMMAND getkeys georadius k 1 2 3 m store a  * {"k"} {"a"}
            COMMAND getkeys georadius k 1 2 3 m asc store a storedist b  * {"k"} {"b"}
            COMMAND getkeys georadius k 1 2 store a m  * {"k"}
            COMMAND getkeys georadiusbymember k m 3 m store a  * {"k"} {"a"}
            COMMAND getkeys georadiusbymember k m 3 m storedist a store  * {"k"} {"a"}
            COMMAND getkeys georadius_ro k 1 2 3 m store a  * {"k"}
            COMMAND getkeys geosearchstore d k fromlonlat 1 2 byradius 3 m  * {"d"} {"k"}
            COMMAND getkeys geosearch k fromlonlat 1 2 byradius 3 m  * {"k"}
            COMMAND getkeys geoadd k 1 2 a  * {"k"}
        } 2
    }

    foreach {encoding limit} {ziplist 1000 skiplist 0} {
        test "searches against a model: $encoding" {
            with_config [list zset-max-ziplist-entries $limit] {
                for {set round 0} {$round < [accurate 8 100]} {incr round} {
                    set span [random_pick {360 20 0.5}]
                    set positions [fill g [random_pick {3 30 300}] $span]
                    assert_encoding $encoding g
                    for {set query 0} {$query < 20} {incr query} {
                        set size [expr {$span * 60000 * (rand() * rand() + 0.001)}]
                        if {[random_int 2]} {
                            set centre [random_position $span]
                            set from [list fromlonlat {*}$centre]
                        } else {
                            set member [random_pick [dict keys $positions]]
                            set centre [dict get $positions $member]
                            set from [list frommember $member]
                        }
                        # Where the centre is far north or south, 6.2 may miss a corner of a box.
                        if {[random_int 2] || $span == 360} {
                            set shape [list byradius $size]
                        } else {
                            set shape [list bybox $size [expr {$size * (rand() + 0.1)}]]
                        }
                        set got [r geosearch g {*}$from {*}$shape m asc withdist]
                        set last 0
                        foreach pair $got {
                            lassign $pair member distance
                            assert {$distance >= $last} "$distance behind $last"
                            set last $distance
                            set exact [metres $centre [dict get $positions $member]]
                            assert {abs($exact - $distance) < 0.001} "$distance, not $exact"
                        }
                        set members [lmap pair $got {lindex $pair 0}]
                        foreach {member position} $positions {
                            set within [model_contains $shape $centre $position]
                            assert {$within < 0 || $within == ($member in $members)} \
                                "$member at $position: $within, $from $shape"
                        }
                        set unordered [r geosearch g {*}$from {*}$shape m]
                        assert_equal [lsort $members] [lsort $unordered]
                        set down [r geosearch g {*}$from {*}$shape m desc]
                        assert_equal [lsort $members] [lsort $down]
                    }
                }
            }
        }
    }

    test {COUNT: the nearest of many} {
        fill g 3000 4
        foreach {from radius} {{fromlonlat 0 0} 5000 {frommember m17} 150 {fromlonlat 1 0.2} 60} {
            set up [r geosearch g {*}$from byradius $radius km asc withdist]
            set down [r geosearch g {*}$from byradius $radius km desc withdist]
            assert_equal [lsort $up] [lsort $down]
            assert_morethan [llength $up] 50
            foreach count {1 2 10 31 32 33 200 2999 100000} {
                set words [list {*}$from byradius $radius km count $count withdist]
                assert_equal [lrange $up 0 $count-1] [r geosearch g {*}$words]
                assert_equal [lrange $up 0 $count-1] [r geosearch g {*}$words asc]
                assert_equal [lrange $down 0 $count-1] [r geosearch g {*}$words desc]
                set any [r geosearch g {*}$words any]
                assert_equal [expr {min($count, [llength $up])}] [llength [lsort -unique $any]]
                foreach pair $any {
                    assert {$pair in $up} $pair
                }
                set any_up [r geosearch g {*}$words any asc]
                assert_equal [lsort $any] [lsort $any_up]
                # Pairs that are equal as printed may stand either way.
                set distances [lmap pair $any_up {lindex $pair 1}]
                assert_equal [lsort -real $distances] $distances
            }
        }
    }

    test {what is stored is what is found} {
        set positions [fill g 500 4]
        foreach words {{} {count 7} {desc count 300} {count 5 any}} {
            set found [r geosearch g fromlonlat 0 0 byradius 120 km {*}$words]
            assert_equal [llength $found] \
                [r geosearchstore d g fromlonlat 0 0 byradius 120 km {*}$words]
            assert_equal [lsort $found] [lsort [r zrange d 0 -1]]
            foreach member $found {
                assert_equal [r zscore g $member] [r zscore d $member]
            }
            r geosearchstore d g fromlonlat 0 0 byradius 120 km {*}$words storedist
            assert_equal [lsort $found] [lsort [r zrange d 0 -1]]
            foreach member $found {
                set kilometres [r zscore d $member]
                set metres [metres {0 0} [dict get $positions $member]]
                assert {abs($kilometres * 1000 - $metres) < 0.001} "$kilometres, not $metres"
            }
        }
    }

    test {positions: changes, hits and misses are counted} {
        r flushall
        r geoadd g 1 1 a 2 2 b 3 3 c
        foreach {words hits misses changes} {
            {geoadd g 1 1 a 4 4 d} 0 0 1
            {geoadd g 1.5 1 a 4.5 4 d} 0 0 2
            {geoadd none xx 1 1 a} 0 0 0
            {geopos g a} 1 0 0
            {geodist none a b} 0 1 0
            {geosearch g fromlonlat 1 1 byradius 1000 km} 1 0 0
            {georadius none 1 1 1 km} 0 1 0
            {geosearchstore d g fromlonlat 1 1 byradius 10000 km} 1 0 4
            {georadius g 1 1 10000 km count 1 store d} 1 0 1
            {geosearchstore d none fromlonlat 1 1 byradius 1 km} 0 1 1
            {geosearchstore d none fromlonlat 1 1 byradius 1 km} 0 1 0
        } {
            r config resetstat
            set before [s rdb_changes_since_last_save]
            r {*}$words
            set counts [list [s keyspace_hits] [s keyspace_misses] \
                [expr {[s rdb_changes_since_last_save] - $before}]]
            assert_equal [list $hits $misses $changes] $counts $words
        }
    }
}
