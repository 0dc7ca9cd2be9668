// A libcuda that records calls. Settings: 0 code of cuInit, 1 devices, 2 code of the next launch.
#include "log.h"

int cuInit(unsigned flags) { return setting[0]; }
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuDeviceGetCount(int *n) { *n = setting[1] ? setting[1] - 1 : 2; return 0; }
int cuGetErrorName(int code, const char **s) { *s = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER"; return 0; }
int cuGetErrorString(int code, const char **s) { *s = code == 2 ? "out of memory" : code == 700 ? "an illegal memory access was encountered" : "other"; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < 2 ? 0 : 101; }
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "Stub %d of %d", device, size); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute * 100 + device; return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 0x123456789aull; return 0; }
int cuDevicePrimaryCtxRetain(uint64_t *ctx, int device) { *ctx = 0xc000 + device; return 0; }

int cuMemAlloc_v2(uint64_t *p, size_t bytes) {
	if (bytes > 1ull << 40) return 2;
	*p = 0x7f0000000000ull + bytes;
	return 0;
}
int cuStreamCreateWithPriority(uint64_t *s, unsigned flags, int priority) { say("stream flags=%u priority=%d\n", flags, priority); *s = 0x5000; return 0; }
int cuEventCreate(uint64_t *e, unsigned flags) { say("event flags=%u\n", flags); *e = 0xe000; return 0; }
int cuEventQuery(uint64_t e) { return e == 1 ? 0 : e == 2 ? 600 : 700; }
int cuStreamQuery(uint64_t s) { return s == 1 ? 0 : s == 2 ? 600 : 700; }
int cuStreamSynchronize(uint64_t s) { return 700; }
int cuEventElapsedTime(float *ms, uint64_t a, uint64_t b) { *ms = 1.25f * (b - a); return 0; }
int cuCtxEnablePeerAccess(uint64_t ctx, unsigned flags) { return ctx == 1 ? 704 : ctx == 2 ? 217 : 0; }

struct pool { uint32_t alloc, handles; int32_t location, id; uint64_t security, max; uint16_t usage; uint8_t reserved[54]; };
int cuMemPoolCreate(uint64_t *pool, const struct pool *p) {
	int zero = 1;
	for (int i = 0; i < 54; i++) zero &= p->reserved[i] == 0;
	say("pool alloc=%u handles=%u location=%d id=%d max=%llu usage=%u zero=%d\n", p->alloc, p->handles, p->location, p->id, (unsigned long long)p->max, p->usage, zero);
	*pool = 0xb000;
	return 0;
}
int cuMemPoolSetAttribute(uint64_t pool, int attribute, uint64_t *v) { say("pool set %d=%llu\n", attribute, (unsigned long long)*v); return 0; }
int cuMemPoolSetAccess(uint64_t pool, const int32_t *desc, size_t n) { say("pool access location=%d id=%d flags=%d n=%zu\n", desc[0], desc[1], desc[2], n); return 0; }
int cuMemAllocFromPoolAsync(uint64_t *p, size_t bytes, uint64_t pool, uint64_t stream) { say("alloc %zu pool=%llx stream=%llx\n", bytes, (long long)pool, (long long)stream); *p = 0xa0; return 0; }

int cuMemcpyHtoDAsync_v2(uint64_t d, const uint8_t *s, size_t n, uint64_t stream) { say("up %llx first=%d n=%zu stream=%llx\n", (long long)d, s[0], n, (long long)stream); return 0; }
int cuMemcpyDtoHAsync_v2(uint8_t *d, uint64_t s, size_t n, uint64_t stream) { d[0] = 42; say("down %llx n=%zu stream=%llx\n", (long long)s, n, (long long)stream); return 0; }
int cuMemcpyDtoDAsync_v2(uint64_t d, uint64_t s, size_t n, uint64_t stream) { say("copy %llx from %llx n=%zu stream=%llx\n", (long long)d, (long long)s, n, (long long)stream); return 0; }
int cuMemcpyPeerAsync(uint64_t d, uint64_t dc, uint64_t s, uint64_t sc, size_t n, uint64_t stream) { say("peer %llx ctx %llx from %llx ctx %llx n=%zu stream=%llx\n", (long long)d, (long long)dc, (long long)s, (long long)sc, n, (long long)stream); return 0; }
int cuMemsetD8Async(uint64_t d, uint8_t v, size_t n, uint64_t stream) { say("set8 %llx=%u n=%zu stream=%llx\n", (long long)d, v, n, (long long)stream); return 0; }
int cuMemsetD16Async(uint64_t d, uint16_t v, size_t n, uint64_t stream) { say("set16 %llx=%u n=%zu stream=%llx\n", (long long)d, v, n, (long long)stream); return 0; }
int cuMemsetD32Async(uint64_t d, uint32_t v, size_t n, uint64_t stream) { say("set32 %llx=%u n=%zu stream=%llx\n", (long long)d, v, n, (long long)stream); return 0; }
int cuPointerGetAttributes(unsigned n, const uint32_t *names, void **data, uint64_t p) {
	for (unsigned i = 0; i < n; i++) {
		if (names[i] == 2) *(uint32_t *)data[i] = 2;
		else if (names[i] == 9) *(int32_t *)data[i] = 1;
		else if (names[i] == 11) *(uint64_t *)data[i] = p - 5;
		else if (names[i] == 12) *(uint64_t *)data[i] = 4096;
		else return 1;
	}
	return 0;
}
int cuModuleLoadDataEx(uint64_t *module, const char *image, unsigned n, const uint32_t *options, void **values) {
	if (strcmp(image, "good") == 0) { *module = 0x3000; return 0; }
	for (unsigned i = 0; i < n; i++)
		if (options[i] == 5) snprintf(values[i], 100, "ptxas: line 1, room %d\n", (int)(intptr_t)values[i + 1]);
	return 218;
}
int cuModuleGetFunction(uint64_t *f, uint64_t module, const char *name) { say("function %s\n", name); *f = 3; return strcmp(name, "absent") ? 0 : 500; }

// The stub's convention: the handle of a function is its number of parameters, each a word of 8 bytes.
static void parameters(uint64_t f, void **params) {
	for (uint64_t i = 0; i < f; i++) say(" %llx", (unsigned long long)*(uint64_t *)params[i]);
	say("\n");
}
int cuLaunchKernel(uint64_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, uint64_t stream, void **params, void **extra) {
	if (setting[2]) return setting[2];
	say("launch %u %u %u, %u %u %u, shared=%u stream=%llx extra=%d:", gx, gy, gz, bx, by, bz, shared, (long long)stream, extra != 0);
	parameters(f, params);
	if (setting[3]) stub_clear(); // endless launches
	return 0;
}
struct attribute { uint32_t id; char pad[4]; union { char all[64]; uint32_t words[16]; } value; };
struct config { uint32_t gx, gy, gz, bx, by, bz, shared; uint64_t stream; struct attribute *attrs; uint32_t count; };
int cuLaunchKernelEx(const struct config *c, uint64_t f, void **params, void **extra) {
	say("launch ex %u %u %u, %u %u %u, shared=%u stream=%llx", c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, (long long)c->stream);
	for (uint32_t i = 0; i < c->count; i++) say(" [%u: %u %u %u]", c->attrs[i].id, c->attrs[i].value.words[0], c->attrs[i].value.words[1], c->attrs[i].value.words[2]);
	say(":");
	parameters(f, params);
	return 0;
}

struct kernel { uint64_t f; uint32_t gx, gy, gz, bx, by, bz, shared; void **params, **extra; uint64_t kern, ctx; };
static void kernel(const struct kernel *k) {
	say(" %u %u %u, %u %u %u, shared=%u extra=%d kern=%llx ctx=%llx:", k->gx, k->gy, k->gz, k->bx, k->by, k->bz, k->shared, k->extra != 0, (long long)k->kern, (long long)k->ctx);
	parameters(k->f, k->params);
}
static void dependencies(const uint64_t *deps, size_t n) {
	say(" after");
	for (size_t i = 0; i < n; i++) say(" %llx", (long long)deps[i]);
}
int cuGraphCreate(uint64_t *g, unsigned flags) { say("graph %u\n", flags); *g = 0x6000; return 0; }
int cuGraphAddKernelNode_v2(uint64_t *node, uint64_t g, const uint64_t *deps, size_t n, const struct kernel *k) {
	say("kernel node in %llx", (long long)g);
	dependencies(deps, n);
	kernel(k);
	*node = 0x6100 + n;
	return 0;
}
int cuGraphExecKernelNodeSetParams_v2(uint64_t e, uint64_t node, const struct kernel *k) { say("set kernel %llx in %llx", (long long)node, (long long)e); kernel(k); return 0; }
struct side { uint64_t x, y, z, lod; uint32_t kind; uint64_t host, device, array, reserved, pitch, height; };
struct copy { struct side src, dst; uint64_t width, height, depth; };
static void copy(const struct copy *c, uint64_t ctx) {
	say(" kinds %u %u, %llx from %llx, %llu x %llu x %llu, ctx=%llx\n", c->dst.kind, c->src.kind, (long long)c->dst.device, (long long)c->src.device,
		(long long)c->width, (long long)c->height, (long long)c->depth, (long long)ctx);
}
int cuGraphAddMemcpyNode(uint64_t *node, uint64_t g, const uint64_t *deps, size_t n, const struct copy *c, uint64_t ctx) { say("copy node"); dependencies(deps, n); copy(c, ctx); *node = 0x6200; return 0; }
int cuGraphExecMemcpyNodeSetParams(uint64_t e, uint64_t node, const struct copy *c, uint64_t ctx) { say("set copy %llx", (long long)node); copy(c, ctx); return 0; }
struct set { uint64_t dst, pitch; uint32_t value, size; uint64_t width, height; };
static void set(const struct set *s, uint64_t ctx) {
	say(" %llx=%u pitch=%llu size=%u, %llu x %llu, ctx=%llx\n", (long long)s->dst, s->value, (long long)s->pitch, s->size, (long long)s->width, (long long)s->height, (long long)ctx);
}
int cuGraphAddMemsetNode(uint64_t *node, uint64_t g, const uint64_t *deps, size_t n, const struct set *s, uint64_t ctx) { say("set node"); dependencies(deps, n); set(s, ctx); *node = 0x6300; return 0; }
int cuGraphExecMemsetNodeSetParams(uint64_t e, uint64_t node, const struct set *s, uint64_t ctx) { say("set set %llx", (long long)node); set(s, ctx); return 0; }
int cuGraphAddChildGraphNode(uint64_t *node, uint64_t g, const uint64_t *deps, size_t n, uint64_t child) { say("child node"); dependencies(deps, n); say(" %llx\n", (long long)child); *node = 0x6400; return 0; }
int cuGraphGetNodes(uint64_t g, uint64_t *nodes, size_t *n) {
	if (nodes) for (size_t i = 0; i < *n; i++) nodes[i] = 0x70 + i;
	else *n = 3;
	return 0;
}
int cuGraphInstantiateWithFlags(uint64_t *e, uint64_t g, unsigned long long flags) { say("instantiate %llx flags=%llu\n", (long long)g, flags); *e = 0x8000; return 0; }
int cuStreamBeginCapture_v2(uint64_t s, int mode) { say("capture %llx mode=%d\n", (long long)s, mode); return 0; }
