"""Every line of the help is true: options and parameters are accepted and in the manual, by their own commands alone, and
commands end with the exit statuses that are told."""
# ctest: long asan=soak tsan=soak
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from lib import LEAT, TREE, WAIT_S, begin, skip

begin()
MANUALS = os.path.join(TREE, "pipeline", "manual")
if not os.path.isdir(MANUALS):
    skip("the manual is not here")
VALUES = {"FILE": "x.conf", "DIR": "out", "PATH": "x.sock", "KEY=VALUE": "top=3", "NAME": "pearson", "N": "2", "SIZE": "1G",
          "COMMAND": "true", "AGE,SIZE": "30d,1G", "SECONDS": "5", "I/N|auto": "1/2", "LIST": "exp", "X": "0.5", "METRES": "5"}
LARGE = bool(os.environ.get("LEAT_TEST_LARGE"))
SERVICE = ("watch", "status", "retry", "hold", "release", "delete", "flush")


def check(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def leat(*arguments):
    done = subprocess.run([LEAT, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S)
    return done.returncode, done.stdout, done.stderr


def page(name):
    with open(os.path.join(MANUALS, name), encoding="utf-8") as f:
        return f.read()


def pages(sections):
    return "".join(page(name) for name in sorted(os.listdir(MANUALS)) if re.search(rf"\.{sections}$", name))


def page_of(command):
    """The one that has the command in its synopsis."""
    own = [name for name in sorted(os.listdir(MANUALS)) if re.search(r"\.[18]$", name)
           if re.search(rf"^\.(Cm|Nm leat Cm) .*\b{command}\b", page(name).split("\n.Sh ")[2], re.M)]
    check(len(own) == 1, f"{command} has the pages {own}")
    return own[0]


def options_of(text):
    """{name: its value's name, or None}"""
    return {m[1]: m[2] for m in re.finditer(r"^ {2}(?:-., |    )--([a-z0-9-]+)(?:=(\S+))?", text, re.M)}


def value_for(arg):
    return VALUES.get(arg) or arg.split("|")[0].split("-")[0].split(",")[0]


def commands():
    status, text, _ = leat("--help")
    check(status == 0, "leat --help")
    return re.findall(r"^  ([a-z]+) ", text[text.index("Commands:"):text.index("Pipelines")], re.M)


def pipelines():
    text = leat("--help")[1]
    return re.findall(r"^  ([a-z]+) +X\.", text[text.index("Pipelines"):], re.M)


def refusal(command, options):
    """What is said against these options; `--xyzzy` is one too much: nothing is done."""
    given = [f"--{name}" if arg is None else f"--{name}={value_for(arg)}" for name, arg in options.items()]
    _, _, said = leat(command, *given, *([] if options.keys() & {"help", "version"} else ["--xyzzy"]))
    return said if "--xyzzy" not in said else ""


def may_be_accepted(n, name, own):
    """Whether it is tried with a command that does not have it: it may be short for one of its own, or it is its turn. In
    which words a command refuses does not matter."""
    return LARGE or n % 8 == 0 or any(other.startswith(name) for other in own)


def walk_options():
    """The options in a command's help are those of its table, which it offers to a shell, and it takes all of them."""
    manuals = {c: page_of(c) for c in commands()}
    options = {c: options_of(leat(c, "--help")[1]) for c in manuals}
    everything = {name: arg for of in options.values() for name, arg in of.items()}
    n = n_foreign = 0
    for command in manuals:
        own = options[command]
        offered = {word[2:] for word in leat("--complete", command, "--")[1].split()}
        check(offered == own.keys(), f"leat {command}: in its table or its help alone: {offered ^ own.keys()}")
        for some in {"help": None}, {"version": None}, {name: own[name] for name in own if name not in ("help", "version")}:
            said = refusal(command, some)
            check(not said, f"leat {command} with {[*some]}, which are in its help: {said}")
        check(leat(command, "--help")[1].endswith(f"\nManual: man {manuals[command][:-2]}\n"), f"{command}: another page")
        for name in own:
            n += 1
        for name in (name for name in everything if name not in own):
            n_foreign += 1
            if may_be_accepted(n_foreign, name, own):
                said = refusal(command, {name: everything[name]})
                check(f"unknown option '--{name}'" in said, f"leat {command} accepts --{name}, which is not in its help")
    for manual in {*manuals.values()} - {"leat.1"}:
        told = {name for line in re.findall(r"^\.(?:It )?Fl .*", text_of(manual, "OPTIONS"), re.M)
                for name in re.findall(r"(?:Fl |, )-([a-z-]+)", line)} | {"help", "version"}
        own = {name for c in manuals if manuals[c] == manual for name in options[c]}
        check(told == own, f"{manual}: in it or in the help alone: {told ^ own}")
    print(f"{n} options of {len(manuals)} commands")


def walk_keys_of_configuration():
    """leat.conf(5) names the options that are keys, and no other."""
    told = set(re.findall(r"[a-z_]+", section("leat.conf.5", "KEYS BEFORE THE FIRST SECTION")))
    keys = set()
    for name in {**options_of(leat("run", "--help")[1]), **options_of(leat("watch", "--help")[1])}:
        with open("keys.conf", "w") as f:
            f.write(f"{name.replace('-', '_')} = \n")
        _, _, said = leat("check", "-c", "keys.conf", "none.csv")
        if "unknown key" not in said:
            keys.add(name.replace("-", "_"))
    told -= {"yes", "true", "on", "no", "false", "off"}
    check(told == keys, f"leat.conf(5), or the keys alone: {told ^ keys}")
    print(f"{len(keys)} keys of the configuration")


def walk_topics():
    """All ways to ask say the same, and every example of the help works: on the samples, or, where a service is asked, as
    far as its words go."""
    n = 0
    samples = os.path.join(TREE, "samples")
    env = {**os.environ, "PATH": f"{os.path.dirname(os.path.abspath(LEAT))}:{os.environ['PATH']}", "HOME": os.getcwd()}
    for topic in [*commands(), *pipelines()]:
        status, text, said = leat("help", topic)
        check(status == 0 and not said and leat("--help", topic)[1] == text, f"leat help {topic}, leat --help {topic}")
        check(topic in pipelines() or leat(topic, "--help")[1] == text, f"leat {topic} --help")
        examples = re.search(r"^Examples:\n((?:  .*\n)+)", text, re.M)
        check(examples, f"leat help {topic} has no example")
        for line in examples[1].splitlines():
            n += 1
            if topic in (*SERVICE, "doctor"):
                done = subprocess.run(["sh", "-c", line + " --xyzzy"], env=env, capture_output=True, text=True, timeout=WAIT_S)
                check("unknown option '--xyzzy'" in done.stderr, f"{line}: {done.stderr}")
                continue
            shutil.rmtree("examples", ignore_errors=True)
            os.mkdir("examples")
            for name in os.listdir(samples):
                if name.endswith((".csv", ".asc", ".npy")):
                    shutil.copy(os.path.join(samples, name), "examples")
            before = "leat run -q -b cpu -o out wells.clusters.csv && " if topic == "show" else ""
            done = subprocess.run(["bash", "-c", before + line], cwd="examples", env=env, capture_output=True, text=True, timeout=WAIT_S)
            check(done.returncode == 0, f"{line}: {done.stderr}")
    check(leat("--complete", "help", "k")[1] == "kmeans\n", "a topic is not completed")
    check("unknown topic 'kmens': did you mean 'kmeans'?" in leat("help", "kmens")[2], "a topic that there is not")
    check("'kmeans' is a pipeline" in leat("kmeans")[2], "a pipeline is no command")
    print(f"{n} examples")


def commands_of(line):
    """The arguments of each leat in a line of shell, quoted or not."""
    words = shlex.split(line)
    for i, word in enumerate(words):
        if word == "leat" or word.startswith("leat "):
            given = shlex.split(word)[1:] or words[i + 1:]
            yield given[:next((k for k, w in enumerate(given) if w in ("|", ">", "&&", ":::")), None)]


def walk_examples():
    """What the manual's examples ask leat for is accepted: options, and parameters by the page's pipeline, or by any."""
    n = 0
    for name in sorted(os.listdir(MANUALS)):
        own = [p for p in pipelines() if name == f"leat-{p}.7"] or pipelines()
        shown = re.findall(r"^\.Bd -literal.*\n((?:(?!\.Ed).*\n)+)|^\.Dl (.*)\n", page(name), re.M)
        for line in re.sub(r"\\e\n", "", "\n".join(map("".join, shown))).splitlines():
            for words in commands_of(line) if re.search(r"\bleat ", line) else ():
                n += 1
                _, _, said = leat(*words, "--xyzzy")
                check("unknown option '--xyzzy'" in said, f"{name}: {line}: {said}")
                asked = [a for option, value in zip(words, words[1:]) if option == "-s" for a in (option, value)]
                if words[0] in ("run", "check"):
                    check(any("none.csv" in leat("check", "-p", p, *asked, "none.csv")[2] for p in own), f"{name}: {line}: no such parameter")
    print(f"{n} commands in examples of the manual")


def walk_parameters():
    n = 0
    for block in (m for p in pipelines() for m in re.findall(r"^Parameters of (\S+), .*\n((?:  .*\n)+)", leat("help", p)[1], re.M)):
        for key, about in re.findall(r"^  ([a-z_]+)\b(.*\n(?: {10}.*\n)*)", block[1], re.M):
            default = re.search(r"\(default\s([^)]+)\)\s*\Z", about)
            value = default[1] if default else {"query": "linspace(0, 1, 2)", "factors": "1, 2"}.get(key, "x")
            _, _, said = leat("check", "-p", block[0], "-s", f"{key}={value}", "none.csv")
            check("none.csv" in said, f"{block[0]}: {key}={value}: {said}")
            n += 1
    block = re.search(r"^Parameters of every pipeline, .*\n((?:  .*\n)+)", leat("help", "tables")[1], re.M)[1]
    last = dict(re.findall(r"^  ([a-z_]+)=(.*\n(?: {10}.*\n)*)", block, re.M))
    told = set(re.findall(r"^\.It Cm ([a-z_]+) Ns = Ns", page("leat-tables.7"), re.M))
    check(told == set(last), f"leat-tables(7) or the help alone: {told ^ set(last)}")
    for key, about in last.items():
        check(len(about.split()) > 4, f"{key} has no words beside it")
    print(f"{n} parameters, and {len(last)} of every pipeline")


def statuses():
    """{command: the exit statuses that are seen}, one way to each that is told."""
    good, bad = "good.clusters.csv", "bad.clusters.csv"
    with open(good, "w") as f:
        f.write("1,2,3\n4,5,7\n")
    with open(bad, "w") as f:
        f.write("1,2,3\n4,5,oops\n")
    os.mkdir("full")
    seen = {"run": {leat("run", "-b", "cpu", good)[0], leat("run", "-b", "cpu", "-o", "o2", good, bad)[0], leat("run")[0]},
            "check": {leat("check", "-b", "cpu", good)[0], leat("check", "-b", "cpu", good, bad)[0], leat("check", "none")[0]},
            "doctor": {leat("doctor", "-b", "cpu")[0], leat("doctor", "-b", "gpu")[0]},
            "generate": {leat("generate", "nodes", "-o", "n.csv")[0], leat("generate", "dme")[0], write_to_full()},
            "show": {leat("show", good)[0], leat("show", good, bad)[0], leat("show", "none")[0]},
            "completion": {leat("completion", "zsh")[0], leat("completion", "fish")[0]}}
    return {**seen, **of_service(bad)}


def write_to_full():
    with open("/dev/full", "w") as full:
        return subprocess.run([LEAT, "generate", "nodes"], stdout=full, stderr=subprocess.DEVNULL).returncode


def watch(*options):
    """The status of leat status once it answers, of the service, and what the failed job is called."""
    with open("log", "w") as log:
        service = subprocess.Popen([LEAT, "watch", "--spool", "s", "-b", "cpu", "--http", "unix:http.sock",
                                    *options], stderr=log)
    try:
        return watch_service(service, *options)
    finally:
        service.kill()


def watch_service(service, *options):
    ask, give_up = ("status", "--spool", "s"), time.monotonic() + WAIT_S
    while (answer := leat(*ask))[0] == 2 or ("paused" not in answer[1] and answer[0] == 1):
        check(time.monotonic() < give_up and service.poll() is None, f"never: an answer; {open('log').read()}")
        time.sleep(0.02)
    failed = []
    while not options and not (failed := os.listdir("s/failed")):
        check(time.monotonic() < give_up, "never: the failed job")
        time.sleep(0.02)
    if failed:
        while failed[0] not in leat(*ask)[1]:
            check(time.monotonic() < give_up, "never: the failure in the status")
        walk_service(ask, failed[0])
        retried = leat("retry", "--spool", "s", failed[0])[0]
    service.send_signal(signal.SIGTERM)
    return answer[0], service.wait(WAIT_S), retried if failed else None


def of_service(bad):
    for folder in "s/in", "s/failed":
        os.makedirs(folder)
    os.rename(bad, "s/in/" + bad)
    ready, ended, retried = watch()
    paused, _, _ = watch("--reserve", "1000000T")
    return {**of_hands(), "status": {ready, paused, leat("status", "--spool", "none")[0]},
            "watch": {ended, leat("watch")[0]},
            "retry": {retried, leat("retry", "--spool", "s", "nix")[0], some_of_two()}}


def of_hands():
    """With two jobs that wait behind a long one."""
    samples = os.path.join(TREE, "samples")
    os.makedirs("h/in")
    for part in "dem", "source":
        shutil.copy(os.path.join(samples, f"slope.{part}.asc"), f"h/in/long.{part}.asc")
    with open("h.conf", "w") as f:
        f.write("[pipeline sciddicat]\nsteps = 2000000000\n")
    give_up = time.monotonic() + WAIT_S
    with open("log", "w") as log:
        service = subprocess.Popen([LEAT, "watch", "--spool", "h", "-b", "cpu", "-c", "h.conf",
                                    "--jobs", "1", "--drain", "0"], stderr=log)

    def until(ask, what):
        while not (answer := ask(json.loads(leat("status", "--json", "--spool", "h")[1] or "{}"))):
            check(time.monotonic() < give_up and service.poll() is None, f"never: {what}; {open('log').read()}")
            time.sleep(0.02)
        return answer

    until(lambda status: status.get("in_flight"), "a long job")
    for i in range(24):
        with open(f"h/in/t{i}.clusters.csv", "w") as f:
            f.write("1,2,3\n4,5,7\n")
    a, b = until(lambda status: len(status["queued"]) >= 2 and [job["id"] for job in status["queued"]], "two that wait")[:2]

    def ask(*words):
        return leat(*words, "--spool", "h")[0]

    seen = {"hold": {ask("hold", a, b), ask("hold", a, "nix"), ask("hold", "nix")},
            "release": {ask("release", a), ask("release", b, "nix"), ask("release", "nix")},
            "delete": {ask("delete", a), ask("delete", b, "nix"), ask("delete", "nix")}, "flush": {ask("flush")}}
    service.send_signal(signal.SIGTERM)
    service.wait(WAIT_S)
    seen["flush"].add(ask("flush"))
    return seen


def some_of_two():
    """One job that can be retried, and one that is not there."""
    job = "s/failed/20261121-030441-000009"
    os.makedirs(job + "/in")
    with open(job + "/in/a.clusters.csv", "w") as f:
        f.write("1,2\n3,4\n")
    inputs = '[{"name": "a.clusters.csv", "inode": 1, "bytes": 8, "mtime_ns": 7}]'
    with open(job + "/job", "w") as f:
        f.write('{"schema": 1, "id": "%s", "folder": "", "stem": "a", "inputs": %s, "parameters": {}}\n' % (job[9:], inputs))
    return leat("retry", "--spool", "s", job[9:], "nix")[0]


def statuses_of(manual, command):
    """Those that the page tells: in a list, or in an entry for the command."""
    text = text_of(manual, "EXIT STATUS")
    own = re.search(rf"^\.It Cm (?:.*, )?{command}\b.*\n((?:(?!\.It ).*\n)+)", text, re.M)
    return {int(n) for n in (re.findall(r"\b(\d): ", own[1]) if own else re.findall(r"^\.It (\d+)$", text, re.M))}


def walk_statuses():
    every = statuses()
    check(set(every) == set(commands()), f"statuses of {set(every)}, commands {set(commands())}")
    for command, seen in every.items():
        text = " ".join(leat(command, "--help")[1].split()).split("Exit status: ")[1]
        told = {int(n) for n in re.findall(r"(?:\A|[,;]\s)(\d) ", text)}
        check(told == seen, f"{command} tells {told} and ends with {seen}")
        manual = page_of(command)
        if manual != "leat.1":  # which has those of all commands
            check(statuses_of(manual, command) - {71} == seen, f"{manual}: {command} ends with {seen}")
        print(f"{command}: exit statuses {sorted(seen)}")


# --- what programs read ---------------------------------------------------------------------------

ASKED = ("parameters", "reader", "requested", "set")  # keys in them are parameters


def keys_of(value, within=""):
    """(its place, the key) of all that a JSON document holds."""
    if isinstance(value, list):
        return {k for v in value for k in keys_of(v, within)}
    if not isinstance(value, dict):
        return set()
    return {k for key, v in value.items() for k in {(within, key)} | keys_of(v, key)}


def text_of(name, heading):
    """A section of a manual."""
    level, text = re.search(rf"^\.S([hs]) {heading}\n(.*)\Z", page(name), re.M | re.S).groups()
    return re.split(r"^\.Sh " if level == "h" else r"^\.S[hs] ", text, flags=re.M)[0]


def section(name, heading):
    """What it marks as words of the command line or of JSON."""
    return " ".join(re.findall(r"\bCm (.*?)(?= [A-Z][a-z]\b|$)", text_of(name, heading), re.M))


def walk_keys(what, value, manual):
    """Every key of it is in these lines."""
    parameters = "\n".join(re.findall(r"^\.It Cm .*", pages("7"), re.M))
    keys = keys_of(value)
    missing = sorted(key for within, key in keys
                     if not re.search(rf"(?<!\w){re.escape(key)}(?!\w)", manual + (" " + parameters if within in ASKED else "")))
    check(not missing, f"{what}: not in the manual: {missing}")
    print(f"{what}: {len(keys)} keys")


def walk_json():
    samples, common = os.path.join(TREE, "samples"), section("leat-results.7", "JSON")
    jobs = {"pearson": ["-s", "order=cluster", "-s", "missing_value=-200", "greenhouse.clusters.csv"],
            "sciddicat": ["-s", "steps=5", "slope.dem.asc", "slope.source.asc"],
            "interpolate": ["runge.nodes.csv", "runge.query.csv"], "kmeans": ["-s", "k=2-3", "beans.points.csv"]}
    for pipeline, words in jobs.items():
        words = [os.path.join(samples, w) if os.path.exists(os.path.join(samples, w)) else w for w in words]
        for command in "run", "check":
            status, text, said = leat(command, "--json", "-b", "cpu", *(("-o", "json") if command == "run" else ()), *words)
            check(status == 0, said)
            walk_keys(f"{command} of {pipeline}", json.loads(text), f"{common} {section(f'leat-{pipeline}.7', 'SUMMARY')}")
    walk_keys("a failure", json.loads(leat("run", "--json", "-b", "cpu", os.path.join(samples, "beans.points.csv"), "-s", "k=900")[1]),
              common)
    walk_keys("doctor", json.loads(leat("doctor", "--json", "-b", "cpu")[1]), section("leat-doctor.1", "JSON"))


def walk_service(ask, failed):
    """While a service runs, of which one job has failed."""
    walk_keys("status", json.loads(leat(*ask, "--json")[1]), section("leat-status.1", "JSON OF STATUS"))
    listed = json.loads(leat("status", "--failed", "--json", "--spool", "s")[1])
    check(len(listed) == 1, f"failed jobs: {listed}")
    walk_keys("status --failed", listed, section("leat-status.1", "JSON OF STATUS"))
    with open(f"s/failed/{failed}/reason.json") as f:
        walk_keys("reason.json", json.load(f), section("leat-watch.8", "reason.json"))


walk_options()
walk_keys_of_configuration()
walk_topics()
walk_examples()
walk_parameters()
walk_json()
walk_statuses()
