#!/bin/sh
# Ranks of Open MPI's mpirun on one host: each result once and whole, also when one of them is killed, stopped, started
# otherwise than the others, or all are interrupted. Not tried here: two hosts, a launcher of another kind.
. "$(dirname "$0")/lib.sh"
# What does not take MPI: a module that is none.
printf 'a,b\n1,2\n3,5\n4,4\n' >x.clusters.csv
mkdir modules
echo none >modules/leat_mpi.so
LEAT_MODULE_DIR=$PWD/modules expect 2 "$LEAT" run --mpi -b cpu -o none x.clusters.csv
says '--mpi: cannot load the MPI module: .*leat_mpi\.so'
[ ! -e none ] || fail "something was done without MPI"

mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "no mpirun of Open MPI"
"$LEAT" doctor >stdout
grep -q 'no MPI module' stdout && skip "leat_mpi.so was not built"
grep -q '^  --mpi *can be used' stdout || { cat stdout; fail "doctor: MPI cannot be used"; }
# What MPI's libraries keep until the end is not leat's.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --oversubscribe -n 2 true 2>stderr || { cat stderr; skip "mpirun starts no processes here"; }
expect 0 "$LEAT" run --mpi -b cpu -o alone x.clusters.csv
[ -e alone/x/result.json ] || fail "one rank without mpirun did nothing"
if strace -o /dev/null true 2>strace.said; then
    expect 0 strace -f -e trace=rt_sigaction -e signal=none -o actions "$LEAT" run --mpi -b cpu -o traced x.clusters.csv
    grep -q 'SIGTERM, {sa_handler=0x' actions || fail "no rank watches for signals"
    awk '/SIG(INT|TERM), [{]sa_handler=0x/ { watched[$1] = 1 }
        /SIG(INT|TERM), [{]sa_handler=SIG_DFL/ && watched[$1] { exit 1 }' actions ||
        fail "a rank that is done can be ended by a first signal: $(cat actions)"
fi
PMI_RANK=0 PMI_SIZE=4 expect 2 "$LEAT" run --mpi -b cpu -o none x.clusters.csv
says '--mpi: 4 processes have been started together, but Open MPI .* finds this one alone'
# For ranks with devices, which the CPU plays (lib_devices.sh): both modules in one folder.
module=$(dirname "$LEAT")/../lib/leat/leat_mpi.so
[ -e "$module" ] && (. "$here/lib_devices.sh" && mkdir both && ln -s "$LEAT_MODULE_DIR/leat_cuda.so" "$module" both/)
"$python" "$here/mpi.py" || exit 1
