#!/bin/sh
# The Debian packages in a bare Debian 12 (debootstrap, as root, from a mirror): they are installed, compute, serve, and
# are removed and purged; nothing stays then but the data.
#
# usage: sh tests/packages.sh     the packages are built first. LEAT_MIRROR: where Debian is taken from.
set -eu
cd "$(dirname "$0")/.."
sh tests/install_packages.sh test
mirror=${LEAT_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)}

cmake --preset deb >/dev/null
cmake --build --preset deb -- --quiet
rm -f build/deb/*.deb
cpack --config build/deb/CPackConfig.cmake -B build/deb >build/deb/cpack.log || { cat build/deb/cpack.log; exit 1; }

root=$(mktemp -d "${TMPDIR:-/tmp}/leat-packages-XXXXXX")
chmod 755 "$root" # the service is another user
service=
leave() {
    [ -z "$service" ] || kill "$service" 2>/dev/null || :
    umount -l "$root/proc" "$root/dev/shm" 2>/dev/null || :
    rm -rf --one-file-system "$root"
}
trap leave EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
in_it() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
wait_for() {
    give_up=$(($(date +%s) + 240))
    until "$@"; do
        [ "$(date +%s)" -lt $give_up ] || fail "never: $*"
        sleep 0.1
    done
}

debootstrap --variant=minbase bookworm "$root" "$mirror" >build/deb/debootstrap.log 2>&1 || { tail build/deb/debootstrap.log; exit 1; }
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm" && mount -t tmpfs tmpfs "$root/dev/shm"
find "$root" -xdev -name '*leat*' >build/deb/before
mkdir "$root/packages"
cp build/deb/*.deb "$root/packages"
echo "== packages"
for package in build/deb/*.deb; do
    dpkg-deb -f "$package" Package Version Depends Recommends
done
dpkg-deb -f build/deb/leat_*.deb Depends | grep -E 'gdal|hdf5|xml|mpi' && fail "leat itself needs what its modules need"

echo "== installed"
in_it apt-get -qq update
cp samples/wells.clusters.csv samples/slope.dem.asc samples/slope.source.asc "$root/packages"
/usr/bin/python3 - "$root/packages" <<'END' # one file of each kind that a module reads
import sys
import h5py
import openpyxl
to = sys.argv[1]
with open(to + "/wells.clusters.csv", encoding="utf-8") as f:
    lines = [[name, *map(float, cells)] for name, *cells in (line.rstrip().split(",") for line in f)]
book = openpyxl.Workbook()
for line in lines:
    book.active.append(line)
book.save(to + "/sheet.clusters.xlsx")
with h5py.File(to + "/table.clusters.h5", "w") as f:
    f["x"] = [line[1:] for line in lines]
END
gdal_translate -q -of HFA samples/slope.dem.asc "$root/packages/other.dem.img"
gdal_translate -q -of HFA samples/slope.source.asc "$root/packages/other.source.img"
files='leat-xlsx:sheet.clusters.xlsx leat-hdf5:table.clusters.h5 leat-gdal:other.*.img'
in_it sh -c 'apt-get -qq install -y --no-install-recommends /packages/leat_*.deb >/packages/log 2>&1 || { cat /packages/log; exit 1; }'
for pair in $files; do
    module=${pair%%:*} file=${pair#*:}
    in_it leat doctor -b cpu | grep "^  $module *no .* module (.*) is installed" || fail "the doctor does not say that $module is missing"
    ! in_it sh -c "cd /packages && leat run -q -o no $file 2>refused" || fail "$file is read without $module"
    grep "install the package $module" "$root/packages/refused" || fail "$file: $(cat "$root/packages/refused")"
done
in_it sh -c 'apt-get -qq install -y --no-install-recommends /packages/*.deb >/packages/log 2>&1 || { cat /packages/log; exit 1; }'
in_it dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' 'leat*'
in_it dpkg -L leat leat-mpi leat-gdal leat-hdf5 leat-xlsx | grep -v '/$' | sort -u >build/deb/listed
[ "$(in_it dpkg-query -W -f '${Conffiles}' leat | awk '{ print $1 }' | tr -d '\n')" = /etc/leat/leat.conf ] || fail "no conffile"
in_it getent passwd leat >/dev/null || fail "no user"
[ "$(in_it stat -c '%a %U' /var/lib/leat/in)" = '3770 leat' ] || fail "in/: $(in_it stat -c '%a %U' /var/lib/leat/in)"
for file in man/man1/leat.1 man/man5/leat.conf.5 man/man7/leat-pearson.7 man/man8/leat-watch.8 bash-completion/completions/leat zsh/site-functions/_leat \
    doc/leat/copyright; do
    [ -s "$root/usr/share/$file" ] || fail "no $file"
done
grep -q '^ExecStart=/usr/bin/leat watch --config /etc/leat/leat.conf' "$root/usr/lib/systemd/system/leat.service" ||
    fail "the unit starts something else"

echo "== it works"
for pair in $files; do
    module=${pair%%:*} file=${pair#*:}
    in_it leat doctor -b cpu | grep "^  $module *[1-9]" || fail "$module does not work"
    in_it sh -c "cd /packages && leat run -q -o read/$module $file && ls read/$module/*" || fail "$file is not read"
done
in_it sh -c 'cd /packages && leat --version && leat doctor -b cpu && leat run wells.clusters.csv slope.*.asc && ls leat-out/*'
chroot "$root" env -i PATH=/usr/bin:/bin setpriv --reuid leat --regid leat --clear-groups \
    leat watch --config /etc/leat/leat.conf >build/deb/service.log 2>&1 & # itself, to be told to stop
service=$!
wait_for in_it leat status --spool /var/lib/leat >/dev/null 2>&1
cp samples/wells.clusters.csv "$root/var/lib/leat/in/"
in_it chown leat /var/lib/leat/in/wells.clusters.csv
wait_for test -e "$root/var/lib/leat/done/wells.clusters.csv"
kill "$service"
wait "$service" || fail "the service ends with $?: $(cat build/deb/service.log)"
service=

echo "== removed"
echo '# my own' >>"$root/etc/leat/leat.conf"
in_it apt-get -qq remove -y leat >/dev/null # and what depends on it
in_it dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'leat*'
[ ! -e "$root/usr/bin/leat" ] && grep -q 'my own' "$root/etc/leat/leat.conf" || fail "not removed, or the configuration is"
in_it sh -c 'apt-get -qq install -y --no-install-recommends /packages/leat_*.deb >/packages/log 2>&1 || { cat /packages/log; exit 1; }'
grep -q 'my own' "$root/etc/leat/leat.conf" || fail "the configuration is forgotten"
# shellcheck disable=SC2046 # several names
in_it dpkg --purge $(in_it dpkg-query -W -f '${Package} ' '*leat*') >/dev/null 2>&1
while read -r file; do
    [ -d "$root$file" ] || [ ! -e "$root$file" ] || fail "left behind: $file"
done <build/deb/listed
rm -r "$root/packages"
find "$root" -xdev -name '*leat*' -not -path "$root/var/lib/leat/*" | grep -vxFf build/deb/before | sed "s|^$root||"
left=$(find "$root" -xdev -name '*leat*' -not -path "$root/var/lib/leat*" | grep -vxFf build/deb/before || :)
[ -z "$left" ] || fail "left behind: $left"
[ -s "$root/var/lib/leat/out/wells/pearson.npz" ] || fail "the data are gone"
(cd "$root/var/lib/leat" && find . -type f | sort)
echo "installed, worked, removed, purged; the data are there"
