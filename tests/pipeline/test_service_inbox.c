/*
 * The files in in/: which jobs they make up, what they wait for, and what becomes of them.
 */
#include "pipeline/service/service_inbox.h"
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_routes.h"
#include "tests/support/settings_given.h"

static struct settings settings;
static struct service_inbox *inbox;
static uint64_t now = 1000, found_ms;

/* Grids wait for no .prj, unless the options say for how long. */
static void open_inbox(const char *options)
{
    char line[256];
    snprintf(line, sizeof(line), "watch --spool /nowhere --settle 0 %s", options);
    settings = must_parse(line);
    inbox = service_inbox_new(&settings);
}

static void close_inbox(void)
{
    service_inbox_free(inbox);
    settings_free(&settings);
}

/* The watcher has found these, NULL at the end; `complete`: and nothing else. */
static void found(bool complete, const char *const paths[])
{
    struct watcher_file files[8];
    struct watcher_findings findings = {.files = files, .complete = complete};
    for (; paths[findings.n_files] != NULL; findings.n_files++) {
        const char *path = paths[findings.n_files];
        files[findings.n_files] = (struct watcher_file){
            .path = strdup(path),
            .st = {.st_ino = strlen(path),
                   .st_ctim = {(time_t)(now / 1000), (long)(now % 1000) * 1000000}}};
    }
    service_inbox_found(inbox, &findings, now);
    for (size_t i = 0; i < findings.n_files; i++) {
        free(files[i].path);
    }
}

#define FOUND(...)        found(false, (const char *const[]){__VA_ARGS__, NULL})
#define ALL_THERE_IS(...) found(true, (const char *const[]){__VA_ARGS__, NULL})

/* Everything that is due is looked at; all have the same answer. */
static size_t look(enum ready_state state, const char *reason)
{
    struct service_look looks[8];
    size_t n = service_inbox_due(inbox, now, looks, 8);
    for (size_t i = 0; i < n; i++) {
        looks[i].answer = (struct ready_answer){
            .state = state,
            .again_ms = 500,
            .st = {.st_ino = strlen(looks[i].path),
                   .st_ctim = {(time_t)(now / 1000), (long)(now % 1000) * 1000000}}};
        snprintf(looks[i].answer.reason, sizeof(looks[i].answer.reason), "%s", reason);
    }
    service_inbox_looked(inbox, looks, n, now);
    return n;
}

/* The reason why a path waits; "" when it does not. Valid until the next call. */
static const char *reason(const char *path)
{
    static char text[512];
    json_t *list = json_array(), *entry;
    size_t i;
    text[0] = '\0';
    service_inbox_list(inbox, 0, 100, list);
    json_array_foreach(list, i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "path")), path) == 0) {
            snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(entry, "reason")));
        }
    }
    json_decref(list);
    return text;
}

static void assert_waits(const char *path, const char *why)
{
    if (strstr(reason(path), why) == NULL) {
        fail_msg("'%s' waits because it '%s', not '%s'", path, reason(path), why);
    }
}

/* The next ready job has exactly these files; claimed or not. */
static void take(const char *folder, const char *stem, const char *names, bool claimed)
{
    char all[256] = "";
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_string_equal(job->folder, folder);
    assert_string_equal(job->stem, stem);
    for (size_t i = 0; i < job->n_files; i++) {
        strcat(strcat(all, i > 0 ? " " : ""), job->files[i].name);
    }
    assert_string_equal(all, names);
    if (claimed) {
        strcpy(job->id, "20261121-030441-123456");
    }
    job->outcome = claimed ? SPOOL_OK : SPOOL_GONE;
    service_inbox_settle(inbox, job, now);
    spool_job_free(job);
}

static void file_that_is_complete_is_a_job_and_then_forgotten(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("sub/a.clusters.csv");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_int_equal(look(READY_YES, ""), 1);
    take("sub", "a", "a.clusters.csv", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    assert_null(service_inbox_take(inbox, now, &found_ms));
    close_inbox();
}

static void file_still_written_is_looked_at_again_in_time(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("a.clusters.csv");
    assert_int_equal(look(READY_LATER, "is open for writing"), 1);
    assert_waits("in/a.clusters.csv", "open for writing");
    assert_int_equal(look(READY_YES, ""), 0);
    assert_int_equal(service_inbox_next_due(inbox), now + 500);
    now += 500;
    assert_int_equal(look(READY_YES, ""), 1);
    assert_int_equal(service_inbox_next_due(inbox), UINT64_MAX);
    take("", "a", "a.clusters.csv", true);
    close_inbox();
}

static void file_that_changes_after_it_was_complete_is_looked_at_again(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("a.clusters.csv");
    look(READY_YES, "");
    FOUND("a.clusters.csv");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_int_equal(look(READY_YES, ""), 1);
    take("", "a", "a.clusters.csv", true);
    close_inbox();
}

static void hint_that_comes_while_a_file_is_looked_at_counts(void **state)
{
    (void)state;
    struct service_look looks[2];
    open_inbox("");
    FOUND("a.clusters.csv");
    assert_int_equal(service_inbox_due(inbox, now, looks, 2), 1);
    FOUND("a.clusters.csv");
    looks[0].answer = (struct ready_answer){.state = READY_YES};
    service_inbox_looked(inbox, looks, 1, now);
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_int_equal(look(READY_YES, ""), 1);
    take("", "a", "a.clusters.csv", true);
    close_inbox();
}

static void parts_wait_for_each_other_in_any_order(void **state)
{
    (void)state;
    const char *const parts[] = {"s/dem1.dem.asc", "s/dem1.source.tif"};
    for (size_t first = 0; first < 2; first++) {
        open_inbox("");
        FOUND(parts[first]);
        look(READY_YES, "");
        char path[64];
        snprintf(path, sizeof(path), "in/%s", parts[first]);
        assert_waits(path, first == 0 ? "waits for dem1.source.*" : "waits for dem1.dem.*");
        now += 7;
        FOUND("dem1.dem.asc", "dem1.source.asc"); /* of another folder */
        FOUND(parts[1 - first]);
        look(READY_LATER, "is open for writing");
        assert_null(service_inbox_take(inbox, now, &found_ms));
        now += 1000;
        assert_int_equal(look(READY_YES, ""), 3);
        assert_string_equal(reason(path), "is complete and waits for its turn");
        struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
        assert_int_equal(job->n_files, 2);
        assert_int_equal(found_ms, now - 1000); /* the last file's, whichever that is */
        assert_non_null(strstr(job->files[0].name, ".dem."));
        spool_job_free(job);
        assert_non_null(job = service_inbox_take(inbox, now, &found_ms));
        assert_int_equal(found_ms, now - 1000);
        spool_job_free(job);
        assert_null(service_inbox_take(inbox, now, &found_ms));
        close_inbox();
    }
}

static void part_named_twice_finds_the_other_part_of_its_job(void **state)
{
    (void)state;
    static const char *const stems[] = {"x.dem", "x.source", "x.dem.2026"};
    for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
        char dem[40], source[40], both[80];
        snprintf(dem, sizeof(dem), "%s.dem.asc", stems[i]);
        snprintf(source, sizeof(source), "%s.source.asc", stems[i]);
        snprintf(both, sizeof(both), "%s %s", dem, source);
        open_inbox("");
        FOUND(dem, source);
        look(READY_YES, "");
        take("", stems[i], both, true);
        close_inbox();
    }
}

static void second_file_for_a_part_waits_until_the_first_has_gone(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("x.dem.asc");
    FOUND("x.dem.tif", "x.source.asc");
    look(READY_YES, "");
    assert_waits("in/x.dem.tif", "its job has 'x.dem.asc' as dem already");
    take("", "x", "x.dem.asc x.source.asc", true);
    look(READY_YES, "");
    assert_waits("in/x.dem.tif", "waits for x.source.*");
    close_inbox();
}

static void files_for_one_part_take_its_place_one_after_the_other(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("x.dem.asc");
    FOUND("x.dem.tif", "x.dem.asc.gz", "x.source.asc");
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    look(READY_YES, "");
    assert_waits("in/x.dem.tif", "waits for x.source.*");
    assert_waits("in/x.dem.asc.gz", "its job has 'x.dem.tif' as dem already");
    ALL_THERE_IS("x.dem.asc.gz");
    look(READY_YES, "");
    assert_waits("in/x.dem.asc.gz", "waits for x.source.*");
    FOUND("x.dem.tif");
    ALL_THERE_IS("x.dem.asc.gz", "x.source.asc");
    look(READY_YES, "");
    take("", "x", "x.dem.asc.gz x.source.asc", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    close_inbox();
}

static void projection_goes_along_and_is_waited_for_when_there(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("x.dem.prj");
    look(READY_YES, "");
    assert_waits("in/x.dem.prj", "not there");
    FOUND("x.dem.asc.gz", "x.source.asc");
    look(READY_YES, "");
    take("", "x", "x.dem.asc.gz x.source.asc x.dem.prj", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_YES, "");
    FOUND("x.dem.prj");
    look(READY_LATER, "is open for writing");
    FOUND("x.dem.asc");
    look(READY_YES, "");
    assert_waits("in/x.dem.asc", "waits for x.dem.prj");
    now += 1000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.prj", true);
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_YES, "");
    FOUND("x.dem.prj"); /* the job was ready without it */
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_waits("in/x.dem.asc", "waits for x.dem.prj");
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.prj", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    close_inbox();
}

static void projection_has_the_names_that_it_may_have_in_a_folder(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("X.DEM.ASC", "X.SOURCE.ASC"); /* one for both, which comes last and is waited for */
    FOUND("X.PRJ");
    look(READY_LATER, "is open for writing");
    now += 1000;
    FOUND("X.DEM.ASC", "X.SOURCE.ASC");
    look(READY_YES, "");
    take("", "X", "X.DEM.ASC X.SOURCE.ASC X.PRJ", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    FOUND("s/X.DEM.asc", "s/X.source.tif", "s/X.DEM.Prj", "s/X.prj", "X.prj"); /* the part's own */
    look(READY_YES, "");
    assert_waits("in/s/X.prj", "waits for X.DEM.asc");
    take("s", "X", "X.DEM.asc X.source.tif X.DEM.Prj X.prj", true); /* both are of its drop */
    assert_int_equal(service_inbox_count(inbox), 1);
    close_inbox();
}

static struct service_late late[8];

/* How many files lie beside nothing, and are due. */
static size_t n_late(void)
{
    return service_inbox_late(inbox, now, late, 8);
}

static bool is_taken(const void *taker, const char *path)
{
    return strcmp(taker, path) == 0;
}

static void grid_without_a_projection_waits_for_one_for_settle(void **state)
{
    (void)state;
    open_inbox("--settle 2");
    FOUND("x.dem.asc", "x.source.tif", "y.dem.tif", "y.source.tif");
    look(READY_YES, "");
    take("", "y", "y.dem.tif y.source.tif", true); /* says in itself where it lies */
    assert_waits("in/x.dem.asc", "waits 2 s for a .prj beside x.dem.asc");
    assert_waits("in/x.source.tif", "waits 2 s for a .prj beside x.dem.asc");
    assert_int_equal(service_inbox_next_due(inbox), now + 2000);
    now += 1999;
    FOUND("x.dem.prj");
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.tif x.dem.prj", true);
    FOUND("z.dem.asc", "z.source.tif");
    look(READY_YES, "");
    now += 1000;
    FOUND("z.source.tif"); /* changes, and the grid's wait is over nevertheless */
    look(READY_YES, "");
    now += 1000;
    look(READY_YES, "");
    take("", "z", "z.dem.asc z.source.tif", true);
    close_inbox();
}

static void projection_is_never_of_another_drop(void **state)
{
    (void)state;
    open_inbox("--settle 2");
    FOUND("x.prj"); /* long before its grid */
    look(READY_YES, "");
    now += 2001;
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_YES, "");
    assert_waits("in/x.prj", "stays as long as x.dem.asc");
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    assert_int_equal(n_late(), 1);
    service_inbox_take_late(inbox, "x.prj", "x.prj");
    service_inbox_settle_late(inbox, "x.prj", is_taken, now);
    assert_int_equal(service_inbox_count(inbox), 0);
    FOUND("x.dem.prj"); /* late for that job, and not of the next */
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_YES, "");
    assert_int_equal(n_late(), 1);
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    now += 10001; /* not any more */
    FOUND("x.dem.prj");
    look(READY_YES, "");
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_YES, "");
    now += 2000; /* for the other's */
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.prj", true);
    close_inbox();
}

/* Somebody moves a folder that was made long ago; and, at the start, ages tell drops apart. */
static void files_of_a_folder_that_is_moved_in_are_one_drop(void **state)
{
    (void)state;
    open_inbox("--settle 2");
    const struct timespec came = {13, 0};
    struct watcher_file files[] = {
        {.path = strdup("d/x.dem.prj"), .st.st_ctim.tv_sec = 1, .folder_came = came},
        {.path = strdup("d/x.dem.asc"), .st.st_ctim.tv_sec = 9, .folder_came = came},
        {.path = strdup("d/x.source.asc"), .st.st_ctim.tv_sec = 12, .folder_came = came}};
    struct watcher_findings findings = {.files = files, .n_files = 3};
    service_inbox_found(inbox, &findings, now);
    look(READY_YES, "");
    take("d", "x", "x.dem.asc x.source.asc x.dem.prj", true);
    assert_int_equal(n_late(), 0);
    close_inbox();
}

/* It is of the drop before, or of this one: nobody knows, and a grid without one says so. */
static void projection_that_may_be_of_either_drop_is_of_none(void **state)
{
    (void)state;
    open_inbox("--settle 2");
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_YES, "");
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    FOUND("x.dem.asc", "x.source.asc");
    now += 100;
    FOUND("x.prj");
    look(READY_YES, "");
    assert_int_equal(n_late(), 1);
    assert_true(late[0].is_doubtful);
    service_inbox_take_late(inbox, "x.prj", "x.prj");
    service_inbox_settle_late(inbox, "x.prj", is_taken, now);
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    FOUND("x.dem.asc", "x.source.asc", "x.prj"); /* as many as grids have come: this one's */
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.prj", true);
    close_inbox();
}

static void grid_waits_for_no_projection_but_that_of_the_first_part(void **state)
{
    (void)state;
    open_inbox("--settle 2");
    FOUND("x.dem.tif", "x.source.asc", "y.dem.asc", "y.dem.prj", "y.source.asc");
    look(READY_YES, "");
    take("", "x", "x.dem.tif x.source.asc", true);
    take("", "y", "y.dem.asc y.source.asc y.dem.prj", true);
    close_inbox();
}

/* Without the one its file would wait for ever, without the other be read as if there were none. */
static void marker_or_mask_long_before_its_file_stays_for_it(void **state)
{
    (void)state;
    open_inbox("--settle 2 --done-file");
    FOUND("a.clusters.csv.done", "x.dem.tif.msk");
    look(READY_YES, "");
    now += 60000;
    assert_int_equal(n_late(), 0);
    assert_waits("in/x.dem.tif.msk", "the file that it belongs to is not there");
    FOUND("a.clusters.csv", "x.dem.tif", "x.source.tif");
    look(READY_YES, "");
    take("", "a", "a.clusters.csv a.clusters.csv.done", true);
    assert_waits("in/x.dem.tif", "x.dem.tif.msk is not read");
    close_inbox();
}

static void what_lies_beside_nothing_is_due_after_settle(void **state)
{
    (void)state;
    open_inbox("--settle 2");
    FOUND("x.dem.qml", "x.clusters.csv.aux.xml", "y.prj", "y.shp");
    look(READY_YES, "");
    assert_waits("in/y.prj", "stays as long as y.shp");
    assert_int_equal(n_late(), 0);
    assert_int_equal(service_inbox_next_late(inbox, now), now + 2000);
    FOUND("x.clusters.csv");
    look(READY_YES, "");
    take("", "x", "x.clusters.csv x.clusters.csv.aux.xml", true);
    now += 2000;
    assert_int_equal(n_late(), 1);
    service_inbox_take_late(inbox, "x.dem.qml", "another"); /* could not be moved */
    service_inbox_settle_late(inbox, "another", is_taken, now);
    assert_waits("in/x.dem.qml", "was not moved");
    assert_int_equal(service_inbox_next_due(inbox), now + 10000);
    close_inbox();
}

static void table_in_a_grids_format_waits_for_no_projection(void **state)
{
    (void)state;
    char options[64];
    write_config("[route all]\nmatch = *.asc*\npipeline = pearson\n");
    snprintf(options, sizeof(options), "-c %s", config_path);
    open_inbox(options);
    FOUND("x.asc", "x.asc.gz", "x.prj");
    look(READY_YES, "");
    assert_waits("in/x.prj", "waits for x.asc");
    take("", "x", "x.asc x.prj", true);
    take("", "x", "x.asc.gz", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    close_inbox();
}

static void marker_is_waited_for_and_goes_along(void **state)
{
    (void)state;
    open_inbox("--done-file");
    FOUND("a.clusters.csv");
    look(READY_YES, "");
    assert_waits("in/a.clusters.csv", "waits for a.clusters.csv.done");
    FOUND("a.clusters.csv.done");
    look(READY_YES, "");
    take("", "a", "a.clusters.csv a.clusters.csv.done", true);
    FOUND("b.clusters.csv.done");
    look(READY_YES, "");
    assert_waits("in/b.clusters.csv.done", "not there");
    close_inbox();
}

static void pair_waits_for_the_one_marker_that_is_missing(void **state)
{
    (void)state;
    open_inbox("--done-file");
    FOUND("x.dem.asc", "x.source.asc", "x.dem.asc.done");
    look(READY_YES, "");
    assert_waits("in/x.source.asc", "waits for x.source.asc.done");
    assert_waits("in/x.dem.asc", "waits for x.source.asc.done");
    FOUND("x.source.asc.done");
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.asc.done x.source.asc.done", true);
    FOUND("y.dem.asc", "y.source.asc", "y.source.asc.done");
    look(READY_YES, "");
    assert_waits("in/y.source.asc", "waits for y.dem.asc.done");
    close_inbox();
}

static void file_that_no_pipeline_takes_stays_and_says_so(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("notes.md");
    assert_int_equal(look(READY_YES, ""), 0);
    assert_waits("in/notes.md", "no pipeline takes it");
    assert_waits("in/notes.md", "it is a document, which leat does not read");
    FOUND("x.parquet", "x.dat", "pearson/x.dat");
    assert_int_equal(look(READY_YES, ""), 0);
    assert_waits("in/x.parquet", "is Parquet, which leat does not read; convert it: python3");
    assert_waits("in/x.dat", "no pipeline takes it: put it into a folder named pearson, or give it "
                             "a name like X.clusters.csv (pearson)");
    assert_waits("in/pearson/x.dat", "no pipeline takes it: give it a name like X.clusters.csv");
    close_inbox();
}

static void format_that_is_not_read_fails_by_its_name_where_a_pipeline_is_asked_for(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"pearson/x.nc", "pearson",
         "in/pearson/x.nc: is NetCDF, which leat does not read; convert "
         "it: python3"},
        {"sub/x.dem.nc", "sub", "convert it: gdal_translate x.dem.nc x.dem.tif"},
        {"sciddicat/x.png", "sciddicat", "no pipeline takes it: it is a picture"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_settings settings_of_it;
        open_inbox("");
        FOUND(cases[i][0]);
        assert_null(service_inbox_take(inbox, now, &found_ms)); /* somebody may still write */
        look(READY_YES, "");
        struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
        assert_non_null(job);
        assert_string_equal(job->folder, cases[i][1]);
        assert_int_equal(job->n_files, 1);
        assert_int_equal(worker_unpack_settings(job->parameters, job->stem, &settings_of_it),
                         STATUS_BAD_INPUT);
        if (strstr(status_message(), cases[i][2]) == NULL) {
            fail_msg("%s: '%s'", cases[i][0], status_message());
        }
        spool_job_free(job);
        close_inbox();
    }
}

static void what_lies_beside_a_format_that_is_not_read_goes_along(void **state)
{
    (void)state;
    open_inbox("--done-file");
    FOUND("pearson/x.parquet", "s.dem.nc", "s.dem.nc.msk", "s.dem.nc.done");
    look(READY_YES, "");
    assert_waits("in/pearson/x.parquet", "waits for x.parquet.done");
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_int_equal(job->n_files, 3);
    assert_string_equal(job->files[0].name, "s.dem.nc");
    spool_job_free(job);
    FOUND("pearson/x.parquet.done");
    look(READY_YES, "");
    job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_int_equal(job->n_files, 2);
    assert_string_equal(job->files[1].name, "x.parquet.done");
    spool_job_free(job);
    close_inbox();
}

/* They would fail one by one, apart from each other. */
static void formats_of_several_files_stay_together(void **state)
{
    static const char *const cases[][2] = {
        {"x.shp", "ogr2ogr -lco GEOMETRY=AS_XY x.csv x.shp"},
        {"x.dbf", "is a shapefile"},
        {"y.csv.001", "cat y.csv.* >y.csv"},
        {"y.csv.003", "cat y.csv.* >y.csv"},
        {"z.dem.flt", "gdal_translate z.dem.flt z.dem.tif"},
    };
    (void)state;
    open_inbox("");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char place[64];
        snprintf(place, sizeof(place), "in/pearson/%s", cases[i][0]);
        FOUND(place + strlen("in/"));
        assert_int_equal(look(READY_YES, ""), 0);
        assert_waits(place, cases[i][1]);
    }
    close_inbox();
}

static void archive_by_its_name_is_one_also_where_that_asks_for_a_pipeline(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("x.clusters.zip");
    look(READY_YES, "");
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_true(worker_is_archive(job->parameters));
    spool_job_free(job);
    close_inbox();
}

static void a_grid_beside_its_mask_stays_until_that_is_gone(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("x.dem.tif", "x.source.tif", "x.dem.tif.msk", "y.dem.tif.msk");
    look(READY_YES, "");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_waits("in/x.dem.tif", "x.dem.tif.msk is not read: write it into the grid as NODATA");
    assert_waits("in/x.source.tif", "x.dem.tif.msk is not read");
    assert_waits("in/y.dem.tif.msk", "the file that it belongs to is not there");
    ALL_THERE_IS("x.dem.tif", "x.source.tif", "y.dem.tif.msk");
    look(READY_YES, "");
    take("", "x", "x.dem.tif x.source.tif", true);
    close_inbox();
}

static void unfinished_and_kept_copies_stay_and_are_listed(void **state)
{
    static const char *const names[] = {"x.clusters.csv.crdownload",
                                        "x.clusters.csv.bak",
                                        "pearson/~$x.csv",
                                        "pearson/#x.csv#",
                                        "x.clusters.csv.1",
                                        "x.zip.old",
                                        "~$x.zip",
                                        "x.clusters.csv:Zone.Identifier"};
    (void)state;
    open_inbox("");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char place[64];
        FOUND(names[i]);
        assert_int_equal(look(READY_YES, ""), 0);
        snprintf(place, sizeof(place), "in/%s", names[i]);
        assert_waits(place, "unfinished or kept copy");
    }
    close_inbox();
}

static void another_configuration_judges_again(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("notes.csv");
    assert_waits("in/notes.csv", "no pipeline takes it");
    struct settings other = must_parse("watch --spool /nowhere -p pearson");
    service_inbox_reroute(inbox, &other, now);
    look(READY_YES, "");
    take("", "notes", "notes.csv", true);
    close_inbox();
    settings_free(&other);
}

static void what_is_no_file_becomes_a_job_of_its_own_after_a_moment(void **state)
{
    (void)state;
    open_inbox("--settle 2");
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_NEVER, "has 2 names");
    assert_waits("in/x.dem.asc", "has 2 names");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    now += 2000;
    struct service_look looks[2];
    assert_int_equal(service_inbox_due(inbox, now, looks, 2), 2);
    looks[0].answer = (struct ready_answer){.state = READY_NEVER};
    looks[1].answer = (struct ready_answer){.state = READY_YES}; /* its second name has gone */
    service_inbox_looked(inbox, looks, 2, now);
    take("", "x", "x.dem.asc", true);
    assert_waits("in/x.source.asc", "waits for x.dem.*");
    close_inbox();
}

static void names_with_line_breaks_are_no_other_job(void **state)
{
    (void)state;
    struct service_look looks[2];
    open_inbox("--settle 2");
    FOUND("x.clusters.csv\n");
    look(READY_LATER, "is open for writing");
    FOUND("x.clusters.csv");
    assert_int_equal(look(READY_NEVER, "is a link"), 1);
    now += 2000;
    assert_int_equal(service_inbox_due(inbox, now, looks, 2), 2);
    for (size_t i = 0; i < 2; i++) {
        const bool is_link = strchr(looks[i].path, '\n') == NULL;
        looks[i].answer =
            (struct ready_answer){.state = is_link ? READY_NEVER : READY_LATER, .again_ms = 500};
    }
    service_inbox_looked(inbox, looks, 2, now);
    take("", "x", "x.clusters.csv", true);
    now += 500;
    assert_int_equal(look(READY_YES, ""), 1);
    take("", "x", "x.clusters.csv\n", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    close_inbox();
}

static void name_that_ends_in_a_pipelines_is_no_job_of_several_files(void **state)
{
    (void)state;
    char options[64];
    write_config("[route grids]\nmatch = *.dem.asc\npipeline = sciddicat\n");
    snprintf(options, sizeof(options), "-c %s", config_path);
    open_inbox(options);
    FOUND("x.clusters.a.dem.asc", "x.clusters.a\nsciddicat");
    look(READY_YES, "");
    assert_waits("in/x.clusters.a.dem.asc", "waits for x.clusters.a.source.*");
    take("", "x", "x.clusters.a\nsciddicat", true);
    assert_int_equal(service_inbox_count(inbox), 1);
    close_inbox();
}

/* In which folder nodes are a job without queries, and what either of the two says there. */
static void parameter_takes_the_place_of_a_part_where_it_is_set(void **state)
{
    static const char alone[] = "waits for x.nodes.* without the parameter query, which takes the "
                                "place of x.query.*";
    static const char in_place[] = "the parameter query ('linspace(0, 1, 5)') takes the place of "
                                   "X.query.*; remove one of them";
    static const char missing[] = "waits for x.query.* or the parameter query";
    static const struct {
        const char *section, *folder, *nodes, *queries; /* nodes: NULL: are a job */
    } cases[] = {
        {"", "a", missing, alone},
        {"[pipeline interpolate]\n", "a", NULL, in_place},
        {"[route lines]\nmatch = in/b/*\n", "a", missing, alone},
        {"[route lines]\nmatch = in/b/*\n", "b", NULL, in_place},
        {"[route lines]\nmatch = *.nodes.*\n", "b", NULL, alone},
        {"[route lines]\nmatch = *.query.*\n", "b", missing, in_place},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        char options[64], text[128], nodes[24], queries[24], path[32];
        const size_t c = i / 2;
        const bool nodes_first = i % 2 == 0;
        snprintf(text, sizeof(text), "%s%s", cases[c].section,
                 *cases[c].section != '\0' ? "query = linspace(0, 1, 5)\n" : "");
        snprintf(options, sizeof(options), "-c %s", config_path);
        snprintf(nodes, sizeof(nodes), "%s/x.nodes.csv", cases[c].folder);
        snprintf(queries, sizeof(queries), "%s/x.query.csv", cases[c].folder);
        write_config(text);
        open_inbox(options);
        for (size_t k = 0; k < 2; k++) {
            const bool are_nodes = (k == 0) == nodes_first;
            const char *why = are_nodes ? cases[c].nodes : cases[c].queries;
            FOUND(are_nodes ? nodes : queries);
            look(READY_YES, "");
            snprintf(path, sizeof(path), "in/%s", are_nodes ? nodes : queries);
            if (k == 1 && cases[c].nodes == missing && cases[c].queries == alone) {
                take(cases[c].folder, "x", "x.nodes.csv x.query.csv", true);
            } else if (why != NULL) {
                assert_waits(path, why);
                assert_null(service_inbox_take(inbox, now, &found_ms));
            } else {
                take(cases[c].folder, "x", "x.nodes.csv", true);
            }
        }
        close_inbox();
    }
}

static void what_has_gone_is_forgotten(void **state)
{
    (void)state;
    open_inbox("");
    ALL_THERE_IS("x.dem.asc", "x.source.asc", "notes.md");
    look(READY_YES, "");
    ALL_THERE_IS("x.source.asc");
    assert_int_equal(service_inbox_count(inbox), 1);
    assert_waits("in/x.source.asc", "waits for x.dem.*");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    FOUND("x.source.asc");
    look(READY_GONE, "");
    assert_int_equal(service_inbox_count(inbox), 0);
    close_inbox();
}

static void claim_that_failed_brings_the_files_back(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("x.dem.asc", "x.source.asc");
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", false);
    assert_int_equal(service_inbox_count(inbox), 2);
    assert_int_equal(look(READY_YES, ""), 2);
    take("", "x", "x.dem.asc x.source.asc", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    close_inbox();
}

static void new_drop_of_a_name_that_is_being_claimed_is_a_new_job(void **state)
{
    (void)state;
    open_inbox("");
    FOUND("a.clusters.csv");
    look(READY_YES, "");
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    FOUND("a.clusters.csv");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    strcpy(job->id, "20261121-030441-123456");
    service_inbox_settle(inbox, job, now);
    spool_job_free(job);
    assert_int_equal(look(READY_YES, ""), 1);
    take("", "a", "a.clusters.csv", true);
    close_inbox();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_that_is_complete_is_a_job_and_then_forgotten),
        cmocka_unit_test(file_still_written_is_looked_at_again_in_time),
        cmocka_unit_test(file_that_changes_after_it_was_complete_is_looked_at_again),
        cmocka_unit_test(hint_that_comes_while_a_file_is_looked_at_counts),
        cmocka_unit_test(parts_wait_for_each_other_in_any_order),
        cmocka_unit_test(part_named_twice_finds_the_other_part_of_its_job),
        cmocka_unit_test(second_file_for_a_part_waits_until_the_first_has_gone),
        cmocka_unit_test(files_for_one_part_take_its_place_one_after_the_other),
        cmocka_unit_test(projection_goes_along_and_is_waited_for_when_there),
        cmocka_unit_test(projection_has_the_names_that_it_may_have_in_a_folder),
        cmocka_unit_test(grid_without_a_projection_waits_for_one_for_settle),
        cmocka_unit_test(projection_is_never_of_another_drop),
        cmocka_unit_test(files_of_a_folder_that_is_moved_in_are_one_drop),
        cmocka_unit_test(projection_that_may_be_of_either_drop_is_of_none),
        cmocka_unit_test(grid_waits_for_no_projection_but_that_of_the_first_part),
        cmocka_unit_test(marker_or_mask_long_before_its_file_stays_for_it),
        cmocka_unit_test(what_lies_beside_nothing_is_due_after_settle),
        cmocka_unit_test(table_in_a_grids_format_waits_for_no_projection),
        cmocka_unit_test(marker_is_waited_for_and_goes_along),
        cmocka_unit_test(pair_waits_for_the_one_marker_that_is_missing),
        cmocka_unit_test(format_that_is_not_read_fails_by_its_name_where_a_pipeline_is_asked_for),
        cmocka_unit_test(what_lies_beside_a_format_that_is_not_read_goes_along),
        cmocka_unit_test(formats_of_several_files_stay_together),
        cmocka_unit_test(archive_by_its_name_is_one_also_where_that_asks_for_a_pipeline),
        cmocka_unit_test(file_that_no_pipeline_takes_stays_and_says_so),
        cmocka_unit_test(a_grid_beside_its_mask_stays_until_that_is_gone),
        cmocka_unit_test(unfinished_and_kept_copies_stay_and_are_listed),
        cmocka_unit_test(another_configuration_judges_again),
        cmocka_unit_test(what_is_no_file_becomes_a_job_of_its_own_after_a_moment),
        cmocka_unit_test(names_with_line_breaks_are_no_other_job),
        cmocka_unit_test(name_that_ends_in_a_pipelines_is_no_job_of_several_files),
        cmocka_unit_test(parameter_takes_the_place_of_a_part_where_it_is_set),
        cmocka_unit_test(what_has_gone_is_forgotten),
        cmocka_unit_test(claim_that_failed_brings_the_files_back),
        cmocka_unit_test(new_drop_of_a_name_that_is_being_claimed_is_a_new_job),
    };
    return cmocka_run_group_tests(tests, make_config, remove_config);
}
