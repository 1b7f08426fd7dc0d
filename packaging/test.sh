#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The package in a fresh minimal Debian 12: installed, used, upgraded, removed, purged.
#
# usage: test.sh PACKAGE.deb [SCRATCH_FOLDER]
#
# Wants root and debootstrap. A bootstrapped system that is kept as SCRATCH_FOLDER/pristine.tar
# saves the bootstrap the next time (tests/lint/fresh_debian.sh keeps the same). The last line is
# `N passed, N failed`.
set -eu
package=$1
here=$(cd "$(dirname "$0")" && pwd)
passed=0 failed=0
say() { printf '%s\n' "test-package: $*"; }
fail() { say "$*"; echo "0 passed, 1 failed"; exit 1; }

[ "$(id -u)" = 0 ] || fail "wants root, for chroot"
[ -f "$package" ] || fail "there is no $package"
if [ $# -gt 1 ]; then
    scratch=$2
    mkdir -p "$scratch"
    made=no
else
    scratch=$(mktemp -d)
    made=yes
fi
target=$scratch/package-$$
mkdir "$target"

inside() { chroot "$target" /bin/sh -c "$1"; }
finish() {
    status=$?
    # Whatever went wrong, the server that was started here ends.
    for pidfile in evenkeel/redis-server.pid evenkeel-sentinel/redis-sentinel.pid; do
        [ -f "$target/run/$pidfile" ] || continue
        kill -9 "$(cat "$target/run/$pidfile")" 2>/dev/null || true
    done
    if mountpoint -q "$target/proc"; then umount -l "$target/proc"; fi
    if ! mountpoint -q "$target/proc"; then rm -rf --one-file-system "$target"; fi
    if [ $made = yes ]; then rm -rf --one-file-system "$scratch"; fi
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

# check NAME COMMAND: a command inside that must succeed
check() {
    if inside "$2" >"$scratch/out" 2>&1; then
        passed=$((passed + 1))
        say "ok    $1"
    else
        failed=$((failed + 1))
        say "FAIL  $1"
        tail -n 15 "$scratch/out"
    fi
}

# --- a bare system, and this machine's way to the network -----------------------------------------
if [ -f "$scratch/pristine.tar" ]; then
    tar -xf "$scratch/pristine.tar" -C "$target"
else
    command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
    mirror=$(apt-get indextargets --format '$(CODENAME) $(RELEASE) $(REPO_URI)' \
        'Created-By: Packages' | awk '$1 == "bookworm" || $2 == "bookworm" {print $3; exit}')
    [ -n "$mirror" ] || fail "apt has no mirror of bookworm here (apt-get update first?)"
    say "debootstrap of bookworm"
    debootstrap --variant=minbase bookworm "$target" "$mirror" >"$scratch/debootstrap.log" 2>&1 ||
        fail "debootstrap, see $scratch/debootstrap.log"
    tar -cf "$scratch/pristine.tar" -C "$target" .
fi
cp /etc/resolv.conf /etc/hosts "$target/etc/"
apt-config dump Acquire >"$target/etc/apt/apt.conf.d/99host"
if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$target/usr/local/share"
    cp -aL /usr/local/share/ca-certificates "$target/usr/local/share/"
fi
mount -t proc proc "$target/proc"
# Nothing starts by itself in a chroot; the test starts it.
printf '#!/bin/sh\nexit 101\n' >"$target/usr/sbin/policy-rc.d"
chmod 755 "$target/usr/sbin/policy-rc.d"
cp "$package" "$target/evenkeel.deb"

# --- installed ------------------------------------------------------------------------------------
free_port() {
    python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
port=$(free_port)
watch_port=$(free_port)
cli="redis-cli -p $port"
up="for i in \$(seq 600); do $cli ping 2>/dev/null | grep -q PONG && exit 0
    sleep 0.1; done; exit 1"
start="/etc/init.d/evenkeel start && ($up)"

check 'it installs, with what it depends on' \
    'export DEBIAN_FRONTEND=noninteractive; apt-get update && apt-get install -y /evenkeel.deb'
for program in redis-server redis-cli redis-benchmark; do
    check "$program is there" "$program --version"
done
check 'the checkers and the Sentinel are there' \
    'test -x /usr/bin/redis-check-rdb && test -x /usr/bin/redis-check-aof &&
    test -x /usr/bin/redis-sentinel'
check 'each library is found' \
    '! ldd /usr/bin/redis-server /usr/bin/redis-cli /usr/bin/redis-benchmark | grep "not found"'
check 'the units are there' 'test -f /lib/systemd/system/evenkeel.service &&
    test -f /lib/systemd/system/evenkeel-sentinel.service'
check 'its user owns the folders' \
    'test "$(stat -c %U:%a /var/lib/evenkeel /var/log/evenkeel | sort -u)" = evenkeel:750'
check 'nobody else reads the configuration' \
    'test "$(stat -c %U:%a /etc/evenkeel/redis.conf /etc/evenkeel/sentinel.conf | sort -u)" = \
    evenkeel:640'
# A port that nobody else on this machine has: a chroot has no network of its own.
check 'it gets a port of its own' "sed -i 's/^port .*/port $port/' /etc/evenkeel/redis.conf"

# --- used -----------------------------------------------------------------------------------------
check 'it starts' "$start"
check 'it runs as its own user' \
    'test "$(stat -c %U /proc/$(cat /run/evenkeel/redis-server.pid))" = evenkeel'
check 'it answers' "$cli set key value | grep -q OK && $cli get key | grep -q value"
check 'it takes load' "redis-benchmark -p $port -n 2000 -q -t set,get -P 4"
check 'it writes its configuration' "$cli config set maxmemory 100mb && $cli config rewrite |
    grep -q OK && grep -q maxmemory /etc/evenkeel/redis.conf"
check 'it ends' '/etc/init.d/evenkeel stop && ! /etc/init.d/evenkeel status'
check 'it has saved' \
    'test -s /var/lib/evenkeel/dump.rdb && redis-check-rdb /var/lib/evenkeel/dump.rdb'
check 'the data are there again' "$start && $cli get key | grep -q value"
check 'it restarts' "/etc/init.d/evenkeel restart && ($up) && $cli get key | grep -q value"

# --- a Sentinel -----------------------------------------------------------------------------------
ask="redis-cli -p $watch_port"
sentinel=/etc/init.d/evenkeel-sentinel
check 'the Sentinel is not enabled by itself' '! ls /etc/rc2.d/S*evenkeel-sentinel'
check 'the Sentinel gets a port and a primary' "sed -i 's/^port .*/port $watch_port/' \
    /etc/evenkeel/sentinel.conf && echo 'sentinel monitor m 127.0.0.1 $port 1' >> \
    /etc/evenkeel/sentinel.conf"
check 'the Sentinel starts' "$sentinel start && for i in \$(seq 600); do
    $ask ping 2>/dev/null | grep -q PONG && exit 0; sleep 0.1; done; exit 1"
check 'the Sentinel runs as the user evenkeel' \
    'test "$(stat -c %U /proc/$(cat /run/evenkeel-sentinel/redis-sentinel.pid))" = evenkeel'
check 'the Sentinel names the primary' "$ask sentinel get-master-addr-by-name m | grep -q $port"
check 'the Sentinel keeps its id in its file' \
    "grep -q \"^sentinel myid \$($ask sentinel myid)\" /etc/evenkeel/sentinel.conf"
check 'the server does not end with the Sentinel' \
    "$sentinel stop && ! $sentinel status && $cli ping | grep -q PONG && $sentinel start"

# --- upgraded, removed, purged --------------------------------------------------------------------
check 'an upgrade keeps the configuration and the data' "dpkg -i /evenkeel.deb &&
    grep -q 'port $port' /etc/evenkeel/redis.conf && test -s /var/lib/evenkeel/dump.rdb"
check 'an upgrade follows no link of the user evenkeel' "cd /etc/evenkeel && mv redis.conf kept &&
    echo secret >/root/secret && chmod 600 /root/secret && ln -s /root/secret redis.conf &&
    { dpkg -i --force-confold /evenkeel.deb || true; } &&
    test \"\$(stat -c %U:%a /root/secret)\" = root:600 && rm -f redis.conf && mv kept redis.conf &&
    dpkg --configure -a"
check 'an upgrade does without a configuration that was deleted' \
    'cd /etc/evenkeel && mv redis.conf /root/kept && dpkg -i /evenkeel.deb </dev/null &&
    test ! -e redis.conf && mv /root/kept redis.conf'
check 'removed: server and Sentinel end, the data stay' "apt-get remove -y evenkeel &&
    test ! -e /run/evenkeel/redis-server.pid &&
    test ! -e /run/evenkeel-sentinel/redis-sentinel.pid &&
    test ! -e /usr/bin/redis-server && test -s /var/lib/evenkeel/dump.rdb &&
    test -f /etc/evenkeel/redis.conf"
check 'purged: nothing is left' \
    'dpkg --purge evenkeel && test ! -e /var/lib/evenkeel && test ! -e /etc/evenkeel &&
    ! getent passwd evenkeel'

say "the Dockerfile and the scripts"
if command -v shellcheck >/dev/null; then
    if shellcheck -S warning -s sh "$here"/*.sh "$here/postinst" "$here/prerm" "$here/postrm"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
