#!/bin/sh
# Folders with which the service does not start: it says which and why, and exits with 2.
. "$(dirname "$0")/lib.sh"

watch() {
    expect 2 timeout $wait_s "$LEAT" watch -b cpu "$@"
}

mkdir -p spool/done
ln -s "$scratch/spool/in" inbox
for out in spool/in spool/in/results inbox/results spool/done spool/failed/x spool/.work; do
    watch --spool spool --output "$out"
    says "results cannot go to '$scratch/$out', which (is|lies in) '$scratch/spool/"
done
[ -z "$(ls -A spool/in)$(ls -A spool/failed)" ] || fail "a folder was left in in/ or failed/"
for out in spool spool/done/..; do
    watch --spool spool --output "$out"
    says "results cannot go to '$scratch/$out', which is the watched folder itself"
done

mkdir -p linked/elsewhere
ln -s elsewhere linked/.work
watch --spool linked
says "'$scratch/linked/.work' is a link and must be a folder of its own"
mkdir file
: >file/done
watch --spool file
says "'$scratch/file/done' must be a folder and is none"

[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "the rest needs another user's folders"
as_other() {
    expect 2 timeout $wait_s setpriv --reuid 65534 --regid 65534 --clear-groups "$LEAT" watch -b cpu \
        "$@"
}
chmod 755 .
mkdir mine theirs
chown 65534:65534 theirs
as_other --spool mine
says "the folder '$scratch/mine/in' cannot be made: Permission denied"
as_other --spool theirs --output mine
says "results cannot be written to '$scratch/mine': Permission denied; give the service's user the right"
mkdir -m 700 mine/in
as_other --spool mine
says "the folder '$scratch/mine/in' cannot be opened: Permission denied"
echo "each refused, with the reason"
