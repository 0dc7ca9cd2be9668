// A libamdhip64 without a GPU: device memory is memory of the host, streams do at once what they are given, and kernels, which rtc.c made
// shared objects of, run thread by thread. All calls are checked: handles and addresses have to be those of living objects, copies, fills
// and frees have to lie in one allocation, streams and events have to be used under a current device, and nothing may be written beside
// memory. What is wrong is said on standard error, and hipErrorInvalidValue. shim_left is how many objects are alive, and shim_wrong how
// many calls were wrong.
//
// BURN_HIPSHIM_ARCH is the architecture, gfx90a unless it is set, and BURN_HIPSHIM_WAVE the size of waves that the device says.
// BURN_HIPSHIM_FAULT plants faults, separated by commas: "init" ends the process in hipInit, "none" is a runtime without a device,
// "version" one of HIP 4.4, "oom" has no memory left from 64 MiB on, "lost" loses the device at the 8th launch, "queue" has no streams.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, MEMORY = 2, NO_DEVICE = 100, BAD_DEVICE = 101, BAD_IMAGE = 200, NOT_FOUND = 500, LOST = 719 };
enum kind { STREAM = 1, EVENT, MODULE, FUNCTION, GRAPH, EXEC, NODE, BLOCK, PINNED };

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int lost;
static long launches, wrongs, alive;
static __thread int current = -1;

static int planted(const char *what) {
	const char *f = getenv("BURN_HIPSHIM_FAULT");
	return f && strstr(f, what) != 0;
}
static const char *architecture(void) { const char *a = getenv("BURN_HIPSHIM_ARCH"); return a ? a : "gfx90a:sramecc+:xnack-"; }
static int wave(void) {
	const char *w = getenv("BURN_HIPSHIM_WAVE");
	return w ? atoi(w) : strncmp(architecture(), "gfx9", 4) ? 32 : 64;
}
static int wrong(const char *format, ...) {
	va_list list;
	va_start(list, format);
	fprintf(stderr, "hipshim: ");
	vfprintf(stderr, format, list);
	fprintf(stderr, "\n");
	va_end(list);
	wrongs++;
	return INVALID;
}
// CALL begins each function: one runs at a time, and none once the device is lost.
static void leave(int *locked) { pthread_mutex_unlock(&mutex); (void)locked; }
#define CALL() int locked __attribute__((cleanup(leave))) = pthread_mutex_lock(&mutex); (void)locked; if (lost) return lost
#define DEVICE() CALL(); if (current != 0) return wrong("%s: no device is current", __func__)

// Objects are in one list: a handle is a pointer to one.
struct object {
	enum kind kind;
	struct object *next, *before;
	int recorded, timed;              // of an event
	void *library;                    // of a module
	char name[256];                   // of a function
	void (*call)(void **);            // likewise
	int (*size)(int);                 // likewise
	struct object *module;            // likewise
	struct object **nodes;            // of a graph
	int count;                        // likewise
	struct object *of;                // of an executable graph: its own copies; of a node: its graph
	struct object *original;          // of a copied node
	int what;                         // of a node: 1 kernel, 2 copy, 3 set, 4 child, 5 work of a library
	unsigned dims[7];
	void **args;
	char *dst, *src;                  // and of memory: dst
	size_t bytes;
	unsigned value, width;
	struct object *records;           // of a stream: the graph that a recording goes to
	int (*work)(const void *);        // of a node: what a library does, with args[0]
};
static struct object all = {.next = &all, .before = &all};
static struct object *make(enum kind k) {
	struct object *o = calloc(1, sizeof *o);
	o->kind = k;
	o->next = &all, o->before = all.before;
	all.before->next = o, all.before = o;
	alive++;
	return o;
}
static int is(const void *handle, enum kind k) {
	for (struct object *o = all.next; o != &all; o = o->next)
		if (o == handle) return o->kind == k;
	return 0;
}
static void gone(struct object *o) {
	o->next->before = o->before, o->before->next = o->next;
	alive--;
	free(o->nodes);
	free(o);
}
#define WANT(handle, k) do { if (!is(handle, k)) return wrong("%s: %p is no " #k, __func__, (void *)(handle)); } while (0)

long shim_left(void) { return alive; }
long shim_wrong(void) { return wrongs; }
// The device.
int hipRuntimeGetVersion(int *v) { *v = planted("version") ? 40421401 : 60241133; return OK; }
int hipInit(unsigned flags) { if (planted("init")) abort(); return planted("none") ? NO_DEVICE : OK; }
int hipGetDeviceCount(int *n) { *n = planted("none") ? 0 : 1; return planted("none") ? NO_DEVICE : OK; }
int hipDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? BAD_DEVICE : OK; }
int hipDeviceGetName(char *name, int size, int device) { snprintf(name, size, "AMD hipshim gfx"); return device ? BAD_DEVICE : OK; }
int hipDeviceTotalMem(size_t *bytes, int device) { *bytes = 2ul << 30; return device ? BAD_DEVICE : OK; }
int hipGetDevicePropertiesR0600(char *properties, int device) {
	strcpy(properties, "AMD hipshim gfx");
	strcpy(properties + 1160, architecture()); // where ROCm 6 has it
	return device ? BAD_DEVICE : OK;
}
int hipDeviceGetAttribute(int *v, int attribute, int device) {
	switch (attribute) {
	case 29: *v = 2147483647; break;
	case 30: case 31: *v = 65535; break;
	case 56: *v = 1024; break;
	case 57: *v = 2048; break;
	case 63: *v = 4; break;
	case 74: *v = 65536; break;
	case 87: *v = wave(); break;
	default: return wrong("%s: attribute %d", __func__, attribute);
	}
	return device ? BAD_DEVICE : OK;
}
int hipSetDevice(int device) { CALL(); if (device) return BAD_DEVICE; current = device; return OK; }
const char *hipGetErrorName(int code) {
	switch (code) {
	case OK: return "hipSuccess";
	case INVALID: return "hipErrorInvalidValue";
	case MEMORY: return "hipErrorOutOfMemory";
	case NO_DEVICE: return "hipErrorNoDevice";
	case BAD_DEVICE: return "hipErrorInvalidDevice";
	case BAD_IMAGE: return "hipErrorInvalidImage";
	case NOT_FOUND: return "hipErrorNotFound";
	case LOST: return "hipErrorLaunchFailure";
	}
	return "hipErrorUnknown";
}
const char *hipGetErrorString(int code) { return code == MEMORY ? "out of memory" : code == LOST ? "unspecified launch failure" : hipGetErrorName(code); }

// Memory, with a band before and behind each allocation that nobody may write.
enum { BAND = 4096 };
static size_t allocated;
static int allocate(void **p, size_t bytes, enum kind k) {
	if (allocated + bytes > (planted("oom") ? 64ul << 20 : 2ul << 30)) return MEMORY;
	struct object *o = make(k);
	o->bytes = bytes;
	char *base = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096 + 2 * BAND);
	memset(base, 0xfb, BAND);
	memset(base + BAND, 0xfe, bytes);
	memset(base + BAND + bytes, 0xfb, (bytes + 4095) / 4096 * 4096 - bytes + BAND);
	*p = o->dst = base + BAND;
	allocated += bytes;
	return OK;
}
static struct object *within(const void *at, size_t bytes, enum kind k) {
	for (struct object *o = all.next; o != &all; o = o->next)
		if (o->kind == k && (char *)at >= o->dst && (char *)at + bytes <= o->dst + o->bytes) return o;
	return 0;
}
static int release(void *p, enum kind k) {
	struct object *o = all.next;
	while (o != &all && (o->kind != k || o->dst != p)) o = o->next;
	if (o == &all) return wrong("free of %p, which is no allocation", p);
	unsigned char *base = (unsigned char *)p - BAND;
	for (size_t i = 0; i < BAND; i++)
		if (base[i] != 0xfb || base[BAND + o->bytes + i] != 0xfb) return wrong("memory beside an allocation of %zu bytes was written", o->bytes);
	free(base);
	allocated -= o->bytes;
	gone(o);
	return OK;
}
int hipMemGetInfo(size_t *free, size_t *total) { DEVICE(); *total = 2ul << 30; *free = *total - allocated; return OK; }
int hipMalloc(void **p, size_t bytes) { DEVICE(); return allocate(p, bytes, BLOCK); }
int hipFree(void *p) { DEVICE(); return release(p, BLOCK); }
int hipHostMalloc(void **p, size_t bytes, unsigned flags) { DEVICE(); return allocate(p, bytes, PINNED); }
int hipHostFree(void *p) { DEVICE(); return release(p, PINNED); }
#define INSIDE(at, n) do { if ((n) && !within(at, n, BLOCK)) return wrong("%s: %zu bytes at %p are not in one allocation", __func__, (size_t)(n), (void *)(at)); } while (0)
int hipMemcpyHtoDAsync(char *d, const char *s, size_t n, void *stream) { DEVICE(); WANT(stream, STREAM); INSIDE(d, n); memcpy(d, s, n); return OK; }
int hipMemcpyDtoHAsync(char *d, const char *s, size_t n, void *stream) { DEVICE(); WANT(stream, STREAM); INSIDE(s, n); memcpy(d, s, n); return OK; }
static int copy(char *d, const char *s, size_t n) {
	INSIDE(d, n);
	INSIDE(s, n);
	if (n && d < s + n && s < d + n) return wrong("a copy of %zu bytes onto itself", n);
	memcpy(d, s, n);
	return OK;
}
int hipMemcpyDtoDAsync(char *d, const char *s, size_t n, void *stream) { DEVICE(); WANT(stream, STREAM); return copy(d, s, n); }
static int fill(char *d, unsigned v, unsigned width, size_t n) {
	const size_t bytes = n * width;
	INSIDE(d, bytes);
	if ((uintptr_t)d % width) return wrong("a fill of %u bytes each at %p", width, (void *)d);
	for (size_t i = 0; i < n; i++) memcpy(d + i * width, &v, width);
	return OK;
}
int hipMemsetD8Async(char *d, unsigned char v, size_t n, void *stream) { DEVICE(); WANT(stream, STREAM); return fill(d, v, 1, n); }
int hipMemsetD16Async(char *d, unsigned short v, size_t n, void *stream) { DEVICE(); WANT(stream, STREAM); return fill(d, v, 2, n); }
int hipMemsetD32Async(char *d, unsigned v, size_t n, void *stream) { DEVICE(); WANT(stream, STREAM); return fill(d, v, 4, n); }

// Streams and events.
int hipStreamCreateWithPriority(struct object **s, unsigned flags, int priority) { DEVICE(); if (planted("queue")) return MEMORY; *s = make(STREAM); return flags == 1 ? OK : wrong("flags %u", flags); }
int hipStreamDestroy(struct object *s) { DEVICE(); WANT(s, STREAM); gone(s); return OK; }
int hipStreamWaitEvent(struct object *s, struct object *e, unsigned flags) { DEVICE(); WANT(s, STREAM); WANT(e, EVENT); return flags ? wrong("flags %u", flags) : OK; }
int hipEventCreateWithFlags(struct object **e, unsigned flags) { DEVICE(); *e = make(EVENT); (*e)->timed = !(flags & 2); return flags & ~3u ? wrong("flags %u", flags) : OK; }
int hipEventDestroy(struct object *e) { DEVICE(); WANT(e, EVENT); gone(e); return OK; }
int hipEventRecord(struct object *e, struct object *s) { DEVICE(); WANT(e, EVENT); WANT(s, STREAM); e->recorded = 1; return OK; }
int hipEventQuery(struct object *e) { DEVICE(); WANT(e, EVENT); return OK; }
int hipEventSynchronize(struct object *e) { DEVICE(); WANT(e, EVENT); return OK; }
int hipEventElapsedTime(float *ms, struct object *a, struct object *b) {
	DEVICE();
	WANT(a, EVENT);
	WANT(b, EVENT);
	if (!a->timed || !b->timed || !a->recorded || !b->recorded) return wrong("time between events that do not measure, or were not recorded");
	*ms = 0.001f;
	return OK;
}

// Modules.
int hipModuleLoadData(struct object **m, const unsigned char *image) {
	DEVICE();
	if (memcmp(image, "\x7f" "ELF", 4)) return BAD_IMAGE;
	uint64_t shoff;
	uint16_t size, count;
	memcpy(&shoff, image + 40, 8), memcpy(&size, image + 58, 2), memcpy(&count, image + 60, 2);
	char path[] = "/tmp/hipshimXXXXXX"; // of a name that the loader has not met
	int fd = mkstemp(path);
	size_t bytes = shoff + size * count;
	if (write(fd, image, bytes) != (ssize_t)bytes) return MEMORY;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(fd), unlink(path);
	if (!library) return wrong("%s", dlerror());
	*m = make(MODULE);
	(*m)->library = library;
	return OK;
}
int hipModuleUnload(struct object *m) {
	DEVICE();
	WANT(m, MODULE);
	dlclose(m->library);
	for (struct object *o = all.next, *next; next = o->next, o != &all; o = next)
		if (o->kind == FUNCTION && o->module == m) gone(o);
	gone(m);
	return OK;
}
int hipModuleGetFunction(struct object **f, struct object *m, const char *name) {
	DEVICE();
	WANT(m, MODULE);
	char symbol[300];
	snprintf(symbol, sizeof symbol, "call_%s", name);
	void *call = dlsym(m->library, symbol);
	snprintf(symbol, sizeof symbol, "size_%s", name);
	if (!call) return NOT_FOUND;
	*f = make(FUNCTION);
	(*f)->module = m;
	(*f)->call = (void (*)(void **))call;
	(*f)->size = (int (*)(int))dlsym(m->library, symbol);
	snprintf((*f)->name, sizeof (*f)->name, "%s", name);
	return OK;
}

// Threads of a block are fibers. A fiber hands over when it waits for its block, for its wave, or has ended.
enum { THREADS = 1024, STACK = 256 << 10, RUNS = 0, AT_BLOCK, AT_WAVE, ENDED };
static struct fiber { void *sp; int state; uint64_t gives; } fibers[THREADS];
static char *stacks;
static void *scheduler;
static int running, size_of_wave;
static uint64_t given[THREADS / 32][64]; // by wave
static void (*kernel)(void **);
static void **arguments;

void hip_switch(void **save, void *to);
__asm__(".text\n.globl hip_switch\n.hidden hip_switch\n.type hip_switch,@function\nhip_switch:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size hip_switch,.-hip_switch\n");

static void hand_over(int state) {
	struct fiber *f = &fibers[running];
	f->state = state;
	hip_switch(&f->sp, scheduler);
}
static void at_block(void) { hand_over(AT_BLOCK); }
static const uint64_t *at_wave(uint64_t gives) {
	int w = running / size_of_wave;
	fibers[running].gives = gives;
	hand_over(AT_WAVE);
	return given[w];
}
static void body(void) {
	kernel(arguments);
	hand_over(ENDED);
	abort();
}
// a block runs until all of its threads have ended. It returns why it cannot go on, or 0.
static const char *run_block(int threads, unsigned *thread_index) {
	if (!stacks) stacks = mmap(0, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int t = 0; t < threads; t++) {
		void **top = (void **)(stacks + (size_t)(t + 1) * STACK) - 2;
		*top = (void *)body;
		fibers[t].sp = top - 6;
		fibers[t].state = RUNS;
	}
	for (;;) {
		int ended = 0, blocked = 0, released = 0;
		for (int t = 0; t < threads; t++)
			if (fibers[t].state == RUNS) {
				running = t;
				*thread_index = t;
				hip_switch(&scheduler, fibers[t].sp);
			}
		for (int from = 0; from < threads; from += size_of_wave) {
			int to = from + size_of_wave < threads ? from + size_of_wave : threads, waits = 0, over = 0;
			for (int t = from; t < to; t++) {
				waits += fibers[t].state == AT_WAVE;
				over += fibers[t].state == ENDED;
				blocked += fibers[t].state == AT_BLOCK;
			}
			ended += over;
			if (!waits || waits + over < to - from) continue;
			memset(given[from / size_of_wave], 0xff, sizeof given[0]);
			for (int t = from; t < to; t++)
				if (fibers[t].state == AT_WAVE) given[from / size_of_wave][t - from] = fibers[t].gives, fibers[t].state = RUNS;
			released++;
		}
		if (ended == threads) return 0;
		if (released) continue;
		if (ended + blocked < threads) return "threads of a wave wait for each other at different places";
		if (ended) return "threads wait at a barrier for others that have ended";
		for (int t = 0; t < threads; t++) fibers[t].state = RUNS;
	}
}
static int launch(struct object *f, const unsigned *dims, void **args) {
	launches++;
	if (planted("lost") && launches >= 8) return lost = LOST;
	void *library = f->module->library;
	unsigned *thread = dlsym(library, "threadIdx"), *block = dlsym(library, "blockIdx"), *grid = dlsym(library, "gridDim"), *threads = dlsym(library, "blockDim");
	*(void **)dlsym(library, "host_block") = (void *)at_block;
	*(void **)dlsym(library, "host_wave") = (void *)at_wave;
	if (dims[4] != 1 || dims[5] != 1 || dims[3] < 1 || dims[3] > THREADS || dims[6] > 65536 || !dims[0] || !dims[1] || !dims[2])
		return wrong("kernel %s: launched with %u %u %u, %u %u %u, %u", f->name, dims[0], dims[1], dims[2], dims[3], dims[4], dims[5], dims[6]);
	memcpy(grid, dims, 12), memcpy(threads, dims + 3, 12);
	kernel = f->call, arguments = args, size_of_wave = wave();
	for (block[2] = 0; block[2] < dims[2]; block[2]++)
		for (block[1] = 0; block[1] < dims[1]; block[1]++)
			for (block[0] = 0; block[0] < dims[0]; block[0]++) {
				const char *why = run_block(dims[3], thread);
				if (why) {
					wrong("kernel %s, block %u %u %u: %s", f->name, block[0], block[1], block[2], why);
					return lost = LOST;
				}
			}
	return OK;
}
int hipModuleLaunchKernel(struct object *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
	DEVICE();
	WANT(f, FUNCTION);
	WANT(stream, STREAM);
	if (extra || f->size(0) && !params) return wrong("%s: parameters of %s", __func__, f->name);
	const unsigned dims[7] = {gx, gy, gz, bx, by, bz, shared};
	int code = launch(f, dims, params);
	return code == LOST ? OK : code; // a fault is seen by what comes later
}
#include "host_graphs.h"
