/*
 * command_completion - leat completion: a script for a shell that completes leat's command lines by
 * asking leat itself (options.h, --complete), so that it knows the options of the program that is
 * there. Where leat offers nothing, the shell completes names of files.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/settings/options.h"

#include <stdio.h>
#include <string.h>

static const char bash[] =
    "_leat() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(\"$1\" --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
    "    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace\n"
    "}\n"
    "complete -o default -F _leat leat\n";

static const char zsh[] =
    "#compdef leat\n"
    "local -a offered open ended\n"
    "offered=(${(f)\"$($words[1] --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "open=(${(M)offered:#*=}) ended=(${offered:#*=})\n"
    "compadd -S '' -a open\n"
    "compadd -a ended\n"
    "(( $#offered )) || _files\n";

static enum status take(void *user, const struct option_entry *option, const char *value)
{
    const char **script = user;
    (void)option; /* it has none */
    *script = strcmp(value, "bash") == 0 ? bash : strcmp(value, "zsh") == 0 ? zsh : NULL;
    return *script != NULL ? STATUS_OK
                           : status_fail(STATUS_BAD_ARGUMENT,
                                         "leat completion: '%s' is not bash or zsh", value);
}

int command_completion(int argc, char **argv)
{
    const char *script = NULL;
    const struct options options = {
        .command = "completion",
        .operands = "bash|zsh",
        .about = "Prints a script with which the shell completes command lines of leat.",
        .examples = "source <(leat completion bash)\n",
        .notes = "Exit status: 0 printed, 2 no such shell.",
        .manual = "leat",
        .take = take};
    bool done = false;
    enum status status = options_parse(&options, argc, argv, &script, &done);
    if (status == STATUS_OK && !done && script == NULL) {
        status = status_fail(STATUS_BAD_ARGUMENT,
                             "leat completion: no shell named; write leat completion bash, or zsh");
    }
    if (status != STATUS_OK) {
        log_error("%s", status_message());
        return 2;
    }
    if (script != NULL) {
        fputs(script, stdout);
    }
    return 0;
}
