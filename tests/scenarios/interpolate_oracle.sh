#!/bin/sh
# Curves against SciPy's, on the examples of its documentation and on what leat is made for. LEAT_TEST_BACKEND chooses
# the backend.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy, scipy.interpolate' 2>/dev/null || skip "no Python with NumPy and SciPy"
exec "$python" "$here/interpolate_oracle.py"
