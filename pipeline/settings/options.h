/*
 * options - a command line by getopt_long: one table of options a command, from which its help is
 * made, and errors as statuses.
 *
 * Adds -h/--help and --version to a command's own options. Long options may be abbreviated, options
 * may follow operands, and "--" ends them. "--complete WORD..." prints what the last of the words
 * may become, one a line, for a shell (command_completion.c). A mistyped option is named together
 * with the nearest one there is.
 */
#ifndef LEAT_PIPELINE_SETTINGS_OPTIONS_H
#define LEAT_PIPELINE_SETTINGS_OPTIONS_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The most entries of a command's table. */
enum { OPTIONS_MAX = 64 };

/* Without a name: a heading of the help; without `help` too: nothing. */
struct option_entry {
    const char *name;
    char letter;         /* 0: none */
    const char *arg;     /* what the help calls the value; NULL: it takes none */
    const char *help;    /* one sentence */
    const char *initial; /* the default, for the help; NULL: none, or `help` says it */
};

/* A word that a shell completes. */
struct options_word {
    const char *text, *begin; /* its value so far; what stands before that in the word */
    size_t n_known;           /* of the word: characters that the shell has as words before it */
};

struct options {
    const char *command;       /* "run" */
    const char *operands;      /* "INPUT..."; "": none */
    const char *about, *notes; /* before and after the options in the help */
    const char *manual;        /* its page; NULL: leat-COMMAND */
    const char *examples;      /* command lines, each ended by '\n' */
    const struct option_entry *entries;
    size_t n_entries;
    /* Whether --NAME is no option, but KEY of --set KEY=VALUE. NULL: there are none. */
    bool (*is_parameter)(const char *name);
    /* A command that has the option --NAME, which this one has not; NULL: none. */
    const char *(*command_with)(const char *name);
    void (*print_more)(void); /* between options and notes in the help; NULL: nothing */
    /* Offers what the value of an option may be, where its `arg` does not say it: words in lower
     * case with '|' between them. NULL: nothing more. */
    void (*complete)(void *user, const struct option_entry *option,
                     const struct options_word *word);
    /* Takes an option with its value (NULL: it takes none) or, where `option` is NULL, an operand;
     * all operands come after all options. The value is a string of argv. */
    enum status (*take)(void *user, const struct option_entry *option, const char *value);
};

/* Parses argv[1..argc-1]. --help and --version print to stdout, set *done and end it. argv is
 * reordered. One thread at a time. STATUS_BAD_ARGUMENT, or what take() returned. */
enum status options_parse(const struct options *options, int argc, char **argv, void *user,
                          bool *done) STATUS_MUST_CHECK;

/* Prints the word with that value, if it begins as `word` does. */
void options_offer(const struct options_word *word, const char *value);
/* The same for each of the words in lower case that '|' separates. */
void options_offer_choices(const struct options_word *word, const char *choices);
/* "  LEFT    help", wrapped, in the columns of the options' help. */
void options_print_row(const char *left, const char *help);
/* The text, wrapped; and lines of examples, under their heading. */
void options_print_text(const char *text);
void options_print_examples(const char *examples);

/* What leat does, in a sentence of two lines. */
#define OPTIONS_ABOUT                                                                              \
    "Correlates series, simulates landslides, interpolates and clusters, on CPU or\n"              \
    "GPU, from files to compressed results.\n"

/* Prints "leat VERSION" and one line about it to stdout. */
void options_print_version(void);

#endif
