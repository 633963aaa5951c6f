"""The first threads of the service and of its workers, which decide, never wait for a disk: calls that might are listed there."""
import io
import os
import signal
import tarfile

from lib import begin, needs_faulty
from service import Service, grid, table

begin()
needs_faulty()
LOG = os.path.abspath("calls")


def calls():
    with open(LOG) as f:
        return f.read().splitlines()


def configure(settle):
    with open("leat.conf", "w") as f:
        f.write(f"settle = {settle}\n")


def archive(name, members):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as t:
        for member, text in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    s.drop(name, data.getvalue())


configure(0.3)
s = Service("spool", "--config", "leat.conf", program=os.environ["LEAT_FAULTY"],
            env={"LEAT_FAULT": "loop", "LEAT_FAULT_LOG": LOG})
before = calls()  # what is opened once
s.drop("good.clusters.csv", table())
s.drop("sub/bad.clusters.csv", "1,2\n3,x\n")
s.drop("slope.source.asc", grid(True))
s.drop("slope.dem.prj", 'LOCAL_CS["here"]')
s.drop("slope.dem.asc", grid(False))
archive("all.tar", {"a.clusters.csv": table(seed=2), "b.clusters.csv": "1,2\n3,x\n"})
archive("bad.tar", {"c.clusters.csv": "1,2\n3,x\n"})
s.until(lambda: s.status()["totals"]["done"] == 3 and s.status()["totals"]["failed"] == 2, "all have ended")
configure(0.2)
s.process.send_signal(signal.SIGHUP)
s.until(lambda: "the configuration has been read again" in s.said(), "the new configuration")
s.drop("more.clusters.csv", table(seed=3))
s.until(lambda: s.status()["totals"]["done"] == 4, "one more")
found = calls()[len(before):]
s.check(not found, "\n".join(["a loop's thread has waited for a disk:", *found]))
s.stop()
s.is_clean()
print("loops' threads wait for no disk")
