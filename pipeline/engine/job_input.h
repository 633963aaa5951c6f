/*
 * job_input - what a job is made from: its files, and its settings.
 */
#ifndef LEAT_PIPELINE_ENGINE_JOB_INPUT_H
#define LEAT_PIPELINE_ENGINE_JOB_INPUT_H

#include "formats/source/archive_input.h"
#include "pipeline/settings/settings.h"

/* One file of a job. */
struct job_part {
    char *path;       /* as messages name it; owned */
    const char *name; /* how result.json names it: the end of `path` that is beneath the folder or
                         archive that was given; NULL: its last component */
    int fd;           /* open file (a member taken from an archive); -1: open `path`, or a stream */
    /* A pipe, or a member that is read as it is unpacked: taken when it is opened. */
    bool is_stream;
    struct source_stream stream;
    char *archive; /* of a stream: the archive in which it is found again; owned. NULL: it is not */
    uint64_t entry; /* its number there */
    /* What is to be done before the mask that lies beside it is written into it; NULL: none does */
    const char *masked;
    char *prj; /* text of the .prj beside a grid; owned. NULL: none, or (fd < 0) not yet read */
};

/* What a job is made from; handed over with job_start. */
struct job_input {
    struct job_part parts[STAGE_MAX_PARTS]; /* as settings.parts */
    size_t n_parts;
    struct job_settings settings; /* resolved; owned */
    char *part_folder; /* of the output folder: the result is left there under that name, complete
                          but unpublished; owned; NULL: it is published */
    char *
        state; /* what the file with its state is called there; owned; NULL: by the result's name */
    char *id;  /* of the service's job, for result.json; owned; NULL: it has none */
    /* Opens the parts' files, once, where a disk may be waited for; NULL: they are open, or are by
     * their paths. `opener` is borrowed until the job has ended. */
    enum status (*open)(const void *opener, struct job_input *input);
    const void *opener;
};

/* As result.json names it. */
const char *job_part_name(const struct job_part *part);
/* Its file, from the first byte on. */
enum status job_part_open(const struct job_part *part, struct source **out) STATUS_MUST_CHECK;
/* A stream that was not opened goes back to whom it came from. */
void job_part_give_back(struct job_part *part);
void job_part_free(struct job_part *part);
/* Frees everything the input holds; *input is empty then. */
void job_input_free(struct job_input *input);

/* Which of the stage's parts number i of the job's is. */
static inline size_t job_input_stage_part(const struct job_input *input, size_t i)
{
    return (size_t)(input->settings.parts[i] - input->settings.stage->parts);
}

/* How an archive is read with these settings, within --memory. */
struct archive_input_options job_archive_options(const struct settings *settings,
                                                 const atomic_bool *stop);

#endif
