#!/bin/sh
# Coefficients against NumPy and pandas, through files, whole program. LEAT_TEST_BACKEND chooses the backend.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy, pandas, scipy' 2>/dev/null || skip "no Python with NumPy, pandas and SciPy"
exec "$python" "$here/oracle.py" "$LEAT" "$scratch"
