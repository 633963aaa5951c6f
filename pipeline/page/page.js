// Puts in place what has changed, every two seconds while the page is seen. Without a script the page is loaded again.
"use strict";
(() => {
  const every = 2000;
  let lost = 0;

  // What has the focus, so that it can have it again.
  const focused = () => document.activeElement && document.activeElement.getAttribute("href");

  const replace = (old, fresh) => {
    if (old.outerHTML === fresh.outerHTML) return;
    const href = old.contains(document.activeElement) ? focused() : null;
    old.replaceWith(fresh);
    if (href !== null) {
      const again = [...fresh.querySelectorAll("a")].find((a) => a.getAttribute("href") === href);
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
      try {
        const answer = await fetch(location.href, { cache: "no-store" });
        if (!answer.ok) throw new Error(answer.status);
        show(await answer.text());
        lost = 0;
      } catch {
        lost++;
      }
      document.body.classList.toggle("lost", lost > 1);
    }
    setTimeout(look, every);
  };
  setTimeout(look, every);
  document.addEventListener("visibilitychange", () => document.hidden || (lost = 0));
})();
