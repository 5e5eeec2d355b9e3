#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../internal/programs/pjrt.h"
#include "described.h"

typedef struct { size_t size; void *extensions; const char *name; size_t name_size; int type; const char *value; size_t value_size; } NamedValue;
typedef struct { size_t size; void *extensions; const char *name; size_t name_size; const NamedValue *options; size_t n; void *topology; } TopologyArgs;
typedef struct { size_t size; void *extensions; void *topology; Program *program; const char *options; size_t options_size; void *client; void *executable; } CompileForArgs;
typedef struct { size_t size; void *extensions; void *error; const char *message; size_t message_size; } MessageArgs;
typedef struct { size_t size; void *extensions; } InitializeArgs;
typedef struct { size_t size; void *extensions; void *executable; Program *program; } OptimizedArgs;
typedef struct {
	size_t size; void *extensions; void *executable;
	int64_t code, arguments, outputs, alias, temporary, host[5], peak;
} MemoryArgs;

enum { errorDestroy = 0, errorMessage = 1, initialize = 3, executableDestroy = 40, optimizedProgram = 48, topologyCreate = 82, compileFor = 89, memoryStats = 96 };

static Api *plugin;

// told is what an error says, which it frees; NULL where there is none.
static char *told(void *error) {
	if (error == NULL) return NULL;
	MessageArgs m = {sizeof m, NULL, error, NULL, 0};
	plugin->calls[errorMessage](&m);
	char *text = strndup(m.message, m.message_size);
	DestroyArgs d = {sizeof d, NULL, error};
	plugin->calls[errorDestroy](&d);
	return text;
}

char *anatomyOpen(const char *path) {
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (handle == NULL) return strdup(dlerror());
	Api *(*get)(void) = (Api * (*)(void)) dlsym(handle, "GetPjrtApi");
	if (get == NULL) return strdup("it is no XLA plug-in");
	plugin = get();
	if (plugin->version.major != 0 || plugin->size < offsetof(Api, calls) + (memoryStats + 1) * sizeof(Call))
		return strdup("its version of PJRT is another one");
	InitializeArgs i = {sizeof i, NULL};
	return told(plugin->calls[initialize](&i));
}

char *anatomyDescribe(const char *card, void **topology) {
	NamedValue options[2] = {
		{sizeof(NamedValue), NULL, "target_config", 13, 0, card, strlen(card)},
		{sizeof(NamedValue), NULL, "topology", 8, 0, "1x1x1", 5},
	};
	TopologyArgs t = {sizeof t, NULL, "card", 4, options, 2, NULL};
	char *message = told(plugin->calls[topologyCreate](&t));
	*topology = t.topology;
	return message;
}

char *anatomyCompileFor(void *topology, const char *code, size_t size, const char *options, size_t options_size, Compiled *out) {
	Program p = {sizeof p, NULL, code, size, "mlir", 4};
	CompileForArgs c = {sizeof c, NULL, topology, &p, options, options_size, NULL, NULL};
	char *message = told(plugin->calls[compileFor](&c));
	if (message != NULL) return message;
	MemoryArgs m = {.size = sizeof m, .executable = c.executable};
	message = told(plugin->calls[memoryStats](&m));
	out->temporary = m.temporary;
	// Asked once for the size, and once for the text.
	Program optimized = {sizeof optimized, NULL, NULL, 0, NULL, 0};
	OptimizedArgs o = {sizeof o, NULL, c.executable, &optimized};
	if (message == NULL) message = told(plugin->calls[optimizedProgram](&o));
	if (message == NULL) {
		out->module = malloc(optimized.code_size);
		out->size = optimized.code_size;
		optimized.code = out->module;
		message = told(plugin->calls[optimizedProgram](&o));
	}
	DestroyArgs d = {sizeof d, NULL, c.executable};
	free(told(plugin->calls[executableDestroy](&d)));
	return message;
}
