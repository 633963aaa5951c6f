#!/bin/sh
# What leat makes has the rights that the umask leaves, whoever is to read it.
. "$(dirname "$0")/lib.sh"

# only FOLDER FILES FOLDERS: all that lies in it has these rights.
only() {
    odd=$(find "$1" -mindepth 1 \( -type f ! -perm "$2" \) -o \( -type d ! -perm "$3" \))
    [ -z "$odd" ] || fail "umask $(umask): $(ls -ld $odd)"
}
printf '[pipeline sciddicat]\nsteps = 4\nsnapshot_every = 2\nraster = asc.gz\n' >leat.conf
for mask in 0 027; do
    umask $mask
    mkdir made
    expect 0 "$LEAT" generate clusters --series 3 --samples 12 -q -o made/sub.clusters.csv
    expect 0 "$LEAT" generate dem --rows 40 --columns 40 -q -o made/x.tif
    expect 0 "$LEAT" run -q -c leat.conf -o made/deep/out made
    expect 0 "$LEAT" run -q -o made/bundle --bundle made/sub.clusters.csv
    expect 0 "$LEAT" run -q -o made/bundle --bundle --force made/sub.clusters.csv
    [ -e made/deep/out/x/snapshots ] && [ -e made/bundle/sub/sub.zip ] || fail "$(find made)"
    only made $([ $mask = 0 ] && echo 666 777 || echo 640 750)
    rm -rf made
done
echo "files and folders are as the umask has them"
