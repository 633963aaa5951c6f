#!/bin/sh
# The pipeline interpolate, whole program: nodes and queries in every form, against sums in 60 decimal digits; the
# same bytes for any number of threads and any size of blocks; every mistake with its message; in bounded memory; and
# through the service. LEAT_TEST_BACKEND chooses the backend.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy' 2>/dev/null || skip "no Python with NumPy"
exec "$python" "$here/interpolate.py"
