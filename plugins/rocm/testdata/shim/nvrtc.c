// A libhiprtc that has NVRTC compile the text behind nvidia.h and matrix.h, for NVIDIA's GPUs.
//
// BURN_HIPSHIM is the folder of these, BURN_HIPSHIM_NVRTC the library, libnvrtc.so.13 or .12 unless it is set, and BURN_HIPSHIM_SM the
// architecture, sm_90a unless it is set.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *program;
static struct {
	int (*nvrtcVersion)(int *, int *);
	int (*nvrtcCreateProgram)(program *, const char *, const char *, int, const char **, const char **);
	int (*nvrtcDestroyProgram)(program *);
	int (*nvrtcCompileProgram)(program, int, const char **);
	int (*nvrtcGetProgramLogSize)(program, size_t *);
	int (*nvrtcGetProgramLog)(program, char *);
	int (*nvrtcGetCUBINSize)(program, size_t *);
	int (*nvrtcGetCUBIN)(program, char *);
	const char *(*nvrtcGetErrorString)(int);
} nv;

__attribute__((constructor)) static void load(void) {
	const char *named = getenv("BURN_HIPSHIM_NVRTC"), *names[] = {named ? named : "libnvrtc.so.13", "libnvrtc.so.12"};
	void *library = 0;
	for (int i = 0; i < 2 && !library; i++) library = dlopen(names[i], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "hipshim: %s\n", dlerror());
		return;
	}
#define FIND(f) *(void **)&nv.f = dlsym(library, #f)
	FIND(nvrtcVersion), FIND(nvrtcCreateProgram), FIND(nvrtcDestroyProgram), FIND(nvrtcCompileProgram), FIND(nvrtcGetProgramLogSize), FIND(nvrtcGetProgramLog);
	FIND(nvrtcGetCUBINSize), FIND(nvrtcGetCUBIN), FIND(nvrtcGetErrorString);
}

int hiprtcVersion(int *major, int *minor) { return nv.nvrtcVersion ? nv.nvrtcVersion(major, minor) : 11; }
const char *hiprtcGetErrorString(int code) { return nv.nvrtcGetErrorString ? nv.nvrtcGetErrorString(code) : "no NVRTC"; }
int hiprtcCreateProgram(program *p, const char *text, const char *name, int n, const char **headers, const char **names) {
	const char *home = getenv("BURN_HIPSHIM"), *before[] = {"nvidia.h", "matrix.h"};
	char path[4096], *all = calloc(1, (64 << 10) + strlen(text));
	size_t read = 0;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", home ? home : ".", before[i]);
		FILE *f = fopen(path, "r");
		if (!f) return free(all), 11;
		read += fread(all + read, 1, (60 << 10) - read, f);
		fclose(f);
	}
	sprintf(all + read, "#line 1 \"burn.hip\"\n%s", text);
	int code = nv.nvrtcCreateProgram(p, all, name, n, headers, names);
	free(all);
	return code;
}
int hiprtcDestroyProgram(program *p) { return nv.nvrtcDestroyProgram(p); }
int hiprtcCompileProgram(program p, int n, const char **options) {
	const char *all[16] = {"--diag-suppress=177,186,550", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"};
	char sm[64], family[32] = "";
	int count = 4;
	for (int i = 0; i < n; i++) {
		const char *arch = options[i] + 15;
		if (!strncmp(options[i], "--offload-arch=gfx", 18)) snprintf(family, sizeof family, "-D__GFX%.*s__=1", arch[3] == '9' ? 1 : 2, arch + 3);
		else if (!strcmp(options[i], "-ffp-contract=off")) all[count++] = "--fmad=false";
		else if (!strncmp(options[i], "-std=", 5)) all[count++] = "--std=c++17";
		else return 5; // an option that has no counterpart
	}
	snprintf(sm, sizeof sm, "--gpu-architecture=%s", getenv("BURN_HIPSHIM_SM") ? getenv("BURN_HIPSHIM_SM") : "sm_90a");
	all[count++] = sm;
	if (*family) all[count++] = family;
	return nv.nvrtcCompileProgram(p, count, all);
}
int hiprtcGetProgramLogSize(program p, size_t *n) { return nv.nvrtcGetProgramLogSize(p, n); }
int hiprtcGetProgramLog(program p, char *b) { return nv.nvrtcGetProgramLog(p, b); }
int hiprtcGetCodeSize(program p, size_t *n) { return nv.nvrtcGetCUBINSize(p, n); }
int hiprtcGetCode(program p, char *b) { return nv.nvrtcGetCUBIN(p, b); }
