// anatomyWrap opens a plug-in and returns its table of functions, a PJRT_Api, with a compilation that asks anatomyFind first
// and tells anatomyKeep; NULL with a message where that is not possible.
void *anatomyWrap(const char *path, const char **message);
