#!/usr/bin/env python3
"""Which files call each other in a circle? `circles.py BUILD` reads the symbols of BUILD's room libraries
(libleat_*.a), prints the circles within each room, and rooms that do so. Exit status 1: there is a circle of rooms,
or of files of a room in ORDERED; 2: there is nothing to read."""
import collections
import pathlib
import re
import subprocess
import sys

ORDERED = {"pipeline_engine", "pipeline_service"}
LINE = re.compile(r".*/libleat_(\w+)\.a\[(.+)\.o\]: (\S+) (\w)")


def read_symbols(build):
    """Where each symbol is defined, and what each file needs; files are (room, file)."""
    libraries = sorted(map(str, pathlib.Path(build).glob("libleat_*.a")))
    if not libraries:
        sys.exit(2)
    lines = subprocess.run(["nm", "-A", "-P", *libraries], capture_output=True, text=True, check=True).stdout
    defined, needed = {}, collections.defaultdict(set)
    for room, name, symbol, kind in map(re.Match.groups, filter(None, map(LINE.match, lines.splitlines()))):
        if kind in "TDBRC":
            defined[symbol] = (room, name)
        elif kind == "U":
            needed[room, name].add(symbol)
    return defined, needed


def reach(calls, begin):
    found, next_ones = set(), [begin]
    while next_ones:
        new = calls[next_ones.pop()] - found
        found |= new
        next_ones += new
    return found


def circles(pairs):
    """Sets of two or more that all reach each other."""
    calls = collections.defaultdict(set)
    for caller, callee in pairs:
        calls[caller].add(callee)
    reached = {a: reach(calls, a) for a in list(calls)}
    return sorted({tuple(sorted(b for b in reached[a] if a in reached.get(b, ()))) for a in reached} - {()})


def main():
    defined, needed = read_symbols(sys.argv[1])
    files, rooms = set(), set()
    for caller, symbols in needed.items():
        for callee in {defined[s] for s in symbols if s in defined} - {caller}:
            (files if caller[0] == callee[0] else rooms).add((caller, callee))
    wrong = False
    for circle in circles(files):
        room = circle[0][0]
        wrong = wrong or room in ORDERED
        print(f"within {room}: {len(circle)} files, {', '.join(name for _, name in circle)}")
    for circle in circles({(a[0], b[0]) for a, b in rooms}):
        wrong = True
        print(f"rooms that call each other: {', '.join(circle)}")
    sys.exit(wrong)


main()
