"""Thousands of files are dropped while the service stands still: all become results that survive a power cut, and how fast.
LEAT_SERVICE_FILES: how many."""
# ctest: slots=1 slots_watched=2 asan=soak tsan=soak
import os
import shutil
import signal
import time

from lib import begin
from service import PATIENCE, WAIT_S, WATCHED, Service, table

begin()
n_files = int(os.environ.get("LEAT_SERVICE_FILES", "500" if WATCHED else "1000"))
os.makedirs("source")
text = table(rows=16, columns=64)
for i in range(n_files):
    with open(f"source/f{i:06d}.clusters.csv", "w") as f:
        f.write(f"{i}.5" + text[text.index(","):])

s = Service("spool", "-q")
s.process.send_signal(signal.SIGSTOP)  # the queue of events overflows while nobody reads it
for name in sorted(os.listdir("source")):
    os.rename(f"source/{name}", f"spool/in/{name}")
begin = time.monotonic()
s.process.send_signal(signal.SIGCONT)
s.until(lambda: len(os.listdir("spool/done")) == n_files, "all are done", WAIT_S + n_files / 10)
seconds = time.monotonic() - begin
s.check(len(os.listdir("spool/out")) == n_files, "results")
s.check(len(os.listdir("spool/done")) == n_files, "inputs put away")
s.check(not os.listdir("spool/in") and not os.listdir("spool/failed"), "in/ and failed/")
with open(f"/proc/{s.process.pid}/status") as f:
    peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
s.check(WATCHED or peak < 64 * 1024 + n_files, f"the service took {peak} KiB")

# An idle service costs next to nothing.
def cpu_s():
    with open(f"/proc/{s.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
before = cpu_s()
time.sleep(3)
idle = (cpu_s() - before) / 3
s.check(idle < 0.05 * PATIENCE, f"idle, and {idle:.1%} of a processor")
s.stop()
s.is_clean()
shutil.rmtree("spool")
print(f"{n_files} tables of 16 x 64 in {seconds:.1f} s: {n_files / seconds:.0f} a second; {peak} KiB, idle {idle:.1%}")
