// A libMIOpen.so.1 of ROCm 6 that computes on the processor and checks all of its arguments. Faults of BURN_HIPSHIM_LIBRARY_FAULT: dnnversion,
// dnncreate, dnnattribute (no deterministic kernels), dnnnone (no solution), dnnnaive (only plain loops), dnncompile, dnnrun.
#include "library.h"

enum { HANDLE = 0x19001, TENSOR, CONV, BAD = 3, ALLOC = 4, NOT_IMPLEMENTED = 6, DIMS = 5 };
struct handle { int kind; void *stream; };
struct tensor { int kind, type, n, dims[DIMS], strides[DIMS]; };
struct conv { int kind, n, pad[3], stride[3], dilation[3], groups, deterministic; uint64_t compiled[4]; };
struct solution { float time; size_t workspace; uint64_t id; int algorithm; };
_Static_assert(sizeof(struct solution) == 32, "the layout of miopen.h");

int miopenGetVersion(size_t *major, size_t *minor, size_t *patch) { *major = planted("dnnversion") ? 1 : 3, *minor = 2, *patch = 0; return 0; }
const char *miopenGetErrorString(int code) { return code == 6 ? "miopenStatusNotImplemented" : "miopenStatusOther"; }
int miopenCreate(int **h) { if (planted("dnncreate")) return ALLOC; *h = make(HANDLE, sizeof(struct handle)); return 0; }
int miopenDestroy(int *h) { return gone(h, HANDLE) ? BAD : 0; }
int miopenSetStream(struct handle *h, void *stream) { h->stream = stream; return 0; }
int miopenCreateTensorDescriptor(int **t) { *t = make(TENSOR, sizeof(struct tensor)); return 0; }
int miopenDestroyTensorDescriptor(int *t) { return gone(t, TENSOR) ? BAD : 0; }
int miopenSetTensorDescriptor(struct tensor *t, int type, int n, const int *dims, const int *strides) {
	if (t->kind != TENSOR || n < 4 || n > DIMS || type != 0 && type != 1 && type != 5) return bad("a tensor of %d dimensions of type %d", n, type), BAD;
	t->type = type, t->n = n;
	memcpy(t->dims, dims, n * sizeof *dims), memcpy(t->strides, strides, n * sizeof *strides);
	for (int i = 0; i < n; i++)
		if (dims[i] < 1 || strides[i] < 1) return bad("dimension %d of %d elements, step %d", i, dims[i], strides[i]), BAD;
	return 0;
}
int miopenCreateConvolutionDescriptor(int **c) { *c = make(CONV, sizeof(struct conv)); return 0; }
int miopenDestroyConvolutionDescriptor(int *c) { return gone(c, CONV) ? BAD : 0; }
int miopenInitConvolutionNdDescriptor(struct conv *c, int n, const int *pad, const int *stride, const int *dilation, int mode) {
	if (c->kind != CONV || n < 2 || n > 3 || mode) return bad("a convolution of %d dimensions, mode %d", n, mode), BAD;
	c->n = n, c->groups = 1;
	memcpy(c->pad, pad, n * sizeof *pad), memcpy(c->stride, stride, n * sizeof *stride), memcpy(c->dilation, dilation, n * sizeof *dilation);
	return 0;
}
int miopenSetConvolutionGroupCount(struct conv *c, int n) { c->groups = n; return n < 1 ? BAD : 0; }
int miopenSetConvolutionAttribute(struct conv *c, int attribute, int value) {
	if (planted("dnnattribute")) return BAD;
	if (attribute != 1 || value != 1) return bad("attribute %d of a convolution is %d", attribute, value), BAD;
	c->deterministic = 1;
	return 0;
}

// work is a convolution with its operands: of image x, filter w and result y, one is the sum of products of the others.
struct work { int direction; struct tensor x, w, y; struct conv c; char *at[3], *workspace; size_t bytes; };
static enum element element(int type) { return type == 0 ? HALF : type == 1 ? FLOAT : BFLOAT; }
static size_t span(const struct tensor *t) {
	size_t last = 0;
	for (int i = 0; i < t->n; i++) last += (size_t)(t->dims[i] - 1) * t->strides[i];
	return (last + 1) * size_of(element(t->type));
}
static long offset(const struct tensor *t, int a, int b, const int *at) {
	long o = (long)a * t->strides[0] + (long)b * t->strides[1];
	for (int i = 2; i < t->n; i++) o += (long)at[i - 2] * t->strides[i];
	return o;
}
static int next(int *at, const int *dims, int n) {
	for (int i = n - 1; i >= 0; i--) {
		if (++at[i] < dims[i]) return 1;
		at[i] = 0;
	}
	return 0;
}
static int convolve(const void *args) {
	const struct work *k = args;
	const struct conv *c = &k->c;
	const struct tensor *all[3] = {&k->x, &k->w, &k->y}, *to = all[k->direction == 0 ? 2 : k->direction == 1 ? 0 : 1];
	char *const out = k->at[to == &k->y ? 2 : to == &k->x ? 0 : 1];
	enum element t = element(to->type);
	memset(k->workspace, 0xff, k->bytes);
	double *sum = calloc(span(to), sizeof *sum);
	const int per = k->y.dims[1] / c->groups;
	for (int b = 0; b < k->y.dims[0]; b++)
		for (int o = 0; o < k->y.dims[1]; o++)
			for (int i = 0; i < k->w.dims[1]; i++) {
				int y[3] = {0};
				do {
					int w[3] = {0};
					do {
						int x[3], inside = 1, channel = o / per * k->w.dims[1] + i;
						for (int d = 0; d < c->n; d++) {
							x[d] = y[d] * c->stride[d] - c->pad[d] + w[d] * c->dilation[d];
							inside &= x[d] >= 0 && x[d] < k->x.dims[2 + d];
						}
						if (!inside) continue;
						long ox = offset(&k->x, b, channel, x), ow = offset(&k->w, o, i, w), oy = offset(&k->y, b, o, y);
						switch (k->direction) {
						case 0: sum[oy] += get(k->at[0], ox, t) * get(k->at[1], ow, t); break;
						case 1: sum[ox] += get(k->at[2], oy, t) * get(k->at[1], ow, t); break;
						case 2: sum[ow] += get(k->at[0], ox, t) * get(k->at[2], oy, t); break;
						}
					} while (next(w, k->w.dims + 2, c->n));
				} while (next(y, k->y.dims + 2, c->n));
			}
	for (int a = 0; a < to->dims[0]; a++)
		for (int b = 0; b < to->dims[1]; b++) {
			int at[3] = {0};
			do put(out, offset(to, a, b, at), t, sum[offset(to, a, b, at)]); while (next(at, to->dims + 2, to->n - 2));
		}
	free(sum);
	return 0;
}
// describe checks the descriptors of a convolution; 0 is one that makes no sense.
static int describe(int direction, const struct handle *h, const struct tensor *x, const struct tensor *w, const struct tensor *y, const struct conv *c, struct work *k) {
	if (h->kind != HANDLE || x->kind != TENSOR || w->kind != TENSOR || y->kind != TENSOR || c->kind != CONV) return !bad("an object is none");
	if (x->n != c->n + 2 || w->n != x->n || y->n != x->n || w->type != x->type || y->type != x->type) return !bad("tensors of %d %d %d dimensions", x->n, w->n, y->n);
	if (x->dims[0] != y->dims[0] || w->dims[0] != y->dims[1] || w->dims[1] * c->groups != x->dims[1] || w->dims[0] % c->groups) return !bad("channels, or a batch, that do not fit");
	for (int i = 0; i < c->n; i++)
		if ((x->dims[2 + i] + 2 * c->pad[i] - (w->dims[2 + i] - 1) * c->dilation[i] - 1) / c->stride[i] + 1 != y->dims[2 + i] || c->pad[i] < 0) return !bad("dimension %d does not fit", i);
	if (direction && !c->deterministic) return !bad("a gradient that may have other bits each time");
	*k = (struct work){direction, *x, *w, *y, *c, {0}, 0, 0};
	return 1;
}
static const struct solution known[] = {{0.1f, 0, 85, 1}, {0.2f, 64, 7, 2}, {0.3f, 1000, 21, 1}, {0.4f, 5000, 34, 0}, {0.5f, 1ul << 40, 55, 0}};
enum { KNOWN = 5 };
static int list(struct work *k, size_t most, size_t *got, struct solution *s) {
	*got = planted("dnnnone") ? 0 : planted("dnnnaive") ? 1 : KNOWN;
	for (size_t i = 0; s && i < *got && i < most; i++) {
		s[i] = known[i];
		if (s[i].id == 85) s[i].id += k->direction;
	}
	return 0;
}
static int compile(struct conv *c, uint64_t id) {
	if (planted("dnncompile") && id == 21) return NOT_IMPLEMENTED;
	for (int i = 0; i < 4; i++)
		if (!c->compiled[i]) {
			c->compiled[i] = id;
			return 0;
		}
	return bad("too many solutions"), BAD;
}
static int immediate(struct handle *h, struct work *k, char *x, char *w, char *y, char *workspace, size_t bytes, uint64_t id) {
	if (planted("dnnrun")) return NOT_IMPLEMENTED;
	int compiled = 0;
	for (int i = 0; i < 4; i++) compiled |= k->c.compiled[i] == id;
	size_t need = 0;
	for (int i = 0; i < KNOWN; i++) need = known[i].id == id ? known[i].workspace : need;
	if (!compiled || bytes < need || !shim_inside(workspace, need)) return bad("solution %lu with %zu bytes of workspace", id, bytes), BAD;
	if ((uintptr_t)x % 16 || (uintptr_t)w % 16 || (uintptr_t)y % 16 || !shim_inside(x, span(&k->x)) || !shim_inside(w, span(&k->w)) || !shim_inside(y, span(&k->y)))
		return bad("operands at %p %p %p", (void *)x, (void *)w, (void *)y), BAD;
	k->at[0] = x, k->at[1] = w, k->at[2] = y, k->workspace = workspace, k->bytes = need;
	runs++;
	return shim_work(h->stream, convolve, k, sizeof *k) ? 7 : 0;
}
#define DIRECTION(name, direction, first, second, last) \
	int miopenConvolution##name##GetSolutionCount(struct handle *h, struct tensor *first, struct tensor *second, struct conv *c, struct tensor *last, size_t *n) { \
		struct work k; \
		return describe(direction, h, x, w, y, c, &k) ? list(&k, 0, n, 0) : BAD; \
	} \
	int miopenConvolution##name##GetSolution(struct handle *h, struct tensor *first, struct tensor *second, struct conv *c, struct tensor *last, size_t most, size_t *n, struct solution *s) { \
		struct work k; \
		return describe(direction, h, x, w, y, c, &k) ? list(&k, most, n, s) : BAD; \
	} \
	int miopenConvolution##name##CompileSolution(struct handle *h, struct tensor *first, struct tensor *second, struct conv *c, struct tensor *last, uint64_t id) { \
		struct work k; \
		return describe(direction, h, x, w, y, c, &k) ? compile(c, id) : BAD; \
	} \
	int miopenConvolution##name##Immediate(struct handle *h, struct tensor *first, char *at_##first, struct tensor *second, char *at_##second, struct conv *c, struct tensor *last, char *at_##last, \
		char *workspace, size_t bytes, uint64_t id) { \
		struct work k; \
		return describe(direction, h, x, w, y, c, &k) ? immediate(h, &k, at_x, at_w, at_y, workspace, bytes, id) : BAD; \
	}
DIRECTION(Forward, 0, w, x, y)
DIRECTION(BackwardData, 1, y, w, x)
DIRECTION(BackwardWeights, 2, y, x, w)
