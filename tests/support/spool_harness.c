/*
 * spool_harness - does the spool keep its promise when it is killed?
 *
 * sweep [WITHOUT [UNTIL]]: dies before and after every change on disk, and lets each fail, one a
 * run; before every second. Where results are replaced each change has one of the three; of those
 * for many like jobs at once it is every third that has one, and all that they share. SPOOL_STRIDE:
 * at every so many of all, 1: at each.
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
 * out ROUNDS [WITHOUT [UNTIL]]: the results lie on a file system of their own, that of OUT_DISK,
 * which loses its disk while the service lives: before an fsync there, of all of them as many as
 * there are rounds, evenly. REMOUNT mounts it again.
 *
 * bench JOBS BATCH: jobs per second.
 *
 * After the last death a service runs undisturbed; then every file dropped is looked for, and it is
 * counted what is lost, doubled, torn or left over (spool_round.h), and what is uncharged: work
 * that had begun, and of which nobody knows after the cut. WITHOUT leaves out a change
 * ("commit.record/rename", "/fsync"), the negative control: then something must be found, at which
 * it ends; UNTIL ("doubled"): not before this is. SPOOL_SEED: other chances. Exit status 0: nothing
 * was, and the sweep has hit every state; 1: else.
 */
#include "tests/support/spool_fault.h"
#include "tests/support/spool_power.h"
#include "tests/support/spool_round.h"
#include "tests/support/spool_service.h"
#include "tests/support/spool_support.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

static const char *without = "", *until = "";
static const char *base;     /* folder for the rounds */
static unsigned long stride; /* 0: see above */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned random_below(unsigned n)
{
    static unsigned long long x;
    if (x == 0) {
        const char *const seed = getenv("SPOOL_SEED");
        x = 88172645463325252ULL +
            (seed != NULL ? strtoull(seed, NULL, 10) : 0) * 0x9E3779B97F4A7C15ULL;
    }
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

static struct spool_service_options service_of(const struct round *r)
{
    return (struct spool_service_options){
        .spool = {.root = r->root,
                  .out = *r->out != '\0' ? r->out : NULL,
                  .replace = r->replace,
                  .delete_inputs = r->replace,
                  .max_attempts = 1000},
        .batch = r->batch,
        .claims = r->claims,
        .attempts = r->attempts,
        .durable = r->durable,
        .ends = r->ends,
    };
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
        snprintf(name, sizeof(name), "in/l%zu/l.csv", r->n_tokens);
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

/* One change after the other, or every SPOOL_STRIDE-th: dies before it (way 0), after it (1), or it
 * fails (2); from change `first` on. Returns the first change before which a death leaves something
 * else than every death of way 1: until a commit fails there, both leave what the changes so far
 * have made. */
static unsigned long sweep_one(bool replace, size_t n_more, int way, unsigned long first)
{
    static unsigned long n_sweeps;
    const unsigned long step = stride > 0 ? stride : 1;
    const unsigned long every = n_more > 0 ? 6 : replace ? 3 : way == 0 ? 2 : 1;
    unsigned long differs = 1;
    bool reached = true;
    for (unsigned long k = first + n_sweeps++ % step; reached && !is_found(); k += step) {
        struct round r;
        if (stride == 0 && k % every != (unsigned)way % every &&
            !(n_more > 0 && k < SPOOL_FAULT_CHANGES_MAX && spool_fault->is_shared[k])) {
            continue;
        }
        begin_round(&r, base, NULL, replace, n_more);
        spool_fault_clear();
        *(way == 0   ? &spool_fault->die_before
          : way == 1 ? &spool_fault->die_after
                     : &spool_fault->fail_at) = k;
        spool_fault->error = k % 2 == 0 ? ENOSPC : EIO;
        if (way == 1) { /* and so that there is a commit to be taken back */
            strcpy(spool_fault->fail_step, "commit.folder");
            spool_fault->fail_steps = 1;
        }
        run_child(&r, false, 0);
        reached = spool_fault->n_changes >= k;
        if (spool_fault->fail_step[0] != '\0') { /* no commit was reached */
            differs = k + 2;
        }
        run_to_the_end(&r);
    }
    return differs;
}

/* Which changes of a round with many jobs they share. */
static void note_shared(size_t n_more)
{
    struct round r;
    begin_round(&r, base, NULL, false, n_more);
    spool_fault_clear();
    spool_fault->notes_shared = true;
    run_child(&r, false, 0);
    run_to_the_end(&r);
}

static void sweep(void)
{
    enum { MORE = 6 }; /* enough, of as many folders, that they share a sync at each step */
    const unsigned long first = sweep_one(false, 0, 1, 1);
    sweep_one(false, 0, 0, first);
    sweep_one(false, 0, 2, 1);
    for (int way = 0; way < 3;
         way++) { /* what is replaced and deleted makes no difference before */
        sweep_one(true, 0, way, first);
    }
    note_shared(MORE);
    sweep_one(false, MORE, 0, 1);
    sweep_one(false, MORE, 2, 1);
}

static void randomly(unsigned long rounds)
{
    unsigned usual_us = 0;
    for (unsigned long n = 0; n < rounds && !is_found(); n++) {
        struct round r;
        begin_round(&r, base, NULL, n % 4 > 1, n % 5 == 4 ? 8 : 0);
        if (n == 0) {
            double begin = now_s();
            run_to_the_end(&r);
            usual_us = (unsigned)(1e6 * (now_s() - begin)) + 1000;
            continue;
        }
        for (unsigned deaths = 1 + random_below(5), i = 0; i < deaths; i++) {
            char name[32];
            snprintf(name, sizeof(name), "in/x/k%u/k.csv", i);
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

/* The tree as it is, and a recording that begins. */
static struct spool_power *begin_recording(const struct round *r, const char *trace)
{
    struct spool_power *before = spool_power_new(r->root_fd);
    spool_fault->trace = fopen(trace, "w");
    if (before == NULL || spool_fault->trace == NULL) {
        perror(trace);
        _exit(2);
    }
    return before;
}

/* What is left of what was recorded. */
static void cut(struct round *r, struct spool_power *before, const char *trace)
{
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

/* A life that is recorded, and what is left of it. */
static void live_and_cut(struct round *r, const char *trace, unsigned most)
{
    struct spool_power *before = begin_recording(r, trace);
    spool_fault->die_after = 1 + random_below(most);
    if (*without != '\0' && random_below(4) > 0) { /* where it may be missed */
        spool_fault->die_after = 0;
        spool_fault->die_soon = 1 + random_below(random_below(2) == 0 ? 40 : 200);
        spool_fault->die_skips = random_below(2) == 0 ? 0 : random_below(3);
    }
    run_child(r, false, 0);
    cut(r, before, trace);
}

static int note_name(void *id, int at_fd, const char *name, const char *path, bool is_folder)
{
    (void)at_fd;
    if (is_folder && strchr(path, '/') == NULL) {
        snprintf(id, SPOOL_ID_BYTES, "%s", name);
    }
    return 0;
}

static bool retry(const struct round *r, const char *id)
{
    const struct spool_service_options options = service_of(r);
    struct spool *s;
    struct spool_job *job;
    return spool_open(&options.spool, &s) == STATUS_OK && spool_retry(s, id, &job) == STATUS_OK;
}

/* The one failed job is taken up again; the power is cut after the k-th change of that, by the
 * latest after its end, which came before: false. What it has said then holds. */
static bool retry_and_cut(struct round *r, const char *trace, unsigned long k)
{
    char id[SPOOL_ID_BYTES] = "", reason[64];
    int status;
    const int failed_fd = openat(r->root_fd, "failed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    disk_walk(failed_fd, 8, note_name, id);
    close(failed_fd);
    struct spool_power *before = begin_recording(r, trace);
    fflush(NULL);
    spool_fault->n_changes = 0;
    spool_fault->die_after = k;
    snprintf(spool_fault->without, sizeof(spool_fault->without), "%s", without);
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(retry(r, id) ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    if (WEXITSTATUS(status) == 1) {
        printf("%s: the job cannot be taken up\n", r->root);
        totals.n_left++;
    }
    const bool reached = spool_fault->n_changes >= k;
    cut(r, before, trace);
    snprintf(reason, sizeof(reason), ".work/%s/reason.json", id);
    if (WEXITSTATUS(status) == 0 &&
        (is_there(r->root_fd, reason) || count_entries(r->root_fd, "failed") > 0)) {
        printf("%s: the job has failed again\n", r->root);
        totals.n_lost++;
    }
    return reached;
}

/* After each change of a retry, so many times. */
static void cut_retries(const char *trace, unsigned times)
{
    bool reached = true;
    for (unsigned long k = 1; reached; k++) {
        for (unsigned i = 0; i < times && !is_found(); i++) {
            struct round r;
            begin_round(&r, base, NULL, false, 0);
            const char *all = without;
            without = ""; /* of what comes before */
            spool_fault_clear();
            run_child(&r, false, 0);
            without = all;
            reached = retry_and_cut(&r, trace, k);
            run_to_the_end(&r);
        }
        reached = reached && !is_found();
    }
}

static void cut_power(unsigned long rounds)
{
    struct round r;
    char trace[128];
    snprintf(trace, sizeof(trace), "%s/trace", base);
    const bool shares = strstr(without, "/syncfs") != NULL; /* what few jobs do not use */
    const bool of_retries = strncmp(without, "retry", strlen("retry")) == 0;
    if (of_retries || *without == '\0') {
        cut_retries(trace, of_retries ? 50 : 6);
    }
    if (of_retries) {
        rounds = 0;
    }
    for (unsigned long i = 0; i < rounds && !is_found(); i++) {
        const unsigned long n = shares ? 3 * i + 2 : i;
        begin_round(&r, base, NULL, shares ? i % 2 == 1 : n % 4 == 3, n % 3 == 2 ? 8 : 0);
        /* Now all go on together, now few of them, as files arrive and as workers end. */
        const unsigned long mode = n / 12 % 4;
        r.claims = mode == 3 ? 3 : r.batch;
        r.attempts = mode % 2 == 1 ? 3 : r.batch;
        r.durable = mode == 1 ? 3 : r.batch;
        r.ends = mode > 0 ? 3 : r.batch;
        for (int k = 0; n % 3 == 2 && k < 8; k++) { /* enough to fail together */
            char name[32];
            snprintf(name, sizeof(name), "in/bad.%d.csv", k);
            drop(&r, name, true);
        }
        struct spool_service_options options = service_of(&r);
        struct spool *s;
        if (spool_open(&options.spool, &s) == STATUS_OK) { /* makes the folders */
            spool_close(s);
            unlinkat(r.root_fd, ".work/lock", 0); /* whose parts they are is decided in the life */
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

static void cut_disk(unsigned long rounds)
{
    const char *remount = getenv("REMOUNT");
    for (unsigned long n = 0; n < rounds && !is_found(); n++) {
        struct round r;
        begin_round(&r, base, NULL, n % 4 == 3, n % 3 == 2 ? 8 : 0);
        if (syncfs(r.root_fd) != 0) { /* what was dropped was there before the power failed */
            perror(r.root);
        }
        spool_fault_clear();
        spool_fault->die_after = 1 + random_below(r.batch > 3 ? 500 : 300);
        run_child(&r, false, 0);
        close(r.root_fd);
        if (remount == NULL || !spool_fault_shut_down(base, random_below(2) == 0) ||
            system(remount) != 0) {
            printf("%s: no file system that can be shut down\n", base);
            totals.n_left++;
            return;
        }
        r.root_fd = open(r.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        run_to_the_end(&r);
    }
}

static void cut_out(unsigned long rounds)
{
    const char *remount = getenv("REMOUNT"), *disk = getenv("OUT_DISK");
    unsigned long n_syncs = rounds; /* of a round that is not disturbed, once that is known */
    for (unsigned long n = 0; n <= rounds && !is_found(); n++) {
        struct round r;
        begin_round(&r, base, disk, n % 2 == 1, 0);
        const int out = openat(r.root_fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (out < 0 || syncfs(out) != 0 || close(out) != 0) { /* earlier results are on disk */
            perror(r.out);
        }
        spool_fault_clear();
        spool_fault->shut_at = n == 0 ? 0 : 1 + (n - 1) * n_syncs / rounds;
        snprintf(spool_fault->shut, sizeof(spool_fault->shut), "%s", disk);
        run_child(&r, false, 0);
        n_syncs = n == 0 ? spool_fault->n_syncs : n_syncs;
        totals.n_deaths += spool_fault->n_shut;
        if (n > 0 && spool_fault->n_shut == 0) {
            printf("%s: has not lost its disk before sync %lu\n", disk, spool_fault->shut_at);
            totals.n_left++;
        }
        if (remount == NULL || system(remount) != 0) {
            printf("%s: cannot be mounted again\n", disk);
            totals.n_left++;
            return;
        }
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
    options.batch = options.claims = options.attempts = options.durable = options.ends = batch;
    double begin = now_s();
    bool good = spool_service_run(&options);
    double wall = now_s() - begin;
    close(r.root_fd);
    printf("%s: %lu jobs in batches of %lu: %.2f s, %.0f jobs/s\n", good ? "good" : "BAD", n, batch,
           wall, (double)n / wall);
}

int main(int argc, char **argv)
{
    static char folder[SPOOL_FAULT_PATH_BYTES];
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
        fprintf(stderr, "usage: spool_harness sweep|random ROUNDS|power ROUNDS|disk ROUNDS|out "
                        "ROUNDS|bench JOBS BATCH\n");
        return 2;
    }
    if (getenv("SPOOL_STRIDE") != NULL) {
        stride = strtoul(getenv("SPOOL_STRIDE"), NULL, 10);
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
        } else if (strcmp(what, "out") == 0) {
            cut_out(n);
        } else {
            cut_power(n);
        }
    }
    bool all = true; /* states entered were also such in which the process died */
    const bool wants_all = strcmp(what, "sweep") == 0 && stride <= 1;
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
