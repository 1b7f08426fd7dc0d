#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds a package of what was built, for the release of Debian or Ubuntu that it was built on.
#
# usage: deb.sh FOLDER_OF_PROGRAMS TARGET_FOLDER     prints the package's path
#
# Needs dpkg-deb and readelf. What it depends on is found from the libraries that the programs name.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
programs=$1
target=$2

version=$(sed -n 's/^#define EVENKEEL_VERSION "\(.*\)"/\1/p' "$root/src/base/version.h")
architecture=$(dpkg --print-architecture)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"

# The packages that own the libraries which a program asks for itself.
dependencies() {
    for program in "$tree"/usr/bin/*; do
        [ -L "$program" ] && continue
        readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
    done | sort -u | while read -r library; do
        path=$(/sbin/ldconfig -p | awk -v name="$library" '$1 == name {print $NF; exit}')
        [ -n "$path" ] || continue
        # dpkg knows files by where they were before /lib moved into /usr, or after.
        dpkg-query -S "$(readlink -f "$path")" 2>/dev/null || dpkg-query -S "$path" 2>/dev/null ||
            dpkg-query -S "${path#/usr}" 2>/dev/null || {
            echo "deb.sh: no package owns $library" >&2
            exit 1
        }
    done | sed 's/:.*//' | sort -u | paste -sd, - | sed 's/,/, /g'
}

DESTDIR=$tree "$here/install.sh" "$programs" /usr /etc
strip --strip-debug "$tree"/usr/bin/redis-server 2>/dev/null || true
for program in redis-cli redis-benchmark redis-lab; do
    [ ! -f "$tree/usr/bin/$program" ] || strip --strip-debug "$tree/usr/bin/$program"
done
[ ! -d "$tree/usr/share/man" ] || gzip -9nr "$tree/usr/share/man"
mkdir -p "$tree/lib/systemd" "$tree/usr/share/doc/evenkeel"
mv "$tree/usr/lib/systemd/system" "$tree/lib/systemd/system"
rmdir "$tree/usr/lib/systemd" "$tree/usr/lib"
install -m 644 "$root/LICENSE" "$tree/usr/share/doc/evenkeel/copyright"
gzip -9nc "$root/CHANGELOG.md" >"$tree/usr/share/doc/evenkeel/changelog.gz"

mkdir "$tree/DEBIAN"
needed=$(dependencies)
[ -n "$needed" ] || exit 1
cat >"$tree/DEBIAN/control" <<END
Package: evenkeel
Version: $version
Architecture: $architecture
Maintainer: Evenkeel
Installed-Size: $(du -sk "$tree" | cut -f1)
Depends: adduser, $needed
Conflicts: redis-server, redis-tools, redis-sentinel, valkey-server, valkey-sentinel, valkey-tools
Replaces: redis-server, redis-tools, redis-sentinel
Provides: redis-server, redis-tools, redis-sentinel
Section: database
Priority: optional
Description: in-memory data store that speaks Redis 6.2
 Takes the place of a Redis 6.2 without a client noticing: protocol, commands,
 replies and configuration, snapshots and append-only files, replication.
 Expiry, eviction and growth go on in small bounded steps.
END
printf '%s\n' /etc/evenkeel/redis.conf /etc/evenkeel/sentinel.conf /etc/init.d/evenkeel \
    /etc/init.d/evenkeel-sentinel >"$tree/DEBIAN/conffiles"
install -m 755 "$here/postinst" "$here/prerm" "$here/postrm" "$tree/DEBIAN"

mkdir -p "$target"
package=$target/evenkeel_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
printf '%s\n' "$package"
