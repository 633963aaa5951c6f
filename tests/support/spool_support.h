/*
 * spool_support - what the spool's tests and its harness share: small files in folders that go
 * away.
 */
#ifndef LEAT_TESTS_SPOOL_SUPPORT_H
#define LEAT_TESTS_SPOOL_SUPPORT_H

#include "watch/files/beneath.h"
#include "watch/spool/spool_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a file with this text, and the folders before its last component; false: errno. */
static inline bool put_file(int at_fd, const char *path, const char *text)
{
    char folder[512];
    for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        mkdirat(at_fd, folder, 0777);
    }
    int fd = openat(at_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

static inline int remove_below(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    return where->level > 0 ? remove(path) : 0;
}

/* Removes all that is in a folder; false: errno. */
static inline bool clear_folder(const char *path)
{
    return nftw(path, remove_below, 16, FTW_DEPTH | FTW_PHYS) == 0;
}

/* The text of a small file; NULL: there is none. Valid until the next call. */
static inline const char *text_of(int at_fd, const char *path)
{
    static char text[8192];
    int fd = openat(at_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        return NULL;
    }
    text[n] = '\0';
    return text;
}

/* The text that hexadecimal digits spell, for free(). */
static inline char *unhex(const char *hex)
{
    char *text = malloc(strlen(hex) / 2 + 1);
    size_t n = 0;
    for (unsigned value; text != NULL && sscanf(hex, "%2x", &value) == 1; hex += 2) {
        text[n++] = (char)value;
    }
    if (text != NULL) {
        text[n] = '\0';
    }
    return text;
}

/* Whether there is anything of that name. */
static inline bool is_there(int at_fd, const char *path)
{
    struct stat st;
    return fstatat(at_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Entries of a folder but "." and ".."; 0 where there is no such folder. */
static inline size_t count_entries(int at_fd, const char *path)
{
    int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    size_t n = 0;
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return n;
}

/* Opens input i of a claimed job; -1: it is not a file. */
static inline int open_input(const struct spool *s, const struct spool_job *job, size_t i)
{
    char path[SPOOL_ID_BYTES + 8 + 256];
    struct stat st;
    int fd;
    snprintf(path, sizeof(path), "%s/in/%s", job->id, job->files[i].name);
    return beneath_open_file(s->work_fd, path, &st, &fd) == STATUS_OK ? fd : -1;
}

/* What stands for a worker: a result that holds all inputs, and a result.json. False: not done. */
static inline bool make_result(const struct spool *s, const struct spool_job *job)
{
    char path[512];
    char text[8192];
    const struct spool_part part = spool_part(s->owner, job->id);
    bool good = true;
    for (size_t i = 0; good && i < job->n_files; i++) {
        int fd = open_input(s, job, i);
        if (fd < 0) {
            return false;
        }
        ssize_t n = read(fd, text, sizeof(text) - 1);
        close(fd);
        text[n > 0 ? n : 0] = '\0';
        snprintf(path, sizeof(path), "%s/data/%zu", part.name, i);
        good = put_file(s->out_fd, path, text);
    }
    snprintf(path, sizeof(path), "%s/result.json", part.name);
    snprintf(text, sizeof(text), "{\n  \"schema\": 1,\n  \"leat\": \"1.2.3\",\n  \"job\": \"%s\"}",
             job->id);
    return good && put_file(s->out_fd, path, text);
}

#endif
