/*
 * A job's life: where each step leads by how it ends, what is done beside, and its table, which
 * stands in ARCHITECTURE.md. With an argument: prints what is to stand there.
 * ctest: tree wrap=uv_now
 */
#include "pipeline/service/service_state.h"
#include "tests/support/settings_given.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t __wrap_uv_now(const uv_loop_t *loop);

enum { NOW_MS = 5000000 };

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return NOW_MS;
}

static struct service service;

static int set_up(void **state)
{
    (void)state;
    struct service *s = &service;
    *s = (struct service){.figures.n_done = 3};
    s->settings = malloc(sizeof(*s->settings));
    assert_non_null(s->settings);
    *s->settings = must_parse("watch --spool /nowhere");
    for (size_t i = 0; i < SERVICE_LISTS; i++) {
        TAILQ_INIT(&s->lists[i]);
    }
    s->inbox = service_inbox_new(s->settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    struct service *s = &service;
    for (size_t i = 0; i < SERVICE_LISTS; i++) {
        struct service_job *job;
        while ((job = TAILQ_FIRST(&s->lists[i])) != NULL) {
            service_job_unlist(s, job);
            service_job_free(job);
        }
    }
    service_status_free(s);
    service_inbox_free(s->inbox);
    settings_free(s->settings);
    free(s->settings);
    return 0;
}

static struct service_job *new_job(void)
{
    static const char *const names[] = {"x.clusters.csv"};
    struct spool_job *spool;
    assert_int_equal(spool_job_new("", "x", names, 1, NULL, &spool), STATUS_OK);
    strcpy(spool->id, "20261121-030441-123456");
    spool->n_attempts = 2;
    struct service_job *job = service_job_new(spool);
    assert_non_null(job);
    return job;
}

/* When the job's next step may be taken. */
enum next_time { AT_ONCE, AFTER_WRITER, DEFERRED, REDONE, BACKED_OFF, SPACED };

static bool is_at(const struct service_job *job, enum next_time when)
{
    switch (when) {
    case AT_ONCE:
        return job->again_ms == 0 && job->n_deferrals == 0;
    case AFTER_WRITER:
        return job->again_ms == NOW_MS + (uint64_t)(service.settings->settle_s * 1000) &&
               job->n_deferrals == 0;
    case DEFERRED:
        return job->again_ms == NOW_MS + 1000 && job->n_deferrals == 1;
    case REDONE:
        return job->again_ms == 0 && job->attempt_ms > NOW_MS && job->n_deferrals == 1;
    case BACKED_OFF:
        return job->again_ms == NOW_MS + 2000 && job->n_deferrals == 0;
    case SPACED:
        return job->again_ms == job->attempt_ms && job->again_ms == NOW_MS + 1;
    }
    return false;
}

struct step_case {
    enum service_list from;
    enum spool_outcome outcome;
    enum spool_state state;
    enum service_list to;
    enum next_time when;
    const char *kind; /* of the failure; NULL: none is noted */
};

static void follow(const struct step_case *c, bool charge)
{
    struct service *s = &service;
    void *state = NULL;
    assert_int_equal(set_up(&state), 0);
    struct service_job *job = new_job();
    job->spool->outcome = c->outcome;
    job->spool->state = c->state;
    job->charge = charge;
    job->attempt_ms = c->when == SPACED ? NOW_MS + 1 : 0;
    service_job_follow(s, job, c->from);
    assert_int_equal(job->list, c->to);
    assert_true(is_at(job, c->when));
    if (c->kind != NULL) {
        assert_string_equal(job->kind, c->kind);
    } else {
        assert_null(job->kind);
    }
    tear_down(&state);
}

static void each_step_leads_where_its_end_says(void **state)
{
    (void)state;
    static const struct step_case cases[] = {
        {WAIT_CLAIM, SPOOL_OK, SPOOL_QUEUED, WAIT_ATTEMPT, AT_ONCE, NULL},
        {WAIT_CLAIM, SPOOL_WAIT, SPOOL_UNVERIFIED, WAIT_VERIFY, AFTER_WRITER, NULL},
        {WAIT_CLAIM, SPOOL_WAIT, SPOOL_NEW, WAIT_CLAIM, AFTER_WRITER, NULL},
        {WAIT_CLAIM, SPOOL_TRANSIENT, SPOOL_NEW, WAIT_CLAIM, DEFERRED, NULL},
        {WAIT_CLAIM, SPOOL_TRANSIENT, SPOOL_UNVERIFIED, WAIT_CLAIM, DEFERRED, NULL},
        {WAIT_CLAIM, SPOOL_BAD_INPUT, SPOOL_FAILING, WAIT_FAIL, AT_ONCE, "bad-input"},

        {WAIT_VERIFY, SPOOL_OK, SPOOL_QUEUED, WAIT_ATTEMPT, AT_ONCE, NULL},
        {WAIT_VERIFY, SPOOL_WAIT, SPOOL_UNVERIFIED, WAIT_VERIFY, AFTER_WRITER, NULL},
        {WAIT_VERIFY, SPOOL_TRANSIENT, SPOOL_UNVERIFIED, WAIT_VERIFY, DEFERRED, NULL},
        {WAIT_VERIFY, SPOOL_INTERNAL, SPOOL_FAILING, WAIT_FAIL, AT_ONCE, "internal"},
        {WAIT_VERIFY, SPOOL_GONE, SPOOL_UNVERIFIED, WAIT_FAIL, AT_ONCE, "internal"},

        {WAIT_ATTEMPT, SPOOL_OK, SPOOL_WORKING, WAIT_WORKER, AT_ONCE, NULL},
        {WAIT_ATTEMPT, SPOOL_TRANSIENT, SPOOL_QUEUED, WAIT_ATTEMPT, DEFERRED, NULL},
        {WAIT_ATTEMPT, SPOOL_INTERNAL, SPOOL_QUEUED, WAIT_FAIL, AT_ONCE, "internal"},

        /* an input has changed; what the disk did not take is lost */
        {WAIT_FINISH, SPOOL_WAIT, SPOOL_WORKING, WAIT_REQUEUE, AFTER_WRITER, NULL},
        {WAIT_FINISH, SPOOL_TRANSIENT, SPOOL_WORKING, WAIT_REQUEUE, REDONE, NULL},
        {WAIT_FINISH, SPOOL_TRANSIENT, SPOOL_DURABLE, WAIT_FINISH, DEFERRED, NULL},
        {WAIT_FINISH, SPOOL_INTERNAL, SPOOL_WORKING, WAIT_FAIL, AT_ONCE, "internal"},
        /* committed: nothing makes it fail any more */
        {WAIT_FINISH, SPOOL_TRANSIENT, SPOOL_COMMITTED, WAIT_FINISH, DEFERRED, NULL},
        {WAIT_FINISH, SPOOL_INTERNAL, SPOOL_COMMITTED, WAIT_FINISH, DEFERRED, NULL},
        {WAIT_FINISH, SPOOL_BAD_INPUT, SPOOL_PUBLISHED, WAIT_FINISH, DEFERRED, NULL},

        {WAIT_REQUEUE, SPOOL_OK, SPOOL_UNVERIFIED, WAIT_VERIFY, SPACED, NULL},
        {WAIT_REQUEUE, SPOOL_TRANSIENT, SPOOL_DURABLE, WAIT_REQUEUE, DEFERRED, NULL},
        {WAIT_REQUEUE, SPOOL_INTERNAL, SPOOL_DURABLE, WAIT_FAIL, AT_ONCE, "internal"},

        {WAIT_FAIL, SPOOL_WAIT, SPOOL_WORKING, WAIT_REQUEUE, AFTER_WRITER, NULL},
        {WAIT_FAIL, SPOOL_TRANSIENT, SPOOL_UNVERIFIED, WAIT_FAIL, DEFERRED, NULL},
        {WAIT_FAIL, SPOOL_INTERNAL, SPOOL_FAILING, WAIT_FAIL, DEFERRED, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        follow(&cases[i], false);
    }
    static const struct step_case charged[] = {
        {WAIT_REQUEUE, SPOOL_OK, SPOOL_UNVERIFIED, WAIT_VERIFY, BACKED_OFF, NULL},
        {WAIT_REQUEUE, SPOOL_TRANSIENT, SPOOL_WORKING, WAIT_REQUEUE, DEFERRED, NULL},
        {WAIT_REQUEUE, SPOOL_EXHAUSTED, SPOOL_FAILING, WAIT_FAIL, AT_ONCE, "exhausted"},
    };
    for (size_t i = 0; i < sizeof(charged) / sizeof(*charged); i++) {
        follow(&charged[i], true);
    }
}

/* Whatever a claim that took nothing has met; and jobs that are put away. */
static void jobs_end_and_are_counted(void **state)
{
    static const struct {
        enum service_list from;
        enum spool_outcome outcome;
        size_t n_done, n_failed, n_in_row; /* noted as trouble of ours */
    } cases[] = {
        {WAIT_CLAIM, SPOOL_GONE, 3, 0, 0},
        {WAIT_CLAIM, SPOOL_TRANSIENT, 3, 0, 1},
        {WAIT_FINISH, SPOOL_OK, 4, 0, 0},
        {WAIT_FAIL, SPOOL_OK, 3, 1, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(set_up(state), 0);
        struct service_job *job = new_job();
        job->spool->outcome = cases[i].outcome;
        job->spool->state = SPOOL_ENDED;
        job->spool->id[0] = cases[i].from == WAIT_CLAIM ? '\0' : job->spool->id[0];
        service_job_follow(&service, job, cases[i].from);
        assert_int_equal(service.n_jobs, 0);
        assert_int_equal(service.figures.n_done, cases[i].n_done);
        assert_int_equal(service.figures.n_failed, cases[i].n_failed);
        assert_int_equal(service.gate.n_in_row, cases[i].n_in_row);
        tear_down(state);
    }
}

static void attempts_that_are_used_up_are_told_with_the_last_failure(void **state)
{
    assert_int_equal(set_up(state), 0);
    struct service_job *job = new_job();
    job->spool->outcome = SPOOL_EXHAUSTED;
    service_job_set_failure(job, "crash", "the worker ended");
    service_job_follow(&service, job, WAIT_REQUEUE);
    assert_string_equal(job->kind, "crash");
    assert_string_equal(job->text, "2 attempts ended without a result; the last: the worker ended");
    tear_down(state);
}

static void jobs_that_are_found_wait_for_what_comes_next(void **state)
{
    (void)state;
    static const enum service_list lists[] = {WAIT_CLAIM,  WAIT_VERIFY, WAIT_ATTEMPT, WAIT_REQUEUE,
                                              WAIT_FINISH, WAIT_FINISH, WAIT_FINISH,  WAIT_FAIL};
    for (enum spool_state at = SPOOL_NEW; at < SPOOL_ENDED; at++) {
        assert_int_equal(service_list_of(at), lists[at]);
    }
}

/* What a worker says of its job, and where that leads. */
static void workers_bring_about_what_follows_a_result(void **state)
{
    (void)state;
    static const struct {
        const char *is, *code;
        enum service_list to;
        bool charge;
    } cases[] = {
        {"done", NULL, WAIT_FINISH, false},           {"failed", "bad-input", WAIT_FAIL, false},
        {"failed", "cancelled", WAIT_REQUEUE, false}, {"failed", "no-space", WAIT_REQUEUE, false},
        {"failed", "deadline", WAIT_REQUEUE, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        void *unused = NULL;
        assert_int_equal(set_up(&unused), 0);
        struct service_worker worker = {.service = &service, .n_jobs = 1};
        struct service_job *job = new_job();
        job->worker = &worker;
        service_job_list(&service, job, WAIT_RESULT);
        json_t *message = json_pack("{s:s, s:s, s:s*, s:s}", "is", cases[i].is, "id",
                                    job->spool->id, "code", cases[i].code, "text", "why");
        assert_non_null(message);
        service_jobs_at_workers.message(&worker, message);
        json_decref(message);
        assert_int_equal(job->list, cases[i].to);
        assert_int_equal(job->charge, cases[i].charge);
        tear_down(&unused);
    }
}

/* What each of several jobs meets is its own trouble, until many in a row meet some; and over with
 * the first that ends. */
static void many_jobs_deferred_in_a_row_are_begun_one_by_one(void **state)
{
    struct service *s = &service;
    assert_int_equal(set_up(state), 0);
    struct service_job *job = new_job();
    service_job_list(s, job, WAIT_VERIFY);
    deferral_add(s, job, "no room");
    assert_true(gate_is_open(s) && gate_lets_begin(s, NOW_MS));
    assert_int_equal(job->again_ms, NOW_MS + 1000);
    for (unsigned n = 2; n <= 20; n++) { /* one job is its own trouble, however often */
        deferral_add(s, job, "no room");
    }
    for (unsigned n = 2; n <= 8; n++) {
        assert_false(gate_is_narrow(s));
        struct service_job *more = new_job();
        service_job_list(s, more, WAIT_VERIFY);
        deferral_add(s, more, "no room");
        more->again_ms = NOW_MS + 60001; /* after the first */
    }
    assert_int_equal(job->again_ms, NOW_MS + 60000);
    assert_true(gate_is_narrow(s) && !gate_is_open(s) && gate_lets_end(s));
    assert_true(!gate_lets_begin(s, NOW_MS - 1999) && gate_lets_begin(s, NOW_MS - 2000));
    deferral_tick(s); /* the first that has room says that there is some */
    assert_int_equal(job->again_ms, 0);
    deferral_add(s, job, "no room");
    deferral_tick(s); /* not yet again */
    assert_true(job->again_ms > NOW_MS);
    gate_shut(s, "a folder has gone", false);
    assert_true(!gate_lets_begin(s, 0) && !gate_lets_end(s));
    gate_found_room(s); /* which is no sign that this trouble is over */
    assert_true(gate_is_narrow(s) && gate_lets_end(s));
    struct service_job *other = new_job();
    deferral_end(s, other);
    service_job_free(other);
    assert_true(gate_is_open(s));
    assert_true(job->again_ms == 0 && job->attempt_ms == 0 && job->n_deferrals == 0);
    tear_down(state);
}

/* --- ARCHITECTURE.md -------------------------------------------------------------------------- */

/* The table as it is to stand there; for free(). */
static char *print_table(void)
{
    static const char *const names[] = {"claim",  "verify",  "attempt", "worker", "result",
                                        "finish", "requeue", "fail",    "-"};
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    fputs("| a job waits for | next, when that is done | when it is to wait |\n|---|---|---|\n",
          to);
    for (enum service_list list = 0; list < SERVICE_LISTS; list++) {
        fprintf(to, "| %s | %s | %s |\n", names[list], names[service_next(list, SPOOL_OK)],
                names[service_next(list, SPOOL_WAIT)]);
    }
    assert_int_equal(fclose(to), 0);
    return text;
}

static void the_table_stands_in_architecture_md(void **state)
{
    (void)state;
    char *page = calloc(1, 1 << 20), *table = print_table();
    FILE *from = fopen(LEAT_TREE "/ARCHITECTURE.md", "r");
    assert_non_null(from);
    assert_non_null(page);
    assert_true(fread(page, 1, (1 << 20) - 1, from) > 0);
    fclose(from);
    if (strstr(page, table) == NULL) {
        fail_msg("ARCHITECTURE.md lacks this table:\n%s", table);
    }
    free(table);
    free(page);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        char *table = print_table();
        fputs(table, stdout);
        free(table);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_leads_where_its_end_says),
        cmocka_unit_test(jobs_end_and_are_counted),
        cmocka_unit_test(attempts_that_are_used_up_are_told_with_the_last_failure),
        cmocka_unit_test(jobs_that_are_found_wait_for_what_comes_next),
        cmocka_unit_test(workers_bring_about_what_follows_a_result),
        cmocka_unit_test(many_jobs_deferred_in_a_row_are_begun_one_by_one),
        cmocka_unit_test(the_table_stands_in_architecture_md),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
