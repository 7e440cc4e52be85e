#!/usr/bin/env bash
# Builds the tool and the recorder for every Linux with glibc 2.27 or later, as one folder that runs from
# anywhere, and packs it:
#   scripts/portable.sh BUILD [tarball] [wheel]
# Makes BUILD/portable/tidemark-VERSION-ARCH, and BUILD/dist/*.tar.xz and BUILD/dist/*.whl where asked for.
#
# The compiler is that of this machine. It compiles against the headers and libraries of an old glibc, which
# are fetched once (5 MB) and unpacked into BUILD/portable/sysroot; nothing is installed and root is not
# needed. All other libraries are linked statically, from this machine's Debian packages: they are made of
# what every glibc has, and the linker would say if not. Capstone is loaded when it is wanted, and so comes
# as a file. scripts/check_portable.py then looks at every file that was made.
#
# MACHINE=aarch64 cross-builds, with the libraries of BUILD/root (scripts/arm64.sh BUILD root).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?scripts/portable.sh BUILD [tarball] [wheel]}
shift
mkdir -p "$build/portable" "$build/dist"
build=$(cd "$build" && pwd)
root=$build/portable/sysroot
machine=${MACHINE:-$(uname -m)}

# The oldest glibc that can be had from a reachable distribution: Ubuntu 18.04.
case $machine in
x86_64)
    triplet=x86_64-linux-gnu
    mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
    glibc="libc6_2.27-3ubuntu1.6_amd64.deb 5b813d4512491cd8fb30b2eb9192349ee75ffe3c9f21ae136cc7b2429f70c3b2
           libc6-dev_2.27-3ubuntu1.6_amd64.deb 96ae7d2cf38f0547ca3cccb3344c8802fdf5bcd71c4b6d9aed09558ac8cc87db"
    ;;
aarch64)
    triplet=aarch64-linux-gnu
    mirror=${UBUNTU_PORTS_MIRROR:-http://ports.ubuntu.com/ubuntu-ports}
    glibc="libc6_2.27-3ubuntu1.6_arm64.deb SUM1
           libc6-dev_2.27-3ubuntu1.6_arm64.deb SUM2"
    ;;
*)
    echo "portable.sh: no old glibc is known for $machine" >&2
    exit 1
    ;;
esac
cross=""
[ "$machine" = "$(uname -m)" ] || cross=$triplet-
libraries=${cross:+$build/root} # where Debian's packages are unpacked; empty: this machine
# Their headers and static libraries are taken from there; their licences go with the result.
linked="libdw-dev libelf-dev libzstd-dev zlib1g-dev libdeflate-dev libxxhash-dev libiberty-dev liblzma-dev libbz2-dev libncurses-dev libsqlite3-dev"
capstone=libcapstone4
page="wasi-libc libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev-wasm32"

fetch_glibc() {
    local name sum
    while read -r name sum; do
        # Named when it is whole: a download that was cut short is made again.
        if [ ! -f "$build/portable/$name" ]; then
            curl -sSfL -o "$build/portable/$name.part" "$mirror/pool/main/g/glibc/$name"
            echo "$sum  $build/portable/$name.part" | sha256sum --quiet -c -
            mv "$build/portable/$name.part" "$build/portable/$name"
        fi
        dpkg -x "$build/portable/$name" "$root"
    done <<<"$(echo "$glibc" | awk '{ print $1, $2 }')"
}

files_of() {
    if [ "$cross" ]; then
        dpkg-deb --fsys-tarfile "$build"/apt-*/archives/"$1"_*.deb | tar -t | sed 's/^\.//'
    else
        dpkg -L "$1"
    fi
}

# What a package has for compilers.
copy_package() {
    files_of "$1" | grep -E '^/usr/(include|lib)/' | while read -r path; do
        { [ -f "$libraries$path" ] || [ -L "$libraries$path" ]; } || continue
        mkdir -p "$root$(dirname "$path")"
        cp -P "$libraries$path" "$root$path"
    done
}

make_sysroot() {
    rm -rf "$root"
    mkdir -p "$root"
    fetch_glibc
    # A link such as libdl.so -> /lib/... means this machine's library otherwise.
    find "$root" -type l -lname '/*' | while read -r link; do
        ln -sfn "$root$(readlink "$link")" "$link"
    done
    rm -rf "$root/usr/include/linux" "$root/usr/include/asm"* # of a newer kernel, from this machine
    for package in $linked libcapstone-dev linux-libc-dev; do
        copy_package "$package"
    done
    touch "$root/complete"
}

write_machine_file() {
    cat <<END
[binaries]
c = ['${CC:-${cross}gcc}', '--sysroot=$root', '-B$root/usr/lib/$triplet']
END
    [ "$cross" ] || return 0
    cat <<END
ar = '${cross}ar'
strip = '${cross}strip'
pkgconfig = 'pkg-config'
[properties]
sys_root = '$root'
pkg_config_libdir = '$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$machine'
cpu = '$machine'
endian = 'little'
END
}

[ -f "$root/complete" ] || make_sysroot
write_machine_file >"$build/portable/machine.ini"
export PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
work=$build/portable/build
file_kind=--native-file
[ -z "$cross" ] || file_kind=--cross-file
[ -f "$work/build.ninja" ] || meson setup "$work" -Dmpi=disabled "$file_kind" "$build/portable/machine.ini" \
    --buildtype=release --strip --prefix=/usr --bindir=bin --libdir=lib \
    -Dwerror=false -Dtests=false -Dportable=true >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
ninja -C "$work" --quiet

version=$(meson introspect "$work" --projectinfo | sed 's/.*"version": "\([^"]*\)".*/\1/')
tree=$build/portable/tidemark-$version-$machine
rm -rf "$tree" "$build/portable/installed"
DESTDIR=$build/portable/installed meson install -C "$work" --quiet >/dev/null
mv "$build/portable/installed/usr" "$tree"
cp -L "$libraries/usr/lib/$triplet/libcapstone.so.4" "$tree/lib/tidemark/"
mkdir -p "$tree/share/doc/tidemark/licenses"
cp LICENSE packaging/bundled.md "$tree/share/doc/tidemark/"
for package in $linked $capstone; do
    cp "$libraries/usr/share/doc/$package/copyright" "$tree/share/doc/tidemark/licenses/$package"
done
for package in $page; do # made here for all machines
    cp "/usr/share/doc/$package/copyright" "$tree/share/doc/tidemark/licenses/$package"
done
/usr/bin/python3 scripts/check_portable.py "$tree"

for what; do
    case $what in
    tarball)
        out=$build/dist/$(basename "$tree").tar.xz
        tar -C "$build/portable" --sort=name --owner=0 --group=0 --numeric-owner \
            --mtime="@${SOURCE_DATE_EPOCH:-0}" -cJf "$out" "$(basename "$tree")"
        echo "$out"
        ;;
    wheel) /usr/bin/python3 scripts/make_wheel.py "$tree" "$version" "$build/dist" ;;
    *)
        echo "portable.sh: unknown '$what'; it makes 'tarball' and 'wheel'" >&2
        exit 2
        ;;
    esac
done
