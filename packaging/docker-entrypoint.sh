#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What `docker run IMAGE ...` means: options and configuration files are redis-server's, anything
# else is a program. As root it hands /data over and goes on as the user evenkeel.
#
# Who reaches a container's port was let in by its network, so protected mode is off, unless a
# configuration file is named: that one says everything itself.
set -e
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
        # A link is handed over itself, not what it points to.
        find . \! -user evenkeel -exec chown -h evenkeel:evenkeel '{}' +
        exec setpriv --reuid=evenkeel --regid=evenkeel --clear-groups -- "$@"
    fi
fi
exec "$@"
