"""What the page does for who has the token: hold, release, delete and retry; not for pages of other sites, nor by a GET. And what
it says of a service that stands still, also while many read slowly."""
# ctest: slots=1
import json
import os
import re
import signal
import time

from lib import begin
from page_client import connect, exchange, get, head, metrics_of, post, start
from service import grid, table

begin()
with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
s, page = start("spool", "127.0.0.1:0", "-c", "leat.conf", "--jobs", "1", "--threads", "1", "--drain", "0")
evil = '<b onclick="x">&.clusters.csv'
s.drop("big.clusters.csv", "".join(",".join(f"{(i * j) % 97}.{i % 7}" for j in range(600)) + "\n" for i in range(1500)))
s.done(["big.clusters.csv"], "a result that takes long to read")
s.drop("long.dem.asc", grid(False))
s.drop("long.source.asc", grid(True))
s.until(lambda: s.status()["in_flight"], "a long job")
for i, name in enumerate((evil, "a.clusters.csv", "b.clusters.csv")):
    s.drop(name, table(seed=i))
queued = lambda: {job["name"][3:]: job for job in s.status()["queued"]}
s.until(lambda: queued().keys() == {evil, "a.clusters.csv", "b.clusters.csv"}, "jobs that wait")
is_held = lambda name: queued().get(name, {}).get("held")  # None while its record is written
ids = {name: job["id"] for name, job in queued().items()}


def form(what, name, key=None, **more):
    body = f"key={KEY if key is None else key}&job={ids[name]}&do={what}"
    return post(page, body, **more)


text = s.until(lambda: (t := get(page).text()).count('value="delete"') == 3 and t, "three jobs with buttons")
[KEY] = set(re.findall(r'name="key" value="([0-9a-f]{32})"', text))
s.check("<b onclick" not in text and "&lt;b onclick=&quot;x&quot;&gt;&amp;.clusters.csv" in text, text)
s.check(all(f'name="job" value="{i}"' in text for i in ids.values()), text)

# --- who may not -------------------------------------------------------------------------------------------------

ask = f"key={KEY}&job={ids[evil]}&do=delete"
for path in f"/?{ask}", f"/results/?{ask}":
    for method in "GET", "HEAD":
        s.check(get(page, path, method).status == 200, f"{method} {path}")
for origin in ("http://evil.example", "null", "http://localhost:1", "https://localhost.evil.example", "localhost", ""):
    s.check(form("delete", evil, Origin=origin).status == 403, f"a page of '{origin}'")
for key in ("", KEY[:-1], KEY + "0", KEY[:-1] + ("0" if KEY[-1] != "0" else "1"), "x" * 100000):
    s.check(form("delete", evil, key).status in (403, None), f"the key '{key[:40]}'")
for who in ("", "Bearer x"):
    s.check(form("delete", evil, Authorization=who).status == 401, f"asked by '{who}'")
s.check(form("delete", evil, host="evil.example").status == 400, "by another name")
s.check(form("delete", evil, Content_Type="text/plain").status == 400, "no form")
for path in ("/results/", "/metrics", "/page.css"):
    a = form("delete", evil, path=path)
    s.check(a.status == 405 and a.headers["allow"] == "GET, HEAD", f"{path}: {a.status}")
for what, job in (("flush", "1-2"), ("", "1-2"), ("delete", ""), ("retry", "../../in"), ("delete", "in/b.clusters.csv"), ("hold", "%ff")):
    a = post(page, f"key={KEY}&job={job}&do={what}")
    s.check(a.status in (303, 503), f"{what} {job}: {a.status}")
    s.until(lambda: a.status == 503 or "This cannot be asked for here." in get(page).text(), f"a refusal of {what} {job}")
s.check(len(queued()) == 3 and not any(job["held"] for job in queued().values()) and s.status()["n_failed"] == 0, queued())

# --- who may -----------------------------------------------------------------------------------------------------

a = form("hold", evil, Origin="http://localhost")
s.check(a.status == 303 and a.headers["location"] == "./", f"hold: {a.status} {a.body}")
s.until(lambda: is_held(evil), "a job that is held")
s.until(lambda: 'value="release"' in (t := get(page).text()) and "hold in/&lt;b onclick=&quot;x&quot;&gt;&amp;.clusters.csv: held" in t, "its button, and the answer")
form("hold", evil)
s.until(lambda: "held already" in get(page).text(), "an answer")
form("release", evil)
s.until(lambda: is_held(evil) is False, "a job that is released")
form("delete", "a.clusters.csv")
s.until(lambda: s.status()["n_failed"] == 1 and "a.clusters.csv" not in queued(), "a job that is deleted")
s.until(lambda: 'value="retry"' in get(page).text(), "its button")
form("retry", "a.clusters.csv")
s.until(lambda: s.status()["n_failed"] == 0 and "a.clusters.csv" in queued(), "a job that is tried again")
ids["a.clusters.csv"] = queued()["a.clusters.csv"]["id"]
s.until(lambda: os.listdir("spool/.work/requests") == [], "no request is left")

# --- a service that stands still ---------------------------------------------------------------------------------

s.process.send_signal(signal.SIGSTOP)
slow = []
for _ in range(64):  # each asks at once: one that has not asked after ten seconds is not served
    slow.append(c := connect(page))
    c.sendall(head(page, "/results/big/pearson.npz"))
    s.check(c.recv(1) == b"H", "a slow reader is answered")
began = time.monotonic()
for _ in range(10):
    s.check(get(page).status == 200 and get(page, "/metrics").status == 200 and get(page, "/healthz").status == 200, "an answer")
took = time.monotonic() - began
s.check(form("hold", "b.clusters.csv").status == 303, "a form")
with open("spool/status/status.json") as f:
    document = json.load(f)
document["written"] -= 1000
with open("status.json", "w") as f:
    json.dump(document, f)
os.replace("status.json", "spool/status/status.json")
a = s.until(lambda: (a := get(page, "/healthz")).status == 503 and a, "that it stands still")
s.check(a.body.startswith(b"silent: it stands still; this is its state of 16 min"), a.body)
text = get(page).text()
s.check("silent, not ready" in text and "it stands still; this is its state of 16 min" in text and "b.clusters.csv" in text, text)
s.check(metrics_of(get(page, "/metrics").text())["leat_ready"][""] == 0, "it is ready")
for c in slow:
    c.close()
s.process.send_signal(signal.SIGCONT)
s.until(lambda: get(page, "/healthz").status == 200, "an answer of the service")
s.until(lambda: is_held("b.clusters.csv"), "what was asked for meanwhile")
s.check(took < 30, f"30 answers took {took:.1f} s")

s.stop()

# --- without a token nobody may: the page tells commands ---------------------------------------------------------

s, page = start("open", "unix:" + os.path.abspath("page.sock"))
s.drop("x.clusters.csv", table())
s.done(["x.clusters.csv"], "a job")
text = get(page).text()
s.check("post" not in text and post(page, f"key={KEY}&job=1-2&do=delete").status == 405, "a form without a token")
s.stop()
print("hold, release, delete and retry by forms; refused to others; a service that stands still")
