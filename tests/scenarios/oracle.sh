#!/bin/sh
# Coefficients against NumPy and pandas, through files, whole program. LEAT_TEST_BACKEND chooses the backend.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy, pandas, scipy' 2>/dev/null || skip "no Python with NumPy, pandas and SciPy"
# NumPy multiplies as leat does, also where OpenBLAS takes the processor for an old one.
OPENBLAS_CORETYPE=$("$LEAT" doctor -b cpu | sed -n 's/.*OpenBLAS [^ ]* (\(.*\))$/\1/p')
export OPENBLAS_CORETYPE
exec "$python" "$here/oracle.py" "$LEAT" "$scratch"
