/*
 * matrix_cuda - the matrix in the forms that leave: condensed triangle and reduced picture.
 *
 * The condensed upper triangle lists row i as (i, i + 1), (i, i + 2), ..: column i of the panels.
 * It is transposed in tiles of 32 x 32 into a staging buffer of the slot, a part at a time, and
 * copied from there into page-locked memory of the host: the caller's or, where that is not
 * page-locked, the slot's.
 *
 * Mapping: a block a tile of the rectangle of rows that the wanted elements lie in; a warp a cell
 * of the picture, lanes along its rows.
 * Bytes: an element read once from device memory, written and read once more, and copied once over
 * the bus. Sums of a cell are taken in double, in one order.
 */
#include "kernels/base/reduce_cuda.h"
#include "kernels/matrix/matrix_cuda.h"

#include <stdlib.h>
#include <string.h>

namespace
{

enum { TILE = 32, TILE_ROWS = 8 };
/* A part's transposition takes a tenth of its copy, during which the bus would be idle. */
const size_t STAGED_BYTES = (size_t)16 << 20;
const int THREADS = 256;

struct window {
    uint64_t first, end; /* elements wanted */
    size_t i0;           /* the row that holds the first */
    size_t j0;           /* no column before this one is wanted */
    size_t tiles_j;
};

template <typename T>
__global__ void __launch_bounds__(TILE *TILE_ROWS)
    condense(const __grid_constant__ matrix_view m, window w, void *to)
{
    T *const out = (T *)to;
    __shared__ T tile[TILE][TILE + 1];
    const size_t i0 = w.i0 + blockIdx.x / w.tiles_j * TILE;
    const size_t j0 = w.j0 + blockIdx.x % w.tiles_j * TILE;
    if (j0 + TILE <= i0) {
        return;
    }
    for (int k = threadIdx.y; k < TILE; k += TILE_ROWS) {
        const size_t j = j0 + k, i = i0 + threadIdx.x;
        if (j < m.n && i < j) {
            tile[k][threadIdx.x] = matrix_row<T>(m, j)[i];
        }
    }
    __syncthreads();
    for (int k = threadIdx.y; k < TILE; k += TILE_ROWS) {
        const size_t i = i0 + k, j = j0 + threadIdx.x;
        if (j < m.n && i < j) {
            const uint64_t e = matrix_condensed_row(i, m.n) + (j - i - 1);
            if (e >= w.first && e < w.end) {
                out[e - w.first] = tile[threadIdx.x][k];
            }
        }
    }
}

/* Elements [first, first + n), at most STAGED_BYTES, to page-locked memory; the slot's event tells
 * when they are there. */
enum status condense_part(struct cuda_queue *q, unsigned slot, const matrix_view &m, uint64_t first,
                          size_t n, void *to, unsigned which)
{
    const enum stream_id id = (enum stream_id)(STREAM_DOWNLOAD + slot);
    const size_t bytes = n * dtype_bytes(m.type);
    void *staged;
    window w = {first, first + n, matrix_condensed_row_of(first, m.n), 0, 0};
    const size_t last = matrix_condensed_row_of(w.end - 1, m.n);
    size_t j_end = m.n;
    w.j0 = w.i0 + 1;
    if (w.i0 == last) {
        /* one row, perhaps a piece of it */
        const uint64_t start = matrix_condensed_row(w.i0, m.n);
        w.j0 += first - start;
        j_end = w.i0 + 1 + (w.end - start);
    }
    w.tiles_j = cuda_pieces(j_end - w.j0, TILE);
    const size_t tiles = cuda_pieces(last - w.i0 + 1, TILE) * w.tiles_j;
    cuda_work work(q, id, KIND_DOWNLOAD, bytes);
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_queue_scratch(q, id, bytes, &staged));
    const dim3 block(TILE, TILE_ROWS);
    auto kernel = m.type == DTYPE_F32 ? condense<float> : condense<double>;
    kernel<<<(unsigned)tiles, block, 0, work.stream>>>(m, w, staged);
    STATUS_TRY(cuda_launched("condensed triangle"));
    CUDA_TRY(cudaMemcpyAsync(to, staged, bytes, cudaMemcpyDeviceToHost, work.stream), "download");
    CUDA_TRY(cudaEventRecord(q->slot[slot].done[which], work.stream), "condensed triangle");
    return work.done();
}

/* To page-locked memory. */
enum status condense_directly(struct cuda_queue *q, unsigned slot, const matrix_view &m,
                              uint64_t first, size_t n, char *dst)
{
    const size_t size = dtype_bytes(m.type), most = STAGED_BYTES / size;
    for (size_t k = 0; k < n; k += most) {
        STATUS_TRY(condense_part(q, slot, m, first + k, cuda_min(most, n - k), dst + k * size, 0));
    }
    return cuda_wait_event(q->slot[slot].done[0]);
}

/* Through the slot's page-locked halves, one filling as the other is emptied. */
enum status condense_by_bounce(struct cuda_queue *q, unsigned slot, const matrix_view &m,
                               uint64_t first, size_t n, char *dst)
{
    const size_t size = dtype_bytes(m.type), most = QUEUE_BOUNCE_BYTES / 2 / size;
    const size_t parts = cuda_pieces(n, most);
    char *bounce = nullptr;
    STATUS_TRY(cuda_slot_bounce(q, slot, n * size, &bounce));
    for (size_t k = 0; k <= parts; k++) {
        if (k < parts) {
            STATUS_TRY(condense_part(q, slot, m, first + k * most, cuda_min(most, n - k * most),
                                     bounce + k % 2 * (QUEUE_BOUNCE_BYTES / 2), k % 2));
        }
        if (k > 0) {
            const size_t done = cuda_min(most, n - (k - 1) * most);
            STATUS_TRY(cuda_wait_event(q->slot[slot].done[(k - 1) % 2]));
            memcpy(dst + (k - 1) * most * size, bounce + (k - 1) % 2 * (QUEUE_BOUNCE_BYTES / 2),
                   done * size);
        }
    }
    return STATUS_OK;
}

/* Cells (a, b), b <= a, a warp each. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    heat_cells(const __grid_constant__ matrix_view m, const __grid_constant__ matrix_picture p)
{
    const size_t side = p.side;
    const size_t cell = blockIdx.x * (size_t)(THREADS / 32) + threadIdx.x / 32;
    const size_t a = cell / side, b = cell % side;
    if (a >= side || b > a) {
        return;
    }
    const size_t lane = threadIdx.x % 32;
    const size_t j0 = a * m.n / side, j1 = (a + 1) * m.n / side;
    const size_t i0 = b * m.n / side, i1 = (b + 1) * m.n / side;
    double sum = 0, count = 0;
    /* element by element of the cell, so that narrow cells use all lanes */
    const size_t width = i1 - i0, rows_on = 32 / width, columns_on = 32 % width;
    size_t row = lane / width, column = lane % width;
#pragma unroll 4
    while (j0 + row < j1) {
        const size_t j = j0 + row, i = i0 + column;
        double r = (double)NAN;
        if (i < j && p.order == nullptr) {
            r = (double)matrix_row<T>(m, j)[i];
        } else if (i < j) {
            const uint32_t one = p.order[j], other = p.order[i];
            r = (double)matrix_row<T>(m, one > other ? one : other)[one > other ? other : one];
        }
        if (r == r) {
            sum += r;
            count += 1;
        }
        column += columns_on;
        row += rows_on + (column >= width ? 1 : 0);
        column -= column >= width ? width : 0;
    }
    sum = warp_sum(sum);
    count = warp_sum(count);
    if (lane == 0) {
        if (a == b) {
            sum = 2 * sum + (double)p.ones[a];
            count = 2 * count + (double)p.ones[a];
        }
        p.cells[a * side + b] = p.cells[b * side + a] =
            count > 0 ? (float)(sum / count) : (float)NAN;
    }
}

} // namespace

enum status cuda_matrix_view::look(const struct matrix *m)
{
    if (m->panel == 0 || m->n_series > INT32_MAX) {
        return status_fail(STATUS_INTERNAL, "a matrix of %zu series in panels of %zu rows",
                           m->n_series, m->panel);
    }
    const size_t n = cuda_pieces(m->n_series, m->panel);
    view.n = m->n_series;
    view.first = m->first;
    view.panel = cuda_min(m->panel, cuda_max(1, m->n_series));
    view.type = m->type;
    const size_t last = n > 0 ? n - 1 : 0;
    reads = n > 0 && m->first / m->panel == last
                ? queue_reads(m->panels[last].at, m->panels[last].bytes)
                : queue_reads(nullptr, UINTPTR_MAX);
    for (size_t p = m->first / m->panel; p < n; p++) {
        const size_t width = matrix_panel_width(p, m->panel, m->n_series);
        STATUS_TRY(cuda_expect(m->panels[p], width - p * m->panel, width * dtype_bytes(m->type),
                               "a panel of the matrix"));
        if (n <= MATRIX_PANELS) {
            view.few[p] = m->panels[p].at;
        }
    }
    if (n <= MATRIX_PANELS) {
        return STATUS_OK;
    }
    uint64_t ticket;
    const void **host = (const void **)malloc(n * sizeof *host);
    if (host == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a list of %zu panels", n);
    }
    for (size_t p = 0; p < n; p++) {
        host[p] = m->panels[p].at;
    }
    enum status status = list.alloc(n * sizeof *host);
    if (status == STATUS_OK) {
        status = cuda_upload(q, list.span, host, n * sizeof *host, &ticket);
    }
    if (status == STATUS_OK) {
        status = cuda_upload_wait(q, ticket);
    }
    free(host);
    view.many = list.as<const void *const>();
    return status;
}

static enum status cuda_condensed(struct queue *queue, const struct matrix *m, uint64_t first,
                                  size_t n, void *dst)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const uint64_t pairs = matrix_n_pairs(m->n_series);
    unsigned slot = 0;
    if (first > pairs || n > pairs - first) {
        return status_fail(STATUS_INTERNAL, "condensed: elements beyond the last pair");
    }
    if (n == 0) {
        return STATUS_OK;
    }
    cuda_matrix_view matrix(queue);
    STATUS_TRY(matrix.look(m));
    STATUS_TRY(cuda_slot_take(q, &slot));
    const enum status status =
        cuda_host_is_locked(dst) ? condense_directly(q, slot, matrix.view, first, n, (char *)dst)
                                 : condense_by_bounce(q, slot, matrix.view, first, n, (char *)dst);
    cuda_slot_give(q, slot);
    return status;
}

/* The numbers of the picture, on the device. */
static enum status upload_numbers(struct queue *queue, const cuda_span &to, size_t at,
                                  const uint32_t *from, size_t n)
{
    uint64_t ticket;
    STATUS_TRY(
        cuda_upload(queue, span_from(to.span, at * sizeof *from), from, n * sizeof *from, &ticket));
    return cuda_upload_wait(queue, ticket);
}

static enum status cuda_heatmap(struct queue *queue, const struct matrix *m,
                                const struct matrix_picture *picture)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const size_t side = picture->side, bytes = side * side * sizeof *picture->cells;
    cuda_matrix_view matrix(queue);
    cuda_span numbers(queue);
    matrix_picture there = {side, nullptr, nullptr, nullptr};
    if (side == 0) {
        return STATUS_OK;
    }
    if (side > m->n_series) {
        return status_fail(STATUS_INTERNAL, "heatmap: %zu cells for %zu series", side, m->n_series);
    }
    STATUS_TRY(matrix.look(m));
    STATUS_TRY(numbers.alloc((side + m->n_series) * sizeof(uint32_t)));
    STATUS_TRY(upload_numbers(queue, numbers, 0, picture->ones, side));
    there.ones = numbers.as<const uint32_t>();
    if (picture->order != nullptr) {
        STATUS_TRY(upload_numbers(queue, numbers, side, picture->order, m->n_series));
        there.order = there.ones + side;
    }
    {
        cuda_work work(q, STREAM_QUERY);
        STATUS_TRY(work.status);
        STATUS_TRY(cuda_queue_scratch(q, STREAM_QUERY, bytes, (void **)&there.cells));
        const unsigned blocks = (unsigned)cuda_pieces(side * side, THREADS / 32);
        auto kernel = m->type == DTYPE_F32 ? heat_cells<float> : heat_cells<double>;
        kernel<<<blocks, THREADS, 0, work.stream>>>(matrix.view, there);
        STATUS_TRY(cuda_launched("heatmap"));
        STATUS_TRY(work.done());
    }
    return cuda_query_read(q, picture->cells, there.cells, bytes);
}

const struct matrix_kernels cuda_matrix = {
    .survey = cuda_survey,
    .kth_abs = cuda_kth_abs,
    .select = cuda_select,
    .condensed = cuda_condensed,
    .heatmap = cuda_heatmap,
};
