/* no_page: in place of the page, where tidemark is built without the viewer (-Dviewer=disabled). */
#include "view/page_template.h"

const char page_template[] = "";
const size_t page_template_size = 0;
