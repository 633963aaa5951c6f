"""The page in a browser (headless Chromium): buttons by mouse and by keyboard, a form of another site, 360 pixels, dark, without
scripts, contrast as WCAG 2 AA asks for, and names that hold HTML."""
# ctest: slots=1 asan=soak tsan=soak
import json
import os
import shutil
import subprocess
import sys
import time

from lib import WAIT_S, begin, skip
from page_client import TOKEN, start
from service import grid, table

if shutil.which("chromium") is None:
    skip("there is no chromium")
begin()

# The least contrast of a text with what it stands on, over all elements that hold text.
CONTRAST = """(() => {
  const parts = (s) => (s.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => { const [r, g, b] = c.map((x) => (x /= 255) <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b + .05; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  let least = 99;
  for (const e of document.querySelectorAll("body *"))
    if ([...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && e.getClientRects().length) {
      const a = light(parts(getComputedStyle(e).color).slice(0, 3)), b = light(ground(e));
      least = Math.min(least, Math.max(a, b) / Math.min(a, b)); }
  return least; })()"""


class Browser:
    """Chromium's protocol over descriptors 3 and 4: messages of JSON, each with a NUL behind it."""

    def __init__(self):
        theirs, self.to = os.pipe()
        self.of, writes = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec chromium "$@" 3<&{theirs} 4>&{writes}', "chromium", "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--user-data-dir={os.getcwd()}/chromium"],
            pass_fds=(theirs, writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(writes)
        self.rest, self.n, self.session = b"", 0, {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}

    def ask(self, method, **parameters):
        self.n += 1
        os.write(self.to, json.dumps({"id": self.n, "method": method, "params": parameters, **self.session}).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                more = os.read(self.of, 1 << 20)
                if not more:
                    sys.exit(f"FAILED: chromium ended at {method}")
                self.rest += more
            message, _, self.rest = self.rest.partition(b"\0")
            message = json.loads(message)
            if message.get("id") == self.n:
                return message["result"]

    def run(self, script):
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def until(self, script, what):
        end = time.monotonic() + WAIT_S
        while not (value := self.run(script)):
            s.check(time.monotonic() < end, f"never: {what}: {self.run('document.body.innerText')}")
            time.sleep(0.05)
        return value

    def click(self, label):
        find = f"document.querySelector('button[aria-label={json.dumps(label)}]')"
        self.until(f"!!{find}", f"a button '{label}'")
        at = self.run(f"{find}.scrollIntoView(), (({{x, y, width, height}}) => [x + width / 2, y + height / 2])({find}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def told(self, text):
        self.until(f"document.getElementById('notice')?.textContent.startsWith({json.dumps(text)})", f"'{text}'")


with open("leat.conf", "w") as f:
    f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
s, page = start("spool", "127.0.0.1:0", "-c", "leat.conf", "--jobs", "1", "--threads", "1", "--drain", "0")
browser = Browser()
browser.ask("Page.navigate", url=f"{page}?token={TOKEN}")
browser.until(f"document.body?.innerText.includes('Drop a file such as X.clusters.csv into {s.spool}/in')", "what to do first")
s.drop("long.dem.asc", grid(False))
s.drop("long.source.asc", grid(True))
s.until(lambda: s.status()["in_flight"], "a long job")
evil, name = '<img src=x onerror="document.title=1">.clusters.csv', "a" * 200 + ".clusters.csv"
for job in (evil, name):
    s.drop(job, table())

# --- actions: the name of the job stands in what is told ------------------------------------------------------------

browser.click(f"Hold in/{name}")
browser.told(f"hold in/{name}: held")
browser.click(f"Release in/{name}")
browser.told(f"release in/{name}: released")
browser.click(f"Delete in/{name}")
browser.told(f"delete in/{name}: deleted")
browser.click(f"Retry in/{name}")
browser.told(f"retry in/{name}: ")
browser.until(f"(b => b && (b.focus(), true))(document.querySelector('button[aria-label={json.dumps('Hold in/' + name)}]'))", "a button")
browser.run("document.getElementById('state').dataset.old = 1")
browser.until("!document.getElementById('state').dataset.old", "the page renews itself")
s.check(browser.run("document.activeElement.getAttribute('aria-label')") == f"Hold in/{name}", "the focus is lost")
for kind in ("keyDown", "keyUp"):
    browser.ask("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r" if kind == "keyDown" else "")
browser.told(f"hold in/{name}: held")

# --- how it looks ---------------------------------------------------------------------------------------------------

for width, scheme in ((1400, "light"), (1400, "dark"), (360, "light")):
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    least = browser.run(CONTRAST)
    s.check(least >= 4.5, f"{width} {scheme}: a contrast of {least}")
    s.check(browser.run("document.documentElement.scrollWidth <= innerWidth"), f"{width} pixels do not do")
unnamed = "[...document.querySelectorAll('button, input:not([type=hidden]), progress')].filter(e => !(e.ariaLabel || e.innerText)).length"
s.check(browser.run(unnamed) == 0, "a button or a field without a name")
s.check(browser.run("document.body.innerText").count(evil) > 0 and not browser.run("document.querySelector('img[src=x]')"), "a name is HTML")

# --- without scripts, and from elsewhere ----------------------------------------------------------------------------

browser.ask("Emulation.setScriptExecutionDisabled", value=True)
browser.ask("Page.navigate", url=page)
browser.click(f"Release in/{name}")
browser.told(f"release in/{name}: released")
browser.ask("Emulation.setScriptExecutionDisabled", value=False)
key = browser.run("document.querySelector('input[name=key]').value")
ids = {job["name"][3:]: job["id"] for job in s.status()["queued"]}
form = f"<form method=post action={page}><input name=key value={key}><input name=do value=delete><input name=job value={ids[name]}></form>"
browser.ask("Page.navigate", url="data:text/html," + form)
browser.until("!!document.forms[0]", "the page of another site")
browser.run("document.forms[0].submit()")
browser.until("location.protocol === 'http:'", "its answer")
s.check("Delete" not in browser.run("document.body.innerText") and name in {job["name"][3:] for job in s.status()["queued"]}, "a job is deleted")
browser.session = {}
browser.ask("Browser.close")
browser.process.wait()
s.stop()
print("the page in a browser: buttons, other sites, narrow, dark, without scripts")
