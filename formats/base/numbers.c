/*
 * numbers - see numbers.h. Number i of n from a to b is a + i * ((b - a) / (n - 1)), every
 * operation rounded, and b itself at the end. Where the step is so small that it is 0, i / (n - 1)
 * * (b - a) in its place, as NumPy has it.
 */
#include "formats/base/numbers.h"

#include "formats/base/decimal.h"
#include "formats/base/moment.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static void pass_blanks(const char **at)
{
    while (**at == ' ') {
        (*at)++;
    }
}

static bool take(const char **at, char c)
{
    pass_blanks(at);
    const bool there = **at == c;
    *at += there;
    return there;
}

static bool take_number(const char **at, double *out)
{
    pass_blanks(at);
    const size_t n = strspn(*at, "+-.0123456789eE");
    const bool good = decimal_parse(*at, n, '.', out) && isfinite(*out);
    *at += n;
    return good;
}

/* A number, or a date that ends before a comma or at the text's end; *is_date. */
static bool take_either(const char **at, double *out, bool *is_date)
{
    pass_blanks(at);
    size_t n = strcspn(*at, ",");
    while (n > 0 && (*at)[n - 1] == ' ') {
        n--;
    }
    *is_date = moment_parse(*at, n, out);
    *at += *is_date ? n : 0;
    return *is_date || take_number(at, out);
}

/* Also written 1e9. */
static bool take_count(const char **at, uint64_t *out)
{
    double real;
    if (!take_number(at, &real) || real != floor(real) || real < 0 || real > (double)NUMBERS_MOST) {
        return false;
    }
    *out = (uint64_t)real;
    return true;
}

/* Numbers, or dates, with commas between them; 0: the text is something else. */
static uint64_t count_list(const char *at, bool *are_dates)
{
    uint64_t n = 0;
    double x;
    do {
        bool is_date;
        if (!take_either(&at, &x, &is_date) || (n > 0 && is_date != *are_dates)) {
            return 0;
        }
        *are_dates = is_date;
        n++;
    } while (take(&at, ','));
    pass_blanks(&at);
    return *at == '\0' ? n : 0;
}

static void fill_list(const char *at, uint64_t from, size_t n, double *out)
{
    for (uint64_t i = 0; i < from + n; i++) {
        double x = NAN;
        bool is_date;
        (void)take_either(&at, &x, &is_date);
        (void)take(&at, ',');
        if (i >= from) {
            out[i - from] = x;
        }
    }
}

/* Of a long text its beginning, so that the message comes to what is wrong. */
static enum status refuse(const char *key, const char *text, const char *what)
{
    enum { SHOWN = 64 };
    return status_fail(STATUS_BAD_ARGUMENT, "%s: '%.*s%s'%s", key, SHOWN, text,
                       strlen(text) > SHOWN ? "..." : "", what);
}

/* "a:b:step". *is: the text begins so. */
static enum status parse_steps(const char *key, const char *text, struct numbers *out, bool *is)
{
    const char *at = text;
    double step = 0;
    *is = take_number(&at, &out->first) && take(&at, ':');
    if (!*is) {
        return STATUS_OK;
    }
    const bool whole = take_number(&at, &out->last) && take(&at, ':') && take_number(&at, &step);
    pass_blanks(&at);
    const double steps = (out->last - out->first) / step, n = floor(steps * (1 + 1e-12) + 1e-9);
    if (!whole || *at != '\0' || !(steps >= 1 && n < (double)NUMBERS_MOST)) {
        return refuse(key, text,
                      " is not a:b:step with a step that leads from a to b; n numbers from a to b "
                      "are linspace(a, b, n)");
    }
    out->last = fabs(steps - n) <= 1e-9 * steps ? out->last : out->first + n * step;
    out->n = (uint64_t)n + 1;
    return STATUS_OK;
}

static enum status refuse_form(const char *key, const char *text, bool dates)
{
    return refuse(key, text,
                  dates ? " is neither linspace(a, b, n) nor a list a, b, ..., of numbers or of "
                          "dates such as 2024-05-01T12:30, nor a:b:step of numbers"
                        : " is neither linspace(a, b, n) nor a:b:step nor a list a, b, ..., of "
                          "numbers");
}

enum status numbers_parse(const char *key, const char *text, bool dates, struct numbers *out)
{
    static const char name[] = "linspace";
    const char *at = text;
    bool is_done;
    *out = (struct numbers){.list = text};
    out->n = count_list(text, &out->are_dates);
    if (out->n > 0) {
        return out->are_dates && !dates ? refuse_form(key, text, dates) : STATUS_OK;
    }
    *out = (struct numbers){0};
    STATUS_TRY(parse_steps(key, text, out, &is_done));
    if (is_done) {
        return STATUS_OK;
    }
    pass_blanks(&at);
    const bool named = strncmp(at, name, sizeof name - 1) == 0;
    at += named ? sizeof name - 1 : 0;
    bool is_date;
    if (!named || !take(&at, '(') || !take_either(&at, &out->first, &out->are_dates) ||
        !take(&at, ',') || !take_either(&at, &out->last, &is_date) || is_date != out->are_dates ||
        !take(&at, ',') || (is_date && !dates)) {
        return refuse_form(key, text, dates);
    }
    if (!take_count(&at, &out->n) || out->n == 0 || !take(&at, ')')) {
        return refuse(key, text, ": n is not a whole number from 1 to 1000000000000000");
    }
    pass_blanks(&at);
    if (*at != '\0') {
        return refuse(key, text, " goes on after linspace(a, b, n)");
    }
    if (!isfinite(out->last - out->first)) {
        return refuse(key, text, ": b - a is too large for a double");
    }
    return STATUS_OK;
}

/* Those numbers whose place, counted in doubles, is `begin` and up to INT_MAX more. */
static void fill(const struct numbers *line, double begin, int n, double *out)
{
    const double steps = (double)(line->n - 1), length = line->last - line->first,
                 first = line->first;
    const double step = line->n > 1 ? length / steps : length;
    if (line->n > 1 && step == 0) {
        for (int i = 0; i < n; i++) {
            out[i] = (begin + (double)i) / steps * length + first;
        }
    } else {
        for (int i = 0; i < n; i++) {
            out[i] = (begin + (double)i) * step + first;
        }
    }
}

void numbers_fill(const struct numbers *line, uint64_t from, size_t n, double *out)
{
    if (line->list != NULL) {
        fill_list(line->list, from, n, out);
        return;
    }
    for (size_t at = 0; at < n; at += INT_MAX) {
        fill(line, (double)(from + at), n - at < INT_MAX ? (int)(n - at) : INT_MAX, out + at);
    }
    if (line->n > 1 && n > 0 && from + n == line->n) {
        out[n - 1] = line->last;
    }
}
