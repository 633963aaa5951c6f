/*
 * http_calls - libmicrohttpd, which the process of the page loads: it brings the libraries of TLS.
 */
#ifndef LEAT_PIPELINE_PAGE_HTTP_CALLS_H
#define LEAT_PIPELINE_PAGE_HTTP_CALLS_H

#include "formats/base/module.h"

#include <microhttpd.h>

#define HTTP_CALLS(CALL)                                                                           \
    CALL(MHD_, add_response_header)                                                                \
    CALL(MHD_, create_post_processor)                                                              \
    CALL(MHD_, create_response_from_buffer)                                                        \
    CALL(MHD_, create_response_from_fd64)                                                          \
    CALL(MHD_, destroy_post_processor)                                                             \
    CALL(MHD_, destroy_response)                                                                   \
    CALL(MHD_, get_connection_info)                                                                \
    CALL(MHD_, get_connection_values)                                                              \
    CALL(MHD_, get_version)                                                                        \
    CALL(MHD_, lookup_connection_value)                                                            \
    CALL(MHD_, post_process)                                                                       \
    CALL(MHD_, queue_response)                                                                     \
    CALL(MHD_, quiesce_daemon)                                                                     \
    CALL(MHD_, start_daemon)                                                                       \
    CALL(MHD_, stop_daemon)

struct http_calls {
    HTTP_CALLS(MODULE_MEMBER)
};

/* After http_need, which loads it. STATUS_UNSUPPORTED: it cannot be loaded. Any thread. */
extern struct http_calls http;
enum status http_need(void) STATUS_MUST_CHECK;

#endif
