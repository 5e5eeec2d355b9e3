#pragma once
#include <stddef.h>
#include <stdint.h>

// What a compiled program is: bytes of temporary memory; the optimized module, an HloModuleProtoWithConfig, which the caller frees.
typedef struct {
	int64_t temporary;
	char *module;
	size_t size;
} Compiled;

// Each returns NULL, or what went wrong, which the caller frees.
char *anatomyOpen(const char *path);
char *anatomyDescribe(const char *card, void **topology);
char *anatomyCompileFor(void *topology, const char *code, size_t size, const char *options, size_t options_size, Compiled *out);
