/*
 * pack_state - an output file while it is written. Private to the packs and their tests.
 */
#ifndef LEAT_FORMATS_PACK_PACK_STATE_H
#define LEAT_FORMATS_PACK_PACK_STATE_H

#include "formats/pack/pack.h"

/* What has been appended to a member. */
struct pack_member_state {
    char *name;            /* owned; NULL unless PACK_ZIP */
    uint64_t offset;       /* in the file, of the container's bytes before it */
    uint64_t raw_bytes;    /* of the pieces appended */
    uint64_t packed_bytes; /* what they take in the file */
    uint32_t crc;          /* of the raw bytes */
    uint64_t head_bytes;   /* of the first piece, raw, and their CRC-32 */
    uint32_t head_crc;
    bool begun;    /* a piece has been appended */
    bool complete; /* the last one has */
    bool streamed; /* zip: sizes stand after the data */
    bool stored;   /* zip: not deflated */
};

/* A member that grows. */
struct pack_growth {
    char *member; /* owned */
    int fd;       /* of the temporary file */
    struct bytes buffer;
    uint64_t raw_bytes, packed_bytes;
    uint32_t crc, packed_crc; /* of the raw bytes, of what they take */
    struct pack_growth *next;
};

struct pack {
    int fd;              /* owned; -1 when closed */
    char *name;          /* owned; for messages */
    struct bytes buffer; /* put and not yet written */
    uint64_t size;       /* bytes put so far */
    uint32_t crc;        /* CRC-32 of them */
    const struct pack_container *container;
    struct pack_member_state member;
    uint64_t n_members;
    struct bytes directory; /* what a zip has at its end */
    int dir_fd;             /* where the file lies; borrowed */
    struct pack_growth *growths;
    unsigned n_growths; /* begun so far */
};

/* Copies n bytes with that CRC-32 from the file `from`, its begin, to the end of the pack. `what`
 * is what messages call them; `stop` as of pack_store. */
enum status pack_copy(struct pack *p, int from, uint64_t n, uint32_t crc, const char *what,
                      const int *stop) STATUS_MUST_CHECK;
/* Frees the whole list. */
void pack_growth_free(struct pack_growth *g);

#endif
