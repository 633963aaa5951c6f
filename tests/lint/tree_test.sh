#!/bin/sh
# Does tree.sh find what it is there to find? Plants one offence at a time into an otherwise clean tree.
set -u
tree=$(dirname "$0")/tree.sh
root=$(mktemp -d) || exit 2
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/formats" "$root/kernels/cpu" "$root/kernels/cuda" "$root/stages" "$root/watch" \
    "$root/pipeline" "$root/tests" || exit 2
printf '#include "formats/b.h"\n' >"$root/formats/a.c"
printf '#include "kernels/c.h"\n#include <stdio.h>\n' >"$root/stages/s.c"

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
expect formats/x.c '#include "kernels/means.h"\n' 'may not include kernels/means.h'
expect kernels/x.c '#include "kernels/cpu/gemm.h"\n' 'may not include kernels/cpu/gemm.h'
expect kernels/cpu/x.c '#include "kernels/cuda/x.h"\n' 'may not include kernels/cuda/x.h'
expect kernels/cuda/x.cu '  #  include "stages/stage.h"\n' 'may not include stages/stage.h'
expect stages/x.c '#include "kernels/cpu/gemm.h"\n' 'may not include kernels/cpu/gemm.h'
expect stages/x.h '#include "pipeline/crew.h"\n' 'may not include pipeline/crew.h'
expect watch/x.c '#include "formats/table.h"\n' 'may not include formats/table.h'
expect pipeline/x.c '#include "kernels/cuda/x.h"\n' 'may not include kernels/cuda/x.h'
expect stages/x.c '#include "neighbour.h"\n' 'may not include neighbour.h'
expect formats/x.c '/* TO''DO */\n' 'left over'
expect stages/x.c 'exit(1);\n' 'only main exits'
expect watch/a.c 'int x;\n' 'stem a'
expect top.c 'int x;\n' 'top level'
expect formats/x.c "$(yes 'int;' | head -501)\n" '501 lines'
expect kernels/cuda/x.cu "$(yes 'int;' | head -501)\n" '501 lines'
expect tests/x.c "$(yes 'int;' | head -501)\n" '501 lines'
exit $failed
