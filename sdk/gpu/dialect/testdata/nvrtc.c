// Compiles CUDA C++ with NVRTC, without a GPU: nvrtc LIBRARY ARCHITECTURE TEXT CUBIN [OPTION...]. Prints the compiler's log.
// Exit 0: compiled; 1: the text is refused; 2: anything else.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *program;

static void *symbol(void *library, const char *name) {
	void *s = dlsym(library, name);
	if (!s) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(2);
	}
	return s;
}

int main(int argc, char **argv) {
	if (argc < 5) return 2;
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	int (*create)(program *, const char *, const char *, int, const char **, const char **) = symbol(library, "nvrtcCreateProgram");
	int (*compile)(program, int, const char **) = symbol(library, "nvrtcCompileProgram");
	int (*log_size)(program, size_t *) = symbol(library, "nvrtcGetProgramLogSize");
	int (*log_text)(program, char *) = symbol(library, "nvrtcGetProgramLog");
	int (*code_size)(program, size_t *) = symbol(library, "nvrtcGetCUBINSize");
	int (*code)(program, char *) = symbol(library, "nvrtcGetCUBIN");

	FILE *in = fopen(argv[3], "rb");
	if (!in) return 2;
	fseek(in, 0, SEEK_END);
	long n = ftell(in);
	rewind(in);
	char *text = calloc(n + 1, 1);
	if (fread(text, 1, n, in) != (size_t)n) return 2;

	program p;
	if (create(&p, text, argv[3], 0, NULL, NULL)) return 2;
	const char *options[64];
	char architecture[64];
	int count = 0;
	snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", argv[2]);
	options[count++] = architecture;
	for (int i = 5; i < argc && count < 64; i++) options[count++] = argv[i];
	int failed = compile(p, count, options);
	size_t size = 0;
	log_size(p, &size);
	char *log = calloc(size + 1, 1);
	log_text(p, log);
	fputs(log, stderr);
	if (failed) return 1;
	if (code_size(p, &size) || !size) return 2;
	char *bytes = malloc(size);
	if (code(p, bytes)) return 2;
	FILE *out = fopen(argv[4], "wb");
	if (!out || fwrite(bytes, 1, size, out) != size || fclose(out)) return 2;
	return 0;
}
