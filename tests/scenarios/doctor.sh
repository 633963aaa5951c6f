#!/bin/sh
# leat doctor, the front door, and what is said about mistakes at it.
. "$(dirname "$0")/lib.sh"

expect 0 "$LEAT" doctor
for word in leat Backends cpu cuda --mpi Output 'open files' Landlock zlib; do
    grep -q -e "$word" stdout || fail "doctor does not speak of $word"
done
# A BLAS that takes the processor for an old one is named, with the way out.
if grep -q avx2 /proc/cpuinfo; then
    expect 0 env OPENBLAS_CORETYPE=Prescott "$LEAT" doctor -b cpu
    grep -q 'OPENBLAS_CORETYPE=\(SkylakeX\|Haswell\)' stdout || fail "doctor does not speak of a slow BLAS"
    expect 0 env -u OPENBLAS_CORETYPE "$LEAT" doctor -b cpu
    ! grep -q 'OPENBLAS_CORETYPE\|Prescott' stdout || fail "a slow BLAS is left to be one"
fi

(ulimit -n 200 && ulimit -l 64 && "$LEAT" doctor -b cpu --json --memory 3G -o /dev/../tmp) >limited.json || fail "doctor with limits"
"$LEAT" doctor -b cpu --memory 3G --threads 1 >limited || fail "doctor for people"
grep -q "^  memory .*, of which leat's own bulk memory may be 3.00 GiB$" limited && grep -q '^                 1 thread$' limited &&
    grep -Eq '^  processors     [0-9]+ usable, 1 computing thread$' limited || { cat limited; fail "the bounds are not told"; }
expect 0 "$LEAT" doctor -b cpu --json --threads 3 -o there
[ ! -e there ] || fail "doctor made the output folder"
mv stdout doctor.json
"$python" - <<'END' || fail "doctor --json"
import json, os, resource
d = json.load(open("doctor.json"))
assert list(d) == ["works", "version", "compiler", "machine", "backend_asked", "backend", "backends", "devices", "mpi", "output", "limits",
                   "sandbox", "libraries"], list(d)
machine, here = d["machine"], os.statvfs(".")
assert machine["threads"] == 3 and 1 <= machine["processors"] <= len(os.sched_getaffinity(0)), machine
assert machine["memory_bound"] == machine["memory_bytes"] // 2 and 0 < machine["memory_bytes"] <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
assert machine["system"] == "{0.sysname} {0.release} {0.machine}".format(os.uname()), machine
assert d["output"]["folder"] == "there" and d["output"]["where"] == os.path.realpath("."), d["output"]
assert 0.5 < (d["output"]["free_bytes"] + 1) / (here.f_bavail * here.f_frsize + 1) < 2, d["output"]
limited = json.load(open("limited.json"))
assert limited["machine"] == {**machine, "threads": machine["processors"], "memory_bound": 3 << 30}, limited["machine"]
assert limited["limits"] == {**d["limits"], "open_files": 200, "locked_bytes": 64 << 10}, limited["limits"]
assert limited["output"]["exists"] and limited["output"]["where"] == os.path.realpath("/tmp"), limited["output"]
soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
assert d["limits"]["open_files"] == (None if soft == resource.RLIM_INFINITY else soft), d["limits"]
assert all(d["libraries"].values()) and list(d["libraries"]) == ["libuv", "zlib", "libarchive", "cairo", "libmicrohttpd", "jansson", "leat-gdal", "leat-hdf5", "leat-xlsx"], d["libraries"]
assert d["works"] is True and d["backend"] == "cpu" and d["backend_asked"] == "cpu", d
assert d["backends"]["cpu"]["works"] is True and d["backends"]["cpu"]["threads"] == 3, d
assert d["output"] == {**d["output"], "exists": False, "writable": True}, d
assert len(d["mpi"]["library" if d["mpi"]["works"] else "reason"]) > 5, d
import ctypes
version = max(ctypes.CDLL(None).syscall(444, None, 0, 1), 0)
assert d["sandbox"]["landlock"] == version and (version >= 2) == (not any("Landlock" in why for why in d["sandbox"]["lacks"])), d
cuda = d["backends"]["cuda"]
assert cuda["works"] is True or len(cuda["reason"]) > 10, d
END
if grep -q '"reason"' doctor.json; then
    expect 2 "$LEAT" doctor -b cuda
    grep -q 'does not work' stdout || fail "doctor does not say that CUDA does not work"
    expect 2 "$LEAT" doctor -b cuda --json
    grep -q '"works": false' stdout || fail "doctor --json does not say so"
fi
[ "$(id -u)" -eq 0 ] || { mkdir closed && chmod 500 closed; }
[ -d closed ] || ln -s /proc/self closed # nobody writes there
expect 0 "$LEAT" doctor -o closed
grep -q 'not writable' stdout || { cat stdout; fail "doctor takes the output folder for writable"; }

expect 0 "$LEAT" --version
grep -Eq '^leat [0-9]+\.[0-9]+' stdout || fail "no version"
expect 0 "$LEAT" --help
for command in run check generate doctor; do
    grep -Eq "^  $command +" stdout || fail "--help does not name $command"
done
cp stdout help
for ask in -h help 'help --help' 'help -h' 'help help'; do
    expect 0 "$LEAT" $ask
    cmp -s stdout help || fail "leat $ask does not print the help"
    [ ! -s stderr ] || fail "leat $ask speaks on standard error"
done
expect 0 "$LEAT" help --version
expect 2 "$LEAT" help nothing
says "unknown topic 'nothing'"
for command in run check generate doctor watch status retry; do
    expect 0 "$LEAT" $command -h
    cp stdout help
    expect 0 "$LEAT" $command --help
    cmp -s stdout help || fail "$command: -h is not --help"
    grep -q "Usage: leat $command" stdout || fail "no help for $command"
    [ ! -s stderr ] || fail "$command --help speaks on standard error"
    for option in $(grep -oE -- ' --[a-z-]+' help); do
        grep -Eq "Fl (.* )?${option#-}( |\$)" "$here"/../../pipeline/manual/leat*.[18] ||
            fail "no manual page has $command $option"
    done
    expect 0 "$LEAT" help $command
    expect 0 "$LEAT" $command --version
    expect 2 "$LEAT" $command --nonsense
    says 'nonsense'
    [ ! -s stdout ] || fail "$command: a mistake is answered on standard output"
done
expect 2 "$LEAT"
says 'leat --help'
expect 2 "$LEAT" rnu x
says "'rnu'.*'run'"
expect 2 "$LEAT" -v run x
says '-v'
expect 2 "$LEAT" run --memry 1G x
says '--memry.*--memory'
printf 'threads = 1\n\n[pipeline pearson]\nprecison = f32\n' >leat.conf
expect 2 "$LEAT" run -c leat.conf x.clusters.csv
says "leat\.conf:4: .*precison.*precision"
if [ -w /dev/full ]; then
    "$LEAT" --help >/dev/full 2>stderr
    [ $? -eq 1 ] || fail "help that cannot be written is not exit status 1"
fi
echo "says what works, and what was meant"
