// A libhiprtc that compiles for the processor: kernel.h, the text and a clang make a shared object, which host.c loads as a module.
//
// BURN_HIPSHIM is the folder of kernel.h, BURN_HIPSHIM_CC the compiler. BURN_HIPSHIM_FAULT plants faults: "compile" fails each text,
// "abort" ends the process at the first, "matrix" makes NaN of what matrix instructions compute, "rtcversion" is a compiler that cannot say its version.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int planted(const char *what) {
	const char *f = getenv("BURN_HIPSHIM_FAULT");
	return f && strstr(f, what) != 0;
}

struct program { char *text, *log, *code; size_t bytes; };
int hiprtcVersion(int *major, int *minor) { *major = 6; *minor = 2; return planted("rtcversion") ? 11 : 0; }
const char *hiprtcGetErrorString(int code) { return code == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_INTERNAL_ERROR"; }
int hiprtcCreateProgram(struct program **p, const char *text, const char *name, int headers, const char **h, const char **names) {
	*p = calloc(1, sizeof **p);
	(*p)->text = strdup(text);
	(*p)->log = strdup("");
	return headers != 0;
}
int hiprtcDestroyProgram(struct program **p) {
	free((*p)->text);
	free((*p)->log);
	free((*p)->code);
	free(*p);
	*p = 0;
	return 0;
}

static char *slurp(const char *file, size_t *bytes) {
	FILE *f = fopen(file, "rb");
	if (!f) return 0;
	fseek(f, 0, SEEK_END);
	*bytes = ftell(f);
	rewind(f);
	char *b = calloc(1, *bytes + 1);
	*bytes = fread(b, 1, *bytes, f);
	fclose(f);
	return b;
}

int hiprtcCompileProgram(struct program *p, int n, const char **options) {
	if (planted("abort")) abort();
	char folder[] = "/tmp/hipshimXXXXXX", file[64], object[64], said[64];
	const char *home = getenv("BURN_HIPSHIM"), *cc = getenv("BURN_HIPSHIM_CC"), *arch = "";
	if (!home || !cc || !mkdtemp(folder)) return 11;
	char *command = calloc(1, 8192), extra[2048] = "";
	for (int i = 0; i < n; i++) {
		if (!strncmp(options[i], "--offload-arch=", 15)) arch = options[i] + 15;
		else snprintf(extra + strlen(extra), sizeof extra - strlen(extra), " '%s'", options[i]);
	}
	snprintf(file, sizeof file, "%s/k.cpp", folder);
	snprintf(object, sizeof object, "%s/k.so", folder);
	snprintf(said, sizeof said, "%s/log", folder);
	FILE *f = fopen(file, "w");
	fprintf(f, "#define __GFX%.*s__ 1\n", !strncmp(arch, "gfx9", 4) ? 1 : 2, arch + 3);
	if (planted("matrix")) fprintf(f, "#define MATRIX_FAULT\n");
	fprintf(f, "#include \"%s/kernel.h\"\n#line 1 \"burn.hip\"\n%s\n", home, p->text);
	for (const char *at = p->text; (at = strstr(at, "__global__ __launch_bounds__(")); at++) {
		const char *name = strstr(at, ") void ") + 7;
		fprintf(f, "HOST_KERNEL(%.*s)\n", (int)strcspn(name, "("), name);
	}
	if (planted("compile")) fprintf(f, "#error planted\n");
	fclose(f);
	snprintf(command, 8192, "'%s' -x c++ -O1 -w -fPIC -shared -nostartfiles%s -o %s %s -lm -Wl,-z,defs > %s 2>&1", cc, extra, object, file, said);
	size_t bytes;
	int failed = system(command);
	free(p->log);
	p->log = slurp(said, &bytes);
	p->code = failed ? 0 : slurp(object, &p->bytes);
	unlink(file), unlink(object), unlink(said), rmdir(folder);
	free(command);
	return p->code ? 0 : 6;
}
int hiprtcGetProgramLogSize(struct program *p, size_t *n) { *n = strlen(p->log) + 1; return 0; }
int hiprtcGetProgramLog(struct program *p, char *b) { strcpy(b, p->log); return 0; }
int hiprtcGetCodeSize(struct program *p, size_t *n) { *n = p->bytes; return p->code ? 0 : 11; }
int hiprtcGetCode(struct program *p, char *b) { memcpy(b, p->code, p->bytes); return 0; }
