/*
 * debris - how a C++ program uses leat: debris on a slope, and how far it comes.
 *
 *   c++ debris.cpp -o debris $(pkg-config --cflags --libs leat)
 */
#include <leat.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

constexpr std::size_t rows = 300, columns = 200;

int main()
{
    std::vector<double> altitude(rows * columns), debris(rows * columns, 0.0);
    for (std::size_t k = 0; k < rows * columns; ++k) {
        const double row = double(k / columns), across = double(k % columns) - columns / 2.0;
        altitude[k] = 800 - 2 * row + across * across / 40; /* a valley that falls by 2 m a row */
        if (std::hypot(row - 40, across) < 15) {
            debris[k] = 6;
        }
        if (row > 150 && row < 160 && std::abs(across) < 4) {
            altitude[k] = NAN; /* no altitude: a block, which debris flows round */
        }
    }

    leat_options options = LEAT_OPTIONS_DEFAULTS;
    options.progress = [](void *, double share) {
        std::fprintf(stderr, "\r%3.0f %%", 100 * share);
        return 0; /* go on */
    };
    leat_context *opened;
    if (leat_open(&options, &opened) != LEAT_OK) {
        std::fprintf(stderr, "debris: %s\n", leat_error(nullptr));
        return 1;
    }
    const std::unique_ptr<leat_context, void (*)(leat_context *)> c(opened, leat_close);

    const leat_array dem = LEAT_ARRAY(altitude.data(), LEAT_F8, rows, columns);
    const leat_array source = LEAT_ARRAY(debris.data(), LEAT_F8, rows, columns);
    leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    o.epsilon = 0.5; /* so thick a layer adheres */
    o.settle = 100;  /* stop when nothing moves */
    leat_landslide_result *made;
    if (leat_landslide(c.get(), &dem, &source, &o, &made) != LEAT_OK) {
        std::fprintf(stderr, "debris: %s\n", leat_error(c.get()));
        return 1;
    }
    const std::unique_ptr<leat_landslide_result, void (*)(leat_landslide_result *)> r(
        made, leat_landslide_free);

    std::size_t covered = 0, last = 0;
    for (std::size_t k = 0; k < rows * columns; ++k) {
        covered += r->arrival[k] >= 0;
        last = r->arrival[k] >= 0 ? k / columns : last;
    }
    const leat_landslide_report &end = r->reports[r->n_reports - 1];
    std::printf(
        "\n%zu cells covered, to row %zu; at most %.2f m now; %.1f of %.1f m left the map\n",
        covered, last, end.largest, end.lost_edge, r->reports[0].on_map);
    return 0;
}
