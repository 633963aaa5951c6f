#!/bin/sh
# The unit is one that systemd takes, it shuts the service in, and what is installed fits together.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$LEAT")/..
folder=$here/../../pipeline/systemd
unit=$build/pipeline/systemd/leat.service
[ -f "$unit" ] || skip "the service's unit was not configured"

# The default configuration has every key of the file, each with what holds without it: leat's own words.
"$LEAT" watch --help >watch.txt 2>/dev/null && options=$(grep -o -- '--[a-z-]*' watch.txt | sort -u) || options=
for option in $options; do
    key=$(echo "${option#--}" | tr - _)
    case $key in config | set | help | version) continue ;; esac
    grep -Eq "^#?$key = " "$folder/leat.conf" || fail "leat.conf says nothing about $key"
done
sed 's/^#\([a-z_]* = \)/\1/; s/^#\(\[\)/\1/' "$folder/leat.conf" >all.conf
mkdir -p spool/in spool/failed
for conf in "$folder/leat.conf" all.conf; do
    expect 2 "$LEAT" retry --config "$conf" --spool spool 20261121-030441-123456
    says 'no job' # and nothing about the configuration
done

# The unit stops later than the service wants to.
drain=$(sed -n 's/^#drain = //p' "$folder/leat.conf")
stop=$(sed -n 's/^TimeoutStopSec=//p' "$unit")
[ "$stop" -gt "$drain" ] || fail "TimeoutStopSec=$stop is not longer than drain = $drain"

for limit in MemoryMax TasksMax; do
    grep -Eq "^$limit=[0-9]+%?$" "$unit" || fail "the unit has no $limit"
done

command -v systemd-analyze >/dev/null || skip "no systemd-analyze here; the configuration is right"
sed "s|^ExecStart=[^ ]*|ExecStart=$LEAT|" "$unit" >leat.service
grep -q '^SystemCallFilter=@system-service.* landlock_restrict_self seccomp' "$unit" || fail "workers and the page cannot shut themselves in"
grep -q '^#http = unix:/run/leat/' "$folder/leat.conf" || fail "leat.conf suggests a page that the unit does not allow"
grep '^ListenStream=' "$folder/leat-http.socket" | grep -qvx 'ListenStream=/run/.*' && fail "the page is shown at an address"
cp "$folder/leat-http.socket" .
systemd-analyze verify --man=no ./leat.service ./leat-http.socket >verify.txt 2>&1
status=$?
grep leat verify.txt # what it says about other units of this machine does not matter
[ $status -eq 0 ] && ! grep -q leat verify.txt || fail "systemd-analyze verify: exit status $status"
# With the page, too: the unit opens no address itself, whichever socket the page is asked at.
systemd-analyze security --offline=true --threshold=10 ./leat.service >security.txt 2>&1 ||
    { cat security.txt; fail "the unit is less shut in than 1.0"; }
grep 'Overall exposure' security.txt
if command -v systemd-sysusers >/dev/null; then
    mkdir -p root/etc root/var/lib
    systemd-sysusers --root=root "$(realpath "$folder/leat.sysusers")" >sysusers.txt 2>&1 ||
        { cat sysusers.txt; fail "systemd-sysusers"; }
    grep -q '^leat:' root/etc/passwd || fail "no user leat"
fi
echo "the unit is valid and shut in"
