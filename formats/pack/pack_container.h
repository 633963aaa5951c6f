/*
 * pack_container - what a container adds around the deflated pieces: one table of functions for
 * each kind. Private to the packs.
 */
#ifndef LEAT_FORMATS_PACK_PACK_CONTAINER_H
#define LEAT_FORMATS_PACK_PACK_CONTAINER_H

#include "formats/pack/pack.h"
#include "formats/pack/pack_file.h"

/* What has been appended to a member. */
struct pack_member_state {
    char *name;            /* owned; NULL unless PACK_ZIP */
    uint64_t offset;       /* in the file, of the container's bytes before it */
    uint64_t raw_bytes;    /* of the pieces appended */
    uint64_t packed_bytes; /* what they take in the file */
    uint32_t crc;          /* of the raw bytes */
    bool begun;            /* a piece has been appended */
    bool complete;         /* the last one has */
    bool streamed;         /* zip: sizes stand after the data */
};

struct pack {
    struct pack_file file;
    const struct pack_container *container;
    struct pack_member_state member;
    uint64_t n_members;
    struct bytes directory; /* what the container writes at the end */
};

/* Each may be NULL: nothing to do. */
struct pack_container {
    /* Before the first piece of a member, which is given: it may be the only one. */
    enum status (*begin)(struct pack *p, const struct pack_piece *first);
    /* After the last piece of a member. */
    enum status (*end)(struct pack *p);
    /* After the last member. */
    enum status (*finish)(struct pack *p);
    bool named; /* members have names, and there may be several or none */
};

extern const struct pack_container pack_zip;

/* A pack over a file that is open already; takes *file over, also when this fails. */
enum status pack_new(struct pack_file *file, enum pack_kind kind,
                     struct pack **out) STATUS_MUST_CHECK;

#endif
