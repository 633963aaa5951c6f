/*
 * The file with a job's state: what comes back, what does not, and what a failure leaves.
 */
#include "formats/base/saved.h"
#include "pipeline/engine/state_file.h"
#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { N = 5 << 18 }; /* a piece and a quarter */

static unsigned char numbers[N];
static int folder_fd;
static enum status given; /* by the body, in the middle */

static void open_file(struct state_file *f, const char *state)
{
    const struct job_input input = {.parts = {{.path = (char *)"a.dem.asc"}},
                                    .settings = {.stem = (char *)"a"},
                                    .state = (char *)state};
    state_file_of(f, folder_fd, &input);
}

/* The number, all of them, and some once more; `given` after the first. */
static enum status body(void *user, struct saved *s)
{
    uint64_t own = *(const uint64_t *)user, of = own;
    STATUS_TRY(s->pass(s, &of, sizeof of));
    if (of != own) {
        return status_fail(STATUS_CHANGED, "of another job");
    }
    STATUS_TRY(given == STATUS_OK ? STATUS_OK : status_fail(given, "for a test"));
    STATUS_TRY(s->pass(s, numbers, N));
    STATUS_TRY(s->pass(s, NULL, 0));
    return s->pass(s, numbers, 100);
}

static void fill(unsigned char first)
{
    for (size_t i = 0; i < N; i++) {
        numbers[i] = (unsigned char)(first + i * i % 251);
    }
}

static void keep_well(struct state_file *f, uint64_t key)
{
    given = STATUS_OK;
    assert_int_equal(f->calls.keep(f->calls.context, body, &key), STATUS_OK);
}

/* Whether it comes back; then it must be what fill() makes. */
static bool comes_back(struct state_file *f, uint64_t key, unsigned char first)
{
    unsigned char *const want = malloc(N);
    bool found = true;
    assert_non_null(want);
    fill(first);
    memcpy(want, numbers, N);
    memset(numbers, 7, N);
    assert_int_equal(f->calls.find(f->calls.context, body, &key, &found), STATUS_OK);
    if (found) {
        assert_memory_equal(numbers, want, N);
    } else {
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(numbers[i], 7);
        }
    }
    free(want);
    return found;
}

static size_t bytes_of(const char *name)
{
    struct stat st;
    assert_int_equal(stat(name, &st), 0);
    return (size_t)st.st_size;
}

TEST(what_was_kept_last_comes_back)
{
    struct state_file f;
    open_file(&f, ".id.state");
    assert_false(comes_back(&f, 5, 1));
    for (unsigned char first = 1; first < 4; first++) {
        fill(first);
        keep_well(&f, 5);
    }
    assert_int_equal(count_entries("."), 1);
    assert_true(comes_back(&f, 5, 3));
    assert_true(comes_back(&f, 5, 3));
    state_file_remove(&f);
    assert_false(comes_back(&f, 5, 3));
    state_file_remove(&f);
}

TEST(it_is_called_by_the_result_where_nobody_names_it)
{
    struct state_file f, g;
    open_file(&f, NULL);
    open_file(&g, NULL);
    assert_string_equal(f.name, g.name);
    assert_int_equal(strncmp(f.name, ".leat.", 6), 0);
    fill(1);
    keep_well(&f, 1);
    assert_int_equal(access(f.name, F_OK), 0);
    assert_true(comes_back(&g, 1, 1));
    state_file_remove(&g);
}

TEST(of_another_job_it_is_not_taken_and_gives_way)
{
    struct state_file f;
    open_file(&f, ".id.state");
    fill(1);
    keep_well(&f, 5);
    assert_false(comes_back(&f, 6, 1));
    fill(2);
    keep_well(&f, 6);
    assert_true(comes_back(&f, 6, 2));
    state_file_remove(&f);
}

/* Cut at any place, or with any byte changed. */
TEST(what_is_not_whole_is_not_taken)
{
    struct state_file f;
    open_file(&f, ".id.state");
    fill(1);
    keep_well(&f, 5);
    const size_t all = bytes_of(".id.state");
    for (size_t n = all - 1, step = 1; n > 0; n -= n > step ? step : n, step = step * 3 / 2 + 1) {
        assert_int_equal(truncate(".id.state", (off_t)n), 0);
        assert_false(comes_back(&f, 5, 1));
    }
    assert_int_equal(truncate(".id.state", 0), 0);
    assert_false(comes_back(&f, 5, 1));
    for (size_t at = 11; at < all;
         at += 1 + all / 13) { /* behind gzip's head, of which some bytes mean nothing */
        fill(1);
        keep_well(&f, 5);
        const int fd = open(".id.state", O_RDWR);
        unsigned char byte;
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        close(fd);
        assert_false(comes_back(&f, 5, 1));
    }
    state_file_remove(&f);
}

TEST(what_is_no_file_of_ours_is_not_taken)
{
    struct state_file f, other;
    open_file(&f, ".id.state");
    open_file(&other, ".other.state");
    FILE *const text = fopen(".id.state", "w");
    assert_non_null(text);
    for (int i = 0; i < 100; i++) {
        fputs("leat " LEAT_VERSION " state 1\n", text);
    }
    fclose(text);
    assert_false(comes_back(&f, 5, 1));
    state_file_remove(&f);
    fill(1);
    keep_well(&other, 5);
    assert_int_equal(symlink(".other.state", ".id.state"), 0);
    assert_false(comes_back(&f, 5, 1));
    state_file_remove(&f);
    assert_int_equal(mkfifo(".id.state", 0600), 0);
    assert_false(comes_back(&f, 5, 1));
    state_file_remove(&f);
    state_file_remove(&other);
}

/* What fails is the file: the job goes on, and what there was stays. */
TEST(without_room_the_one_before_stays)
{
    struct state_file f;
    open_file(&f, ".id.state");
    uint64_t key = 5;
    fill(1);
    keep_well(&f, 5);
    assert_int_equal(mkdir(".id.state.new", 0700), 0); /* nothing can be written there */
    fill(2);
    keep_well(&f, 5);
    assert_true(f.is_told);
    assert_true(comes_back(&f, 5, 1));
    assert_int_equal(rmdir(".id.state.new"), 0);
    /* What fails is the method: so does the job. */
    given = STATUS_DEVICE;
    assert_int_equal(f.calls.keep(f.calls.context, body, &key), STATUS_DEVICE);
    bool found = true;
    assert_int_equal(f.calls.find(f.calls.context, body, &key, &found), STATUS_DEVICE);
    assert_false(found);
    given = STATUS_OK;
    assert_true(comes_back(&f, 5, 1));
    /* What cannot be is not met twice. */
    given = STATUS_INTERNAL;
    assert_int_equal(f.calls.find(f.calls.context, body, &key, &found), STATUS_INTERNAL);
    given = STATUS_OK;
    assert_false(comes_back(&f, 5, 1));
    /* Nor what is torn between the check and the taking, of which some has been taken. */
    fill(1);
    keep_well(&f, 5);
    given = STATUS_BAD_INPUT;
    assert_int_equal(f.calls.find(f.calls.context, body, &key, &found), STATUS_INTERNAL);
    given = STATUS_OK;
    assert_false(comes_back(&f, 5, 1));
    state_file_remove(&f);
    assert_int_equal(count_entries("."), 0);
}

/* Nothing of a state that has no room takes the room that there is. */
TEST(half_a_state_does_not_stay)
{
    struct state_file f;
    struct rlimit most;
    uint64_t key = 5;
    open_file(&f, ".id.state");
    fill(1);
    keep_well(&f, 5);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &most), 0);
    const struct rlimit few = {100, most.rlim_max};
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    keep_well(&f, 5);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
    assert_true(f.is_told);
    assert_int_equal(count_entries("."), 1);
    given = STATUS_DEVICE;
    assert_int_equal(f.calls.keep(f.calls.context, body, &key), STATUS_DEVICE);
    assert_int_equal(count_entries("."), 1);
    given = STATUS_OK;
    assert_true(comes_back(&f, 5, 1));
    state_file_remove(&f);
}

static int open_folder(void **state)
{
    const int failed = enter_folder(state);
    folder_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return failed != 0 || folder_fd < 0 ? -1 : 0;
}

static int close_folder(void **state)
{
    close(folder_fd);
    return leave_folder(state);
}

int main(void)
{
    return unit_run(open_folder, close_folder);
}
