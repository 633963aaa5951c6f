/*
 * options - see options.h.
 */
#include "pipeline/settings/options.h"

#include "pipeline/names/text.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct option_entry own_entries[] = {
    {"help", 'h', NULL, "Print this and exit", NULL},
    {"version", 0, NULL, "Print the version and exit", NULL},
};

enum {
    OWN = sizeof(own_entries) / sizeof(own_entries[0]),
    FIRST = 0x100,          /* what getopt_long returns for the first entry's name, and so on */
    WIDTH = 79,             /* of the help */
    HELP_COLUMN = 29,       /* where the options' help begins */
    LONGEST_SENTENCE = 400, /* of an option's help */
    LONGEST_WORD = 512      /* that is completed */
};

void options_print_version(void)
{
    printf("leat " LEAT_VERSION "\n" OPTIONS_ABOUT);
}

/* The command's entries, then our own; NULL after the last. */
static const struct option_entry *entry_at(const struct options *o, size_t i)
{
    return i < o->n_entries         ? &o->entries[i]
           : i < o->n_entries + OWN ? &own_entries[i - o->n_entries]
                                    : NULL;
}

/* By what getopt_long returns. */
static const struct option_entry *find(const struct options *o, int value)
{
    const struct option_entry *e;
    for (size_t i = 0; (e = entry_at(o, i)) != NULL; i++) {
        if (value == FIRST + (int)i || (e->letter != 0 && value == e->letter)) {
            return e;
        }
    }
    return NULL;
}

/* --- help ------------------------------------------------------------------------------------- */

/* The words from `column` on, in lines that begin at `indent`. */
static void print_wrapped(const char *text, int column, int indent)
{
    while (*text != '\0') {
        const int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        column += printf("%s%.*s", column > indent ? " " : "", n, text);
        text += n;
        text += strspn(text, " ");
    }
    putchar('\n');
}

void options_print_row(const char *left, const char *help)
{
    int column = printf("  %s", left);
    if (column + 2 > HELP_COLUMN) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", HELP_COLUMN - column, "");
    print_wrapped(help, HELP_COLUMN, HELP_COLUMN);
}

void options_print_text(const char *text)
{
    print_wrapped(text, 0, 0);
}

void options_print_examples(const char *examples)
{
    printf("\nExamples:\n");
    for (size_t n; *examples != '\0'; examples += n) {
        n = strcspn(examples, "\n") + 1;
        printf("  %.*s", (int)n, examples);
    }
}

static void print_entry(const struct option_entry *e, bool first)
{
    char help[LONGEST_SENTENCE], left[64];
    if (e->name == NULL) {
        printf("%s%s\n", first ? "" : "\n", e->help);
        return;
    }
    const char letter[] = {'-', e->letter, ',', '\0'};
    snprintf(left, sizeof(left), "%3s --%s%s%s", e->letter != 0 ? letter : "", e->name,
             e->arg != NULL ? "=" : "", e->arg != NULL ? e->arg : "");
    snprintf(help, sizeof(help), e->initial != NULL ? "%s (default %s)" : "%s", e->help,
             e->initial);
    options_print_row(left, help);
}

static void print_help(const struct options *o)
{
    printf("Usage: leat %s [OPTION...]%s%s\n", o->command, *o->operands != '\0' ? " " : "",
           o->operands);
    options_print_text(o->about);
    options_print_examples(o->examples);
    putchar('\n');
    const struct option_entry *e;
    for (size_t i = 0; (e = entry_at(o, i)) != NULL; i++) {
        if (e->help != NULL) {
            print_entry(e, i == 0);
        }
    }
    putchar('\n');
    if (o->print_more != NULL) {
        o->print_more();
    }
    options_print_text(o->notes);
    printf("Manual: man %s%s\n", o->manual != NULL ? o->manual : "leat-",
           o->manual != NULL ? "" : o->command);
}

/* --- completion ------------------------------------------------------------------------------- */

void options_offer(const struct options_word *word, const char *value)
{
    char whole[LONGEST_WORD];
    if (strncmp(value, word->text, strlen(word->text)) == 0) {
        snprintf(whole, sizeof(whole), "%s%s", word->begin, value);
        puts(whole + word->n_known);
    }
}

void options_offer_choices(const struct options_word *word, const char *choices)
{
    char all[LONGEST_WORD], *rest = all;
    snprintf(all, sizeof(all), "%s", choices);
    for (char *choice; (choice = strsep(&rest, "|")) != NULL;) {
        choice += strspn(choice, " ");
        choice[strcspn(choice, " ")] = '\0';
        if (choice[0] >= 'a' && choice[0] <= 'z') {
            options_offer(word, choice);
        }
    }
}

/* The option that the n characters give: "--jobs", "-j". */
static const struct option_entry *find_word(const struct options *o, const char *text, size_t n)
{
    const struct option_entry *e;
    for (size_t i = 0; (e = entry_at(o, i)) != NULL; i++) {
        const bool is_long = e->name != NULL && n > 2 && strlen(e->name) == n - 2 &&
                             text[1] == '-' && strncmp(e->name, text + 2, n - 2) == 0;
        if (n > 1 && text[0] == '-' && (is_long || (n == 2 && text[1] == e->letter))) {
            return e;
        }
    }
    return NULL;
}

/* Bash has "=" as a word of its own: the last word is put together again, *n is without its rest.
 */
static size_t join(char *const words[], size_t *n, char out[LONGEST_WORD])
{
    size_t first = *n - 1, n_known = 0;
    while (first > 0 && (strcmp(words[first], "=") == 0 || strcmp(words[first - 1], "=") == 0)) {
        first--;
    }
    out[0] = '\0';
    for (size_t i = first; i < *n; i++) {
        const size_t length = strlen(out);
        n_known = i > first && strcmp(words[i], "=") != 0 ? length : n_known;
        n_known = i > first && strcmp(words[i], "=") == 0 && i + 1 == *n ? length + 1 : n_known;
        snprintf(out + length, LONGEST_WORD - length, "%s", words[i]);
    }
    *n = first + 1;
    return n_known;
}

static void complete(const struct options *o, size_t n, char *const words[], void *user)
{
    char last[LONGEST_WORD], begin[LONGEST_WORD] = "";
    if (n == 0) {
        return;
    }
    const size_t n_known = join(words, &n, last), n_name = strcspn(last, "=");
    struct options_word word = {.text = last, .begin = begin, .n_known = n_known};
    const struct option_entry *e = n > 1 ? find_word(o, words[n - 2], strlen(words[n - 2])) : NULL;
    if ((e == NULL || e->arg == NULL) && last[n_name] == '=') { /* --option=value */
        e = find_word(o, last, n_name);
        word.text = last + n_name + 1;
        memcpy(begin, last, n_name + 1);
    }
    if (e != NULL && e->arg != NULL) {
        options_offer_choices(&word, e->arg);
        if (o->complete != NULL) {
            o->complete(user, e, &word);
        }
        return;
    }
    word = (struct options_word){.text = last, .begin = ""};
    for (size_t i = 0; last[0] == '-' && (e = entry_at(o, i)) != NULL; i++) {
        char name[64];
        snprintf(name, sizeof(name), "--%s", e->name != NULL ? e->name : "");
        if (e->name != NULL) {
            options_offer(&word, name);
        }
    }
    options_offer_choices(&word, last[0] != '-' ? o->operands : "");
}

/* --- mistakes --------------------------------------------------------------------------------- */

/* `word` is what was given, `name` what may be a name in it, `wrong` what is no option of it. */
static enum status refuse_unknown(const struct options *o, const char *word, const char *name,
                                  const char *wrong)
{
    struct text_near near = {.word = name};
    const struct option_entry *e;
    for (size_t i = 0; (e = entry_at(o, i)) != NULL; i++) {
        text_near_offer(&near, e->name != NULL ? e->name : "");
    }
    if (o->is_parameter != NULL && o->is_parameter(name)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "leat %s: unknown option '%s'; for the parameter %s write -s %s=VALUE",
                           o->command, wrong, name, name);
    }
    const char *const other =
        o->command_with != NULL && strncmp(word, "--", 2) == 0 ? o->command_with(name) : NULL;
    if (other != NULL) {
        return status_fail(STATUS_BAD_ARGUMENT, "leat %s: unknown option '%s'; leat %s has it",
                           o->command, wrong, other);
    }
    return near.best != NULL ? status_fail(STATUS_BAD_ARGUMENT,
                                           "leat %s: unknown option '%s'; did you mean --%s?",
                                           o->command, word, near.best)
                             : status_fail(STATUS_BAD_ARGUMENT,
                                           "leat %s: unknown option '%s'; see leat %s --help",
                                           o->command, wrong, o->command);
}

/* A long option of which getopt_long says no more than that it is wrong. */
static enum status refuse_long(const struct options *o, const char *name, size_t n)
{
    char shown[64];
    const struct option_entry *e, *first = NULL, *second = NULL;
    for (size_t i = 0; (e = entry_at(o, i)) != NULL; i++) {
        if (e->name != NULL && strncmp(e->name, name, n) == 0) {
            second = first != NULL && second == NULL ? e : second;
            first = first != NULL ? first : e;
        }
    }
    snprintf(shown, sizeof(shown), "--%.*s", (int)n, name);
    return second == NULL ? refuse_unknown(o, shown, shown + 2, shown)
                          : status_fail(STATUS_BAD_ARGUMENT,
                                        "leat %s: option '%s' is ambiguous; write --%s or --%s",
                                        o->command, shown, first->name, second->name);
}

/* A letter, in a word such as "-vZ". getopt_long has passed the word if it ends with the letter. */
static enum status refuse_letter(const struct options *o, char *const argv[], char letter)
{
    const char shown[] = {'-', letter, '\0'};
    const char *word = argv[optind - 1];
    const size_t n = strlen(word);
    if (word[0] != '-' || word[1] == '-' || word[n - 1] != letter) {
        word = argv[optind];
    }
    return refuse_unknown(o, word, word + 1, shown); /* -memory, -k */
}

/* -output is no -o with the value "utput". */
static bool has_one_dash(const struct options *o, const char *word)
{
    const struct option_entry *e;
    bool known = false;
    for (size_t i = 0; (e = entry_at(o, i)) != NULL; i++) {
        known = known || (e->name != NULL && word[0] == '-' && strcmp(word + 1, e->name) == 0);
    }
    return known;
}

static enum status refuse(const struct options *o, char *const argv[], int returned)
{
    const struct option_entry *e = find(o, optopt);
    if (optopt == 0) {
        const char *name = argv[optind - 1] + 2;
        return refuse_long(o, name, strcspn(name, "="));
    }
    if (e == NULL) {
        return refuse_letter(o, argv, (char)optopt);
    }
    return returned == ':' ? status_fail(STATUS_BAD_ARGUMENT,
                                         "leat %s: option '--%s' needs a value; write --%s=%s",
                                         o->command, e->name, e->name, e->arg)
                           : status_fail(STATUS_BAD_ARGUMENT,
                                         "leat %s: option '--%s' takes no value; write --%s",
                                         o->command, e->name, e->name);
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* The tables of getopt_long. */
static void list_options(const struct options *o, struct option longs[OPTIONS_MAX + OWN + 1],
                         char letters[2 * (OPTIONS_MAX + OWN) + 2])
{
    const struct option_entry *e;
    assert(o->n_entries <= OPTIONS_MAX);
    *letters++ = ':';
    for (size_t i = 0; (e = entry_at(o, i)) != NULL; i++) {
        if (e->name == NULL) {
            continue;
        }
        *longs++ = (struct option){.name = e->name,
                                   .has_arg = e->arg != NULL ? required_argument : no_argument,
                                   .val = FIRST + (int)i};
        if (e->letter != 0) {
            *letters++ = e->letter;
            *letters = ':';
            letters += e->arg != NULL;
        }
    }
    *longs = (struct option){0};
    *letters = '\0';
}

enum status options_parse(const struct options *o, int argc, char **argv, void *user, bool *done)
{
    struct option longs[OPTIONS_MAX + OWN + 1];
    char letters[2 * (OPTIONS_MAX + OWN) + 2];
    enum status status = STATUS_OK;
    int returned;
    *done = argc > 1 && strcmp(argv[1], "--complete") == 0;
    if (*done) {
        complete(o, (size_t)argc - 2, argv + 2, user);
        return STATUS_OK;
    }
    list_options(o, longs, letters);
    optind = 0; /* glibc: begin again */
    opterr = 0;
    while ((returned = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (returned == '?' || returned == ':') {
            return refuse(o, argv, returned);
        }
        if (has_one_dash(o, argv[optind - 1]) && optarg == argv[optind - 1] + 2) {
            return refuse_unknown(o, argv[optind - 1], argv[optind - 1] + 1, "");
        }
        const struct option_entry *e = find(o, returned);
        *done = e == &own_entries[0] || e == &own_entries[1];
        if (e == &own_entries[0]) {
            print_help(o);
        } else if (e == &own_entries[1]) {
            options_print_version();
        } else {
            status = o->take(user, e, optarg);
        }
        if (*done || status != STATUS_OK) {
            return status;
        }
    }
    while (optind < argc && status == STATUS_OK) {
        status = o->take(user, NULL, argv[optind++]);
    }
    return status;
}
