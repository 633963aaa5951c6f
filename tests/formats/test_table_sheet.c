/*
 * test_table_sheet - sheets of spreadsheets give the numbers of their cells; what a file claims and
 * cannot be, and what would grow without end, is refused with a sentence.
 * ctest: link=PkgConfig::MINIZIP
 */
#include "tests/support/zip_made.h"

#include "formats/table/xml_input.h"

#define ROOT                                                                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\r\n<!-- <a> -->"                \
    "<x:workbook xmlns:x=\"m\" xmlns:r=\"r\">"
#define RELATIONS                                                                                  \
    "<Relationships><Relationship Id=\"rId1\" Type=\"t/worksheet\" "                               \
    "Target=\"worksheets/one.xml\"/>"                                                              \
    "<Relationship Target='/xl/worksheets/two.xml' Type='t/worksheet' Id='rId2' />"                \
    "<Relationship Id=\"rId3\" Type=\"t/sharedStrings\" Target=\"sharedStrings.xml\"/>"            \
    "<Relationship Id=\"rId4\" Type=\"t/styles\" Target=\"styles.xml\"/></Relationships>"
#define SHEETS                                                                                     \
    "<x:sheets><x:sheet name=\"A &amp; B\" sheetId=\"1\" r:id=\"rId1\"/>"                          \
    "<x:sheet name=\"two\" sheetId=\"2\" r:id=\"rId2\"></x:sheet></x:sheets></x:workbook>"
#define STYLES                                                                                     \
    "<styleSheet><numFmts count=\"1\"><numFmt numFmtId=\"164\" "                                   \
    "formatCode=\"yyyy\\-mm;&quot;x&quot;\"/><numFmt numFmtId=\"165\" "                            \
    "formatCode=\"0.0&quot; days&quot;\"/></numFmts><cellStyleXfs><xf numFmtId=\"14\"/>"           \
    "</cellStyleXfs><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"><alignment/></xf>"            \
    "<xf numFmtId=\"164\"/><xf numFmtId=\"165\"/></cellXfs><dxfs/></styleSheet>"
#define STRINGS                                                                                    \
    "<sst><si><t>day</t></si><si><r><t>T </t></r><r><rPr/><t>&#x00B0;C</t></r>"                    \
    "<rPh sb=\"0\"><t>no</t></rPh></si></sst>"
#define ROWS(rows) "<worksheet><dimension ref=\"A1\"/><sheetData>" rows "</sheetData></worksheet>"
#define NUMBERS                                                                                    \
    ROWS("<row r=\"1\"><c r=\"A1\"><v>1</v></c><c r=\"B1\"><v>2</v></c></row>"                     \
         "<row r=\"2\"><c r=\"A2\"><v>3</v></c><c r=\"B2\"><v>5</v></c></row>")

/* A workbook of two sheets; NULL: the second has no cell. */
static struct bytes book(const char *root, const char *strings, const char *one, const char *two)
{
    struct zip_member members[] = {
        {"[Content_Types].xml", text_member("<Types/>"), false, false},
        {"xl/workbook.xml", text_member(root), true, false},
        {"xl/_rels/workbook.xml.rels", text_member(RELATIONS), false, false},
        {"xl/worksheets/two.xml", text_member(two ? two : ROWS("")), false, false},
        {"xl/SharedStrings.xml", text_member(strings), false, false},
        {"xl/styles.xml", text_member(STYLES), false, false},
        {"xl/worksheets/one.xml", text_member(one), false, false},
    };
    return zip_file(members, sizeof members / sizeof members[0]);
}

static struct bytes open_document(const char *content)
{
    static const char type[] = "application/vnd.oasis.opendocument.spreadsheet";
    struct zip_member members[] = {{"mimetype", text_member(type), true, false},
                                   {"content.xml", text_member(content), false, false}};
    return zip_file(members, 2);
}

static struct reading read_zip(struct bytes zip, const struct table_options *options)
{
    const struct reading r = read_bytes(zip.data, zip.len, options, 4096);
    bytes_free(&zip);
    return r;
}

static struct reading read_one(const char *sheet)
{
    return read_zip(book(ROOT SHEETS, STRINGS, sheet, NULL), NULL);
}

static void refuses(struct bytes zip, enum status status, const char *what)
{
    struct reading r = read_zip(zip, NULL);
    assert_failed(&r, status, what, NULL);
    reading_free(&r);
}

static void refuses_sheet(const char *sheet, enum status status, const char *what)
{
    refuses(book(ROOT SHEETS, STRINGS, sheet, NULL), status, what);
}

/* --- what is read ----------------------------------------------------------------------------- */

TEST(all_kinds_of_cells_are_read)
{
    struct reading r = read_one(ROWS(
        "<row r=\"2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"B2\" t=\"s\"><v>1</v></c>"
        "<c t=\"inlineStr\"><is><t xml:space='preserve'>a\n&lt;\"b\"</t></is></c>"
        "<c r=\"D2\" t=\"str\"><f>CHAR(65)</f><v>d</v></c></row>"
        "<row r=\"4\" hidden=\"1\"><c r=\"A4\" s=\"1\"><v>45000</v></c><c "
        "r=\"B4\"><v>1.5E-3</v></c>"
        "<c r=\"C4\" t=\"b\"><v><![CDATA[1]]></v></c><c r=\"D4\" "
        "s=\"3\"><f>A1</f><v>-2</v></c></row>"
        "<row><c s=\"2\"><v>45001.75</v></c><c t=\"e\"><v>#N/A</v></c><c t='b'><v>0</v></c>"
        "<c s=\"0\"/></row>"
        "<row r=\"7\"><c r=\"A7\" t=\"d\"><v>2024-05-01</v></c><c r=\"D7\"><v>7</v></c></row>"));
    ASSERT_NUMBERS(&r, 0.0015, 1, -2, NAN, 0, NAN, NAN, NAN, 7);
    assert_string_equal(r.info->names[0], "T \u00b0C");
    assert_string_equal(r.info->names[1], "a <\"b\"");
    assert_string_equal(r.info->names[2], "d");
    assert_memory_equal(r.labels.data,
                        "2023-03-15\0"
                        "2023-03-16T18:00:00\0"
                        "2024-05-01",
                        41);
    reading_free(&r);
}

TEST(days_are_those_of_either_epoch)
{
    static const char rows[] = ROWS(
        "<row><c s=\"1\"><v>1</v></c><c><v>1</v></c></row><row><c s=\"1\"><v>59</v></c><c><v>2</v>"
        "</c></row><row><c s=\"1\"><v>61</v></c><c><v>2</v></c></row>"
        "<row><c s=\"1\"><v>2958465</v></c><c><v>2</v></c></row>");
    struct reading r = read_one(rows);
    ASSERT_NUMBERS(&r, 1, 2, 2, 2);
    assert_memory_equal(r.labels.data,
                        "1900-01-01\0"
                        "1900-02-28\0"
                        "1900-03-01\0"
                        "9999-12-31",
                        44);
    reading_free(&r);
    r = read_zip(book(ROOT "<x:workbookPr date1904=\"true\"/>" SHEETS, STRINGS, rows, NULL), NULL);
    ASSERT_NUMBERS(&r, 1, 2, 2, 2);
    assert_memory_equal(r.labels.data,
                        "1904-01-02\0"
                        "1904-02-29\0",
                        22);
    reading_free(&r);
}

TEST(a_sheet_is_chosen_by_name_or_number)
{
    static const char two[] = ROWS("<row><c><v>7</v></c></row><row><c><v>8</v></c></row>");
    static const char *const words[] = {"two", "2"};
    struct reading r = read_zip(book(ROOT SHEETS, STRINGS, NUMBERS, two), NULL);
    ASSERT_NUMBERS(&r, 1, 2, 3, 5);
    assert_int_equal(r.info->n_warnings, 1);
    assert_string_equal(r.info->warnings[0], "the sheet \"A & B\" is read; others have numbers, "
                                             "too: \"two\" (-s sheet=NAME reads one)");
    reading_free(&r);
    for (size_t i = 0; i < 2; i++) {
        const struct table_options options = {.sheet = words[i]};
        r = read_zip(book(ROOT SHEETS, STRINGS, NUMBERS, two), &options);
        ASSERT_NUMBERS(&r, 7, 8);
        assert_true(r.info->used[TABLE_SHEET]);
        assert_int_equal(r.info->n_warnings, 0);
        reading_free(&r);
    }
    const struct table_options none = {.sheet = "3"};
    r = read_zip(book(ROOT SHEETS, STRINGS, NUMBERS, two), &none);
    assert_failed(&r, STATUS_BAD_ARGUMENT, "has no sheet \"3\"", "\"A & B\", \"two\"");
    reading_free(&r);
}

TEST(options_of_other_texts_are_ignored)
{
    const struct table_options options = {.sep = "tab", .comment = "#", .columns = "2"};
    const struct table_options sheet = {.sheet = "1"};
    struct reading r = read_zip(book(ROOT SHEETS, STRINGS, NUMBERS, NULL), &options);
    ASSERT_NUMBERS(&r, 2, 5);
    assert_int_equal(r.info->n_warnings, 2);
    assert_non_null(strstr(r.info->warnings[1], "sep=tab is ignored"));
    reading_free(&r);
    r = read_text("1,2\n3,4\n", &sheet);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4);
    assert_string_equal(r.info->warnings[0],
                        "sheet=1 is ignored: it applies to .xlsx, .xlsm and .ods");
    reading_free(&r);
}

#define TABLE                                                                                      \
    "<d><office:automatic-styles><style:style style:name='h'><style:table-properties "             \
    "table:display='false'/></style:style></office:automatic-styles>"                              \
    "<table:table table:name='Lists' table:style-name='h'><table:table-row><table:table-cell "     \
    "office:value-type='float' office:value='9'/></table:table-row></table:table>"                 \
    "<table:table table:name='Data'>"
#define VALUE(type, more) "<table:table-cell office:value-type='" type "' " more "/>"

TEST(runs_of_an_open_document_are_as_many_cells)
{
    struct reading r = read_zip(
        open_document(
            TABLE
            "<table:table-header-rows><table:table-row><table:table-cell "
            "office:value-type='string' "
            "table:number-columns-repeated='2'><office:annotation>"
            "<text:p>a "
            "note</text:p></office:annotation><text:p>a<text:s/>b</text:p><text:p>c"
            "</text:p></table:table-cell><table:covered-table-cell/>" VALUE(
                "string",
                "office:string-value='d'") "</table:table-row></"
                                           "table:table-header-rows>"
                                           "<table:table-row "
                                           "table:number-rows-repeated='2'"
                                           ">" VALUE(
                                               "percentage",
                                               "office:"
                                               "value='"
                                               "0.5' "
                                               "table:"
                                               "number-"
                                               "columns-"
                                               "repeated"
                                               "='2'") "<table:table-cell/"
                                                       ">" VALUE(
                                                           "time",
                                                           "office:time-"
                                                           "value='"
                                                           "PT06H00M00S"
                                                           "'") "<table:"
                                                                "table-"
                                                                "cell "
                                                                "table:"
                                                                "number-"
                                                                "columns"
                                                                "-"
                                                                "repeate"
                                                                "d='"
                                                                "16000'/"
                                                                "></"
                                                                "table:"
                                                                "table-"
                                                                "row>"
                                                                "<table:"
                                                                "table-"
                                                                "row "
                                                                "table:"
                                                                "number-"
                                                                "rows-"
                                                                "repeate"
                                                                "d='3'"
                                                                "><"
                                                                "table:"
                                                                "table-"
                                                                "cell/"
                                                                "></"
                                                                "table:"
                                                                "table-"
                                                                "row>"
                                                                "<table:"
                                                                "table-"
                                                                "row"
                                                                ">" VALUE("boo"
                                                                          "lea"
                                                                          "n",
                                                                          "off"
                                                                          "ice"
                                                                          ":"
                                                                          "boo"
                                                                          "lea"
                                                                          "n-"
                                                                          "val"
                                                                          "ue="
                                                                          "'"
                                                                          "tru"
                                                                          "e'")
                                                                    VALUE(
                                                                        "curr"
                                                                        "enc"
                                                                        "y",
                                                                        "offi"
                                                                        "ce:"
                                                                        "curr"
                                                                        "ency"
                                                                        "='"
                                                                        "EUR'"
                                                                        " off"
                                                                        "ice:"
                                                                        "valu"
                                                                        "e='"
                                                                        "2."
                                                                        "5'") "<table:table-cell/"
                                                                              "><table:table-cell "
                                                                              "office:value-type='"
                                                                              "string' "
                                                                              "calcext:value-type='"
                                                                              "error'><text:p>Err:"
                                                                              "502</text:p></"
                                                                              "table:table-cell>"
                                                                              "</"
                                                                              "table:table-row><"
                                                                              "table:table-row "
                                                                              "table:number-rows-"
                                                                              "repeated='1048000'/>"
                                                                              "</table:table></d>"),
        NULL);
    ASSERT_NUMBERS(&r, 0.5, 0.5, 0.25, 0.5, 0.5, 0.25, 1, 2.5, NAN);
    assert_string_equal(r.info->names[0], "a b c");
    assert_string_equal(r.info->names[2], "d");
    assert_string_equal(r.info->warnings[0],
                        "the sheet \"Data\" is read; others have numbers, too: "
                        "\"Lists\" (-s sheet=NAME reads one)");
    reading_free(&r);
}

/* --- what is refused -------------------------------------------------------------------------- */

TEST(cells_and_rows_that_cannot_be_are_refused)
{
#define ROW(n, cells) "<row r=\"" n "\">" cells "</row>"
#define CELL(place)   "<c r=\"" place "\"><v>1</v></c>"
    static const struct {
        const char *sheet, *what;
    } cases[] = {
        {ROWS(ROW("2", CELL("A2")) ROW("1", CELL("A1"))), "a row \"1\" stands below row 2"},
        {ROWS(ROW("2", CELL("A2")) ROW("2", CELL("A2"))), "a row \"2\" stands below row 2"},
        {ROWS(ROW("1048577", CELL("A1048577"))), "a row \"1048577\" stands"},
        {ROWS(ROW("0", CELL("A0"))), "a row \"0\" stands"},
        {ROWS(ROW("99999999999999999999", "")), "stands below row 0"},
        {ROWS(ROW("1", CELL("B1") CELL("A1"))), "a cell \"A1\" stands in row 1, column 3"},
        {ROWS(ROW("1", CELL("A2"))), "a cell \"A2\" stands in row 1"},
        {ROWS(ROW("1", CELL("XFE1"))), "a cell \"XFE1\""},
        {ROWS(ROW("1", CELL("AAAAAAAAAAAAAAAA1"))), "a cell \"AAAA"},
        {ROWS(ROW("1", CELL("1"))), "a cell \"1\""},
        {ROWS(ROW("1", CELL("A"))), "a cell \"A\""},
        {ROWS(ROW("1", "<c t=\"s\"><v>2</v></c>" CELL("B1"))),
         "a text that the file does not hold"},
        {ROWS(ROW("1", "<c t=\"s\"><v>-1</v></c>" CELL("B1"))), "a text that the file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuses_sheet(cases[i].sheet, STATUS_BAD_INPUT, cases[i].what);
    }
    refuses_sheet(ROWS(ROW("3", "<c r=\"C3\"><f>1+1</f><v></v></c>")), STATUS_UNSUPPORTED,
                  "cell C3 of \"A & B\" has a formula without a value");
    refuses(open_document(TABLE "<table:table-row table:number-rows-repeated='1048577'>" VALUE(
                "float", "office:value='1'") "</table:table-row></table:table></d>"),
            STATUS_UNSUPPORTED, "beyond XFD1048576");
    refuses(
        open_document(TABLE "<table:table-row>" VALUE(
            "float",
            "office:value='1' table:number-columns-repeated='4000000000'") "</table:table-row></"
                                                                           "table:table></d>"),
        STATUS_UNSUPPORTED, "beyond XFD1048576");
}

TEST(what_is_no_xml_is_refused)
{
    static const struct {
        const char *sheet, *what;
        enum status status;
    } cases[] = {
        {"<!DOCTYPE a [<!ENTITY b \"b\"><!ENTITY c \"&b;&b;&b;\">]><worksheet>&c;</worksheet>",
         "has a document type", STATUS_UNSUPPORTED},
        {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><worksheet/>", "has a document type",
         STATUS_UNSUPPORTED},
        {"<worksheet>&b;</worksheet>", "is no XML: Entity 'b' not defined", STATUS_BAD_INPUT},
        {"<worksheet><sheetData><row><c><v>1</v></c>", "is no XML: it ends within an element",
         STATUS_BAD_INPUT},
        {"<worksheet><sheetData><row r=\"1", "is no XML", STATUS_BAD_INPUT},
        {"<worksheet><!-- ", "is no XML", STATUS_BAD_INPUT},
        {"<worksheet></b></worksheet>", "is no XML", STATUS_BAD_INPUT},
        {"<worksheet>\xff</worksheet>", "is no XML", STATUS_BAD_INPUT},
        {"<?xml version='1.0' encoding='UTF-7z'?><worksheet/>", "is no XML", STATUS_BAD_INPUT},
        {"", "is no XML", STATUS_BAD_INPUT},
        {"<", "is no XML", STATUS_BAD_INPUT},
        {"</worksheet>", "is no XML", STATUS_BAD_INPUT},
        {"<worksheet>< row=\"1\"/></worksheet>", "is no XML", STATUS_BAD_INPUT},
    };
    struct bytes deep = {0}, wide = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuses_sheet(cases[i].sheet, cases[i].status, cases[i].what);
    }
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(bytes_printf(&deep, "<a>"), STATUS_OK);
    }
    assert_int_equal(bytes_append(&deep, "", 1), STATUS_OK);
    refuses_sheet((char *)deep.data, STATUS_UNSUPPORTED, "more than 64 elements");
    assert_int_equal(bytes_printf(&wide, "<a b=\"%*s\"/>", 5 << 20, ""), STATUS_OK);
    assert_int_equal(bytes_append(&wide, "", 1), STATUS_OK);
    refuses_sheet((char *)wide.data, STATUS_UNSUPPORTED, "a tag or a text is longer than 1 MiB");
    bytes_free(&deep);
    bytes_free(&wide);
}

TEST(texts_and_lines_beyond_their_memory_are_refused)
{
    struct bytes strings = {0}, zip;
    assert_int_equal(bytes_printf(&strings, "<sst>"), STATUS_OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(bytes_printf(&strings, "<si><t>%1000d</t></si>", i), STATUS_OK);
    }
    assert_int_equal(bytes_append(&strings, "</sst>", 7), STATUS_OK);
    for (uint64_t mib = 1; mib <= 2; mib++) {
        zip = book(ROOT SHEETS, (char *)strings.data, NUMBERS, NULL);
        struct source *const s = memory_source(zip.data, zip.len);
        source_set_limits(s, &(struct source_limits){.max_window = mib << 19});
        struct reading r = read_source(s, NULL, 4096);
        if (mib == 1) {
            assert_failed(&r, STATUS_TOO_LARGE, "the texts of its cells take more than", NULL);
        } else {
            ASSERT_NUMBERS(&r, 1, 2, 3, 5);
            assert_true(r.info->window_bytes > 1000000);
        }
        reading_free(&r);
        bytes_free(&zip);
    }
    bytes_free(&strings);
    struct bytes cell = {0};
    assert_int_equal(bytes_printf(&cell,
                                  "<sheetData><row r=\"7\"><c r=\"B7\" t=\"inlineStr\"><is><t>"
                                  "%*d</t><t>%*d</t></is></c></row></sheetData>",
                                  600000, 1, 600000, 1),
                     STATUS_OK);
    assert_int_equal(bytes_append(&cell, "", 1), STATUS_OK);
    refuses_sheet((char *)cell.data, STATUS_TOO_LARGE, "cell B7 holds more than 1 MiB of text");
    bytes_free(&cell);
    const struct table_options options = {.max_line_bytes = 1000};
    struct reading r = read_zip(
        open_document(TABLE "<table:table-row>" VALUE(
            "float",
            "office:value='1' table:number-columns-repeated='16384'") "</table:table-row></"
                                                                      "table:table></d>"),
        &options);
    assert_failed(&r, STATUS_TOO_LARGE, "row 1 is longer than 1000 bytes", NULL);
    reading_free(&r);
}

/* Each of 3000 sheets is the same part of 1 MB, which holds no number. */
TEST(one_part_that_is_many_sheets_is_bounded_by_the_size_of_the_file)
{
    struct bytes root = {0}, relations = {0}, part = {0};
    assert_int_equal(bytes_printf(&root, ROOT "<x:sheets>"), STATUS_OK);
    assert_int_equal(bytes_printf(&relations, "<Relationships>"), STATUS_OK);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(bytes_printf(&root, "<x:sheet name=\"%d\" r:id=\"r%d\"/>", i, i),
                         STATUS_OK);
        assert_int_equal(bytes_printf(&relations,
                                      "<Relationship Id=\"r%d\" Type=\"t/worksheet\" "
                                      "Target=\"worksheets/one.xml\"/>",
                                      i),
                         STATUS_OK);
    }
    assert_int_equal(bytes_append(&root, "</x:sheets></x:workbook>", 25), STATUS_OK);
    assert_int_equal(bytes_append(&relations, "</Relationships>", 17), STATUS_OK);
    assert_int_equal(bytes_printf(&part, "<worksheet>%*s</worksheet>", 1000000, ""), STATUS_OK);
    assert_int_equal(bytes_append(&part, "", 1), STATUS_OK);
    struct zip_member members[] = {
        {"xl/workbook.xml", text_member((char *)root.data), false, false},
        {"xl/_rels/workbook.xml.rels", text_member((char *)relations.data), false, false},
        {"xl/worksheets/one.xml", text_member((char *)part.data), false, false},
    };
    struct bytes zip = zip_file(members, 3);
    struct source *const s = memory_source(zip.data, zip.len);
    source_set_limits(s, &(struct source_limits){.max_ratio = 200});
    struct reading r = read_source(s, NULL, 4096);
    assert_failed(&r, STATUS_TOO_LARGE, "unpacks to more than 200 times its size", NULL);
    reading_free(&r);
    struct bytes *const all[] = {&root, &relations, &part, &zip};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        bytes_free(all[i]);
    }
}

/* The text is right, and is not what was written: its checksum is looked at, however much follows
 * what is of use. */
TEST(a_changed_letter_is_found)
{
    struct bytes root = {0};
    assert_int_equal(bytes_printf(&root, ROOT SHEETS "%100000s", ""), STATUS_OK);
    assert_int_equal(bytes_append(&root, "", 1), STATUS_OK);
    struct bytes zip = book((char *)root.data, STRINGS, NUMBERS, NULL);
    char *const name = memmem(zip.data, zip.len, "=\"two\"", 6);
    assert_non_null(name);
    name[2] = 'n';
    refuses(zip, STATUS_BAD_INPUT, "does not have the CRC-32");
    bytes_free(&root);
}

/* What undoes a file of more attributes than it has any use for. */
TEST(a_tag_of_very_many_attributes_is_refused_soon)
{
    struct bytes tag = {0};
    assert_int_equal(bytes_printf(&tag, "<worksheet"), STATUS_OK);
    for (int i = 0; i < 150000; i++) {
        assert_int_equal(bytes_printf(&tag, " a%d=''", i), STATUS_OK);
    }
    assert_int_equal(bytes_append(&tag, "/>", 3), STATUS_OK);
    refuses_sheet((char *)tag.data, STATUS_UNSUPPORTED, "a tag or a text is longer than 1 MiB");
    bytes_free(&tag);
}

TEST(damaged_and_other_files_are_refused)
{
    struct bytes zip = book(ROOT SHEETS, STRINGS, NUMBERS, NULL);
    for (size_t n = 40; n < zip.len; n += 97) {
        struct reading r = read_bytes(zip.data, n, NULL, 4096);
        assert_failed(&r, STATUS_BAD_INPUT, "without a readable directory", NULL);
        reading_free(&r);
    }
    for (size_t i = 0; i < zip.len; i += 3) { /* any byte may be wrong: nothing but a sentence */
        zip.data[i] ^= 0x15;
        struct reading r = read_bytes(zip.data, zip.len, NULL, 4096);
        assert_true(r.status == STATUS_OK || *status_message() != '\0');
        reading_free(&r);
        zip.data[i] ^= 0x15;
    }
    struct bytes packed = gzipped(zip.data, zip.len);
    struct reading r = read_bytes(packed.data, packed.len, NULL, 4096);
    assert_failed(&r, STATUS_UNSUPPORTED, "is a spreadsheet from gzip", "unpack it");
    reading_free(&r);
    bytes_free(&packed);
    bytes_free(&zip);
    struct zip_member binary[] = {{"[Content_Types].xml", text_member("<T/>"), false, false},
                                  {"xl/workbook.bin", text_member("\x83\1"), false, false}};
    refuses(zip_file(binary, 2), STATUS_UNSUPPORTED,
            "is an old, binary or encrypted Excel spreadsheet");
    struct source *named;
    zip = book(ROOT SHEETS, STRINGS, NUMBERS, NULL);
    assert_int_equal(source_open(memory_file(zip.data, zip.len), "in.x: x.docx", &named),
                     STATUS_OK);
    r = read_source(named, NULL, 4096);
    assert_failed(&r, STATUS_UNSUPPORTED, "is a document, which leat does not read", NULL);
    reading_free(&r);
    bytes_free(&zip);
    struct zip_member document[] = {{"[Content_Types].xml", text_member("<T/>"), false, false},
                                    {"word/document.xml", text_member("<d/>"), false, false}};
    refuses(zip_file(document, 2), STATUS_BAD_INPUT, "has no member \"xl/workbook.xml\"");
    refuses(book(ROOT "</x:workbook>", STRINGS, NUMBERS, NULL), STATUS_BAD_INPUT,
            "has no sheet of a spreadsheet");
    refuses_sheet(ROWS(""), STATUS_BAD_INPUT, "the sheet \"A & B\" is empty");
}

/* --- the reader of XML ------------------------------------------------------------------------ */

struct pieces {
    const char *text;
    size_t piece;
};

static enum status read_piece(void *user, void *dst, size_t cap, size_t *n)
{
    struct pieces *const p = user;
    *n = strlen(p->text);
    *n = *n < p->piece ? *n : p->piece;
    *n = *n < cap ? *n : cap;
    memcpy(dst, p->text, *n);
    p->text += *n;
    return STATUS_OK;
}

TEST(xml_is_the_same_however_it_comes)
{
    static const char text[] = "\xef\xbb\xbf<?xml version='1.0'?>\n<a:b c = 'x>&lt;' d=\"e\" >"
                               "<!-- <no> --><b>1&#50;&amp;&#x33;<![CDATA[<4>]]></b><e/></a:b>\n";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct pieces p = {text, piece};
        struct xml_input x = {.read = read_piece, .user = &p, .where = "x"};
        struct bytes out = {0};
        enum xml_event event;
        assert_int_equal(module_need(&xml_library), STATUS_OK);
        do {
            struct xml_span value;
            assert_int_equal(xml_next(&x, &event), STATUS_OK);
            if (event == XML_TEXT) {
                assert_int_equal(bytes_append(&out, x.text.text, x.text.n), STATUS_OK);
            } else if (event != XML_DONE) {
                assert_int_equal(bytes_printf(&out, event == XML_BEGIN ? "(%.*s" : ")",
                                              (int)x.name.n, x.name.text),
                                 STATUS_OK);
            }
            if (event == XML_BEGIN && xml_attribute(&x, "c", &value)) {
                assert_true(!xml_attribute(&x, "x", &value));
                assert_int_equal(bytes_printf(&out, " "), STATUS_OK);
                assert_int_equal(bytes_append(&out, value.text, value.n), STATUS_OK);
            }
        } while (event != XML_DONE);
        assert_int_equal(bytes_append(&out, "", 1), STATUS_OK);
        assert_string_equal((char *)out.data, "(b x><(b12&3<4>)(e))");
        bytes_free(&out);
        xml_input_free(&x);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
