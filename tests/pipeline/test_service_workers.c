/*
 * The service's workers over time: a device that keeps failing is out and tried again, one with the
 * settings of before begins again, one that shares its device fails no job for its memory. The
 * clock is the test's, and so are the workers: this program as `leat worker`, with a line of text
 * for every word of the service.
 * ctest: wrap=uv_now
 */
#include "tests/support/patience.h"
#include "tests/support/service_given.h"

#include <signal.h>

uint64_t __wrap_uv_now(const uv_loop_t *loop);

static uint64_t now_ms;

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return now_ms;
}

/* --- a worker --------------------------------------------------------------------------------- */

static void say(const char *is, const char *id, const char *code)
{
    if (dprintf(WORKER_FD, "{\"is\":\"%s\",\"id\":\"%s\",\"code\":\"%s\",\"text\":\"no\"}\n", is,
                id, code) < 0) {
        _exit(1);
    }
}

/* What it is opened with goes to the file $OPENED. By the first letter of the job's id: "large" has
 * too little memory, "held" ends when it is told to. Every job fails on the devices of $SICK. */
static int work(void)
{
    char held[SPOOL_ID_BYTES] = "", *line = NULL;
    const char *sick = getenv("SICK");
    char *device = NULL;
    size_t bytes = 0;
    FILE *in = fdopen(WORKER_FD, "r");
    while (in != NULL && getline(&line, &bytes, in) > 0) {
        json_t *message = json_loads(line, 0, NULL);
        const char *what = json_string_value(json_object_get(message, "do"));
        const char *id = json_string_value(json_object_get(message, "id"));
        if (strcmp(what, "open") == 0) {
            if (getenv("OPENED") != NULL && json_dump_file(message, getenv("OPENED"), 0) != 0) {
                _exit(1);
            }
            const char *visible = json_string_value(json_object_get(message, "visible"));
            device = visible != NULL ? strdup(visible) : NULL;
            dprintf(WORKER_FD, "{\"is\":\"ready\",\"device\":\"\",\"jobs\":%d}\n",
                    (int)json_integer_value(json_object_get(message, "jobs")));
        } else if (strcmp(what, "let end") == 0 && held[0] != '\0') {
            say("done", held, "");
            held[0] = '\0';
        } else if (strcmp(what, "job") == 0) {
            say("begun", id, "");
            if (device != NULL && sick != NULL && strstr(sick, device) != NULL) {
                say("failed", id, "device");
                _exit(1);
            } else if (id[0] == 'h') {
                snprintf(held, sizeof(held), "%s", id);
            } else {
                say(id[0] == 'l' ? "failed" : "done", id, "too-large");
            }
        } else if (strcmp(what, "stop") == 0) {
            _exit(0);
        }
        json_decref(message);
    }
    _exit(0);
}

/* --- the service ------------------------------------------------------------------------------ */

static void begin(const char *options, const char *sick)
{
    char line[256];
    struct service *s = &service;
    assert_int_equal(setenv("SICK", sick, 1), 0);
    snprintf(line, sizeof(line), "watch --spool /nowhere --memory 1G --threads 2 %s", options);
    begin_service(line);
    s->is_open = true;
    now_ms = 1000000;
    assert_int_equal(uv_loop_init(&s->loop), 0);
    service_workers_choose(s, &service_jobs_at_workers);
}

static void end(void)
{
    struct service *s = &service;
    service_workers_end(s);
    while (service_workers_running(s)) {
        uv_run(&s->loop, UV_RUN_ONCE);
    }
    service_workers_free(s);
    end_service();
    assert_int_equal(uv_loop_close(&s->loop), 0);
}

static void step(void)
{
    service_dispatch(&service);
    service_workers_step(&service);
}

/* Waits until `is` is `wanted`; what it waits for must be on its way. */
#define UNTIL(is, wanted)                                                                          \
    do {                                                                                           \
        step();                                                                                    \
        if ((is) != (wanted)) {                                                                    \
            uv_run(&service.loop, UV_RUN_ONCE);                                                    \
        }                                                                                          \
    } while ((is) != (wanted))

static struct service_job *add(const char *id)
{
    const char *names[] = {id};
    struct spool_job *spool;
    json_t *parameters = json_object();
    assert_int_equal(spool_job_new("", id, names, 1, parameters, &spool), STATUS_OK);
    json_decref(parameters);
    snprintf(spool->id, sizeof(spool->id), "%s", id);
    struct service_job *job = service_job_new(spool);
    assert_non_null(job);
    service_job_list(&service, job, WAIT_WORKER);
    return job;
}

static struct service_job *add_suspect(const char *id)
{
    struct service_job *job = add(id);
    job->suspect = true;
    return job;
}

static void let_end(struct service_worker *w)
{
    worker_link_send(&w->link, json_pack("{s:s}", "do", "let end"));
}

/* What comes after a requeue, or a charge. */
static void try_again(struct service_job *job)
{
    service_job_list(&service, job, WAIT_WORKER);
}

/* --- its settings ----------------------------------------------------------------------------- */

TEST(worker_is_told_the_settings_that_are_its_own)
{
    char path[] = "/tmp/leat-opened-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0 && setenv("OPENED", path, 1) == 0);
    begin(
        "-b cpu -o /results --jobs 3 --spread 4 --level 7 --bundle --max-unpacked 5 --max-ratio 6 "
        "--deadline 8",
        "");
    UNTIL(service.workers[0]->state, WORKER_READY);
    json_t *const got = json_load_file(path, 0, NULL);
    json_t *const want =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:n, s:i, s:i, s:i, s:i, s:i, s:b, s:i, s:i, s:f}",
                  "do", "open", "spool", "/nowhere", "output", "/results", "backend", "cpu",
                  "devices", 0, "visible", "threads", 2, "jobs", 3, "spread", 4, "memory", 1 << 30,
                  "level", 7, "bundle", 1, "max_unpacked", 5, "max_ratio", 6, "deadline_s", 8.0);
    if (!json_equal(got, want)) {
        fail_msg("%s", json_dumps(got, 0));
    }
    json_decref(got);
    json_decref(want);
    assert_true(unsetenv("OPENED") == 0 && unlink(path) == 0);
    end();
}

/* --- a sick device ---------------------------------------------------------------------------- */

/* The job is sent to the worker, whose device fails. */
static void fail_on(struct service_worker *w, struct service_job *job)
{
    now_ms = w->again_ms > now_ms ? w->again_ms : now_ms;
    UNTIL(w->state, WORKER_READY);
    try_again(job);
    step();
    assert_ptr_equal(job->worker, w);
    UNTIL(job->list, WAIT_REQUEUE);
    assert_true(job->charge);
    assert_string_equal(job->kind, "device");
}

TEST(device_that_keeps_failing_is_out_and_tried_again_later)
{
    char why[SERVICE_WHY_BYTES];
    begin("-b auto --devices 1", "0");
    struct service_worker *device = service.workers[0], *cpu = service.workers[1];
    struct service_job *job = add("a");
    service_job_list(&service, job, WAIT_REQUEUE);
    for (int i = 0; i < 5; i++) {
        assert_int_not_equal(device->state, WORKER_DISABLED);
        assert_false(cpu->is_running);
        fail_on(device, job);
    }
    for (int i = 0; i < 2; i++) { /* when it is tried again, once is enough */
        assert_int_equal(device->state, WORKER_DISABLED);
        assert_int_equal(device->again_ms, now_ms + 300000);
        UNTIL(cpu->state, WORKER_READY);
        assert_false(service_workers_ready(&service, why, sizeof(why)));
        assert_non_null(strstr(why, "cuda:0: no"));
        struct service_job *other = add(i == 0 ? "b" : "c");
        UNTIL(other->list, WAIT_FINISH);
        now_ms += 299999;
        step();
        assert_false(device->is_running);
        assert_int_equal(setenv("SICK", i == 0 ? "0" : "", 1), 0);
        now_ms++;
        step();
        assert_true(device->is_running);
        assert_true(service_worker_takes(cpu)); /* as long as it begins */
        if (i == 0) {
            fail_on(device, job);
        }
    }
    UNTIL(device->state, WORKER_READY);
    try_again(job);
    UNTIL(job->list, WAIT_FINISH);
    UNTIL(cpu->is_running, false);
    assert_true(service_workers_ready(&service, why, sizeof(why)));
    assert_int_equal(device->n_in_row, 0);
    end();
}

TEST(job_whose_device_failed_is_tried_on_another)
{
    begin("-b cuda --devices 2", "0");
    struct service_worker *first = service.workers[0], *second = service.workers[1];
    UNTIL(second->state, WORKER_READY);
    struct service_job *job = add("a");
    service_job_list(&service, job, WAIT_REQUEUE);
    fail_on(first, job);
    UNTIL(first->state, WORKER_READY);
    try_again(job);
    step();
    assert_ptr_equal(job->worker, second);
    UNTIL(job->list, WAIT_FINISH);
    /* So is one that is tried alone. */
    job->suspect = true;
    try_again(job);
    UNTIL(job->list, WAIT_FINISH);
    assert_ptr_equal(service.workers[service.n_workers]->home, second);
    end();
}

TEST(deaths_of_suspects_are_those_of_the_device)
{
    begin("-b cuda --devices 1", "0");
    struct service_worker *device = service.workers[0];
    UNTIL(device->state, WORKER_READY);
    struct service_job *job = add_suspect("a");
    for (int i = 0; i < 5; i++) {
        UNTIL(device->state, WORKER_READY);
        device->has_part = true; /* for which it would begin again */
        try_again(job);
        UNTIL(job->list, WAIT_REQUEUE);
        assert_true(job->charge);
    }
    UNTIL(device->state, WORKER_DISABLED);
    assert_int_equal(device->n_deaths, 6); /* with its own */
    end();
}

TEST(a_suspects_process_is_started_for_it_and_ends_with_it)
{
    begin("-b cpu", "");
    struct service_worker *first = service.workers[service.n_workers];
    struct service_worker *second = service.workers[service.n_workers + 1];
    struct service_job *jobs[3];
    jobs[0] = add_suspect("held");
    UNTIL(jobs[0]->begun, true);
    assert_ptr_equal(jobs[0]->worker, first);
    assert_false(second->is_running); /* nobody is there for it */
    jobs[1] = add_suspect("held2");
    jobs[2] = add_suspect("held3");
    UNTIL(jobs[1]->begun, true);
    assert_ptr_equal(jobs[1]->worker, second); /* the long one before it holds nobody up */
    const int pid = second->process.pid;
    let_end(second);
    UNTIL(jobs[2]->begun, true);
    assert_ptr_equal(jobs[2]->worker, second);
    assert_int_not_equal(second->process.pid, pid);
    let_end(second);
    UNTIL(second->is_running, false);
    assert_true(first->is_running);
    end();
}

/* --- settings of before ----------------------------------------------------------------------- */

TEST(worker_with_settings_of_before_begins_again_and_holds_nobody_up)
{
    char why[SERVICE_WHY_BYTES] = "";
    begin("-b cuda --devices 2 --jobs 4", "");
    struct service_worker *w = service.workers[0], *idle = service.workers[1];
    UNTIL(w->state, WORKER_READY);
    UNTIL(idle->state, WORKER_READY);
    struct service_job *job = add("held");
    step();
    assert_ptr_equal(job->worker, w);
    service.settings->jobs = 8;
    service_workers_renew(&service);
    UNTIL(idle->n_places, 8);
    UNTIL(idle->state, WORKER_READY);
    assert_true(service_worker_retires(w, why, sizeof(why)));
    /* Nothing for ten seconds of ten minutes; in between no more than it has places for. */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(service_jobs_wanted(&service, false), 16 * 8);
        now_ms += 9999;
        assert_int_equal(service_jobs_wanted(&service, false), 16 * 8);
        now_ms++;
        assert_int_equal(service_jobs_wanted(&service, false), 16 * 8 + 4 - 1);
        assert_false(service_worker_retires(w, why, sizeof(why)));
        assert_string_equal(why,
                            "has the configuration of before, and begins again when it has no job");
        now_ms += 589999;
        assert_int_equal(service_jobs_wanted(&service, false), 16 * 8 + 4 - 1);
        now_ms++;
    }
    now_ms += 10000;
    assert_int_equal(w->n_places, 4);
    let_end(w);
    UNTIL(job->list, WAIT_FINISH);
    UNTIL(w->n_places, 8);
    UNTIL(w->state, WORKER_READY);
    assert_int_equal(service_jobs_wanted(&service, false), 2 * 16 * 8);
    assert_int_equal(w->n_deaths + idle->n_deaths, 0);
    end();
}

/* --- a shared device -------------------------------------------------------------------------- */

/* "large" ends in the list. */
static void ends(struct service_job *large, enum service_list list)
{
    try_again(large);
    step();
    assert_non_null(large->worker);
    UNTIL(large->worker, NULL);
    assert_int_equal(large->list, list);
}

TEST(job_is_too_large_only_for_what_the_whole_device_has)
{
    begin("-b cuda --devices 1 --jobs 2", "");
    struct service_worker *w = service.workers[0];
    struct service_worker *alone = service.workers[service.n_workers];
    struct service_job *large = add("large"), *suspect = add_suspect("held");
    service_job_list(&service, large, WAIT_REQUEUE);
    UNTIL(suspect->begun, true);
    ends(large, WAIT_FAIL); /* it had the device before */
    service_worker_kill(w, "by the test");
    UNTIL(w->is_running, false);
    UNTIL(w->state, WORKER_READY);
    ends(large, WAIT_REQUEUE);
    assert_int_equal(large->n_deferrals, 1);
    /* The other's job has ended; but this one has its part, as long as a job of its own lasts. */
    struct service_job *own = add("held");
    UNTIL(own->begun, true);
    let_end(alone);
    UNTIL(alone->is_running, false);
    now_ms += 10000;
    ends(large, WAIT_REQUEUE);
    let_end(w);
    UNTIL(own->list, WAIT_FINISH);
    UNTIL(w->is_running, false);
    UNTIL(w->state, WORKER_READY);
    ends(large, WAIT_FAIL);
    end();
}

TEST(suspect_is_too_large_for_a_device_where_nobody_else_is_at_work)
{
    begin("-b cuda --devices 1 --jobs 2", "");
    struct service_worker *w = service.workers[0];
    struct service_worker *alone = service.workers[service.n_workers];
    struct service_job *own = add("held");
    UNTIL(own->begun, true);
    struct service_job *large = add_suspect("large");
    UNTIL(large->list, WAIT_REQUEUE);
    UNTIL(alone->is_running, false);
    assert_int_equal(w->stale_ms, 0); /* that has lost nothing by it */
    /* A job comes and ends while it begins. */
    let_end(w);
    UNTIL(own->list, WAIT_FINISH);
    try_again(large);
    step();
    assert_int_equal(alone->state, WORKER_STARTING);
    own = add("a");
    UNTIL(own->list, WAIT_FINISH);
    UNTIL(large->list, WAIT_REQUEUE);
    UNTIL(alone->is_running, false);
    try_again(large);
    UNTIL(large->list, WAIT_FAIL);
    end();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        return work();
    }
    signal(SIGPIPE, SIG_IGN);
    alarm(WAIT_S); /* what is waited for may never come */
    unsetenv("CUDA_VISIBLE_DEVICES");
    return unit_run(NULL, NULL);
}
