"""Names that would turn or break a line, or are no text: the log and the status page show them in one spelling."""
import os
import re
import subprocess

from lib import begin
from service import LEAT, Service

begin()
NAMES = {b"b\xffq \xe2\x82": rb"b\xffq \xe2\x82", "turned\u202ecod".encode(): rb"turned\xe2\x80\xaecod",
         "line\u2028forged\n".encode(): rb"line\xe2\x80\xa8forged\x0a", "c1\u009b31m".encode(): rb"c1\xc2\x9b31m",
         "größe замер…".encode(): "größe замер…".encode()}

s = Service("spool")
folder = os.fsencode(os.path.join(s.spool, "in"))
for name in NAMES:
    for end in (b".clusters.csv", b".unknown"):  # one fails, in words of the worker; one waits
        with open(os.path.join(folder, name + end), "wb") as f:
            f.write(b"1,2\n3\n")
s.until(lambda: s.status()["totals"].get("failed") == len(NAMES) and len(s.waits()) == len(NAMES), "all are known")
with open(s.log, "rb") as f:
    log = f.read()
page = subprocess.run([LEAT, "status", "--spool", s.spool], capture_output=True).stdout
for text in (log, page):
    s.check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text.decode()),
            f"it turns a line: {text}")
for name, shown in NAMES.items():
    lines = [line for line in log.split(b"\n") if b"moved to failed" in line and shown in line]
    s.check(len(lines) == 1 and lines[0].count(b".clusters.csv") == 1, f"{shown} once: {log.decode()}")
    valid = name.decode(errors="replace")
    s.until(lambda: "in/" + valid + ".unknown" in s.waits(), f"{shown} as data")
    if valid.encode() == name:
        s.check(b"in/" + shown + b".unknown" in page, f"{shown} on the page: {page.decode()}")
s.stop()
print("one spelling, once, and no line is turned")
