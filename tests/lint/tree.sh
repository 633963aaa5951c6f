#!/bin/sh
# The house rules that show in the text of the sources: which folder may include which (the table in
# ARCHITECTURE.md), the length of files, their names, left-overs. Prints every offence; exit status 1
# if there is one. `tree.sh FOLDER` looks at another tree, for this script's own test.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2
offences=$(mktemp) || exit 2
trap 'rm -f "$offences"' EXIT

# What git knows or would take; all files where there is no git.
files=$(git ls-files -co --exclude-standard 2>/dev/null) && [ -n "$files" ] ||
    files=$(find . \( -name build -o -name .git \) -prune -o -type f -print | sed 's|^\./||')
sources=$(printf '%s\n' "$files" | grep -E '\.(c|h|cpp|cu|cuh)$')

# Who may include whom: a regex for the including file, a regex for what it may include of ours.
# The first line that matches a file decides.
printf '%s\n' "$sources" | xargs awk '
    BEGIN {
        rule("^formats/", "^formats/")
        rule("^kernels/cpu/", "^(formats/|kernels/[^/]*$|kernels/cpu/)")
        rule("^kernels/cuda/", "^(formats/|kernels/[^/]*$|kernels/cuda/)")
        rule("^kernels/", "^(formats/|kernels/[^/]*$)")
        rule("^stages/", "^(formats/|kernels/[^/]*$|stages/)")
        rule("^watch/", "^(formats/(json_read|json_write|log|percent|status)[.]h|watch/)")
        rule("^pipeline/", "^(formats/|kernels/[^/]*$|stages/|watch/|pipeline/)")
        rule("^tests/", "^(formats|kernels|stages|watch|pipeline|tests)/")
        rule("", "^$")
    }
    function rule(who, whom) { n++; from[n] = who; to[n] = whom }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, part, "\"")
        for (i = 1; FILENAME !~ from[i]; i++) { }
        if (part[2] !~ to[i])
            printf "%s:%d: may not include %s\n", FILENAME, FNR, part[2]
    }
    /(^|[^_a-z])(abort|exit)\(/ && FILENAME !~ /^tests\// {
        printf "%s:%d: only main exits: %s\n", FILENAME, FNR, $0
    }
    FNR == 501 { printf "%s: %d lines and more; split it by idea\n", FILENAME, FNR }
    /TO[D]O|FIX[M]E|(^|[^X])X[X]X([^X]|$)|[ \t]+$/ { printf "%s:%d: left over: %s\n", FILENAME, FNR, $0 }
' >>"$offences"

printf '%s\n' "$files" | cut -d/ -f1 | sort -u |
    grep -vxE '\..*|CMakeLists\.txt|CMakePresets\.json|README\.md|ARCHITECTURE\.md|LICENSE|pipeline|stages|kernels|formats|watch|tests|samples' |
    sed 's/^/does not belong at the top level: /' >>"$offences"

# A stem is the prefix of what a file exports, so no two files share it, but for twins in cpu/ and cuda/.
printf '%s\n' "$sources" | grep -E '\.(c|cpp)$' | grep -vE '^(kernels|tests)/' |
    sed -E 's|.*/([^/]*)\.[a-z]+$|\1|' | sort | uniq -d | sed 's/^/two files have the stem /' >>"$offences"

cat "$offences"
[ ! -s "$offences" ]
