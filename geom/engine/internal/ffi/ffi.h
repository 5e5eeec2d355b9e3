// anatomyEnter makes a handler of XLA's foreign function interface known to a CPU plug-in by a name, and returns NULL; or else
// why that is not possible.
const char *anatomyEnter(const char *plugin, const char *name, void *handler);
