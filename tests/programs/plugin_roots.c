/* A library whose data alone points to blocks: static, and local to a thread. */
void *plugin_static;
__thread void *plugin_local;

void plugin_keep(void *in_data, void *in_storage);
void plugin_keep(void *in_data, void *in_storage)
{
    plugin_static = in_data;
    plugin_local = in_storage;
}
