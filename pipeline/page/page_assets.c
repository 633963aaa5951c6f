/*
 * page_assets - see page_assets.h. The build knows the files' folder.
 */
#include "pipeline/page/page_assets.h"

#include <stddef.h>
#include <string.h>

#define LINK_IN(symbol, file)                                                                      \
    __asm__(".section .rodata\n"                                                                   \
            ".globl " symbol "\n" symbol ":\n"                                                     \
            ".incbin \"" LEAT_PAGE_FOLDER "/" file "\"\n"                                          \
            ".byte 0\n"                                                                            \
            ".previous\n")

LINK_IN("page_style", "page.css");
LINK_IN("page_script", "page.js");
LINK_IN("page_index", "index.html");
LINK_IN("page_folder", "folder.html");
extern const char page_style[], page_script[];

const struct page_asset *page_asset_find(const char *name)
{
    static const struct page_asset assets[] = {
        {.name = "page.css", .type = "text/css; charset=utf-8", .text = page_style},
        {.name = "page.js", .type = "text/javascript; charset=utf-8", .text = page_script}};
    for (size_t i = 0; i < sizeof(assets) / sizeof(*assets); i++) {
        if (strcmp(assets[i].name, name) == 0) {
            return &assets[i];
        }
    }
    return NULL;
}
