/*
 * inputs_take - what becomes of a file: whose it is, of which job, or why of none. See
 * inputs_state.h.
 */
#include "formats/base/log.h"
#include "formats/base/text_hash.h"
#include "pipeline/inputs/inputs_state.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/projection.h"

#include <string.h>
#include <unistd.h>

/* A number for the result of that name, on every machine the same. */
static uint64_t hash(const char *name)
{
    const uint64_t h = text_hash_add(TEXT_HASH_OF_NONE, name);
    return h ^ h >> 32; /* its low bits alone depend on few of the text's */
}

enum status inputs_take_share(const struct inputs *in, const char *name, bool *own)
{
    return in->share.find(in->share.user, hash(name), own);
}

void inputs_take_leave(struct inputs *in)
{
    in->n_taken++;
    in->n_all++;
}

bool inputs_take_speaks(const struct inputs *in, const char *path)
{
    bool own = true;
    return !in->share.joint || (inputs_take_share(in, path, &own) == STATUS_OK && own);
}

enum status inputs_take_settings(struct inputs *in, const char *path, struct job_settings *out,
                                 bool *own)
{
    const enum status code = settings_resolve(in->settings, path, out);
    if (code == STATUS_NO_MEMORY) { /* of this process */
        *own = true;
        return code;
    }
    const enum status found =
        inputs_take_share(in, code == STATUS_OK ? out->stem : input_name_last(path), own);
    if (*own && found == STATUS_OK) {
        return code;
    }
    if (!*own) {
        inputs_take_leave(in);
    }
    job_settings_free(out);
    return found;
}

enum status inputs_take_part(struct inputs *in, const char *path, const struct job_part *from,
                             struct job_settings *settings, struct job_input *out, bool *got)
{
    struct job_part part = *from;
    *got = false;
    part.path = strdup(path);
    if (part.path == NULL) {
        if (part.fd >= 0) {
            close(part.fd);
        }
        job_part_free(&part);
        job_settings_free(settings);
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    if (settings->n_parts > 1) {
        return parts_add(in->parts, &part, settings, out, got);
    }
    out->parts[0] = part;
    out->settings = *settings;
    out->n_parts = 1;
    *got = true;
    return STATUS_OK;
}

enum status inputs_take_about(struct job_input *out, const char *path, enum status code)
{
    if (code != STATUS_OK) {
        out->parts[0] = (struct job_part){.fd = -1, .path = strdup(path)};
    }
    return code;
}

enum status inputs_take_about_walk(struct inputs *in, struct job_input *out, const char *path,
                                   enum status code)
{
    if (code != STATUS_OK && !inputs_take_speaks(in, path)) {
        inputs_take_leave(in);
        return STATUS_OK;
    }
    return inputs_take_about(out, path, code);
}

enum status inputs_take_file(struct inputs *in, const char *path, struct job_input *out, bool *got)
{
    struct job_settings settings;
    bool own;
    *got = false;
    const enum status code = inputs_take_settings(in, path, &settings, &own);
    if (code != STATUS_OK) {
        return inputs_take_about(out, path, code);
    }
    return own ? inputs_take_part(in, path, &(struct job_part){.fd = -1}, &settings, out, got)
               : STATUS_OK;
}

void inputs_take_pass_over(struct inputs *in, const char *path)
{
    log_debug("'%s': no pipeline takes it, skipped", path);
    if (!input_name_is_sidecar(path)) {
        in->n_foreign++;
    } else if (!projection_named(path)) {
        in->sidecar = in->n_sidecars++ == 0 ? strdup(path) : in->sidecar;
    }
}
