#!/bin/sh
# Every way in which a file may come to the running service, and what may happen to it there.
# LEAT_SERVICE_SLOW_MB (16; 8 where a sanitizer watches): the size of the file that is written slowly; before a release
# 1000. The parts mostly wait, each for a service of its own: they do so together.
. "$(dirname "$0")/lib.sh"
parts="arriving changed removed without_leases"
for part in $parts; do
    mkdir $part
    (cd $part && exec "$python" "$here/service_inputs.py" $part >../$part.log 2>&1) &
    eval "pid_$part=$!"
done
failed=
for part in $parts; do
    eval "wait \$pid_$part" || failed="$failed $part"
    cat $part.log
done
[ -z "$failed" ] || fail "$failed"
