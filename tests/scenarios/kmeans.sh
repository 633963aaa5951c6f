#!/bin/sh
# The pipeline kmeans, whole program: every way that points come, the definition with NumPy, the same bytes for any
# number of threads and any memory, edges, and what is refused. LEAT_TEST_BACKEND chooses the backend.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy' 2>/dev/null || skip "no Python with NumPy"
exec "$python" "$here/kmeans.py" "$LEAT" "$scratch"
