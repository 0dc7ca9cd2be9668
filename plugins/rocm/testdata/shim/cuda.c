// A libamdhip64 over NVIDIA's driver, so that the rocm plugin runs on a GPU of NVIDIA's, with the kernels that nvrtc.c compiled.
//
// Devices have 64 KiB of shared memory, as those of AMD: what is beyond 32 KiB, kernels ask for at their launch, and the rest of NVIDIA's 48 KiB
// is for what waves and matrix instructions exchange. BURN_HIPSHIM_ARCH is the architecture that devices say: gfx1100, with waves of 32 threads, unless it is set; gfx9 and what begins so has
// waves of 64, of pairs of warps, and blocks of at most 512 threads then.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t word;
static void *library;
static void *find(const char *name) {
	if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
	void *f = library ? dlsym(library, name) : 0;
	if (!f) fprintf(stderr, "hipshim: no %s in libcuda.so.1\n", name);
	return f;
}
// CU calls a function of the driver with words and pointers, each 8 bytes, or ints.
#define CU(name, types, ...) ({ static int (*cu) types; if (!cu) *(void **)&cu = find(#name); cu ? cu(__VA_ARGS__) : 100; })

static const char *architecture(void) { const char *a = getenv("BURN_HIPSHIM_ARCH"); return a ? a : "gfx1100"; }
static int wave(void) { return strncmp(architecture(), "gfx9", 4) ? 32 : 64; }
enum { DEVICES = 16 };
static word contexts[DEVICES];
static __thread int current = -1;

int hipInit(unsigned flags) { return CU(cuInit, (unsigned), flags); }
int hipRuntimeGetVersion(int *v) { *v = 60241133; return 0; }
int hipGetDeviceCount(int *n) { return CU(cuDeviceGetCount, (int *), n); }
int hipDeviceGet(int *d, int ordinal) { return CU(cuDeviceGet, (int *, int), d, ordinal); }
int hipDeviceGetName(char *name, int size, int d) { return CU(cuDeviceGetName, (char *, int, int), name, size, d); }
int hipDeviceTotalMem(size_t *n, int d) { return CU(cuDeviceTotalMem_v2, (size_t *, int), n, d); }
int hipGetDevicePropertiesR0600(char *properties, int d) {
	strcpy(properties + 1160, architecture());
	return hipDeviceGetName(properties, 256, d);
}
int hipDeviceGetAttribute(int *v, int attribute, int d) {
	static const int known[][2] = {{29, 5}, {30, 6}, {31, 7}, {56, 1}, {57, 39}, {63, 16}, {74, 97}};
	if (attribute == 87) return *v = wave(), 0;
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i][0] == attribute) {
			int code = CU(cuDeviceGetAttribute, (int *, int, int), v, known[i][1], d);
			if (attribute == 56 && wave() == 64 && *v > 512) *v = 512;
			if (attribute == 74 && *v > 64 << 10) *v = 64 << 10;
			return code;
		}
	return 1;
}
int hipSetDevice(int d) {
	if (d < 0 || d >= DEVICES) return 101;
	if (!contexts[d]) {
		int code = CU(cuDevicePrimaryCtxRetain, (word *, int), &contexts[d], d);
		if (code) return code;
	}
	current = d;
	return CU(cuCtxSetCurrent, (word), contexts[d]);
}
static const char *said(int code, int text) {
	const char *s = 0;
	if (text) CU(cuGetErrorString, (int, const char **), code, &s);
	else CU(cuGetErrorName, (int, const char **), code, &s);
	return s ? s : "unknown";
}
const char *hipGetErrorName(int code) { return said(code, 0); }
const char *hipGetErrorString(int code) { return said(code, 1); }

int hipMemGetInfo(size_t *f, size_t *t) { return CU(cuMemGetInfo_v2, (size_t *, size_t *), f, t); }
int hipMalloc(word *p, size_t n) { return CU(cuMemAlloc_v2, (word *, size_t), p, n); }
int hipFree(word p) { return CU(cuMemFree_v2, (word), p); }
int hipHostMalloc(word *p, size_t n, unsigned flags) { return CU(cuMemHostAlloc, (word *, size_t, unsigned), p, n, flags); }
int hipHostFree(word p) { return CU(cuMemFreeHost, (word), p); }
int hipMemcpyHtoDAsync(word d, word s, size_t n, word q) { return CU(cuMemcpyHtoDAsync_v2, (word, word, size_t, word), d, s, n, q); }
int hipMemcpyDtoHAsync(word d, word s, size_t n, word q) { return CU(cuMemcpyDtoHAsync_v2, (word, word, size_t, word), d, s, n, q); }
int hipMemcpyDtoDAsync(word d, word s, size_t n, word q) { return CU(cuMemcpyDtoDAsync_v2, (word, word, size_t, word), d, s, n, q); }
int hipMemsetD8Async(word d, unsigned char v, size_t n, word q) { return CU(cuMemsetD8Async, (word, unsigned char, size_t, word), d, v, n, q); }
int hipMemsetD16Async(word d, unsigned short v, size_t n, word q) { return CU(cuMemsetD16Async, (word, unsigned short, size_t, word), d, v, n, q); }
int hipMemsetD32Async(word d, unsigned v, size_t n, word q) { return CU(cuMemsetD32Async, (word, unsigned, size_t, word), d, v, n, q); }

int hipModuleLoadData(word *m, const void *image) { return CU(cuModuleLoadData, (word *, const void *), m, image); }
int hipModuleUnload(word m) { return CU(cuModuleUnload, (word), m); }
int hipModuleGetFunction(word *f, word m, const char *name) {
	int code = CU(cuModuleGetFunction, (word *, word, const char *), f, m, name);
	return code ? code : CU(cuFuncSetAttribute, (word, int, int), *f, 8, 64 << 10);
}
int hipModuleLaunchKernel(word f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, word q, void **params, void **extra) {
	return CU(cuLaunchKernel, (word, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, word, void **, void **), f, gx, gy, gz, bx, by, bz, shared, q, params, extra);
}

int hipStreamCreateWithPriority(word *s, unsigned flags, int priority) { return CU(cuStreamCreateWithPriority, (word *, unsigned, int), s, flags, priority); }
int hipStreamDestroy(word s) { return CU(cuStreamDestroy_v2, (word), s); }
int hipStreamWaitEvent(word s, word e, unsigned flags) { return CU(cuStreamWaitEvent, (word, word, unsigned), s, e, flags); }
int hipStreamBeginCapture(word s, int mode) { return CU(cuStreamBeginCapture_v2, (word, int), s, mode); }
int hipStreamEndCapture(word s, word *g) { return CU(cuStreamEndCapture, (word, word *), s, g); }
int hipEventCreateWithFlags(word *e, unsigned flags) { return CU(cuEventCreate, (word *, unsigned), e, flags); }
int hipEventDestroy(word e) { return CU(cuEventDestroy_v2, (word), e); }
int hipEventRecord(word e, word s) { return CU(cuEventRecord, (word, word), e, s); }
int hipEventQuery(word e) { return CU(cuEventQuery, (word), e); }
int hipEventSynchronize(word e) { return CU(cuEventSynchronize, (word), e); }
int hipEventElapsedTime(float *ms, word a, word b) { return CU(cuEventElapsedTime, (float *, word, word), ms, a, b); }

// Graphs: parameters of nodes in the driver's layout.
struct hip_kernel { unsigned block[3]; void **extra; word function; unsigned grid[3]; void **params; unsigned shared; };
struct hip_set { word dst; unsigned width; size_t height, pitch; unsigned value; size_t count; };
struct cu_kernel { word function; unsigned grid[3], block[3], shared; void **params, **extra; word kernel, context; };
struct cu_set { word dst; size_t pitch; unsigned value, width; size_t count, height; };
struct cu_side { size_t x, y, z, lod; unsigned kind; word host, device, array, reserved; size_t pitch, height; };
struct cu_copy { struct cu_side src, dst; size_t width, height, depth; };
static struct cu_kernel kernel(const struct hip_kernel *p) {
	struct cu_kernel k = {.function = p->function, .shared = p->shared, .params = p->params, .extra = p->extra};
	memcpy(k.grid, p->grid, 12), memcpy(k.block, p->block, 12);
	return k;
}
static struct cu_set set(const struct hip_set *p) { return (struct cu_set){p->dst, 0, p->value, p->width, p->count, p->height}; }
static struct cu_copy copy(word dst, word src, size_t n) {
	return (struct cu_copy){{.kind = 2, .device = src}, {.kind = 2, .device = dst}, n, 1, 1};
}
int hipGraphCreate(word *g, unsigned flags) { return CU(cuGraphCreate, (word *, unsigned), g, flags); }
int hipGraphDestroy(word g) { return CU(cuGraphDestroy, (word), g); }
int hipGraphAddKernelNode(word *n, word g, word *deps, size_t count, const struct hip_kernel *p) {
	struct cu_kernel k = kernel(p);
	return CU(cuGraphAddKernelNode_v2, (word *, word, word *, size_t, struct cu_kernel *), n, g, deps, count, &k);
}
int hipGraphAddMemcpyNode1D(word *n, word g, word *deps, size_t count, word dst, word src, size_t bytes, int kind) {
	struct cu_copy c = copy(dst, src, bytes);
	return CU(cuGraphAddMemcpyNode, (word *, word, word *, size_t, struct cu_copy *, word), n, g, deps, count, &c, contexts[current]);
}
int hipGraphAddMemsetNode(word *n, word g, word *deps, size_t count, const struct hip_set *p) {
	struct cu_set s = set(p);
	return CU(cuGraphAddMemsetNode, (word *, word, word *, size_t, struct cu_set *, word), n, g, deps, count, &s, contexts[current]);
}
int hipGraphAddChildGraphNode(word *n, word g, word *deps, size_t count, word child) {
	return CU(cuGraphAddChildGraphNode, (word *, word, word *, size_t, word), n, g, deps, count, child);
}
int hipGraphInstantiateWithFlags(word *e, word g, unsigned long long flags) { return CU(cuGraphInstantiateWithFlags, (word *, word, unsigned long long), e, g, flags); }
int hipGraphExecDestroy(word e) { return CU(cuGraphExecDestroy, (word), e); }
int hipGraphExecKernelNodeSetParams(word e, word n, const struct hip_kernel *p) {
	struct cu_kernel k = kernel(p);
	return CU(cuGraphExecKernelNodeSetParams_v2, (word, word, struct cu_kernel *), e, n, &k);
}
int hipGraphExecMemcpyNodeSetParams1D(word e, word n, word dst, word src, size_t bytes, int kind) {
	struct cu_copy c = copy(dst, src, bytes);
	return CU(cuGraphExecMemcpyNodeSetParams, (word, word, struct cu_copy *, word), e, n, &c, contexts[current]);
}
int hipGraphExecMemsetNodeSetParams(word e, word n, const struct hip_set *p) {
	struct cu_set s = set(p);
	return CU(cuGraphExecMemsetNodeSetParams, (word, word, struct cu_set *, word), e, n, &s, contexts[current]);
}
int hipGraphExecChildGraphNodeSetParams(word e, word n, word child) { return CU(cuGraphExecChildGraphNodeSetParams, (word, word, word), e, n, child); }
int hipGraphLaunch(word e, word s) { return CU(cuGraphLaunch, (word, word), e, s); }
