/*
 * table_options - what the user may say about a table: the parameters of every pipeline.
 */
#ifndef LEAT_FORMATS_TABLE_TABLE_OPTIONS_H
#define LEAT_FORMATS_TABLE_TABLE_OPTIONS_H

#include "formats/base/status.h"
#include "formats/geo/grid.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is the default. Strings are borrowed for the life of the table. */
struct table_options {
    const char *columns; /* text: "3-9,T,RH,-1,-2:,-time"; NULL: every numeric column */
    const char *member;  /* .npz: the member's name; NULL: the only two-dimensional numeric one */
    const char *sheet; /* spreadsheets: its name, or number from 1; NULL: the first with numbers */
    /* "-9999,ERR": numbers, which become NaN, in grids NODATA; and words, of text; NULL: none */
    const char *missing_value;
    const char *skip;       /* text: so many lines are passed over before all else; NULL: 0 */
    const char *header;     /* text: "none", or the number from 0 of the line with the names; NULL:
                               "auto" */
    const char *comment;    /* text: what lines that are comments begin with, or "none"; NULL: # */
    const char *sep;        /* text: the delimiter, as itself or as its name; NULL: detected */
    const char *decimal;    /* text: the decimal sign, likewise */
    const char *thousands;  /* text: what parts thousands, likewise */
    const char *unreadable; /* text: "missing": cells of numbers that are none; NULL: "reject" */
    const char *sums;       /* text: "data": rows named Total and the like are; NULL: "auto" */
    const char *dataset; /* HDF5: the path of the dataset; NULL: the only one that may be meant */
    const char *band;    /* grids of several bands: its number from 1; NULL: the only one */
    const char *prj;     /* .asc: text of the .prj file beside it, carried to results; NULL: none */
    bool has_companions; /* it may bring files beside it, and those that it names */
    bool for_grid;       /* it stands in a grid's place: a grid, or numbers alone */
    /* for_grid: it may be polygons, on the cells of `onto` (NULL: they have none, which is
     * refused), which get the number that this text is, or else that of the attribute which it
     * names; "": thickness, height or depth. NULL: it may not */
    const char *polygons;
    const struct grid *onto;
    bool dates; /* text: the first column may be dates and times, as of moment.h */
    bool words; /* a text of names alone: a line has two labels and the number 0; no header */
    size_t max_line_bytes; /* the longest line of text believed; 0: 64 MiB */
};

/* Another one has its line here and in `options` of table_options.c, its member above, and its
 * entry in leat-tables.7 and the list of leat.conf.5. */
enum table_option {
    TABLE_COLUMNS,
    TABLE_MEMBER,
    TABLE_SHEET,
    TABLE_MISSING_VALUE,
    TABLE_SKIP,
    TABLE_HEADER,
    TABLE_COMMENT,
    TABLE_SEP,
    TABLE_DECIMAL,
    TABLE_THOUSANDS,
    TABLE_UNREADABLE,
    TABLE_SUMS,
    TABLE_DATASET,
    TABLE_BAND,
    TABLE_N_OPTIONS
};

/* The key that the user knows an option by. */
const char *table_option_key(enum table_option option);
/* For a help: what the value is called; what the option does, in a sentence. */
const char *table_option_value(enum table_option option);
const char *table_option_help(enum table_option option);
/* What it applies to, where other formats ignore it: "CSV and TSV". */
const char *table_option_applies(enum table_option option);
/* Whether an option has that key: *out. */
bool table_option_find(const char *key, enum table_option *out);
/* What an option is set to; NULL: it is not. */
const char *table_option_get(const struct table_options *o, enum table_option option);
/* Sets it, borrowing the text. STATUS_BAD_ARGUMENT: it is nothing that the option can be, whatever
 * table it is for. */
enum status table_option_set(struct table_options *o, enum table_option option,
                             const char *text) STATUS_MUST_CHECK;

/* What stands for a missing number. */
enum { TABLE_MISSING_MAX = 32 }; /* numbers and words together */
struct table_missing {
    double numbers[TABLE_MISSING_MAX + 1]; /* an infinity is two, one of either sign */
    struct table_word {
        const char *text; /* [n] */
        size_t n;
    } words[TABLE_MISSING_MAX];
    size_t n_numbers, n_words;
};

/* Signs of a text that the user says; 0: detected. */
struct table_signs {
    char sep;       /* ' ': runs of blanks */
    char decimal;   /* . or , */
    char thousands; /* , . ' or ' ', which stands for all kinds of blanks */
};

enum { TABLE_HEADER_AUTO = -2, TABLE_HEADER_NONE = -1 };

/* What the user calls a sign of numbers: comma, point, blank, apostrophe. */
const char *table_sign_name(char sign);

/* The options as they are meant; texts are borrowed from them. */
struct table_choice {
    struct table_missing missing;
    size_t skip;
    long header; /* TABLE_HEADER_..., or 0 and more */
    struct table_signs signs;
    size_t band; /* 0: not said */
    bool unreadable_is_missing, sums_are_data;
    char comment; /* 0: nothing begins one */
    bool comment_is_said;
};
/* STATUS_BAD_ARGUMENT. */
enum status table_options_parse(const struct table_options *o,
                                struct table_choice *out) STATUS_MUST_CHECK;

#endif
