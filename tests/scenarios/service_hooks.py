"""Commands for jobs that have ended (on_done and on_failed): what they are told, how many run and for how long, and that
nobody waits for them."""
# ctest: tsan=soak
import json
import os
import signal

from lib import TREE, begin
from service import Service, committed, grid, part_of, table

begin()
HERE = os.getcwd()


def script(name, text):
    with open(name, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(name, 0o755)
    return os.path.join(HERE, name)


def lines(name):
    if not os.path.exists(name):
        return []
    with open(name) as f:
        return f.read().split("\n")[:-1]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# What it is told, and what is made of its output and its end.
told = script("told.sh", f'''exec 3>told.new
printf '%s\\n' "$#" "$@" >&3
env | grep '^LEAT_' | sort >&3
[ -z "$NOTIFY_SOCKET" ] || echo "it could speak to systemd" >&3
cat; echo "said on output"; printf 'and \\033[2J on error' >&2
exec 3>&-
mv told.new "told.$LEAT_EVENT"
[ "$LEAT_EVENT" = done ] || exit 3
''')
s = Service("spool", "--on-done", f"{told} -x 'a  $HOME \"b\"'", "--on-failed", told, env={"NOTIFY_SOCKET": "", "LEAT_X": "1"})
s.drop("sub/good one.clusters.csv", table())
s.until(lambda: os.path.exists("told.done"), "a command for a job that is done")
job = s.until(lambda: s.status()["done"], "the job in the status")[0]
got = lines("told.done")
result = s.spool + "/out/sub/good one"
s.check(got[:4] == ["3", "-x", 'a  $HOME "b"', result], got)
facts = dict(line.split("=", 1) for line in got[4:])
s.check(float(facts.pop("LEAT_SECONDS")) > 0 and facts == {
    "LEAT_EVENT": "done", "LEAT_ID": job["id"], "LEAT_NAME": "in/sub/good one.clusters.csv", "LEAT_PIPELINE": "pearson",
    "LEAT_ATTEMPTS": "1", "LEAT_SPOOL": s.spool, "LEAT_RESULT": result}, facts)
s.until(lambda: "on_done of in/sub/good one.clusters.csv: said on output" in s.said(), "its output in the log")
s.until(lambda: "on_done of in/sub/good one.clusters.csv: and \\x1b[2J on error" in s.said(), "its last line, without an end")
s.drop("bad.clusters.csv", "1,2\n3,x\n")
s.until(lambda: os.path.exists("told.failed"), "a command for a job that has failed")
id = s.until(lambda: s.status()["failed"], "the failure in the status")[0]["id"]
got = lines("told.failed")
facts = dict(line.split("=", 1) for line in got[2:] if "=" in line)
s.check(got[:2] == ["1", f"{s.spool}/failed/{id}"], got)
s.check(facts["LEAT_FAILED"] == got[1] and facts["LEAT_KIND"] == "bad-input" and '"x"' in facts["LEAT_REASON"], facts)
s.until(lambda: f"on_failed of in/bad.clusters.csv: '{told}' ended with status 3" in s.said(), "a warning")
s.until(lambda: s.status()["hooks"] == {"waiting": 0, "running": 0, "run": 2, "failed": 1, "dropped": 0}, s.status()["hooks"])
s.stop()
s.is_clean()

# All that it finds in its environment: the service's, without what is between that and systemd, and the facts.
dumped = script("dumped.sh", f'env -0 >{HERE}/dumped.new; mv {HERE}/dumped.new {HERE}/dumped\n')
own = {"NOTIFY_SOCKET": "@leat", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1", "LISTEN_FDS": "0", "LISTEN_PID": "1", "LEAT_X": "1",
       "OPENBLAS_NUM_THREADS": "7"}
s = Service("spool", "--on-done", dumped, env={**own, "KEPT": "a b\nc", "NOTIFY": "x", "OPENBLAS": "y"})
s.drop("sub/x.dem.asc", grid(False))
s.drop("sub/x.source.asc", grid(True))
s.until(lambda: os.path.exists("dumped"), "its environment")
with open("dumped") as f:
    got = dict(line.split("=", 1) for line in f.read().split("\0")[:-1])
job = s.until(lambda: s.status()["done"], "the job in the status")[0]
s.check(0 < float(got.pop("LEAT_SECONDS")), "seconds")
want = {**{key: value for key, value in os.environ.items() if not key.startswith(("LEAT_", "OPENBLAS_NUM"))}, "KEPT": "a b\nc", "NOTIFY": "x", "OPENBLAS": "y",
        "LEAT_EVENT": "done", "LEAT_ID": job["id"], "LEAT_NAME": "in/sub/x.dem.asc", "LEAT_PIPELINE": "sciddicat", "LEAT_ATTEMPTS": "1",
        "LEAT_SPOOL": s.spool, "LEAT_RESULT": s.spool + "/out/sub/x"}
for name in ("PWD", "OLDPWD", "SHLVL", "_", "OPENBLAS_CORETYPE"):  # the shell's own, and what leat chooses for itself
    got.pop(name, None), want.pop(name, None)
s.check(got == want, {key: (got.get(key), want.get(key)) for key in got.keys() | want.keys() if got.get(key) != want.get(key)})
s.stop()

# The manual's example logs one line of a name that would break it, and runs nothing of what the name says.
manual = os.path.join(TREE, "pipeline/manual/leat-watch.8")
example = [line for line in lines(manual) if line.startswith("on_failed = ")]
os.mkdir("bin")
script("bin/logger", f'{{ printf "%s\\n" "$@"; [ $# -gt 0 ] || cat; echo; }} >{HERE}/logged.new; mv {HERE}/logged.new {HERE}/logged\n')
with open("example.conf", "w") as f:
    f.write(example[0] + "\n")
s = Service("spool", "-c", "example.conf", env={"PATH": f"{HERE}/bin:" + os.environ["PATH"]})
s.drop("x\n\x1b[2J'\"; $(touch pwned) `touch pwned`.clusters.csv", "1,2\n3,x\n")
s.until(lambda: os.path.exists("logged"), "the manual's example")
said = [line for line in lines("logged") if line != ""]
s.check(len(said) == 1 and said[0].startswith("in/x??[2J'\"; $(touch pwned) `touch pwned`.clusters.csv: "), said)
s.check('"x" is not a number' in said[0] and not os.path.exists("pwned"), said)
s.stop()

# A program that is not there is a warning; one that says much is cut short.
much = script("much.sh", "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i + 1)); done; echo >much.done\n")
s = Service("spool", "--on-done", much, "--on-failed", "/no/such/program")
s.drop("a.clusters.csv", table(seed=2))
s.drop("b.clusters.csv", "1,2\n3,x\n")
s.until(lambda: "on_failed of in/b.clusters.csv: '/no/such/program' cannot be run: no such file" in s.said(), "a warning")
s.until(lambda: os.path.exists("much.done") and s.status()["hooks"]["running"] == 0, "all that it says")
s.until(lambda: s.status()["hooks"] == {"waiting": 0, "running": 0, "run": 2, "failed": 1, "dropped": 0}, s.status()["hooks"])
s.check("line 99\n" in s.said() and "line 100\n" not in s.said() and "further output is not logged" in s.said(), "its output")
s.stop()

# One that ignores SIGTERM, as do those that it has started, is killed with them; so is what one leaves behind that ends.
stubborn = script("stubborn.sh", """trap '' TERM
sh -c 'echo $$ >>stubborn; while :; do sleep 1000; done' &
echo $$ >>stubborn
[ "$LEAT_NAME" = in/ends.clusters.csv ] || while :; do sleep 1000; done
""")
s = Service("spool", "--on-done", stubborn, "--hook-timeout", "1")
s.drop("stays.clusters.csv", table(seed=3))
s.until(lambda: "on_done of in/stays.clusters.csv: '" in s.said() and "was killed: it took longer than 1 s" in s.said(), "its end")
s.until(lambda: not any(alive(pid) for pid in lines("stubborn")), "the end of what it has started")
s.until(lambda: len(lines("stubborn")) == 2 and s.status()["hooks"]["running"] == 0, f"{lines('stubborn')}: {s.status()['hooks']}")
s.drop("ends.clusters.csv", table(seed=4))
s.until(lambda: len(lines("stubborn")) >= 3 and s.status()["hooks"]["running"] == 0, "another")
s.until(lambda: not any(alive(pid) for pid in lines("stubborn")), "the end of what that has left behind")
s.stop()
s.is_clean()

# Commands that do not end hold up nobody: a few run, some wait, and the rest is left out; their time comes.
hang = script("hang.sh", 'echo $$ >>hanging; sleep 1000 & wait\n')
with open("leat.conf", "w") as f:
    f.write(f"on_done = {hang}\nhook_timeout = 0\n")
s = Service("spool", "-c", "leat.conf")
for i in range(265):
    s.drop(f"job{i}.clusters.csv", table(rows=3, columns=4, seed=i))
s.until(lambda: s.status()["totals"]["done"] == 265, "all jobs")
s.until(lambda: len(lines("hanging")) == 4, "four commands")
s.until(lambda: s.status()["hooks"] == {"waiting": 256, "running": 4, "run": 4, "failed": 0, "dropped": 5}, s.status()["hooks"])
s.check(s.said().count("too many wait for their turn") == 1, "not said once")
os.rename("hanging", "hung")
for pid in lines("hung"):
    os.kill(int(pid), signal.SIGTERM)
s.until(lambda: len(lines("hanging")) == 4, "the next four")
s.until(lambda: "ended by signal 15" in s.said() and s.status()["hooks"]["waiting"] == 252, s.status()["hooks"])
with open("leat.conf", "w") as f:
    f.write(f"on_done = {hang}\nhook_timeout = 0.1\n")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "configuration has been read again" in s.said(), "another time")
for pid in lines("hanging")[-4:]:
    os.kill(int(pid), signal.SIGKILL)
s.until(lambda: "was killed: it took longer than 0.1 s" in s.said(), "one that is killed for its time")

# Told to stop it waits for them as long as for jobs; then they are killed, with what they have begun.
with open("leat.conf", "w") as f:
    f.write(f"on_done = {hang}\nhook_timeout = 0\n")
os.unlink("hanging")
s.process.send_signal(signal.SIGHUP)
s.until(lambda: s.said().count("configuration has been read again") == 2, "no time")
for i in range(4):
    s.drop(f"last{i}.clusters.csv", table(rows=3, columns=4, seed=i))
s.until(lambda: s.status()["totals"]["done"] == 269, "some more jobs")
s.until(lambda: s.status()["hooks"]["running"] == 4 and len(lines("hanging")) >= 4, "four that do not end")
s.process.send_signal(signal.SIGTERM)
s.until(lambda: s.status()["state"] == "draining", "a drain")
s.until(lambda: s.status()["hooks"]["running"] == 4, "they were killed at once")
s.stop()  # the second signal
s.check("on_done and on_failed are killed" in s.said(), "nothing is said")
s.check(not any(alive(pid) for pid in lines("hanging")), "commands outlive the service")
s.is_clean()

# Killed while one runs: at most once, and nothing else is lost.
os.unlink("hanging")
s = Service("spool", "-c", "leat.conf")
s.drop("killed.clusters.csv", table(seed=7))
s.until(lambda: lines("hanging"), "a command")
s.stop(None, signal.SIGKILL)
left = int(lines("hanging")[0])
s = Service("spool", "-c", "leat.conf")
s.drop("next.clusters.csv", table(seed=8))
s.until(lambda: len(lines("hanging")) == 2, "the next one's")
s.until(lambda: s.has("out/killed/result.json") and s.status()["hooks"]["run"] == 1, s.status()["hooks"])
os.killpg(left, signal.SIGKILL)
s.process.send_signal(signal.SIGTERM)
s.until(lambda: s.status()["state"] == "draining", "a drain")
s.stop()

# A job that recovery brings to its end is told, too.
ID = "20200102-030405-000006"
os.makedirs(f"spool/.work/{ID}/in")
os.makedirs(part_of("spool", ID))
for path, text in ((f"spool/.work/{ID}/in/d.clusters.csv", table()), (part_of("spool", ID) + "/result.json", "{}"),
                   (f"spool/.work/{ID}/job", json.dumps(committed("spool", ID, "d")))):
    with open(path, "w") as f:
        f.write(text)
os.unlink("told.done")
s = Service("spool", "--on-done", told)
s.until(lambda: os.path.exists("told.done"), "a command for what was found at the start")
s.check(f"LEAT_ID={ID}" in lines("told.done") and lines("told.done")[1] == s.spool + "/out/d", lines("told.done"))
s.stop()
s.is_clean()

# One that has failed, whose place in failed/ is taken.
BAD = "20200102-030405-000007"
os.makedirs(f"spool/.work/{BAD}/in")
for path, text in ((f"spool/failed/{BAD}", ""), (f"spool/.work/{BAD}/in/e.clusters.csv", table()),
                   (f"spool/.work/{BAD}/reason.json", json.dumps({"schema": 1, "kind": "x", "reason": "because"})),
                   (f"spool/.work/{BAD}/job", json.dumps({"schema": 1, "id": BAD, "folder": "", "stem": "e", "parameters": {}, "inputs": [
                       {"name": "e.clusters.csv", "inode": 1, "bytes": 7, "mtime_ns": 1}]}))):
    with open(path, "w") as f:
        f.write(text)
os.unlink("told.failed")
s = Service("spool", "--on-failed", told)
s.until(lambda: os.path.exists("told.failed"), "a command for a failure that was found at the start")
s.check(lines("told.failed")[1] == f"{s.spool}/failed/{BAD}~2" and s.has(f"failed/{BAD}~2/reason.json"), lines("told.failed"))
s.check({"LEAT_KIND=x", "LEAT_REASON=because"} <= set(lines("told.failed")), lines("told.failed"))
s.stop()
s.is_clean()
print("what commands are told, and that nobody waits for them")
