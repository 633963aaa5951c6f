# Four CUDA devices that the CPU plays (tests/support/fake_cuda.c); sourced after lib.sh. Any library stands in for the
# driver, which is looked for before the module is loaded.
# ctest: none
mkdir driver
library=$(ldd "$LEAT" | awk '/libz\.so/ { print $3 }')
[ -n "$library" ] || fail "no library to stand in for the driver"
ln -s "$library" driver/libcuda.so.1
export LEAT_MODULE_DIR="$LEAT_FAKE_MODULE_DIR" LD_LIBRARY_PATH="$PWD/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LEAT_FAKE_DEVICES=4
unset LEAT_TEST_BACKEND CUDA_VISIBLE_DEVICES
