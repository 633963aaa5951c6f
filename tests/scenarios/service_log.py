"""Nobody reads what the service says, to a pipe or to a socket as the journal's is: it works on, and says later how many lines
are missing."""
# ctest: slots=1 tsan=soak
import fcntl
import os
import re
import socket
import threading

from lib import begin
from service import Service, table

begin()
SIZE = 4096
N = 150  # jobs, a line each


def blocked(name, ours, theirs):
    """What was said, with the lines that were dropped: the first ones, how many, and all from then on."""
    s = Service(name, stderr=theirs)
    os.close(theirs)
    for i in range(N):
        s.drop(f"a{i}.clusters.csv", table(seed=i))
    s.until(lambda: s.status()["totals"]["done"] == N, "all done while nobody reads")
    said = []
    reader = threading.Thread(target=lambda: said.extend(os.fdopen(ours, errors="replace")))
    reader.start()
    s.until(lambda: any("were dropped" in line for line in said), "how many lines are missing")
    s.drop("last.clusters.csv", table())
    s.done(["last.clusters.csv"], "one more")
    s.stop()
    reader.join()
    dropped = [int(n) for n in re.findall(r"warning: (\d+) lines of the log were dropped", "".join(said))]
    ends = [line for line in said if " -> " in line]
    s.check(sum(dropped) > 0, "nothing was dropped")
    s.check(len(ends) == len(set(ends)) and 0 < len(ends) and len(ends) + sum(dropped) >= N + 1, f"{len(ends)} of {N}")
    # a job says two lines, the service a few; each is said, or counted once
    s.check(len(said) + sum(dropped) < 3 * N, f"{len(said)} lines said, {dropped} dropped, of {N} jobs")
    s.check(all(line.startswith("leat: ") and line.endswith("\n") for line in said), "a torn line")
    s.check(any("in/last.clusters.csv -> " in line for line in said), "what came after it")
    return sum(dropped)


ours, theirs = os.pipe()
fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, SIZE)
in_pipe = blocked("pipe", ours, theirs)
ours, theirs = socket.socketpair()
theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SIZE)
in_socket = blocked("socket", ours.detach(), theirs.detach())
print(f"nobody read the log: {in_pipe} lines dropped and counted in a pipe, {in_socket} in a socket")
