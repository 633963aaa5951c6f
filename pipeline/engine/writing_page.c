/*
 * writing_page - report.html: no script, nothing from elsewhere: styles and figures are in the
 * page, figures as base64 (RFC 4648). A PDF, which no browser shows so, is linked.
 */
#include "pipeline/engine/writing.h"

#include "formats/base/excerpt.h"
#include "formats/base/io_watch.h"
#include "pipeline/engine/overview.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A larger picture would make a page that is slow to open; it is linked. */
enum { PICTURE_MOST = 8 << 20 };

static const char begin[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'\">\n"
    "<style>\n"
    ":root { color-scheme: light dark; --ink: #202020; --soft: #5b6167; --paper: #ffffff; --rule: "
    "#dfe2e5; --note: #fff4d6 }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --soft: #a3a9af; --paper: "
    "#17191b; --rule: #3a3e42; --note: #3d3318 } }\n"
    "body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--paper); color: "
    "var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }\n"
    "h1 small { font-size: 1rem; font-weight: normal; color: var(--soft) } h1 { font-size: 1.4rem; "
    "margin: 0 0 1rem } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem }\n"
    "td, th, li, h1 { unicode-bidi: isolate }\n"
    "figure { margin: 0 0 1rem; background: #ffffff; border: 1px solid var(--rule); padding: "
    ".5rem }\n"
    "figure img { display: block; width: 100%; max-width: 60rem; height: auto; margin: 0 auto }\n"
    "ul { margin: 0; padding: .5rem 1rem .5rem 2rem; background: var(--note) }\n"
    "table { border-collapse: collapse; display: block; overflow-x: auto; overflow-wrap: normal } "
    "td, th { text-align: left; vertical-align: top; padding: "
    ".15rem 1.5rem .15rem 0; border-bottom: 1px solid var(--rule); font-weight: normal; "
    "font-variant-numeric: tabular-nums }\n"
    "th { color: var(--soft) } .facts th { min-width: 8rem }\n"
    "table:not(.facts) :is(td, th):nth-child(-n+2) { white-space: nowrap }\n"
    "pre { margin: 0; padding: .5rem 1rem; border: 1px solid var(--rule); overflow-x: auto; "
    "overflow-wrap: normal }\n"
    /* on A4: pictures on the first page, all else in two columns */
    "@page { size: A4; margin: 14mm }\n"
    "@media print { :root { color-scheme: light; --ink: #000000; --soft: #444444; --paper: "
    "#ffffff; --rule: #bbbbbb; --note: #f4f4f4 } body { max-width: none; padding: 0; font-size: "
    "8pt; line-height: 1.3; columns: 2; column-gap: 8mm } h1, figure { column-span: all } figure "
    "{ break-inside: avoid } figure img { width: auto; max-width: 100%; max-height: 170mm } figure "
    "~ figure img { max-height: 90mm } h2 { break-after: avoid; font-size: 10pt; margin: 3mm 0 1mm "
    "} tr, li "
    "{ break-inside: avoid } table { display: table } td, th { padding-right: 2mm } "
    "table:not(.facts) :is(td, th):nth-child(-n+2) { white-space: normal } pre { white-space: "
    "pre-wrap } }\n"
    "</style>\n";

/* What items stand in; items of one group follow each other. */
enum group { NONE, FACTS, TABLE, NOTES, CODES };

static const char *const opens[] = {"", "<table class=\"facts\">\n", "<table>\n", "<ul>\n",
                                    "<pre>"};
static const char *const closes[] = {"", "</table>\n", "</table>\n", "</ul>\n", "</pre>\n"};

struct page {
    struct bytes *out;
    int folder;
    enum group group;
};

static enum status put(struct page *p, const char *text)
{
    return bytes_append(p->out, text, strlen(text));
}

static enum status put_around(struct page *p, const char *before, const char *text,
                              const char *after)
{
    STATUS_TRY(put(p, before));
    STATUS_TRY(excerpt_html(text, p->out));
    return put(p, after);
}

static enum status put_row(struct page *p, enum overview_kind kind, size_t n,
                           const char *const *texts)
{
    STATUS_TRY(put(p, "<tr>"));
    for (size_t k = 0; k < n; k++) {
        const bool is_name = kind == OVERVIEW_HEAD || (kind == OVERVIEW_FACT && k == 0);
        STATUS_TRY(put_around(p, is_name ? "<th>" : "<td>", texts[k], is_name ? "</th>" : "</td>"));
    }
    return put(p, "</tr>\n");
}

/* --- figures ---------------------------------------------------------------------------------- */

static const char *picture_type(const char *name)
{
    static const char *const types[][2] = {{".png", "image/png"}, {".svg", "image/svg+xml"}};
    const char *const end = strrchr(name, '.');
    for (size_t k = 0; end != NULL && k < sizeof types / sizeof *types; k++) {
        if (strcmp(end, types[k][0]) == 0) {
            return types[k][1];
        }
    }
    return NULL;
}

static enum status put_base64(struct page *p, const unsigned char *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned second = i + 1 < n ? data[i + 1] : 0, third = i + 2 < n ? data[i + 2] : 0;
        const unsigned bits = (unsigned)data[i] << 16 | second << 8 | third;
        const char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                              i + 1 < n ? digits[bits >> 6 & 63] : '=',
                              i + 2 < n ? digits[bits & 63] : '='};
        STATUS_TRY(bytes_append(p->out, four, sizeof four));
    }
    return STATUS_OK;
}

/* What is in the file, in pieces that base64 takes without a rest. */
static enum status put_file(struct page *p, const char *name, int fd)
{
    enum { PIECE = 3 << 13 };
    unsigned char data[PIECE];
    int error = 0;
    size_t n = PIECE;
    for (uint64_t at = 0; n == PIECE; at += n) {
        n = io_watch_pread_all(fd, data, PIECE, at, &error);
        STATUS_TRY(put_base64(p, data, n));
    }
    return error == 0 ? STATUS_OK : status_fail_errno(error, "cannot read %s", name);
}

static enum status put_link(struct page *p, const char *name)
{
    STATUS_TRY(put_around(p, "<p>The picture is in <a href=\"", name, "\">"));
    return put_around(p, "", name, "</a>.</p>\n");
}

static enum status put_open_figure(struct page *p, const char *name, const char *what,
                                   const char *type, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return status_fail_errno(errno, "cannot read %s", name);
    }
    if (st.st_size > PICTURE_MOST) {
        return put_link(p, name);
    }
    STATUS_TRY(put_around(p, "<figure><img alt=\"", what, "\" src=\"data:"));
    STATUS_TRY(put(p, type));
    STATUS_TRY(put(p, ";base64,"));
    STATUS_TRY(put_file(p, name, fd));
    return put(p, "\"></figure>\n");
}

static enum status put_figure(struct page *p, const char *name, const char *what)
{
    const char *const type = picture_type(name);
    if (type == NULL) {
        return put_link(p, name);
    }
    const int fd = openat(p->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot read %s", name);
    }
    const enum status st = put_open_figure(p, name, what, type, fd);
    close(fd);
    return st;
}

/* --- items ------------------------------------------------------------------------------------ */

static enum status change_group(struct page *p, enum overview_kind kind)
{
    static const enum group groups[] = {
        [OVERVIEW_TITLE] = NONE, [OVERVIEW_FIGURE] = NONE, [OVERVIEW_SECTION] = NONE,
        [OVERVIEW_FACT] = FACTS, [OVERVIEW_HEAD] = TABLE,  [OVERVIEW_ROW] = TABLE,
        [OVERVIEW_NOTE] = NOTES, [OVERVIEW_CODE] = CODES};
    const enum group next = groups[kind];
    if (p->group != next) {
        STATUS_TRY(put(p, closes[p->group]));
        STATUS_TRY(put(p, opens[next]));
    }
    p->group = next;
    return STATUS_OK;
}

static enum status put_item(void *to, enum overview_kind kind, size_t n, const char *const *texts)
{
    struct page *const p = to;
    STATUS_TRY(change_group(p, kind));
    switch (kind) {
    case OVERVIEW_TITLE:
        STATUS_TRY(put_around(p, "<title>", texts[1], ": "));
        STATUS_TRY(put_around(p, "", texts[0], "</title>\n</head>\n<body>\n"));
        STATUS_TRY(put_around(p, "<h1>", texts[1], " <small>"));
        return put_around(p, "", texts[0], "</small></h1>\n");
    case OVERVIEW_FIGURE:
        return put_figure(p, texts[0], texts[n - 1]);
    case OVERVIEW_SECTION:
        return put_around(p, "<h2>", texts[0], "</h2>\n");
    case OVERVIEW_NOTE:
        return put_around(p, "<li>", texts[0], "</li>\n");
    case OVERVIEW_CODE:
        return put_around(p, "", texts[0], "\n");
    default:
        return put_row(p, kind, n, texts);
    }
}

enum status writing_page(const json_t *result, int folder, struct bytes *out)
{
    struct page p = {.out = out, .folder = folder};
    STATUS_TRY(put(&p, begin));
    STATUS_TRY(overview_tell(result, put_item, &p));
    STATUS_TRY(put(&p, closes[p.group]));
    return put(&p, "</body>\n</html>\n");
}
