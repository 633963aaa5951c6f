/*
 * test_table_messy - tables as people have them: each file of messy/, or of the folder LEAT_MESSY,
 * is read, with the numbers, names and warnings that its file `expected` says, or refused with the
 * message that stands there.
 * ctest: tree
 */
#include "tests/support/table_support.h"

#include <dirent.h>
#include <fcntl.h>

enum { MOST_FILES = 512, MOST_LINES = 16, MOST_WARNINGS = 8 };

/* What `expected` says of a file: its lines, without the key that each begins with. Where it is
 * refused and has a shape, too, that is what comes out once its message is obeyed. */
struct entry {
    char *file;
    char *options, *shape, *names, *labels, *values, *refused;
    char *warnings[MOST_WARNINGS];
    size_t n_warnings;
};

struct messy {
    char *text; /* that the entries point into */
    struct entry entries[MOST_FILES];
    size_t n_entries;
};

static const char *folder_path(void)
{
    const char *const said = getenv("LEAT_MESSY");
    return said ? said : LEAT_TREE "/tests/formats/messy";
}

static char *read_file(const char *name, size_t *n)
{
    enum { MOST = 32 << 20 };
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder_path(), name);
    FILE *const f = fopen(path, "rb");
    if (!f) {
        fail_msg("%s cannot be opened", path);
    }
    char *const text = calloc(1, MOST);
    assert_non_null(text);
    *n = fread(text, 1, MOST - 1, f);
    fclose(f);
    return text;
}

static void take_line(struct entry *e, char *line)
{
    char *const value = strchr(line, ' ');
    char **const places[] = {&e->options, &e->shape,  &e->names,
                             &e->labels,  &e->values, &e->refused};
    static const char *const keys[] = {"options", "shape", "names", "labels", "values", "refused"};
    assert_non_null(value);
    *value = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(line, keys[i]) == 0) {
            assert_null(*places[i]);
            *places[i] = value + 1;
            return;
        }
    }
    assert_string_equal(line, "warn");
    assert_true(e->n_warnings < MOST_WARNINGS);
    e->warnings[e->n_warnings++] = value + 1;
}

static void read_entries(struct messy *m)
{
    size_t n;
    m->text = read_file("expected", &n);
    for (char *line = strtok(m->text, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == ' ') {
            assert_true(m->n_entries > 0);
            take_line(&m->entries[m->n_entries - 1], line + 2);
        } else if (*line != '#') {
            assert_true(m->n_entries < MOST_FILES);
            m->entries[m->n_entries++].file = line;
        }
    }
}

/* "skip=1;sep=colon" to options; the texts stay in `text`. */
static struct table_options parse_options(char *text)
{
    struct table_options o = {0};
    for (char *word = text; word;) {
        char *const next = strchr(word, ';'), *const value = strchr(word, '=');
        enum table_option option;
        assert_non_null(value);
        *value = '\0';
        if (next) {
            *next = '\0';
        }
        assert_true(table_option_find(word, &option));
        assert_int_equal(table_option_set(&o, option, value + 1), STATUS_OK);
        word = next ? next + 1 : NULL;
    }
    return o;
}

static void check_refused(const struct entry *e, const struct reading *r)
{
    static const char file[] = "in.x: ";
    const char *const space = strchr(e->refused, ' '), *said = status_message();
    assert_non_null(space);
    said += strncmp(said, file, sizeof file - 1) == 0 ? sizeof file - 1 : 0;
    if (r->status == STATUS_OK ||
        strncmp(status_name(r->status), e->refused, (size_t)(space - e->refused)) != 0 ||
        strcmp(said, space + 1) != 0) {
        fail_msg("%s: %s: %s", e->file, status_name(r->status),
                 r->status ? status_message() : "it was read");
    }
}

/* Sets what the message says in the form -s KEY=VALUE, in quotes or without; the texts stay in
 * `text`. */
static struct table_options obey(struct table_options options, char *text)
{
    bool has_cure = false;
    for (char *p = text; (p = strstr(p, "-s "));) {
        char *const key = p + 3, *const equals = strchr(key, '=');
        enum table_option option;
        assert_non_null(equals);
        *equals = '\0';
        assert_true(table_option_find(key, &option));
        char *const value = equals[1] == '\'' ? equals + 2 : equals + 1;
        char *const end = value + strcspn(value, equals[1] == '\'' ? "'" : " ;");
        p = *end == '\0' ? end : end + 1;
        *end = '\0';
        assert_int_equal(table_option_set(&options, option, value), STATUS_OK);
        has_cure = true;
    }
    assert_true(has_cure);
    return options;
}

/* The words of `list` between bars are those of `found`. */
static void check_words(const char *file, const char *list, const struct bytes *found)
{
    struct bytes text = {0};
    for (size_t i = 0; i < found->len; i += strlen((const char *)found->data + i) + 1) {
        assert_int_equal(bytes_printf(&text, "%s%s", i ? "|" : "", (const char *)found->data + i),
                         STATUS_OK);
    }
    assert_int_equal(bytes_append(&text, "", 1), STATUS_OK);
    if (strcmp(list ? list : "", (const char *)text.data) != 0) {
        fail_msg("%s: names or labels are %s, not %s", file, text.data, list ? list : "none");
    }
    bytes_free(&text);
}

static void check_values(const struct entry *e, const struct reading *r)
{
    const char *p = e->values;
    for (size_t i = 0; p && i < r->n_numbers; i++) {
        double x;
        char *end;
        memcpy(&x, r->numbers.data + 8 * i, sizeof x);
        p += strspn(p, " /");
        const double expected = strtod(p, &end);
        assert_true(end > p);
        p = end;
        if (isnan(expected) ? !isnan(x) : !(x == expected)) {
            fail_msg("%s: number %zu is %.17g, not %.17g", e->file, i, x, expected);
        }
    }
}

static void check_warnings(const struct entry *e, const struct reading *r)
{
    const char *const *const found = r->info->warnings;
    for (size_t i = 0; i < r->info->n_warnings || i < e->n_warnings; i++) {
        if (i >= r->info->n_warnings || i >= e->n_warnings ||
            strcmp(found[i], e->warnings[i]) != 0) {
            fail_msg("%s: warning %zu: %s", e->file, i + 1,
                     i < r->info->n_warnings ? found[i] : "there is none");
        }
    }
}

static void check_read(const struct entry *e, const struct reading *r)
{
    struct bytes names = {0};
    size_t lines, columns;
    if (r->status) {
        fail_msg("%s: %s", e->file, status_message());
    }
    assert_non_null(e->shape);
    assert_int_equal(sscanf(e->shape, "%zu x %zu", &lines, &columns), 2);
    if (r->info->cells_per_line != columns || r->n_numbers != lines * columns) {
        fail_msg("%s: %zu numbers in %zu columns", e->file, r->n_numbers, r->info->cells_per_line);
    }
    assert_true(r->info->n_lines == 0 || r->info->n_lines == lines);
    for (size_t c = 0; r->info->names && c < columns; c++) {
        assert_int_equal(bytes_append(&names, r->info->names[c], strlen(r->info->names[c]) + 1),
                         STATUS_OK);
    }
    check_words(e->file, e->names, &names);
    check_words(e->file, e->labels, &r->labels);
    check_values(e, r);
    check_warnings(e, r);
    bytes_free(&names);
}

TEST(each_file_gives_what_is_expected)
{
    const struct messy *const m = *state;
    static const size_t caps[] = {1 << 16, 256};
    for (size_t i = 0; i < m->n_entries; i++) {
        const struct entry *const e = &m->entries[i];
        const struct table_options options = parse_options(e->options);
        size_t n;
        char *const text = read_file(e->file, &n);
        for (size_t k = 0; k < sizeof caps / sizeof caps[0]; k++) {
            struct reading r = read_bytes(text, n, &options, caps[k]);
            char message[STATUS_MESSAGE_BYTES] = "";
            if (e->refused) {
                check_refused(e, &r);
            }
            if (e->refused && e->shape) {
                snprintf(message, sizeof message, "%s", status_message());
                const struct table_options cure = obey(options, message);
                reading_free(&r);
                r = read_bytes(text, n, &cure, caps[k]);
            }
            if (e->shape) {
                check_read(e, &r);
            }
            if (k == 0 && getenv("LEAT_TEST_SHOW")) {
                printf("%s: %s\n", e->file, r.status ? status_message() : "read");
                for (size_t w = 0; r.status == STATUS_OK && w < r.info->n_warnings; w++) {
                    printf("    %s\n", r.info->warnings[w]);
                }
            }
            reading_free(&r);
        }
        free(text);
    }
}

TEST(each_file_is_expected_and_there)
{
    const struct messy *const m = *state;
    DIR *const folder = opendir(folder_path());
    assert_non_null(folder);
    size_t n_files = 0;
    for (const struct dirent *file; (file = readdir(folder));) {
        size_t i = 0;
        if (file->d_name[0] == '.' || strcmp(file->d_name, "expected") == 0) {
            continue;
        }
        while (i < m->n_entries && strcmp(m->entries[i].file, file->d_name) != 0) {
            i++;
        }
        if (i == m->n_entries) {
            fail_msg("%s is not expected", file->d_name);
        }
        n_files++;
    }
    closedir(folder);
    assert_int_equal(n_files, m->n_entries);
    assert_true(n_files >= 30);
}

static int set_up(void **state)
{
    static struct messy m;
    read_entries(&m);
    *state = &m;
    return 0;
}

static int tear_down(void **state)
{
    free(((struct messy *)*state)->text);
    return 0;
}

int main(void)
{
    return unit_run(set_up, tear_down);
}
