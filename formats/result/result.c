/*
 * result - the lists of files and members, and the texts that go with them. What is in an array is
 * in result_npy.c, what is in a table in result_csv.c.
 */
#include "formats/result/result.h"

#include "formats/base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status no_memory(const char *what)
{
    return status_fail(STATUS_NO_MEMORY, "no memory for %s", what);
}

void result_set_name(char name[RESULT_NAME_BYTES], const char *stem, const char *suffix)
{
    const int len = snprintf(name, RESULT_NAME_BYTES, "%s%s", stem, suffix);
    assert(len >= 0 && len < RESULT_NAME_BYTES);
    (void)len;
}

enum status result_init(struct result *r)
{
    *r = (struct result){.shape = json_object(),
                         .parameters = json_object(),
                         .summary = json_object(),
                         .warnings = json_array()};
    if (r->shape == NULL || r->parameters == NULL || r->summary == NULL || r->warnings == NULL) {
        result_free(r);
        return no_memory("a result");
    }
    return STATUS_OK;
}

void result_free(struct result *r)
{
    for (size_t i = 0; i < r->n_files; i++) {
        const struct result_file *f = &r->files[i];
        for (size_t k = 0; k < f->n_members; k++) {
            result_free_context(f->members[k].context, f->members[k].free_context);
        }
        free(f->members);
    }
    free(r->files);
    json_decref(r->shape);
    json_decref(r->parameters);
    json_decref(r->summary);
    json_decref(r->warnings);
    *r = (struct result){.n_files = 0};
}

enum status result_add_file(struct result *r, const char *name, enum pack_kind kind,
                            struct result_file **out)
{
    *out = NULL;
    struct result_file *files = reallocarray(r->files, r->n_files + 1, sizeof *files);
    if (files == NULL) {
        return no_memory(name);
    }
    r->files = files;
    struct result_file *f = &files[r->n_files++];
    *f = (struct result_file){.kind = kind};
    result_set_name(f->name, name, "");
    *out = f;
    return STATUS_OK;
}

enum status result_add_member(struct result_file *f, const char *name, uint64_t n_pieces,
                              result_piece_fn *piece, void *context, void (*free_context)(void *))
{
    assert(n_pieces > 0 && (f->kind == PACK_ZIP ? name != NULL : f->n_members == 0));
    struct result_member *members = reallocarray(f->members, f->n_members + 1, sizeof *members);
    if (members == NULL) {
        result_free_context(context, free_context);
        return no_memory(f->name);
    }
    f->members = members;
    struct result_member *m = &members[f->n_members++];
    *m = (struct result_member){
        .n_pieces = n_pieces, .piece = piece, .context = context, .free_context = free_context};
    result_set_name(m->name, name != NULL ? name : "", "");
    return STATUS_OK;
}

enum status result_warn(struct result *r, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    const int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) {
        return no_memory("a warning");
    }
    struct bytes valid = {.len = 0};
    enum status st = utf8_append_valid(&valid, text);
    if (st == STATUS_OK && json_array_append_new(r->warnings, json_stringn((const char *)valid.data,
                                                                           valid.len)) != 0) {
        st = no_memory("a warning");
    }
    bytes_free(&valid);
    free(text);
    return st;
}
