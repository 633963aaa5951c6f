/*
 * What the stage `interpolate` tells beside the values: counts, warnings, the picture of curves.
 * Runs on the backend that $LEAT_TEST_BACKEND names.
 * ctest: wrap=figure_text,figure_text_up,figure_text_turned
 */
#include "tests/support/drawn_texts.h"
#include "tests/support/interpolate_sheet.h"

/* --- what is counted -------------------------------------------------------------------------- */

TEST(missing_queries_hits_and_extrapolation_are_counted)
{
    struct sheet s = sheet_of(NULL);
    for (size_t i = 0; i < QUERIES; i++) {
        s.query[i] = i % 4 == 0   ? (double)NAN
                     : i % 4 == 1 ? 1.5
                     : i % 4 == 2 ? s.cells[3 * (i % NODES)]
                                  : 0.123;
    }
    struct outcome o = run_well(&s);
    static const struct {
        const char *key;
        json_int_t n;
    } wanted[] = {{"missing", QUERIES / 4}, {"extrapolated", QUERIES / 4}, {"hits", QUERIES / 4},
                  {"n_queries", QUERIES},   {"degree", NODES - 1},         {"n_curves", CURVES}};
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        assert_int_equal(json_integer_value(json_object_get(o.last.summary, wanted[k].key)),
                         wanted[k].n);
    }
    assert_int_equal(json_array_size(o.last.warnings), 2);
    const double *y = (const double *)(const void *)o.y.data;
    for (size_t i = 0; i < QUERIES; i++) {
        const size_t node = i % NODES;
        assert_int_equal(isnan(y[CURVES * i]), i % 4 == 0);
        assert_true(i % 4 != 2 || y[CURVES * i] == s.cells[3 * node + 1]);
    }
    outcome_free(&o);
}

/* Nodes of hourly temperatures: a smooth day, or one as it is measured. */
static void put_day(struct sheet *s, size_t curve, bool is_measured, bool chebyshev)
{
    for (size_t i = 0; i < NODES; i++) {
        const double t = (double)i / (NODES - 1), noise = is_measured ? sin(9.1 * (double)i) : 0;
        s->cells[3 * i] = chebyshev ? -cos(3.14159265358979 * t) : 2 * t - 1;
        s->cells[3 * i + 1 + curve] = 15 - 8 * cos(6.2831853 * t) + 0.8 * noise;
    }
}

TEST(curves_that_leave_the_range_of_their_nodes_are_warned_of)
{
    static const struct {
        bool measured[CURVES], chebyshev;
        const char *query, *method, *said; /* NULL: no warning */
    } cases[] = {
        {{true, false}, false, "query=linspace(-1, 1, 5000)", "method=auto", "curve of 'y1' "},
        {{true, false},
         false,
         "query=linspace(-1, 1, 100)",
         "method=barycentric",
         "curve of 'y1' "},
        {{true, false}, false, "query=linspace(-1, 1, 100)", "method=chebyshev", "curve of 'y1' "},
        {{false, true}, false, "query=linspace(-1, 1, 100)", "method=auto", "curve of 'y2' "},
        {{true, true}, false, "query=linspace(-1, 1, 100)", "method=auto", "(and 1 more of the"},
        {{false, false}, false, "query=linspace(-1, 1, 100)", "method=auto", NULL},
        {{true, true}, true, "query=linspace(-1, 1, 100)", "method=auto", NULL},
        {{true, true}, false, "query=linspace(-0.3, 0.3, 100)", "method=auto", NULL},
        {{true, true}, false, "query=linspace(0.9999999, 1, 2)", "method=auto", NULL},
        /* queries within one gap, of which there are 22; and to the middle of outer ones */
        {{true, false}, false, "query=-0.96", "method=auto", "curve of 'y1' "},
        {{true, false}, false, "query=-0.97,-0.96,-0.95", "method=auto", "curve of 'y1' "},
        {{false, true}, false, "query=linspace(-0.99, -0.92, 50)", "method=auto", "curve of 'y2' "},
        {{true, false}, false, "query=linspace(-0.96, -0.5, 9)", "method=auto", "curve of 'y1' "},
        {{true, true}, false, "query=-0.01,0.01", "method=auto", NULL},
        {{true, true}, false, "query=-1", "method=auto", NULL}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sheet s = sheet_of(cases[k].query);
        s.params[1] = cases[k].method;
        put_day(&s, 0, cases[k].measured[0], cases[k].chebyshev);
        put_day(&s, 1, cases[k].measured[1], cases[k].chebyshev);
        struct outcome o = run_well(&s);
        const char *text = json_string_value(json_array_get(o.last.warnings, 0));
        if (json_array_size(o.last.warnings) != (cases[k].said != NULL ? 1 : 0)) {
            fail_msg("case %zu, %s: %s", k, cases[k].query, text);
        }
        if (cases[k].said != NULL) {
            assert_non_null(strstr(text, cases[k].said));
            assert_non_null(strstr(text, "swings from about -")); /* beyond -10: y begins at 7 */
        }
        outcome_free(&o);
    }
}

/* Whether it is the first of those that do or the last. */
TEST(the_curve_that_swings_most_is_named)
{
    for (size_t most = 0; most < CURVES; most++) {
        struct sheet s = sheet_of("query=linspace(-1, 1, 100)");
        for (size_t c = 0; c < CURVES; c++) {
            put_day(&s, c, true, false);
        }
        for (size_t i = 0; i < NODES; i++) { /* ten times the noise, in less than twice the range */
            s.cells[(1 + CURVES) * i + 1 + most] += 7 * sin(9.1 * (double)i);
        }
        struct outcome o = run_well(&s);
        char said[32];
        snprintf(said, sizeof said, "the curve of 'y%zu' swings", most + 1);
        assert_int_equal(json_array_size(o.last.warnings), 1);
        const char *text = json_string_value(json_array_get(o.last.warnings, 0));
        assert_non_null(strstr(text, said));
        assert_non_null(strstr(text, "(and 1 more of the curves like it)"));
        outcome_free(&o);
    }
}

TEST(a_curve_of_one_value_does_not_swing_by_its_rounding)
{
    struct sheet s = sheet_of("query=linspace(-1, 1, 100)");
    for (size_t i = 0; i < NODES; i++) { /* between the last two a sum has lost all its digits */
        s.cells[3 * i] = i + 1 < NODES ? -1 + 1e-12 * (double)i : 1;
        s.cells[3 * i + 1] = s.cells[3 * i + 2] = 0.1;
    }
    struct outcome o = run_well(&s);
    assert_int_equal(json_array_size(o.last.warnings), 1);
    assert_non_null(
        strstr(json_string_value(json_array_get(o.last.warnings, 0)), "the Lebesgue constant"));
    outcome_free(&o);
}

TEST(auto_weighs_the_estimate_of_a_text_of_queries)
{
    static const struct {
        size_t n_about;
        const char *method;
    } cases[] = {{QUERIES, "barycentric"}, {1000000, "chebyshev"}, {0, "chebyshev"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sheet s = sheet_of(NULL);
        s.queries.n_lines_estimate = cases[k].n_about;
        struct outcome o = run_well(&s);
        assert_string_equal(json_string_value(json_object_get(o.last.summary, "method")),
                            cases[k].method);
        outcome_free(&o);
    }
}

/* --- the picture ------------------------------------------------------------------------------ */

static void draw(const struct outcome *o)
{
    const struct result_file *const f = &o->last.files[0];
    size_t k = 0;
    while (k < o->last.n_files && strcmp(f[k].name, "curve.png") != 0) {
        k++;
    }
    assert_true(k < o->last.n_files);
    struct bytes png = {0};
    drawn_begin();
    assert_int_equal(f[k].members[0].piece(f[k].members[0].context, 0, &png), STATUS_OK);
    drawn_end();
    bytes_free(&png);
}

/* x^3 and 0 over [-1, 1]: what is beyond is named, on either side, and far beyond y is cut. */
TEST(the_texts_of_the_picture_are_these)
{
    static const struct {
        const char *query, *note;
        bool is_beyond;
    } cases[] = {{"query=-0.9,0.9", NULL, false},
                 {"query=-1.5,0.9", NULL, true},
                 {"query=-0.9,1.5", NULL, true},
                 {"query=-2,0",
                  "y is cut: the curves go from \xe2\x88\x92"
                  "8 to ",
                  true},
                 {"query=0,2", "y is cut: the curves go from ", true},
                 {"query=-2,2",
                  "y is cut: the curves go from \xe2\x88\x92"
                  "8 to 8|",
                  true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sheet s = sheet_of(cases[i].query);
        for (size_t k = 0; k < NODES; k++) {
            s.cells[3 * k + 2] = 0;
        }
        struct outcome o = run_well(&s);
        char title[96];
        draw(&o);
        snprintf(title, sizeof title, "x.nodes.npy|: %d nodes, polynomial of degree %d|", NODES,
                 NODES - 1);
        const char *const note = strstr(drawn_all, "y is cut"),
                          *const end =
                              cases[i].is_beyond ? "|y1|y2|nodes|extrapolated" : "|y1|y2|nodes";
        assert_true(strncmp(drawn_all, title, strlen(title)) == 0);
        assert_string_equal(drawn_all + strlen(drawn_all) - strlen(end), end);
        if (cases[i].note ? !note || strncmp(note, cases[i].note, strlen(cases[i].note)) != 0
                          : note != NULL) {
            fail_msg("%s: %s", cases[i].query, drawn_all);
        }
        outcome_free(&o);
    }
}

TEST(the_axis_of_dates_has_ticks_at_parts_of_a_day)
{
    static const char *const cases[][2] = {
        {"query=linspace(1970-01-01, 1970-01-02, 3)", "|0|3|6|9|12|15|18|21|24|"},
        {"query=linspace(1970-01-01, 1970-01-03T12:00, 3)", "|0|12|24|36|48|60|"},
        {"query=linspace(1970-01-01, 1970-01-01T06:00, 3)", "|0|1|2|3|4|5|6|"},
        {"query=linspace(1970-01-01, 1970-01-01T02:00, 3)", "|0|20|40|60|80|100|120|"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sheet s = sheet_of(cases[i][0]);
        s.nodes.has_dates = true;
        struct outcome o = run_well(&s);
        draw(&o);
        assert_non_null(strstr(drawn_all, cases[i][1]));
        assert_non_null(strstr(drawn_all, i < 3 ? "|hours from 1970-01-01T00:00:00Z on|"
                                                : "|minutes from 1970-01-01T00:00:00Z on|"));
        outcome_free(&o);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
