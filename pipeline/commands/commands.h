/*
 * commands - the subcommands of leat; each takes argv from its own name on and returns the exit
 * status: 0 all done, 1 some job failed, 2 nothing could be done.
 */
#ifndef LEAT_PIPELINE_COMMANDS_COMMANDS_H
#define LEAT_PIPELINE_COMMANDS_COMMANDS_H

int command_run(int argc, char **argv);
int command_check(int argc, char **argv);
int command_generate(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_status(int argc, char **argv);
int command_retry(int argc, char **argv);
int command_doctor(int argc, char **argv);

#endif
