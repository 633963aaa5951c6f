/*
 * A job's life: where each step leads by how it ends, how long it may take, which failures are its
 * own, and its table, which stands in ARCHITECTURE.md. With an argument: prints what is to stand
 * there.
 * ctest: tree wrap=uv_now
 */
#include "tests/support/service_given.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t __wrap_uv_now(const uv_loop_t *loop);

enum { NOW_MS = 5000000 };
#define ID "20261121-030441-123456"

static uint64_t now_ms;

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return now_ms;
}

static int set_up(void **state)
{
    (void)state;
    now_ms = NOW_MS;
    begin_service("watch --spool /nowhere");
    service.figures.n_done = 3;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    end_service();
    return 0;
}

static struct service_job *new_job(void)
{
    static const char *const names[] = {"x.clusters.csv"};
    struct spool_job *spool;
    assert_int_equal(spool_job_new("", "x", names, 1, NULL, &spool), STATUS_OK);
    strcpy(spool->id, ID);
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

TEST(each_step_leads_where_its_end_says)
{
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

TEST(jobs_that_are_found_wait_for_what_comes_next)
{
    static const enum service_list lists[] = {WAIT_CLAIM,  WAIT_VERIFY, WAIT_ATTEMPT, WAIT_REQUEUE,
                                              WAIT_FINISH, WAIT_FINISH, WAIT_FINISH,  WAIT_FAIL};
    for (enum spool_state at = SPOOL_NEW; at < SPOOL_ENDED; at++) {
        assert_int_equal(service_list_of(at), lists[at]);
    }
}

/* What each of several jobs meets is its own trouble, until many in a row meet some; and over with
 * the first that ends. */
TEST(many_jobs_deferred_in_a_row_are_begun_one_by_one)
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

/* --- at a worker ------------------------------------------------------------------------------ */

/* The one job of the service is at that worker. */
static struct service_job *new_job_at(struct service_worker *w)
{
    void *unused = NULL;
    assert_int_equal(set_up(&unused), 0);
    struct service_job *job = new_job();
    job->worker = w;
    service_job_list(&service, job, WAIT_RESULT);
    return job;
}

/* Takes the message over. */
static void tell(struct service_worker *w, json_t *message)
{
    assert_non_null(message);
    service_jobs_at_workers.message(w, message);
    json_decref(message);
}

static void tell_begun(struct service_worker *w, bool waits, double deadline_s)
{
    tell(w, json_pack("{s:s, s:s, s:b, s:f}", "is", "begun", "id", ID, "waits", waits, "deadline_s",
                      deadline_s));
}

static void tell_member(struct service_worker *w, const char *is, const char *member,
                        double deadline_s)
{
    tell(w, json_pack("{s:s, s:s, s:s, s:b, s:f}", "is", is, "id", ID, "member", member, "waits",
                      false, "deadline_s", deadline_s));
}

/* Whether the worker is killed for a deadline, once `seconds` more have gone by. */
static bool is_late_after(struct service_worker *w, unsigned seconds)
{
    now_ms += 1000 * (uint64_t)seconds;
    service_check_deadlines(w->service);
    return w->is_late;
}

/* A worker says "begun" again when the job begins to wait for memory, without a deadline, and when
 * it has it. */
TEST(deadline_does_not_run_while_the_job_waits_for_memory)
{
    struct service_worker worker = {.service = &service};
    struct service_job *job = new_job_at(&worker);
    tell_begun(&worker, false, 10);
    assert_false(job->waits);
    assert_false(is_late_after(&worker, 9));
    tell_begun(&worker, true, 0);
    assert_true(job->waits);
    assert_false(is_late_after(&worker, 100000));
    tell_begun(&worker, false, 10);
    assert_false(job->waits);
    assert_false(is_late_after(&worker, 9));
    assert_true(is_late_after(&worker, 100));
    assert_ptr_equal(worker.overdue, job);
    tear_down(state);
}

/* And the archive has none of its own, however many there are. */
TEST(deadline_of_an_archive_is_that_of_each_file_in_it)
{
    struct service_worker worker = {.service = &service, .n_jobs = 1, .exit_text = "signal 9"};
    struct service_job *job = new_job_at(&worker);
    tell_begun(&worker, false, 0);
    assert_false(is_late_after(&worker, 100000));
    for (int i = 0; i < 100; i++) {
        tell_member(&worker, "begun", "in/a.tar/%C3%BC.csv", 10);
        assert_false(is_late_after(&worker, 9));
        tell_member(&worker, "ended", "in/a.tar/%C3%BC.csv", 0);
    }
    tell_member(&worker, "begun", "in/a.tar/%C3%BC.csv", 10);
    tell_member(&worker, "begun", "in/a.tar/waits.csv", 0);
    assert_false(is_late_after(&worker, 9));
    tell_member(&worker, "begun", "in/a.tar/later.csv", 10);
    assert_true(is_late_after(&worker, 6));
    assert_ptr_equal(worker.overdue, job);
    assert_true(service_jobs_at_workers.ended(&worker));
    assert_int_equal(job->list, WAIT_REQUEUE);
    assert_true(job->charge);
    assert_string_equal(job->kind, "deadline");
    assert_string_equal(job->text, "'in/a.tar/\xC3\xBC.csv' took longer than its deadline, and did "
                                   "not stop when told to");
    tear_down(state);
}

/* The job is at the worker, and fails there; whether it is charged with that. */
static bool meet(struct service_worker *w, struct service_job *job, enum status code)
{
    job->worker = w;
    service_job_list(w->service, job, WAIT_RESULT);
    tell(w, json_pack("{s:s, s:s, s:s, s:s}", "is", "failed", "id", ID, "code", status_name(code),
                      "text", "by the test"));
    assert_int_equal(job->list, WAIT_REQUEUE);
    return job->charge;
}

/* The same, after another job has been done. */
static bool meet_after_another(struct service_worker *w, struct service_job *job, enum status code)
{
    w->service->figures.n_done++;
    return meet(w, job, code);
}

TEST(error_of_a_disk_is_the_jobs_own_when_only_it_meets_the_same_again)
{
    struct service_worker worker = {.service = &service};
    struct service_job *job = new_job_at(&worker);
    assert_false(meet(&worker, job, STATUS_CANCELLED));
    assert_int_equal(job->n_deferrals, 0);
    assert_false(meet(&worker, job, STATUS_IO));
    assert_false(meet(&worker, job, STATUS_IO));
    assert_int_equal(job->n_deferrals, 2);
    assert_true(meet_after_another(&worker, job, STATUS_IO));
    assert_int_equal(job->n_deferrals, 2);
    assert_false(meet(&worker, job, STATUS_IO)); /* none was done since */
    assert_false(meet_after_another(&worker, job, STATUS_NO_SPACE));
    assert_false(meet_after_another(&worker, job, STATUS_NO_SPACE));
    assert_false(meet_after_another(&worker, job, STATUS_IO));
    assert_true(meet_after_another(&worker, job, STATUS_IO));
    tear_down(state);
}

TEST(want_of_memory_is_the_jobs_own_after_ten_minutes)
{
    static const enum status codes[] = {STATUS_NO_MEMORY, STATUS_TOO_LARGE};
    for (size_t i = 0; i < 2; i++) {
        struct service_worker worker = {.service = &service, .has_part = true};
        struct service_job *job = new_job_at(&worker);
        assert_false(meet(&worker, job, STATUS_IO));
        now_ms += 3600000; /* of another cause */
        assert_false(meet_after_another(&worker, job, codes[i]));
        now_ms += 599999;
        assert_false(meet_after_another(&worker, job, codes[i]));
        now_ms++;
        assert_false(meet(&worker, job, codes[i])); /* nobody has any */
        assert_true(meet_after_another(&worker, job, codes[i]));
        tear_down(state);
    }
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

TEST(the_table_stands_in_architecture_md)
{
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
    return unit_run(NULL, NULL);
}
