/* no_page: replaces the page if tidemark is built without the viewer (-Dviewer=disabled). */
#include "view/page_template.h"

const char page_template[] = "";
const size_t page_template_size = 0;
