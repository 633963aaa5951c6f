#!/bin/sh
# The library on arrays of CuPy or PyTorch, which stay where they are: for a device alone (LEAT_TEST_BACKEND=cuda).
. "$(dirname "$0")/lib.sh"
[ "${LEAT_TEST_BACKEND:-cpu}" = cuda ] || skip "no CUDA device is asked for"
for library in "$(dirname "$LEAT")"/../lib/libleat.so.* "$(dirname "$LEAT")/../libleat.so"; do
    [ -f "$library" ] && break
done
[ -f "$library" ] || fail "no libleat.so beside $LEAT"
"$python" "$here/c_library_device.py" "$library"
