/*
 * pack_huffman - deflate blocks without matches: bytes coded by how often they occur, or stored.
 * Private to the packs and their tests.
 */
#ifndef LEAT_FORMATS_PACK_PACK_HUFFMAN_H
#define LEAT_FORMATS_PACK_PACK_HUFFMAN_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends n bytes as a run of blocks that ends on a byte; `last` closes the deflate stream. Blocks
 * that coding would not shrink are stored; `store` stores all of them. STATUS_NO_MEMORY. */
enum status pack_huffman(const unsigned char *data, size_t n, bool last, bool store,
                         struct bytes *out) STATUS_MUST_CHECK;

#endif
