#!/usr/bin/env python3
"""How long a dropped file takes until its result is there, and what a flood of files costs the service.

    service_latency.py LEAT FOLDER [DROPS_A_SECOND [SECONDS [FLOOD]]]      (200, 20, 20000)

FOLDER: new, on tmpfs for what the service itself costs. First tables of 20 x 50 come at that rate: p50 and p99 of the time
from the rename into in/ to that of the result (the time of its folder's last change; a kernel counts these in ticks of 1 to
4 ms). Then FLOOD files of 2 x 3 come at once: the most memory of the service, and its slowest answer to `leat status`."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from ask_status import ask_status  # noqa: E402


def table(rows, columns, seed):
    return "".join(",".join(str((seed * 7919 + r * 104729 + c * c * 1299709) % 1000) for c in range(columns)) + "\n"
                   for r in range(rows))


def rss_mib(pid, key):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(key + ":")) / 1024


def main():
    leat, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    rate, seconds, flood = [float(v) for v in (sys.argv[3:] + ["200", "20", "20000"][len(sys.argv) - 3:])]
    spool = folder + "/spool"
    os.makedirs(spool + "/in")
    os.mkdir(folder + "/aside")
    service = subprocess.Popen([leat, "watch", "--spool", spool, "-b", "cpu"],
                               stderr=subprocess.DEVNULL)
    try:
        while not (ask_status(spool) or {}).get("ready"):
            time.sleep(0.05)
        n = int(rate * seconds)
        dropped = []
        for i in range(n):
            with open(f"{folder}/aside/f", "w") as f:
                f.write(table(20, 50, i))
            time.sleep(max(0, (dropped[0] if dropped else time.time()) + i / rate - time.time()))
            dropped.append(time.time())
            os.rename(f"{folder}/aside/f", f"{spool}/in/t{i}.clusters.csv")
        late = time.time() - dropped[0] - n / rate
        while ask_status(spool)["totals"]["done"] < n:
            time.sleep(0.1)
        took = sorted(os.stat(f"{spool}/out/t{i}").st_ctime - dropped[i] for i in range(n))
        print(f"{n} drops at {rate:.0f} a second (the last {late * 1e3:.0f} ms late): p50 {took[n // 2] * 1e3:.1f} ms, "
              f"p99 {took[n * 99 // 100] * 1e3:.1f} ms, longest {took[-1] * 1e3:.1f} ms; "
              f"memory of the service {rss_mib(service.pid, 'VmRSS'):.1f} MiB", flush=True)
        for i in range(int(flood)):
            with open(f"{folder}/aside/f{i}.clusters.csv", "w") as f:
                f.write(table(2, 3, i))
        begin = time.time()
        for i in range(int(flood)):
            os.rename(f"{folder}/aside/f{i}.clusters.csv", f"{spool}/in/f{i}.clusters.csv")
        slowest = 0
        while True:
            asked = time.monotonic()
            done = ask_status(spool)["totals"]["done"]
            slowest = max(slowest, time.monotonic() - asked)
            if done >= n + flood:
                break
            time.sleep(0.05)
        end = max(os.stat(f"{spool}/out/f{i}").st_ctime for i in range(int(flood)))  # the status says so up to a second later
        print(f"{flood:.0f} drops at once: {flood / (end - begin):.0f} jobs a second, slowest status "
              f"{slowest * 1e3:.0f} ms, most memory of the service {rss_mib(service.pid, 'VmHWM'):.1f} MiB", flush=True)
    finally:
        service.terminate()
        service.wait()


main()
