/*
 * What lies beside grids and tables in in/: with which drop of them it goes, and what comes late.
 */
#include "tests/support/inbox_given.h"

static struct service_late late[8];

/* How many files lie beside nothing, and are due. */
static size_t n_late(void)
{
    return service_inbox_late(inbox, now, late, 8);
}

/* The one file that is due goes away; whether it may be of several drops. */
static bool put_away(const char *path)
{
    assert_int_equal(n_late(), 1);
    assert_string_equal(late[0].path, path);
    const bool is_doubtful = late[0].is_doubtful;
    service_inbox_take_late(inbox, path, path);
    service_inbox_settle_late(inbox, path, true, now);
    return is_doubtful;
}

INBOX_TEST(projection_goes_along_and_is_waited_for_when_there)
{
    COMPLETE("x.dem.prj");
    assert_waits("in/x.dem.prj", "not there");
    COMPLETE("x.dem.asc.gz", "x.source.asc");
    take("", "x", "x.dem.asc.gz x.source.asc x.dem.prj", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    COMPLETE("x.dem.asc", "x.source.asc");
    FOUND("x.dem.prj");
    look(READY_LATER, "is open for writing");
    COMPLETE("x.dem.asc");
    assert_waits("in/x.dem.asc", "waits for x.dem.prj");
    now += 1000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.prj", true);
    COMPLETE("x.dem.asc", "x.source.asc");
    FOUND("x.dem.prj"); /* the job was ready without it */
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_waits("in/x.dem.asc", "waits for x.dem.prj");
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.prj", true);
    assert_int_equal(service_inbox_count(inbox), 0);
}

INBOX_TEST(projection_has_the_names_that_it_may_have_in_a_folder)
{
    FOUND("X.DEM.ASC", "X.SOURCE.ASC"); /* one for both, which comes last and is waited for */
    FOUND("X.PRJ");
    look(READY_LATER, "is open for writing");
    now += 1000;
    COMPLETE("X.DEM.ASC", "X.SOURCE.ASC");
    take("", "X", "X.DEM.ASC X.SOURCE.ASC X.PRJ", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    COMPLETE("s/X.DEM.asc", "s/X.source.tif", "s/X.DEM.Prj", "s/X.prj",
             "X.prj"); /* the part's own */
    assert_waits("in/s/X.prj", "waits for X.DEM.asc");
    take("s", "X", "X.DEM.asc X.source.tif X.DEM.Prj X.prj", true); /* both are of its drop */
    assert_int_equal(service_inbox_count(inbox), 1);
}

INBOX_TEST(grid_without_a_projection_waits_for_one_for_settle)
{
    open_inbox("--settle 2");
    COMPLETE("x.dem.asc", "x.source.tif", "y.dem.tif", "y.source.tif");
    take("", "y", "y.dem.tif y.source.tif", true); /* says in itself where it lies */
    assert_waits("in/x.dem.asc", "waits 2 s for a .prj beside x.dem.asc");
    assert_waits("in/x.source.tif", "waits 2 s for a .prj beside x.dem.asc");
    assert_int_equal(service_inbox_next_due(inbox), now + 2000);
    now += 1999;
    COMPLETE("x.dem.prj");
    take("", "x", "x.dem.asc x.source.tif x.dem.prj", true);
    COMPLETE("z.dem.asc", "z.source.tif");
    now += 1000;
    COMPLETE("z.source.tif"); /* changes, and the grid's wait is over nevertheless */
    now += 1000;
    look(READY_YES, "");
    take("", "z", "z.dem.asc z.source.tif", true);
}

INBOX_TEST(projection_is_never_of_another_drop)
{
    open_inbox("--settle 2");
    COMPLETE("x.prj"); /* long before its grid */
    now += 2001;
    COMPLETE("x.dem.asc", "x.source.asc");
    assert_true(put_away("x.prj"));
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    FOUND("x.dem.prj"); /* late for that job, and not of the next */
    COMPLETE("x.dem.asc", "x.source.asc");
    assert_int_equal(n_late(), 0);
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    put_away("x.dem.prj");
    now += 10001; /* not any more */
    COMPLETE("x.dem.prj");
    COMPLETE("x.dem.asc", "x.source.asc");
    now += 2000; /* for the other's */
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.prj", true);
}

/* Somebody moves a folder that was made long ago; and, at the start, ages tell drops apart. */
INBOX_TEST(files_of_a_folder_that_is_moved_in_are_one_drop)
{
    open_inbox("--settle 2");
    const int64_t came = INT64_C(13000000000);
    struct watcher_file files[] = {{.path = strdup("d/x.dem.prj"),
                                    .seen = {.inode = 11, .ctime_ns = 1000000000},
                                    .folder_came_ns = came},
                                   {.path = strdup("d/x.dem.asc"),
                                    .seen = {.inode = 11, .ctime_ns = 9000000000},
                                    .folder_came_ns = came},
                                   {.path = strdup("d/x.source.asc"),
                                    .seen = {.inode = 14, .ctime_ns = 12000000000},
                                    .folder_came_ns = came}};
    struct watcher_findings findings = {.files = files, .n_files = 3};
    service_inbox_found(inbox, &findings, now);
    look(READY_YES, "");
    take("d", "x", "x.dem.asc x.source.asc x.dem.prj", true);
    assert_int_equal(n_late(), 0);
}

/* Nobody has seen the grid that it came for. */
INBOX_TEST(projection_older_than_its_grid_may_be_that_of_one_before)
{
    open_inbox("--settle 2");
    COMPLETE("x.dem.prj");
    now += 10;
    COMPLETE("x.dem.asc", "x.source.asc", "y.dem.tif");
    assert_waits("in/x.dem.asc", "waits 2 s for a .prj beside x.dem.asc");
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc x.dem.prj", true); /* no other came */
}

/* Many programs that carry files set their times last, to those of the originals. */
INBOX_TEST(times_that_are_set_afterwards_make_no_other_drop)
{
    open_inbox("--settle 2");
    written_s = 100;
    COMPLETE("x.dem.asc", "x.source.tif");
    written_s = 50;
    COMPLETE("x.dem.prj");
    COMPLETE("x.dem.asc");
    take("", "x", "x.dem.asc x.source.tif x.dem.prj", true);
    COMPLETE("x.dem.asc", "x.source.tif", "x.dem.prj");
    written_s = 51; /* but these bytes are others */
    COMPLETE("x.dem.asc");
    assert_waits("in/x.dem.prj", "not there");
    written_s = 0;
}

/* It is of the drop before, or of this one: nobody knows, and a grid without one says so. */
INBOX_TEST(projection_that_may_be_of_either_drop_is_of_none)
{
    open_inbox("--settle 2");
    COMPLETE("x.dem.asc", "x.source.asc");
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    FOUND("x.dem.asc", "x.source.asc");
    now += 100;
    COMPLETE("x.prj");
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    assert_true(put_away("x.prj"));
    COMPLETE("x.dem.asc", "x.source.asc",
             "x.prj"); /* it may be the second's, if the first was not */
    now += 10000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    assert_true(put_away("x.prj"));
    now += 10001; /* nothing of theirs comes any more */
    COMPLETE("x.dem.asc", "x.source.asc", "x.prj");
    take("", "x", "x.dem.asc x.source.asc x.prj", true);
}

/* The first may be that of the drop before, or of this one; so the second may be of this or the
 * next. */
INBOX_TEST(projection_after_one_that_may_be_of_either_drop_is_of_none_either)
{
    open_inbox("--settle 2");
    COMPLETE("x.dem.asc", "x.source.asc");
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    COMPLETE("x.dem.asc", "x.source.asc", "x.prj");
    written_s = 1;
    COMPLETE("x.prj");
    written_s = 0;
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
    assert_true(put_away("x.prj"));
}

/* What is due is another file than was found. */
static void look_at_another(const struct ready_seen *seen)
{
    struct service_look looks[2];
    assert_int_equal(service_inbox_due(inbox, now, looks, 2), 1);
    looks[0].answer = (struct ready_answer){.state = READY_YES, .seen = *seen};
    service_inbox_looked(inbox, looks, 1, now);
}

/* The grid has come before it, and is found after it was seen. */
INBOX_TEST(another_projection_is_none_before_it_is_found)
{
    const struct ready_seen seen = {.inode = 77, .ctime_ns = (int64_t)now * 1000000};
    struct watcher_file file = {.path = strdup("x.prj"), .seen = seen};
    struct watcher_findings findings = {.files = &file, .n_files = 1};
    open_inbox("--settle 2");
    FOUND("x.prj");
    look_at_another(&seen);
    COMPLETE("x.dem.asc", "x.source.asc");
    service_inbox_found(inbox, &findings, now);
    free(file.path);
    look_at_another(&seen);
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
}

/* Its grid lay there for long, and has been taken only now, when a file of another name comes. */
INBOX_TEST(projection_that_comes_late_for_a_grid_that_waited_long_is_not_of_the_next)
{
    open_inbox("--settle 2");
    COMPLETE("x.dem.asc");
    now += 9999;
    COMPLETE("x.source.asc");
    take("", "x", "x.dem.asc x.source.asc", true);
    now += 2;
    COMPLETE("y.dem.asc", "x.prj");
    COMPLETE("x.dem.asc", "x.source.asc");
    now += 2000;
    look(READY_YES, "");
    take("", "x", "x.dem.asc x.source.asc", true);
}

INBOX_TEST(grid_waits_for_no_projection_but_that_of_the_first_part)
{
    open_inbox("--settle 2");
    COMPLETE("x.dem.tif", "x.source.asc", "y.dem.asc", "y.dem.prj", "y.source.asc");
    take("", "x", "x.dem.tif x.source.asc", true);
    take("", "y", "y.dem.asc y.source.asc y.dem.prj", true);
}

/* Without the one its file would wait for ever, without the other be read as if there were none. */
INBOX_TEST(marker_or_mask_long_before_its_file_stays_for_it)
{
    open_inbox("--settle 2 --done-file");
    COMPLETE("a.clusters.csv.done", "x.dem.tif.msk");
    now += 60000;
    assert_int_equal(n_late(), 0);
    assert_waits("in/x.dem.tif.msk", "the file that it belongs to is not there");
    COMPLETE("a.clusters.csv", "x.dem.tif", "x.source.tif");
    take("", "a", "a.clusters.csv a.clusters.csv.done", true);
    assert_waits("in/x.dem.tif", "x.dem.tif.msk is not read");
}

INBOX_TEST(what_lies_beside_nothing_is_due_after_settle)
{
    open_inbox("--settle 2");
    COMPLETE("x.dem.qml", "x.clusters.csv.aux.xml", "y.prj", "y.shp");
    assert_waits("in/y.prj", "stays as long as y.shp");
    assert_int_equal(n_late(), 0);
    assert_int_equal(service_inbox_next_late(inbox, now), now + 2000);
    COMPLETE("x.clusters.csv");
    take("", "x", "x.clusters.csv x.clusters.csv.aux.xml", true);
    now += 2000;
    assert_int_equal(n_late(), 1);
    service_inbox_take_late(inbox, "x.dem.qml", "another"); /* could not be moved */
    service_inbox_settle_late(inbox, "another", false, now);
    assert_waits("in/x.dem.qml", "was not moved");
    assert_int_equal(service_inbox_next_due(inbox), now + 10000);
}

INBOX_TEST(table_in_a_grids_format_waits_for_no_projection)
{
    char options[64];
    write_config("[route all]\nmatch = *.asc*\npipeline = pearson\n");
    snprintf(options, sizeof(options), "-c %s", config_path);
    open_inbox(options);
    COMPLETE("x.asc", "x.asc.gz", "x.prj");
    assert_waits("in/x.prj", "waits for x.asc");
    take("", "x", "x.asc x.prj", true);
    take("", "x", "x.asc.gz", true);
    assert_int_equal(service_inbox_count(inbox), 0);
}

INBOX_TEST(marker_is_waited_for_and_goes_along)
{
    open_inbox("--done-file");
    COMPLETE("a.clusters.csv");
    assert_waits("in/a.clusters.csv", "waits for a.clusters.csv.done");
    COMPLETE("a.clusters.csv.done");
    take("", "a", "a.clusters.csv a.clusters.csv.done", true);
    COMPLETE("b.clusters.csv.done");
    assert_waits("in/b.clusters.csv.done", "not there");
}

INBOX_TEST(pair_waits_for_the_one_marker_that_is_missing)
{
    open_inbox("--done-file");
    COMPLETE("x.dem.asc", "x.source.asc", "x.dem.asc.done");
    assert_waits("in/x.source.asc", "waits for x.source.asc.done");
    assert_waits("in/x.dem.asc", "waits for x.source.asc.done");
    COMPLETE("x.source.asc.done");
    take("", "x", "x.dem.asc x.source.asc x.dem.asc.done x.source.asc.done", true);
    COMPLETE("y.dem.asc", "y.source.asc", "y.source.asc.done");
    assert_waits("in/y.source.asc", "waits for y.dem.asc.done");
}

/* --- two drops of one name, at random --------------------------------------------------------- */

enum { DEM, SOURCE, PRJ, SLOTS };
static const char *const names[SLOTS] = {"x.dem.asc", "x.source.asc", "x.dem.prj"};
static unsigned disk[SLOTS]; /* of which drop the file in in/ is; 0: it is not there */
static size_t n_jobs, n_own, n_mixed;
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

static size_t slot_of(const char *name)
{
    size_t slot = 0;
    while (strcmp(names[slot], name) != 0) {
        slot++;
    }
    return slot;
}

static void tell(size_t slot, bool complete)
{
    struct watcher_file files[SLOTS];
    struct watcher_findings findings = {.files = files, .complete = complete};
    for (size_t i = 0; i < SLOTS; i++) {
        if (disk[i] != 0 && (complete || i == slot)) {
            files[findings.n_files++] =
                (struct watcher_file){.path = strdup(names[i]), .seen.inode = disk[i]};
        }
    }
    service_inbox_found(inbox, &findings, now);
    for (size_t i = 0; i < findings.n_files; i++) {
        free(files[i].path);
    }
}

static void look_at_disk(void)
{
    struct service_look looks[SLOTS];
    const size_t n = service_inbox_due(inbox, now, looks, SLOTS);
    for (size_t i = 0; i < n; i++) {
        const unsigned drop = disk[slot_of(looks[i].path)];
        looks[i].answer =
            (struct ready_answer){.state = drop != 0 ? READY_YES : READY_GONE, .seen.inode = drop};
    }
    service_inbox_looked(inbox, looks, n, now);
}

/* As a spool does: not if a file is another now. */
static void claim(struct spool_job *job)
{
    unsigned of[SLOTS] = {0};
    bool is_mixed = false;
    for (size_t i = 0; i < job->n_files; i++) {
        const size_t slot = slot_of(job->files[i].name);
        of[slot] = disk[slot];
        is_mixed = is_mixed || disk[slot] == 0 || disk[slot] != job->files[i].inode;
    }
    job->outcome = is_mixed ? SPOOL_GONE : SPOOL_OK;
    if (!is_mixed) {
        strcpy(job->id, "20261121-030441-123456");
        for (size_t i = 0; i < job->n_files; i++) {
            disk[slot_of(job->files[i].name)] = 0;
        }
        n_jobs++;
        n_own += of[PRJ] == of[DEM];
        n_mixed += of[DEM] != of[SOURCE] || (of[PRJ] != 0 && of[PRJ] != of[DEM]);
    }
    service_inbox_settle(inbox, job, now);
    spool_job_free(job);
}

/* The service is at work for so long; what it does takes a while. */
static void go_on(uint32_t ms)
{
    static struct spool_job *job;
    for (const uint64_t end = now + ms; now < end || job != NULL; now += 10) {
        if (draw(2) == 0) {
            look_at_disk();
        }
        if (job != NULL && draw(3) == 0) {
            claim(job);
            job = NULL;
        } else if (job == NULL && now < end) {
            job = service_inbox_take(inbox, now, &found_ms);
        }
        if (n_late() > 0) {
            disk[slot_of(late[0].path)] = 0;
            (void)put_away(late[0].path);
        }
    }
}

/* A writer keeps to one order, and one drop comes after the other; a .prj may be left out, or come
 * later than settle, where it does not come first. The service may be down while the parts come;
 * between these, that would take away what tells a drop from the one before. */
static void drop_at_random(void)
{
    static const size_t orders[][SLOTS] = {
        {DEM, SOURCE, PRJ}, {DEM, PRJ, SOURCE}, {PRJ, DEM, SOURCE}};
    const uint32_t order = draw(3), most_ms = order == 0 && draw(4) == 0 ? 3000 : 500;
    memset(disk, 0, sizeof(disk));
    open_inbox("--settle 2");
    tell(0, true);
    for (unsigned drop = 1; drop <= 3; drop++) {
        const bool is_down = order == 0 && most_ms < 1000 && draw(4) == 0;
        const bool has_prj = order == 2 || is_down || draw(8) != 0;
        if (is_down) {
            close_inbox();
        }
        for (size_t i = 0; i < SLOTS; i++) {
            const size_t slot = orders[order][i];
            if (is_down && slot == PRJ) {
                open_inbox("--settle 2");
                tell(0, true);
            }
            if (!is_down || slot == PRJ) {
                go_on(draw(slot == PRJ ? most_ms : 500));
            }
            if (slot != PRJ || has_prj) {
                disk[slot] = drop;
            }
            if (!is_down || slot == PRJ) {
                tell(slot, false);
            }
        }
        go_on(draw(draw(2) == 0 ? 100 : 4000));
    }
    go_on(20000);
}

INBOX_TEST(drops_of_one_name_share_no_file)
{
    for (seed = 1; n_jobs < 5000;) {
        drop_at_random();
    }
    print_message("%zu jobs, %zu with their .prj, %zu of two drops\n", n_jobs, n_own, n_mixed);
    assert_int_equal(n_mixed, 0);
    assert_true(n_own > n_jobs / 2);
}

int main(void)
{
    return unit_run(make_config, remove_config);
}
