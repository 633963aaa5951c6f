/*
 * command_check - leat check: reads and decodes every input as run would, and says what would be
 * done with it, and whether the memory that this takes is there. Writes nothing, and does not look
 * at what takes a computation: infinities and gaps of arrays, gaps where missing=reject, numbers
 * too large to be squared; nor at results that are already there.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/commands/runner.h"
#include "pipeline/names/text.h"

#include <stdio.h>

static const char *size(char out[TEXT_NUMBER_BYTES], const json_t *memory, const char *key)
{
    return text_size(out, (uint64_t)json_integer_value(json_object_get(memory, key)));
}

static void print_parameters(json_t *parameters)
{
    const char *key;
    json_t *value;
    printf("  parameters:");
    json_object_foreach(parameters, key, value)
    {
        if (json_is_string(value)) {
            printf(" %s=", key);
            text_put(stdout, json_string_value(value));
        } else {
            printf(" %s=%.15g", key, json_number_value(value));
        }
    }
    putchar('\n');
}

static void print_text(const struct job_report *r)
{
    const json_t *m = r->manifest, *shape = json_object_get(m, "shape");
    const json_t *memory = json_object_get(m, "memory");
    const json_t *inputs = json_object_get(m, "inputs"), *input = json_array_get(inputs, 0);
    char backend[TEXT_NUMBER_BYTES], host[TEXT_NUMBER_BYTES];
    text_put(stdout, r->path);
    printf(": %s, %lld lines of %lld numbers; pipeline %s, result '",
           json_string_value(json_object_get(input, "format")),
           json_integer_value(json_object_get(shape, "lines")),
           json_integer_value(json_object_get(shape, "cells_per_line")),
           json_string_value(json_object_get(m, "pipeline")));
    text_put(stdout, r->result);
    puts("'");
    for (size_t i = 1; i < json_array_size(inputs); i++) {
        input = json_array_get(inputs, i);
        printf("  with ");
        text_put(stdout, json_string_value(json_object_get(input, "name")));
        printf(": %s\n", json_string_value(json_object_get(input, "format")));
    }
    printf("  fits: %s for the backend, %s besides\n", size(backend, memory, "backend_bytes"),
           size(host, memory, "host_bytes"));
    print_parameters(json_object_get(m, "parameters"));
    size_t i;
    json_t *text;
    json_array_foreach(json_object_get(m, "warnings"), i, text)
    {
        printf("  note: ");
        text_put(stdout, json_string_value(text));
        putchar('\n');
    }
}

static void on_ended(void *user, const struct job_report *r)
{
    const struct settings *s = user;
    if (r->code != STATUS_OK) {
        runner_tell_failure(r);
    }
    if (s->json) {
        runner_print(r, NULL);
    } else if (r->code == STATUS_OK && !s->quiet) {
        print_text(r);
    }
}

enum status command_check(const struct settings *s, int *exit_status)
{
    const struct runner_listener listener = {.ended = on_ended, .user = (void *)s};
    return runner_run(s, true, &listener, exit_status);
}
