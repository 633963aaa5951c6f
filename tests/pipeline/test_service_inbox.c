/*
 * The files in in/: which jobs they make up, what they wait for, and what becomes of them.
 */
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_routes.h"
#include "tests/support/inbox_given.h"

INBOX_TEST(file_that_is_complete_is_a_job_and_then_forgotten)
{
    FOUND("sub/a.clusters.csv");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_int_equal(look(READY_YES, ""), 1);
    take("sub", "a", "a.clusters.csv", true);
    assert_int_equal(service_inbox_count(inbox), 0);
    assert_null(service_inbox_take(inbox, now, &found_ms));
}

INBOX_TEST(file_still_written_is_looked_at_again_in_time)
{
    FOUND("a.clusters.csv");
    assert_int_equal(look(READY_LATER, "is open for writing"), 1);
    assert_waits("in/a.clusters.csv", "open for writing");
    assert_int_equal(look(READY_YES, ""), 0);
    assert_int_equal(service_inbox_next_due(inbox), now + 500);
    now += 500;
    assert_int_equal(look(READY_YES, ""), 1);
    assert_int_equal(service_inbox_next_due(inbox), UINT64_MAX);
    take("", "a", "a.clusters.csv", true);
}

INBOX_TEST(file_that_changes_after_it_was_complete_is_looked_at_again)
{
    COMPLETE("a.clusters.csv");
    FOUND("a.clusters.csv");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_int_equal(look(READY_YES, ""), 1);
    take("", "a", "a.clusters.csv", true);
}

INBOX_TEST(hint_that_comes_while_a_file_is_looked_at_counts)
{
    struct service_look looks[2];
    FOUND("a.clusters.csv");
    assert_int_equal(service_inbox_due(inbox, now, looks, 2), 1);
    FOUND("a.clusters.csv");
    looks[0].answer = (struct ready_answer){.state = READY_YES};
    service_inbox_looked(inbox, looks, 1, now);
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_int_equal(look(READY_YES, ""), 1);
    take("", "a", "a.clusters.csv", true);
}

INBOX_TEST(parts_wait_for_each_other_in_any_order)
{
    const char *const parts[] = {"s/dem1.dem.asc", "s/dem1.source.tif"};
    for (size_t first = 0; first < 2; first++) {
        COMPLETE(parts[first]);
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
        open_inbox("");
    }
}

INBOX_TEST(part_named_twice_finds_the_other_part_of_its_job)
{
    static const char *const stems[] = {"x.dem", "x.source", "x.dem.2026"};
    for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
        char dem[40], source[40], both[80];
        snprintf(dem, sizeof(dem), "%s.dem.asc", stems[i]);
        snprintf(source, sizeof(source), "%s.source.asc", stems[i]);
        snprintf(both, sizeof(both), "%s %s", dem, source);
        COMPLETE(dem, source);
        take("", stems[i], both, true);
        open_inbox("");
    }
}

INBOX_TEST(files_for_one_part_take_its_place_one_after_the_other)
{
    FOUND("x.dem.asc");
    COMPLETE("x.dem.tif", "x.dem.asc.gz", "x.source.asc");
    assert_waits("in/x.dem.tif", "its job has 'x.dem.asc' as dem already");
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
}

INBOX_TEST(file_that_no_pipeline_takes_stays_and_says_so)
{
    FOUND("notes.md");
    assert_int_equal(look(READY_YES, ""), 0);
    assert_waits("in/notes.md", "no pipeline takes it");
    assert_waits("in/notes.md", "it is a document, which leat does not read");
    FOUND("x.parquet", "x.dat", "pearson/x.dat");
    assert_int_equal(look(READY_YES, ""), 0);
    assert_waits("in/x.parquet", "is Parquet, which leat does not read; convert it: python3");
    assert_waits("in/x.dat", "no pipeline takes it: put it into a folder named pearson, or give it "
                             "a name like X.clusters.csv");
    assert_waits("in/pearson/x.dat", "no pipeline takes it: give it a name like X.clusters.csv");
}

INBOX_TEST(format_that_is_not_read_fails_by_its_name_where_a_pipeline_is_asked_for)
{
    static const char *const cases[][3] = {
        {"pearson/x.parquet", "pearson",
         "in/pearson/x.parquet: is Parquet, which leat does not read; convert it: python3"},
        {"sub/x.dem.parquet", "sub", "convert it: python3"},
        {"sciddicat/x.png", "sciddicat", "no pipeline takes it: it is a picture"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_settings settings_of_it;
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
        open_inbox("");
    }
}

INBOX_TEST(what_lies_beside_a_format_that_is_not_read_goes_along)
{
    open_inbox("--done-file");
    COMPLETE("pearson/x.parquet", "s.dem.feather", "s.dem.feather.msk", "s.dem.feather.done");
    assert_waits("in/pearson/x.parquet", "waits for x.parquet.done");
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_int_equal(job->n_files, 3);
    assert_string_equal(job->files[0].name, "s.dem.feather");
    spool_job_free(job);
    COMPLETE("pearson/x.parquet.done");
    job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_int_equal(job->n_files, 2);
    assert_string_equal(job->files[1].name, "x.parquet.done");
    spool_job_free(job);
}

/* They would fail one by one, apart from each other. */
INBOX_TEST(formats_of_several_files_stay_together)
{
    static const char *const cases[][2] = {
        {"x.shp", "ogr2ogr -lco GEOMETRY=AS_XY x.csv x.shp"},
        {"x.dbf", "is a shapefile"},
        {"y.csv.001", "cat y.csv.* >y.csv"},
        {"y.csv.003", "cat y.csv.* >y.csv"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char place[64];
        snprintf(place, sizeof(place), "in/pearson/%s", cases[i][0]);
        FOUND(place + strlen("in/"));
        assert_int_equal(look(READY_YES, ""), 0);
        assert_waits(place, cases[i][1]);
    }
}

INBOX_TEST(archive_by_its_name_is_one_also_where_that_asks_for_a_pipeline)
{
    COMPLETE("x.clusters.zip");
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    assert_non_null(job);
    assert_true(worker_is_archive(job->parameters));
    spool_job_free(job);
}

INBOX_TEST(a_grid_beside_its_mask_stays_until_that_is_gone)
{
    COMPLETE("x.dem.tif", "x.source.tif", "x.dem.tif.msk", "y.dem.tif.msk");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    assert_waits("in/x.dem.tif", "x.dem.tif.msk is not read: write it into the grid as NODATA");
    assert_waits("in/x.source.tif", "x.dem.tif.msk is not read");
    assert_waits("in/y.dem.tif.msk", "the file that it belongs to is not there");
    ALL_THERE_IS("x.dem.tif", "x.source.tif", "y.dem.tif.msk");
    look(READY_YES, "");
    take("", "x", "x.dem.tif x.source.tif", true);
}

INBOX_TEST(unfinished_and_kept_copies_stay_and_are_listed)
{
    static const char *const names[] = {"x.clusters.csv.crdownload",
                                        "x.clusters.csv.bak",
                                        "pearson/~$x.csv",
                                        "pearson/#x.csv#",
                                        "x.clusters.csv.1",
                                        "x.zip.old",
                                        "~$x.zip",
                                        "x.clusters.csv:Zone.Identifier"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char place[64];
        FOUND(names[i]);
        assert_int_equal(look(READY_YES, ""), 0);
        snprintf(place, sizeof(place), "in/%s", names[i]);
        assert_waits(place, "unfinished or kept copy");
    }
}

INBOX_TEST(another_configuration_judges_again)
{
    FOUND("notes.csv");
    assert_waits("in/notes.csv", "no pipeline takes it");
    struct settings other = must_parse("watch --spool /nowhere -p pearson");
    service_inbox_reroute(inbox, &other, now);
    look(READY_YES, "");
    take("", "notes", "notes.csv", true);
    close_inbox();
    settings_free(&other);
}

INBOX_TEST(what_is_no_file_becomes_a_job_of_its_own_after_a_moment)
{
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
}

INBOX_TEST(names_with_line_breaks_are_no_other_job)
{
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
}

INBOX_TEST(name_that_ends_in_a_pipelines_is_no_job_of_several_files)
{
    char options[64];
    write_config("[route grids]\nmatch = *.dem.asc\npipeline = sciddicat\n");
    snprintf(options, sizeof(options), "-c %s", config_path);
    open_inbox(options);
    COMPLETE("x.clusters.a.dem.asc", "x.clusters.a\nsciddicat");
    assert_waits("in/x.clusters.a.dem.asc", "waits for x.clusters.a.source.*");
    take("", "x", "x.clusters.a\nsciddicat", true);
    assert_int_equal(service_inbox_count(inbox), 1);
}

/* In which folder nodes are a job without queries, and what either of the two says there. */
INBOX_TEST(parameter_takes_the_place_of_a_part_where_it_is_set)
{
    static const char alone[] = "waits for x.nodes.* (and no parameter query)";
    static const char in_place[] = "the parameter query ('linspace(0, 1, 5)') takes the place of "
                                   "X.query.*; leave out query, or remove the file";
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
            COMPLETE(are_nodes ? nodes : queries);
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
    }
}

INBOX_TEST(what_has_gone_is_forgotten)
{
    ALL_THERE_IS("x.dem.asc", "x.source.asc", "notes.md");
    look(READY_YES, "");
    ALL_THERE_IS("x.source.asc");
    assert_int_equal(service_inbox_count(inbox), 1);
    assert_waits("in/x.source.asc", "waits for x.dem.*");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    FOUND("x.source.asc");
    look(READY_GONE, "");
    assert_int_equal(service_inbox_count(inbox), 0);
}

INBOX_TEST(claim_that_failed_brings_the_files_back)
{
    COMPLETE("x.dem.asc", "x.source.asc");
    take("", "x", "x.dem.asc x.source.asc", false);
    assert_int_equal(service_inbox_count(inbox), 2);
    assert_int_equal(look(READY_YES, ""), 2);
    take("", "x", "x.dem.asc x.source.asc", true);
    assert_int_equal(service_inbox_count(inbox), 0);
}

INBOX_TEST(new_drop_of_a_name_that_is_being_claimed_is_a_new_job)
{
    COMPLETE("a.clusters.csv");
    struct spool_job *job = service_inbox_take(inbox, now, &found_ms);
    FOUND("a.clusters.csv");
    assert_null(service_inbox_take(inbox, now, &found_ms));
    strcpy(job->id, "20261121-030441-123456");
    service_inbox_settle(inbox, job, now);
    spool_job_free(job);
    assert_int_equal(look(READY_YES, ""), 1);
    take("", "a", "a.clusters.csv", true);
}

/* It was another configuration's. */
INBOX_TEST(job_that_is_none_any_more_fails_for_that)
{
    static const char *const names[] = {"a.centroids.csv"};
    struct job_settings none;
    struct spool_job *job;
    assert_int_equal(spool_job_new("", "a", names, 1, NULL, &job), STATUS_OK);
    json_t *const parameters = service_inbox_parameters(inbox, job);
    assert_int_equal(worker_unpack_settings(parameters, "a", &none), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "in/a.centroids.csv"));
    assert_non_null(strstr(status_message(), "centroids=file"));
    json_decref(parameters);
    spool_job_free(job);
}

int main(void)
{
    return unit_run(make_config, remove_config);
}
