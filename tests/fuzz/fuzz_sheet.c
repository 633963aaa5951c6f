/*
 * fuzz_sheet - any bytes as the sheet of a workbook, as its shared texts, and as the sheets of an
 * OpenDocument file, in an archive that is right.
 */
#include "tests/fuzz/fuzz_table.h"

#include "formats/table/xml_input.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct archive {
    struct bytes zip, directory;
    unsigned n;
    enum status failed;
};

static void put_fields(struct bytes *to, const uint32_t *fields, const size_t *bytes, size_t n,
                       enum status *failed)
{
    for (size_t i = 0; i < n; i++) {
        bytes_put_le(to, fields[i], bytes[i], failed);
    }
}

/* Adds a member, stored as it is. */
static void put_member(struct archive *a, const char *name, const void *data, size_t n)
{
    const uint32_t at = (uint32_t)a->zip.len, length = (uint32_t)strlen(name), bytes = (uint32_t)n;
    const uint32_t crc = (uint32_t)crc32_z(0, data, n);
    const uint32_t fields[] = {0x04034b50, 20, 0, 0, 0, crc, bytes, bytes, length, 0};
    static const size_t sizes[] = {4, 2, 2, 2, 4, 4, 4, 4, 2, 2};
    const uint32_t entry[] = {0x02014b50, 20,     20, 0, 0, 0, crc, bytes,
                              bytes,      length, 0,  0, 0, 0, 0,   at};
    static const size_t entry_sizes[] = {4, 2, 2, 2, 2, 4, 4, 4, 4, 2, 2, 2, 2, 2, 4, 4};
    put_fields(&a->zip, fields, sizes, 10, &a->failed);
    bytes_put(&a->zip, name, length, &a->failed);
    bytes_put(&a->zip, data, n, &a->failed);
    put_fields(&a->directory, entry, entry_sizes, 16, &a->failed);
    bytes_put(&a->directory, name, length, &a->failed);
    a->n++;
}

static void put_text(struct archive *a, const char *name, const char *text)
{
    put_member(a, name, text, strlen(text));
}

static void read_archive(struct archive *a)
{
    const struct table_options first = {.sheet = "1", .dates = true};
    const uint32_t at = (uint32_t)a->zip.len, bytes = (uint32_t)a->directory.len;
    const uint32_t end[] = {0x06054b50, 0, a->n, a->n, bytes, at, 0};
    static const size_t sizes[] = {4, 4, 2, 2, 4, 4, 2};
    bytes_put(&a->zip, a->directory.data, a->directory.len, &a->failed);
    put_fields(&a->zip, end, sizes, 7, &a->failed);
    fuzz_require(a->failed == STATUS_OK);
    fuzz_table(a->zip.data, a->zip.len, NULL);
    fuzz_table(a->zip.data, a->zip.len, &first);
    bytes_free(&a->zip);
    bytes_free(&a->directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char styles[] = "<s><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></s>";
    static const char *const others[] = {
        "<sst><si><t>a</t></si></sst>",
        "<s><sheetData><row><c t='s'><v>0</v></c><c><v>1</v></c></row></sheetData></s>"};
    fuzz_require(module_need(&xml_library) == STATUS_OK);
    for (int place = 0; place < 2; place++) { /* of the bytes */
        struct archive a = {.n = 0};
        put_text(&a, "[Content_Types].xml", "<Types/>");
        put_text(&a, "xl/workbook.xml", "<w><sheet name='a' r:id='1'/></w>");
        put_text(&a, "xl/_rels/workbook.xml.rels",
                 "<r><a Id='1' Type='/worksheet' Target='a'/><a Type='/sharedStrings' Target='b'/>"
                 "<a Type='/styles' Target='c'/></r>");
        put_member(&a, place == 0 ? "xl/a" : "xl/b", data, size);
        put_text(&a, place == 0 ? "xl/b" : "xl/a", others[place]);
        put_text(&a, "xl/c", styles);
        read_archive(&a);
    }
    struct archive a = {.n = 0};
    put_text(&a, "mimetype", "application/vnd.oasis.opendocument.spreadsheet");
    put_member(&a, "content.xml", data, size);
    read_archive(&a);
    return 0;
}
