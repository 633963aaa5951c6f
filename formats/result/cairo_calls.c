/*
 * cairo_calls - see cairo_calls.h.
 */
#include "formats/result/cairo_calls.h"

static const char *const names[] = {CAIRO_CALLS(MODULE_NAME) NULL};

struct cairo_calls cairo;
static struct module_library library = {
    .module = {.name = "cairo", .file = "leat_cairo.so", .missing = STATUS_UNSUPPORTED},
    .names = names,
    .calls = &cairo};

enum status cairo_need(void)
{
    return module_need(&library);
}
