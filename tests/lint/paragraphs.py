"""No paragraph of the manual, README.md and ARCHITECTURE.md has more than 90 words: a reader loses the thread in longer ones."""
import os
import re
import sys

os.chdir(f"{os.path.dirname(os.path.abspath(__file__))}/../..")
MOST = 90
BREAK = (".Pp", ".It", ".Sh", ".Ss", ".Bl", ".El", ".Bd", ".Ed", ".Dl")


def of_manual(text):
    """(number of its first line, words) of each; an example is none."""
    first, words, literal = 0, [], False
    for number, line in enumerate([*text.split("\n"), ".Pp"], 1):
        if line.startswith(BREAK):
            yield first, words
            first, words, literal = number, [], line.startswith(".Bd") or literal and not line.startswith(".Ed")
        if not literal and not line.startswith((".Dl", '.\\"', ".Xr", ".Sh", ".Ss")):
            words += [word for word in re.sub(r"\b[A-Z][a-z]\b " if line.startswith(".") else "^$", "", line).split() if re.search(r"\w", word)]


def of_markdown(text):
    """(number of its first line, words) of each, of a table of each cell; an example is none."""
    first, words, literal = 0, [], False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if not line.strip() or re.match(r"\s*([-*] |\d+\. |#|```|\|)", line) or literal:
            yield first, words
            first, words, literal = number, [], line.startswith("```") != literal
        if line.startswith("|"):
            yield from ((number, cell.split()) for cell in line.split("|"))
        elif not literal and not line.startswith("    "):
            words += line.split()


n, long = 0, []
for folder, names in (".", ["README.md", "ARCHITECTURE.md"]), ("pipeline/manual", sorted(os.listdir("pipeline/manual"))):
    for name in names:
        with open(f"{folder}/{name}", encoding="utf-8") as f:
            for line, words in (of_markdown if name.endswith(".md") else of_manual)(f.read()):
                n += bool(words)
                if len(words) > MOST:
                    long.append(f"{folder}/{name}:{line}: {len(words)} words: {' '.join(words[:8])} ...")
print(*long, f"{n} paragraphs, {len(long)} too long", sep="\n")
sys.exit(bool(long))
