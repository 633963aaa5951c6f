// Puts in place what has changed, every two seconds while the page is seen. Without a script the page is loaded again.
"use strict";
(() => {
  const every = 2000;

  // What is open stays open, what has the focus keeps it, and pictures are not loaded again.
  const replace = (old, fresh) => {
    const details = fresh.querySelector("details");
    if (details && old.querySelector("details[open]")) details.open = true;
    if (old.outerHTML === fresh.outerHTML) return;
    if (old.role === "status") { // a screen reader tells what changes in it
      old.textContent = fresh.textContent;
      return;
    }
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    for (const picture of fresh.querySelectorAll("img")) {
      const same = [...old.querySelectorAll("img")].find((e) => e.getAttribute("src") === picture.getAttribute("src"));
      if (same) picture.replaceWith(same);
    }
    old.replaceWith(fresh);
    if (active) {
      const what = (e) => [e.tagName, e.getAttribute("href"), e.value, e.form?.job?.value].join();
      const again = [...fresh.querySelectorAll("a, summary, button")].find((e) => what(e) === what(active));
      if (again) again.focus({ preventScroll: true });
    }
  };

  const show = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    document.title = page.title;
    for (const fresh of page.querySelectorAll("[id]")) {
      const old = document.getElementById(fresh.id);
      if (old) replace(old, document.importNode(fresh, true));
    }
  };

  const look = async () => {
    if (!document.hidden) {
      let lost = false;
      try {
        const answer = await fetch(location.href, { cache: "no-store" });
        if (!answer.ok) throw new Error(answer.status);
        show(await answer.text());
      } catch {
        lost = true;
      }
      document.body.classList.toggle("lost", lost);
    }
    setTimeout(look, every);
  };
  setTimeout(look, every);
})();
