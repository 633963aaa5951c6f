/*
 * main - finds the subcommand, and is the only place that ends the process.
 *
 * SIGPIPE is ignored, so that a reader of standard output that goes away does not cut off the work
 * half-way; once everything is put away the process ends by that signal after all, as shells
 * expect. So it does by a signal that has stopped a command, for a shell's loop to stop, too.
 * Standard streams that are closed are opened on /dev/null the wrong way round, so that no
 * file of ours takes their place and what is printed still counts as lost.
 */
#include "formats/base/log.h"
#include "kernels/backend.h"
#include "pipeline/commands/commands.h"
#include "pipeline/names/text.h"
#include "pipeline/page/page_process.h"
#include "pipeline/settings/options.h"
#include "pipeline/settings/settings.h"
#include "pipeline/worker/worker.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name, *help;
    int (*run)(int argc, char **argv); /* or: */
    enum status (*run_with)(const struct settings *s, int *exit_status);
};

static const struct command commands[] = {
    {"run", "process files, folders and archives, then exit", NULL, command_run},
    {"check", "validate inputs and report what run would do", NULL, command_check},
    {"show", "summarize results, or describe inputs", NULL, command_show},
    {"watch", "process files dropped into a folder, until stopped", command_watch, NULL},
    {"generate", "make input data", command_generate, NULL},
    {"status", "report what a running service is doing", NULL, command_status},
    {"retry", "retry failed jobs of a service", NULL, command_retry},
    {"hold", "keep queued jobs from starting", NULL, command_hold},
    {"release", "release held jobs", NULL, command_release},
    {"delete", "cancel queued jobs; their inputs go to failed/", NULL, command_delete},
    {"flush", "retry deferred jobs now", NULL, command_flush},
    {"doctor", "report what works on this machine", NULL, command_doctor},
    {"completion", "print a script that completes command lines: bash or zsh", command_completion,
     NULL},
    {"worker", NULL, worker_run, NULL}, /* these two are of watch's own: not for people */
    {"page", NULL, page_process_run, NULL},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]), NOTHING_DONE = 2 };

static void print_help(void)
{
    printf("Usage: leat COMMAND [OPTION...] [ARGUMENT...]\n" OPTIONS_ABOUT "\nCommands:\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        if (commands[i].help != NULL) {
            printf("  %-10s %s\n", commands[i].name, commands[i].help);
        }
    }
    printf("\nPipelines, by a file's name:\n");
    for (const struct stage_ops *const *stage = stage_registry; *stage != NULL; stage++) {
        char names[SETTINGS_NAMES_BYTES];
        printf("  %-11s %s\n", (*stage)->name, settings_names_of(*stage, names));
    }
    printf("\n"
           "  leat help COMMAND     the options of a command, with examples\n"
           "  leat help PIPELINE    its parameters, with examples\n"
           "  leat help tables      how files are read\n"
           "  leat --version        the version\n"
           "  man leat              the manual\n\n"
           "Exit status: 0 all done, 1 some job failed, 2 nothing could be done.\n");
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

/* is_topic: help on it has been asked for. */
static int unknown(const char *name, bool is_topic)
{
    struct text_near near = {.word = name};
    for (size_t i = 0; i < COMMANDS; i++) {
        if (commands[i].help != NULL) {
            text_near_offer(&near, commands[i].name);
        }
    }
    if (is_topic) {
        settings_offer_topics(&near);
    }
    if (!is_topic && stage_find(name) != NULL) {
        log_error("'%s' is a pipeline: leat run -p %s FILE (see leat help %s)", name, name, name);
    } else if (!is_topic && access(name, F_OK) == 0) {
        log_error("'%s' is a file or folder: leat run %s", name, name);
    } else if (near.best != NULL) {
        log_error("unknown %s '%s': did you mean '%s'?", is_topic ? "topic" : "command", name,
                  near.best);
    } else if (name[0] == '-') {
        log_error("option '%s' must follow the command: leat COMMAND [OPTION...] (see leat --help)",
                  name);
    } else {
        log_error("unknown %s '%s' (see leat --help)", is_topic ? "topic" : "command", name);
    }
    return NOTHING_DONE;
}

/* What the first word, or that behind `help`, may become, one a line, for a shell
 * (command_completion.c). */
static int complete(const char *word, bool is_topic)
{
    const struct options_word first = {.text = word, .begin = ""};
    for (size_t i = 0; i < COMMANDS; i++) {
        if (commands[i].help != NULL) {
            options_offer(&first, commands[i].name);
        }
    }
    for (const struct stage_ops *const *s = stage_registry; is_topic && *s != NULL; s++) {
        options_offer(&first, (*s)->name);
    }
    options_offer(&first, is_topic ? "tables" : "help");
    options_offer(&first, "--help");
    options_offer(&first, "--version");
    return 0;
}

static int run(const struct command *c, int argc, char **argv)
{
    struct settings s;
    bool done;
    int exit_status = 0;
    if (c->run != command_watch && c->help != NULL) { /* not of the service */
        xalloc_set_end(NOTHING_DONE, "no memory is left");
    }
    if (c->run != NULL) {
        return c->run(argc, argv);
    }
    enum status status = settings_parse(argc, argv, &s, &done);
    if (status == STATUS_OK && !done) {
        settings_set_log_level(&s);
        status = c->run_with(&s, &exit_status);
    }
    if (status != STATUS_OK) {
        log_error("%s", status_message());
        exit_status = NOTHING_DONE;
    }
    settings_free(&s);
    return exit_status;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        log_error("no command given: leat COMMAND [OPTION...] (see leat --help)");
        return NOTHING_DONE;
    }
    const bool help = strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
                      strcmp(argv[1], "-h") == 0;
    const char *name = help && argc > 2 ? argv[2] : argv[1]; /* what is asked for, or about */
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        options_print_version();
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help();
        return 0;
    }
    if (strcmp(name, "--complete") == 0 && argc <= 3) {
        return complete(argc > 2 ? argv[2] : "", false);
    }
    if (strcmp(name, "--complete") == 0 && argc == 4 && strcmp(argv[2], "help") == 0) {
        return complete(argv[3], true);
    }
    if (strcmp(name, "--complete") == 0) { /* what belongs to a command, it completes itself */
        argv[1] = argv[2];
        argv[2] = (char *)name;
        name = argv[1];
    }
    if (help && settings_print_help(name)) {
        return 0;
    }
    const struct command *command = find(name);
    if (command == NULL) {
        return unknown(name, help);
    }
    if (help) {
        static char option[] = "--help";
        char *ask[] = {argv[2], option, NULL};
        return run(command, 2, ask);
    }
    return run(command, argc - 1, argv + 1);
}

/* Whether the reader of standard output has gone. */
static bool is_cut_off(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

static void die_of(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

/* What was printed counts only once it has left. */
static int finish(int result)
{
    errno = 0;
    bool has_left = fflush(stdout) == 0 && !ferror(stdout);
    int error = errno;
    if ((!has_left || result != 0) && is_cut_off()) {
        die_of(SIGPIPE);
    }
    if (result > COMMANDS_SIGNALLED) {
        die_of(result - COMMANDS_SIGNALLED);
    }
    if (has_left) {
        return result;
    }
    log_error("cannot write to standard output: %s",
              error != 0 ? strerror(error) : "an earlier write failed");
    return result != 0 ? result : 1;
}

static bool has_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    json_set_alloc_funcs(xmalloc, free); /* so nobody asks a JSON value whether it is there */
    backend_prepare();
    if (!has_streams()) {
        return NOTHING_DONE;
    }
    signal(SIGPIPE, SIG_IGN);
    return finish(dispatch(argc, argv));
}
