/*
 * log - messages to the user while leat runs: one line an event, on stderr.
 *
 * Nothing else writes to stderr. Safe from any thread; a line is never torn. What is not plain text
 * is shown as \xNN (excerpt_escape), so that a file's name or content cannot command a terminal or
 * forge a line. When stderr is the journal (JOURNAL_STREAM names it) lines begin with the "<N>"
 * priorities that it reads, otherwise with "leat: "; on a terminal errors and warnings are
 * coloured, unless NO_COLOR is set (no-color.org).
 */
#ifndef LEAT_FORMATS_BASE_LOG_H
#define LEAT_FORMATS_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines above this level are dropped; LOG_LEVEL_INFO at start. */
void log_set_level(enum log_level level);

/* From now on no caller waits for who reads stderr (a pipe that is full, a terminal that is
 * stopped, a journal that hangs): lines that it does not take at once are dropped and counted, and
 * how many they were is said once it takes some again, at the next line or at log_report_dropped.
 * Lines are cut at PIPE_BUF bytes then. For services; before there are other threads. */
void log_drop_when_blocked(void);
void log_report_dropped(void);

/* Prints one line; text beyond 4000 bytes is cut. errno is kept. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether stderr is a terminal that can redraw a line, so that progress is worth composing. */
bool log_has_progress(void);
/* Draws (replaces) the progress line at the bottom of the terminal; NULL or "" takes it away. Lines
 * that are logged meanwhile appear above it. Cut to the terminal's width. Nothing happens when
 * stderr is not a terminal. */
void log_progress(const char *text);

#endif
