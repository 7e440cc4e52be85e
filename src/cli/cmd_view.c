/* tidemark view FILE [OTHER]: a page for a browser that answers what the commands answer. */
#include "cli/cmd_view.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/command.h"
#include "cli/picture.h"
#include "view/page.h"
#include "view/page_template.h"

static const char help[] =
    "usage: tidemark view FILE [OTHER] [OPTIONS]\n"
    "\n"
    "Writes one HTML page that answers in a browser what the commands answer in a terminal.\n"
    "\n"
    "  -o FILE, --output FILE  where to write (default: FILE.html)\n"
    "  --help                  this text\n";

int cmd_view(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {0}};
    struct page page = {.template = page_template, .template_size = page_template_size};
    struct strbuf html = {0};
    struct err err = {{0}};
    const char *output = NULL;
    int val;
    optind = 0;
    while ((val = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        if (val == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (val != 'o')
            return 2;
        output = optarg;
    }
    while (optind < argc && page.files < PAGE_FILES)
        page.paths[page.files++] = argv[optind++];
    char *path = output ? xstrdup(output) : xasprintf("%s.html", page.paths[0]);
    int status = page_make(&page, &html, &err);
    if (!status)
        status = picture_write(path, &html, &err);
    if (!status)
        puts(path);
    strbuf_release(&html);
    free(path);
    return status ? command_fail("view", &err, 1) : 0;
}
