/*
 * The table of a job's life: every row is visited by what brings it about, does what it says, and
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

/* How a job may come out of a step of the spool. */
struct end {
    enum spool_outcome outcome;
    enum spool_state state;
    bool has_id;
};
enum { ENDS = (SPOOL_INTERNAL + 1) * (SPOOL_ENDED + 1) * 2 };

static struct end end_at(unsigned i)
{
    return (struct end){(enum spool_outcome)(i / 2 / (SPOOL_ENDED + 1)),
                        (enum spool_state)(i / 2 % (SPOOL_ENDED + 1)), i % 2};
}

static struct service_job *job_that_ends(struct end end)
{
    struct service_job *job = new_job();
    job->spool->outcome = end.outcome;
    job->spool->state = end.state;
    if (!end.has_id) {
        job->spool->id[0] = '\0';
    }
    return job;
}

/* Whether what is done beside has been done. */
static bool has_acted(const struct service *s, enum service_action action,
                      const struct service_job *job)
{
    switch (action) {
    case ACTION_NONE:
        return job->again_ms == 0 && job->n_deferrals == 0 && job->kind == NULL;
    case ACTION_FORGET:
        return s->figures.n_done == 3 && s->figures.n_failed == 0;
    case ACTION_AWAIT_WRITER:
    case ACTION_BACK_OFF:
        return job->again_ms > NOW_MS && job->n_deferrals == 0;
    case ACTION_SPACE:
        return job->again_ms == job->attempt_ms && job->n_deferrals == 0;
    case ACTION_REDO:
        return job->again_ms == 0 && job->attempt_ms > NOW_MS && job->n_deferrals == 1;
    case ACTION_DEFER:
        return job->again_ms > NOW_MS && job->deferred_ms == NOW_MS && job->n_deferrals == 1;
    case ACTION_BLAME:
        return strcmp(job->kind,
                      job->spool->outcome == SPOOL_BAD_INPUT ? "bad-input" : "internal") == 0;
    case ACTION_GIVE_UP:
        return strcmp(job->text, "2 attempts ended without a result; the last: unknown") == 0;
    case ACTION_TELL_DONE:
        return s->figures.n_done == 4;
    case ACTION_TELL_FAILED:
        return s->figures.n_failed == 1;
    default:
        return false;
    }
}

static void follow(const struct service_rule *rule, struct end end)
{
    struct service *s = &service;
    void *state = NULL;
    assert_int_equal(set_up(&state), 0);
    struct service_job *job = job_that_ends(end);
    job->attempt_ms = rule->action == ACTION_SPACE ? NOW_MS + 1 : 0;
    service_job_follow(s, job, rule->from);
    if (rule->to == WAIT_NOTHING) {
        job = NULL;
        assert_int_equal(s->n_jobs, 0);
    } else {
        assert_int_equal(job->list, rule->to);
        assert_int_equal(s->n_jobs, 1);
    }
    assert_true(has_acted(s, rule->action, job));
    tear_down(&state);
}

static bool is_from_spool(enum service_event event)
{
    return event <= EVENT_BLOCKED;
}

static void every_row_is_brought_about_and_followed(void **state)
{
    (void)state;
    size_t n;
    const struct service_rule *rules = service_rules(&n);
    for (const struct service_rule *rule = rules; rule < rules + n; rule++) {
        unsigned n_ends = 0;
        assert_ptr_equal(service_rule(rule->from, rule->event), rule); /* no second row of a pair */
        for (unsigned i = 0; i < ENDS && is_from_spool(rule->event); i++) {
            struct service_job *job = job_that_ends(end_at(i));
            const bool is_it = service_event_of(rule->from, job->spool) == rule->event;
            service_job_free(job);
            if (is_it) {
                follow(rule, end_at(i));
                n_ends++;
            }
        }
        if (is_from_spool(rule->event)) {
            assert_true(n_ends > 0);
            continue;
        }
        void *unused = NULL;
        assert_int_equal(set_up(&unused), 0);
        struct service_job *job = new_job();
        service_job_list(&service, job, rule->from);
        service_job_happens(&service, job, rule->from, rule->event);
        assert_int_equal(job->list, rule->to);
        assert_int_equal(rule->action, ACTION_NONE);
        tear_down(&unused);
    }
}

/* What a worker says of its job, and where that leads. */
static void workers_bring_about_what_follows_a_result(void **state)
{
    (void)state;
    static const struct {
        const char *is, *code;
        enum service_list to;
    } cases[] = {
        {"done", NULL, WAIT_FINISH},
        {"failed", "cancelled", WAIT_REQUEUE},
        {"failed", "no-space", WAIT_REQUEUE},
        {"failed", "deadline", WAIT_CHARGE},
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

static void a_pair_that_cannot_be_makes_the_job_fail(void **state)
{
    (void)state;
    const struct service_rule *rule = service_rule(WAIT_WORKER, EVENT_GONE);
    assert_int_equal(rule->to, WAIT_FAIL);
    assert_int_equal(rule->action, ACTION_BLAME);
}

/* --- ARCHITECTURE.md -------------------------------------------------------------------------- */

static const char *list_name(enum service_list list)
{
    static const char *const names[] = {"claim",  "verify", "attempt", "worker",
                                        "result", "finish", "requeue", "charge",
                                        "fail",   "found",  "ended"};
    return names[list];
}

static const char *event_name(enum service_event event)
{
    static const char *const names[SERVICE_EVENTS] = {
        "not all inputs are taken", "somebody may still write to it",
        "its inputs are complete",  "an attempt is charged",
        "its result is made",       "its failure is decided",
        "it is put away",           "an input has changed",
        "nothing is taken",         "an input has gone",
        "it can only fail",         "all attempts are charged",
        "our side has no room",     "no room, and the result is lost",
        "something is in the way",  "it is sent",
        "the step is put off",      "the work is done",
        "the input is to blame",    "nobody is to blame",
        "the job may be to blame",  "an administrator deletes it"};
    return names[event];
}

static const char *action_name(enum service_action action)
{
    static const char *const names[SERVICE_ACTIONS] = {"",
                                                       "forget it",
                                                       "repeat after a while",
                                                       "repeat later and later",
                                                       "attempt it later and later",
                                                       "one that was deferred waits",
                                                       "wait, longer with each attempt",
                                                       "note why",
                                                       "note why, and how often",
                                                       "tell and forget it",
                                                       "tell and forget it"};
    return names[action];
}

/* The table as it is to stand there; for free(). */
static char *print_table(void)
{
    char *text;
    size_t bytes, n;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    const struct service_rule *rules = service_rules(&n);
    fputs("| in the list | what happens | next list | and |\n|---|---|---|---|\n", to);
    for (const struct service_rule *r = rules; r < rules + n; r++) {
        const bool is_first = r == rules || r[-1].from != r->from;
        fprintf(to, "| %s | %s | %s | %s |\n", is_first ? list_name(r->from) : "",
                event_name(r->event), list_name(r->to), action_name(r->action));
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
        cmocka_unit_test(every_row_is_brought_about_and_followed),
        cmocka_unit_test(workers_bring_about_what_follows_a_result),
        cmocka_unit_test(many_jobs_deferred_in_a_row_are_begun_one_by_one),
        cmocka_unit_test(a_pair_that_cannot_be_makes_the_job_fail),
        cmocka_unit_test(the_table_stands_in_architecture_md),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
