/*
 * interpolate_set_cpu - queries in each instruction set. Without fused multiply-add cells call the
 * C library's.
 */
#include "kernels/base/sets_cpu.h"
#include "kernels/interpolate/interpolate_lanes_cpu.h"

const struct interpolate_lanes CPU_SET_OF(cpu_interpolate) = INTERPOLATE_LANES_OF(CPU_SET_NAME);

CPU_SET_CHOICE(struct interpolate_lanes, interpolate)
