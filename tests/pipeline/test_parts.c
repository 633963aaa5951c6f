/*
 * Files that wait for the others of their job.
 */
#include "pipeline/inputs/parts.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct stage_part pair_parts[] = {{.suffix = "dem", .kind = STAGE_GRID},
                                               {.suffix = "source", .kind = STAGE_GRID}};
static const struct stage_ops pair = {.name = "pair", .parts = pair_parts, .n_parts = 2};

static struct parts *parts;

static int open_parts(void **state)
{
    (void)state;
    parts = parts_new();
    return 0;
}

static int close_parts(void **state)
{
    (void)state;
    parts_free(parts);
    return 0;
}

/* A file of stem `stem` is added as part `part`; true when that makes a job. */
static enum status add_of(const struct stage_ops *stage, size_t n_parts, const char *path,
                          const char *stem, size_t part, int fd, struct job_input *out,
                          bool *complete)
{
    struct job_part file = {.fd = fd, .path = strdup(path)};
    struct job_settings settings = {
        .stage = stage, .part = part, .n_parts = n_parts, .stem = strdup(stem)};
    settings.parts[0] = &stage->parts[n_parts == 1 ? part : 0];
    settings.parts[1] = n_parts > 1 ? &stage->parts[1] : NULL;
    settings.params = calloc(1, sizeof(*settings.params));
    settings.params->count = part;
    *out = (struct job_input){0};
    return parts_add(parts, &file, &settings, out, complete);
}

static enum status add_open(const char *path, const char *stem, size_t part, int fd,
                            struct job_input *out, bool *complete)
{
    return add_of(&pair, 2, path, stem, part, fd, out, complete);
}

static bool add(const char *path, const char *stem, size_t part, struct job_input *out)
{
    bool complete;
    assert_int_equal(add_open(path, stem, part, -1, out, &complete), STATUS_OK);
    return complete;
}

static bool project_to(const char *path, const char *text, struct job_input *out)
{
    return parts_add_projection(parts, path, strdup(text), out);
}

static void project(const char *path, const char *text)
{
    struct job_input none;
    assert_false(project_to(path, text, &none));
}

/* Of what waits no job is complete. */
static enum status give_up(const char *folder, struct job_input *out)
{
    bool complete;
    const enum status code = parts_give_up(parts, folder, out, &complete);
    assert_false(complete);
    return code;
}

TEST_BETWEEN(job_is_complete_with_its_last_part_in_any_order, open_parts, close_parts)
{
    struct job_input job;
    for (size_t first = 0; first < 2; first++) {
        const char *paths[] = {"a/x.dem.tif", "a/x.source.asc"};
        assert_false(add(paths[first], "x", first, &job));
        assert_true(add(paths[1 - first], "x", 1 - first, &job));
        assert_int_equal(job.n_parts, 2);
        assert_string_equal(job.parts[0].path, paths[0]);
        assert_string_equal(job.parts[1].path, paths[1]);
        assert_string_equal(job.settings.stem, "x");
        assert_int_equal(job.settings.params->count, 0); /* those of the first part */
        job_input_free(&job);
    }
    assert_int_equal(give_up("", &job), STATUS_OK);
}

TEST_BETWEEN(folder_is_the_same_however_it_is_spelt, open_parts, close_parts)
{
    static const char *const spelt[][2] = {{"x.dem.tif", "./x.source.tif"},
                                           {".//x.dem.tif", "x.source.tif"},
                                           {"a//b/./x.dem.tif", "./a/b//x.source.tif"},
                                           {"/a/x.dem.tif", "//a/./x.source.tif"}};
    struct job_input job;
    for (size_t i = 0; i < sizeof(spelt) / sizeof(spelt[0]); i++) {
        assert_false(add(spelt[i][0], "x", 0, &job));
        assert_true(add(spelt[i][1], "x", 1, &job));
        job_input_free(&job);
    }
    assert_false(add("a/x.dem.tif", "x", 0, &job));
    assert_false(add("/a/x.source.tif", "x", 1, &job));
    assert_false(add("../a/x.source.tif", "x", 1, &job));
    assert_false(add(".a/x.source.tif", "x", 1, &job));
    assert_int_equal(give_up("./a", &job), STATUS_BAD_INPUT);
    assert_string_equal(job.parts[0].path, "a/x.dem.tif");
    job_input_free(&job);
    assert_int_equal(give_up(".", &job), STATUS_BAD_INPUT);
    assert_string_equal(job.parts[0].path, ".a/x.source.tif");
    job_input_free(&job);
    assert_int_equal(give_up(".", &job), STATUS_OK);
}

TEST_BETWEEN(same_stem_in_another_folder_is_another_job, open_parts, close_parts)
{
    struct job_input job;
    assert_false(add("a/x.dem.tif", "x", 0, &job));
    assert_false(add("b/x.source.tif", "x", 1, &job));
    assert_false(add("x.source.tif", "x", 1, &job));
    assert_false(add("a/xx.source.tif", "xx", 1, &job));
    assert_true(add("a/x.source.tif", "x", 1, &job));
    job_input_free(&job);
}

TEST_BETWEEN(what_is_missing_is_named_when_a_folder_is_left, open_parts, close_parts)
{
    struct job_input job;
    assert_false(add("a/x.dem.tif", "x", 0, &job));
    assert_false(add("ab/y.source.tif", "y", 1, &job));
    assert_false(add("a/c/z.source.tif", "z", 1, &job));
    assert_int_equal(give_up("a/c", &job), STATUS_BAD_INPUT);
    assert_string_equal(job.parts[0].path, "a/c/z.source.tif");
    assert_non_null(strstr(status_message(), "z.dem."));
    job_input_free(&job);
    assert_int_equal(give_up("a", &job), STATUS_BAD_INPUT);
    assert_string_equal(job.parts[0].path, "a/x.dem.tif");
    assert_non_null(strstr(status_message(), "x.source."));
    job_input_free(&job);
    assert_int_equal(give_up("a", &job), STATUS_OK);
    assert_int_equal(give_up("", &job), STATUS_BAD_INPUT);
    assert_string_equal(job.parts[0].path, "ab/y.source.tif");
    job_input_free(&job);
    assert_int_equal(give_up("", &job), STATUS_OK);
}

static const struct stage_part fit_parts[] = {{.suffix = "nodes"},
                                              {.suffix = "shift", .unless = "shift"},
                                              {.suffix = "query", .unless = "query"}};
static const struct stage_ops fit = {.name = "fit", .parts = fit_parts, .n_parts = 3};

/* A file of a job that has those parts. */
static enum status add_fit(const char *path, size_t first, size_t second, size_t part,
                           struct job_input *out, bool *complete)
{
    struct job_part file = {.fd = -1, .path = strdup(path)};
    struct job_settings settings = {.stage = &fit,
                                    .part = part,
                                    .n_parts = 2,
                                    .parts = {&fit_parts[first], &fit_parts[second]},
                                    .stem = strdup("x")};
    *out = (struct job_input){0};
    return parts_add(parts, &file, &settings, out, complete);
}

TEST_BETWEEN(job_has_those_parts_that_its_parameters_ask_for, open_parts, close_parts)
{
    struct job_input job;
    bool complete;
    assert_int_equal(add_fit("x.query.csv", 0, 2, 1, &job, &complete), STATUS_OK);
    assert_false(complete);
    assert_int_equal(add_fit("x.nodes.csv", 0, 2, 0, &job, &complete), STATUS_OK);
    assert_true(complete);
    assert_int_equal(job.n_parts, 2);
    assert_string_equal(job.parts[0].path, "x.nodes.csv");
    assert_string_equal(job.parts[1].path, "x.query.csv");
    assert_ptr_equal(job.settings.parts[1], &fit_parts[2]);
    job_input_free(&job);
}

/* A route has set a parameter for some of the files alone. */
TEST_BETWEEN(parts_of_unlike_jobs_are_told_apart, open_parts, close_parts)
{
    struct job_input job;
    bool complete;
    assert_int_equal(add_fit("x.query.csv", 0, 2, 1, &job, &complete), STATUS_OK);
    assert_int_equal(add_fit("x.nodes.csv", 0, 1, 0, &job, &complete), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "'x.nodes.csv': its parameters ask for other files"));
    job_input_free(&job);
    assert_int_equal(give_up("", &job), STATUS_BAD_INPUT);
    assert_string_equal(status_message(),
                        "'x.query.csv': fit also needs x.nodes.* (and no parameter query); give "
                        "all files of a job, from one folder");
    assert_string_equal(job.parts[0].path, "x.query.csv");
    job_input_free(&job);
    assert_int_equal(give_up("", &job), STATUS_OK);
}

TEST_BETWEEN(second_file_for_a_part_is_refused_and_harms_nothing, open_parts, close_parts)
{
    struct job_input job;
    bool complete;
    assert_false(add("x.dem.tif", "x", 0, &job));
    assert_int_equal(add_open("x.dem.asc", "x", 0, -1, &job, &complete), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "x.dem.tif"));
    assert_string_equal(job.parts[0].path, "x.dem.asc");
    job_input_free(&job);
    assert_true(add("x.source.asc", "x", 1, &job));
    assert_string_equal(job.parts[0].path, "x.dem.tif");
    job_input_free(&job);
}

TEST_BETWEEN(files_of_archives_do_not_use_up_the_descriptors, open_parts, close_parts)
{
    struct job_input job;
    bool complete;
    char path[64], stem[32];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i <= PARTS_MAX_OPEN; i++) {
        snprintf(path, sizeof(path), "all.zip/%d.dem.tif", i);
        snprintf(stem, sizeof(stem), "%d", i);
        enum status code = add_open(path, stem, 0, dup(ends[0]), &job, &complete);
        assert_int_equal(code, i < PARTS_MAX_OPEN ? STATUS_OK : STATUS_BAD_INPUT);
        assert_false(complete);
        job_input_free(&job);
    }
    for (int i = 0; i < PARTS_MAX_OPEN; i++) { /* each makes room for another */
        snprintf(path, sizeof(path), "all.zip/%d.source.tif", i);
        snprintf(stem, sizeof(stem), "%d", i);
        assert_int_equal(add_open(path, stem, 1, dup(ends[0]), &job, &complete), STATUS_OK);
        assert_true(complete);
        struct stat st;
        assert_int_equal(fstat(job.parts[0].fd, &st), 0);
        job_input_free(&job);
    }
    assert_int_equal(add_open("all.zip/y.dem.tif", "y", 0, dup(ends[0]), &job, &complete),
                     STATUS_OK);
    close(ends[0]);
    close(ends[1]);
}

TEST_BETWEEN(file_that_is_refused_leaves_no_job_behind, open_parts, close_parts)
{
    struct job_input job;
    bool complete;
    char path[32];
    size_t n_waiting = 0;
    for (int i = 0; i <= PARTS_MAX_OPEN; i++) {
        snprintf(path, sizeof(path), "a/%d.dem.tif", i);
        const enum status code =
            add_open(path, path, 0, open("/dev/null", O_RDONLY), &job, &complete);
        assert_int_equal(code, i < PARTS_MAX_OPEN ? STATUS_OK : STATUS_BAD_INPUT);
    }
    job_input_free(&job);
    for (; give_up("", &job) == STATUS_BAD_INPUT; n_waiting++) {
        assert_non_null(job.parts[0].path);
        job_input_free(&job);
    }
    assert_int_equal(n_waiting, PARTS_MAX_OPEN);
}

TEST_BETWEEN(projection_joins_its_grid_whichever_comes_first, open_parts, close_parts)
{
    struct job_input job;
    for (int before = 0; before < 2; before++) {
        if (before) {
            project("z/x.dem.prj", "UTM");
        }
        assert_false(add("z/x.dem.asc", "x", 0, &job));
        if (!before) {
            project("z/x.dem.prj", "UTM");
        }
        assert_true(add("z/x.source.asc", "x", 1, &job));
        assert_string_equal(job.parts[0].prj, "UTM");
        assert_null(job.parts[1].prj);
        job_input_free(&job);
    }
    project("z/lone.dem.prj", "UTM");
    project("z/other.prj", "UTM");
    assert_int_equal(give_up("z", &job), STATUS_OK); /* no job: only a warning */
}

TEST_BETWEEN(grid_waits_for_the_projection_that_is_going_to_come, open_parts, close_parts)
{
    struct job_input job;
    bool complete;
    struct job_settings of = {.stage = &pair, .n_parts = 2, .stem = (char *)"x"};
    parts_expect(parts, "t.tar/x.dem.prj");
    assert_false(add("t.tar/x.dem.asc", "x", 0, &job));
    assert_false(parts_would_complete(parts, "t.tar/x.source.asc", &of));
    parts_expect(parts, "t.tar/x.prj");
    assert_false(add("t.tar/x.source.asc", "x", 1, &job));
    project("t.tar/x.prj", "UTM");
    assert_true(project_to("t.tar/x.dem.prj", "New York", &job));
    assert_string_equal(job.parts[0].prj, "New York");
    assert_string_equal(job.parts[1].prj, "UTM");
    job_input_free(&job);
    /* It does not come after all: the job is without it. */
    parts_expect(parts, "t.tar/y.dem.prj");
    assert_false(add("t.tar/y.dem.asc", "y", 0, &job));
    assert_false(add("t.tar/y.source.asc", "y", 1, &job));
    assert_int_equal(parts_give_up(parts, "t.tar", &job, &complete), STATUS_OK);
    assert_true(complete);
    assert_int_equal(job.n_parts, 2);
    assert_null(job.parts[0].prj);
    job_input_free(&job);
    of.stem = (char *)"z";
    assert_false(parts_would_complete(parts, "t.tar/z.source.asc", &of));
    assert_false(add("t.tar/z.dem.asc", "z", 0, &job));
    assert_true(parts_would_complete(parts, "t.tar/z.source.asc", &of));
    assert_int_equal(give_up("", &job), STATUS_BAD_INPUT);
    job_input_free(&job);
}

TEST_BETWEEN(projection_has_the_names_that_it_may_have_in_a_folder, open_parts, close_parts)
{
    static const struct {
        const char *prj[2]; /* each with its own name as text */
        const char *dem, *source, *of_dem, *of_source;
    } cases[] = {
        {{"z/x.prj"}, "z/x.dem.asc", "z/x.source.asc.gz", "z/x.prj", "z/x.prj"},
        {{"./z/x.PRJ"}, "z//x.dem.asc", "z/x.source.tif", "./z/x.PRJ", NULL},
        {{"z/x.Prj", "z/x.SOURCE.PRJ"},
         "z/x.DEM.ASC",
         "z/x.SOURCE.ASC",
         "z/x.Prj",
         "z/x.SOURCE.PRJ"},
        {{"z/x.dem.prj", "z/x.prj"}, "z/x.dem.asc", "z/x.source.asc", "z/x.dem.prj", "z/x.prj"},
        {{"z/x.dem.PRJ", "z/x.dem.prj"}, "z/x.dem.asc", "z/x.source.asc", "z/x.dem.prj", NULL},
        {{"x.prj", "z/X.prj"}, "z/x.dem.asc", "z/x.source.asc", NULL, NULL},
        {{"z/x.prj"}, "z/x.dem.tif", "z/x.source.tif", NULL, NULL},
    };
    struct job_input job;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t k = 0; k < 2 && cases[i].prj[k] != NULL; k++) {
            project(cases[i].prj[k], cases[i].prj[k]);
        }
        assert_false(add(cases[i].dem, "x", 0, &job));
        assert_true(add(cases[i].source, "x", 1, &job));
        const char *const expected[] = {cases[i].of_dem, cases[i].of_source};
        for (size_t k = 0; k < 2; k++) {
            const char *prj = job.parts[k].prj;
            if (expected[k] == NULL ? prj != NULL : prj == NULL || strcmp(prj, expected[k]) != 0) {
                fail_msg("case %zu, part %zu: '%s' is taken", i, k, prj != NULL ? prj : "nothing");
            }
        }
        job_input_free(&job);
        assert_int_equal(give_up("", &job), STATUS_OK);
    }
}

TEST_BETWEEN(projection_given_twice_is_the_last_and_that_of_half_a_job_goes_with_it, open_parts,
             close_parts)
{
    struct job_input job;
    project("x.prj", "old");
    project("x.prj", "new");
    assert_false(add("x.source.asc", "x", 1, &job));
    assert_int_equal(give_up("", &job), STATUS_BAD_INPUT);
    assert_string_equal(job.parts[0].prj, "new");
    job_input_free(&job);
    assert_false(add("x.source.asc", "x", 1, &job));
    assert_true(add("x.dem.asc", "x", 0, &job));
    assert_null(job.parts[0].prj);
    job_input_free(&job);
}

TEST_BETWEEN(projections_of_archives_do_not_use_up_the_memory, open_parts, close_parts)
{
    struct job_input job;
    char path[64], stem[32];
    for (int i = 0; i <= PARTS_MAX_OPEN; i++) {
        snprintf(path, sizeof(path), "all.zip/%d.prj", i);
        project(path, "UTM");
    }
    for (int i = 0; i <= PARTS_MAX_OPEN; i += PARTS_MAX_OPEN) {
        snprintf(stem, sizeof(stem), "%d", i);
        snprintf(path, sizeof(path), "all.zip/%d.dem.asc", i);
        assert_false(add(path, stem, 0, &job));
        snprintf(path, sizeof(path), "all.zip/%d.source.tif", i);
        assert_true(add(path, stem, 1, &job));
        assert_int_equal(job.parts[0].prj != NULL, i < PARTS_MAX_OPEN); /* one is too many */
        job_input_free(&job);
    }
    project("all.zip/x.prj", "UTM"); /* one was taken: there is room */
    assert_false(add("all.zip/x.dem.asc", "x", 0, &job));
    assert_true(add("all.zip/x.source.asc", "x", 1, &job));
    assert_string_equal(job.parts[1].prj, "UTM");
    job_input_free(&job);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
