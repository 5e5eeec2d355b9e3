#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "pjrt.h"

enum { errorDestroy = 0, clientCompile = 20, executableDestroy = 40, executableSerialize = 49, getExecutable = 51, deserializeAndLoad = 56 };

static Api *plugin;

static void *call(int which, void *args) { return plugin->calls[which](args); }

// failed says whether a call returned an error, which it frees.
static int failed(void *error) {
	if (error == NULL) return 0;
	DestroyArgs d = {sizeof d, NULL, error};
	call(errorDestroy, &d);
	return 1;
}

static void keep(void *loaded, char *key) {
	ExecutableArgs e = {sizeof e, NULL, loaded, NULL};
	if (failed(call(getExecutable, &e))) return;
	SerializeArgs s = {sizeof s, NULL, e.executable, NULL, 0, NULL, NULL};
	if (!failed(call(executableSerialize, &s))) {
		anatomyKeep(key, (char *)s.bytes, s.bytes_size);
		if (s.deleter != NULL) s.deleter(s.backing);
	}
	DestroyArgs d = {sizeof d, NULL, e.executable};
	failed(call(executableDestroy, &d));
}

static void *compile(void *args) {
	CompileArgs *a = args;
	char *bytes = NULL;
	size_t size = 0;
	char *key = anatomyFind((char *)a->program->code, a->program->code_size, (char *)a->options, a->options_size, &bytes, &size);
	if (bytes != NULL) {
		LoadArgs l = {sizeof l, NULL, a->client, bytes, size, NULL, NULL, 0};
		int missed = failed(call(deserializeAndLoad, &l));
		free(bytes);
		if (!missed) {
			a->loaded = l.loaded;
			free(key);
			return NULL;
		}
	}
	void *error = call(clientCompile, a);
	if (error == NULL && key != NULL) keep(a->loaded, key);
	free(key);
	return error;
}

void *anatomyWrap(const char *path, const char **message) {
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (handle == NULL) {
		*message = dlerror();
		return NULL;
	}
	Api *(*get)(void) = (Api * (*)(void)) dlsym(handle, "GetPjrtApi");
	if (get == NULL) {
		*message = "it is no XLA plug-in";
		return NULL;
	}
	plugin = get();
	if (plugin->version.major != 0 || plugin->size < offsetof(Api, calls) + (deserializeAndLoad + 1) * sizeof(Call)) {
		*message = "its version of PJRT is another one";
		return NULL;
	}
	Api *wrapped = malloc(plugin->size);
	memcpy(wrapped, plugin, plugin->size);
	wrapped->calls[clientCompile] = compile;
	return wrapped;
}
