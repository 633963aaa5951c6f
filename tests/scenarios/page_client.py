"""How scenarios ask the page (leat watch --http)."""
# ctest: none
import os
import re
import socket

from service import WAIT_S, Service

TOKEN = "abcdefgh-0123456789"


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0].startswith("HTTP/") else None
        self.headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}

    def text(self):
        return self.body.decode()


def connect(address):
    """To "http://127.0.0.1:PORT/" or "unix:PATH"."""
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(WAIT_S)
        s.connect(address[5:])
        return s
    host, port = re.fullmatch(r"http://\[?([^]/]*)\]?:(\d+)/", address).groups()
    return socket.create_connection((host, int(port)), WAIT_S)


def exchange(address, request):
    """What comes back until the other side closes."""
    raw = b""
    with connect(address) as c:
        try:
            c.sendall(request)
            while more := c.recv(1 << 16):
                raw += more
        except ConnectionError:
            pass
    return Answer(raw)


def head(address, path="/", method="GET", host="localhost", **headers):
    if address.startswith("http:"):  # where nobody is answered without
        headers.setdefault("Authorization", f"Bearer {TOKEN}")
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def get(address, path="/", method="GET", host="localhost", **headers):
    return exchange(address, head(address, path, method, host, **headers))


def post(address, body, path="/", **headers):
    """A form, as browsers send it."""
    headers = {"Content_Type": "application/x-www-form-urlencoded", **headers}
    return exchange(address, head(address, path, "POST", Content_Length=len(body), **headers) + body.encode())


def start(spool, http, *more, wait=True, **keys):
    """The service and the address of its page; in the present folder lies its token."""
    with open("token", "w") as f:
        f.write(TOKEN + "\n")
    os.chmod("token", 0o600)
    token = [] if http.startswith("unix:") else ["--http-token-file", "token"]
    s = Service(spool, "--http", http, *token, *more, wait=wait, **keys)
    return s, s.until(lambda: (s.status().get("page") or {}).get("pid") and s.status()["page"]["address"], "a page")


def metrics_of(text):
    """Names of metrics -> {labels: value}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"([a-z0-9_]+)(\{.*\})? (\S+)", line).groups()
            found.setdefault(name, {})[labels or ""] = float(value)
    return found
