#!/usr/bin/env bash
# Configures a build folder: scripts/configure.sh BUILD [MESON OPTIONS]
# Does so again when a source file was added or removed, because meson.build lists them by pattern and meson
# reads the patterns only then; and when an option -DNAME=VALUE is not as the folder has it. Otherwise it
# costs some milliseconds. CC and the options other than -D count for a new folder only.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:?scripts/configure.sh BUILD [MESON OPTIONS]}
shift
log=$build/configure.log

mkdir -p "$build"
find src tests/unit tests/fuzz docs/man -name '*.[ch13]' | LC_ALL=C sort >"$build/sources.new"
changed=()
for option; do
    case $option in
    -D*) grep -qxF -- "$option" "$build/options" 2>/dev/null || changed+=("$option") ;;
    esac
done
if [ ! -f "$build/build.ninja" ]; then
    meson setup "$build" "$@" >"$log" 2>&1
elif [ "${#changed[@]}" != 0 ]; then
    meson setup --reconfigure "$build" "${changed[@]}" >"$log" 2>&1
elif ! cmp -s "$build/sources" "$build/sources.new"; then
    meson setup --reconfigure "$build" >"$log" 2>&1
else
    exit 0
fi || {
    cat "$log"
    exit 1
}
for option in "${changed[@]}"; do
    sed -i "/^${option%%=*}=/d" "$build/options" 2>/dev/null
    echo "$option" >>"$build/options"
done
mv "$build/sources.new" "$build/sources"
