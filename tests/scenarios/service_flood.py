"""Files are dropped, and closed again and again, while the service stands still under SIGSTOP, until there are more events
than the kernel's queue holds: nothing is lost, doubled, torn or left over. LEAT_SERVICE_FILES: how many; 2,000."""
# ctest: long asan=soak tsan=no
import sys

from lib import LEAT, begin
import service_harness

begin(in_memory=True)
sys.argv[1:] = [LEAT, "harness", "many"]
sys.exit(service_harness.main())
