"""What a worker, the page's process and a command of the service cannot do. By root alone, since the service is another
user's here, with the one capability that its unit gives it."""
# ctest: slots=1
import json
import os
import re
import subprocess
import sys

from lib import begin, needs_another_user, needs_faulty
from service import LEAT, OTHER, Service, table

begin()
needs_faulty()
needs_another_user()
FAULTY = os.environ["LEAT_FAULTY"]
TRIED = 48
CAP_LEASE = 1 << 28
SKIPPED = 77

means = json.loads(subprocess.run([LEAT, "doctor", "--json", "-b", "cpu"], capture_output=True).stdout)["sandbox"]
holds = means["landlock"] >= 2 and means["filter"]

for name in ("other", "other/spool", "other/spool/in"):
    os.mkdir(name)
    os.chown(name, OTHER, OTHER)
os.chmod(".", 0o711)
with open("other/token", "w") as f:
    f.write("abcdefgh-0123456789\n")
os.chown("other/token", OTHER, OTHER)
os.chmod("other/token", 0o400)
with open("as-other", "w") as f:
    f.write(f"""#!/bin/sh
exec setpriv --reuid {OTHER} --regid {OTHER} --clear-groups --pdeathsig KILL --inh-caps=-all,+lease --ambient-caps=-all,+lease \
    --bounding-set=-all,+lease "{FAULTY}" "$@"
""")
with open("hook", "w") as f:
    f.write("#!/bin/sh\ngrep ^Cap /proc/self/status | tr '\\t' ' '\n")
for name in ("as-other", "hook"):
    os.chmod(name, 0o755)


def rights(process):
    """Of a process, from its status: capabilities in effect and such as it may get, and the rest."""
    with open(f"/proc/{process}/status") as f:
        return dict(re.findall(r"^(\w+):\s+(\w+)$", f.read(), re.M))


def capabilities(status):
    return {int(status[name], 16) for name in ("CapPrm", "CapEff", "CapAmb")}


s = Service("other/spool", "--http", "unix:" + os.path.abspath("other/http.sock"), "--http-token-file", "other/token", "--on-done",
            os.path.abspath("hook"), program="./as-other",
            env={"LEAT_WORKER_FAULT": "reach tries", "LEAT_REACH": os.path.abspath("other/spool")})
s.check(int(rights(s.process.pid)["CapEff"], 16) == CAP_LEASE, "the service lacks what it needs")
s.check(os.stat(f"/proc/{s.process.pid}/environ").st_uid == 0, "its user may look into the service")
if not holds:
    s.check(means["lacks"] and all(text in s.said() for text in means["lacks"]), f"nothing is said of {means}")
    s.stop()
    print(f"SKIPPED: this kernel lacks what keeps workers from the rest: {means['lacks']}")
    sys.exit(SKIPPED)
s.check(not means["lacks"], f"{means}")

s.drop("before.clusters.csv", table())
s.drop("bad.clusters.csv", "1,2\n3,x\n")
s.drop("waits.md", "no pipeline takes it")
s.until(lambda: s.status()["totals"]["done"] == 1 and s.status()["totals"]["failed"] == 1, "a job done, and one failed")
s.drop("tries.clusters.csv", table(seed=2))
s.until(lambda: s.status()["totals"]["done"] == 2, "a result in spite of all")

tried = dict(re.findall(r"reach: (.*): (refused|DONE)$", s.said(), re.M))
s.check("reach: all is tried" in s.said() and len(tried) == TRIED, f"{len(tried)} things were tried")
s.check({what for what, how in tried.items() if how == "DONE"} == {"reading a record"},
        f"not refused: {[what for what, how in tried.items() if how == 'DONE']}")

# Every thread, and what else the service has started.
worker, page = s.status()["workers"][0]["pid"], s.status()["page"]["pid"]
for task in os.listdir(f"/proc/{worker}/task"):
    status = rights(f"{worker}/task/{task}")
    s.check(capabilities(status) == {0} and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", f"a worker's: {status}")
s.check(capabilities(rights(page)) == {0}, f"the page's: {rights(page)}")
s.until(lambda: "CapAmb" in s.said(), "what a command may do")
hook = dict(re.findall(r"on_done of .*: (Cap\w+):\s+(\w+)", s.said()))
s.check(capabilities(hook) == {0}, f"a command's: {hook}")
s.check("sandbox: they may" not in s.said() and "lies in the folder" not in s.said(), "it warns for nothing")
s.stop()
s.is_clean()

# A folder for results that holds the watched one is open to workers with all that is in it.
around = Service("other/spool", "-o", "other", program="./as-other")
around.check("lies in the folder for results" in around.said(), "nothing is said of a folder around the watched one")
around.stop()
print(f"{TRIED} things tried, capabilities of a worker, the page and a command")
