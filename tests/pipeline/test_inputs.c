/*
 * The inputs of a command line: their size, what ends the search for it, and shares of them.
 * ctest: wrap=scratch_room
 */
#include "pipeline/inputs/inputs.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/settings_given.h"

#include <fcntl.h>

static char folder[] = "/tmp/leat-inputs-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "cd %s && printf 1,2 >a.csv && printf 1,2,3 >b.csv",
             mkdtemp(folder));
    return system(command);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

TEST(size_is_of_all_inputs_until_they_are_stopped)
{
    char line[128];
    snprintf(line, sizeof(line), "run -p pearson %s", folder);
    struct settings settings = must_parse(line);
    struct inputs *const in = inputs_open(&settings, NULL, -1);
    assert_int_equal(inputs_total_bytes(in), 8);
    inputs_stop(in);
    assert_int_equal(inputs_total_bytes(in), 0);
    inputs_free(in);
    settings_free(&settings);
}

/* --- shares ----------------------------------------------------------------------------------- */

enum { TABLES = 40, PAIRS = 300 /* more than texts of .prj files may wait */ };

/* What a share has of the jobs, by number, and of failures. */
struct taken {
    unsigned char tables[TABLES], pairs[PAIRS], packed[PAIRS];
    size_t n_failures;
};

/* Tables, pairs of grids each with a .prj, the pairs once more in an archive; half a pair, and a
 * name that no pipeline takes. */
static void make_inputs(void)
{
    char command[512];
    snprintf(
        command, sizeof(command),
        "mkdir %s/all && cd %s/all && for i in $(seq 0 %d); do echo 1,2 >t$i.clusters.csv; done "
        "&& for i in $(seq 0 %d); do : >p$i.dem.asc && : >p$i.source.asc && echo $i >p$i.prj "
        "&& : >half.dem.asc; done && tar -cf ../all.tar $(ls p* | sort -V) && : >../no.route",
        folder, folder, TABLES - 1, PAIRS - 1);
    assert_int_equal(system(command), 0);
}

static void take_job(const struct job_input *job, struct taken *taken)
{
    char number[16];
    const bool packed = job->parts[0].fd >= 0;
    const size_t i = strtoul(job->settings.stem + 1, NULL, 10);
    snprintf(number, sizeof(number), "%zu\n", i);
    if (job->n_parts == 1) {
        assert_true(i < TABLES);
        taken->tables[i]++;
    } else {
        assert_true(i < PAIRS && job->parts[0].path != NULL && job->parts[1].path != NULL);
        (packed ? taken->packed : taken->pairs)[i]++;
        for (size_t k = 0; packed && k < 2; k++) {
            assert_non_null(job->parts[k].prj);
            assert_string_equal(job->parts[k].prj, number);
        }
    }
}

static void take_share(size_t index, size_t count, struct taken *taken)
{
    char line[256], name[64];
    snprintf(line, sizeof(line), "run --shard %zu/%zu %s/all %s/all.tar %s/no.route", index + 1,
             count, folder, folder, folder);
    snprintf(name, sizeof(name), "%s/no.route", folder);
    struct settings settings = must_parse(line);
    struct inputs *const in = inputs_open(&settings, NULL, -1);
    bool end = false;
    while (!end) {
        struct job_input job;
        const enum status code = inputs_next(in, &job, &end);
        if (code == STATUS_OK && !end) {
            take_job(&job, taken);
        } else if (code != STATUS_OK) {
            assert_true(strcmp(job.parts[0].path, name) == 0 ||
                        strstr(job.parts[0].path, "/half.dem.asc") != NULL);
            taken->n_failures++;
        }
        job_input_free(&job);
    }
    inputs_free(in);
    settings_free(&settings);
}

TEST(shares_have_every_job_once_and_whole)
{
    static const size_t counts[] = {1, 2, 3, 16};
    make_inputs();
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct taken all = {.n_failures = 0};
        for (size_t i = 0; i < counts[c]; i++) {
            struct taken before = all;
            take_share(i, counts[c], &all);
            size_t n = 0;
            for (size_t k = 0; k < PAIRS; k++) {
                n += all.pairs[k] > before.pairs[k];
            }
            /* by the names, so always the same */
            assert_true(counts[c] == 1 || (n > PAIRS / counts[c] / 4 && n < 3 * PAIRS / counts[c]));
        }
        for (size_t k = 0; k < PAIRS; k++) {
            assert_int_equal(all.pairs[k], 1);
            assert_int_equal(all.packed[k], 1);
            assert_int_equal(k < TABLES ? all.tables[k] : 1, 1);
        }
        assert_int_equal(all.n_failures, 2); /* half a pair, no.route */
    }
}

/* --- room ------------------------------------------------------------------------------------- */

uint64_t __real_scratch_room(int fd);
uint64_t __wrap_scratch_room(int fd);

static uint64_t room = UINT64_MAX; /* that there is at most */

uint64_t __wrap_scratch_room(int fd)
{
    const uint64_t real = __real_scratch_room(fd);
    return real < room ? real : room;
}

/* The service waits for it then: an archive that is bad would be put away. */
TEST(archive_that_finds_no_room_is_not_bad)
{
    char line[128], command[256], path[64];
    snprintf(command, sizeof(command),
             "cd %s && mkdir room && cd room && printf '1,2\n3,4\n' >m.clusters.csv && "
             "tar cf ../room.tar m.clusters.csv",
             folder);
    assert_int_equal(system(command), 0);
    snprintf(line, sizeof(line), "run %s/room.tar", folder);
    snprintf(path, sizeof(path), "%s/room.tar", folder);
    struct settings settings = must_parse(line);
    for (room = 7; room < 10; room++) {
        struct job_input job;
        bool end;
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct inputs *const in = inputs_open_archive(&settings, "in/room.tar", path, fd, -1);
        assert_int_equal(inputs_archive_bytes(in), 0);
        assert_int_equal(inputs_next(in, &job, &end), room < 8 ? STATUS_NO_SPACE : STATUS_OK);
        if (room < 8) {
            assert_non_null(strstr(status_message(), "there is no room for more"));
        }
        assert_string_equal(job.parts[0].path, "in/room.tar/m.clusters.csv");
        assert_true(inputs_archive_bytes(in) >= 512 && inputs_archive_bytes(in) <= 20480);
        job_input_free(&job);
        inputs_free(in);
    }
    room = UINT64_MAX;
    settings_free(&settings);
}

int main(void)
{
    return unit_run(make_folder, remove_folder);
}
