#!/bin/sh
# The service keeps a worker for each device, or for each group of them; the CPU plays the devices
# (tests/support/fake_cuda.c).
. "$(dirname "$0")/lib.sh"
mkdir driver
library=$(ldd "$LEAT" | awk '/libz\.so/ { print $3 }')
[ -n "$library" ] || fail "no library to stand in for the driver"
ln -s "$library" driver/libcuda.so.1
export LEAT_MODULE_DIR="$LEAT_FAKE_MODULE_DIR" LD_LIBRARY_PATH="$PWD/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LEAT_FAKE_DEVICES=4
unset LEAT_TEST_BACKEND CUDA_VISIBLE_DEVICES
"$LEAT" generate dem --rows 100 --columns 100 -o slope >/dev/null 2>&1 || fail "no terrain"
"$python" "$here/service_devices.py" || exit 1
