/*
 * options - see options.h.
 *
 * argp runs silently here (no messages, no exit). It does not hand out which argument it choked on,
 * but at the end it calls the parsers once more with ARGP_KEY_ERROR; the argument is then found
 * from the position in argv, looked at again, and described.
 */
#include "pipeline/settings/options.h"

#include "pipeline/names/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEY_VERSION = 0x1000, DONE = ECANCELED };

struct parsing {
    const char *command;
    const struct argp *argp, *whole;
    void *input;
    const char *past, *at; /* the arguments before and at argp's position when it failed */
    bool done;
};

static const struct argp_option own_options[] = {
    {"help", 'h', NULL, 0, "Print this and exit", -1},
    {"version", KEY_VERSION, NULL, 0, "Print the version and exit", -1},
    {0},
};

void options_print_version(void)
{
    printf("leat " LEAT_VERSION "\n"
           "Correlates measurement series and simulates landslides, on CPU or GPU, from files to\n"
           "compressed results.\n");
}

/* Walks the command's options, then our own; NULL after the last. */
static const struct argp_option *option_at(const struct parsing *p, size_t index)
{
    size_t n = 0;
    while (p->argp->options[n].name != NULL || p->argp->options[n].key != 0 ||
           p->argp->options[n].doc != NULL) {
        n++;
    }
    if (index < n) {
        return &p->argp->options[index];
    }
    index -= n;
    return index < sizeof(own_options) / sizeof(own_options[0]) - 1 ? &own_options[index] : NULL;
}

/* What is wrong with "--name" or "--name=value"; STATUS_OK when nothing is. */
static enum status describe_long(const struct parsing *p, const char *text)
{
    char name[64];
    size_t n = strcspn(text + 2, "=");
    if (n >= sizeof(name)) {
        return status_fail(STATUS_BAD_ARGUMENT, "unknown option '%s' (see %s --help)", text,
                           p->command);
    }
    memcpy(name, text + 2, n);
    name[n] = '\0';
    struct text_near near = {.word = name};
    const struct argp_option *found = NULL, *o;
    size_t n_found = 0;
    for (size_t i = 0; (o = option_at(p, i)) != NULL; i++) {
        if (o->name == NULL) {
            continue;
        }
        text_near_offer(&near, o->name);
        if (strcmp(o->name, name) == 0) {
            found = o;
            n_found = 1;
            break;
        }
        if (strncmp(o->name, name, n) == 0) {
            found = o;
            n_found++;
        }
    }
    if (n_found > 1) {
        return status_fail(STATUS_BAD_ARGUMENT, "option '--%s' is ambiguous (nearest is --%s)",
                           name, found->name);
    }
    if (found == NULL && near.best != NULL) {
        return status_fail(STATUS_BAD_ARGUMENT, "unknown option '--%s': did you mean --%s?", name,
                           near.best);
    }
    if (found == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT, "unknown option '--%s' (see %s --help)", name,
                           p->command);
    }
    if (found->arg != NULL && text[2 + n] == '\0') {
        return status_fail(STATUS_BAD_ARGUMENT, "option '--%s' needs a value: --%s=%s", found->name,
                           found->name, found->arg);
    }
    if (found->arg == NULL && text[2 + n] == '=') {
        return status_fail(STATUS_BAD_ARGUMENT, "option '--%s' takes no value", found->name);
    }
    return STATUS_OK;
}

/* The same for "-x" and "-xyz". */
static enum status describe_short(const struct parsing *p, const char *text)
{
    for (const char *c = text + 1; *c != '\0'; c++) {
        const struct argp_option *o, *found = NULL;
        for (size_t i = 0; found == NULL && (o = option_at(p, i)) != NULL; i++) {
            found = o->key == *c ? o : NULL;
        }
        if (found == NULL) {
            /* -memory for --memory */
            struct text_near near = {.word = text + 1};
            for (size_t i = 0; text[2] != '\0' && (o = option_at(p, i)) != NULL; i++) {
                text_near_offer(&near, o->name != NULL ? o->name : "");
            }
            if (near.best != NULL) {
                return status_fail(STATUS_BAD_ARGUMENT, "unknown option '%s': did you mean --%s?",
                                   text, near.best);
            }
            return status_fail(STATUS_BAD_ARGUMENT, "unknown option '-%c' (see %s --help)", *c,
                               p->command);
        }
        if (found->arg != NULL) {
            return c[1] != '\0' ? STATUS_OK
                                : status_fail(STATUS_BAD_ARGUMENT,
                                              "option '-%c' (--%s) needs a value: -%c %s", *c,
                                              found->name, *c, found->arg);
        }
    }
    return STATUS_OK;
}

static enum status describe(const struct parsing *p, const char *text)
{
    if (text == NULL || text[0] != '-' || text[1] == '\0') {
        return STATUS_OK;
    }
    return text[1] == '-' ? describe_long(p, text) : describe_short(p, text);
}

/* getopt has stepped past a bad argument, except when a bad letter stands inside "-xyz". */
static enum status describe_failure(const struct parsing *p)
{
    const char *at = p->at;
    enum status status = STATUS_OK;
    if (at != NULL && at[0] == '-' && at[1] != '-' && at[1] != '\0' && at[2] != '\0') {
        status = describe(p, at);
    }
    if (status == STATUS_OK) {
        status = describe(p, p->past);
    }
    if (status == STATUS_OK) {
        status = status_fail(STATUS_BAD_ARGUMENT, "cannot understand '%s' (see %s --help)",
                             at != NULL        ? at
                             : p->past != NULL ? p->past
                                               : "",
                             p->command);
    }
    return status;
}

static error_t parse_own(int key, char *arg, struct argp_state *state)
{
    struct parsing *p = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = p->input;
        return 0;
    case 'h': {
        char name[64];
        snprintf(name, sizeof(name), "%s", p->command);
        argp_help(p->whole, stdout, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, name);
        p->done = true;
        return DONE;
    }
    case KEY_VERSION:
        options_print_version();
        p->done = true;
        return DONE;
    case ARGP_KEY_ERROR:
        p->past = state->next > 1 ? state->argv[state->next - 1] : NULL;
        p->at = state->next < state->argc ? state->argv[state->next] : NULL;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum status options_parse(const char *command, const struct argp *argp, int argc, char **argv,
                          void *input, bool *done)
{
    struct argp own = *argp;
    own.args_doc = own.doc = NULL;
    const struct argp_child children[] = {{&own, 0, NULL, 0}, {0}};
    const struct argp whole = {.options = own_options,
                               .parser = parse_own,
                               .children = children,
                               .args_doc = argp->args_doc,
                               .doc = argp->doc};
    struct parsing p = {.command = command, .argp = argp, .whole = &whole, .input = input};
    error_t error =
        argp_parse(&whole, argc, argv, ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &p);
    *done = p.done;
    if (p.done || error == 0) {
        return STATUS_OK;
    }
    if (error >= OPTIONS_ERROR) {
        return (enum status)(error - OPTIONS_ERROR);
    }
    if (error == ENOMEM) {
        return status_fail_errno(error, "cannot read the options");
    }
    return describe_failure(&p);
}
