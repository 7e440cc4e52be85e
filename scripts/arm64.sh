#!/usr/bin/env bash
# Builds tidemark for aarch64 with a cross compiler, and tests it under qemu on a machine of another kind:
#   scripts/arm64.sh BUILD [root|build|unit|e2e ...]      (default: all four)
# root   makes a folder of Debian's arm64 packages (BUILD/root) and a kernel (BUILD/kernel); nothing of this
#        machine's own packages is changed
# build  cross-builds into BUILD
# unit   runs the unit tests by qemu-user
# e2e    runs the end-to-end tests in a virtual machine (qemu-system), which has a Linux of its own: qemu-user
#        has no ptrace, no perf events and no mremap of a shared mapping, and /proc/PID shows the emulator
# tests/arm64/run.py lists the tests, and those that are left out, with the reasons.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build-arm64}")
shift || true
[ $# -gt 0 ] || set -- root build unit e2e
suite=${ARM64_SUITE:-bookworm}
root=$build/root
packages="libc6-dev libstdc++-12-dev libdw-dev libelf-dev libzstd-dev zlib1g-dev libdeflate-dev libxxhash-dev libsqlite3-dev libiberty-dev
    libcapstone-dev libcapstone4 libncurses-dev libcmocka-dev libunwind-dev python3 python3-numpy python3-greenlet dash bash libc-bin coreutils util-linux
    procps grep sed gcc g++ binutils libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 linux-image-arm64 busybox-static"

# An apt of its own, which believes that nothing is installed and that the machine is arm64.
fetch() {
    local apt=$build/apt
    mkdir -p "$apt"/{lists/partial,archives/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d}
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/etc/sources.list"
    cat >"$apt/apt.conf" <<EOF
Dir::State "$apt"; Dir::State::status "$apt/status"; Dir::Cache "$apt"; Dir::Etc "$apt/etc";
APT::Architecture "arm64"; APT::Architectures { "arm64"; }; APT::Install-Recommends "false";
Debug::NoLocking "true"; APT::Sandbox::User "root";
EOF
    export APT_CONFIG=$apt/apt.conf
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    apt-get install -qq -y --download-only $packages >/dev/null
    unset APT_CONFIG
}

make_root() {
    [ -e "$build/root.made" ] && return
    fetch
    mkdir -p "$root"/usr/{lib,bin,sbin} "$root"/{work,tmp,proc,sys,dev,run} "$build/kernel"
    for folder in lib bin sbin; do
        [ -e "$root/$folder" ] || ln -s "usr/$folder" "$root/$folder"
    done
    for package in "$build"/apt/archives/*.deb; do
        case $package in
        */linux-image-[0-9]*) dpkg-deb -x "$package" "$build/kernel" ;;
        *) dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root" ;;
        esac
    done
    [ -e "$root/bin/sh" ] || ln -s dash "$root/bin/sh"
    echo "root:x:0:0:root:/root:/bin/bash" >"$root/etc/passwd"
    echo "root:x:0:" >"$root/etc/group"
    : >"$root/etc/ld.so.cache" # tests/arm64/init puts one there
    touch "$build/root.made"
}

cross_file() {
    cat <<EOF
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '$root']
[properties]
sys_root = '$root'
pkg_config_libdir = '$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig'
[built-in options]
c_args = ['--sysroot=$root']
c_link_args = ['--sysroot=$root']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
EOF
}

for step; do
    case $step in
    root) make_root ;;
    build)
        if [ ! -f "$build/build.ninja" ]; then
            cross_file >"$build/cross.ini"
            meson setup "$build" --cross-file "$build/cross.ini" --buildtype=release -Dviewer=disabled >"$build/setup.log" || {
                tail "$build/setup.log"
                exit 1
            }
        fi
        ninja -C "$build" --quiet
        ;;
    unit | e2e) /usr/bin/python3 tests/arm64/run.py --build "$build" --kind "$step" -k "${TEST:-}" ;;
    *)
        echo "arm64.sh: unknown step '$step'" >&2
        exit 2
        ;;
    esac
done
