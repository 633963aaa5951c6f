/*
 * spool_first - how old a job is whose inputs were put back into in/: as old as the job that they
 * were of first, so that for having failed it replaces no newer result.
 *
 * For each input there is a link .work/retried.INODE, which leads nowhere and says that job's id
 * and what the input is. One whose input has been written to since, or never comes back, says
 * nothing about another file; it goes when a file of that inode number is claimed. Where there are
 * no such links, or .work may not be written by whoever puts the inputs back, they are a new drop.
 */
#include "watch/spool/spool_state.h"

#include "watch/files/disk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char begin[] = "retried.";
_Static_assert(SPOOL_ID_BYTES == 23, "an id is read with %.22s");

struct note {
    char name[40], text[SPOOL_ID_BYTES + 48];
};

static struct note note_of(const struct spool_file *file, const char *id)
{
    struct note note;
    snprintf(note.name, sizeof(note.name), "%s%" PRIu64, begin, file->inode);
    snprintf(note.text, sizeof(note.text), "%s %" PRIu64 " %" PRId64, id, file->size,
             file->mtime_ns);
    return note;
}

bool spool_is_note(const char *name)
{
    return strncmp(name, begin, strlen(begin)) == 0;
}

void spool_note_first(int work_fd, const struct spool_file *file, const char *id)
{
    const struct note note = note_of(file, id);
    disk_unlink("retry.note", work_fd, note.name);
    disk_link("retry.note", work_fd, note.name, note.text);
}

/* Of one input; false: it is a new drop. */
static bool read_first(const struct spool *s, const struct spool_file *file,
                       char id[SPOOL_ID_BYTES])
{
    struct note found = note_of(file, "");
    const ssize_t n = readlinkat(s->work_fd, found.name, found.text, sizeof(found.text) - 1);
    found.text[n > 0 ? n : 0] = '\0';
    snprintf(id, SPOOL_ID_BYTES, "%.22s", found.text);
    return spool_id_time(id) >= 0 && strcmp(found.text, note_of(file, id).text) == 0;
}

void spool_find_first(const struct spool *s, struct spool_job *job)
{
    char id[SPOOL_ID_BYTES];
    job->first[0] = '\0';
    for (size_t i = 0; i < job->n_files; i++) {
        if (!read_first(s, &job->files[i], id)) {
            job->first[0] = '\0';
            return;
        }
        if (strcmp(id, job->first) > 0) {
            memcpy(job->first, id, sizeof(id));
        }
    }
}

void spool_forget_notes(const struct spool *s, const struct spool_job *job)
{
    struct stat st;
    for (size_t i = 0; i < job->n_files; i++) {
        const struct note note = note_of(&job->files[i], "");
        if (fstatat(s->work_fd, note.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            disk_unlink("claim.note", s->work_fd, note.name);
        }
    }
}

const char *spool_first_id(const struct spool_job *job)
{
    return job->first[0] != '\0' ? job->first : job->id;
}
