"""The page over HTTP, its metrics, files and limits: what they show, to whom, and that nobody harms the service there; its
process, and what becomes of it."""
# ctest: slots=1
import contextlib
import glob
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

from lib import TREE, begin
from page_client import TOKEN, Answer, connect, exchange, get, metrics_of, start
from service import LEAT, LIBC, WAIT_S, Service, identity, table

begin()
SAMPLES = os.path.join(TREE, "samples")


def pid_of_page(service):
    """Without a question, for which a service needs a descriptor; 0: there is none."""
    with open(f"/proc/{service}/task/{service}/children") as f:
        for pid in f.read().split():
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                if line.read().split(b"\0")[1:2] == [b"page"]:
                    return int(pid)
    return 0


# --- what it shows -----------------------------------------------------------------------------------------------

s, page = start("spool", "127.0.0.1:0")
evil = '<b onclick="x">&amp;\u202e.clusters.csv'
s.drop("a.clusters.csv", table())
s.drop("sub/deep/b c+ä.clusters.csv", table(seed=2))
s.drop(evil, "1,2\n3\n")
s.drop("notes.md", "no pipeline takes it")
s.until(lambda: s.status()["totals"]["done"] == 2 and s.status()["totals"]["failed"] == 1, "two results and a failure")
s.until(lambda: metrics_of(get(page, "/metrics").text())["leat_jobs_total"]['{pipeline="pearson",outcome="done"}'] == 2 and
        b"notes.md" in get(page).body, "the page's answer, which may be a second old")

a = get(page)
s.check(a.status == 200 and a.headers["content-type"] == "text/html; charset=utf-8", f"the page: {a.status}")
for who in ("", TOKEN, f"Bearer {TOKEN}x"):  # also of those who are on this machine
    s.check(get(page, "/results/a/result.json", Authorization=who).status == 401, f"asked by '{who}'")
policy = a.headers["content-security-policy"]
s.check("default-src 'none'" in policy and "unsafe" not in policy and a.headers["x-content-type-options"] == "nosniff", policy)
text = a.text()
s.check("<b onclick" not in text and "&lt;b onclick=&quot;x&quot;&gt;&amp;amp;\\xe2\\x80\\xae.clusters.csv" in text, text)
s.check("no pipeline takes it" in text and "bad-input" in text and "drop it again" in text, "what waits, what failed")
s.check('href="results/sub/deep/b%20c%2B%C3%A4/report.html"' in text and "heatmap.png?" in text, "results")
s.check(re.search(r'<time datetime="20\d\d-[^"]+Z">20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC</time>', text), "dates")
a = get(page, "/?q=NOTES%2Emd").text()
s.check("notes.md" in a and "bad-input" not in a and "heatmap.png" not in a and 'value="NOTES.md"' in a, f"a search: {a}")
a = get(page, "/?q=%22%3E%3Cb%3E").text()
s.check("<b>" not in a and 'value="&quot;&gt;&lt;b&gt;"' in a and "notes.md" not in a, f"a search for markup: {a}")
s.check(not re.search(r'(src|href)="(https?:)?//', text) and "style=" not in text, "it needs something of elsewhere")
for name, kind in (("page.css", "text/css"), ("page.js", "text/javascript")):
    a = get(page, "/" + name)
    s.check(a.status == 200 and a.headers["content-type"].startswith(kind) and len(a.body) > 500, name)

s.check(get(page, "/healthz").status == 200 and get(page, "/healthz").body == b"ready\n", "healthz")
a = get(page, "/metrics")
s.check(a.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8", a.headers)
m = metrics_of(a.text())
s.check(m["leat_jobs_total"]['{pipeline="pearson",outcome="done"}'] == 2 and
        m["leat_jobs_total"]['{pipeline="pearson",outcome="failed"}'] == 1 and m["leat_ready"][""] == 1, m["leat_jobs_total"])
s.check(m["leat_input_bytes_total"]['{pipeline="pearson"}'] == len(table()) + len(table(seed=2)), m["leat_input_bytes_total"])
s.check(m["leat_latency_seconds_count"][""] == 2 == m["leat_latency_seconds_bucket"]['{le="+Inf"}'] and
        m["leat_latency_seconds_sum"][""] > 0, "latency")
s.check(m["leat_open_jobs"]['{state="waiting"}'] == 1, m["leat_open_jobs"])
s.until(lambda: metrics_of(get(page, "/metrics").text())["leat_lane_busy_seconds_total"]
        ['{worker="cpu",lane="decode"}'] > 0, "busy lanes")
if shutil.which("promtool"):
    lint = subprocess.run(["promtool", "check", "metrics"], input=a.body, capture_output=True)
    s.check(lint.returncode == 0 and not lint.stdout + lint.stderr, f"promtool: {lint}")
else:
    print("SKIPPED: no promtool here looks at the metrics (Debian package prometheus)")

with open(os.path.join(SAMPLES, "..", "pipeline", "manual", "leat-watch.8")) as f:
    manual = f.read()
told = set(re.findall(r"^# TYPE (\S+)", get(page, "/metrics").text(), re.M))
s.check(len(told) > 15 and not (missing := [name for name in told if not re.search(rf"\b{name}\b", manual)]), f"not in the manual: {missing}")

# Dashboards and alerts name what there is.
samples = glob.glob(os.path.join(SAMPLES, "monitoring", "*"))
s.check(len(samples) == 2, f"samples: {samples}")
for sample in samples:
    if sample.endswith(".yml") and shutil.which("promtool"):
        rules = subprocess.run(["promtool", "check", "rules", sample], capture_output=True)
        s.check(rules.returncode == 0, f"promtool: {rules}")
    if sample.endswith(".json"):
        with open(sample) as f:
            s.check(json.load(f)["panels"], sample)
    with open(sample) as f:
        named = set(re.findall(r"\bleat_[a-z_]+", f.read()))
    s.check(named and named <= m.keys(), f"{sample} names {named - m.keys()}")

# --- files -------------------------------------------------------------------------------------------------------

for path, kind in (("a/report.html", "text/html; charset=utf-8"), ("a/heatmap.png", "image/png"), ("a/result.json", "application/json"),
                   ("a/pearson.npz", "application/octet-stream"), ("sub/deep/b%20c%2b%C3%A4/series.csv.gz", "application/gzip")):
    a = get(page, "/results/" + path)
    with open("spool/out/" + path.replace("%20", " ").replace("%2b", "+").replace("%C3%A4", "ä"), "rb") as f:
        s.check(a.status == 200 and a.headers["content-type"] == kind and a.body == f.read(), f"{path}: {a.status} {a.headers}")
    s.check(("content-disposition" in a.headers) == path.endswith((".npz", ".gz")), f"{path} is saved or shown")
    s.check("script-src" not in a.headers["content-security-policy"], "a file may run scripts")
    head = get(page, "/results/" + path, method="HEAD")
    s.check(head.status == 200 and head.body == b"" and head.headers["content-length"] == str(len(a.body)), f"HEAD {path}")
a = get(page, "/results/a")
s.check(a.status == 302 and a.headers["location"] == "a/", a.headers)
a = get(page, "/results/sub/deep/")
s.check(a.status == 200 and 'href="./b%20c%2B%C3%A4/"' in a.text() and 'href="../../../page.css"' in a.text(), a.text())
a = get(page, "/results/a/").text()
s.check('<img alt="" loading="lazy" src="./heatmap.png">' in a and "pearson.npz" in a and "UTC</time>" in a, f"a picture in a list: {a}")
a = get(page, "/results/a/?q=PNG").text()
s.check("heatmap.png" in a and "pearson.npz" not in a, f"a search in a folder: {a}")
[failure] = os.listdir("spool/failed")
a = get(page, f"/failed/{failure}/reason.json")
s.check(a.status == 200 and json.loads(a.body)["kind"] == "bad-input", "reason.json")

os.symlink("/etc/passwd", "spool/out/link.json")
os.symlink("..", "spool/out/up")
os.symlink("a", "spool/out/inside")
with open("secret.json", "w") as f:
    f.write("{}")
os.link("secret.json", "spool/out/second-name.json")
os.mkfifo("spool/out/fifo")
with open("spool/out/.hidden.json", "w") as f:
    f.write("{}")
for path in ("results/link.json", "results/up/secret.json", "results/up/", "results/inside/result.json", "results/second-name.json",
             "results/fifo", "results/.hidden.json", "results/../in/notes.md", "results/%2e%2e/in/notes.md", "results/..%2fin/notes.md",
             "results/a/../../in/notes.md", "results//etc/passwd", "results/%2fetc/passwd", "../../etc/passwd", "results/a/%00",
             "failed/", f"failed/{failure}/", f"failed/{failure}/in/x", f"failed/../failed/{failure}/reason.json", "failed/reason.json",
             f"failed/{failure}/../../in/reason.json", "nothing", "status/status.json", "results/" + "x" * 3000, "results/" + "a/" * 1500):
    a = get(page, "/" + path)
    # One that is cut at a NUL is a folder's, which is listed.
    s.check(a.status == (200 if "%00" in path else 404) and b"root:" not in a.body, f"{path[:60]}: {a.status}")
s.check(all(name not in get(page, "/results/").text() for name in ("link.json", "inside", "second", "fifo", "hidden")), "a list of links")

# --- who does not know how to ask --------------------------------------------------------------------------------

for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"):
    a = get(page, "/", method=method)
    s.check(a.status == 405 and a.headers["allow"] == "GET, HEAD", f"{method}: {a.status}")
a = exchange(page, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc")
s.check(a.status == 401, f"a body: {a.status}")
for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:80", "[::2]", "",
             "localhost:evil", "localhost:80:80", "[::1]evil", "[::1]:80evil", "127.0.0.1:evil", "evil@localhost",
             "localhost\r\nHost: localhost", "localhost\r\nX: y\r\nHost: evil.example"):
    s.check(get(page, "/", host=host).status == 400, f"asked as '{host}'")
for host in ("127.0.0.1", "127.0.0.1:80", "LOCALHOST:1", "[::1]", "[::1]:9464"):
    s.check(get(page, "/healthz", host=host).status == 200, f"asked as '{host}'")
rubbish = (os.urandom(20000), b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
           b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100000 + b"\r\n\r\n", b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
           b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 20000 + b"\r\n", b"GET http://elsewhere/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
for request in rubbish:
    with connect(page) as c:
        try:
            c.sendall(request)
            c.shutdown(socket.SHUT_WR)
            raw = b""
            while more := c.recv(1 << 16):
                raw += more
            s.check(not raw or Answer(raw).status >= 400, f"{request[:40]}: {raw[:100]}")
        except OSError:
            pass
before = s.status()
s.check(before["page"]["restarts"] == 0 and get(page).status == 200, f"after rubbish: {before['page']}")

# A thousand connections that say little, or nothing: the service goes on, and so does the page once they are gone.
held = []
host, port = re.fullmatch(r"http://(.*):(\d+)/", page).groups()
for i in range(1000):
    c = socket.socket()
    c.setblocking(False)
    c.connect_ex((host, int(port)))
    held.append(c)
sent = 0
for c in held:
    try:
        c.send(b"GET / HTTP/1.1\r\nHost: loc")
        sent += 1
    except OSError:
        pass
s.drop("while.clusters.csv", table(seed=4))
s.done(["while.clusters.csv"], "a job while connections are held")
s.check(s.status()["page"]["pid"] == before["page"]["pid"], "the page's process")
s.check(sent >= 64, f"{sent} connections were held")
with contextlib.suppress(PermissionError):  # it lets nobody but root look
    fds = len(os.listdir(f"/proc/{before['page']['pid']}/fd"))
    s.check(fds < 300, f"{fds} descriptors are open")
# Whoever was accepted and is slow is let go, though it says a byte now and then.
slow = held[0]


def is_ended():
    try:
        slow.send(b"x")
        return slow.recv(100) is not None
    except BlockingIOError:
        return False
    except OSError:
        return True


s.until(is_ended, "the end of a slow request")
for c in held:
    c.close()
s.check(s.until(lambda: get(page, "/healthz").status == 200, "an answer after the crowd"), "")

# --- its process -------------------------------------------------------------------------------------------------

pid = s.status()["page"]["pid"]
with open(f"/proc/{pid}/status") as f:
    rights = f.read()
s.check(re.search(r"NoNewPrivs:\s1", rights) and re.search(r"Seccomp:\s2", rights), "it may get rights")
landlock = LIBC.syscall(444, None, 0, 1) >= 1
s.check(("there is no Landlock here" in s.said()) != landlock, "what it says of Landlock")
os.kill(pid, signal.SIGKILL)
s.until(lambda: s.status()["page"]["restarts"] == 1 and s.status()["page"]["pid"], "another process of the page")
s.check("the page's process has ended: killed by signal 9" in s.said(), "the log")
s.until(lambda: get(page, "/metrics").status == 200, "its answer")
s.check(metrics_of(get(page, "/metrics").text())["leat_page_restarts_total"][""] == 1, "restarts")
# One that cannot be started: later it can.
few = resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE)
resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE, (3, few[1]))
os.kill(s.until(lambda: pid_of_page(s.process.pid), "the page's process"), signal.SIGKILL)
s.until(lambda: "it cannot be started: too many open files" in s.said(), "no descriptors")
resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE, few)
s.until(lambda: (s.status().get("page") or {}).get("pid"), "a process once more")
s.until(lambda: get(page, "/metrics").status == 200, "its answer, once more")
s.drop("after.clusters.csv", table(seed=5))
s.done(["after.clusters.csv"], "a job after that")

# Where the page is does not change while the service runs.
with open("leat.conf", "w") as f:
    f.write("")
s.stop()
s.check("the page's" not in s.said().split("is stopping")[1], "it dies by itself at the end")
second, page = start("spool", "unix:" + os.path.abspath("http.sock"), "-c", "leat.conf")
child = identity(second.status()["page"]["pid"])
with open("leat.conf", "w") as f:
    f.write("http_token_file = x\n")
second.process.send_signal(signal.SIGHUP)
second.until(lambda: "http_token_file cannot change" in second.said(), "a refusal")
second.stop(None, signal.SIGKILL)
end = time.monotonic() + WAIT_S
while identity(child[0]) == child:
    second.check(time.monotonic() < end, "the page outlives its service")
    time.sleep(0.05)

# --- sockets and tokens ------------------------------------------------------------------------------------------

path = os.path.abspath("http.sock")
s, page = start("spool", "unix:" + path, "--http-token-file", "token")
s.check(page == "unix:" + path and os.stat(path).st_mode & 0o777 == 0o660, page)
s.check(get(page, host="any.name").status == 401 and get(page, "/healthz").status == 401, "without a token")
s.check(get(page, "/results/a/result.json").status == 401 and get(page, "/?token=" + TOKEN[:-1]).status == 401, "a wrong token")
for scheme in "Bearer", "bearer":
    s.check(get(page, Authorization=f"{scheme} {TOKEN}", host="any.name").status == 200, "a token")
for host in ("any.name:evil", "any.name\r\nHost: any.name"):
    s.check(get(page, Authorization=f"Bearer {TOKEN}", host=host).status == 400, f"asked as '{host}', with a token")
s.check(get(page, Authorization=f"Bearer {TOKEN}x").status == 401 and get(page, Authorization=TOKEN).status == 401, "almost")
a = get(page, "/?token=" + TOKEN)
s.check(a.status == 303 and a.headers["location"] == "./" and "HttpOnly; SameSite=Strict" in a.headers["set-cookie"], a.headers)
s.check(get(page, Cookie=a.headers["set-cookie"].split(";")[0]).status == 200, "a cookie")
with open(f"/proc/{s.status()['page']['pid']}/cmdline", "rb") as f:
    s.check(TOKEN.encode() not in f.read(), "the token in a command line")
s.stop()
s.check(not os.path.exists(path), "the socket is left behind")

# What systemd passes; its own variables say so.
listener = socket.create_server(("127.0.0.1", 0))
os.set_inheritable(listener.fileno(), True)
with open("leat-activated", "w") as f:
    f.write(f"""#!/usr/bin/python3
import os, sys
os.dup2({listener.fileno()}, 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv("{LEAT}", ["leat", *sys.argv[1:]])
""")
os.chmod("leat-activated", 0o755)
popen = subprocess.Popen
subprocess.Popen = lambda *a, **k: popen(*a, close_fds=False, **k)
no_token = subprocess.Popen(["./leat-activated", "watch", "-b", "cpu", "--spool", "spool"],
                            stderr=subprocess.PIPE, text=True)
said = no_token.communicate(timeout=WAIT_S)[1]
s.check(no_token.returncode == 2 and "needs a token" in said, f"an address of systemd's without a token: {said}")
s = Service("spool", "--http-token-file", "token", program="./leat-activated")
subprocess.Popen = popen
page = s.until(lambda: (s.status()["page"] or {}).get("address"), "the page at systemd's socket")
s.check(page == "http://127.0.0.1:%d/" % listener.getsockname()[1] and get(page).status == 200, page)
s.stop()
socket.create_connection(listener.getsockname(), WAIT_S).close()  # systemd's socket is not shut down

# A path is bytes, and so is the reason why nothing listens there: another does.
taken = "unix:" + os.path.join(os.path.dirname(path), os.fsdecode(b"\xff.sock"))
other, page = start("spool", taken)
other.check(page.endswith("/\ufffd.sock"), page)
s = Service("second", "--http", taken)
why = s.until(lambda: (s.status().get("page") or {}).get("why"), "why there is no page")
s.check("/\ufffd.sock'" in why and "answers there" in why, why)
s.stop()
other.stop()

# --- a service that does not run ---------------------------------------------------------------------------------

s, page = start("full", "127.0.0.1:0", "--reserve", "1000000T", wait=False)
a = s.until(lambda: (a := get(page, "/healthz")).status == 503 and b"paused: " in a.body and a, "503, and the reason")
s.check(b"MiB required" in a.body, a.body)
m = s.until(lambda: (m := metrics_of(get(page, "/metrics").text()))["leat_paused"][""] == 1 and m, "metrics of the pause")
s.check(m["leat_pauses_total"]['{cause="space"}'] == 1 and m["leat_paused"][""] == 1 and m["leat_ready"][""] == 0, m)
s.check("MiB required" in get(page).text(), "the reason on the page")
s.stop()

# Its folders are there later: the page begins with nothing to show, and begins again.
s, page = start("later", "127.0.0.1:0", "--require-mount", "marker", wait=False)
s.until(lambda: b"require_mount" in get(page, "/healthz").body, "that nothing is mounted")
s.check(get(page, "/results/").status in (200, 404), "no results")
os.makedirs("later/out", exist_ok=True)
with open("later/out/marker", "w") as f:
    f.write("")
s.drop("first.clusters.csv", table(seed=7))
s.done(["first.clusters.csv"], "a job after all")
s.until(lambda: get(page, "/results/first/report.html").status == 200, "its report")
s.check(s.status()["page"]["restarts"] == 0, "a restart that counts as a death")
s.stop()

# --- what cannot be ----------------------------------------------------------------------------------------------

with open("open-token", "w") as f:
    f.write(TOKEN)
os.chmod("open-token", 0o644)
with open("short-token", "w") as f:
    f.write("short")
os.chmod("short-token", 0o600)
for options, word in ((["--http", "0.0.0.0:0"], "token"), (["--http", "[::]:0"], "token"), (["--http", "127.0.0.1:0"], "unix:"),
                      (["--http", "[::1]:0"], "http_token_file"), (["--http", "nonsense"], "not an address"),
                      (["--http", "127.0.0.1:99999"], "not an address"), (["--http", "unix:" + "x" * 200], "a socket's name"),
                      (["--http", "127.0.0.1:0", "--http-token-file", "absent"], "absent"),
                      (["--http", "127.0.0.1:0", "--http-token-file", "open-token"], "others may read"),
                      (["--http", "127.0.0.1:0", "--http-token-file", "short-token"], "not a token")):
    bad = subprocess.run([LEAT, "watch", "-b", "cpu", "--spool", "spool", *options],
                         capture_output=True, timeout=WAIT_S, text=True)
    s.check(bad.returncode == 2 and word in bad.stderr, f"{options}: {bad}")
bad = subprocess.run([LEAT, "page", "x"], capture_output=True, timeout=WAIT_S, text=True, stdin=subprocess.DEVNULL)
s.check(bad.returncode == 2 and "leat watch --http" in bad.stderr, f"leat page: {bad}")

# Somebody else has the port: the service runs, and says so.
s = Service("spool", "--http", "127.0.0.1:%d" % listener.getsockname()[1], "--http-token-file", "token")
s.until(lambda: "no page: --http: cannot listen" in s.said() and "in use" in s.status()["page"]["why"], s.said())
s.stop()
os.remove("spool/out/.hidden.json")
s.is_clean()
print("page, metrics, files, limits, tokens, sockets, restarts")
