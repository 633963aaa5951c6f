/*
 * page_form - see page_form.h.
 */
#include "pipeline/page/page_form.h"

#include "formats/base/json.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { VALUE_BYTES = 64, PIECE_BYTES = 1024 };

static const char *const names[] = {"key", "do", "job"};
enum { KEY, DO, JOB, N_NAMES };

struct page_form {
    struct MHD_PostProcessor *processor;
    char values[N_NAMES][VALUE_BYTES];
    bool is_wrong; /* longer than any that is right */
};

void page_form_make_key(char key[PAGE_KEY_BYTES])
{
    unsigned char bytes[PAGE_KEY_BYTES / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        xalloc_end(); /* no page without */
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    }
}

bool page_form_is_secret(const char *text, const char *secret)
{
    const size_t n = strlen(secret);
    if (text == NULL || strlen(text) != n) {
        return false;
    }
    unsigned differs = 0;
    for (size_t i = 0; i < n; i++) {
        differs |= (unsigned char)(text[i] ^ secret[i]);
    }
    return differs == 0;
}

static enum MHD_Result on_value(void *user, enum MHD_ValueKind kind, const char *key,
                                const char *file, const char *type, const char *encoding,
                                const char *data, uint64_t offset, size_t n)
{
    struct page_form *form = user;
    (void)kind;
    (void)file;
    (void)type;
    (void)encoding;
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strcmp(key, names[i]) == 0) {
            if (offset + n >= VALUE_BYTES) {
                form->is_wrong = true;
                return MHD_NO;
            }
            memcpy(form->values[i] + offset, data, n);
            form->values[i][offset + n] = '\0';
        }
    }
    return MHD_YES;
}

struct page_form *page_form_new(struct MHD_Connection *connection)
{
    struct page_form *form = xcalloc(1, sizeof(*form));
    form->processor = http.create_post_processor(connection, PIECE_BYTES, on_value, form);
    if (form->processor == NULL) {
        free(form);
        return NULL;
    }
    return form;
}

void page_form_free(struct page_form *form)
{
    if (form != NULL) {
        http.destroy_post_processor(form->processor);
        free(form);
    }
}

void page_form_take(struct page_form *form, const char *data, size_t n)
{
    form->is_wrong = form->is_wrong || http.post_process(form->processor, data, n) != MHD_YES;
}

bool page_form_has_key(const struct page_form *form, const char *key)
{
    return !form->is_wrong && page_form_is_secret(form->values[KEY], key);
}

char *page_form_ask(const struct page_form *form)
{
    json_t *ask = json_pack("{s:s, s:s}", "do", form->values[DO], "job", form->values[JOB]);
    char *text = ask != NULL ? json_dumps(ask, JSON_COMPACT) : NULL; /* NULL: it is not UTF-8 */
    json_decref(ask);
    return text;
}
