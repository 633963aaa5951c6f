/*
 * What is said about mistakes, on the command line and in the configuration: where, and what was
 * probably meant.
 */
#include "tests/support/settings_given.h"

TEST(a_mistake_on_the_command_line_is_named_with_the_nearest_option)
{
    static const struct {
        const char *line, *words[3];
    } cases[] = {
        {"run --memry 1G x", {"--memry", "--memory"}},
        {"run --memry=1G x", {"--memry", "--memory"}},
        {"run x --outptu y", {"--outptu", "--output"}},
        {"run --xyzzyx x", {"--xyzzyx", "leat run --help"}},
        {"run -Z x", {"-Z"}},
        {"run -vZq x", {"-Z"}},
        {"run -vZ x", {"-Z"}},
        {"run -verbose x", {"-verbose", "--verbose"}},
        {"run -o --memry -vZq x", {"-Z"}},
        {"run x --memory", {"--memory", "SIZE"}},
        {"run x -o", {"-o", "--output", "DIR"}},
        {"run --force=1 x", {"--force", "no value"}},
        {"run --f=1 x", {"--force"}},
        {"watch --s x", {"leat watch: option '--s' is ambiguous; write --set or --spread"}},
        {"run --xyzzyx x", {"leat run: unknown option '--xyzzyx'; see leat run --help"}},
        {"run --memry 1G x", {"leat run: unknown option '--memry'; did you mean --memory?"}},
        {"run x y --memory", {"leat run: option '--memory' needs a value; write --memory=SIZE"}},
        {"run x --force=1", {"leat run: option '--force' takes no value; write --force"}},
        {"doctor x", {"leat doctor: unexpected argument 'x'; see leat doctor --help"}},
        {"watch in", {"unexpected argument 'in'; if it is the watched folder, write --spool 'in'"}},
        {"check --force x", {"leat check: unknown option '--force'; leat run has it"}},
        {"run --drain 5 x", {"leat run: unknown option '--drain'; leat watch has it"}},
        {"run -s spearman x", {"'spearman' is not KEY=VALUE without blanks, such as method="}},

        {"run --memory 3X x", {"--memory", "3X"}},
        {"run --threads -1 x", {"--threads", "-1"}},
        {"run --jobs 1e3 x", {"--jobs", "1e3"}},
        {"run --shard 0/4 x", {"--shard", "0/4", "1 to N"}},
        {"run --shard 5/4 x", {"5/4"}},
        {"run --shard 1 x", {"--shard", "'1'"}},
        {"run --shard 1/ x", {"'1/'"}},
        {"run --shard /3 x", {"'/3'"}},
        {"run --shard 1/2/3 x", {"1/2/3"}},
        {"run --shard 1/9999999999 x", {"1/9999999999"}},
        {"run --shard 00000000000000001/2 x", {"00000000000000001/2"}},
        {"run --shard auto x", {"--shard auto", "I/N"}},
        {"run --mpi --shard 1/2 x", {"--mpi", "--shard"}},
        {"run --mpi-timeout -1 x", {"--mpi-timeout", "seconds"}},
        {"run --devices 0 x", {"--devices", "'0'", "0,2"}},
        {"run --devices 65 x", {"'65'"}},
        {"run --devices 0,,2 x", {"'0,,2'"}},
        {"run --devices 0,2,0 x", {"'0,2,0'"}},
        {"run --devices , x", {"','"}},
        {"run --devices 1,x x", {"'1,x'"}},
        {"run --devices 1,12345678 x", {"12345678"}},
        {"run --devices cuda:0 x", {"cuda:0"}},
        {"run --spread many x", {"--spread", "'many'", "auto, off, or 1 to 64"}},
        {"run --spread 0 x", {"'0'"}},
        {"run --spread 65 x", {"'65'"}},
        {"run --level 0 x", {"--level", "1", "9"}},
        {"run --level 10 x", {"--level", "10"}},
        {"run --deadline -1 x", {"--deadline"}},
        {"run --deadline nan x", {"--deadline", "nan"}},
        {"run --deadline 1.1e9 x", {"--deadline", "1.1e9", "to 1e9"}},
        {"run -b gpu x", {"--backend", "gpu", "auto|cpu|cuda"}},
        {"run -p pearsn x", {"pearsn", "pearson"}},
        {"run -p q x", {"there is", "pearson"}},
        {"run -s top x", {"KEY=VALUE"}},
        {"run -s =5 x", {"KEY=VALUE"}},
        {"run -s tpo=5 x", {"-s", "tpo", "top"}},
        {"run -s precison=f32 x", {"precison", "precision"}},
        {"run -s precision=f16 x", {"precision", "f16", "exact"}},
        {"run -s top=x x", {"top"}},
        {"run -s missing_value=1,,x x", {"missing_value"}},
        {"run -s missing_value=-999,9 x", {"missing_value", "'-999.9' for one", "'-999, 9'"}},
        {"run -s missing_value=\"a\"b x", {"missing_value", "comma", "'b'"}},
        {"run -s comment=rem x", {"comment", "rem", "none"}},
        {"run -s skip=two x", {"skip", "two"}},
        {"run -s header=first x", {"header", "first"}},
        {"run -s sep=dot x", {"sep", "dot", "semicolon"}},
        {"run -s decimal=; x", {"decimal", ";", "comma or point"}},
        {"run -s decimal=blank x", {"decimal", "blank", "comma or point"}},
        {"run -s thousands=none x", {"thousands", "none", "apostrophe"}},
        {"run -s unreadable=drop x", {"unreadable", "drop", "reject or missing"}},
        {"run -s sums=keep x", {"sums", "keep", "auto or data"}},
        {"run -s missing_vale=1 x", {"missing_vale", "missing_value"}},
        {"run", {"no input", "INPUT"}},
        {"check", {"no input"}},
        {"run --dem a.tif", {"--dem", "give --source"}},
        {"run --source a.tif x", {"--source", "give --dem"}},
        {"doctor x", {"doctor", "x"}},
        {"watch", {"--spool", "spool = DIR"}},
        {"watch --spool a x", {"watch", "x"}},
        {"watch --spool a --force", {"--force"}},
        {"watch --spool a --keep-inputs", {"--keep-inputs", "yes|no"}},
        {"watch --spool a --keep-inputs maybe", {"maybe"}},
        {"watch --spool a --keep_inputs no", {"--keep_inputs", "--keep-inputs"}},
        {"watch --spool a --max-attempts 0", {"--max-attempts", "1"}},
        {"watch --spool a --settle -1", {"settle"}},
        {"watch --spool a --spol b", {"--spol", "--spool"}},
        {"run --spool a x", {"--spool"}},
        {"run --failed x", {"--failed"}},
        {"status x", {"status", "x"}},
        {"status -o x", {"-o"}},
        {"status -s top=5", {"-s"}},
        {"retry --spool a", {"ID", "--all"}},
        {"run -c /nonexistent/leat.conf x", {"/nonexistent/leat.conf"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        must_refuse(cases[i].line, cases[i].words, 3);
    }
}

TEST(a_mistake_in_a_configuration_is_named_with_file_line_and_nearest_key)
{
    static const struct {
        const char *text, *words[3];
    } cases[] = {
        {"\n\nmemry = 1G\n", {":3", "memry", "memory"}},
        {"jobs = x\n", {":1", "jobs", "x"}},
        {"  jobs = 1\n  threds = 2\n", {":2", "threds", "threads"}},
        {"force = maybe\n", {":1", "force", "maybe"}},
        {"output =\n", {":1", "output", "empty"}},
        {"config = x\n", {":1", "config"}},
        {"set = top=5\n", {":1", "set"}},
        {"failed = yes\n", {":1", "unknown", "failed"}},
        {"keep-inputs = no\n", {":1", "keep-inputs", "keep_inputs"}},
        {"keep_inputs = perhaps\n", {":1", "keep_inputs", "perhaps"}},
        {"spol = x\n", {":1", "spol", "spool"}},
        {"top = 5\n", {":1", "top", "[pipeline NAME]"}},
        {"jobs\n", {":1"}},
        {"jobs = 1\nwhat is this\nmemry = 3\n", {":2", "neither"}},
        {"[pipeline pearsn]\ntop = 5\n", {":2", "pearsn", "pearson"}},
        {"[pipeline pearson]\n\ntpo = 5\n", {":3", "tpo", "top"}},
        {"[pipeline pearson]\ntop = five\n", {":2", "top", "five"}},
        {"[pipeline]\ntop = 5\n", {":2", "[pipeline NAME]"}},
        {"[pipelines pearson]\ntop = 5\n", {":2", "pipelines", "[route NAME]"}},
        {"[route a\nmatch = *\n", {":1", "neither"}},
        {"[route a]\nmatch = *\npipeline = pearsn\n", {":3", "pearsn", "pearson"}},
        {"[route a]\npipeline = pearson\n", {":2", "[route a]", "match"}},
        {"[route a]\nmatch = *\nprecison = f32\n", {":3", "precison", "precision"}},
        {"[route a]\nmatch = *\nmatsch = x\n", {":3", "matsch"}},
        {"[route a]\nmatch = *\ntop = -1\n", {":3", "top", "-1"}},
        {"[route a]\nmatch =\n", {":2", "match", "empty"}},
        {"[route aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\nmatch = *\n",
         {":2", "longer than"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[256];
        const char *words[4] = {config_path, cases[i].words[0], cases[i].words[1],
                                cases[i].words[2]};
        write_config(cases[i].text);
        snprintf(line, sizeof(line), "run -c %s x", config_path);
        must_refuse(line, words, 4);
    }
}

TEST(a_configuration_that_is_no_text_is_refused)
{
    char line[512], text[400];
    snprintf(line, sizeof(line), "run -c %s x", config_path);
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "\noutput = ", 10);
    text[sizeof(text) - 1] = '\0';
    write_config(text);
    must_refuse(line, (const char *[]){":2", "longer than"}, 2);
    static const struct {
        char text[101];
        size_t n;
        const char *line;
    } cases[] = {{"jobs = 1\n\0\0memory\njobs = 2\n", 27, ":2"},
                 {"jobs = 1\0", 9, ":1"},
                 {"jobs = 1\n\0", 10, ":2"},
                 {"", 100, ":1"}}; /* zeros */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *f = fopen(config_path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(cases[i].text, 1, cases[i].n, f), cases[i].n);
        assert_int_equal(fclose(f), 0);
        must_refuse(line, (const char *[]){cases[i].line, "zero byte"}, 2);
    }
    struct settings s;
    bool done;
    char folder[] = "run -c /tmp x";
    assert_int_not_equal(parse(folder, &s, &done), STATUS_OK);
    assert_non_null(strstr(status_message(), "/tmp"));
}

/* libinih would cut longer ones. */
TEST(names_of_sections_and_keys_have_48_bytes_at_most)
{
    static const char letters[] = "route aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    char text[128], line[128];
    for (int n = 47; n <= 49; n++) {
        const char *const words[] = {":1", n > 48 ? "longer than 48 bytes" : "unknown key"};
        snprintf(text, sizeof(text), "%.*s = 1\n", n, letters + 6);
        write_config(text);
        snprintf(line, sizeof(line), "run -c %s x", config_path);
        must_refuse(line, words, 2);
        snprintf(text, sizeof(text), "[%.*s]\nmatch = *\n", n, letters);
        write_config(text);
        if (n > 48) {
            must_refuse(line, (const char *[]){":2", "longer than 48 bytes"}, 2);
        } else {
            struct settings s = must_parse(line);
            assert_int_equal(s.n_routes, 1);
            settings_free(&s);
        }
    }
}

int main(void)
{
    return unit_run(make_config, remove_config);
}
