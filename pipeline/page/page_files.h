/*
 * page_files - which files the page shows: those of results, beneath the folder for results, and
 * the reasons of failures.
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_FILES_H
#define LEAT_PIPELINE_PAGE_PAGE_FILES_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct page_files {
    int results_fd, failed_fd, status_fd; /* folders; -1: not there when the process began */
};

struct page_file {
    int fd; /* for reading; owned */
    uint64_t bytes;
    const char *type; /* of its content */
    bool is_shown;    /* by browsers; others are saved */
};

enum status page_files_open(const char *spool, const char *output,
                            struct page_files *out) STATUS_MUST_CHECK;
void page_files_close(struct page_files *files);

/* Opens what the path asks for, "results/FOLDER/X/NAME" or "failed/ID/reason.json". Links of any
 * kind, ".." and names that begin with a dot lead nowhere. STATUS_NOT_FOUND: there is no such file,
 * or none that is shown; STATUS_EXISTS: it is a folder of results. */
enum status page_files_find(const struct page_files *files, const char *path,
                            struct page_file *out) STATUS_MUST_CHECK;
/* The page that lists a folder of results, "results/" or "results/FOLDER/", by name: of a thousand
 * entries at most whose names hold the text `search` in any case, the newest, and how many more
 * there are. STATUS_NOT_FOUND. */
enum status page_files_list(const struct page_files *files, const char *path, const char *search,
                            struct bytes *out) STATUS_MUST_CHECK;

#endif
