/*
 * How long resources were busy: unions of intervals, never more than the time that went by, and
 * what is made of them.
 * ctest: tsan=yes wrap=pread64 link=PkgConfig::MINIZIP
 */
#include "formats/base/busy_union.h"
#include "formats/pack/pack.h"
#include "formats/source/source.h"
#include "pipeline/engine/meter.h"
#include "pipeline/engine/thread_pool.h"
#include "tests/support/burn.h"
#include "tests/support/patience.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* --- meters ----------------------------------------------------------------------------------- */

static bool is_s(double got, double wanted)
{
    return got > wanted - 1e-12 && got < wanted + 1e-12;
}

TEST(uses_at_the_same_time_count_once)
{
    struct meter m = METER_ZERO;
    assert_true(is_s(meter_s(&m, 500), 0));
    meter_begin(&m, 1000);
    meter_begin(&m, 1200);
    meter_begin(&m, 1300);
    assert_true(is_s(meter_s(&m, 1500), 500e-9)); /* uses that go on */
    meter_end(&m, 1600);
    meter_end(&m, 1700);
    assert_true(is_s(meter_s(&m, 1700), 700e-9));
    meter_end(&m, 2000);
    assert_true(is_s(meter_s(&m, 5000), 1000e-9)); /* nobody: no time */
    meter_begin(&m, 5000);
    meter_end(&m, 5001);
    assert_true(is_s(meter_s(&m, 9000), 1001e-9));
}

TEST(clocks_read_before_the_lock_take_nothing_away)
{
    struct meter m = METER_ZERO;
    meter_begin(&m, 100);
    assert_true(is_s(meter_s(&m, 90), 0));
    meter_end(&m, 90);
    assert_true(is_s(meter_s(&m, 200), 0));
}

TEST(clocks_read_before_the_lock_count_nothing_twice)
{
    struct meter m = METER_ZERO;
    meter_begin(&m, 0);
    meter_end(&m, 100);
    meter_begin(&m, 10);
    assert_true(is_s(meter_s(&m, 105), 105e-9));
    meter_end(&m, 110);
    assert_true(is_s(meter_s(&m, 200), 110e-9));
}

TEST(calls_to_files_are_booked_by_direction_and_told_on)
{
    struct disk_meter whole = disk_meter_of(NULL), one = disk_meter_of(&whole),
                      other = disk_meter_of(&whole);
    one.watch.note(&one.watch, false, true);
    other.watch.note(&other.watch, true, true);
    assert_int_equal(one.in.n_users + one.out.n_users, 1);
    assert_int_equal(one.in.n_users, 1);
    assert_int_equal(other.out.n_users, 1);
    assert_int_equal(whole.in.n_users, 1);
    assert_int_equal(whole.out.n_users, 1);
    one.watch.note(&one.watch, false, false);
    assert_int_equal(whole.in.n_users, 0);
    assert_int_equal(whole.out.n_users, 1);
    other.watch.note(&other.watch, true, false);
    assert_int_equal(whole.out.n_users, 0);
}

/* --- whom a thread tells ---------------------------------------------------------------------- */

enum { N_LOOP = 8 };

struct counting {
    struct io_watch watch;
    atomic_int begun, ended;
};

static void count(struct io_watch *watch, bool writes, bool begins)
{
    struct counting *c = (struct counting *)watch;
    assert_true(writes);
    atomic_fetch_add(begins ? &c->begun : &c->ended, 1);
}

struct writing {
    struct thread_pool_task task;
    struct executor executor;
    int fd;
    atomic_int n_there;
    sem_t is_done;
};

/* All threads of the thread pool are in the loop at the same time. */
static void write_one(void *arg, size_t index)
{
    struct writing *w = arg;
    if (index < w->executor.n_threads) {
        atomic_fetch_add(&w->n_there, 1);
        for (uint64_t ms = 0;
             w->n_there < (int)w->executor.n_threads && ms < UINT64_C(1000) * WAIT_S; ms++) {
            usleep(1000);
        }
    }
    assert_int_equal(io_watch_write(w->fd, "x", 1), 1);
}

static void write_in_loop(struct thread_pool_task *task)
{
    struct writing *w = (struct writing *)task;
    if (task->account != NULL) {
        w->executor.run(w->executor.context, N_LOOP, write_one, w);
    } else {
        assert_int_equal(io_watch_write(w->fd, "x", 1), 1);
    }
}

static void done(struct thread_pool_task *task)
{
    sem_post(&((struct writing *)task)->is_done);
}

TEST(calls_of_a_task_and_its_loops_are_told_to_its_account)
{
    struct counting told = {.watch = {count}};
    struct thread_pool_account account = {.watch = &told.watch};
    struct thread_pool *pool;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(thread_pool_new(2, &pool), STATUS_OK);
    struct writing first = {.task = {.work = write_in_loop, .done = done, .account = &account},
                            .executor = thread_pool_executor(pool),
                            .fd = fds[1]};
    struct writing others[4]; /* of nobody, on the same threads */
    assert_int_equal(sem_init(&first.is_done, 0, 0), 0);
    thread_pool_submit(pool, 0, &first.task);
    for (size_t i = 0; i < 4; i++) {
        others[i] = (struct writing){.task = {.work = write_in_loop, .done = done}, .fd = fds[1]};
        assert_int_equal(sem_init(&others[i].is_done, 0, 0), 0);
        thread_pool_submit(pool, 0, &others[i].task);
    }
    /* A thread ends once the pool is being freed and nothing is queued: too soon for the loop. */
    assert_int_equal(sem_wait(&first.is_done), 0);
    thread_pool_free(pool);
    assert_int_equal(told.begun, N_LOOP);
    assert_int_equal(told.ended, N_LOOP);
    close(fds[0]);
    close(fds[1]);
}

/* --- what is told ----------------------------------------------------------------------------- */

static struct {
    struct io_watch watch;
    size_t n_reads, n_in, n_out; /* n_reads: calls of the system */
    int inside;
} seen;

static void see(struct io_watch *watch, bool writes, bool begins)
{
    assert_ptr_equal(watch, &seen.watch);
    seen.inside += begins ? 1 : -1;
    assert_in_range(seen.inside, 0, 1);
    *(writes ? &seen.n_out : &seen.n_in) += begins;
    errno = 0; /* which must not matter */
}

ssize_t __real_pread64(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t at)
{
    seen.n_reads++;
    assert_int_equal(seen.inside, seen.watch.note != NULL);
    return __real_pread64(fd, data, n, at);
}

/* Unpacking, for one, is none of it. */
TEST(calls_to_files_and_nothing_else_are_told)
{
    enum { N = 3000000 };
    char name[] = "/tmp/leat-meter-XXXXXX.gz";
    unsigned char *content = malloc(N);
    assert_non_null(content);
    for (size_t i = 0; i < N; i++) {
        content[i] = (unsigned char)(i * i >> 7);
    }
    close(mkstemps(name, 3));
    gzFile packed = gzopen(name, "wb1");
    assert_int_equal(gzwrite(packed, content, N), N);
    assert_int_equal(gzclose(packed), Z_OK);
    seen.watch.note = see;
    io_watch_thread(&seen.watch);
    struct source *source;
    size_t n = 0;
    assert_int_equal(source_open(open(name, O_RDONLY), name, &source), STATUS_OK);
    assert_int_equal(source_read(source, content, N, &n), STATUS_OK);
    assert_int_equal(n, N);
    source_free(source);
    assert_true(seen.n_reads > 1);
    assert_int_equal(seen.n_in, seen.n_reads);
    assert_int_equal(seen.n_out, 0);
    struct pack *pack;
    const struct pack_piece piece = {.packed = {.data = (unsigned char *)content, .len = N}};
    uint64_t size;
    uint32_t crc;
    const int dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(pack_open(dir, name + strlen("/tmp/"), PACK_RAW, &pack), STATUS_OK);
    assert_int_equal(pack_append(pack, &piece), STATUS_OK);
    assert_int_equal(pack_close(pack, &size, &crc), STATUS_OK);
    close(dir);
    assert_int_equal(seen.n_out, 2); /* it is written, and closed */
    assert_int_equal(io_watch_pread(-1, content, 1, 0), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(io_watch_copy(-1, 0, -1, 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(seen.n_out, 3);
    io_watch_thread(NULL);
    seen.watch.note = NULL;
    assert_int_equal(unlink(name), 0);
    free(content);
}

/* --- intervals that come in any order --------------------------------------------------------- */

enum { MOST_TIME = 3000 };

static struct busy_union u;

/* The length by brute force: time is in steps of one. */
static double length_of(const bool *used)
{
    double n = 0;
    for (size_t t = 0; t < MOST_TIME; t++) {
        n += used[t];
    }
    return n;
}

TEST(union_is_that_of_brute_force)
{
    unsigned seed = 5;
    for (int round = 0; round < 200; round++) {
        bool used[MOST_TIME] = {false};
        memset(&u, 0, sizeof u);
        for (int k = 0; k < 120; k++) {
            const size_t begin = (size_t)rand_r(&seed) % (MOST_TIME - 100);
            const size_t n = (size_t)rand_r(&seed) % (round % 2 == 0 ? 10 : 100);
            busy_union_add(&u, (double)begin, (double)(begin + n));
            memset(used + begin, true, n);
            assert_true(u.total == length_of(used));
        }
        for (size_t i = 0; i + 1 < u.n; i++) {
            assert_true(u.at[i].begin < u.at[i].end && u.at[i].end < u.at[i + 1].begin);
        }
    }
}

TEST(union_of_very_many_intervals_never_counts_twice)
{
    enum { MANY = 3 * BUSY_UNION_MOST };
    memset(&u, 0, sizeof u);
    for (size_t k = 0; k < MANY; k++) {
        busy_union_add(&u, (double)(2 * k), (double)(2 * k + 1));
    }
    assert_true(u.total == MANY);
    assert_in_range(u.n, BUSY_UNION_MOST / 2, BUSY_UNION_MOST);
    busy_union_add(&u, 0, 2 * MANY); /* the same again, and all that lies between */
    assert_true(u.total <= 2 * MANY);
    assert_true(u.total >= MANY + BUSY_UNION_MOST / 2);
    busy_union_add(&u, 0, 5);
    assert_true(u.total <= 2 * MANY);
}

/* --- efficiency ------------------------------------------------------------------------------- */

TEST(efficiency_is_the_busiest_resource_over_the_time)
{
    static const char *const names[] = {"cpu",      "device",  "upload",
                                        "download", "disk in", "disk out"};
    for (size_t k = 0; k < 6; k++) {
        double s[6] = {1, 1, 1, 1, 1, 1};
        s[k] = 3;
        const struct efficiency_times times = {s[0], s[1], s[2], s[3], s[4], s[5]};
        const struct efficiency e = meter_efficiency(&times, 4);
        assert_true(e.value == 0.75);
        assert_string_equal(e.bound_by, names[k]);
    }
    const struct efficiency_times wrong = {.disk_in_s = 6}; /* it would show */
    assert_true(meter_efficiency(&wrong, 4).value == 1.5);
    assert_true(meter_efficiency(&wrong, 0).value == 0);
}

TEST(cpu_time_is_over_what_there_is_of_it)
{
    assert_true(meter_cpu_s(6, 2, 7, 16) == 3); /* few threads on a large machine */
    assert_true(meter_cpu_s(2, 4, 12, 4) == 3); /* reading threads unpack */
    assert_true(meter_cpu_s(4, 1, 6, 2) == 4);
}

static void burn_in_task(struct thread_pool_task *task)
{
    burn(task, 0);
}

static atomic_int n_burnt;

static void burnt(struct thread_pool_task *task)
{
    (void)task;
    atomic_fetch_add(&n_burnt, 1);
}

TEST(cpu_time_of_a_pool_is_that_of_its_threads)
{
    struct thread_pool *pool;
    struct thread_pool_task tasks[10];
    assert_int_equal(thread_pool_new(2, &pool), STATUS_OK);
    const uint64_t begin = thread_pool_now_ns();
    const double before = thread_pool_cpu_s(pool);
    for (size_t i = 0; i < 10; i++) {
        tasks[i] = (struct thread_pool_task){.work = burn_in_task, .done = burnt};
        thread_pool_submit(pool, 0, &tasks[i]);
    }
    while (n_burnt < 10) {
        burn(NULL, 0); /* on this thread, which is not one of the pool */
    }
    const double used = thread_pool_cpu_s(pool) - before;
    assert_true(used >= 0.02);
    assert_true(used <= 2 * 1e-9 * (double)(thread_pool_now_ns() - begin));
    thread_pool_free(pool);
    assert_true(thread_pool_cpu_s(NULL) == 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
