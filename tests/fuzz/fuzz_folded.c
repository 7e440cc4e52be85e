/* Any bytes as folded stacks: read, summed, written as folded text again and drawn. */
#include "fuzz.h"

#include "export/flame.h"
#include "export/script.h"

const char flame_script[] = "", plot_script[] = "";
const size_t flame_script_size = 0, plot_script_size = 0;

static void amount(struct strbuf *out, int64_t value)
{
    strbuf_printf(out, "%lld", (long long)value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct flame f, again;
    struct strbuf folded = {0}, twice = {0}, svg = {0};
    struct err err;
    bool both, both_again;
    flame_init(&f);
    if (flame_read_folded(&f, (const char *)data, size, &both, &err) == 0) {
        flame_finish(&f, 0);
        for (size_t i = 1; i < f.nodes.count; i++)
            fuzz_must(f.nodes.items[i].parent < i);
        fuzz_must(f.order.count == f.nodes.count);
        flame_write_folded(&f, both, &folded);
        struct flame_options o = {.title = "t",
                                  .subtitle = "s",
                                  .inverted = size & 1,
                                  .normalised = size & 2,
                                  .colors = both ? FLAME_DIFF : FLAME_CPU,
                                  .amount = amount};
        flame_write_svg(&f, &o, &svg);
        flame_init(&again);
        if (folded.size &&
            flame_read_folded(&again, folded.data, folded.size, &both_again, &err) == 0) {
            flame_finish(&again, 0);
            flame_write_folded(&again, both, &twice);
        }
        flame_release(&again);
    }
    strbuf_release(&folded);
    strbuf_release(&twice);
    strbuf_release(&svg);
    flame_release(&f);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char *const texts[] = {"a;b;c 12\na;b 3\n", "main;f_[k];g_[i] 1 2\nmain 0 7\r\n",
                                        "x 1.5\n# no stack\n\n;; 3\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        fuzz_save(folder, (const char[]){(char)('a' + i), '\0'}, texts[i], strlen(texts[i]));
}
