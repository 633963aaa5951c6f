/*
 * status_ask - finds the running service and asks it what it is doing.
 */
#ifndef LEAT_PIPELINE_STATUS_STATUS_ASK_H
#define LEAT_PIPELINE_STATUS_STATUS_ASK_H

#include "formats/base/status.h"
#include "pipeline/settings/settings.h"

#include <jansson.h>

/* The document of the service at --status-socket or, where none is given, at the first of the usual
 * places (settings_next_socket) at which one answers; its path is added as "socket". With --spool
 * it must be that spool's service. STATUS_NOT_FOUND: none (says where it was looked for, and how to
 * start it); as status_socket_ask. */
enum status status_ask(const struct settings *s, json_t **out) STATUS_MUST_CHECK;

/* The watched folder: --spool, else what a running service says; owned by the caller.
 * STATUS_BAD_ARGUMENT: neither. */
enum status status_ask_spool(const struct settings *s, char **out) STATUS_MUST_CHECK;

#endif
