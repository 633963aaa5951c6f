/*
 * sweep_cuda - the inner loop of products of digits: a sweep over samples, for one tile of the
 * matrix, by a warp that copies and two warpgroups that multiply.
 *
 * See digits_wgmma_cuda.cu for the mapping, digits_cuda.h for what is multiplied.
 */
#ifndef LEAT_KERNELS_PEARSON_SWEEP_CUDA_H
#define LEAT_KERNELS_PEARSON_SWEEP_CUDA_H

#include "kernels/base/warpgroup_cuda.h"
#include "kernels/pearson/digits_cuda.h"

#include <stddef.h>

enum {
    STEP_K = 64, /* samples of a slot */
    SLOTS = 16,
    SLOT_A_BYTES = TILE_A * STEP_K,
    SLOT_BYTES = (TILE_A + TILE_B) * STEP_K,
    RING_BYTES = SLOTS * SLOT_BYTES,
    RING_ALIGNMENT = 512, /* the swizzle's period */
    N_ACC = TILE_B / 2,   /* of a thread: 64 x 96 over 128 threads */
    ACCUMULATORS = 4
};

/* Of every slot: its copies have arrived; both multiplying warpgroups are done with it. */
struct sweep_barriers {
    uint64_t full[SLOTS], empty[SLOTS];
};

/* Products of the first DIGITS digits, of orders FIRST to LAST. */
template <int FIRST, int LAST, int DIGITS> struct orders {
    static const int first = FIRST, count = LAST - FIRST + 1, digits = DIGITS;
    /* the first digit that takes part, and how many do */
    static const int lowest = FIRST < DIGITS ? 0 : FIRST - DIGITS + 1, slots = DIGITS - lowest;
    /* 256^-FIRST */
    static __device__ __forceinline__ constexpr double unit()
    {
        double v = 1;
        for (int k = 0; k < FIRST; k++) {
            v /= 256;
        }
        return v;
    }
    static __device__ __forceinline__ constexpr bool takes(int k, int l)
    {
        return k + l >= FIRST && k + l <= LAST;
    }
};

/* Where the ring stands. */
struct ring_place {
    uint32_t count;
    __device__ __forceinline__ uint32_t slot(uint32_t ahead) const
    {
        return (count + ahead) % SLOTS;
    }
    __device__ __forceinline__ uint32_t parity(uint32_t ahead) const
    {
        return (count + ahead) / SLOTS % 2;
    }
};

struct tile_place {
    int row_a, row_b;
    size_t k_first, k_end;
};

template <typename O>
__device__ __forceinline__ void produce(sweep_barriers *barriers, uint32_t ring, ring_place *place,
                                        const CUtensorMap *map_a, const CUtensorMap *map_b,
                                        const tile_place &tile)
{
    for (size_t k = tile.k_first; k < tile.k_end; k += STEP_K) {
        for (int d = O::lowest; d < O::digits; d++) {
            const uint32_t slot = place->slot(0), to = ring + slot * SLOT_BYTES;
            barrier_wait(&barriers->empty[slot], place->parity(0) ^ 1);
            barrier_expect(&barriers->full[slot], SLOT_BYTES);
            copy_tile(to, map_a, &barriers->full[slot], (int)k, d, tile.row_a);
            copy_tile(to + SLOT_A_BYTES, map_b, &barriers->full[slot], (int)k, d, tile.row_b);
            place->count++;
        }
    }
}

/* Digits D and E, in their slots: D E', and E D' if they differ. */
template <typename O, int D, int E>
__device__ __forceinline__ void multiply_pair(int (&acc)[ACCUMULATORS][N_ACC],
                                              const ring_place &place, uint64_t a, uint64_t b)
{
    if constexpr (D >= E && E >= O::lowest && O::takes(D, E)) {
        const uint64_t at_d = place.slot(D - O::lowest) * (SLOT_BYTES >> 4);
        const uint64_t at_e = place.slot(E - O::lowest) * (SLOT_BYTES >> 4);
#pragma unroll
        for (int k = 0; k < STEP_K / 32; k++) {
            multiply(acc[D + E - O::first], a + at_d + 2 * k, b + at_e + 2 * k);
        }
#pragma unroll
        for (int k = 0; D != E && k < STEP_K / 32; k++) {
            multiply(acc[D + E - O::first], a + at_e + 2 * k, b + at_d + 2 * k);
        }
    }
}

/* Digit D, once it is there, with itself and the digits before it. */
template <typename O, int D>
__device__ __forceinline__ void multiply_digit(sweep_barriers *barriers,
                                               int (&acc)[ACCUMULATORS][N_ACC],
                                               const ring_place &place, uint64_t a, uint64_t b)
{
    if constexpr (D >= O::lowest && D < O::digits) {
        barrier_wait(&barriers->full[place.slot(D - O::lowest)], place.parity(D - O::lowest));
        multiply_begin();
        multiply_pair<O, D, 0>(acc, place, a, b);
        multiply_pair<O, D, 1>(acc, place, a, b);
        multiply_pair<O, D, 2>(acc, place, a, b);
        multiply_pair<O, D, 3>(acc, place, a, b);
        multiply_pair<O, D, 4>(acc, place, a, b);
        multiply_pair<O, D, 5>(acc, place, a, b);
    }
}

/* The slots of the samples before `place` are done with. */
template <typename O>
__device__ __forceinline__ void free_slots(sweep_barriers *barriers, const ring_place &place)
{
    if (threadIdx.x % 128 == 0) {
#pragma unroll
        for (int d = 1; d <= O::slots; d++) {
            barrier_arrive(&barriers->empty[(place.count - d) % SLOTS]);
        }
    }
}

template <typename O>
__device__ __forceinline__ void consume(sweep_barriers *barriers, ring_place *place,
                                        int (&acc)[ACCUMULATORS][N_ACC], uint64_t a, uint64_t b,
                                        const tile_place &tile)
{
#pragma unroll
    for (int o = 0; o < O::count; o++) {
#pragma unroll
        for (int k = 0; k < N_ACC; k++) {
            acc[o][k] = 0;
        }
    }
    for (size_t k = tile.k_first; k < tile.k_end; k += STEP_K) {
        multiply_digit<O, 0>(barriers, acc, *place, a, b);
        multiply_digit<O, 1>(barriers, acc, *place, a, b);
        multiply_digit<O, 2>(barriers, acc, *place, a, b);
        multiply_digit<O, 3>(barriers, acc, *place, a, b);
        multiply_digit<O, 4>(barriers, acc, *place, a, b);
        multiply_digit<O, 5>(barriers, acc, *place, a, b);
        multiply_commit();
        multiply_wait<1>();
        if (k > tile.k_first) {
            free_slots<O>(barriers, *place);
        }
        place->count += O::slots;
    }
    multiply_wait<0>();
    free_slots<O>(barriers, *place);
}

#endif
