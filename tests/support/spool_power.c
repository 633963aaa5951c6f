/*
 * spool_power - see spool_power.h. Things are numbered; folders are lists of (folder, name, thing).
 * The recording is played twice: once in full, to know which thing each change was about and which
 * changes an fsync made sure; then from the beginning with the changes that survive the cut.
 */
#include "tests/support/spool_power.h"

#include "tests/support/spool_support.h"

#include <errno.h>
#include <limits.h>

enum { THINGS_MAX = 1024, NAMES_MAX = 1024, CHANGES_MAX = 1024, NAME_BYTES = 256 };

struct name {
    int folder, thing;
    char name[NAME_BYTES];
};

struct change {
    char action[12];
    int from, to; /* folders; -1: none */
    char from_name[NAME_BYTES], to_name[NAME_BYTES];
    int thing, other; /* what is moved, made, removed; with "exchange" what stood at `to` */
    bool is_sure;
    bool is_left; /* a rename: the folder it led from was put on disk since */
};

struct spool_power {
    struct thing {
        bool is_folder, is_out; /* out: on the file system of the results */
        unsigned long long inode, new_inode;
        char *content, *sure_content; /* owned; files */
        bool is_sure;                 /* content is sure_content */
        bool is_input;                /* lay in in/ */
        unsigned n_begun, n_found; /* of a job's folder: attempts when work began; after the cut */
        bool has_two_names;        /* after the cut; a file */
        int fd;                    /* then: what was written of it; 0: nothing yet */
    } things[THINGS_MAX];          /* 0: the root */
    int n_things;
    struct name names[NAMES_MAX], first_names[NAMES_MAX];
    int n_names, n_first_names;
    struct change changes[CHANGES_MAX];
    int n_changes;
};

static int add_thing(struct spool_power *p, bool is_folder, unsigned long long inode)
{
    if (p->n_things == THINGS_MAX) {
        return -1;
    }
    p->things[p->n_things] =
        (struct thing){.is_folder = is_folder, .inode = inode, .is_sure = true};
    return p->n_things++;
}

/* As add_thing, for what is made in a folder. */
static int add_below(struct spool_power *p, int folder, const char *name, bool is_folder,
                     unsigned long long inode)
{
    const int thing = add_thing(p, is_folder, inode);
    if (thing >= 0) {
        p->things[thing].is_out =
            p->things[folder].is_out || (folder == 0 && strcmp(name, "out") == 0);
    }
    return thing;
}

static int place_of(const struct spool_power *p, int folder, const char *name)
{
    for (int i = 0; i < p->n_names; i++) {
        if (p->names[i].folder == folder && strcmp(p->names[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static void add_name(struct spool_power *p, int folder, const char *name, int thing)
{
    int i = place_of(p, folder, name); /* a rename may replace */
    if (i < 0 && p->n_names < NAMES_MAX) {
        i = p->n_names++;
    }
    if (i >= 0) {
        p->names[i].folder = folder;
        p->names[i].thing = thing;
        snprintf(p->names[i].name, NAME_BYTES, "%s", name);
    }
}

static void remove_name(struct spool_power *p, int i)
{
    p->names[i] = p->names[--p->n_names];
}

static bool read_tree(struct spool_power *p, int fd, int folder, bool are_inputs)
{
    DIR *list = fdopendir(fd);
    if (list == NULL) {
        close(fd);
        return false;
    }
    bool good = true;
    for (struct dirent *e; good && (e = readdir(list)) != NULL;) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW);
        int thing = add_below(p, folder, e->d_name, S_ISDIR(st.st_mode), st.st_ino);
        good = thing >= 0;
        if (good) {
            add_name(p, folder, e->d_name, thing);
            if (S_ISDIR(st.st_mode)) {
                good =
                    read_tree(p, openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), thing,
                              are_inputs || (folder == 0 && strcmp(e->d_name, "in") == 0));
            } else {
                const char *text = text_of(fd, e->d_name);
                p->things[thing].content = strdup(text != NULL ? text : "");
                p->things[thing].sure_content = strdup(text != NULL && !are_inputs ? text : "");
                p->things[thing].is_input = are_inputs;
                p->things[thing].is_sure = !are_inputs;
            }
        }
    }
    closedir(list);
    return good;
}

struct spool_power *spool_power_new(int root_fd)
{
    struct spool_power *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return NULL;
    }
    add_thing(p, true, 0);
    if (!read_tree(p, openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, false)) {
        spool_power_free(p);
        return NULL;
    }
    memcpy(p->first_names, p->names, sizeof(p->names));
    p->n_first_names = p->n_names;
    return p;
}

void spool_power_free(struct spool_power *p)
{
    for (int i = 0; p != NULL && i < p->n_things; i++) {
        free(p->things[i].content);
        free(p->things[i].sure_content);
        if (p->things[i].fd > 0) {
            close(p->things[i].fd);
        }
    }
    free(p);
}

/* The thing that a path below `root` leads to; *folder and name: where it stands, or would. */
static int look_up(const struct spool_power *p, const char *root, const char *path, int *folder,
                   char name[NAME_BYTES])
{
    size_t len = strlen(root);
    int thing = 0;
    *folder = -1;
    name[0] = '\0';
    if (strncmp(path, root, len) != 0) {
        return -1;
    }
    path += len;
    while (*path == '/' && thing >= 0) {
        path++;
        size_t n = strcspn(path, "/");
        snprintf(name, NAME_BYTES, "%.*s", (int)n, path);
        path += n;
        *folder = thing;
        int i = place_of(p, thing, name);
        thing = i >= 0 ? p->names[i].thing : -1;
    }
    return *path == '\0' ? thing : -2; /* -2: its folder is not there */
}

/* Applies a change to names; false: what it is about is not there. */
static bool apply(struct spool_power *p, const struct change *c)
{
    int from = c->from >= 0 ? place_of(p, c->from, c->from_name) : -1;
    if (strcmp(c->action, "mkdir") == 0 || strcmp(c->action, "create") == 0) {
        add_name(p, c->to, c->to_name, c->thing);
        return true;
    }
    if (from < 0 || p->names[from].thing != c->thing) {
        return false;
    }
    if (strcmp(c->action, "rename") == 0) {
        remove_name(p, from);
        add_name(p, c->to, c->to_name, c->thing);
    } else if (strcmp(c->action, "exchange") == 0) {
        int to = place_of(p, c->to, c->to_name);
        if (to < 0 || p->names[to].thing != c->other) {
            return false;
        }
        p->names[from].thing = c->other;
        p->names[to].thing = c->thing;
    } else {
        for (int i = 0; i < p->n_names; i++) {
            if (p->names[i].folder == c->thing) {
                return false; /* a folder in which something is left */
            }
        }
        remove_name(p, from);
    }
    return true;
}

/* What an fsync of a thing makes sure. */
static void make_sure(struct spool_power *p, int thing)
{
    struct thing *t = &p->things[thing];
    if (!t->is_folder) {
        free(t->sure_content);
        t->sure_content = strdup(t->content != NULL ? t->content : "");
        t->is_sure = true;
        return;
    }
    for (int i = 0; i < p->n_changes; i++) {
        struct change *c = &p->changes[i];
        c->is_left = c->is_left || c->from == thing;
        c->is_sure = c->is_sure || c->to == thing || (c->from == thing && c->to < 0);
    }
}

/* The attempts that a record counts. */
static unsigned attempts_of(const char *record)
{
    static const char key[] = "\"attempts\": ";
    const char *at = record != NULL ? strstr(record, key) : NULL;
    return at != NULL ? (unsigned)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* Work goes on in OUT/.ID.OWNER.part/: as often as it is charged with now, the job ID has been
 * begun. */
static void note_work(struct spool_power *p, const char *root, const char *path)
{
    char record[PATH_MAX];
    char name[NAME_BYTES];
    int folder;
    const char *id = strstr(path, "/out/.");
    if (id == NULL || strlen(id += 6) < sizeof(struct spool_part) ||
        strncmp(id + SPOOL_ID_BYTES + SPOOL_OWNER_BYTES - 1, ".part/", 6) != 0) {
        return;
    }
    snprintf(record, sizeof(record), "%s/.work/%.22s/job", root, id);
    const int i = look_up(p, root, record, &folder, name);
    if (i >= 0) {
        p->things[folder].n_begun = attempts_of(p->things[i].content);
    }
}

/* One line of the recording: action, inode, from, to, content. */
static bool play_line(struct spool_power *p, char *line, const char *root)
{
    char *field[5] = {NULL};
    for (int i = 0; i < 5; i++) {
        field[i] = strsep(&line, "\t");
        if (field[i] == NULL) {
            return false;
        }
    }
    field[4][strcspn(field[4], "\n")] = '\0';
    struct change c = {.from = -1, .to = -1, .thing = -1, .other = -1};
    snprintf(c.action, sizeof(c.action), "%s", field[0]);
    int from = *field[2] != '\0' ? look_up(p, root, field[2], &c.from, c.from_name) : -1;
    int to = *field[3] != '\0' ? look_up(p, root, field[3], &c.to, c.to_name) : -1;
    if (to == -2 || from == -2) {
        return false;
    }
    if (strcmp(c.action, "begin") == 0) {
        return true; /* it promises nothing */
    }
    if (strcmp(c.action, "syncfs") == 0) {
        for (int i = 0; i < p->n_things && to >= 0; i++) {
            if (p->things[i].is_out == p->things[to].is_out) {
                make_sure(p, i);
            }
        }
        return to >= 0;
    }
    if (strcmp(c.action, "fsync") == 0) {
        if (to >= 0) {
            make_sure(p, to);
        }
        return to >= 0;
    }
    if (strcmp(c.action, "write") == 0 || strcmp(c.action, "truncate") == 0) {
        if (to >= 0) {
            free(p->things[to].content);
            p->things[to].content = unhex(field[4]);
            p->things[to].is_sure = false;
        }
        return to >= 0;
    }
    note_work(p, root, field[3]);
    if (strcmp(c.action, "create") == 0 && to >= 0) {
        return true; /* it was there */
    }
    c.thing = from;
    c.other = to;
    if (strcmp(c.action, "mkdir") == 0 || strcmp(c.action, "create") == 0) {
        c.thing = c.to < 0 ? -1
                           : add_below(p, c.to, c.to_name, c.action[0] == 'm',
                                       strtoull(field[1], NULL, 10));
    }
    if (c.thing < 0 || p->n_changes == CHANGES_MAX || !apply(p, &c)) {
        return false;
    }
    if (strcmp(c.action, "rename") == 0 && strcmp(c.to_name, "job") == 0) { /* or taken back */
        const unsigned n = attempts_of(p->things[c.thing].content);
        struct thing *const job = &p->things[c.to];
        job->n_begun = n < job->n_begun ? n : job->n_begun;
    }
    p->changes[p->n_changes++] = c;
    return true;
}

static bool play_recording(struct spool_power *p, const char *trace, const char *root)
{
    FILE *f = fopen(trace, "r");
    char *line = NULL;
    size_t cap = 0;
    bool good = f != NULL;
    while (good && getline(&line, &cap, f) > 0) {
        char *copy = strdup(line);
        good = copy != NULL && play_line(p, line, root);
        if (!good && copy != NULL) {
            printf("cannot be played: %s", copy);
        }
        free(copy);
    }
    free(line);
    if (f != NULL) {
        fclose(f);
    }
    return good;
}

/* The name of a folder; NULL: it has none any more. */
static const struct name *name_of(const struct spool_power *p, int folder)
{
    for (int i = 0; i < p->n_names; i++) {
        if (p->names[i].thing == folder) {
            return &p->names[i];
        }
    }
    return NULL;
}

/* Whether the record in a job's folder holds a commit. */
static bool has_commit(const struct spool_power *p, int folder)
{
    const int i = place_of(p, folder, "job");
    const char *const record = i >= 0 ? p->things[p->names[i].thing].content : NULL;
    return record != NULL && strstr(record, "\"commit\"") != NULL;
}

/* Whether a job that was committed has its inputs in this folder, or had. */
static bool is_committed(const struct spool_power *p, int folder)
{
    const struct name *name = name_of(p, folder);
    bool found = name != NULL && (strcmp(name->name, "published") == 0 ||
                                  (strcmp(name->name, "in") == 0 && has_commit(p, name->folder)));
    for (; name != NULL && !found; name = name_of(p, name->folder)) {
        found = name->folder == 0 && strcmp(name->name, "done") == 0;
    }
    return found;
}

unsigned spool_power_uncharged(const struct spool_power *p)
{
    unsigned n = 0;
    for (int i = 0; i < p->n_things; i++) {
        const struct thing *t = &p->things[i];
        const struct name *job = t->n_begun > t->n_found ? name_of(p, i) : NULL;
        const struct name *work = job != NULL ? name_of(p, job->folder) : NULL;
        const int in = work != NULL && strcmp(work->name, ".work") == 0 ? place_of(p, i, "in") : -1;
        bool waits = false;
        for (int k = 0; in >= 0 && k < p->n_names && !has_commit(p, i); k++) {
            waits = waits || p->names[k].folder == p->names[in].thing;
        }
        n += waits;
    }
    return n;
}

/* The content that is found after the cut, owned by the caller. */
static char *content_after(const struct thing *t, unsigned (*below)(unsigned n))
{
    const char *now = t->content != NULL ? t->content : "";
    char *found = strdup(t->is_sure || below(3) == 0 ? now
                         : t->sure_content != NULL   ? t->sure_content
                                                     : "");
    if (!t->is_sure && found != NULL && below(2) == 0) {
        free(found);
        found = strdup(now);
        found[below((unsigned)strlen(found) + 1)] = '\0';
    }
    return found;
}

/* Inode numbers are others now: a commit that speaks of one is told. */
static char *renumber(const struct spool_power *p, char *text)
{
    static const char key[] = "\"part_inode\": ";
    char *at = text != NULL ? strstr(text, key) : NULL;
    unsigned long long inode = at != NULL ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;
    for (int i = 0; i < p->n_things && at != NULL; i++) {
        char *end;
        char *changed;
        if (p->things[i].is_folder && p->things[i].inode == inode && p->things[i].new_inode != 0 &&
            (strtoull(at + sizeof(key) - 1, &end, 10), true) &&
            asprintf(&changed, "%.*s%s%llu%s", (int)(at - text), text, key, p->things[i].new_inode,
                     end) > 0) {
            free(text);
            return changed;
        }
    }
    return text;
}

/* Writes what is in a folder: folders first, since their inode numbers are spoken of in files. */
static void write_tree(struct spool_power *p, int fd, int folder, bool files,
                       unsigned (*below)(unsigned n))
{
    for (int i = 0; i < p->n_names; i++) {
        const struct name *name = &p->names[i];
        struct thing *t = &p->things[name->thing];
        if (name->folder != folder) {
            continue;
        }
        if (t->is_folder) {
            struct stat st;
            mkdirat(fd, name->name, 0700);
            int next = openat(fd, name->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            t->new_inode = fstat(next, &st) == 0 ? st.st_ino : 0;
            write_tree(p, next, name->thing, files, below);
            close(next);
        } else if (files && t->fd > 0) {
            char path[32];
            snprintf(path, sizeof(path), "/proc/self/fd/%d", t->fd);
            if (linkat(AT_FDCWD, path, fd, name->name, AT_SYMLINK_FOLLOW) != 0) {
                perror(name->name);
            }
        } else if (files) {
            t->is_sure = t->is_sure || (t->is_input && !is_committed(p, folder));
            char *text = renumber(p, content_after(t, below));
            if (strcmp(name->name, "job") == 0) {
                p->things[folder].n_found = attempts_of(text);
            }
            put_file(fd, name->name, text != NULL ? text : "");
            free(text);
            t->fd = t->has_two_names ? openat(fd, name->name, O_RDONLY | O_CLOEXEC) : 0;
        }
    }
}

/* A file whose new name alone was put on disk may have the old one too. */
static void bring_back(struct spool_power *p, const struct change *c, unsigned (*below)(unsigned n))
{
    if (strcmp(c->action, "rename") == 0 && c->from != c->to && c->is_sure && !c->is_left &&
        !p->things[c->thing].is_folder && below(2) == 0) {
        add_name(p, c->from, c->from_name, c->thing);
        p->things[c->thing].has_two_names = true;
    }
}

bool spool_power_cut(struct spool_power *p, const char *trace, const char *root,
                     unsigned (*below)(unsigned n))
{
    if (!play_recording(p, trace, root)) {
        return false;
    }
    memcpy(p->names, p->first_names, sizeof(p->names));
    p->n_names = p->n_first_names;
    const unsigned way = below(4);
    const int until = (int)below((unsigned)p->n_changes + 1);
    for (int i = 0; i < p->n_changes; i++) {
        const bool happens = p->changes[i].is_sure || way == 0 || (way == 1 && i < until) ||
                             (way == 2 && below(2) == 0);
        if (happens && apply(p, &p->changes[i])) {
            bring_back(p, &p->changes[i], below);
        }
    }
    int fd = clear_folder(root) ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    write_tree(p, fd, 0, false, below);
    write_tree(p, fd, 0, true, below);
    close(fd);
    return true;
}
