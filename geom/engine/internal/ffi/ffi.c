#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "ffi.h"

// The parts of OpenXLA's PJRT C API, version 0.x, that entering a handler takes; a newer minor version only appends. Structs of
// arguments begin with their size, most with a list of extensions too.

typedef struct Extension { size_t size; int type; struct Extension *next; } Extension;
typedef struct { size_t size; const char *name; size_t name_size; void *handler; const char *platform; size_t platform_size; int traits; } RegisterArgs;
typedef struct { size_t size; void *extensions; void *object; } DestroyArgs;

typedef struct {
	size_t size;
	Extension *extensions;
	struct { size_t size; void *extensions; int major, minor; } version;
	void *(*errorDestroy)(DestroyArgs *args);
} Api;

typedef struct {
	Extension base;
	void *registerType, *addUserData;
	void *(*registerHandler)(RegisterArgs *args); // returns an error, or NULL
} FFI;

enum { ffiType = 5 };

const char *anatomyEnter(const char *plugin, const char *name, void *handler) {
	void *handle = dlopen(plugin, RTLD_LAZY | RTLD_LOCAL);
	if (handle == NULL) return dlerror();
	Api *(*get)(void) = (Api * (*)(void)) dlsym(handle, "GetPjrtApi");
	if (get == NULL) return "it is no XLA plug-in";
	Api *api = get();
	if (api->version.major != 0) return "its version of PJRT is another one";
	Extension *e = api->extensions;
	while (e != NULL && e->type != ffiType) e = e->next;
	if (e == NULL || e->size < sizeof(FFI)) return "it calls no functions from outside";
	RegisterArgs args = {sizeof args, name, strlen(name), handler, "cpu", 3, 0};
	void *error = ((FFI *)e)->registerHandler(&args);
	if (error == NULL) return NULL;
	DestroyArgs d = {sizeof d, NULL, error};
	api->errorDestroy(&d);
	return "it refuses the function";
}
