/*
 * Publishing: a folder is absent or complete, an existing one is kept or exchanged, nothing is left
 * behind; also where the file system knows no flags of renameat2, no locks, or loses replies.
 * ctest: wrap=renameat2,renameat,unlinkat,flock,fstatat64,file_system_network
 */
#include "tests/support/scratch_folder.h"
#include "watch/files/publish.h"
#include "watch/files/publish_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);

int __real_unlinkat(int at_fd, const char *name, int flags);
int __wrap_unlinkat(int at_fd, const char *name, int flags);
int __real_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
const char *__wrap_file_system_network(int fd);

static char folder[] = "/tmp/leat-publish-XXXXXX";
static int out_fd;

static bool knows_no_flags, has_no_locks, network;
static bool loses_replies;        /* of renames that take effect */
static int renames_until_failure; /* 0: none fails */
static int n_unlocked;            /* files removed from folders that publish_sweep may take */
static int n_removals = -1;       /* until none succeeds; -1: all do */
static int looks_until_gap;       /* 0: none meets it: */
static const char *in_gap;        /* a name that is gone for one look */
static int n_vanishing;           /* times that what is in the way goes as it is met */
static unsigned vanishes_at;      /* the flag of renameat2 that meets it */
static void make_vanish(const char *stem);
static enum {
    NEVER,
    AT_LOOK,
    AT_EXCHANGE,
    AT_ASIDE,
    AT_GAP
} rival_comes; /* and takes the name, or its gap */
static void let_rival_come(const char *stem);

static const struct publish_folder any = {0};

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (knows_no_flags && flags != 0) {
        errno = EINVAL;
        return -1;
    }
    if (n_vanishing > 0 && flags == vanishes_at) {
        n_vanishing--;
        make_vanish(to);
        errno = flags == RENAME_NOREPLACE ? EEXIST : ENOENT;
        return -1;
    }
    if (rival_comes == AT_EXCHANGE && flags == RENAME_EXCHANGE) {
        let_rival_come(to);
    }
    const int failed = __real_renameat2(from_fd, from, to_fd, to, flags);
    if (loses_replies && failed == 0) {
        errno = ENOENT;
        return -1;
    }
    return failed;
}

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (renames_until_failure > 0 && --renames_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    if (n_vanishing > 0 && from[0] != '.') { /* an earlier result that steps aside */
        n_vanishing--;
        make_vanish(from);
    }
    if (rival_comes == AT_ASIDE && from[0] != '.') {
        let_rival_come(from);
    } else if (rival_comes == AT_GAP && to[0] != '.') {
        let_rival_come(to);
    }
    const int failed = __real_renameat(from_fd, from, to_fd, to);
    if (loses_replies && failed == 0 && to[0] != '.') {
        errno = ENOENT;
        return -1;
    }
    return failed;
}

int __wrap_unlinkat(int at_fd, const char *name, int flags)
{
    if (n_removals == 0) {
        errno = EIO;
        return -1;
    }
    n_removals -= n_removals > 0;
    const int fd = openat(at_fd, ".", O_RDONLY | O_DIRECTORY);
    n_unlocked += at_fd != out_fd && __real_flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return __real_unlinkat(at_fd, name, flags);
}

int __wrap_fstatat64(int fd, const char *name, struct stat *st, int flags)
{
    if (looks_until_gap > 0 && strcmp(name, in_gap) == 0 && --looks_until_gap == 0) {
        errno = ENOENT;
        return -1;
    }
    if (rival_comes == AT_LOOK && strcmp(name, "result.json") == 0) { /* of what it replaces */
        let_rival_come("contested");
        make_vanish("rival");
    }
    return __real_fstatat64(fd, name, st, flags);
}

int __wrap_flock(int fd, int operation)
{
    if (has_no_locks) {
        errno = ENOLCK;
        return -1;
    }
    return __real_flock(fd, operation);
}

const char *__wrap_file_system_network(int fd)
{
    (void)fd;
    return network ? "NFS" : NULL;
}

/* What another program does between two of our calls. */
static void make_vanish(const char *stem)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s/%s", folder, stem);
    assert_int_equal(system(command), 0);
}

static void let_rival_come(const char *stem)
{
    const int flags = rival_comes == AT_GAP ? 0 : RENAME_EXCHANGE;
    rival_comes = NEVER;
    assert_int_equal(__real_renameat2(out_fd, "rival", out_fd, stem, (unsigned)flags), 0);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL && publish_open_output(folder, &out_fd, &(bool){0}) == STATUS_OK
               ? 0
               : 1;
}

static int remove_all(void **state)
{
    (void)state;
    char command[64];
    close(out_fd);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void put_file(int dir_fd, const char *name, const char *text)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int first_byte(const char *path)
{
    char c = 0;
    int fd = openat(out_fd, path, O_RDONLY);
    if (fd >= 0) {
        assert_int_equal(read(fd, &c, 1), 1);
        close(fd);
    }
    return c;
}

TEST(committed_folder_has_its_name_and_files)
{
    struct publish p;
    assert_int_equal(publish_begin(out_fd, "a", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "result.json", "{}");
    put_file(p.part_fd, "x", "1");
    assert_int_equal(first_byte("a/x"), 0);
    assert_int_equal(publish_commit(&p, NULL), STATUS_OK);
    assert_int_equal(first_byte("a/x"), '1');
    publish_abandon(&p); /* nothing to abandon any more */
    assert_int_equal(first_byte("a/x"), '1');
}

TEST(existing_folder_is_kept_without_replace)
{
    struct publish p;
    assert_int_equal(publish_vacant(out_fd, "a", false), STATUS_EXISTS);
    assert_int_equal(publish_begin(out_fd, "a", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "x", "2");
    assert_int_equal(publish_commit(&p, NULL), STATUS_EXISTS);
    publish_abandon(&p);
    assert_int_equal(first_byte("a/x"), '1');
    assert_int_equal(count_entries(folder), 1);
}

TEST(existing_folder_is_exchanged_with_replace)
{
    struct publish p;
    assert_int_equal(publish_begin(out_fd, "a", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "x", "3");
    assert_int_equal(publish_commit(&p, &any), STATUS_OK);
    assert_int_equal(first_byte("a/x"), '3');
    assert_int_equal(count_entries(folder), 1);
}

static int no_flags(void **state)
{
    (void)state;
    knows_no_flags = true;
    return 0;
}

static int all_flags(void **state)
{
    (void)state;
    knows_no_flags = has_no_locks = network = loses_replies = false;
    renames_until_failure = 0;
    return 0;
}

static void put_result(const char *stem, const char *text)
{
    struct publish p;
    assert_int_equal(publish_begin(out_fd, stem, NULL, &p), STATUS_OK);
    put_file(p.part_fd, "result.json", "{}");
    put_file(p.part_fd, "x", text);
    assert_int_equal(publish_commit(&p, &any), STATUS_OK);
}

TEST_BETWEEN(existing_folder_is_replaced_where_names_cannot_be_exchanged, no_flags, all_flags)
{
    const size_t before = count_entries(folder);
    put_result("nfs", "1");
    put_result("nfs", "2");
    assert_int_equal(first_byte("nfs/x"), '2');
    assert_int_equal(count_entries(folder), before + 1);
    assert_int_equal(unlinkat(out_fd, "nfs/x", 0), 0);
    assert_int_equal(unlinkat(out_fd, "nfs/result.json", 0), 0);
    assert_int_equal(unlinkat(out_fd, "nfs", AT_REMOVEDIR), 0);
}

TEST_BETWEEN(existing_folder_stays_when_the_new_one_cannot_follow, no_flags, all_flags)
{
    const size_t before = count_entries(folder);
    put_result("back", "1");
    for (int failing = 1; failing <= 2; failing++) { /* stepping aside; taking its place */
        struct publish p;
        assert_int_equal(publish_begin(out_fd, "back", NULL, &p), STATUS_OK);
        put_file(p.part_fd, "x", "2");
        renames_until_failure = failing;
        assert_int_equal(publish_commit(&p, &any), STATUS_IO);
        assert_int_equal(renames_until_failure, 0);
        publish_abandon(&p);
        assert_int_equal(first_byte("back/x"), '1');
        assert_int_equal(count_entries(folder), before + 1);
    }
    assert_int_equal(unlinkat(out_fd, "back/x", 0), 0);
    assert_int_equal(unlinkat(out_fd, "back/result.json", 0), 0);
    assert_int_equal(unlinkat(out_fd, "back", AT_REMOVEDIR), 0);
}

/* Of those that were there before, empty as they are, none goes. */
TEST_BETWEEN(folders_that_were_made_go_when_the_result_cannot_follow, no_flags, all_flags)
{
    static const char *const there[] = {"", "sub", "sub/deep"};
    const size_t before = count_entries(folder);
    for (size_t k = 0; k < 3; k++) {
        struct publish p;
        if (k > 0) {
            assert_int_equal(mkdirat(out_fd, there[k], 0777), 0);
        }
        assert_int_equal(publish_begin(out_fd, "sub/deep/deeper/x", NULL, &p), STATUS_OK);
        put_file(p.part_fd, "x", "1");
        renames_until_failure = 1;
        assert_int_equal(publish_commit(&p, NULL), STATUS_IO);
        assert_int_equal(renames_until_failure, 0);
        publish_abandon(&p);
        assert_int_equal(count_entries(folder), before + (k > 0));
        assert_int_equal(faccessat(out_fd, "sub/deep", F_OK, 0), k > 1 ? 0 : -1);
        assert_int_equal(faccessat(out_fd, "sub/deep/deeper", F_OK, 0), -1);
    }
    assert_int_equal(unlinkat(out_fd, "sub/deep", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(out_fd, "sub", AT_REMOVEDIR), 0);
}

static struct publish_folder identity_of(const char *stem)
{
    struct stat st;
    assert_int_equal(fstatat(out_fd, stem, &st, 0), 0);
    return (struct publish_folder){st.st_dev, st.st_ino};
}

/* What came, or was, is removed; it was `was_there`. */
static void replace_while_a_rival_comes(int when, bool replaces_any, char was_there)
{
    struct publish p;
    const size_t before = count_entries(folder);
    put_result("contested", "1");
    put_result("rival", "2");
    const struct publish_folder judged = identity_of("contested");
    assert_int_equal(publish_begin(out_fd, "contested", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "result.json", "{}");
    put_file(p.part_fd, "x", "3");
    rival_comes = when;
    if (when == NEVER) { /* it came before */
        assert_int_equal(__real_renameat2(out_fd, "rival", out_fd, "contested", RENAME_EXCHANGE),
                         0);
    }
    assert_int_equal(publish_commit(&p, replaces_any ? &any : &judged),
                     was_there == '3' ? STATUS_OK : STATUS_EXISTS);
    publish_abandon(&p);
    assert_int_equal(rival_comes, NEVER);
    assert_int_equal(first_byte("contested/x"), was_there);
    make_vanish("contested");
    make_vanish("rival");
    assert_int_equal(count_entries(folder), before);
}

TEST(result_that_is_not_the_judged_one_is_not_replaced)
{
    replace_while_a_rival_comes(NEVER, false, '2');
    replace_while_a_rival_comes(AT_LOOK, false, '2');
    replace_while_a_rival_comes(AT_LOOK, true, '3');
    replace_while_a_rival_comes(AT_EXCHANGE, false, '2');
    replace_while_a_rival_comes(AT_EXCHANGE, true, '3');
    knows_no_flags = true;
    replace_while_a_rival_comes(NEVER, false, '2');
    replace_while_a_rival_comes(AT_ASIDE, false, '2');
    replace_while_a_rival_comes(AT_GAP, false, '2');
    replace_while_a_rival_comes(AT_ASIDE, true, '3');
    replace_while_a_rival_comes(AT_GAP, true, '3');
    all_flags(NULL);
}

TEST(result_that_a_rival_replaces_while_it_is_looked_at_is_one)
{
    for (int replace = 0; replace < 2; replace++) {
        put_result("contested", "1");
        put_result("rival", "2");
        rival_comes = AT_LOOK;
        assert_int_equal(publish_vacant(out_fd, "contested", replace > 0),
                         replace > 0 ? STATUS_OK : STATUS_EXISTS);
        assert_int_equal(rival_comes, NEVER);
        if (replace == 0) {
            assert_non_null(strstr(status_message(), "a result named 'contested'"));
        }
        make_vanish("contested");
    }
}

/* While another process replaces a result in two steps there is none between them: whichever look
 * meets that gap, who says that it has published has done so. */
TEST_BETWEEN(gap_between_two_steps_of_another_is_no_success, NULL, all_flags)
{
    const size_t before = count_entries(folder);
    const struct publish_folder judged = {0, 1}; /* has been replaced */
    int looks = 0;
    knows_no_flags = true;
    in_gap = "contested";
    for (bool met = true; met; looks++) {
        struct publish p;
        put_result("contested", "2");
        assert_int_equal(publish_begin(out_fd, "contested", NULL, &p), STATUS_OK);
        put_file(p.part_fd, "x", "3");
        looks_until_gap = looks + 1;
        assert_int_equal(publish_commit(&p, &judged), STATUS_EXISTS);
        met = looks_until_gap == 0;
        looks_until_gap = 0;
        publish_abandon(&p);
        assert_int_equal(first_byte("contested/x"), '2');
        make_vanish("contested");
        assert_int_equal(count_entries(folder), before);
    }
    assert_true(looks > 3);
}

/* Publishes "gone" while an earlier result of that name goes away `times` times. */
static enum status commit_as_it_vanishes(int times, unsigned at, bool replace)
{
    struct publish p;
    const size_t before = count_entries(folder);
    put_result("gone", "1");
    assert_int_equal(publish_begin(out_fd, "gone", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "x", "2");
    n_vanishing = times;
    vanishes_at = at;
    const enum status code = publish_commit(&p, replace ? &any : NULL);
    n_vanishing = 0;
    publish_abandon(&p);
    assert_int_equal(first_byte("gone/x"), code == STATUS_OK ? '2' : 0);
    assert_int_equal(count_entries(folder), before + (code == STATUS_OK));
    make_vanish("gone");
    return code;
}

TEST(earlier_result_that_vanishes_meanwhile_leaves_its_name_to_the_new_one)
{
    assert_int_equal(commit_as_it_vanishes(1, RENAME_NOREPLACE, false), STATUS_OK);
    assert_int_equal(commit_as_it_vanishes(1, RENAME_NOREPLACE, true), STATUS_OK);
    assert_int_equal(commit_as_it_vanishes(15, RENAME_NOREPLACE, false), STATUS_OK);
    assert_int_equal(commit_as_it_vanishes(1, RENAME_EXCHANGE, true), STATUS_OK);
    knows_no_flags = true;
    assert_int_equal(commit_as_it_vanishes(1, 0, true), STATUS_OK);
    all_flags(NULL);
}

TEST(name_that_never_comes_to_rest_is_an_error)
{
    assert_int_equal(commit_as_it_vanishes(16, RENAME_NOREPLACE, false), STATUS_EXISTS);
    assert_non_null(strstr(status_message(), "'gone' comes and goes"));
}

TEST(folder_that_is_no_result_is_never_replaced)
{
    struct publish p;
    assert_int_equal(mkdirat(out_fd, "mine", 0700), 0);
    put_file(out_fd, "mine/precious", "p");
    assert_int_equal(publish_vacant(out_fd, "mine", true), STATUS_EXISTS);
    assert_int_equal(publish_begin(out_fd, "mine", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "x", "1");
    assert_int_equal(publish_commit(&p, &any), STATUS_EXISTS);
    publish_abandon(&p);
    assert_int_equal(first_byte("mine/precious"), 'p');
    assert_int_equal(unlinkat(out_fd, "mine/precious", 0), 0);
    assert_int_equal(unlinkat(out_fd, "mine", AT_REMOVEDIR), 0);
}

TEST(abandoned_folder_leaves_nothing)
{
    struct publish p;
    assert_int_equal(publish_begin(out_fd, "b", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "x", "1");
    assert_int_equal(mkdirat(p.part_fd, "sub", 0700), 0);
    put_file(p.part_fd, "sub/y", "1");
    publish_abandon(&p);
    assert_int_equal(count_entries(folder), 1);
    assert_int_equal(publish_vacant(out_fd, "b", false), STATUS_OK);
}

TEST(given_folder_is_filled_and_left_complete)
{
    struct publish p;
    const size_t before = count_entries(folder);
    assert_int_equal(mkdirat(out_fd, ".7.part", 0700), 0);
    assert_int_equal(publish_begin(out_fd, "given", ".7.part", &p), STATUS_OK);
    put_file(p.part_fd, "x", "7");
    publish_leave(&p);
    publish_abandon(&p);
    assert_int_equal(first_byte(".7.part/x"), '7');
    assert_int_equal(count_entries(folder), before + 1);
    assert_int_equal(unlinkat(out_fd, ".7.part/x", 0), 0);
    assert_int_equal(unlinkat(out_fd, ".7.part", AT_REMOVEDIR), 0);
}

TEST(given_folder_must_be_there_and_no_link)
{
    struct publish p;
    assert_int_equal(publish_begin(out_fd, "given", ".8.part", &p), STATUS_INTERNAL);
    publish_abandon(&p);
    assert_int_equal(symlinkat("/tmp", out_fd, ".8.part"), 0);
    assert_int_equal(publish_begin(out_fd, "given", ".8.part", &p), STATUS_INTERNAL);
    publish_abandon(&p);
    assert_int_equal(unlinkat(out_fd, ".8.part", 0), 0);
}

/* --- part folders of runs that were killed ---------------------------------------------------- */

/* A part folder with a file in it, older than a day, whose maker holds no lock any more. */
static void leave_part(char name[sizeof((struct publish *)0)->part])
{
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct publish p;
    assert_int_equal(publish_begin(out_fd, "dead", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "x", "1");
    publish_leave(&p);
    assert_int_equal(utimensat(out_fd, p.part, long_ago, 0), 0);
    memcpy(name, p.part, sizeof(p.part));
}

/* The same with a field of its name, counted from 0, in other words: ".leat.HOST.BOOT.PID.". */
static void leave_part_of(int field, const char *text, char name[sizeof((struct publish *)0)->part])
{
    char made[sizeof((struct publish *)0)->part];
    leave_part(made);
    char *from = made + strlen(".leat.");
    for (; field > 0; field--) {
        from = strchr(from, '.') + 1;
    }
    snprintf(name, sizeof(made), "%.*s%s%s", (int)(from - made), made, text, strchr(from, '.'));
    assert_int_equal(__real_renameat(out_fd, made, out_fd, name), 0);
}

static bool sweep_removes(const char *name)
{
    publish_sweep(out_fd);
    const bool removed = faccessat(out_fd, name, F_OK, 0) != 0;
    if (!removed) {
        char command[256];
        snprintf(command, sizeof(command), "rm -r '%s/%s'", folder, name);
        assert_int_equal(system(command), 0);
    }
    return removed;
}

/* Of a process that has ended. */
static const char *number_of_the_dead(void)
{
    static char number[24];
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(number, sizeof(number), "%ld", (long)child);
    return number;
}

TEST(part_folders_of_the_dead_are_removed)
{
    char name[96];
    leave_part(name);
    assert_true(sweep_removes(name));
    leave_part_of(1, "12345678", name); /* this machine before it was started again, for one */
    assert_true(sweep_removes(name));
    leave_part_of(2, number_of_the_dead(), name);
    assert_int_equal(utimensat(out_fd, name, NULL, 0), 0); /* it has died just now */
    assert_true(sweep_removes(name));
}

TEST(part_folders_of_the_living_stay)
{
    struct publish living;
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(publish_begin(out_fd, "living", NULL, &living), STATUS_OK);
    assert_int_equal(utimensat(out_fd, living.part, long_ago, 0), 0);
    for (int i = 0; i < 2; i++) {
        network = i == 1;
        publish_sweep(out_fd);
        assert_int_equal(faccessat(out_fd, living.part, F_OK, 0), 0);
    }
    all_flags(NULL);
    publish_abandon(&living);
}

TEST(part_folders_just_made_and_folders_of_others_stay)
{
    static const char *const others[] = {
        ".leat.h.12345678.1.0123456789abcdef.part",   /* just made */
        "leat.h.12345678.1.0123456789abcdef.part",    /* not hidden */
        ".leat.h.12345678.1.0123456789abcdef.partx"}; /* no such ending */
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(mkdirat(out_fd, others[i], 0700), 0);
        assert_int_equal(i > 0 ? utimensat(out_fd, others[i], long_ago, 0) : 0, 0);
        assert_false(sweep_removes(others[i]));
    }
}

TEST_BETWEEN(part_folders_of_other_machines_stay_where_locks_may_be_local, NULL, all_flags)
{
    char name[96];
    network = true;
    leave_part(name);
    assert_true(sweep_removes(name));
    leave_part_of(1, "12345678", name);
    assert_false(sweep_removes(name));
}

/* What publish_sweep logs; valid until the next call. */
static const char *sweep_says(void)
{
    static char said[2048];
    const int kept = dup(STDERR_FILENO), log = memfd_create("log", MFD_CLOEXEC);
    assert_true(kept >= 0 && log >= 0 && dup2(log, STDERR_FILENO) >= 0);
    publish_sweep(out_fd);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    const ssize_t n = pread(log, said, sizeof(said) - 1, 0);
    assert_true(n >= 0);
    said[n] = '\0';
    close(kept);
    close(log);
    return said;
}

TEST_BETWEEN(folders_that_stay_for_a_day_and_earlier_results_are_told, NULL, all_flags)
{
    static const char earlier[] = ".leat.h.12345678.1.0123456789abcdef.old";
    const struct timespec hours_ago[2] = {{.tv_sec = time(NULL) - 7200},
                                          {.tv_sec = time(NULL) - 7200}};
    char name[96], manifest[96], wanted[256];
    network = true;
    leave_part_of(1, "12345678", name);
    snprintf(wanted, sizeof(wanted),
             "leat: 1 unfinished result in the output folder, older than a day, '%s' first: remove "
             "them if leat does not run any more where they come from\n",
             name);
    assert_string_equal(sweep_says(), wanted);
    assert_int_equal(utimensat(out_fd, name, hours_ago, 0), 0);
    assert_string_equal(sweep_says(), "");
    assert_int_equal(mkdirat(out_fd, earlier, 0700), 0);
    put_file(out_fd, strcat(strcpy(manifest, earlier), "/result.json"), "{}");
    assert_int_equal(utimensat(out_fd, earlier, hours_ago, 0), 0);
    snprintf(wanted, sizeof(wanted),
             "leat: warning: 1 earlier result in the output folder whose replacement was cut off, "
             "'%s' first: rename or remove them\n",
             earlier);
    assert_string_equal(sweep_says(), wanted);
    assert_false(sweep_removes(earlier));
    assert_false(sweep_removes(name));
}

/* It may be old, and take long: other runs, which sweep, leave it to the one that is at it. */
TEST_BETWEEN(what_is_being_removed_is_locked, NULL, all_flags)
{
    struct publish p;
    for (int i = 0; i < 2; i++) {
        knows_no_flags = i == 1;
        put_result("removed", "1");
        n_unlocked = 0;
        put_result("removed", "2");
        assert_int_equal(n_unlocked, 0);
    }
    assert_int_equal(publish_begin(out_fd, "given up", NULL, &p), STATUS_OK);
    put_file(p.part_fd, "x", "1");
    publish_abandon(&p);
    assert_int_equal(n_unlocked, 0);
    make_vanish("removed");
}

/* Two steps have replaced it, and its removal was cut off: it is no result any more. */
TEST_BETWEEN(earlier_result_that_is_half_removed_goes, NULL, all_flags)
{
    struct publish p;
    char name[96], old[96];
    knows_no_flags = true;
    put_result("replaced", "1");
    leave_part_of(2, number_of_the_dead(), name);
    assert_int_equal(publish_begin(out_fd, "replaced", name, &p), STATUS_OK);
    put_file(p.part_fd, "result.json", "{}");
    n_removals = 1;
    assert_int_equal(publish_commit(&p, &any), STATUS_OK);
    n_removals = -1;
    publish_old_name(name, old, sizeof(old));
    assert_int_equal(faccessat(out_fd, old, F_OK, 0), 0);
    assert_true(sweep_removes(old));
    make_vanish("replaced");
}

TEST_BETWEEN(without_locks_the_process_tells, NULL, all_flags)
{
    char name[96];
    has_no_locks = true;
    leave_part(name); /* of this process */
    assert_false(sweep_removes(name));
    leave_part_of(2, number_of_the_dead(), name);
    assert_true(sweep_removes(name));
    leave_part_of(0, "elsewhere", name); /* a container of this machine has numbers of its own */
    assert_false(sweep_removes(name));
}

TEST_BETWEEN(rename_whose_reply_is_lost_is_a_success, NULL, all_flags)
{
    for (int i = 0; i < 4; i++) {
        struct publish p;
        char stem[8];
        snprintf(stem, sizeof(stem), "lost%d", i % 2);
        knows_no_flags = i % 2 == 1;
        assert_int_equal(publish_begin(out_fd, stem, NULL, &p), STATUS_OK);
        put_file(p.part_fd, "result.json", "{}");
        put_file(p.part_fd, "x", i < 2 ? "1" : "2");
        loses_replies = true;
        assert_int_equal(publish_commit(&p, i >= 2 && knows_no_flags ? &any : NULL),
                         i >= 2 && !knows_no_flags ? STATUS_EXISTS : STATUS_OK);
        loses_replies = false;
        publish_abandon(&p);
        snprintf(stem, sizeof(stem), "lost%d/x", i % 2);
        assert_int_equal(first_byte(stem), i < 3 ? '1' : '2');
    }
    make_vanish("lost0");
    make_vanish("lost1");
}

TEST(link_in_place_of_a_result_counts_as_existing)
{
    assert_int_equal(symlinkat("/nowhere", out_fd, "c"), 0);
    assert_int_equal(publish_vacant(out_fd, "c", true), STATUS_EXISTS);
    assert_int_equal(unlinkat(out_fd, "c", 0), 0);
}

TEST(output_folder_is_made_with_its_parents)
{
    char path[128];
    bool made;
    int fd;
    snprintf(path, sizeof(path), "%s/p/q/r", folder);
    assert_int_equal(publish_open_output(path, &fd, &made), STATUS_OK);
    assert_true(made);
    publish_close_output(path, fd, false);
    snprintf(path, sizeof(path), "%s/a/x/y", folder); /* a/x is a file */
    assert_int_not_equal(publish_open_output(path, &fd, &made), STATUS_OK);
    assert_non_null(strstr(status_message(), path));
}

TEST(output_folder_goes_when_it_was_made_in_vain_and_nobody_else_has_it)
{
    char path[128];
    bool made, made_twice;
    int fd, other;
    snprintf(path, sizeof(path), "%s/vain", folder);
    assert_int_equal(publish_open_output(path, &fd, &made), STATUS_OK);
    assert_int_equal(publish_open_output(path, &other, &made_twice), STATUS_OK);
    assert_true(made && !made_twice);
    publish_close_output(path, fd, made);
    assert_int_equal(access(path, F_OK), 0);
    publish_close_output(path, other, made_twice);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(publish_open_output(path, &fd, &made), STATUS_OK);
    publish_close_output(path, fd, true);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(publish_open_output(path, &fd, &made), STATUS_OK);
    assert_int_equal(mkdirat(fd, "x", 0777), 0);
    publish_close_output(path, fd, made);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    return unit_run(make_folder, remove_all);
}
