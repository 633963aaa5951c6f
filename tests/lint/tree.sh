#!/bin/sh
# The house rules that show in the text of the sources: which room may include which (the table in
# ARCHITECTURE.md), the names of files, left-overs. Prints every offence; exit status 1
# if there is one. `tree.sh FOLDER` looks at another tree, for this script's own test.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2
offences=$(mktemp) || exit 2
trap 'rm -f "$offences"' EXIT

# What git knows or would take; all files where there is no git.
files=$(git ls-files -co --exclude-standard 2>/dev/null) && [ -n "$files" ] ||
    files=$(find . \( -name build -o -name .git \) -prune -o -type f -print | sed 's|^\./||')
sources=$(printf '%s\n' "$files" | grep -E '\.(c|h|cpp|cu|cuh)$')
families=$(printf '%s\n' "$sources" | sed -n 's|^kernels/\([^/]*\)/.*|\1|p' | sort -u | grep -vx base | paste -sd'|')

# Who may include whom, room by room: what lies in a room may include what lies there, and what its line says: prefixes
# of paths. `contracts` are the headers of kernels for others: backend.h and its neighbours, X/X.h, X/X_rule.h,
# X/X_setup.h, X/X_solve.h, kmeans/kmeans_(resident|sample).h, sciddicat/(bands|landslide).h,
# pearson/(blocks|column_gaps|correlate|lags|partners|pearson_pairs|significance_rule).h and base/room.h.
printf '%s\n' "$sources" | xargs awk -v topics="$families" '
    BEGIN {
        n_topics = split(topics, topic, "|")
        contracts = "kernels/[^/]*$"
        for (t = 1; t <= n_topics; t++)
            contracts = contracts " kernels/" topic[t] "/" topic[t] "(_rule|_setup|_solve)?[.]h"
        contracts = contracts " kernels/sciddicat/(bands|landslide)[.]h kernels/pearson/(blocks|column_gaps|correlate|lags|partners|pearson_pairs|significance_rule)[.]h kernels/base/room[.]h"
        contracts = contracts " kernels/kmeans/kmeans_(resident|sample)[.]h"

        base = "formats/base/"
        room("formats/base/", "")
        room("formats/(source|geo|pack)/", base)
        room("formats/table/", base " formats/source/ formats/geo/")
        room("formats/result/", base " formats/geo/ formats/pack/")
        room("kernels/base/", base " kernels/backend[.]h")
        room("kernels/pearson/", base " kernels/backend[.]h kernels/base/ kernels/means/ kernels/matrix/")
        room("kernels/kmeans/", base " kernels/backend[.]h kernels/base/ kernels/philox/philox_rule[.]h")
        room("kernels/(" topics ")/", base " kernels/backend[.]h kernels/base/")
        room("kernels/[^/]*$", base " kernels/base/ " contracts)
        room("stages/[^/]+/", "formats/ stages/base/ stages/stage[.]h " contracts)
        room("stages/[^/]*$", "formats/ " contracts)
        room("watch/files/", base)
        room("watch/arrival/", base " watch/files/")
        room("watch/spool/", base " watch/")
        lower = "formats/ stages/stage[.]h " contracts
        n_rooms = split("names settings ranks engine library inputs generate worker status page service commands", pipeline, " ")
        for (p = 1; p <= n_rooms; p++) {
            lower = lower " pipeline/" pipeline[p] "/"
            if (pipeline[p] == "names")
                lower = lower " watch/files/"
            if (pipeline[p] == "engine")
                lower = lower " stages/base/pull[.]h"
            if (pipeline[p] == "worker")
                lower = lower " watch/"
            room("pipeline/" pipeline[p] "/", lower)
        }
        room("pipeline/[^/]*$", lower)
        room("tests/", "formats/ kernels/ stages/ watch/ pipeline/ tests/support/")
    }
    function room(who, whom) { n++; from[n] = "^" who; to[n] = whom; gsub(" ", "|^", to[n]); to[n] = "^" to[n] }
    function name_of_room(path) { sub("/[^/]*$", "", path); return path }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, part, "\"")
        own = name_of_room(part[2]) == name_of_room(FILENAME)
        for (i = 1; i <= n && FILENAME !~ from[i]; i++) { }
        if (i > n || !own && (to[i] == "^" || part[2] !~ to[i]) ||
            !own && part[2] ~ "_state[.]h" && FILENAME !~ "^tests/" ||
            FILENAME ~ "_cpu[.]" && part[2] ~ "_cuda[.]" || FILENAME ~ "_cuda[.]" && part[2] ~ "_cpu[.]")
            printf "%s:%d: may not include %s\n", FILENAME, FNR, part[2]
    }
    /(^|[^_a-z])(abort|exit)\(/ && FILENAME !~ /^tests\// {
        printf "%s:%d: only main exits: %s\n", FILENAME, FNR, $0
    }
    /TO[D]O|FIX[M]E|(^|[^X])X[X]X([^X]|$)|[ \t]+$/ { printf "%s:%d: left over: %s\n", FILENAME, FNR, $0 }
' >>"$offences"

printf '%s\n' "$files" | cut -d/ -f1 | sort -u |
    grep -vxE '\..*|CMakeLists\.txt|CMakePresets\.json|README\.md|ARCHITECTURE\.md|CHANGELOG\.md|PERFORMANCE\.md|LICENSE|pipeline|stages|kernels|formats|watch|tests|samples' |
    sed 's/^/does not belong at the top level: /' >>"$offences"

# A stem is the prefix of what a file exports, so no two files share it.
printf '%s\n' "$sources" | grep -E '\.(c|cpp|cu)$' | grep -vE '^tests/' |
    sed -E 's|.*/([^/]*)\.[a-z]+$|\1|' | sort | uniq -d | sed 's/^/two files have the stem /' >>"$offences"

cat "$offences"
[ ! -s "$offences" ]
