/*
 * result - what a job leaves behind, in a form that the pipeline can encode piece by piece on all
 * cores: files, each with members, each a sequence of pieces of raw bytes.
 */
#ifndef LEAT_FORMATS_RESULT_RESULT_H
#define LEAT_FORMATS_RESULT_RESULT_H

#include "formats/base/bytes.h"
#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "formats/pack/pack.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends the raw bytes of piece `index` of a member to `out`, which is empty or holds a multiple
 * of 8 bytes. Called from any thread, pieces of one result in any order and at the same time. */
typedef enum status result_piece_fn(void *context, uint64_t index, struct bytes *out);

/* The first PACK_HEADER_BYTES of a PACK_RAW file, which its first piece has as zeros: to be asked
 * for when all its pieces have been made. */
typedef const unsigned char *result_header_fn(const void *context);

enum { RESULT_NAME_BYTES = 48 };

enum result_growth {
    RESULT_WHOLE,
    RESULT_BEGIN,   /* what stands before all portions of a member of a PACK_ZIP that grows */
    RESULT_PORTION, /* of such a member: more comes in later results */
    RESULT_HEAD /* what stands before all portions, whether it began so or not; ends the member */
};

struct result_member {
    char name[RESULT_NAME_BYTES]; /* "r.npy" in a zip; unused otherwise */
    enum result_growth growth;
    uint64_t portions_bytes; /* RESULT_HEAD: of all portions, unpacked */
    uint64_t n_pieces;       /* >= 1 */
    result_piece_fn *piece;
    result_header_fn *header; /* NULL: the first piece has it */
    void *context;            /* given to both; owned by this member when free_context is set */
    void (*free_context)(void *context);
};

struct result_file {
    char name[RESULT_NAME_BYTES]; /* "pearson.npz"; may lie in a sub-folder: "snapshots/000100.tif"
                                   */
    enum pack_kind kind;
    bool more;        /* a file of the same name and kind in a later result continues it */
    size_t n_members; /* >= 1; 1 unless PACK_ZIP */
    struct result_member *members;
};

struct result {
    size_t n_files;
    struct result_file *files;
    json_t *shape;      /* object: n_series, n_samples, ... */
    json_t *parameters; /* object: parameters that are not as they were asked for, and new ones */
    json_t *summary;    /* object: the stage's figures */
    json_t *warnings;   /* array of strings in plain words */
};

/* An empty result: no files, empty objects. STATUS_NO_MEMORY. */
enum status result_init(struct result *r) STATUS_MUST_CHECK;
/* Frees everything the result holds; *r is zeroed. */
void result_free(struct result *r);

/* The name STEM followed by SUFFIX, which together are shorter than RESULT_NAME_BYTES. */
void result_set_name(char name[RESULT_NAME_BYTES], const char *stem, const char *suffix);
/* Frees a context that is not taken into a result; free_context may be NULL. */
static inline void result_free_context(void *context, void (*free_context)(void *))
{
    if (free_context != NULL) {
        free_context(context);
    }
}

/* Appends an empty file; the pointer is valid until the next call. STATUS_NO_MEMORY. */
enum status result_add_file(struct result *r, const char *name, enum pack_kind kind,
                            struct result_file **out) STATUS_MUST_CHECK;
/* Appends a member to a file (name may be NULL unless PACK_ZIP). On failure the context is freed.
 */
enum status result_add_member(struct result_file *f, const char *name, uint64_t n_pieces,
                              result_piece_fn *piece, void *context,
                              void (*free_context)(void *)) STATUS_MUST_CHECK;
/* Adds a warning sentence. */
enum status result_warn(struct result *r, const char *format, ...) STATUS_MUST_CHECK
    __attribute__((format(printf, 2, 3)));

/* The type of an array on disk (NumPy's). */
enum npy_type { NPY_F4, NPY_F8, NPY_I4, NPY_I8, NPY_U1, NPY_UNICODE };

/* Reads elements [first, first + n) of an array into dst, in the array's own type. */
typedef enum status result_fetch_fn(void *context, uint64_t first, size_t n, void *dst);

/* Adds array `name` (".npy" is appended) to a PACK_ZIP file. `dims` has n_dims <= 2 entries, 0
 * allowed. NPY_UNICODE arrays use result_add_strings. Pieces are cut at PACK_PIECE_BYTES of the npy
 * stream, header included. `fetch` may be called from any thread. */
enum status result_add_array(struct result_file *f, const char *name, enum npy_type type,
                             size_t n_dims, const size_t *dims, result_fetch_fn *fetch,
                             void *context, void (*free_context)(void *)) STATUS_MUST_CHECK;
/* A portion of an array that grows: n > 0 elements that follow those of earlier portions, counted
 * from 0 by `fetch`, in files of one name with `more` set, or before its end in the last one. Its
 * length may be unknown, and no portion is kept in memory. Pieces are cut at PACK_PIECE_BYTES of
 * the portion: portions of so many bytes, but for the last one, are packed alike however many there
 * are. */
enum status result_add_portion(struct result_file *f, const char *name, enum npy_type type,
                               uint64_t n, result_fetch_fn *fetch, void *context,
                               void (*free_context)(void *)) STATUS_MUST_CHECK;
/* Says before an array's first portion which shape it gets in the end, as below: its portions are
 * written where they belong, and wait in no temporary file. Until it ends no member but portions of
 * others may follow. Another shape in the end fails the job with STATUS_INTERNAL. */
enum status result_begin_portions(struct result_file *f, const char *name, enum npy_type type,
                                  size_t n_dims, const size_t *dims,
                                  bool first_fastest) STATUS_MUST_CHECK;
/* Ends it, with its final shape; there may have been no portion, for a shape without elements. A
 * shape that is not that of the portions fails the job with STATUS_INTERNAL when it is written.
 * `first_fastest`: neighbours differ in the first dimension (NumPy's fortran_order), so that the
 * rows of several curves can grow at their ends. */
enum status result_end_portions(struct result_file *f, const char *name, enum npy_type type,
                                size_t n_dims, const size_t *dims,
                                bool first_fastest) STATUS_MUST_CHECK;
/* The head of a .npy file: returns its length, `least` or more. One of NPY_HEAD_BYTES has room for
 * any shape: it can be written when the data are. */
enum { NPY_HEAD_BYTES = 192 };
size_t result_npy_head(char head[NPY_HEAD_BYTES], enum npy_type type, size_t n_dims,
                       const size_t *dims, size_t least);
/* As above, from memory that is copied. */
enum status result_add_copy(struct result_file *f, const char *name, enum npy_type type,
                            size_t n_dims, const size_t *dims, const void *data) STATUS_MUST_CHECK;
/* A one-dimensional array of strings (dtype <U of the longest, at least <U1), from UTF-8; invalid
 * UTF-8 becomes U+FFFD. Copied. */
enum status result_add_strings(struct result_file *f, const char *name, size_t n,
                               const char *const *strings) STATUS_MUST_CHECK;

/* Writes rows [first, first + n) of a text table to out, lines ended by \n. */
typedef enum status result_rows_fn(void *context, uint64_t first, size_t n, struct bytes *out);
/* Adds NAME.csv.gz: `header` (without newline; copied; NULL: none, since this goes on from a result
 * before), then n_rows rows, rows_per_piece in each piece. On failure the context is freed, as with
 * every function here that takes one. */
enum status result_add_csv(struct result *r, const char *name, const char *header, uint64_t n_rows,
                           size_t rows_per_piece, result_rows_fn *rows, void *context,
                           void (*free_context)(void *)) STATUS_MUST_CHECK;

/* Appends the shortest text that reads back as the same double ("nan" for NaN), and a CSV field
 * quoted where RFC 4180 asks for it: at most twice its bytes and 2. One that a spreadsheet would
 * run, as it begins with = + - @ tab CR and is no number, begins with an apostrophe. */
enum status result_put_f64(struct bytes *out, double value) STATUS_MUST_CHECK;
enum status result_put_f32(struct bytes *out, float value) STATUS_MUST_CHECK;
enum status result_put_u64(struct bytes *out, uint64_t value) STATUS_MUST_CHECK;
enum status result_put_field(struct bytes *out, const char *text) STATUS_MUST_CHECK;

#endif
