/*
 * zip_file - a zip that a test makes, in a folder of its own, and what others say of it.
 */
#ifndef LEAT_TESTS_ZIP_FILE_H
#define LEAT_TESTS_ZIP_FILE_H

#include "formats/pack/pack_state.h"
#include "formats/source/zip_input.h"
#include "tests/support/pack_support.h"

#include <fcntl.h>
#include <unistd.h>

struct zip_file {
    char folder[32], path[48];
    int dir, fd; /* fd: the test's own; -1 */
    struct pack *pack;
    struct deflater *deflater;
};

static inline struct zip_file zip_begin(void)
{
    struct zip_file m = {.folder = "/tmp/leat-zip-XXXXXX", .fd = -1, .deflater = new_deflater(1)};
    assert_non_null(mkdtemp(m.folder));
    snprintf(m.path, sizeof m.path, "%s/m.zip", m.folder);
    m.dir = open(m.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(pack_open(m.dir, "m.zip", PACK_ZIP, &m.pack), STATUS_OK);
    return m;
}

/* The pack has been closed, or abandoned. */
static inline void zip_remove(struct zip_file *m)
{
    assert_int_equal(unlink(m->path), 0);
    assert_int_equal(rmdir(m->folder), 0); /* nothing else is in it */
    close(m->dir);
    deflater_free(m->deflater);
}

static inline struct zip_input *zip_read_back(const struct zip_file *m, struct source **s)
{
    struct zip_input *z;
    if (source_open(open(m->path, O_RDONLY | O_CLOEXEC), m->path, s) || zip_input_open(*s, &z)) {
        fail_msg("%s", status_message());
    }
    return z;
}

/* Runs a command, after `tool` has shown that it is there, with the file's path for %s. */
static inline void zip_ask(const char *tool, const char *command, const struct zip_file *m)
{
    char line[512];
    snprintf(line, sizeof line, "%s >/dev/null 2>&1", tool);
    if (system(line) != 0) {
        print_message("SKIPPED: no answer to %s\n", tool);
        return;
    }
    snprintf(line, sizeof line, command, m->path);
    if (system(line) != 0) {
        fail_msg("%s", line);
    }
}

#endif
