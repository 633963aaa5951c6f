"""How long the tests wait for what must come, and what shows that a sanitizer has found something."""
import os
import re

# So many times as long may things take as in a build that no sanitizer watches, whose time is not leat's; tests/CMakeLists.txt.
PATIENCE = float(os.environ.get("LEAT_TEST_PATIENCE", "1"))
WATCHED = PATIENCE > 1  # a sanitizer's memory is not leat's, either
# The thread sanitizer's builds, which are for what several threads do: numbers, messages and edges are those of the others.
THREADS_ALONE = PATIENCE >= 10
# For what must come at some time, on any machine, whatever else it does. Who waits longer waits for ever.
WAIT_S = 600


def report(log):
    """From the first line of a sanitizer's report on; "": there is none. A worker that dies of one is a death like others
    to its service."""
    found = re.search(r"^.*(Sanitizer|runtime error).*$", log, re.M)
    return log[found.start():found.start() + 8000] if found else ""
