// A libcuda whose device memory is memory of the host, whose streams do at once what they are given, and whose kernels are run by the
// function that emulate sets. A function is named by its module's image, "#" and its name.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*runner)(const char *function, const uint32_t *dims, void **params);
typedef int (*counter)(const char *function, int param); // bytes of a parameter, 0 where there is none, -1 for an unknown function
static runner run;
static counter count;
static int fault;                      // what everything returns once a kernel has failed
static int64_t allocated, live_events; // what is not given back
void emulate(runner r, counter c) { run = r; count = c; fault = 0; }
int64_t emulate_left(void) { return allocated + live_events; }

#define ZERO(name) int name(void) { return fault; }
ZERO(cuInit) ZERO(cuDevicePrimaryCtxRelease_v2) ZERO(cuCtxSetCurrent) ZERO(cuCtxGetCurrent) ZERO(cuCtxSynchronize) ZERO(cuCtxGetLimit) ZERO(cuCtxSetLimit)
ZERO(cuCtxGetStreamPriorityRange) ZERO(cuModuleUnload) ZERO(cuModuleGetGlobal_v2) ZERO(cuFuncGetAttribute) ZERO(cuOccupancyMaxActiveBlocksPerMultiprocessor)
ZERO(cuStreamDestroy_v2) ZERO(cuStreamSynchronize) ZERO(cuStreamQuery) ZERO(cuStreamWaitEvent) ZERO(cuEventRecord) ZERO(cuEventQuery) ZERO(cuEventSynchronize)
ZERO(cuStreamBeginCapture_v2) ZERO(cuStreamIsCapturing) ZERO(cuMemHostRegister_v2) ZERO(cuMemHostUnregister)
ZERO(cuMemHostGetDevicePointer_v2) ZERO(cuPointerGetAttribute) ZERO(cuPointerGetAttributes) ZERO(cuMemcpyPeerAsync) ZERO(cuDeviceCanAccessPeer)
ZERO(cuCtxEnablePeerAccess) ZERO(cuCtxDisablePeerAccess) ZERO(cuGraphAddChildGraphNode) ZERO(cuGraphAddEmptyNode) ZERO(cuGraphGetNodes) ZERO(cuGraphNodeGetType)
ZERO(cuGraphExecChildGraphNodeSetParams) ZERO(cuGraphUpload) ZERO(cuGraphKernelNodeGetParams_v2) ZERO(cuThreadExchangeStreamCaptureMode) ZERO(cuDeviceGetUuid)

int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuGetErrorName(int code, const char **s) { *s = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR"; return 0; }
int cuGetErrorString(int code, const char **s) { *s = code == 2 ? "out of memory" : "an illegal memory access was encountered"; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? 101 : 0; }
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "emulated"); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1 << 30; return 0; }
int cuDeviceGetAttribute(int *v, int attribute, int device) {
	switch (attribute) {
	case 1: *v = 1024; break;
	case 5: *v = 2147483647; break;
	case 6: case 7: *v = 65535; break;
	case 10: *v = 32; break;
	case 16: *v = 4; break;
	case 39: *v = 2048; break;
	case 75: *v = 9; break;
	case 97: *v = 232448; break;
	default: *v = 0;
	}
	return 0;
}
int cuDevicePrimaryCtxRetain(uint64_t *ctx, int device) { *ctx = 0xc000; return 0; }

int cuMemGetInfo_v2(size_t *free, size_t *total) { *total = 1 << 30; *free = *total - allocated; return 0; }
int cuMemAlloc_v2(uint64_t *p, size_t bytes) {
	if (fault) return fault;
	if (allocated + (int64_t)bytes > 1 << 30) return 2;
	uint64_t *block = aligned_alloc(256, (bytes + 511) / 256 * 256 + 256);
	memset(block, 0xfe, bytes + 256);
	*block = bytes;
	allocated += bytes;
	*p = (uint64_t)block + 256;
	return 0;
}
int cuMemFree_v2(uint64_t p) {
	uint64_t *block = (uint64_t *)(p - 256);
	allocated -= *block;
	free(block);
	return 0;
}
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) { *p = malloc(bytes); allocated++; return fault; }
int cuMemFreeHost(void *p) { free(p); allocated--; return 0; }
static int copy(uint64_t d, uint64_t s, size_t n) { if (!fault) memcpy((void *)d, (void *)s, n); return fault; }
int cuMemcpyHtoDAsync_v2(uint64_t d, uint64_t s, size_t n, uint64_t stream) { return copy(d, s, n); }
int cuMemcpyDtoHAsync_v2(uint64_t d, uint64_t s, size_t n, uint64_t stream) { return copy(d, s, n); }
int cuMemcpyDtoDAsync_v2(uint64_t d, uint64_t s, size_t n, uint64_t stream) { return copy(d, s, n); }
static int fill(uint64_t d, uint32_t v, unsigned size, size_t n) {
	for (size_t i = 0; i < n && !fault; i++) memcpy((char *)d + i * size, &v, size);
	return fault;
}
int cuMemsetD8Async(uint64_t d, uint8_t v, size_t n, uint64_t stream) { return fill(d, v, 1, n); }
int cuMemsetD16Async(uint64_t d, uint16_t v, size_t n, uint64_t stream) { return fill(d, v, 2, n); }
int cuMemsetD32Async(uint64_t d, uint32_t v, size_t n, uint64_t stream) { return fill(d, v, 4, n); }

int cuStreamCreateWithPriority(uint64_t *s, unsigned flags, int priority) { *s = 0x5000; return fault; }
int cuEventCreate(uint64_t *e, unsigned flags) { *e = 0xe000; live_events++; return fault; }
int cuEventDestroy_v2(uint64_t e) { live_events--; return 0; }
int cuEventElapsedTime(float *ms, uint64_t a, uint64_t b) { *ms = 0.5f; return fault; }

int cuModuleLoadDataEx(uint64_t *module, const char *image, unsigned n, const void *options, void **values) { *module = (uint64_t)strdup(image); return fault; }
int cuModuleLoadData(uint64_t *module, const char *image) { return cuModuleLoadDataEx(module, image, 0, 0, 0); }
int cuModuleGetFunction(uint64_t *f, const char *module, const char *name) {
	char *key = malloc(strlen(module) + strlen(name) + 2);
	sprintf(key, "%s#%s", module, name);
	*f = (uint64_t)key;
	return count(key, 0) < 0 ? 500 : fault;
}
int cuFuncSetAttribute(uint64_t f, int attribute, int v) { return v > 232448 ? 1 : fault; }
static int launch(const char *f, const uint32_t *dims, void **params) {
	if (!fault && run(f, dims, params)) fault = 700;
	return fault;
}
int cuLaunchKernel(const char *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, uint64_t stream, void **params, void **extra) {
	uint32_t dims[7] = {gx, gy, gz, bx, by, bz, shared};
	launch(f, dims, params);
	return 0; // a fault is seen by what comes later
}

// A graph is a list of nodes in the order in which they were added; so is what is made of it.
struct side { uint64_t x, y, z, lod; uint32_t kind; uint64_t host, device, array, reserved, pitch, height; };
struct node {
	enum { KERNEL, COPY, SET } kind;
	const char *f;
	uint32_t dims[7];
	uint64_t args[1024];
	uint64_t dst, src, bytes;
	uint32_t value, size;
};
struct graph { int n; struct node *nodes; };
int cuGraphCreate(struct graph **g, unsigned flags) { *g = calloc(1, sizeof **g); allocated++; return fault; }
int cuStreamEndCapture(void *s, struct graph **g) { return cuGraphCreate(g, 0); } // of nothing
int cuGraphDestroy(struct graph *g) { free(g->nodes); free(g); allocated--; return 0; }
int cuGraphExecDestroy(struct graph *g) { return cuGraphDestroy(g); }
static int add(struct graph *g, uint64_t *node, const uint64_t *deps, size_t n, struct node x) {
	for (size_t i = 0; i < n; i++)
		if (deps[i] < 1 || deps[i] > (uint64_t)g->n) return 1;
	g->nodes = realloc(g->nodes, (g->n + 1) * sizeof x);
	g->nodes[g->n++] = x;
	*node = g->n;
	return fault;
}
struct kernel { const char *f; uint32_t dims[7]; void **params, **extra; uint64_t kern, ctx; };
static struct node kernel(const struct kernel *k) {
	struct node x = {.kind = KERNEL, .f = k->f};
	memcpy(x.dims, k->dims, sizeof x.dims);
	for (int i = 0, at = 0, n; (n = count(k->f, i)) > 0; i++, at += (n + 7) / 8) memcpy(&x.args[at], k->params[i], n);
	return x;
}
struct copy3d { struct side src, dst; uint64_t width, height, depth; };
static struct node copying(const struct copy3d *c) { return (struct node){.kind = COPY, .dst = c->dst.device, .src = c->src.device, .bytes = c->width * c->height * c->depth}; }
struct set { uint64_t dst, pitch; uint32_t value, size; uint64_t width, height; };
static struct node setting(const struct set *s) { return (struct node){.kind = SET, .dst = s->dst, .bytes = s->width * s->height, .value = s->value, .size = s->size}; }
int cuGraphAddKernelNode_v2(uint64_t *node, struct graph *g, const uint64_t *deps, size_t n, const struct kernel *k) { return add(g, node, deps, n, kernel(k)); }
int cuGraphAddMemcpyNode(uint64_t *node, struct graph *g, const uint64_t *deps, size_t n, const struct copy3d *c, uint64_t ctx) { return add(g, node, deps, n, copying(c)); }
int cuGraphAddMemsetNode(uint64_t *node, struct graph *g, const uint64_t *deps, size_t n, const struct set *s, uint64_t ctx) { return add(g, node, deps, n, setting(s)); }
static int change(struct graph *e, uint64_t node, struct node x) {
	if (node < 1 || node > (uint64_t)e->n || e->nodes[node - 1].kind != x.kind) return 1;
	e->nodes[node - 1] = x;
	return fault;
}
int cuGraphExecKernelNodeSetParams_v2(struct graph *e, uint64_t node, const struct kernel *k) { return change(e, node, kernel(k)); }
int cuGraphExecMemcpyNodeSetParams(struct graph *e, uint64_t node, const struct copy3d *c, uint64_t ctx) { return change(e, node, copying(c)); }
int cuGraphExecMemsetNodeSetParams(struct graph *e, uint64_t node, const struct set *s, uint64_t ctx) { return change(e, node, setting(s)); }
int cuGraphInstantiateWithFlags(struct graph **e, const struct graph *g, unsigned long long flags) {
	cuGraphCreate(e, 0);
	(*e)->n = g->n;
	(*e)->nodes = malloc((g->n + 1) * sizeof *g->nodes);
	if (g->n) memcpy((*e)->nodes, g->nodes, g->n * sizeof *g->nodes);
	return fault;
}
int cuGraphLaunch(struct graph *e, uint64_t stream) {
	for (int i = 0; i < e->n && !fault; i++) {
		struct node *x = &e->nodes[i];
		void *params[64];
		for (int k = 0, at = 0, n; x->kind == KERNEL && (n = count(x->f, k)) > 0; k++, at += (n + 7) / 8) params[k] = &x->args[at];
		if (x->kind == KERNEL) launch(x->f, x->dims, params);
		else if (x->kind == COPY) copy(x->dst, x->src, x->bytes);
		else fill(x->dst, x->value, x->size, x->bytes);
	}
	return 0;
}
