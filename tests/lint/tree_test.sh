#!/bin/sh
# Does tree.sh find what it is there to find? Plants one offence at a time into an otherwise clean tree.
set -u
tree=$(dirname "$0")/tree.sh
root=$(mktemp -d) || exit 2
trap 'rm -rf "$root"' EXIT
for room in formats/base formats/table formats/result kernels/base kernels/means kernels/pearson stages/pearson \
    watch/files watch/spool pipeline/engine pipeline/service pipeline/commands tests; do
    mkdir -p "$root/$room" || exit 2
done
printf '#include "formats/base/b.h"\n' >"$root/formats/base/a.c"
printf '#include "kernels/pearson/pearson_rule.h"\n#include <stdio.h>\n' >"$root/stages/pearson/s.c"
printf '#include "kernels/means/moments_cpu.h"\n' >"$root/kernels/pearson/k_cpu.c"
printf '#include "watch/spool/spool.h"\n#include "pipeline/service/service_state.h"\n' >"$root/pipeline/service/p.c"

failed=0
if ! sh "$tree" "$root" >/dev/null; then
    echo "a clean tree is refused"
    failed=1
fi
# expect FILE TEXT WORDS: tree.sh must fail, and say WORDS, once FILE holds TEXT.
expect()
{
    printf '%b' "$2" >"$root/$1"
    if said=$(sh "$tree" "$root"); then
        echo "not found: $1: $2"
        failed=1
    elif ! printf '%s' "$said" | grep -q "$3"; then
        echo "found $1, but said: $said"
        failed=1
    fi
    rm "$root/$1"
}
may_not()
{
    expect "$1" "#include \"$2\"\n" "may not include $2"
}
may_not formats/base/x.c kernels/means/means.h
may_not formats/base/x.c formats/table/table.h
may_not formats/table/x.c formats/result/result.h
may_not formats/result/x.c formats/table/table.h
may_not kernels/base/x_cpu.c kernels/means/means.h
may_not kernels/means/x_cpu.c kernels/pearson/pearson.h
may_not kernels/means/x_cpu.c kernels/means/means_cuda.h
may_not kernels/means/x_cuda.cu kernels/means/means_cpu.h
may_not kernels/x.c kernels/pearson/pearson_cpu.h
may_not kernels/x.c stages/stage.h
may_not stages/pearson/x.c kernels/pearson/pearson_cpu.h
may_not stages/pearson/x.h pipeline/engine/thread_pool.h
may_not stages/pearson/x.h stages/sciddicat/sciddicat_job.h
may_not stages/x.c neighbour.h
may_not watch/files/x.c watch/spool/spool.h
may_not watch/spool/x.c formats/table/table.h
may_not pipeline/engine/x.c watch/spool/spool.h
may_not pipeline/engine/x.c pipeline/service/service.h
may_not pipeline/commands/x.c pipeline/service/service_state.h
may_not formats/x.c formats/base/status.h
expect kernels/base/x.cu '  #  include "stages/stage.h"\n' 'may not include stages/stage.h'
expect formats/base/x.c '/* TO''DO */\n' 'left over'
expect stages/x.c 'exit(1);\n' 'only main exits'
expect watch/spool/a.c 'int x;\n' 'stem a'
expect kernels/base/a.cu 'int x;\n' 'stem a'
expect top.c 'int x;\n' 'top level'
exit $failed
