/*
 * text - see text.h.
 */
#include "pipeline/names/text.h"

#include "formats/base/decimal.h"
#include "formats/base/excerpt.h"
#include "formats/base/utf8.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *text_size(char out[TEXT_NUMBER_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= (unit == 0 ? 1024.0 : 1023.5)) {
        value /= 1024;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out, TEXT_NUMBER_BYTES, "%.*f %s", decimals, value, units[unit]);
    return out;
}

const char *text_duration(char out[TEXT_NUMBER_BYTES], double seconds)
{
    if (!(seconds >= 0) || seconds > 1e12) {
        snprintf(out, TEXT_NUMBER_BYTES, "?");
    } else if (seconds > 0 && seconds < 0.0995) {
        snprintf(out, TEXT_NUMBER_BYTES, "%.2g ms", seconds * 1e3);
    } else if (seconds < 59.95) {
        snprintf(out, TEXT_NUMBER_BYTES, "%.*f s", seconds < 9.995 ? 2 : 1, seconds);
    } else if (seconds < 3599.5) {
        long s = lround(seconds);
        snprintf(out, TEXT_NUMBER_BYTES, "%ld min %02ld s", s / 60, s % 60);
    } else if (seconds < 86400 - 30) {
        long m = lround(seconds / 60);
        snprintf(out, TEXT_NUMBER_BYTES, "%ld h %02ld min", m / 60, m % 60);
    } else {
        long h = lround(seconds / 3600);
        snprintf(out, TEXT_NUMBER_BYTES, "%ld d %02ld h", h / 24, h % 24);
    }
    return out;
}

const char *text_age(char out[TEXT_NUMBER_BYTES], double seconds)
{
    if (seconds >= 0 && seconds < 59.5) {
        snprintf(out, TEXT_NUMBER_BYTES, "%.0f s", seconds);
        return out;
    }
    return text_duration(out, seconds);
}

const char *text_time_left(char out[TEXT_NUMBER_BYTES], double seconds)
{
    const double step_s = seconds < 10 ? 1 : seconds < 60 ? 5 : seconds < 600 ? 10 : 60;
    const long s = (long)(ceil(fmin(seconds, 1e9) / step_s) * step_s);
    if (s < 60) {
        snprintf(out, TEXT_NUMBER_BYTES, "%ld s", s);
    } else if (s < 600) {
        snprintf(out, TEXT_NUMBER_BYTES, "%ld min %02ld s", s / 60, s % 60);
    } else if (s < 6000) {
        snprintf(out, TEXT_NUMBER_BYTES, "%ld min", s / 60);
    } else {
        return text_duration(out, (double)s);
    }
    return out;
}

const char *text_rate(char out[TEXT_NUMBER_BYTES], double jobs_per_s)
{
    const bool is_slow = !(jobs_per_s >= 1);
    const double jobs = jobs_per_s > 0 ? jobs_per_s * (is_slow ? 60 : 1) : 0;
    snprintf(out, TEXT_NUMBER_BYTES, jobs >= 100 ? "%.0f %s" : "%.3g %s", jobs,
             is_slow ? "jobs/min" : "jobs/s");
    return out;
}

void text_put(FILE *out, const char *text)
{
    while (*text != '\0') {
        char shown[4];
        fwrite(shown, 1, excerpt_escape_next(shown, &text), out);
    }
}

void text_put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%=";
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    while (*word != '\0') {
        char shown[4];
        if (*word == '\'') {
            fputs("'\\''", out);
            word++;
        } else {
            fwrite(shown, 1, excerpt_escape_next(shown, &word), out);
        }
    }
    putc('\'', out);
}

bool text_parse_count(const char *text, uint64_t *out)
{
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return false;
    }
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno != 0) {
        return false;
    }
    *out = value;
    return true;
}

bool text_parse_real(const char *text, double *out)
{
    double value;
    if (!decimal_parse(text, strlen(text), '.', &value) || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

json_t *text_json(const char *text)
{
    struct bytes valid = {0};
    json_t *o = NULL;
    if (text != NULL && xalloc_status(utf8_append_valid(&valid, text)) == STATUS_OK) {
        o = json_stringn(valid.data != NULL ? (const char *)valid.data : "", valid.len);
    }
    bytes_free(&valid);
    return o;
}

const char *text_at(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

json_int_t text_count_at(const json_t *object, const char *key)
{
    const json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 ? n : 0;
}

enum status text_split(const char *command, char ***out)
{
    const size_t n_most = strlen(command) / 2 + 1; /* words, a blank between each two */
    const size_t head = (n_most + 2) * sizeof(char *);
    char **const words = xcalloc(1, head + strlen(command) + n_most);
    char *to = (char *)words + head;
    size_t n = 0;
    char quote = '\0';
    bool is_open = false; /* a word */
    *out = NULL;
    for (const char *at = command; *at != '\0'; at++) {
        const bool is_blank = quote == '\0' && (*at == ' ' || *at == '\t');
        if (!is_blank && !is_open) {
            words[n++] = to;
        }
        if (is_blank && is_open) {
            *to++ = '\0';
        }
        is_open = !is_blank;
        if (quote == '\0' && (*at == '\'' || *at == '"')) {
            quote = *at;
        } else if (*at == quote) {
            quote = '\0';
        } else if (!is_blank) {
            *to++ = *at;
        }
    }
    if (quote != '\0' || n == 0 || *words[0] == '\0') {
        free(words);
        return status_fail(STATUS_BAD_ARGUMENT,
                           quote != '\0' ? "a quote (%c) has no end" : "there is no command",
                           quote);
    }
    *out = words;
    return STATUS_OK;
}
