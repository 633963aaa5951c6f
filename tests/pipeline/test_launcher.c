/*
 * What Slurm, Open MPI, Hydra and Grid Engine say in the environment, and what follows for a
 * process's share of the inputs and of the host.
 */
#include "pipeline/names/launcher.h"
#include "pipeline/names/machine.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "NAME=VALUE NAME=VALUE": the environment of a launched process, and nothing else. */
static void launch(const char *variables)
{
    char all[512], *at = NULL;
    clearenv();
    snprintf(all, sizeof(all), "%s", variables);
    for (char *one = strtok_r(all, " ", &at); one != NULL; one = strtok_r(NULL, " ", &at)) {
        char *equals = strchr(one, '=');
        assert_non_null(equals);
        *equals = '\0';
        assert_int_equal(setenv(one, equals + 1, 1), 0);
    }
}

static void assert_shard(const char *variables, size_t index, size_t count)
{
    struct launcher_shard shard;
    launch(variables);
    assert_int_equal(launcher_find_shard(&shard), STATUS_OK);
    assert_int_equal(shard.index, index);
    assert_int_equal(shard.count, count);
}

TEST(tasks_of_an_array_are_counted_from_its_first)
{
    assert_shard("SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=63 "
                 "SLURM_ARRAY_TASK_COUNT=64",
                 0, 64);
    assert_shard("SLURM_ARRAY_TASK_ID=63 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=63 "
                 "SLURM_ARRAY_TASK_COUNT=64",
                 63, 64);
    assert_shard("SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 "
                 "SLURM_ARRAY_TASK_COUNT=4 "
                 "SLURM_ARRAY_TASK_STEP=2",
                 3, 4);
    assert_shard("SGE_TASK_ID=5 SGE_TASK_FIRST=1 SGE_TASK_LAST=10 SGE_TASK_STEPSIZE=2", 2, 5);
}

TEST(ranks_take_shares_and_so_do_they_within_a_task)
{
    assert_shard("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3", 2, 3);
    assert_shard("PMI_RANK=0 PMI_SIZE=2", 0, 2);
    assert_shard("SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8", 5, 8);
    assert_shard("SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=3 "
                 "SLURM_ARRAY_TASK_COUNT=3 "
                 "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4",
                 7, 12);
}

/* The batch script of a job of many tasks runs once. */
TEST(batch_script_without_a_step_takes_all_of_its_task)
{
    assert_shard("SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=1 "
                 "SLURM_ARRAY_TASK_COUNT=2 "
                 "SLURM_PROCID=0 SLURM_NTASKS=4",
                 1, 2);
}

static void assert_no_shard(const char *variables, const char *says)
{
    struct launcher_shard shard;
    launch(variables);
    assert_int_equal(launcher_find_shard(&shard), STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), says));
    assert_int_equal(shard.count, 0);
}

TEST(what_does_not_tell_the_share_is_an_error)
{
    assert_no_shard("", "--shard I/N");
    assert_no_shard("SLURM_PROCID=0 SLURM_NTASKS=4", "--shard I/N");
    assert_no_shard("SGE_TASK_ID=undefined SGE_TASK_FIRST=undefined", "--shard I/N");
    assert_no_shard("SLURM_ARRAY_TASK_ID=1", "_COUNT");
    assert_no_shard(
        "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=5 " /* 1,3,5 */
        "SLURM_ARRAY_TASK_COUNT=3",
        "not a plain range");
    /* --array=3,7 */
    assert_no_shard("SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=7 "
                    "SLURM_ARRAY_TASK_COUNT=2",
                    "not a plain range");
    assert_no_shard("SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=4 "
                    "SLURM_ARRAY_TASK_COUNT=2",
                    "not a plain range");
    assert_no_shard("SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=5 "
                    "SLURM_ARRAY_TASK_COUNT=2 "
                    "SLURM_ARRAY_TASK_STEP=2",
                    "not a plain range");
}

static size_t processes(const char *variables)
{
    launch(variables);
    return launcher_host_processes();
}

TEST(processes_of_the_host_are_those_of_the_launcher)
{
    assert_int_equal(processes(""), 1);
    assert_int_equal(processes("OMPI_COMM_WORLD_LOCAL_SIZE=4"), 4);
    assert_int_equal(processes("MPI_LOCALNRANKS=2"), 2);
    assert_int_equal(processes("SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=4(x2),3"), 4);
    assert_int_equal(processes("SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=4(x2),3"), 4);
    assert_int_equal(processes("SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=4(x2),3"), 3);
    assert_int_equal(processes("SLURM_NODEID=3 SLURM_STEP_TASKS_PER_NODE=4(x2),3"), 1);
    assert_int_equal(processes("SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=many"), 1);
    assert_int_equal(processes("OMPI_COMM_WORLD_LOCAL_SIZE=0"), 1);
}

TEST(processes_of_a_step_are_those_of_all_its_hosts)
{
    launch("");
    assert_int_equal(launcher_processes(), 1);
    launch("PMI_RANK=2 PMI_SIZE=4 MPI_LOCALNRANKS=2");
    assert_int_equal(launcher_processes(), 4);
    launch("SLURM_PROCID=0 SLURM_NTASKS=8");
    assert_int_equal(launcher_processes(), 1);
}

TEST(memory_and_processors_are_shared_by_the_processes_of_the_host)
{
    launch("");
    const uint64_t memory = machine_memory();
    const size_t cpus = machine_cpus();
    launch("OMPI_COMM_WORLD_LOCAL_SIZE=4");
    assert_int_equal(machine_memory(), memory / 4);
    assert_true(machine_cpus() >= 1 && machine_cpus() <= cpus);
    launch("SLURM_CPUS_ON_NODE=1 SLURM_MEM_PER_NODE=64");
    assert_int_equal(machine_cpus(), 1);
    assert_int_equal(machine_memory(), UINT64_C(64) << 20);
    launch("SLURM_CPUS_ON_NODE=3 SLURM_MEM_PER_CPU=64 SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=3");
    assert_int_equal(machine_cpus(), 1);
    assert_int_equal(machine_memory(), UINT64_C(64) << 20);
    launch("OMPI_COMM_WORLD_LOCAL_SIZE=100000");
    assert_int_equal(machine_cpus(), 1);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
