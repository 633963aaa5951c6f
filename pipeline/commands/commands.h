/*
 * commands - the subcommands of leat. Exit statuses: 0 all done, 1 some job failed, 2 nothing could
 * be done; COMMANDS_SIGNALLED + N: stopped by the signal N, of which the process is to die.
 */
#ifndef LEAT_PIPELINE_COMMANDS_COMMANDS_H
#define LEAT_PIPELINE_COMMANDS_COMMANDS_H

#include "pipeline/settings/settings.h"

enum { COMMANDS_SIGNALLED = 128 };

/* These take argv from their own name on and return the exit status. */
int command_generate(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_completion(int argc, char **argv);

/* A failure is not logged yet; its exit status is 2. */
enum status command_run(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_check(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_show(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_status(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_retry(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_hold(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_release(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_delete(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_flush(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;
enum status command_doctor(const struct settings *s, int *exit_status) STATUS_MUST_CHECK;

#endif
