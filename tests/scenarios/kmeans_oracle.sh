#!/bin/sh
# Clusters against scikit-learn's, through files, whole program. LEAT_TEST_BACKEND chooses the backend, PYTHON the Python.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy, sklearn' 2>/dev/null || skip "no Python with scikit-learn"
exec "$python" "$here/kmeans_oracle.py" "$LEAT" "$scratch"
