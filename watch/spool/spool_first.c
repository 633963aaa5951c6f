/*
 * spool_first - how old a job is whose inputs were put back into in/: as old as the job that they
 * were of first, so that for having failed it replaces no newer result.
 *
 * For each input there is a link .work/retried.INODE, which leads nowhere and says that job's id
 * and which file that is. A file that has been written to or renamed since is another one. A link
 * goes when a file of that inode number is claimed, and at a start that does not find its file.
 * Where there are no such links, or .work may not be written by whoever puts the inputs back, they
 * are a new drop.
 */
#include "watch/spool/spool_state.h"

#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char begin[] = "retried.";
_Static_assert(SPOOL_ID_BYTES == 23, "an id is read with %.22s");

struct note {
    char name[40], text[PATH_MAX];
};

static struct note note_of(const char *id, const char *folder, const struct spool_file *file)
{
    struct note note;
    snprintf(note.name, sizeof(note.name), "%s%" PRIu64, begin, file->inode);
    snprintf(note.text, sizeof(note.text), "%s %" PRIu64 " %" PRId64 " %s%s%s", id, file->size,
             file->mtime_ns, folder, *folder != '\0' ? "/" : "", file->name);
    return note;
}

static void read_text(const struct spool *s, struct note *note)
{
    const ssize_t n = readlinkat(s->work_fd, note->name, note->text, sizeof(note->text) - 1);
    note->text[n > 0 ? n : 0] = '\0';
}

void spool_note_first(int work_fd, const char *folder, const struct spool_file *file,
                      const char *id)
{
    const struct note note = note_of(id, folder, file);
    disk_unlink("retry.note", work_fd, note.name);
    disk_link("retry.note", work_fd, note.name, note.text);
}

/* Of one input; false: it is a new drop. */
static bool read_first(const struct spool *s, const char *folder, const struct spool_file *file,
                       char id[SPOOL_ID_BYTES])
{
    struct note found = note_of("", folder, file);
    read_text(s, &found);
    snprintf(id, SPOOL_ID_BYTES, "%.22s", found.text);
    return spool_id_time(id) >= 0 && strcmp(found.text, note_of(id, folder, file).text) == 0;
}

void spool_find_first(const struct spool *s, struct spool_job *job)
{
    char id[SPOOL_ID_BYTES];
    job->first[0] = '\0';
    for (size_t i = 0; i < job->n_files; i++) {
        if (!read_first(s, job->folder, &job->files[i], id)) {
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
        const struct note note = note_of("", "", &job->files[i]);
        if (fstatat(s->work_fd, note.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            disk_unlink("claim.note", s->work_fd, note.name);
        }
    }
}

bool spool_keep_note(const struct spool *s, const char *name)
{
    struct note found;
    struct stat st;
    uint64_t inode;
    int path = 0;
    if (strncmp(name, begin, strlen(begin)) != 0) {
        return false;
    }
    snprintf(found.name, sizeof(found.name), "%s", name);
    read_text(s, &found);
    sscanf(found.text, "%*s %*u %*d%n", &path); /* and a blank; the path may begin with one, too */
    if (sscanf(name + strlen(begin), "%" SCNu64, &inode) != 1 || found.text[path] != ' ' ||
        (fstatat(s->in_fd, found.text + path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0
             ? st.st_ino != inode
             : errno == ENOENT)) {
        disk_unlink("recover.note", s->work_fd, name);
    }
    return true;
}

const char *spool_first_id(const struct spool_job *job)
{
    return job->first[0] != '\0' ? job->first : job->id;
}
