#!/usr/bin/env python3
"""Which files call each other both ways? `circles.py BUILD` reads the symbols of BUILD's room libraries
(libleat_*.a), prints such pairs within a room, and those of rooms. Exit status 1: two rooms call each other, or two
files of a room in ORDERED; 2: there is nothing to read."""
import collections
import pathlib
import re
import subprocess
import sys

ORDERED = {"pipeline_service"}
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


def both_ways(calls):
    return sorted((a, b) for a, b in calls if a < b and (b, a) in calls)


def main():
    defined, needed = read_symbols(sys.argv[1])
    files, rooms = set(), set()
    for caller, symbols in needed.items():
        for callee in {defined[s] for s in symbols if s in defined} - {caller}:
            files.add((caller, callee))
            if caller[0] != callee[0]:
                rooms.add((caller[0], callee[0]))
    wrong = False
    for a, b in both_ways(files):
        wrong = wrong or a[0] == b[0] and a[0] in ORDERED
        print(f"within {a[0]}: {a[1]} and {b[1]}" if a[0] == b[0] else f"between rooms: {a} and {b}")
    circles = both_ways(rooms)
    for a, b in circles:
        print(f"rooms that call each other: {a} and {b}")
    sys.exit(1 if circles or wrong else 0)


main()
