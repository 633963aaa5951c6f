/*
 * case_deflate - pieces deflated by all threads, as results are. The peer is pigz at the same level
 * with as many threads on the same bytes; its time includes reading and writing files in the page
 * cache.
 */
#include "tests/bench/bench.h"

#include "formats/base/bytes.h"
#include "formats/pack/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PIECES = 48 };

struct deflate_state {
    char raw_path[128];
    unsigned char *raw;
    size_t n_pieces, last_bytes;
    struct pack_piece *pieces;
    size_t n_stripes;
    _Atomic size_t next;         /* piece to be taken */
    struct deflater **deflaters; /* one a stripe */
    enum status *codes;
};

static void deflate_close(struct bench *b, void *state)
{
    (void)b;
    struct deflate_state *s = state;
    for (size_t i = 0; s->pieces != NULL && i < s->n_pieces; i++) {
        bytes_free(&s->pieces[i].packed);
    }
    for (size_t i = 0; s->deflaters != NULL && i < s->n_stripes; i++) {
        deflater_free(s->deflaters[i]);
    }
    free(s->deflaters);
    free(s->pieces);
    free(s->codes);
    free(s->raw);
    unlink(s->raw_path);
    free(s);
}

static size_t piece_bytes(const struct deflate_state *s, size_t i)
{
    return i + 1 < s->n_pieces ? (size_t)PACK_PIECE_BYTES : s->last_bytes;
}

static void deflate_stripe(void *arg, size_t stripe)
{
    struct deflate_state *s = arg;
    s->codes[stripe] = STATUS_OK;
    size_t i;
    while (s->codes[stripe] == STATUS_OK && (i = atomic_fetch_add(&s->next, 1)) < s->n_pieces) {
        s->codes[stripe] =
            pack_deflate(s->deflaters[stripe], PACK_GZIP, s->raw + i * PACK_PIECE_BYTES,
                         piece_bytes(s, i), i + 1 == s->n_pieces, &s->pieces[i]);
    }
}

static enum status deflate_run(struct bench *b, void *state)
{
    struct deflate_state *s = state;
    for (size_t i = 0; i < s->n_pieces; i++) {
        bytes_clear(&s->pieces[i].packed);
    }
    atomic_store(&s->next, 0);
    const struct executor *e = &b->executor;
    e->run(e->context, s->n_stripes, deflate_stripe, s);
    for (size_t i = 0; i < s->n_stripes; i++) {
        if (s->codes[i] != STATUS_OK) {
            return status_fail(s->codes[i], "deflating");
        }
    }
    return STATUS_OK;
}

/* The pieces as a file, unpacked by zlib's own reader: the bytes that went in. */
static enum status deflate_check(struct bench *b, struct deflate_state *s)
{
    char path[128];
    struct pack *p = NULL;
    uint64_t bytes = 0;
    uint32_t crc;
    int dir = open(b->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum status code = dir < 0 ? status_fail_errno(errno, "%s", b->scratch)
                               : pack_open(dir, "check.gz", PACK_GZIP, &p);
    for (size_t i = 0; code == STATUS_OK && i < s->n_pieces; i++) {
        code = pack_append(p, &s->pieces[i]);
    }
    if (code == STATUS_OK) {
        code = pack_close(p, &bytes, &crc);
    } else {
        pack_abandon(p);
    }
    if (dir >= 0) {
        close(dir);
    }
    if (code != STATUS_OK) {
        return code;
    }
    snprintf(path, sizeof path, "%s/check.gz", b->scratch);
    gzFile file = gzopen(path, "rb");
    unsigned char *back = malloc(PACK_PIECE_BYTES);
    bool same = file != NULL && back != NULL;
    for (size_t i = 0; same && i < s->n_pieces; i++) {
        size_t n = piece_bytes(s, i);
        same = gzread(file, back, (unsigned)n) == (int)n &&
               memcmp(back, s->raw + i * PACK_PIECE_BYTES, n) == 0;
    }
    same = same && gzread(file, back, 1) == 0;
    free(back);
    if (file != NULL) {
        gzclose(file);
    }
    unlink(path);
    return same ? STATUS_OK
                : status_fail(STATUS_INTERNAL, "what was packed does not unpack to itself");
}

static enum status deflate_memory(struct bench *b, struct deflate_state *s)
{
    s->n_pieces = b->smoke ? 3 : PIECES;
    s->last_bytes = PACK_PIECE_BYTES / 2 + 1;
    s->n_stripes = b->n_threads;
    s->raw = malloc(s->n_pieces * PACK_PIECE_BYTES);
    s->pieces = calloc(s->n_pieces, sizeof *s->pieces);
    s->deflaters = (struct deflater **)calloc(s->n_stripes, sizeof *s->deflaters);
    s->codes = calloc(s->n_stripes, sizeof *s->codes);
    if (s->raw == NULL || s->pieces == NULL || s->deflaters == NULL || s->codes == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    enum status code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < s->n_stripes; i++) {
        code = deflater_new(PACK_LEVEL, &s->deflaters[i]);
    }
    return code;
}

/* Coefficients as `exact` gives them: all bits but sign and exponent are noise. */
static void fill_coefficients(unsigned char *raw, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(double); i++) {
        double r = 2 * bench_uniform(5, i) - 1;
        memcpy(raw + i * sizeof r, &r, sizeof r);
    }
}

/* Lines as pairs.csv.gz holds them. */
static void fill_text(unsigned char *raw, size_t bytes)
{
    size_t at = 0;
    for (uint64_t i = 0; at < bytes; i++) {
        char line[96];
        int n = snprintf(line, sizeof line, "sensor-%d,sensor-%d,%.17g\n",
                         (int)(bench_uniform(8, i) * 500), (int)(i % 500),
                         1 - bench_uniform(9, i) * 0.1);
        size_t take = (size_t)n < bytes - at ? (size_t)n : bytes - at;
        memcpy(raw + at, line, take);
        at += take;
    }
}

static enum status deflate_open(struct bench *b, const struct bench_case *c,
                                struct bench_work *work, void **state)
{
    struct deflate_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    enum status code = deflate_memory(b, s);
    const size_t bytes = (s->n_pieces - 1) * PACK_PIECE_BYTES + s->last_bytes;
    if (code == STATUS_OK) {
        void (*const *fill)(unsigned char *, size_t) = c->variant;
        (*fill)(s->raw, bytes);
        snprintf(s->raw_path, sizeof s->raw_path, "%s/deflate", b->scratch);
        FILE *file = fopen(s->raw_path, "we");
        if (file == NULL || fwrite(s->raw, 1, bytes, file) != bytes) {
            code = status_fail_errno(errno, "%s", s->raw_path);
        }
        if (file != NULL && fclose(file) != 0) {
            code = status_fail_errno(errno, "%s", s->raw_path);
        }
    }
    if (code == STATUS_OK) {
        code = deflate_run(b, s);
    }
    if (code == STATUS_OK) {
        code = deflate_check(b, s);
    }
    if (code != STATUS_OK) {
        deflate_close(b, s);
        return code;
    }
    work->bytes = (double)bytes;
    work->mark_ratio = b->smoke ? 0 : 1;
    *state = s;
    return STATUS_OK;
}

static enum status deflate_peer(struct bench *b, void *state, double *seconds)
{
    const struct deflate_state *s = state;
    char threads[32];
    snprintf(threads, sizeof threads, "%zu", b->n_threads);
    const char *const argv[] = {"pigz", "-1", "-k", "-c", "-p", threads, s->raw_path, NULL};
    double start = bench_now_s();
    enum status code = bench_spawn(argv, NULL, 0);
    *seconds = bench_now_s() - start;
    return code;
}

static void (*const coefficients)(unsigned char *, size_t) = fill_coefficients;
static void (*const text)(unsigned char *, size_t) = fill_text;

const struct bench_case bench_deflate_cases[] = {
    {.name = "deflate_r",
     .what = "47 MiB of coefficients deflated at level 1 by all threads; peer: pigz",
     .backends = BENCH_CPU,
     .variant = &coefficients,
     .open = deflate_open,
     .run = deflate_run,
     .close = deflate_close,
     .peer_name = "pigz",
     .peer = deflate_peer},
    {.name = "deflate_text",
     .what = "the same of lines of text",
     .backends = BENCH_CPU,
     .variant = &text,
     .open = deflate_open,
     .run = deflate_run,
     .close = deflate_close,
     .peer_name = "pigz",
     .peer = deflate_peer},
    {0},
};
