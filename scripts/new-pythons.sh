#!/usr/bin/env bash
# Puts CPython 3.14 and 3.15 into a folder, from Debian's newest suite, without installing anything:
#   scripts/new-pythons.sh FOLDER [VERSION ...]
# Each becomes FOLDER/VERSION/usr/bin/pythonVERSION, with a C library of its own, and runs on any
# Debian. Needs curl, xz, dpkg and patchelf; fetches some 40 MB. Debian has no builds without the
# global lock.
set -eu

folder=$1
shift
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
versions=${*:-3.14 3.15}
libraries="libc6 libgcc-s1 zlib1g libexpat1 libzstd1 libffi8 libbz2-1.0 liblzma5 libuuid1 libssl3t64 libsqlite3-0 libncursesw6 libtinfo6 libreadline8t64"

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
missing=""
for version in $versions; do
    [ -x "$folder/$version/usr/bin/python$version" ] || missing="$missing $version"
done
[ -z "$missing" ] && exit 0

for tool in curl xz dpkg patchelf; do
    command -v $tool >/dev/null || { echo "new-pythons.sh: needs $tool (scripts/install-deps.sh new-pythons)" >&2 && exit 1; }
done

lists=$(mktemp)
trap 'rm -f "$lists" "$lists.deb"' EXIT
curl -sfL "$mirror/dists/sid/main/binary-amd64/Packages.xz" | xz -d >"$lists"

unpack() { # package, root
    local file
    file=$(awk -v p="$1" '$0 == "Package: " p { found = 1 } found && /^Filename: / { print $2; exit } /^$/ { found = 0 }' "$lists")
    [ -n "$file" ] || { echo "new-pythons.sh: $mirror has no package $1" >&2 && return 1; }
    curl -sfL -o "$lists.deb" "$mirror/$file"
    dpkg -x "$lists.deb" "$2"
}

for version in $missing; do
    root=$folder/$version.part
    rm -rf "$root"
    for package in $libraries "python$version" "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib"; do
        unpack "$package" "$root"
    done
    mv "$root" "$folder/$version"
    root=$folder/$version
    # Its own loader and libraries, which are newer than those of the machine.
    patchelf --set-interpreter "$root/usr/lib64/ld-linux-x86-64.so.2" --force-rpath \
        --set-rpath "$root/usr/lib/x86_64-linux-gnu" "$root/usr/bin/python$version"
    # As an installed one has it: else each start would compile what it imports.
    "$root/usr/bin/python$version" -m compileall -q "$root/usr/lib/python$version" >/dev/null || true
    "$root/usr/bin/python$version" -c 'import sys, threading, json, ctypes; print(sys.version.split()[0])'
done
