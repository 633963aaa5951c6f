/*
 * case_csv - CSV of doubles: bytes a second of one core, for finding the pieces (csv_read) and for
 * turning them into numbers (csv_decode). The peer of csv_decode is pandas.read_csv on the same
 * file.
 */
#include "tests/bench/bench.h"

#include "formats/table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAW_BYTES = 1 << 20, VALUES_BYTES = 4 * RAW_BYTES };

struct csv_state {
    char path[128];
    size_t file_bytes, n_cells, n_chunks;
    struct table *table;
    struct table_chunk *chunks; /* each with its raw bytes; their values share one buffer */
    void *values;
};

static enum status open_table(const struct csv_state *s, struct table **out)
{
    static const struct table_options none = {0};
    struct source *source = NULL;
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return status_fail_errno(errno, "%s", s->path);
    }
    enum status code = source_open(fd, s->path, &source);
    return code == STATUS_OK ? table_open(source, &none, out) : code;
}

static void csv_close(struct bench *b, void *state)
{
    (void)b;
    struct csv_state *s = state;
    for (size_t i = 0; i < s->n_chunks; i++) {
        table_chunk_clear(&s->chunks[i]);
        free(s->chunks[i].raw);
    }
    free(s->chunks);
    free(s->values);
    table_free(s->table);
    unlink(s->path);
    free(s);
}

static enum status csv_decode(struct bench *b, void *state)
{
    (void)b;
    struct csv_state *s = state;
    enum status code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < s->n_chunks; i++) {
        code = table_decode(s->table, &s->chunks[i]);
    }
    return code;
}

static enum status csv_read(struct bench *b, void *state)
{
    (void)b;
    struct csv_state *s = state;
    struct table *table = NULL;
    struct table_chunk chunk = {.raw = s->chunks[0].raw,
                                .raw_cap = RAW_BYTES,
                                .values = s->values,
                                .values_cap = VALUES_BYTES};
    bool end = false;
    enum status code = open_table(s, &table);
    while (code == STATUS_OK && !end) {
        code = table_next(table, &chunk, &end);
    }
    table_chunk_clear(&chunk);
    table_free(table);
    return code;
}

/* All chunks of the file, kept. */
static enum status csv_load(struct csv_state *s)
{
    bool end = false;
    enum status code = open_table(s, &s->table);
    s->values = malloc(VALUES_BYTES);
    while (code == STATUS_OK && !end) {
        struct table_chunk *more = realloc(s->chunks, (s->n_chunks + 1) * sizeof *more);
        if (more == NULL || s->values == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory");
        }
        s->chunks = more;
        struct table_chunk *c = &s->chunks[s->n_chunks++];
        *c = (struct table_chunk){.raw = malloc(RAW_BYTES),
                                  .raw_cap = RAW_BYTES,
                                  .values = s->values,
                                  .values_cap = VALUES_BYTES};
        if (c->raw == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory");
        }
        code = table_next(s->table, c, &end);
    }
    return code;
}

/* Every number of every chunk beside strtod of the same text: the same bits. */
static enum status csv_check(struct csv_state *s)
{
    FILE *text = fopen(s->path, "re");
    if (text == NULL) {
        return status_fail_errno(errno, "%s", s->path);
    }
    enum status code = STATUS_OK;
    size_t seen = 0;
    for (size_t i = 0; code == STATUS_OK && i < s->n_chunks; i++) {
        code = table_decode(s->table, &s->chunks[i]);
        const double *got = s->values;
        for (size_t k = 0; code == STATUS_OK && k < s->chunks[i].n_cells; k++, seen++) {
            char cell[64];
            bool read = fscanf(text, "%63[^,\n]%*[,\n]", cell) == 1;
            double want = read ? strtod(cell, NULL) : 0;
            if (!read || memcmp(&want, &got[k], sizeof want) != 0) {
                code = status_fail(STATUS_INTERNAL, "cell %zu is %.17g, not %.17g", seen, got[k],
                                   want);
            }
        }
    }
    fclose(text);
    if (code == STATUS_OK && seen != s->n_cells) {
        code = status_fail(STATUS_INTERNAL, "%zu cells, not %zu", seen, s->n_cells);
    }
    return code;
}

static enum status csv_open(struct bench *b, const struct bench_case *c, struct bench_work *work,
                            void **state)
{
    struct csv_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    const size_t n_lines = b->smoke ? 300 : 4000, n_cells = 500;
    s->n_cells = n_lines * n_cells;
    snprintf(s->path, sizeof s->path, "%s/decode.csv", b->scratch);
    int fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    enum status code =
        fd < 0 ? status_fail_errno(errno, "%s", s->path) : bench_write_csv(fd, 3, n_lines, n_cells);
    struct stat about = {0};
    if (fd >= 0) {
        fstat(fd, &about);
        close(fd);
    }
    s->file_bytes = (size_t)about.st_size;
    if (code == STATUS_OK) {
        code = csv_load(s);
    }
    if (code == STATUS_OK) {
        code = csv_check(s);
    }
    if (code != STATUS_OK) {
        csv_close(b, s);
        return code;
    }
    work->bytes = (double)s->file_bytes;
    work->mark_s = c->run == csv_decode && !b->smoke ? work->bytes / 0.6e9 : 0;
    *state = s;
    return STATUS_OK;
}

static enum status csv_peer(struct bench *b, void *state, double *seconds)
{
    const struct csv_state *s = state;
    return bench_python(b, seconds, "peer_read_csv.py", s->path, NULL);
}

const struct bench_case bench_csv_cases[] = {
    {.name = "csv_read",
     .what = "a CSV of 2 million doubles cut into chunks of whole cells, one thread",
     .backends = BENCH_CPU,
     .open = csv_open,
     .run = csv_read,
     .close = csv_close},
    {.name = "csv_decode",
     .what = "the chunks turned into correctly rounded doubles, one thread; peer: pandas.read_csv",
     .backends = BENCH_CPU,
     .open = csv_open,
     .run = csv_decode,
     .close = csv_close,
     .peer_name = "pandas.read_csv",
     .peer = csv_peer},
    {0},
};
