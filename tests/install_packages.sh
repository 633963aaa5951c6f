#!/bin/sh
# install_packages.sh build|test: makes sure that a Debian 12 has what leat is built with (and, for
# `test`, checked with). Says nothing and changes nothing when all of it is there.
set -eu

build='gcc g++ cmake ninja-build pkg-config libc6-dev libuv1-dev zlib1g-dev libisal-dev libminizip-dev
    libarchive-dev libxml2-dev liblzma-dev libzstd-dev libbz2-dev libfast-float-dev libopenblas-dev libjansson-dev libinih-dev
    libmicrohttpd-dev libtiff-dev libgdal-dev libcairo2-dev libfreetype-dev fonts-dejavu-core libsystemd-dev libpng-dev'
test='clang-14 libclang-rt-14-dev clang-tidy-14 clang-format-14 libcmocka-dev libdeflate-dev python3
    python3-numpy python3-pandas python3-openpyxl python3-odf python3-scipy python3-sklearn gdal-bin pigz zip unzip xz-utils zstd bzip2 util-linux procps rsync
    systemd e2fsprogs xfsprogs libopenmpi-dev openmpi-bin strace dpkg-dev
    libhdf5-dev python3-h5py python3-netcdf4
    debootstrap zsh mandoc man-db'

case "${1-}" in
build) wanted="$build libcmocka-dev" ;;
test) wanted="$build $test" ;;
*)
    echo "usage: install_packages.sh build|test" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null; then
    echo "No apt-get here: what follows needs what these Debian packages hold:" $wanted >&2
    exit 0
fi
missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=sudo
else
    echo "These packages are missing, and neither root's rights nor sudo are at hand to install them:" >&2
    echo "    apt-get install$missing" >&2
    exit 2
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for try in 1 2 3; do
    if $as_root apt-get -qq update >"$log" 2>&1 </dev/null &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y \
            $missing >>"$log" 2>&1 </dev/null; then
        exit 0
    fi
    [ $try -eq 3 ] || sleep 5
done
cat "$log" >&2
echo "apt-get could not install:$missing" >&2
exit 2
