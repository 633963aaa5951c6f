#!/bin/sh
# The Debian package of this build: what it holds, and what is done when it comes and goes; tests/packages.sh installs it.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"
[ "$patience" -gt 1 ] && skip "packages are of builds without a sanitizer"
build=$(dirname "$LEAT")/..
[ -f "$build/CPackConfig.cmake" ] && command -v cpack >/dev/null && command -v dpkg-deb >/dev/null || skip "no cpack, or no dpkg"
cpack --config "$build/CPackConfig.cmake" -B . -D CPACK_COMPONENTS_ALL=leat >log 2>&1 || { cat log; fail "no package"; }
dpkg-deb -c leat_*.deb >listed || fail "no package"
for file in bin/leat lib/leat/leat_blas.so lib/leat/leat_cairo.so lib/leat/leat_http.so $(cd "$here/../../pipeline/manual" && ls *.[1-8] | sed 's,.*\([1-8]\)$,share/man/man\1/&,') share/doc/leat/copyright \
    share/doc/leat/CHANGELOG.md share/doc/leat/examples/level.nodes.csv share/bash-completion/completions/leat share/zsh/site-functions/_leat; do
    grep -q "/$file\$" listed || { cat listed; fail "no $file in the package"; }
done
grep -q 'leat_cuda.so\|leat_mpi.so\|leat_gdal.so\|leat_hdf5.so\|leat_xlsx.so' listed && fail "a module is in the wrong package"
dpkg-deb -f leat_*.deb Depends | grep -q 'libopenblas' || fail "libraries are not named"
dpkg-deb -f leat_*.deb Depends | grep -q 'libgdal\|libhdf5\|libxml2' && fail "leat wants what its modules alone need"
for format in gdal hdf5 xlsx; do
    [ -f "$build/lib/leat/leat_$format.so" ] || continue
    cpack --config "$build/CPackConfig.cmake" -B . -D CPACK_COMPONENTS_ALL=$format >log 2>&1 || { cat log; fail "no package leat-$format"; }
    dpkg-deb -c leat-${format}_*.deb | grep -q "/lib/leat/leat_$format[.]so$" || fail "no module in leat-$format"
    library=lib$format
    [ $format != xlsx ] || library=libxml2
    dpkg-deb -f leat-${format}_*.deb Depends | grep -q "leat (= .*$library\|$library.*leat (= " || fail "what leat-$format needs"
done
if grep -q '/leat.service$' listed; then
    dpkg-deb -e leat_*.deb control
    for script in postinst prerm postrm; do
        [ -x control/$script ] && sh -n control/$script || fail "$script"
    done
    grep -qx '/.*etc/leat/leat\.conf' control/conffiles && grep -q "[.]$(cat control/conffiles)\$" listed || fail "the configuration is not in the package: $(cat control/conffiles)"
fi
echo "$(wc -l <listed) files and folders"
cpack --config "$build/CPackConfig.cmake" -B . -D "CPACK_COMPONENTS_ALL=library;development" >log 2>&1 || { cat log; fail "no packages of the library"; }
dpkg-deb -c libleat0_*.deb | grep -q '/libleat\.so\.0\.' && dpkg-deb -c libleat-dev_*.deb >listed || fail "no library in its package"
for file in include/leat.h pkgconfig/leat.pc libleat.so; do
    grep -q "/$file" listed || { cat listed; fail "no $file in the package"; }
done
dpkg-deb -f libleat0_*.deb Depends | grep -q 'leat (= ' || fail "the library lacks the module for products"
dpkg-deb -f libleat-dev_*.deb Depends | grep -q '^libleat0 (= ' || fail "the packages may be of two versions"
cpack --config "$build/CPackConfig.cmake" -B . -D CPACK_COMPONENTS_ALL=python >log 2>&1 || { cat log; fail "no package for Python"; }
dpkg-deb -c python3-leat_*.deb | grep -q '/lib/python3/dist-packages/leat\.py$' || fail "no module in its package"
dpkg-deb -f python3-leat_*.deb Depends | grep -q 'libleat0 (= ' || fail "the module lacks its library"
