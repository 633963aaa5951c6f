/*
 * replay - what libFuzzer does without a search: a target's seeds as they are, and so many edited
 * copies of them, the same in every run. The search itself is in tests/soak.sh.
 *
 * usage: TARGET COPIES [CORPUS_FOLDER]   without seeds: copies of nothing, to which bytes are added
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEEDS_MOST = 256, SEED_BYTES = 1 << 14, ROOM = 2 * SEED_BYTES, EDITS_MOST = 6 };

static struct seed {
    uint8_t *bytes;
    size_t n;
} seeds[SEEDS_MOST] = {{.n = 0}};
static size_t n_seeds;

/* xorshift64* */
static uint64_t state = 0x9e3779b97f4a7c15u;
static size_t below(size_t n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return n == 0 ? 0 : (size_t)((state * 0x2545f4914f6cdd1du) >> 33) % n;
}

static void refuse(const char *what)
{
    perror(what);
    exit(2);
}

static void add_seed(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &st) != 0 || st.st_size > SEED_BYTES ||
        n_seeds == SEEDS_MOST) {
        refuse(path);
    }
    struct seed *seed = &seeds[n_seeds++];
    seed->n = (size_t)st.st_size;
    seed->bytes = malloc(seed->n + 1);
    if (seed->bytes == NULL || fread(seed->bytes, 1, seed->n, file) != seed->n) {
        refuse(path);
    }
    fclose(file);
}

/* The target is given exactly its bytes: the sanitizer sees a read behind them. */
static void run(const uint8_t *bytes, size_t n)
{
    uint8_t *own = malloc(n > 0 ? n : 1);
    if (own == NULL) {
        refuse("no memory");
    }
    memcpy(own, bytes, n);
    LLVMFuzzerTestOneInput(own, n);
    free(own);
}

/* A number of 1, 2, 4 or 8 bytes that sizes are checked against, or a byte with a meaning. */
static size_t special(uint8_t *out)
{
    static const uint64_t numbers[] = {0,          1,         0x7f,        0xff,
                                       0x7fff,     0xffff,    0x7fffffff,  0x80000000,
                                       0xffffffff, INT64_MAX, 1ull << 63u, UINT64_MAX};
    static const char bytes[] = "\n\r\t ,;:.-+0\"'#eE{}()[]<=/";
    if (below(2) == 0) {
        *out = (uint8_t)bytes[below(sizeof(bytes) - 1)];
        return 1;
    }
    const uint64_t number = numbers[below(sizeof(numbers) / sizeof(*numbers))];
    memcpy(out, &number, 8);
    return (size_t)1 << below(4);
}

/* n bytes are put in place of `gone` ones at `at`, as far as there is room. */
static size_t splice(uint8_t *to, size_t len, size_t at, size_t gone, const uint8_t *from, size_t n)
{
    gone = gone < len - at ? gone : len - at;
    if (len - gone + n > ROOM) {
        return len;
    }
    memmove(to + at + n, to + at + gone, len - at - gone);
    memcpy(to + at, from, n);
    return len - gone + n;
}

static size_t edit(uint8_t *bytes, size_t len)
{
    static uint8_t part[SEED_BYTES];
    const size_t at = below(len + 1);
    size_t n;
    switch (below(6)) {
    case 0: /* a bit */
        if (at < len) {
            bytes[at] ^= (uint8_t)(1u << below(8));
        }
        return len;
    case 1: /* a number or a byte, instead or between */
        n = special(part);
        return splice(bytes, len, at, below(2) * n, part, n);
    case 2: /* some go */
        return splice(bytes, len, at, 1 + below(1 + below(64)), part, 0);
    case 3: /* the rest goes */
        return at;
    case 4: /* some come twice */
        n = below((len - at < 64 ? len - at : 64) + 1);
        memcpy(part, bytes + at, n);
        return splice(bytes, len, below(len + 1), 0, part, n);
    default: { /* some of another seed, or anything */
        const struct seed *other = &seeds[below(n_seeds)];
        const size_t from = below(other->n + 1), left = other->n - from;
        n = below(left < 256 ? left + 1 : 256);
        if (n > 0) {
            memcpy(part, other->bytes + from, n);
        }
        for (; n < 8; n++) {
            part[n] = (uint8_t)below(256);
        }
        return splice(bytes, len, at, below(2) * n, part, n);
    }
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
    static uint8_t copy[ROOM];
    struct dirent **names = NULL;
    const int n_names = argc > 2 ? scandir(argv[2], &names, NULL, by_name) : 0;
    if (argc < 2 || n_names < 0) {
        refuse("usage: TARGET COPIES [CORPUS_FOLDER]");
    }
    for (int i = 0; i < n_names; i++) {
        if (names[i]->d_name[0] != '.') {
            add_seed(argv[2], names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    for (size_t i = 0; i < n_seeds; i++) {
        run(seeds[i].bytes, seeds[i].n);
    }
    n_seeds += n_seeds == 0;
    const unsigned long copies = strtoul(argv[1], NULL, 10);
    for (unsigned long i = 0; i < copies; i++) {
        const struct seed *seed = &seeds[i % n_seeds];
        size_t len = seed->n;
        if (len > 0) {
            memcpy(copy, seed->bytes, len);
        }
        for (size_t edits = 1 + below(EDITS_MOST); edits > 0; edits--) {
            len = edit(copy, len);
        }
        run(copy, len);
    }
    for (size_t i = 0; i < n_seeds; i++) {
        free(seeds[i].bytes);
    }
    printf("%zu seeds and %lu copies\n", n_seeds, copies);
    return 0;
}
