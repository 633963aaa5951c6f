/*
 * state_file - see the header. The file is gzip, whose checksum tells what is not whole: it is read
 * to its end before a number of it is taken. What it begins with tells which program's it is.
 */
#include "pipeline/engine/state_file.h"

#include "formats/base/log.h"
#include "formats/base/saved.h"
#include "formats/pack/pack.h"
#include "formats/source/source.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l.h>
#include <stdio.h>
#include <string.h>

static const char head[64] = "leat " LEAT_VERSION " state 1\n";

/* --- to the file ------------------------------------------------------------------------------ */

struct writer {
    struct saved saved; /* first: it is passed on */
    struct pack *pack;
    struct deflater *deflater;
    struct pack_piece piece;
    bool has_failed; /* the file, not what is passed */
};

static enum status put(struct writer *w, const void *at, size_t bytes, bool last)
{
    enum status code = pack_deflate(w->deflater, PACK_GZIP, at, bytes, last, &w->piece);
    code = code == STATUS_OK ? pack_append(w->pack, &w->piece) : code;
    w->has_failed = code != STATUS_OK;
    return code;
}

static enum status pass_out(struct saved *s, void *at, size_t bytes)
{
    for (size_t i = 0, n; i < bytes; i += n) {
        n = bytes - i < PACK_PIECE_BYTES ? bytes - i : PACK_PIECE_BYTES;
        STATUS_TRY(put((struct writer *)s, (const char *)at + i, n, false));
    }
    return STATUS_OK;
}

static enum status write_all(const struct state_file *f, struct writer *w, stage_state_body *body,
                             void *user)
{
    char own[sizeof head];
    uint64_t bytes;
    uint32_t crc;
    (void)disk_unlink("state.new", f->out_fd, f->temp); /* of a process that was killed */
    w->has_failed = true;
    STATUS_TRY(deflater_new(PACK_LEVEL, &w->deflater));
    STATUS_TRY(pack_open(f->out_fd, f->temp, PACK_GZIP, &w->pack));
    STATUS_TRY(pass_out(&w->saved, memcpy(own, head, sizeof head), sizeof head));
    STATUS_TRY(body(user, &w->saved));
    STATUS_TRY(put(w, own, 0, true));
    w->has_failed = true;
    struct pack *const pack = w->pack;
    w->pack = NULL;
    STATUS_TRY(pack_close(pack, &bytes, &crc));
    return disk_fsync_temp("state.new", f->out_fd, f->name) == 0 &&
                   disk_rename_temp("state.name", f->out_fd, f->name) == 0 &&
                   disk_sync("state.name", f->out_fd) == 0
               ? STATUS_OK
               : status_fail_errno(errno, "cannot write %s", f->temp);
}

static enum status keep(void *context, stage_state_body *body, void *user)
{
    struct state_file *const f = context;
    struct writer w = {.saved = {.pass = pass_out}};
    const enum status code = write_all(f, &w, body, user);
    pack_abandon(w.pack);
    deflater_free(w.deflater);
    bytes_free(&w.piece.packed);
    if (code == STATUS_OK) {
        return code;
    }
    (void)disk_unlink("state.new", f->out_fd, f->temp); /* it takes room */
    if (!w.has_failed) {
        return code;
    }
    if (!f->is_told) {
        log_warning("%s: its state cannot be kept, so an interruption costs more: %s", f->path,
                    status_message());
        f->is_told = true;
    }
    return STATUS_OK;
}

/* --- and back --------------------------------------------------------------------------------- */

struct reader {
    struct saved saved; /* first */
    struct source *source;
};

static enum status open_state(const struct state_file *f, struct source **out)
{
    struct stat st;
    int fd;
    *out = NULL;
    STATUS_TRY(beneath_open_file(f->out_fd, f->name, &st, &fd));
    return source_open(fd, f->name, out);
}

static enum status pass_in(struct saved *s, void *at, size_t bytes)
{
    size_t n;
    STATUS_TRY(source_read(((struct reader *)s)->source, at, bytes, &n));
    return n == bytes ? STATUS_OK : status_fail(STATUS_INTERNAL, "the state ends early");
}

/* Whether it is whole, and this program's. */
static enum status check(struct source *s)
{
    unsigned char bytes[1 << 12];
    size_t n;
    STATUS_TRY(source_read(s, bytes, sizeof head, &n));
    if (!source_is_packed(s) || n < sizeof head || memcmp(bytes, head, sizeof head) != 0) {
        return status_fail(STATUS_CHANGED, "another version of leat made it");
    }
    for (n = sizeof bytes; n == sizeof bytes;) {
        STATUS_TRY(source_read(s, bytes, sizeof bytes, &n));
    }
    return STATUS_OK;
}

static enum status read_all(const struct state_file *f, struct reader *r, stage_state_body *body,
                            void *user)
{
    char own[sizeof head];
    STATUS_TRY(open_state(f, &r->source));
    STATUS_TRY(check(r->source));
    source_free(r->source);
    STATUS_TRY(open_state(f, &r->source));
    STATUS_TRY(pass_in(&r->saved, own, sizeof own));
    const enum status code = body(user, &r->saved);
    return code == STATUS_BAD_INPUT ? STATUS_INTERNAL : code; /* some of it has been taken */
}

static enum status find(void *context, stage_state_body *body, void *user, bool *found)
{
    const struct state_file *const f = context;
    struct reader r = {.saved = {true, pass_in}};
    const enum status code = read_all(f, &r, body, user);
    source_free(r.source);
    *found = code == STATUS_OK;
    switch (code) {
    case STATUS_OK:
    case STATUS_NOT_FOUND:
        return STATUS_OK;
    case STATUS_BAD_INPUT:
    case STATUS_CHANGED:
    case STATUS_UNSUPPORTED:
        log_warning("%s: begins at step 0: the state '%s' in the output folder cannot be used: %s",
                    f->path, f->name, status_message());
        return STATUS_OK;
    default:
        if (code == STATUS_INTERNAL) { /* the next attempt goes without it */
            state_file_remove(f);
        }
        return code;
    }
}

/* --- which, and its end ------------------------------------------------------------------------
 */

void state_file_of(struct state_file *f, int out_fd, const struct job_input *input)
{
    *f = (struct state_file){
        .calls = {keep, find, f}, .out_fd = out_fd, .path = input->parts[0].path};
    if (input->state != NULL) {
        (void)snprintf(f->name, sizeof f->name, "%s", input->state);
    } else {
        const char *const result = job_settings_result(&input->settings);
        (void)snprintf(
            f->name, sizeof f->name, ".leat.%016llx.state",
            (unsigned long long)crc64_ecma_refl(0, (const void *)result, strlen(result)));
    }
    (void)snprintf(f->temp, sizeof f->temp, "%s.new", f->name);
}

void state_file_remove(const struct state_file *f)
{
    (void)disk_unlink_both("state.end", f->out_fd, f->name);
}
