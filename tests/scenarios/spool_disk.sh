#!/bin/sh
# The watched folder on ext4 and XFS that lose their power at random instants: loop devices, shut down before
# contents (and at times the journal) are written. And the results alone on an XFS whose disk dies before an
# fsync while the service goes on. For root, where loop devices may be mounted. SPOOL_CUTS (30) sets the rounds of each,
# SPOOL_DISKS which of them; they run side by side, each on a file system of its own.
# ctest: tsan=no
in_memory=yes
. "$(dirname "$0")/lib.sh"
harness=${SPOOL_HARNESS:-}
[ -x "$harness" ] || skip "no harness (SPOOL_HARNESS names it)"
[ "$(id -u)" -eq 0 ] || skip "only root may mount"
PATH=$PATH:/usr/sbin:/sbin
cuts=${SPOOL_CUTS:-30}
disks=${SPOOL_DISKS:-ext4 xfs alone unsynced unsynced_alone}
trap 'umount ./*/disk 2>/dev/null; rm -rf "$scratch"' EXIT

# cut NAME KIND: the cuts of that name, on a disk of that kind; what it says, and that it failed or had no disk, in files.
cut() {
    mkdir "$1" "$1/disk" "$1/spool"
    disk=$scratch/$1/disk image=$scratch/$1/image said=$scratch/$1
    truncate -s 400M "$image"
    command -v mkfs."$2" >/dev/null && mkfs."$2" -q "$image" 2>/dev/null && mount -o loop "$image" "$disk" 2>/dev/null || {
        echo " $2" >"$said/missing"
        return
    }
    # Whoever looks through all mounts keeps a disk busy for an instant.
    export TMPDIR="$disk" REMOUNT="for i in 1 2 3 4 5 6 7 8 9; do umount '$disk' 2>/dev/null && break; sleep 0.\$i; done
        mount -o loop '$image' '$disk'"
    case $1 in
    alone) TMPDIR=$said/spool OUT_DISK=$disk "$harness" out "$cuts" ;;
    unsynced) ! "$harness" disk $((cuts < 30 ? 30 : cuts)) /sync ;;
    unsynced_alone) ! TMPDIR=$said/spool OUT_DISK=$disk "$harness" out $((cuts < 30 ? 30 : cuts)) publish.out/fsync ;;
    *) "$harness" disk "$cuts" ;;
    esac >"$said/stdout" 2>&1 || touch "$said/failed"
    umount "$disk"
}

# The controls, without fsync, are of XFS: ext4 writes contents soon enough that chance would have to help.
for name in $disks; do
    case $name in ext4) cut $name ext4 ;; *) cut $name xfs ;; esac &
done
wait
for name in $disks; do
    case $name in unsynced*) found='s/, .*/, found/' ;; *) found= ;; esac
    [ -e $name/missing ] || echo "$name: $(tail -n 1 $name/stdout | sed "$found")"
done
for name in $disks; do
    [ ! -e $name/failed ] || { cat $name/stdout >&2; fail "$name"; }
done
missing=$(cat ./*/missing 2>/dev/null | sort -u | tr -d '\n')
[ "$(cat ./*/missing 2>/dev/null | wc -l)" -lt "$(echo "$disks" | wc -w)" ] || skip "no loop devices can be mounted here (not to be had:$missing)"
[ -z "$missing" ] || skip "not to be had:$missing; the rest is well"
