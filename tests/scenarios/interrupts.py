"""A run that SIGINT or SIGTERM stops, at events and LEAT_INTERRUPTS times at random instants, leaves nothing half made, dies of
that signal, and is completed by --resume."""
# ctest: tsan=soak
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

from lib import LEAT, WAIT_S, begin

begin()
ROUNDS = int(os.environ.get("LEAT_INTERRUPTS", "0"))
SEED = int(os.environ.get("LEAT_INTERRUPTS_SEED", "1"))
RUN = [LEAT, "run", "-b", "cpu", "--threads", "1", "-j", "2", "--memory", "64M", "--json", "-o", "out", "in"]


def check(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def wait_for(what, condition):
    give_up = time.monotonic() + WAIT_S
    while not condition():
        check(time.monotonic() < give_up, f"never: {what}")
        time.sleep(0.002)


def make_inputs(rng):
    os.mkdir("in")
    for i in range(40):
        with open(f"in/s{i}.clusters.csv", "w") as f:
            f.write("".join(",".join(f"{rng.random():.3f}" for _ in range(40)) + "\n" for _ in range(60)))
    packed = [f"s{i}.clusters.csv" for i in range(10)]
    subprocess.run(["tar", "-C", "in", "-cf", "in/some.tar", *packed], check=True)
    for name in packed:
        os.remove("in/" + name)
    return sorted(f"some/s{i}" if i < 10 else f"s{i}" for i in range(40))


def start(*options, **streams):
    """Its streams have no buffer here, which communicate() would pass over."""
    return subprocess.Popen([*RUN, *options], bufsize=0, stdin=subprocess.DEVNULL, **{"stderr": subprocess.DEVNULL, **streams})


def is_whole(stem):
    with open(f"out/{stem}/result.json") as f:
        for output in json.load(f)["outputs"]:
            with open(f"out/{stem}/{output['name']}", "rb") as g:
                data = g.read()
            check(len(data) == output["bytes"] and f"{zlib.crc32(data):08x}" == output["crc32"], f"{stem} is torn")


def results():
    return sorted(os.path.relpath(path, "out") for path, _, files in os.walk("out") if "result.json" in files)


def completes(stems, *options):
    """What is there is whole, and --resume adds the rest."""
    left = results()
    check(left or not os.path.exists("out"), "an empty folder is left behind")
    check(not os.path.exists("out") or not [n for n in os.listdir("out") if n.startswith(".")], "a part is left behind")
    for stem in left:
        is_whole(stem)
    again = subprocess.run([*RUN, *options, "--resume"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(again.returncode == 0, again.stderr.decode()[-2000:])
    check(again.stdout.count(b'"status":"skipped"') == len(left), "what was done is done again")
    check(results() == stems, "results are missing")
    for stem in stems:
        is_whole(stem)
    shutil.rmtree("out")


def at_an_event(stems, number, event):
    """`event` returns once it has come."""
    process = start(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    told = event(process) or b""
    process.send_signal(number)
    more, said = process.communicate()
    left = len(stems) - (told + more).count(b'"input"')
    counted = rf"before ({left}|more than \d+) jobs were begun"  # under load it does not look for all of them
    check(re.search(rf"stopped by a signal {counted}; the same command with --resume goes on with the rest\n", said.decode()),
          f"{event.__name__}: {left} are left: {said.decode()[-2000:]}")
    check(process.returncode == -number, f"{event.__name__}: ended with {process.returncode} instead of signal {number}")
    completes(stems)


def after_the_first_job(process):
    return process.stdout.readline()


def within_a_job(process):
    wait_for("a part folder", lambda: [n for n in (os.listdir("out") if os.path.isdir("out") else []) if n.endswith(".part")])


def catches(pid, number):
    with open(f"/proc/{pid}/status") as f:
        caught = next(line for line in f if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


def second_signal_ends_what_waits_for_a_pipe():
    reader, writer = os.pipe()
    os.write(writer, b"x" * fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096))  # full, and nobody reads
    process = start(stdout=writer)
    wait_for("a result", lambda: os.path.isdir("out") and [n for n in os.listdir("out") if not n.startswith(".")])
    process.send_signal(signal.SIGINT)
    wait_for("the first signal is heard", lambda: not catches(process.pid, signal.SIGINT))
    check(process.poll() is None, "it does not wait for the pipe")
    process.send_signal(signal.SIGINT)
    check(process.wait(WAIT_S) == -signal.SIGINT, f"the second signal: {process.returncode}")
    os.close(reader)
    os.close(writer)
    shutil.rmtree("out")


def loop_of_a_shell_stops():
    script = 'for i in 1 2 3; do echo >>rounds; "$@"; done'
    shell = subprocess.Popen(["bash", "-c", script, "bash", *RUN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    shell.stdout.readline()
    os.killpg(shell.pid, signal.SIGINT)  # as a terminal does
    shell.communicate()
    check(os.path.getsize("rounds") == 1, "the loop goes on")
    shutil.rmtree("out")


def at_a_random_instant(stems, rng, longest_s):
    number = rng.choice([signal.SIGINT, signal.SIGTERM])
    options = rng.choice([[], ["--bundle"]])
    process = start(*options, stdout=subprocess.DEVNULL)
    time.sleep(rng.uniform(0, longest_s))
    process.send_signal(number)
    check(process.wait() in (0, -number), f"ended with {process.returncode} instead of signal {number}")
    completes(stems, *options)
    return process.returncode != 0


rng = random.Random(SEED)
stems = make_inputs(rng)
at_an_event(stems, signal.SIGINT, after_the_first_job)
at_an_event(stems, signal.SIGTERM, after_the_first_job)
at_an_event(stems, signal.SIGINT, within_a_job)
second_signal_ends_what_waits_for_a_pipe()
loop_of_a_shell_stops()
begun = time.monotonic()
completes(stems)
took = time.monotonic() - begun
n_stopped = n_ended = 0  # a run may end before its signal comes: it counts for none
while n_stopped < ROUNDS:
    if at_a_random_instant(stems, rng, took):
        n_stopped += 1
    else:
        n_ended += 1
    check(n_ended <= 10 * ROUNDS, f"{n_ended} runs ended by themselves, {n_stopped} were stopped")
print(f"stopped at 3 events and {n_stopped} times at random ({n_ended} runs were done before), seed {SEED}: "
      "nothing left, completed")
