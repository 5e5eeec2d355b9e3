#pragma once
#include <stddef.h>

// The parts of OpenXLA's PJRT C API, version 0.x, that keeping programs, and compiling for a described device, take; a newer minor version only appends. Structs of
// arguments begin with their size and a list of extensions.

typedef struct { size_t size; void *extensions; const char *code; size_t code_size; const char *format; size_t format_size; } Program;
typedef struct { size_t size; void *extensions; void *client; Program *program; const char *options; size_t options_size; void *loaded; } CompileArgs;
typedef struct { size_t size; void *extensions; void *client; const char *bytes; size_t bytes_size; void *loaded; const char *options; size_t options_size; } LoadArgs;
typedef struct { size_t size; void *extensions; void *loaded; void *executable; } ExecutableArgs;
typedef struct { size_t size; void *extensions; void *executable; const char *bytes; size_t bytes_size; void *backing; void (*deleter)(void *); } SerializeArgs;
typedef struct { size_t size; void *extensions; void *object; } DestroyArgs;

typedef void *(*Call)(void *args); // returns an error, or NULL

typedef struct {
	size_t size;
	void *extensions;
	struct { size_t size; void *extensions; int major, minor; } version;
	Call calls[];
} Api;
