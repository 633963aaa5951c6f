"""On a terminal a landslide shows its steps, what part of them that is, and how long the rest takes."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

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


def start(columns, *arguments):
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    leat = subprocess.Popen([LEAT, "run", "-b", "cpu", "-s", "steps=100000000", *arguments, "x.dem.tif", "x.source.tif"],
                            stdin=subprocess.DEVNULL, stdout=end if arguments else None, stderr=end, env=dict(os.environ, TERM="xterm"))
    os.close(end)
    return leat, terminal


def watch_narrow(leat, terminal):
    """Forty columns: no number is cut, and what is printed does not stand behind the progress."""
    said = b""
    while said.count(b" left") < 3:
        said += hear(terminal)
        assert len(said) < 1000000, said[-2000:]
    leat.send_signal(signal.SIGINT)
    while new := hear(terminal):
        said += new
    assert leat.wait() == -signal.SIGINT
    assert b'{"input":"x.dem.tif"' in said, said[-2000:]
    for line in re.split(rb"[\r\n]+(?:\x1b\[K)?", said):
        cut = re.search(rb"running: .*step ([0-9]+) of ([0-9]+)", line)
        assert cut is None or cut[2] == b"100000000", line
        assert not re.search(rb"running.*{", line), line


for watcher, how in ((watch, (120,)), (watch_narrow, (40, "--json"))):
    leat, terminal = start(*how)
    try:
        watcher(leat, terminal)
    finally:
        leat.kill()
        os.close(terminal)
