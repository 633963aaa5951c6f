/*
 * settings_help - what the help says beside options: headings over them, and the parameters of
 * pipelines and of tables, each a topic of its own.
 */
#include "pipeline/names/text.h"
#include "pipeline/settings/options.h"
#include "pipeline/settings/settings_parts.h"

#include <stdio.h>
#include <string.h>

static const char tables[] = "tables";

const char *settings_heading(const char *key)
{
    static const struct {
        const char *first, *heading;
    } groups[] = {{"config", "Inputs and parameters:"},
                  {"output", "Results:"},
                  {"backend", "Computing:"},
                  {"max_unpacked", "Limits of packed inputs:"},
                  {"shard", "Several processes:"},
                  {"spool", "The watched folder:"},
                  {"status_group", "Notifications and page:"},
                  {"failed", "Messages:"}};
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
        if (strcmp(groups[i].first, key) == 0) {
            return groups[i].heading;
        }
    }
    return NULL;
}

void settings_offer_topics(struct text_near *near)
{
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        text_near_offer(near, (*s)->name);
    }
    text_near_offer(near, tables);
}

void settings_print_topics(void)
{
    printf("Parameters for --set KEY=VALUE, by pipeline:\n");
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        printf("  leat help %s\n", (*s)->name);
    }
    printf("  leat help %-10s how files are read, for all of them\n\n", tables);
}

static void print_pipeline(const struct stage_ops *stage)
{
    char left[128], help[256], names[SETTINGS_NAMES_BYTES];
    printf("%s: ", stage->name);
    options_print_text(stage->about);
    printf("Files: %s\n", settings_names_of(stage, names));
    options_print_examples(stage->examples);
    printf("\nParameters of %s, for --set KEY=VALUE:\n", stage->name);
    for (size_t i = 0; i < stage->n_specs; i++) {
        const struct param_spec *spec = &stage->specs[i];
        snprintf(left, sizeof(left), "%s=%s", spec->key, stage_param_value(spec));
        snprintf(help, sizeof(help), *spec->text != '\0' ? "%s (default %s)" : "%s", spec->help,
                 spec->text);
        options_print_row(left, help);
    }
    printf("\nleat help %s lists the parameters for reading files; man leat-%s has all.\n", tables,
           stage->name);
}

static void print_tables(void)
{
    char left[128];
    printf("Parameters of every pipeline, for reading files, for --set KEY=VALUE:\n");
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        snprintf(left, sizeof(left), "%s=%s", table_option_key(i), table_option_value(i));
        options_print_row(left, table_option_help(i));
    }
}

bool settings_print_help(const char *topic)
{
    const struct stage_ops *const stage = stage_find(topic);
    if (stage != NULL) {
        print_pipeline(stage);
    } else if (strcmp(topic, tables) == 0) {
        print_tables();
    } else {
        return false;
    }
    return true;
}
