/*
 * grid_scale - the unit of a grid's cells, from GeoTIFF keys or from the text of a .prj.
 *
 * Only what is certain counts: a coordinate system that is geographic has degrees, one that names
 * a unit has that, and one given as EPSG's code alone has metres where these are known to be its
 * unit, and feet where the name beside it, EPSG's, ends with them. Without a coordinate system the
 * unit is taken to be the metre, which is what DEMs for such models come in; with one that is not
 * understood, to be unclear.
 *
 * Sources: OGC GeoTIFF 1.1, 7.2 (keys 1024, 1026, 3072, 3076, 3077, 4096 and 4099); EPSG's
 * registry, 10.076.
 */
#include "formats/geo/grid_scale.h"

#include "formats/geo/wkt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    KEY_MODEL = 1024,
    MODEL_GEOGRAPHIC = 2,
    KEY_CITATION = 1026,
    KEY_GEODETIC = 2048,
    KEY_PROJECTED = 3072,
    KEY_LINEAR_UNIT = 3076,
    KEY_LINEAR_METRES = 3077,
    KEY_VERTICAL = 4096,
    KEY_VERTICAL_UNIT = 4099,
    UNIT_METRE = 9001,
    UNIT_FOOT = 9002,
    UNIT_SURVEY = 9003,
    USER_DEFINED = 32767,
};

static const double foot_m = 0.3048;

/* By its name. 0: it has none; below 0: one that is not known here. */
static double unit_by_word(const char *word)
{
    static const struct {
        const char *name;
        double metres;
    } units[] = {{"m", 1},
                 {"metre", 1},
                 {"metres", 1},
                 {"meter", 1},
                 {"meters", 1},
                 {"dm", 0.1},
                 {"cm", 0.01},
                 {"mm", 0.001},
                 {"ft", foot_m},
                 {"foot", foot_m},
                 {"feet", foot_m},
                 {"international foot", foot_m},
                 {"international feet", foot_m},
                 {"international_feet", foot_m},
                 {"US survey foot", GRID_SURVEY_FOOT_M},
                 {"US survey feet", GRID_SURVEY_FOOT_M},
                 {"us_survey_feet", GRID_SURVEY_FOOT_M},
                 {"us-ft", GRID_SURVEY_FOOT_M},
                 {"us_ft", GRID_SURVEY_FOOT_M},
                 {"ftUS", GRID_SURVEY_FOOT_M},
                 {"foot_us", GRID_SURVEY_FOOT_M}};
    if (word[0] == '\0') {
        return 0;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(word, units[i].name) == 0) {
            return units[i].metres;
        }
    }
    return -1;
}

/* As it is defined: texts hold as many digits as their writers believe in. */
static double exact_unit(double metres)
{
    static const double units[] = {1, foot_m, GRID_SURVEY_FOOT_M};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (fabs(metres - units[i]) < 1e-8) {
            return units[i];
        }
    }
    return metres;
}

/* By the code of a unit; below 0: another one. */
static double unit_by_code(unsigned code)
{
    return code == UNIT_METRE    ? 1
           : code == UNIT_FOOT   ? foot_m
           : code == UNIT_SURVEY ? GRID_SURVEY_FOOT_M
                                 : -1;
}

/* By well-known text, or ARC/INFO's. */
static enum grid_unit unit_by_text(const char *text, double *metres)
{
    const enum wkt_kind kind = wkt_map(text, metres);
    return kind == WKT_PROJECTED    ? GRID_LENGTH
           : kind == WKT_GEOGRAPHIC ? GRID_DEGREES
                                    : GRID_UNCLEAR;
}

/* The text of the coordinate system that came with the file, where there is one. */
static const char *text_of(const struct grid *g)
{
    static const char mark[] = "ESRI PE String = ";
    const struct grid_tag *const t = grid_find_tag(g, GRID_GEO_ASCII);
    if (t == NULL || t->type != GRID_ASCII || memchr(t->values, '\0', t->count) == NULL) {
        return g->prj;
    }
    const char *const text = strstr(t->values, mark);
    return text != NULL ? text + sizeof mark - 1 : NULL; /* else a name, for people */
}

/* Projected systems of EPSG in metres: UTM, most national grids, EPSG:3857. Every system that the
 * registry has from the first code of a range to its last one is in metres. Ranges end where more
 * than twenty codes are free; those of less than eight systems are left out, but for national
 * grids. */
static bool is_in_metres(unsigned system)
{
    static const uint16_t ranges[][2] = {
        {2000, 2065},   {2067, 2135},   {2137, 2154},   {2157, 2157},   {2161, 2193},
        {2195, 2203},   {2205, 2221},   {2290, 2313},   {2315, 2866},   {2931, 2963},
        {2969, 2991},   {2995, 3079},   {3081, 3088},   {3092, 3101},   {3103, 3138},
        {3141, 3166},   {3168, 3358},   {3366, 3403},   {3408, 3416},   {3460, 3478},
        {3571, 3581},   {3701, 3727},   {3740, 3752},   {3761, 3920},   {3942, 3989},
        {4026, 4096},   {4390, 4398},   {4462, 4589},   {4647, 4647},   {4766, 4880},
        {5018, 5018},   {5041, 5042},   {5070, 5070},   {5105, 5130},   {5167, 5188},
        {5221, 5396},   {5456, 5469},   {5513, 5583},   {5627, 5644},   {5659, 5700},
        {5825, 5899},   {5921, 5940},   {6050, 6125},   {6244, 6275},   {6307, 6387},
        {6393, 6404},   {6669, 6738},   {6870, 6870},   {6931, 6933},   {6991, 6991},
        {7074, 7082},   {7109, 7118},   {7528, 7586},   {7755, 7899},   {8013, 8032},
        {8677, 8693},   {8826, 8859},   {9141, 9159},   {9191, 9222},   {9249, 9311},
        {9354, 9407},   {9456, 9498},   {9674, 9716},   {9821, 9895},   {20002, 20049},
        {20064, 20092}, {20248, 20258}, {20348, 20358}, {20790, 20791}, {20904, 20936},
        {21004, 21037}, {21207, 21264}, {21291, 21364}, {21413, 21423}, {21453, 21500},
        {21780, 21781}, {21891, 21899}, {22171, 22293}, {22307, 22357}, {22391, 22422},
        {22607, 22657}, {22700, 22739}, {22770, 22770}, {22780, 22780}, {23028, 23038},
        {23090, 23090}, {23095, 23095}, {23700, 23700}, {23830, 23894}, {24877, 24893},
        {25828, 25838}, {25884, 25884}, {26591, 26592}, {26692, 26722}, {26814, 26846},
        {26891, 26998}, {27200, 27232}, {27391, 27398}, {27561, 27594}, {27700, 27700},
        {28191, 28193}, {28348, 28358}, {28402, 28432}, {28462, 28492}, {28991, 28992},
        {29101, 29101}, {29168, 29195}, {29900, 29903}, {30161, 30179}, {31251, 31300},
        {31370, 31370}, {31461, 31469}, {31700, 31700}, {31965, 32000}, {32100, 32161},
        {32180, 32260}, {32301, 32360}, {32401, 32460}, {32501, 32560}, {32600, 32663},
        {32700, 32766}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i][0] <= system && system <= ranges[i][1]) {
            return true;
        }
    }
    return false;
}

/* By the citation. Of ERDAS IMAGINE the line "Units = international_FeeT", although the system has
 * others; else by EPSG's name of a projected system that is not known to be in metres, "NAD83 / New
 * York Long Island (ftUS)", behind which that of a vertical one may stand, " + NAVD88 height
 * (ftUS)". 0: it says none; below 0: one that is not known here. */
static double unit_by_citation(const struct grid *g, bool is_metric)
{
    static const char mark[] = "\nUnits = ";
    char text[512];
    grid_key_text(g, KEY_CITATION, text, sizeof text);
    char *const unit = strstr(text, mark), *const heights = strstr(text, " + ");
    if (unit != NULL && strncmp(text, "IMAGINE ", 8) == 0) {
        char *const word = unit + sizeof mark - 1;
        word[strcspn(word, "\n")] = '\0';
        return unit_by_word(word);
    }
    if (heights != NULL) {
        *heights = '\0';
    }
    return is_metric                        ? 1
           : strstr(text, "(ftUS)") != NULL ? GRID_SURVEY_FOOT_M
           : strstr(text, "(ft)") != NULL   ? foot_m
                                            : 0;
}

/* The keys name no unit of length. */
static enum grid_unit unit_by_system(const struct grid *g, double *metres)
{
    const unsigned system = grid_key(g, KEY_PROJECTED);
    const bool has_system =
        system != 0 || grid_key(g, KEY_MODEL) != 0 || grid_key(g, KEY_GEODETIC) != 0;
    const bool has_name = system != 0 && system != USER_DEFINED;
    *metres = !has_system ? 1 : has_name ? unit_by_citation(g, is_in_metres(system)) : 0;
    return *metres > 0 ? GRID_LENGTH : GRID_UNCLEAR;
}

/* *metres: what it is, where it is a length that is known. */
static enum grid_unit unit_of(const struct grid *g, double *metres)
{
    if (!grid_is_georeferenced(g)) {
        return GRID_UNKNOWN;
    }
    const unsigned linear = grid_key(g, KEY_LINEAR_UNIT);
    if (grid_key(g, KEY_MODEL) == MODEL_GEOGRAPHIC) {
        return GRID_DEGREES;
    }
    if (linear != 0) {
        *metres =
            linear == USER_DEFINED ? grid_key_double(g, KEY_LINEAR_METRES) : unit_by_code(linear);
        return *metres > 0 && isfinite(*metres) ? GRID_LENGTH : GRID_OTHER;
    }
    const char *const text = text_of(g);
    return text != NULL ? unit_by_text(text, metres) : unit_by_system(g, metres);
}

unsigned grid_epsg(const struct grid *g)
{
    double metres = 1;
    const bool is_geographic = grid_key(g, KEY_MODEL) == MODEL_GEOGRAPHIC;
    const unsigned code = grid_key(g, is_geographic ? KEY_GEODETIC : KEY_PROJECTED);
    const enum grid_unit unit = unit_of(g, &metres);
    const bool has_feet =
        unit == GRID_OTHER || (unit == GRID_LENGTH && exact_unit(metres) != 1); /* or the like */
    return code < USER_DEFINED && !(has_feet && is_in_metres(code)) ? code : 0;
}

/* --- heights ---------------------------------------------------------------------------------- */

double grid_scale_band_unit(const struct grid *g)
{
    return unit_by_word(g->unit);
}

/* The vertical systems of EPSG that do not measure in metres. */
static double unit_by_vertical_system(unsigned system)
{
    static const struct {
        uint16_t system;
        double metres;
    } in_feet[] = {{5614, foot_m},
                   {5702, GRID_SURVEY_FOOT_M},
                   {5754, 0.3048007491}, /* the British foot of 1936 */
                   {6130, foot_m},
                   {6131, foot_m},
                   {6132, foot_m},
                   {6358, GRID_SURVEY_FOOT_M},
                   {6359, GRID_SURVEY_FOOT_M},
                   {6360, GRID_SURVEY_FOOT_M},
                   {8050, foot_m},
                   {8051, foot_m},
                   {8052, GRID_SURVEY_FOOT_M},
                   {8053, GRID_SURVEY_FOOT_M},
                   {8228, foot_m}};
    for (size_t i = 0; i < sizeof in_feet / sizeof in_feet[0]; i++) {
        if (in_feet[i].system == system) {
            return in_feet[i].metres;
        }
    }
    return system == 0 || system == USER_DEFINED ? 0 : 1;
}

double grid_scale_system_unit(const struct grid *g)
{
    const unsigned unit = grid_key(g, KEY_VERTICAL_UNIT);
    const char *const text = text_of(g);
    double metres = 0;
    if (unit != 0) {
        return unit_by_code(unit);
    }
    if (text != NULL && wkt_altitudes(text, &metres)) {
        return exact_unit(metres);
    }
    return unit_by_vertical_system(grid_key(g, KEY_VERTICAL));
}

bool grid_scale_names_system(const struct grid *g)
{
    return text_of(g) != NULL || grid_key(g, KEY_MODEL) != 0 || grid_key(g, KEY_PROJECTED) != 0 ||
           grid_key(g, KEY_GEODETIC) != 0;
}

bool grid_scale_looks_like_degrees(const struct grid *g, double low, double high)
{
    if (!g->has_origin || grid_scale_names_system(g) || !(g->cell_x < 0.01) ||
        !(fabs(g->cell_y) < 0.01)) {
        return false;
    }
    const struct grid_extent e = grid_extent_of(g);
    const double north = fmax(e.north, e.south), south = fmin(e.north, e.south);
    return e.west >= -180 && e.east <= 180 && south >= -90 && north <= 90 &&
           high - low > 10 * fmax(e.east - e.west, north - south);
}

struct grid_scale grid_scale_of(const struct grid *g)
{
    double metres;
    struct grid_scale s = {.unit = unit_of(g, &metres),
                           .unit_m = 1,
                           .cell_x_m = 1,
                           .cell_y_m = 1,
                           .area_m2 = 1,
                           .column_m = {1, 0},
                           .row_m = {0, -1}};
    if (s.unit != GRID_LENGTH) {
        return s;
    }
    const double by = s.unit_m = exact_unit(metres);
    s.cell_x_m = by * g->cell_x;
    s.cell_y_m = by * fabs(g->cell_y);
    s.area_m2 = s.cell_x_m * s.cell_y_m;
    s.column_m[0] = s.cell_x_m;
    s.row_m[1] = -by * g->cell_y;
    if (g->is_rotated) {
        const double *const t = g->transform;
        s.column_m[0] = by * t[0];
        s.column_m[1] = by * t[3];
        s.row_m[0] = by * t[1];
        s.row_m[1] = by * t[4];
        s.area_m2 = fabs(s.column_m[0] * s.row_m[1] - s.row_m[0] * s.column_m[1]);
    }
    return s;
}

bool grid_scale_is_sheared(const struct grid_scale *s)
{
    const double *const column = s->column_m, *const row = s->row_m;
    return fabs(column[0] * row[0] + column[1] * row[1]) > 1e-6 * s->cell_x_m * s->cell_y_m;
}

void grid_scale_centre(const struct grid *g, size_t row, size_t column, double *x, double *y)
{
    const double down = (double)row + 0.5, right = (double)column + 0.5;
    if (g->is_rotated) {
        const double *const t = g->transform;
        *x = t[0] * right + t[1] * down + t[2];
        *y = t[3] * right + t[4] * down + t[5];
        return;
    }
    const struct grid_extent e = grid_extent_of(g);
    *x = e.west + right * g->cell_x;
    *y = e.north - down * g->cell_y;
}

/* How many cells from the first edge, of n; the last edge belongs to the last one. */
static bool cell_at(double distance, size_t n, size_t *out)
{
    const bool inside = distance >= 0 && distance <= (double)n;
    *out = inside ? (size_t)distance : 0;
    *out -= inside && *out == n;
    return inside;
}

void grid_scale_distances(const struct grid *g, double x, double y, double *right, double *down)
{
    *right = x - 0.5; /* the middle of the first cell is 1 */
    *down = y - 0.5;
    if (g->is_rotated) {
        const double *const t = g->transform, dx = x - t[2], dy = y - t[5];
        const double area = t[0] * t[4] - t[1] * t[3];
        *right = (t[4] * dx - t[1] * dy) / area;
        *down = (t[0] * dy - t[3] * dx) / area;
    } else if (g->has_origin) {
        const struct grid_extent e = grid_extent_of(g);
        *right = (x - e.west) / g->cell_x;
        *down = (e.north - y) / g->cell_y;
    }
}

bool grid_scale_cell(const struct grid *g, double x, double y, size_t *row, size_t *column)
{
    double right, down;
    grid_scale_distances(g, x, y, &right, &down);
    return cell_at(down, g->rows, row) && cell_at(right, g->columns, column);
}

void grid_system_name(const struct grid *g, char out[GRID_SYSTEM_BYTES])
{
    const unsigned code = grid_epsg(g);
    const char *const text = text_of(g), *const quote = text != NULL ? strchr(text, '"') : NULL;
    out[0] = '\0';
    if (code != 0) {
        snprintf(out, GRID_SYSTEM_BYTES, "EPSG:%u", code);
    } else if (quote != NULL) {
        snprintf(out, GRID_SYSTEM_BYTES, "%.*s", (int)strcspn(quote + 1, "\""), quote + 1);
    } else if (text != NULL) {
        snprintf(out, GRID_SYSTEM_BYTES, "the system of its .prj");
    } else {
        grid_key_text(g, KEY_CITATION, out, GRID_SYSTEM_BYTES);
        out[strcspn(out, "\n")] = '\0';
    }
}
