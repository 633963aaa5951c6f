#!/bin/sh
# A real table as its authors publish it, with dates, decimal commas, empty columns and gaps written as -200,
# against pandas. LEAT_TEST_BACKEND chooses the backend, AIRQUALITY names the table.
. "$(dirname "$0")/lib.sh"
table=${AIRQUALITY:-$here/../../../shared/data/airquality/airquality.clusters.csv}
[ -f "$table" ] || skip "no air quality table (AIRQUALITY=FILE names it)"
"$python" -c 'import numpy, pandas, scipy' 2>/dev/null || skip "no Python with NumPy, pandas and SciPy"
exec "$python" "$here/airquality.py" "$LEAT" "$scratch" "$table"
