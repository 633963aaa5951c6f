/*
 * spool_harness - does the spool keep its promise when it is killed?
 *
 * sweep [WITHOUT [UNTIL]]: dies before and after every change on disk, and lets each fail, one a
 * run.
 *
 * random ROUNDS [WITHOUT [UNTIL]]: dies at random changes, or by SIGKILL at random instants, again
 * and again, while files arrive.
 *
 * power ROUNDS [WITHOUT [UNTIL]]: power is cut; what was not synced is lost, or part of it
 * (spool_power.h).
 *
 * disk ROUNDS [WITHOUT [UNTIL]]: power is cut for a real file system: FS_SHUTDOWN of the one that
 * TMPDIR is the root of, which is then mounted anew by the command in REMOUNT.
 *
 * bench JOBS BATCH: jobs per second.
 *
 * After the last death a service runs undisturbed; then every file dropped is looked for. A token
 * in it tells it from all others. Lost: it has no result, or is in neither done/ nor failed/.
 * Doubled: it has two. Torn: a result is not whole. Left: anything in in/, .work/ or hidden in
 * out/. Uncharged: work that has begun, and after the cut nobody knows of. WITHOUT leaves out a
 * change ("commit.record/rename", "/fsync"), the negative control: then something must be found, at
 * which it ends; UNTIL ("doubled"): not before this is. Exit status 0: nothing was, and the sweep
 * has hit every state; 1: else.
 */
#include "tests/spool_fault.h"
#include "tests/spool_power.h"
#include "tests/spool_service.h"
#include "tests/spool_support.h"
#include "watch/disk.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { TOKENS_MAX = 64 };

/* One run of the protocol over one set of files. */
struct round {
    char root[64];
    int root_fd;
    bool replace; /* and delete inputs */
    size_t batch;
    struct {
        char token[32];
        bool fails;
        unsigned n_results, n_archived, n_failed;
    } tokens[TOKENS_MAX];
    size_t n_tokens;
};

static struct totals {
    unsigned long n_rounds, n_deaths, n_lost, n_doubled, n_torn, n_left, n_uncharged;
} totals;
static const char *without = "", *until = "";
static const char *base; /* folder for the rounds */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned random_below(unsigned n)
{
    static unsigned long long x = 88172645463325252ULL;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (unsigned)(x % n);
}

/* Whether a control has found what it was to find. */
static bool is_found(void)
{
    return *until == '\0'                  ? false
           : strcmp(until, "doubled") == 0 ? totals.n_doubled > 0
                                           : totals.n_lost + totals.n_doubled + totals.n_torn +
                                                     totals.n_left + totals.n_uncharged >
                                                 0;
}

/* Drops a file whole, as a careful user does. */
static void drop(struct round *r, const char *path, bool fails)
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

/* `many`: enough jobs for them to share a sync. */
static void begin_round(struct round *r, bool replace, bool many)
{
    static unsigned long number;
    *r = (struct round){.replace = replace, .batch = many ? 16 : 3};
    snprintf(r->root, sizeof(r->root), "%s/%lu", base, number++);
    mkdir(r->root, 0700);
    r->root_fd = open(r->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->root_fd < 0 || mkdirat(r->root_fd, "in", 0700) != 0) {
        perror(r->root);
        _exit(2);
    }
    drop(r, "in/x/a.csv", false); /* these two often end when no other does */
    drop(r, "in/y/z/b.csv", false);
    drop(r, "in/a.csv", false);
    drop(r, "in/p.dem.asc", false);
    drop(r, "in/p.source.asc", false);
    drop(r, "in/bad.csv", true);
    drop(r, "in/r.csv", false);
    drop(r, "in/again.csv", false);
    for (int i = 0; many && i < 8; i++) {
        char name[32];
        snprintf(name, sizeof(name), "in/m%d.csv", i);
        drop(r, name, false);
    }
    for (int i = 0; many && i < 8; i++) {
        char name[32];
        snprintf(name, sizeof(name), "in/bad.%d.csv", i);
        drop(r, name, true);
    }
    put_file(r->root_fd, "out/r/result.json", "{}");
    put_file(r->root_fd, "out/r/data/0", "old");
    totals.n_rounds++;
}

static struct spool_service_options service_of(const struct round *r)
{
    return (struct spool_service_options){
        .spool = {.root = r->root,
                  .replace = r->replace,
                  .delete_inputs = r->replace,
                  .max_attempts = 1000},
        .batch = r->batch,
    };
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
        strcmp(name, "job") == 0 || strcmp(name, "attempts") == 0) {
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

/* Results must be whole; a failure must have its reason. */
static int check_whole(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    struct round *r = user;
    char file[300];
    if (!is_folder || strchr(path, '/') != NULL) {
        return 0;
    }
    bool failure = strchr(name, '-') == name + 8;
    snprintf(file, sizeof(file), "%s/%s", name, failure ? "reason.json" : "result.json");
    const char *text = text_of(at_fd, file);
    bool whole = text != NULL && text[0] == '{';
    snprintf(file, sizeof(file), "%s/data", name);
    if (!failure && count_entries(at_fd, file) != (strncmp(name, "p", 1) == 0 ? 2U : 1U)) {
        whole = false;
    }
    if (!whole) {
        printf("%s: not whole: %s\n", r->root, path);
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
            disk_walk(fd, 8, check_whole, r);
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

static void check_round(struct round *r)
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
        const bool replaced = r->replace && strstr(r->tokens[i].token, "a.csv") != NULL;
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
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", r->root);
    if (system(command) != 0) {
        perror("rm");
    }
}

/* --- deaths */

/* Runs a service in a child with what spool_fault plans; kill_us: SIGKILL after that long, and half
 * way a file arrives. Returns its exit status; SPOOL_FAULT_DIED also when killed. */
static int run_child(struct round *r, bool keeps_going, unsigned kill_us)
{
    fflush(NULL);
    spool_fault->n_changes = 0;
    snprintf(spool_fault->without, sizeof(spool_fault->without), "%s", without);
    pid_t pid = fork();
    if (pid == 0) {
        struct spool_service_options options = service_of(r);
        options.keeps_going = keeps_going;
        if (freopen("/dev/null", "w", stderr) == NULL) {
            _exit(3);
        }
        _exit(spool_service_run(&options) ? 0 : 1);
    }
    if (kill_us > 0) {
        char name[32];
        snprintf(name, sizeof(name), "in/l%zu.csv", r->n_tokens);
        usleep(kill_us / 2);
        drop(r, name, false);
        usleep(kill_us / 2);
        kill(pid, SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : SPOOL_FAULT_DIED;
    totals.n_deaths += code == SPOOL_FAULT_DIED;
    return code;
}

/* The service once more, undisturbed. */
static void run_to_the_end(struct round *r)
{
    spool_fault_clear();
    int code = run_child(r, false, 0);
    if (code != 0) {
        printf("%s: the undisturbed service ended with %d\n", r->root, code);
        totals.n_left++;
    }
    check_round(r);
}

/* One change after the other: dies before it (way 0), after it (1), or it fails (2). */
static void sweep_one(bool replace, bool many, int way)
{
    bool reached = true;
    for (unsigned long k = 1; reached && !is_found(); k++) {
        struct round r;
        begin_round(&r, replace, many);
        spool_fault_clear();
        *(way == 0   ? &spool_fault->die_before
          : way == 1 ? &spool_fault->die_after
                     : &spool_fault->fail_at) = k;
        spool_fault->error = k % 2 == 0 ? ENOSPC : EIO;
        run_child(&r, false, 0);
        reached = spool_fault->n_changes >= k;
        run_to_the_end(&r);
    }
}

static void sweep(void)
{
    for (int way = 0; way < 3; way++) {
        sweep_one(false, false, way);
        sweep_one(true, false, way);
    }
    sweep_one(false, true, 0);
    sweep_one(false, true, 2);
}

static void randomly(unsigned long rounds)
{
    unsigned usual_us = 0;
    for (unsigned long n = 0; n < rounds && !is_found(); n++) {
        struct round r;
        begin_round(&r, n % 4 > 1, n % 5 == 4);
        if (n == 0) {
            double begin = now_s();
            run_to_the_end(&r);
            usual_us = (unsigned)(1e6 * (now_s() - begin)) + 1000;
            continue;
        }
        for (unsigned deaths = 1 + random_below(5), i = 0; i < deaths; i++) {
            char name[32];
            snprintf(name, sizeof(name), "in/k%u.csv", i);
            spool_fault_clear();
            if (n % 2 == 0) {
                *(random_below(2) == 0 ? &spool_fault->die_before : &spool_fault->die_after) =
                    1 + random_below(i == 0 ? 300 : 60);
                run_child(&r, false, 0);
            } else {
                run_child(&r, true, 1 + random_below(2 * usual_us));
            }
            drop(&r, name, false);
        }
        run_to_the_end(&r);
    }
}

/* --- power cuts: see spool_power.h */

/* A life that is recorded, and what is left of it. */
static void live_and_cut(struct round *r, const char *trace, unsigned most)
{
    struct spool_power *before = spool_power_new(r->root_fd);
    spool_fault->trace = fopen(trace, "w");
    if (before == NULL || spool_fault->trace == NULL) {
        perror(trace);
        _exit(2);
    }
    spool_fault->die_after = 1 + random_below(most);
    run_child(r, false, 0);
    fclose(spool_fault->trace);
    spool_fault_clear();
    if (!spool_power_cut(before, trace, r->root, random_below)) {
        printf("%s: the recording cannot be played\n", r->root);
        totals.n_left++;
    }
    totals.n_uncharged += spool_power_uncharged(before);
    spool_power_free(before);
    close(r->root_fd);
    r->root_fd = open(r->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void cut_power(unsigned long rounds)
{
    struct round r;
    char trace[128];
    snprintf(trace, sizeof(trace), "%s/trace", base);
    for (unsigned long n = 0; n < rounds && !is_found(); n++) {
        begin_round(&r, n % 4 == 3, n % 3 == 2);
        struct spool_service_options options = service_of(&r);
        struct spool *s;
        if (spool_open(&options.spool, &s) == STATUS_OK) { /* makes the folders */
            spool_close(s);
        }
        spool_fault_clear();
        if (n % 5 == 1) { /* commits that fail, and are tried again or taken back */
            strcpy(spool_fault->fail_step, "commit.folder");
            spool_fault->fail_steps = 1 + random_below(3);
            spool_fault->error = EIO;
        }
        live_and_cut(&r, trace, r.batch > 3 ? 500 : 300);
        if (n % 4 == 2) { /* the next life is cut as well: what it finds, it has to put on disk */
            live_and_cut(&r, trace, 150);
        }
        run_to_the_end(&r);
    }
    unlink(trace);
}

/* The file system forgets what it has not yet written: contents, and by chance its journal too.
 * The numbers are XFS_FSOP_GOING_FLAGS_LOGFLUSH and _NOLOGFLUSH, and ext4's. */
static bool shut_down(const char *path)
{
    const uint32_t flags = 1 + random_below(2);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && ioctl(fd, _IOR('X', 125, uint32_t), &flags) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

static void cut_disk(unsigned long rounds)
{
    const char *remount = getenv("REMOUNT");
    for (unsigned long n = 0; n < rounds; n++) {
        struct round r;
        begin_round(&r, n % 4 == 3, n % 3 == 2);
        if (syncfs(r.root_fd) != 0) { /* what was dropped was there before the power failed */
            perror(r.root);
        }
        spool_fault_clear();
        spool_fault->die_after = 1 + random_below(r.batch > 3 ? 500 : 300);
        run_child(&r, false, 0);
        close(r.root_fd);
        if (remount == NULL || !shut_down(base) || system(remount) != 0) {
            printf("%s: no file system that can be shut down\n", base);
            totals.n_left++;
            return;
        }
        r.root_fd = open(r.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        run_to_the_end(&r);
    }
}

static void bench(unsigned long n, unsigned long batch)
{
    struct round r = {0};
    char name[40];
    snprintf(r.root, sizeof(r.root), "%s/bench", base);
    mkdir(r.root, 0700);
    r.root_fd = open(r.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned long i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "in/f%06lu.csv", i);
        put_file(r.root_fd, name, "1,2,3\n4,5,6\n");
    }
    struct spool_service_options options = service_of(&r);
    options.batch = batch;
    double begin = now_s();
    bool good = spool_service_run(&options);
    double wall = now_s() - begin;
    close(r.root_fd);
    printf("%s: %lu jobs in batches of %lu: %.2f s, %.0f jobs/s\n", good ? "good" : "BAD", n, batch,
           wall, (double)n / wall);
}

int main(int argc, char **argv)
{
    static char folder[256];
    const char *what = argc > 1 ? argv[1] : "";
    const bool counts = strcmp(what, "sweep") != 0;
    const unsigned long n = counts && argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/leat-harness-XXXXXX",
             tmp != NULL    ? tmp
             : *what == 'b' ? "/tmp"
                            : memory);
    spool_fault =
        mmap(NULL, sizeof(*spool_fault), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    base = mkdtemp(folder);
    if (spool_fault == MAP_FAILED || base == NULL || (counts && n == 0)) {
        fprintf(
            stderr,
            "usage: spool_harness sweep|random ROUNDS|power ROUNDS|disk ROUNDS|bench JOBS BATCH\n");
        return 2;
    }
    double begin = now_s();
    char *const *options = argv + (counts ? 3 : 2);
    const char *last = argc > (counts ? 3 : 2) ? options[0] : "";
    if (strcmp(what, "bench") == 0) {
        bench(n, *last != '\0' ? strtoul(last, NULL, 10) : 32);
    } else {
        without = last;
        until = argc > (counts ? 4 : 3) ? options[1] : *without != '\0' ? "anything" : "";
        if (strcmp(what, "sweep") == 0) {
            sweep();
        } else if (strcmp(what, "random") == 0) {
            randomly(n);
        } else if (strcmp(what, "disk") == 0) {
            cut_disk(n);
        } else {
            cut_power(n);
        }
    }
    bool all = true; /* states entered were also such in which the process died */
    const bool wants_all = strcmp(what, "sweep") == 0;
    for (unsigned i = 0; i < spool_fault->n_points && *what != 'b'; i++) {
        printf("%-28s entered %7lu  died %5lu  failed %5lu\n", spool_fault->points[i].name,
               spool_fault->points[i].n_seen, spool_fault->points[i].n_died,
               spool_fault->points[i].n_failed);
        all = all && spool_fault->points[i].n_died > 0;
    }
    printf("%s: %lu rounds, %lu deaths, %.1f s: lost %lu, doubled %lu, torn %lu, left over %lu, "
           "uncharged %lu%s\n",
           what, totals.n_rounds, totals.n_deaths, now_s() - begin, totals.n_lost, totals.n_doubled,
           totals.n_torn, totals.n_left, totals.n_uncharged,
           all || !wants_all ? "" : "; not every state was hit");
    char command[300];
    snprintf(command, sizeof(command), "rm -rf %s", base);
    if (system(command) != 0) {
        perror(base);
    }
    const bool found =
        totals.n_lost + totals.n_doubled + totals.n_torn + totals.n_left + totals.n_uncharged > 0;
    return found || (wants_all && !all) ? 1 : 0;
}
