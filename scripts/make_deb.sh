#!/usr/bin/env bash
# Builds the Debian packages from what is committed or added: scripts/make_deb.sh BUILD
# Makes BUILD/dist/*.deb; lintian must have nothing to say.
set -eu
cd "$(dirname "$0")/.."
build=${1:?scripts/make_deb.sh BUILD}
mkdir -p "$build/deb" "$build/dist"
build=$(cd "$build" && pwd)
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
tree=$build/deb/tidemark-$version
rm -rf "$build/deb"
mkdir -p "$tree"
git ls-files -z | tar --null -T - -cf - | tar -C "$tree" -xf -
cp -r packaging/debian "$tree/debian"
(cd "$tree" && dpkg-buildpackage -us -uc -b >"$build/deb/log" 2>&1) || { tail -40 "$build/deb/log"; exit 1; }
# The list of changes names all packages: they must still be beside it.
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$build"/deb/*.changes
rm -f "$build"/dist/*.deb
mv "$build"/deb/*.deb "$build/dist/"
ls "$build"/dist/*.deb
