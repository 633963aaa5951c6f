/*
 * settings_given - command lines and configuration files for tests, as text.
 */
#ifndef LEAT_TESTS_SETTINGS_GIVEN_H
#define LEAT_TESTS_SETTINGS_GIVEN_H

#include "pipeline/settings/settings.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 40 };

/* Splits at blanks and parses. The words are in a buffer of the caller's. */
static inline enum status parse(char *line, struct settings *s, bool *done)
{
    char *argv[MOST_WORDS + 1];
    int argc = 0;
    for (char *word = strtok(line, " "); word != NULL && argc < MOST_WORDS;
         word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return settings_parse(argc, argv, s, done);
}

static inline struct settings must_parse(const char *line)
{
    char copy[512];
    struct settings s;
    bool done;
    snprintf(copy, sizeof(copy), "%s", line);
    if (parse(copy, &s, &done) != STATUS_OK) {
        fail_msg("%s: %s", line, status_message());
    }
    assert_false(done);
    return s;
}

static char config_path[] = "/tmp/leat-test-settings-XXXXXX";

static inline int make_config(void **state)
{
    (void)state;
    int fd = mkstemp(config_path);
    return fd < 0 ? -1 : close(fd);
}

static inline int remove_config(void **state)
{
    (void)state;
    return unlink(config_path);
}

static inline void write_config(const char *text)
{
    FILE *f = fopen(config_path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* "run -c CONFIG OPTIONS x.clusters.csv" */
static inline struct settings with_config(const char *text, const char *options)
{
    char line[256];
    write_config(text);
    snprintf(line, sizeof(line), "run -c %s %s x.clusters.csv", config_path, options);
    return must_parse(line);
}

/* The line must be refused, with every one of the words in the message. */
static inline void must_refuse(const char *line, const char *const words[], size_t n_words)
{
    char copy[512];
    struct settings s;
    bool done;
    snprintf(copy, sizeof(copy), "%s", line);
    enum status status = parse(copy, &s, &done);
    if (status != STATUS_BAD_ARGUMENT && status != STATUS_NOT_FOUND) {
        fail_msg("%s: accepted (%s)", line, status_name(status));
    }
    for (size_t i = 0; i < n_words; i++) {
        if (words[i] != NULL && strstr(status_message(), words[i]) == NULL) {
            fail_msg("%s: '%s' is not in: %s", line, words[i], status_message());
        }
    }
}

#endif
