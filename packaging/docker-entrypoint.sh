#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What `docker run IMAGE ...` means: options and configuration files are redis-server's, anything
# else is a program. As root it hands /data over and goes on as the user evenkeel; a Sentinel only
# where that user can write the Sentinel's file, and so replace it in its folder.
#
# Who reaches a container's port was let in by its network, so protected mode is off, unless a
# configuration file is named: that one says everything itself.
set -e

# It does not come back.
go_on_as_user() {
    exec setpriv --reuid=evenkeel --regid=evenkeel --clear-groups -- "$@"
}

# A link is handed over itself, not what it points to.
hand_over() {
    find . \! -user evenkeel -exec chown -h evenkeel:evenkeel '{}' +
}

user_can_write() {
    setpriv --reuid=evenkeel --regid=evenkeel --clear-groups -- test -w "$1"
}

case ${1:-} in
-*) set -- redis-server "$@" ;;
*.conf) set -- redis-server "$@" ;;
esac
if [ "${1:-}" = redis-server ]; then
    case ${2:-} in
    *.conf) ;;
    *)
        shift
        set -- redis-server --protected-mode no --bind '*' '-::*' "$@"
        ;;
    esac
    if [ "$(id -u)" = 0 ]; then
        hand_over
        go_on_as_user "$@"
    fi
fi
if [ "${1:-}" = redis-sentinel ] && [ -f "${2:-}" ] && [ "$(id -u)" = 0 ]; then
    hand_over
    if user_can_write "$2" && user_can_write "$(dirname "$2")"; then go_on_as_user "$@"; fi
fi
exec "$@"
