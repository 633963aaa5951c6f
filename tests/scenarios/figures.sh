#!/bin/sh
# Pictures, pages and leat show, whole program: every pipeline in every format, twice the same bytes; the heat map's order
# against SciPy; names that are not what they seem; the pictures of README.md.
. "$(dirname "$0")/lib.sh"
"$python" -c 'import numpy, scipy.cluster' 2>/dev/null || skip "no Python with NumPy and SciPy"
exec "$python" "$here/figures.py" "$LEAT" "$here/../../samples"
