/*
 * launcher - see launcher.h. The variables are those of sbatch(1) and srun(1), of mpirun(1) of Open
 * MPI, of Hydra (MPICH, Intel MPI), and of qsub(1) of Grid Engine.
 */
#include "pipeline/names/launcher.h"

#include "pipeline/names/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool read_count(const char *name, uint64_t *out)
{
    const char *text = getenv(name);
    return text != NULL && text_parse_count(text, out);
}

static uint64_t count_or(const char *name, uint64_t otherwise)
{
    uint64_t value;
    return read_count(name, &value) ? value : otherwise;
}

/* --- shares ----------------------------------------------------------------------------------- */

/* The tasks of an array: `first` and each `step` further, up to `last` or `count` of them. */
static enum status find_task(const char *name, uint64_t task, uint64_t first, uint64_t step,
                             uint64_t count, struct launcher_shard *out)
{
    if (step == 0 || count == 0 || task < first || (task - first) % step != 0 ||
        (task - first) / step >= count) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--shard auto: %s is %llu, but the tasks are not a plain range of %llu "
                           "from %llu; write --shard I/N",
                           name, (unsigned long long)task, (unsigned long long)count,
                           (unsigned long long)first);
    }
    *out = (struct launcher_shard){(size_t)((task - first) / step), (size_t)count};
    return STATUS_OK;
}

static enum status find_array(struct launcher_shard *out)
{
    uint64_t task, first, last, count;
    if (read_count("SLURM_ARRAY_TASK_ID", &task)) {
        if (!read_count("SLURM_ARRAY_TASK_MIN", &first) ||
            !read_count("SLURM_ARRAY_TASK_COUNT", &count)) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "--shard auto: SLURM_ARRAY_TASK_ID is set without _MIN and _COUNT; "
                               "write --shard I/N");
        }
        return find_task("SLURM_ARRAY_TASK_ID", task, first, count_or("SLURM_ARRAY_TASK_STEP", 1),
                         count, out);
    }
    if (read_count("SGE_TASK_ID", &task) && read_count("SGE_TASK_FIRST", &first) &&
        read_count("SGE_TASK_LAST", &last) && last >= first) {
        const uint64_t step = count_or("SGE_TASK_STEPSIZE", 1);
        return find_task("SGE_TASK_ID", task, first, step, step > 0 ? (last - first) / step + 1 : 0,
                         out);
    }
    return STATUS_OK;
}

/* Processes that were started together. Slurm gives a batch script a rank, too, but no step. */
static bool find_rank(struct launcher_shard *out)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t rank, size;
        if (read_count(names[i][0], &rank) && read_count(names[i][1], &size) && rank < size) {
            *out = (struct launcher_shard){(size_t)rank, (size_t)size};
            return true;
        }
    }
    return false;
}

enum status launcher_find_shard(struct launcher_shard *out)
{
    struct launcher_shard task = {0}, rank = {0};
    *out = (struct launcher_shard){0};
    STATUS_TRY(find_array(&task));
    if (!find_rank(&rank) && task.count == 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--shard auto: neither an array of Slurm or Grid Engine nor srun or "
                           "mpirun has started this process; write --shard I/N, with GNU parallel "
                           "--shard {#}/N");
    }
    task.count = task.count > 0 ? task.count : 1;
    rank.count = rank.count > 0 ? rank.count : 1;
    *out = (struct launcher_shard){task.index * rank.count + rank.index, task.count * rank.count};
    return STATUS_OK;
}

/* --- the host --------------------------------------------------------------------------------- */

/* The number for node `node` in "4(x2),3": 4, 4, 3. 0: there is none. */
static uint64_t count_at_node(const char *list, uint64_t node)
{
    while (list != NULL && *list != '\0') {
        char *end;
        const uint64_t count = strtoull(list, &end, 10);
        uint64_t times = 1;
        if (end == list) {
            return 0;
        }
        if (strncmp(end, "(x", 2) == 0) {
            times = strtoull(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < times) {
            return count;
        }
        node -= times;
        list = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

size_t launcher_host_processes(void)
{
    uint64_t n, node;
    if ((read_count("OMPI_COMM_WORLD_LOCAL_SIZE", &n) || read_count("MPI_LOCALNRANKS", &n)) &&
        n > 0) {
        return (size_t)n;
    }
    n = read_count("SLURM_NODEID", &node) ? count_at_node(getenv("SLURM_STEP_TASKS_PER_NODE"), node)
                                          : 0;
    return n > 0 ? (size_t)n : 1;
}

uint64_t launcher_host_cpus(void)
{
    const uint64_t n = count_or("SLURM_CPUS_ON_NODE", 0);
    return n > 0 ? n : UINT64_MAX;
}

uint64_t launcher_host_memory(void)
{
    const uint64_t cpus = launcher_host_cpus();
    uint64_t mib = count_or("SLURM_MEM_PER_NODE", 0);
    if (mib == 0 && cpus != UINT64_MAX) {
        mib = count_or("SLURM_MEM_PER_CPU", 0) * cpus;
    }
    return mib > 0 && mib < UINT64_MAX >> 20 ? mib << 20 : UINT64_MAX;
}
