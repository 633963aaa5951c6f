/*
 * worker_open - see worker_open.h. Landlock holds for threads that begin under it alone, so
 * libraries and driver are loaded first, and the engine begins its threads then; a driver makes
 * sockets as it opens a device, so calls are filtered last.
 */
#include "pipeline/worker/worker_open.h"

#include "formats/base/log.h"
#include "formats/result/cairo_calls.h"
#include "pipeline/names/text.h"
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_sandbox.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static uint64_t number(const json_t *message, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(message, key));
    return value > 0 ? (uint64_t)value : 0;
}

static enum status open_folders(const json_t *message, struct worker_folders *f)
{
    char *const spool = worker_unpack_name(json_object_get(message, "spool"));
    char *const output = worker_unpack_name(json_object_get(message, "output"));
    enum status code = STATUS_OK;
    if (spool == NULL || output == NULL) {
        code = status_fail(STATUS_INTERNAL, "the worker did not get its folders");
    } else {
        char *const work = xasprintf("%s/.work", spool);
        f->work_fd = open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        f->out_fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        code = f->work_fd < 0 || f->out_fd < 0
                   ? status_fail_errno(errno, "cannot open '%s'", f->work_fd < 0 ? work : output)
                   : spool_read_owner(f->work_fd, f->owner);
        free(work);
    }
    free(spool);
    free(output);
    return code;
}

/* What jobs would load is loaded before, so that none fails for it. */
static enum status load_libraries(const struct settings *settings)
{
    size_t n_there;
    STATUS_TRY(cairo_need());
    STATUS_TRY(backend_load_products(0));
    return settings->devices.n > 0 ? backend_count_cuda(&n_there) : STATUS_OK;
}

/* With devices of its own, one of them opens before the first job comes. */
static enum status make_ready(const struct settings *settings, struct engine *engine)
{
    if (settings->devices.n > 0 && engine->n_devices == 0) {
        STATUS_TRY(engine_open_devices(engine));
    }
    engine_limit_memory(engine);
    STATUS_TRY(backend_load_products(engine->n_threads));
    return worker_shut_calls();
}

void worker_settle_in(void)
{
    static const char more[] = "500";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "leat-worker"); /* it was begun as /proc/self/exe */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, more, sizeof(more) - 1) < 0) {
            log_debug("worker: oom_score_adj: %s", strerror(errno));
        }
        close(fd);
    }
}

enum status worker_open(uv_loop_t *loop, const json_t *message, struct worker_folders *folders,
                        struct settings *settings, struct engine *engine)
{
    const char *const visible = json_string_value(json_object_get(message, "visible"));
    *settings =
        (struct settings){.backend = xstrdup(text_at(message, "backend")),
                          .devices = {.n = (size_t)number(message, "devices")},
                          .threads = (size_t)number(message, "threads"),
                          .jobs = (size_t)number(message, "jobs"),
                          .spread = (size_t)number(message, "spread"),
                          .memory = number(message, "memory"),
                          .level = (int)number(message, "level"),
                          .bundle = json_is_true(json_object_get(message, "bundle")),
                          .unpack = {.max_bytes = number(message, "max_unpacked"),
                                     .max_ratio = number(message, "max_ratio")},
                          .deadline_s = json_number_value(json_object_get(message, "deadline_s"))};
    if (visible != NULL && setenv("CUDA_VISIBLE_DEVICES", visible, 1) != 0) {
        xalloc_end();
    }
    STATUS_TRY(open_folders(message, folders));
    STATUS_TRY(load_libraries(settings));
    STATUS_TRY(worker_shut_files(folders->work_fd, folders->out_fd, settings->devices.n > 0));
    STATUS_TRY(engine_open(loop, settings, engine));
    const enum status code = make_ready(settings, engine);
    if (code != STATUS_OK) {
        char why[STATUS_MESSAGE_BYTES];
        snprintf(why, sizeof(why), "%s", status_message());
        engine_close(engine);
        return status_set(code, why);
    }
    return STATUS_OK;
}
