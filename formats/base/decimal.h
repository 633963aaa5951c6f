/*
 * decimal - decimal text to correctly rounded doubles, through fast_float.
 *
 * A number: [+-] digits [point digits] [e [+-] digits], with at least one digit before or after the
 * point; no blanks, no other letters. Text beyond the range of double is infinite, below it zero.
 */
#ifndef LEAT_FORMATS_BASE_DECIMAL_H
#define LEAT_FORMATS_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parses all of text[0 .. n) with `point` between the integer and the fraction; false, with *out
 * untouched, when it is not a number. Infinite when beyond the range; "inf" and "nan" are not
 * numbers. */
bool decimal_parse(const char *text, size_t n, char point, double *out);

/* The words for what is not finite: "nan", "inf", "infinity" and those of Microsoft's C library,
 * "1.#QNAN", "1.#IND00", "nan(ind)", "1.#INF", in any case of letters, with or without a sign;
 * false, with *out untouched, for any other text. */
bool decimal_parse_special(const char *text, size_t n, double *out);

/* A run of neighbouring columns in a delimited text, whose cells are taken as long as they are
 * plain finite numbers. */
struct decimal_run {
    const char *at, *end;  /* what is left of the text */
    double *out, *out_end; /* the numbers' room */
    size_t column;         /* of the cell at `at`; first <= column < last */
    size_t first, last;    /* the run's columns: first .. last - 1 */
    bool to_line_end;      /* the lines end with the run's last column */
    bool blanks;           /* cells are delimited by runs of spaces and tabs ... */
    char delimiter;        /* ... or by this */
    char point;
};

/* Parses cell after cell. `at`, `out` and `column` move past every cell that is a finite number
 * followed by the delimiter or, for the last column of a line, by LF or CR LF; after a line's end
 * the column is 0, and a run that is the whole line goes on with the next. Stops at column `last`,
 * when the room is full, and before the first cell that is anything else. Blanks before a number
 * are skipped. */
void decimal_run_cells(struct decimal_run *run);

#ifdef __cplusplus
}
#endif

#endif
