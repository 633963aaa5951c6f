/*
 * sciddicat_set_cpu - rows in each instruction set.
 */
#include "kernels/base/sets_cpu.h"

#if CPU_SET_BYTES == 64
#include "kernels/sciddicat/sciddicat_vector512_cpu.h"
#else
#define VECTOR_BYTES CPU_SET_BYTES
#include "kernels/sciddicat/sciddicat_vector_cpu.h"
#endif

#include "kernels/sciddicat/sciddicat_row_cpu.h" /* of the vectors above */

const struct sciddicat_row_kernels CPU_SET_OF(cpu_sciddicat) = SCIDDICAT_ROW_KERNELS(CPU_SET_NAME);

CPU_SET_CHOICE(struct sciddicat_row_kernels, sciddicat)
