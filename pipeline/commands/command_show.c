/*
 * command_show - leat show: what a result says, from its result.json, or, of anything else, what
 * leat check says of it as an input.
 */
#include "formats/base/json.h"
#include "pipeline/commands/commands.h"
#include "pipeline/engine/overview.h"
#include "pipeline/names/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 20, NAME_WIDTH = 26 };

/* Opens the result.json of a folder, or that file itself; -1: it is no result. */
static int open_result(const char *path)
{
    static const char name[] = "result.json";
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
        close(folder);
        return fd;
    }
    const char *const slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, name) == 0 ? open(path, O_RDONLY | O_CLOEXEC)
                                                               : -1;
}

/* Text and blanks up to a width; characters, not bytes, count. */
static void put_padded(const char *text, size_t width)
{
    size_t n = 0;
    text_put(stdout, text);
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    printf("%*s", n < width ? (int)(width - n) : 1, "");
}

static enum status print_item(void *to, enum overview_kind kind, size_t n, const char *const *texts)
{
    static const char *const before[] = {
        [OVERVIEW_TITLE] = "",    [OVERVIEW_FIGURE] = "picture: ", [OVERVIEW_SECTION] = "\n",
        [OVERVIEW_FACT] = "  ",   [OVERVIEW_HEAD] = "  ",          [OVERVIEW_ROW] = "  ",
        [OVERVIEW_NOTE] = "  - ", [OVERVIEW_CODE] = "  "};
    size_t *const n_shown = to;
    fputs(kind == OVERVIEW_TITLE && (*n_shown)++ > 0 ? "\n" : before[kind], stdout);
    for (size_t k = 0; k + 1 < n; k++) {
        put_padded(texts[k], kind == OVERVIEW_FACT ? NAME_WIDTH : NAME_WIDTH - 2);
    }
    text_put(stdout, texts[n - 1]);
    putchar('\n');
    return STATUS_OK;
}

static enum status print_result(const struct settings *s, const char *path, int fd, size_t *n_shown)
{
    json_t *result = NULL;
    enum status st = json_read_fd(fd, MOST_BYTES, &result);
    if (st == STATUS_OK && !json_is_string(json_object_get(result, "pipeline"))) {
        st = status_fail(STATUS_BAD_INPUT, "it names no pipeline");
    }
    if (st != STATUS_OK) {
        json_decref(result);
        return status_fail(st, "%s: is not a result of leat: %s", path, status_message());
    }
    if (s->json) {
        char *const text = json_write(result, JSON_COMPACT | JSON_REAL_PRECISION(17));
        st = text != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for %s", path);
        puts(text != NULL ? text : "");
        free(text);
    } else {
        st = overview_tell(result, print_item, n_shown);
    }
    json_decref(result);
    return st;
}

/* What is no result is an input: all of these are looked at together, as they may be parts of one
 * job. */
static enum status check_rest(const struct settings *s, char **rest, size_t n, int *exit_status)
{
    struct settings inputs = *s;
    inputs.inputs = rest;
    inputs.n_inputs = n;
    return n > 0 ? command_check(&inputs, exit_status) : STATUS_OK;
}

enum status command_show(const struct settings *s, int *exit_status)
{
    char **const rest = calloc(s->n_inputs + 1, sizeof *rest);
    size_t n = 0, n_shown = 0;
    *exit_status = 0;
    enum status st = rest != NULL
                         ? STATUS_OK
                         : status_fail(STATUS_NO_MEMORY, "no memory for %zu inputs", s->n_inputs);
    for (size_t i = 0; i < s->n_inputs && st == STATUS_OK; i++) {
        const int fd = open_result(s->inputs[i]);
        if (fd < 0) {
            rest[n++] = s->inputs[i];
        } else {
            st = print_result(s, s->inputs[i], fd, &n_shown);
            close(fd);
        }
    }
    st = st == STATUS_OK ? check_rest(s, rest, n, exit_status) : st;
    free(rest);
    return st;
}
