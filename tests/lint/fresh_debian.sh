#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs both commands of the README in a fresh minimal Debian 12, made by debootstrap.
#
# usage: fresh_debian.sh [--keep] [--only-start] [SCRATCH_FOLDER]
#
# Wants root and debootstrap. The mirror, proxy and certificates are those that apt and pip of this
# machine are configured with. The tree is copied in without build/ and .git. The first command must
# leave a server that answers PING with +PONG; the second must end with "N passed, 0 failed".
# SCRATCH_FOLDER (default: a new one below /tmp) gets the chroot, which is removed unless --keep; a
# bootstrapped system kept as SCRATCH_FOLDER/pristine.tar saves the bootstrap the next time.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
release=bookworm
keep=no
only_start=no
while [ $# -gt 0 ]; do
    case $1 in
    --keep) keep=yes ;;
    --only-start) only_start=yes ;;
    *) break ;;
    esac
    shift
done
made=no
if [ $# -gt 0 ]; then
    scratch=$1
    mkdir -p "$scratch"
else
    scratch=$(mktemp -d /tmp/evenkeel-debian-XXXXXX)
    made=yes
fi
# A new folder each time: what a broken run left mounted is not touched.
target=$scratch/root-$$
mkdir "$target"
server_job=

say() { printf '%s\n' "fresh_debian: $*"; }
fail() { say "FAILED: $*"; exit 1; }
inside() { chroot "$target" /bin/sh -c "cd /evenkeel && $1"; }

finish() {
    status=$?
    # The server is a child of the shell in the chroot; it ends with SHUTDOWN, else by this.
    if [ -n "$server_job" ]; then kill "$server_job" 2>/dev/null || true; fi
    for place in dev/shm dev/pts proc; do
        if mountpoint -q "$target/$place"; then umount -l "$target/$place"; fi
    done
    if [ $keep = no ] && ! mountpoint -q "$target/proc"; then
        rm -rf --one-file-system "$target"
        if [ $made = yes ]; then rm -rf --one-file-system "$scratch"; fi
    else
        say "kept: $target"
    fi
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

[ "$(id -u)" = 0 ] || fail "wants root, for chroot"

# --- the bare system ------------------------------------------------------------------------------
if [ -f "$scratch/pristine.tar" ]; then
    tar -xf "$scratch/pristine.tar" -C "$target"
else
    command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
    mirror=$(apt-get indextargets --format '$(CODENAME) $(RELEASE) $(REPO_URI)' \
        'Created-By: Packages' | awk -v r=$release '$1 == r || $2 == r {print $3; exit}')
    [ -n "$mirror" ] || fail "apt has no mirror of $release here (apt-get update first?)"
    say "debootstrap of $release"
    debootstrap --variant=minbase $release "$target" "$mirror" >"$scratch/debootstrap.log" 2>&1 ||
        fail "debootstrap, see $scratch/debootstrap.log"
    tar -cf "$scratch/pristine.tar" -C "$target" .
fi

# --- this machine's way to the network ------------------------------------------------------------
cp /etc/resolv.conf /etc/hosts "$target/etc/"
apt-config dump Acquire >"$target/etc/apt/apt.conf.d/99host"
# Certificates and the like that the environment points to, at the same places.
env | grep -E '^(PIP|SSL|REQUESTS|CURL)_' | cut -d= -f2- | while read -r path; do
    case $path in
    /*)
        if [ -e "$path" ]; then
            mkdir -p "$target$(dirname "$path")"
            cp -aL "$path" "$target$(dirname "$path")/"
        fi
        ;;
    esac
done
# ... and where they outlive the installation of the package ca-certificates.
if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$target/usr/local/share"
    cp -aL /usr/local/share/ca-certificates "$target/usr/local/share/"
fi
mount -t proc proc "$target/proc"
mkdir -p "$target/dev/shm" "$target/dev/pts"
mount -t tmpfs -o size=512m tmpfs "$target/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$target/dev/pts" 2>/dev/null || true

# --- the tree and its README ----------------------------------------------------------------------
mkdir "$target/evenkeel"
tar -cf - -C "$root" --exclude=./build --exclude=./.git . | tar -xf - -C "$target/evenkeel"
start=$(grep '^sh deps/install\.sh' "$root/README.md" | sed -n 1p)
test=$(grep '^sh deps/install\.sh' "$root/README.md" | sed -n 2p)
[ -n "$start" ] && [ -n "$test" ] || fail "README.md lacks its two commands"

# --- the first command ----------------------------------------------------------------------------
port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
log=$scratch/start.log
say "first command: $start   (ARGS=--port $port)"
ARGS="--port $port --bind 127.0.0.1" chroot "$target" /bin/sh -c "cd /evenkeel && $start" \
    >"$log" 2>&1 &
server_job=$!

# Says PING, or another command, and prints the first line of the answer.
ask() {
    python3 - "$port" "$1" 2>/dev/null <<'END'
import socket, sys
with socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=5) as connection:
    connection.sendall(sys.argv[2].encode() + b'\r\n')
    print(connection.recv(100).decode().strip())
END
}

answer=
while [ "$answer" != +PONG ]; do
    if ! kill -0 "$server_job" 2>/dev/null; then
        tail -n 30 "$log"
        server_job=
        fail "the first command ended without a server; $log"
    fi
    sleep 1
    answer=$(ask PING) || true
done
say "the server answers $answer"
ask 'SHUTDOWN NOSAVE' || true
wait "$server_job" || say "the server ended with status $?"
server_job=
if [ $only_start = yes ]; then exit 0; fi

# --- the second -----------------------------------------------------------------------------------
say "second command: $test"
begin=$(date +%s)
status=0
inside "$test" >"$scratch/test.log" 2>&1 || status=$?
say "took $(($(date +%s) - begin)) s"
grep -E '^FAIL|^skipped: |passed +[0-9]+ failed' "$scratch/test.log" || true
tally=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$scratch/test.log" | tail -n 1)
say "${tally:-no tally}"
if [ $status != 0 ]; then
    tail -n 15 "$scratch/test.log"
    fail "status $status; $scratch/test.log"
fi
say "both commands passed"
