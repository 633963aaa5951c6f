/*
 * cairo_calls - cairo, which is loaded when something is first drawn with it: it brings the
 * libraries of X11 and of fonts.
 */
#ifndef LEAT_FORMATS_RESULT_CAIRO_CALLS_H
#define LEAT_FORMATS_RESULT_CAIRO_CALLS_H

#include "formats/base/module.h"

#include <cairo-ft.h>
#include <cairo-pdf.h>
#include <cairo-svg.h>

#define CAIRO_CALLS(CALL)                                                                          \
    CALL(cairo_, arc)                                                                              \
    CALL(cairo_, clip)                                                                             \
    CALL(cairo_, close_path)                                                                       \
    CALL(cairo_, create)                                                                           \
    CALL(cairo_, destroy)                                                                          \
    CALL(cairo_, fill)                                                                             \
    CALL(cairo_, font_face_status)                                                                 \
    CALL(cairo_, font_options_create)                                                              \
    CALL(cairo_, font_options_destroy)                                                             \
    CALL(cairo_, font_options_set_antialias)                                                       \
    CALL(cairo_, font_options_set_hint_metrics)                                                    \
    CALL(cairo_, ft_font_face_create_for_ft_face)                                                  \
    CALL(cairo_, get_source)                                                                       \
    CALL(cairo_, image_surface_create)                                                             \
    CALL(cairo_, image_surface_create_for_data)                                                    \
    CALL(cairo_, image_surface_get_data)                                                           \
    CALL(cairo_, image_surface_get_stride)                                                         \
    CALL(cairo_, line_to)                                                                          \
    CALL(cairo_, move_to)                                                                          \
    CALL(cairo_, new_path)                                                                         \
    CALL(cairo_, new_sub_path)                                                                     \
    CALL(cairo_, paint)                                                                            \
    CALL(cairo_, pattern_set_filter)                                                               \
    CALL(cairo_, pdf_surface_create_for_stream)                                                    \
    CALL(cairo_, pdf_surface_set_metadata)                                                         \
    CALL(cairo_, rectangle)                                                                        \
    CALL(cairo_, restore)                                                                          \
    CALL(cairo_, rotate)                                                                           \
    CALL(cairo_, save)                                                                             \
    CALL(cairo_, scale)                                                                            \
    CALL(cairo_, set_font_face)                                                                    \
    CALL(cairo_, set_font_options)                                                                 \
    CALL(cairo_, set_font_size)                                                                    \
    CALL(cairo_, set_line_cap)                                                                     \
    CALL(cairo_, set_line_join)                                                                    \
    CALL(cairo_, set_line_width)                                                                   \
    CALL(cairo_, set_source_rgba)                                                                  \
    CALL(cairo_, set_source_surface)                                                               \
    CALL(cairo_, show_page)                                                                        \
    CALL(cairo_, show_text)                                                                        \
    CALL(cairo_, status)                                                                           \
    CALL(cairo_, status_to_string)                                                                 \
    CALL(cairo_, stroke)                                                                           \
    CALL(cairo_, surface_destroy)                                                                  \
    CALL(cairo_, surface_finish)                                                                   \
    CALL(cairo_, surface_flush)                                                                    \
    CALL(cairo_, surface_status)                                                                   \
    CALL(cairo_, svg_surface_create_for_stream)                                                    \
    CALL(cairo_, svg_surface_set_document_unit)                                                    \
    CALL(cairo_, translate)                                                                        \
    CALL(cairo_, version_string)

struct cairo_calls {
    CAIRO_CALLS(MODULE_MEMBER)
};

/* After cairo_need, which loads it. STATUS_UNSUPPORTED: it cannot be loaded. Any thread. */
extern struct cairo_calls cairo;
enum status cairo_need(void) STATUS_MUST_CHECK;

#endif
