/*
 * http_calls - see http_calls.h.
 */
#include "pipeline/page/http_calls.h"

static const char *const names[] = {HTTP_CALLS(MODULE_NAME) NULL};

struct http_calls http;
static struct module_library library = {
    .module = {.name = "HTTP", .file = "leat_http.so", .missing = STATUS_UNSUPPORTED},
    .names = names,
    .calls = &http};

enum status http_need(void)
{
    return module_need(&library);
}
