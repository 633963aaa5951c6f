/*
 * self_test - does a backend give the right answers here and now?
 */
#ifndef LEAT_KERNELS_SELF_TEST_H
#define LEAT_KERNELS_SELF_TEST_H

#include "kernels/backend.h"

/* Runs small arrays through the kernels of `tested` and of `reference` and compares: walks and
 * landslides to the bit, moments and coefficients within the bounds of their headers. STATUS_DEVICE
 * names the first kernel that failed or disagreed, with both values. Some milliseconds. */
enum status self_test(struct backend *tested, struct backend *reference) STATUS_MUST_CHECK;

#endif
