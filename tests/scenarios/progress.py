"""On a terminal a landslide shows its steps, what part of them that is, and how long the rest takes."""
import os
import pty
import re
import select
import signal
import subprocess

from lib import LEAT, WAIT_S, begin

begin()
SHOWN = re.compile(rb"0 done, 1 running: ([0-9]+) %, [0-9a-z .]+ left, step ([0-9]+) of 100000000 \[#*-*\]")


def hear(terminal):
    """What has been written to it next; b"": nobody has its other end any more."""
    assert select.select([terminal], [], [], WAIT_S)[0], "the terminal shows nothing more"
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def watch(leat, terminal):
    said, steps = b"", []
    while len(steps) < 3:
        new = hear(terminal)
        assert new and len(said) < 1000000, f"no steps are shown: {said[-2000:]}"
        said += new
        steps = sorted({int(m.group(2)) for m in SHOWN.finditer(said)} - {0})
    leat.send_signal(signal.SIGINT)
    while new := hear(terminal):
        said += new
    assert leat.wait() == -signal.SIGINT
    assert said.count(b"error") == 1 and b"x.dem.tif: stopped by a signal" in said, said[-2000:]
    print(f"steps {steps} of 100000000, percent and time left; one line for the job that was stopped")


subprocess.run([LEAT, "generate", "dem", "--rows", "400", "--columns", "400", "-o", "x", "-q"], check=True)
terminal, end = pty.openpty()
leat = subprocess.Popen([LEAT, "run", "-b", "cpu", "-s", "steps=100000000", "x.dem.tif", "x.source.tif"],
                        stdin=subprocess.DEVNULL, stderr=end, env=dict(os.environ, TERM="xterm", COLUMNS="120"))
os.close(end)
try:
    watch(leat, terminal)
finally:
    leat.kill()
