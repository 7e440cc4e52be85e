#!/usr/bin/env bash
# Builds tidemark for aarch64 with a cross compiler, and tests it under qemu on a machine of another kind:
#   scripts/arm64.sh BUILD [root|build|unit|stacks|e2e|pages|wheel ...]      (default: all)
# root   makes a folder of Debian's arm64 packages (BUILD/root) and kernels with pages of 4 and 16 KiB
#        (BUILD/kernel-4k, BUILD/kernel-16k); nothing of this machine's own packages is changed
# build  cross-builds into BUILD
# unit   runs the unit tests by qemu-user
# stacks compares the unwinder with libgcc's, in programs of BUILD/root, by qemu-user (bench/check_stacks.py)
# e2e    runs the end-to-end tests in a virtual machine (qemu-system), which has a Linux of its own: qemu-user
#        has no ptrace, no perf events and no mremap of a shared mapping, and /proc/PID shows the emulator
# pages  runs those on exactness and leaks, and all unit tests, with pages of 16 KiB; and unit tests with 64 KiB
# wheel  makes wheel and tarball (BUILD/dist), and tries both in the virtual machine
# tests/arm64/run.py lists the tests, and those that are left out, with the reasons.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build-arm64}")
shift || true
[ $# -gt 0 ] || set -- root build unit stacks e2e pages wheel
suite=${ARM64_SUITE:-bookworm}
kernels=${ARM64_KERNELS:-sid} # its kernels have both sizes of pages, and tell how any process has ended
root=$build/root
packages="libc6-dev libstdc++-12-dev libdw-dev libelf-dev libzstd-dev zlib1g-dev libdeflate-dev libxxhash-dev libsqlite3-dev libiberty-dev
    libcapstone-dev libcapstone4 libncurses-dev libcmocka-dev libunwind-dev python3 python3-numpy python3-greenlet dash bash libc-bin coreutils util-linux
    procps grep sed gcc g++ binutils libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 libjemalloc-dev libgoogle-perftools-dev busybox-static liblzma-dev libbz2-dev
    python3-pip python3-venv"

# An apt of its own for a suite, which believes that nothing is installed and that the machine is arm64: it is used
# by what APT_CONFIG names.
apt_of() {
    local apt=$build/apt-$1
    mkdir -p "$apt"/{lists/partial,archives/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d}
    : >"$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $1 main" >"$apt/etc/sources.list"
    cat >"$apt/apt.conf" <<EOF
Dir::State "$apt"; Dir::State::status "$apt/status"; Dir::Cache "$apt"; Dir::Etc "$apt/etc";
APT::Architecture "arm64"; APT::Architectures { "arm64"; }; APT::Install-Recommends "false";
Debug::NoLocking "true"; APT::Sandbox::User "root"; Acquire::Check-Valid-Until "false";
EOF
    APT_CONFIG=$apt/apt.conf apt-get update -qq
}

fetch() {
    apt_of "$suite"
    # shellcheck disable=SC2086 # a list of words
    APT_CONFIG=$build/apt-$suite/apt.conf apt-get install -qq -y --download-only $packages >/dev/null
}

kernel_parts() {
    APT_CONFIG=$build/apt-$kernels/apt.conf apt-cache depends "$1" |
        awk '/Depends: linux-(image|modules|binary)-[0-9]/ { print $2 }'
}

# The kernel that a package without content stands for, and its modules.
fetch_kernel() {
    local into=$build/kernel-$1 config=$build/apt-$kernels/apt.conf image
    [ -e "$into/made" ] && return
    [ -e "$config" ] || apt_of "$kernels"
    image=$(kernel_parts "$2" | head -n 1)
    mkdir -p "$into"
    # shellcheck disable=SC2046 # a list of words
    (cd "$into" && APT_CONFIG=$config apt-get download -qq "$image" $(kernel_parts "$image"))
    for package in "$into"/*.deb; do
        dpkg-deb -x "$package" "$into"
    done
    touch "$into/made"
}

# As Debian's packages do when they are installed. Without it Python compiles all that it imports each time, which is
# slow, and leaves freed memory behind that points into the heap: blocks that get there look reachable to the leak scan.
compile_python() {
    local python=(qemu-aarch64-static -L "$root" "$root/usr/bin/python3")
    [ "$(readlink "$root/usr/bin/python3")" != "$(readlink /usr/bin/python3)" ] || python=(/usr/bin/python3)
    "${python[@]}" -m compileall -q -s "$root" -p / "$root"/usr/lib/python3*
}

make_root() {
    [ -e "$build/root.made" ] && return
    fetch
    mkdir -p "$root"/usr/{lib,bin,sbin} "$root"/{work,tmp,proc,sys,dev,run,home}
    for folder in lib bin sbin; do
        [ -e "$root/$folder" ] || ln -s "usr/$folder" "$root/$folder"
    done
    for package in "$build/apt-$suite"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root"
    done
    [ -e "$root/bin/sh" ] || ln -s dash "$root/bin/sh"
    for name in blas lapack; do # which Debian's alternatives would choose
        ln -sf "$name/lib$name.so.3" "$root/usr/lib/aarch64-linux-gnu/lib$name.so.3"
    done
    echo "root:x:0:0:root:/root:/bin/bash" >"$root/etc/passwd"
    echo "root:x:0:" >"$root/etc/group"
    : >"$root/etc/ld.so.cache" # tests/arm64/init puts one there
    compile_python
    touch "$build/root.made"
}

cross_file() {
    local ccache=""
    command -v ccache >/dev/null && ccache="'ccache', "
    cat <<EOF
[binaries]
c = [$ccache'aarch64-linux-gnu-gcc']
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
    root)
        make_root
        fetch_kernel 4k linux-image-arm64
        fetch_kernel 16k linux-image-arm64-16k
        ;;
    build)
        [ -f "$build/build.ninja" ] || cross_file >"$build/cross.ini"
        scripts/configure.sh "$build" --cross-file "$build/cross.ini" --buildtype=release -Dviewer=disabled
        ninja -C "$build" --quiet
        ;;
    unit | e2e) /usr/bin/python3 tests/arm64/run.py --build "$build" --kind "$step" -k "${TEST:-}" ;;
    stacks) /usr/bin/python3 bench/check_stacks.py --aarch64 "$root" ;;
    pages)
        for size in 16k 64k; do
            /usr/bin/python3 tests/arm64/run.py --build "$build" --kind unit --pages "$size" -k "${TEST:-}"
        done
        /usr/bin/python3 tests/arm64/run.py --build "$build" --kind e2e --pages 16k -k "${TEST:-allocation_functions.,leaks_command.,leak_scan.,stacks.}"
        ;;
    wheel)
        MACHINE=aarch64 ARM64_ROOT=$root scripts/portable.sh "$build" tarball wheel
        /usr/bin/python3 tests/arm64/run.py --build "$build" --kind packages
        ;;
    *)
        echo "arm64.sh: unknown step '$step'" >&2
        exit 2
        ;;
    esac
done
