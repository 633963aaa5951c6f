#!/bin/sh
# The watched folder on ext4 and XFS that lose their power at random instants: loop devices, shut down before
# contents (and at times the journal) are written. Then the results alone on an XFS whose disk dies before an
# fsync while the service goes on. For root, where loop devices may be mounted. SPOOL_CUTS (30) sets the rounds on each.
# ctest: tsan=no
. "$(dirname "$0")/lib.sh"
harness=${SPOOL_HARNESS:-}
[ -x "$harness" ] || skip "no harness (SPOOL_HARNESS names it)"
[ "$(id -u)" -eq 0 ] || skip "only root may mount"
PATH=$PATH:/usr/sbin:/sbin
cuts=${SPOOL_CUTS:-30}
mkdir disk
trap 'umount disk 2>/dev/null; rm -rf "$scratch"' EXIT

tried=0 missing=
for kind in ext4 xfs; do
    command -v mkfs.$kind >/dev/null || { missing="$missing mkfs.$kind" && continue; }
    rm -f image
    truncate -s 400M image
    mkfs.$kind -q image 2>/dev/null && mount -o loop image disk 2>/dev/null || { missing="$missing $kind" && continue; }
    tried=$((tried + 1))
    export TMPDIR="$scratch/disk" REMOUNT="umount '$scratch/disk' && mount -o loop '$scratch/image' '$scratch/disk'"
    "$harness" disk "$cuts" >stdout 2>stderr || { cat stdout stderr >&2; fail "$kind"; }
    echo "$kind: $(tail -n 1 stdout)"
    if [ $kind = xfs ]; then # ext4 writes contents soon enough that chance would have to help
        "$harness" disk $((cuts < 30 ? 30 : cuts)) /sync >stdout 2>stderr && fail "$kind: nothing was found without fsync"
        echo "$kind, no fsync: $(tail -n 1 stdout)"
        TMPDIR=/tmp OUT_DISK="$scratch/disk" "$harness" out "$cuts" >stdout 2>stderr || { cat stdout stderr >&2; fail "$kind, results alone"; }
        echo "$kind, results alone: $(tail -n 1 stdout)"
    fi
    umount disk
done
[ $tried -gt 0 ] || skip "no loop devices can be mounted here (not to be had:$missing)"
[ -z "$missing" ] || skip "not to be had:$missing; the rest is well"
