#!/usr/bin/env bash
# Installs the Debian packages that are needed to build, or to test, bench, lint, package or run giants:
#   scripts/install-deps.sh [base|test|bench|lint|large|exchange|packages|new-pythons|arm64]...
# Asks dpkg first, so that it costs a few milliseconds when nothing is missing.
# "OLD|NEW" below are names of one package in older and newer releases: either will do.
set -u

# What building needs; clang, lld and what has wasm in its name are for the page of `tidemark view`.
base="build-essential pkg-config meson ninja-build python3 libdw-dev libelf-dev libzstd-dev zlib1g-dev libdeflate-dev
      libxxhash-dev libiberty-dev libcapstone-dev libncurses-dev libsqlite3-dev clang lld wasi-libc libclang-rt-dev-wasm32"
test="libcmocka-dev libclang-rt-dev gfortran valgrind libjemalloc2 libgoogle-perftools4|libgoogle-perftools4t64
      libtcmalloc-minimal4|libtcmalloc-minimal4t64 libmimalloc2.0|libmimalloc3
      libcap2-bin musl-tools python3-greenlet chromium python3-pytest python3-pytest-xdist python3-ipython lua5.4 libxml2-utils
      libjemalloc-dev libgoogle-perftools-dev python3-dbg python3-numpy golang-go heaptrack zstd nodejs zsh fish tmux
      clang-format shellcheck openmpi-bin libopenmpi-dev libcurl4|libcurl4t64 openssl"
bench="heaptrack zstd lua5.4 libxml2-utils jq sqlite3 perl git libunwind-dev clang python3 time valgrind"
lint="clang-format clang-tidy shellcheck libcmocka-dev"
new_pythons="curl xz-utils patchelf"
packages="curl debootstrap debhelper dpkg-dev fakeroot lintian dh-python python3-all python3-setuptools python3-pip
          libcapstone4 liblzma-dev libbz2-dev"
arm64="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static qemu-system-arm"
exchange="nodejs chromium python3-venv"
command -v npm >/dev/null 2>&1 || exchange="$exchange npm" # other builds of nodejs bring it
large="clang chromium libreoffice-writer-nogui python3-torch python3-venv heaptrack cargo"

wanted=""
for name in "${@:-base}"; do
    case $name in
    base) wanted="$wanted $base" ;;
    test) wanted="$wanted $test" ;;
    bench) wanted="$wanted $bench" ;;
    lint) wanted="$wanted $lint" ;;
    large) wanted="$wanted $large" ;;
    exchange) wanted="$wanted $exchange" ;;
    packages) wanted="$wanted $packages" ;;
    new-pythons) wanted="$wanted $new_pythons" ;;
    arm64) wanted="$wanted $arm64" ;;
    *)
        echo "install-deps.sh: unknown set '$name'; known are base, test, bench, lint, large, exchange, packages, new-pythons and arm64" >&2
        exit 2
        ;;
    esac
done

missing=""
for package in $wanted; do
    # shellcheck disable=SC2086 # several names
    states=$(dpkg-query -W -f '${db:Status-Status} ' ${package//|/ } 2>/dev/null)
    case " $states" in
    *" installed "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -z "$missing" ] && exit 0

# The missing packages by the names that this release knows; by the newest where it knows none.
known_names() {
    local package name
    for package in $missing; do
        for name in ${package//|/ }; do
            [ "$name" = "$package" ] || [ "$(apt-cache show "$name" 2>/dev/null)" ] && break
        done
        echo "$name"
    done
}

give_up() {
    # shellcheck disable=SC2046 # a list of words
    echo "tidemark needs these packages, install them and try again: apt-get install" $(known_names) >&2
    exit 1
}

if ! command -v apt-get >/dev/null 2>&1; then
    give_up
elif [ "$(id -u)" = 0 ]; then
    as_root=""
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    give_up
fi

# shellcheck disable=SC2046 # a list of words
echo "installing" $(known_names) >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    # Another installation may be under way (unattended upgrades on a fresh machine): it is waited for.
    # shellcheck disable=SC2046,SC2086 # both are lists of words
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 $(known_names) >>"$log" 2>&1
}
# The package lists may be absent (containers) or old; only then are they fetched.
install && exit 0
$as_root apt-get update -qq >>"$log" 2>&1
install && exit 0
tail -n 20 "$log" >&2
give_up
