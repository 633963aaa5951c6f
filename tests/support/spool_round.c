/* spool_round - see spool_round.h. */
#include "tests/support/spool_round.h"

#include "tests/support/spool_support.h"
#include "watch/files/disk.h"

struct totals totals;

void drop(struct round *r, const char *path, bool fails)
{
    char fresh[128];
    char token[32];
    snprintf(token, sizeof(token), "<%zu %s>", r->n_tokens, path);
    snprintf(r->tokens[r->n_tokens].token, sizeof(token), "%s", token);
    r->tokens[r->n_tokens++].fails = fails;
    snprintf(fresh, sizeof(fresh), "%s.part", path);
    if (!put_file(r->root_fd, fresh, token) || renameat(r->root_fd, fresh, r->root_fd, path) != 0) {
        perror(path);
        _exit(2);
    }
}

void begin_round(struct round *r, const char *base, const char *disk, bool replace, size_t n_more)
{
    static unsigned long number;
    const size_t batch = n_more > 0 ? 16 : 3;
    *r = (struct round){.replace = replace,
                        .batch = batch,
                        .claims = batch,
                        .attempts = batch,
                        .durable = batch,
                        .ends = batch};
    snprintf(r->root, sizeof(r->root), "%s/%lu", base, number++);
    mkdir(r->root, 0700);
    r->root_fd = open(r->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->root_fd < 0 || mkdirat(r->root_fd, "in", 0700) != 0) {
        perror(r->root);
        _exit(2);
    }
    if (disk != NULL) {
        snprintf(r->out, sizeof(r->out), "%s/%lu", disk, number);
        if (mkdir(r->out, 0700) != 0 || symlinkat(r->out, r->root_fd, "out") != 0) {
            perror(r->out);
            _exit(2);
        }
    }
    drop(r, "in/x/a.csv", false); /* these two often end when no other does */
    drop(r, "in/y/z/b.csv", false);
    drop(r, "in/a.csv", false);
    drop(r, "in/x/a.tsv", false); /* the same result as x/a.csv */
    drop(r, "in/y.csv", false);   /* a result where others have a folder */
    drop(r, "in/p.dem.asc", false);
    drop(r, "in/p.source.asc", false);
    drop(r, "in/bad.csv", true);
    drop(r, "in/r.csv", false);
    drop(r, "in/again.csv", false);
    for (size_t i = 0; i < n_more; i++) {
        char name[32];
        snprintf(name, sizeof(name), "in/m%zu/m.csv", i);
        drop(r, name, false);
    }
    put_file(r->root_fd, "out/r/result.json", "{}");
    put_file(r->root_fd, "out/r/data/0", "old");
    put_file(r->root_fd, "out/x/a/result.json", "{}");
    put_file(r->root_fd, "out/x/a/data/0", "old");
    totals.n_rounds++;
}

/* --- what is there in the end */

struct search {
    struct round *r;
    bool in_out, in_failed; /* neither: done/ */
};

static int count_tokens(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    const struct search *search = user;
    struct round *r = search->r;
    if (search->in_out && name[0] == '.') {
        totals.n_left++;
    }
    if (is_folder || strcmp(name, "result.json") == 0 || strcmp(name, "reason.json") == 0 ||
        strcmp(name, "job") == 0 || strcmp(name, "job.new") == 0) {
        return 0;
    }
    const char *text = text_of(at_fd, name);
    for (size_t i = 0; text != NULL && i < r->n_tokens; i++) {
        if (strcmp(text, r->tokens[i].token) == 0) {
            (*(search->in_out ? &r->tokens[i].n_results : &r->tokens[i].n_archived))++;
            r->tokens[i].n_failed += search->in_failed;
            return 0;
        }
    }
    if (text == NULL || strcmp(text, "old") != 0) {
        printf("%s: torn: %s\n", r->root, path);
        totals.n_torn++;
    }
    return 0;
}

/* No record is damaged here, nor do files vanish. */
static bool is_whole_failure(int at_fd, const char *name)
{
    char file[300];
    snprintf(file, sizeof(file), "%s/reason.json", name);
    const char *text = text_of(at_fd, file);
    return text != NULL && text[0] == '{' && strstr(text, "\"internal\"") == NULL;
}

static bool is_whole_result(int at_fd, const char *name)
{
    char file[300];
    snprintf(file, sizeof(file), "%s/result.json", name);
    const char *text = text_of(at_fd, file);
    const bool has_json = text != NULL && text[0] == '{';
    snprintf(file, sizeof(file), "%s/data", name);
    return has_json && count_entries(at_fd, file) == (strncmp(name, "p", 1) == 0 ? 2U : 1U);
}

/* A folder in OUT that holds folders, and nothing of a result. */
static bool is_above_results(int at_fd, const char *name)
{
    char file[300];
    snprintf(file, sizeof(file), "%s/result.json", name);
    const bool has_json = is_there(at_fd, file);
    snprintf(file, sizeof(file), "%s/data", name);
    return !has_json && !is_there(at_fd, file) && count_entries(at_fd, name) > 0;
}

/* Results must be whole, at whatever depth, and lie in no other; a failure must have its reason. */
static int check_whole(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    const struct search *search = user;
    const bool is_below = strchr(path, '/') != NULL;
    if (!is_folder || (search->in_failed && is_below) ||
        (search->in_out && strcmp(name, "data") == 0)) {
        return 0;
    }
    const bool whole = search->in_failed
                           ? is_whole_failure(at_fd, name)
                           : is_above_results(at_fd, name) ||
                                 (is_whole_result(at_fd, name) && count_entries(at_fd, name) == 2);
    if (!whole) {
        printf("%s: not whole: %s\n", search->r->root, path);
        totals.n_torn++;
    }
    return 0;
}

static void count_in(struct round *r, const char *folder)
{
    struct search search = {r, strcmp(folder, "out") == 0, strcmp(folder, "failed") == 0};
    int fd = openat(r->root_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        disk_walk(fd, 8, count_tokens, &search);
        if (strcmp(folder, "done") != 0) {
            disk_walk(fd, 8, check_whole, &search);
        }
        close(fd);
    }
}

static int count_files(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    (void)at_fd;
    (void)name;
    (void)path;
    *(unsigned long *)user += !is_folder;
    return 0;
}

/* Whether another input has the same name of a result, in the same folder, and has one. */
static bool has_later(const struct round *r, size_t i)
{
    const char *path = strchr(r->tokens[i].token, ' ');
    const size_t n = strcspn(path, ".") + 1;
    bool found = false;
    for (size_t k = 0; k < r->n_tokens; k++) {
        const char *other = strchr(r->tokens[k].token, ' ');
        found = found || (k != i && r->tokens[k].n_results > 0 && strncmp(path, other, n) == 0);
    }
    return found;
}

void check_round(struct round *r)
{
    unsigned long waiting = 0;
    int in_fd = openat(r->root_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    disk_walk(in_fd, 8, count_files, &waiting);
    close(in_fd);
    const size_t left = count_entries(r->root_fd, ".work");
    if (waiting > 0 || left != 1) {
        printf("%s: %lu left in in/, %zu in .work/\n", r->root, waiting, left);
        totals.n_left += waiting + (left > 1 ? left - 1 : 0);
    }
    count_in(r, "out");
    count_in(r, "done");
    count_in(r, "failed");
    for (size_t i = 0; i < r->n_tokens; i++) {
        const unsigned results = r->tokens[i].n_results;
        const unsigned archived = r->tokens[i].n_archived;
        const bool fails = r->tokens[i].fails;
        /* With `replace` results of one name follow each other: the last one stays. */
        const bool replaced =
            r->replace && strstr(r->tokens[i].token, "/a.") != NULL && has_later(r, i);
        const bool kept = !r->replace || fails;
        if ((results == 0 && !fails && !replaced) || (archived == 0 && kept)) {
            printf("%s: lost: %s\n", r->root, r->tokens[i].token);
            totals.n_lost++;
        }
        if (r->tokens[i].n_failed > 0 && !fails) {
            printf("%s: failed for nothing: %s\n", r->root, r->tokens[i].token);
            totals.n_torn++;
        }
        if (results > 1 || (results > 0 && fails) || archived > 1) {
            printf("%s: doubled: %s\n", r->root, r->tokens[i].token);
            totals.n_doubled++;
        }
    }
    close(r->root_fd);
    if (!clear_folder(r->root) || rmdir(r->root) != 0) {
        perror(r->root);
    }
}
