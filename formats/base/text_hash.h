/*
 * text_hash - a number for texts, on every machine the same (FNV-1a of 64 bits).
 */
#ifndef LEAT_FORMATS_BASE_TEXT_HASH_H
#define LEAT_FORMATS_BASE_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_HASH_OF_NONE UINT64_C(0xcbf29ce484222325)

/* The number for one text more, which may be NULL; its end counts, too. */
static inline uint64_t text_hash_add(uint64_t hash, const char *text)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    for (; text != NULL && *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * prime;
    }
    return (hash ^ (text == NULL ? 0x100 : 0)) * prime;
}

#endif
