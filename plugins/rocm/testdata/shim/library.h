// What the libraries that stand for hipBLASLt, rocBLAS and MIOpen share: they compute on the processor, in memory of the runtime of host.c.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of the runtime: whether bytes are in one allocation; work on a stream, now or in its recording, of arguments that are copied; objects that
// are alive; and a call that is wrong.
int shim_inside(const void *at, size_t bytes);
int shim_work(void *stream, int (*work)(const void *), const void *args, size_t bytes);
void shim_objects(int more);
int shim_complain(const char *text);

// planted reports whether BURN_HIPSHIM_LIBRARY_FAULT, separated by commas, names a fault.
static int planted(const char *fault) {
	const size_t n = strlen(fault);
	for (const char *f = getenv("BURN_HIPSHIM_LIBRARY_FAULT"); f; f = strchr(f, ',') ? strchr(f, ',') + 1 : 0)
		if (!strncmp(f, fault, n) && (!f[n] || f[n] == ',')) return 1;
	return 0;
}
static int bad(const char *format, ...) {
	char text[512];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	shim_complain(text);
	return 1;
}

static long runs;
long shim_runs(void) { return runs; }

// Handles and descriptors begin with the number of their kind.
static int *make(int kind, size_t bytes) {
	int *o = calloc(1, bytes);
	*o = kind;
	shim_objects(1);
	return o;
}
static int gone(int *o, int kind) {
	if (!o || *o != kind) return bad("an object of kind %d is none", kind);
	*o = 0;
	free(o);
	shim_objects(-1);
	return 0;
}

enum element { HALF, FLOAT, DOUBLE, BFLOAT };
static size_t size_of(enum element t) { return (const size_t[]){2, 4, 8, 2}[t]; }
static double get(const void *base, long at, enum element t) {
	switch (t) {
	case HALF: return ((const _Float16 *)base)[at];
	case FLOAT: return ((const float *)base)[at];
	case DOUBLE: return ((const double *)base)[at];
	case BFLOAT: break;
	}
	uint32_t bits = (uint32_t)((const uint16_t *)base)[at] << 16;
	float f;
	memcpy(&f, &bits, 4);
	return f;
}
static void put(void *base, long at, enum element t, double v) {
	switch (t) {
	case HALF: ((_Float16 *)base)[at] = (_Float16)v; return;
	case FLOAT: ((float *)base)[at] = (float)v; return;
	case DOUBLE: ((double *)base)[at] = v; return;
	case BFLOAT: break;
	}
	float f = (float)v;
	uint32_t bits;
	memcpy(&bits, &f, 4);
	if (f != f) bits |= 1u << 22; // NaN stays NaN
	else bits += 0x7fff + (bits >> 16 & 1);
	((uint16_t *)base)[at] = (uint16_t)(bits >> 16);
}

// matrix is a column-major matrix, one of a batch.
struct matrix { char *at; enum element type; long ld, step; };
// product is d = act(op(a) op(b) + beta c + bias), d of m rows and n columns.
struct product {
	long m, n, k, batch;
	int trans_a, trans_b, gelu;
	double beta;
	struct matrix a, b, c, d;
	const char *bias;
	enum element bias_type;
	char *workspace;
	size_t workspace_bytes;
};
static double with_tanh(double x) {
	double t = 0.7978845608028654 * (x + 0.044715 * x * x * x), e = __builtin_exp(-2 * __builtin_fabs(t)), h = (1 - e) / (1 + e);
	return x / 2 * (1 + (t < 0 ? -h : h));
}
static int multiply(const void *args) {
	const struct product *p = args;
	memset(p->workspace, 0xff, p->workspace_bytes);
	for (long i = 0; i < p->batch; i++)
		for (long c = 0; c < p->n; c++)
			for (long r = 0; r < p->m; r++) {
				double s = 0;
				for (long k = 0; k < p->k; k++)
					s += get(p->a.at, i * p->a.step + (p->trans_a ? r * p->a.ld + k : k * p->a.ld + r), p->a.type) *
						get(p->b.at, i * p->b.step + (p->trans_b ? k * p->b.ld + c : c * p->b.ld + k), p->b.type);
				if (p->beta) s += p->beta * get(p->c.at, i * p->c.step + c * p->c.ld + r, p->c.type);
				if (p->bias) s += get(p->bias, r, p->bias_type);
				put(p->d.at, i * p->d.step + c * p->d.ld + r, p->d.type, p->gelu ? with_tanh(s) : s);
			}
	return 0;
}
// spans checks that a matrix of that many rows and columns is in memory, with lines that do not overlap.
static int spans(const char *what, const struct matrix *x, long rows, long cols, long batch, size_t align) {
	if (x->ld < rows || rows < 1 || cols < 1 || batch < 1 || x->step < 0) return bad("%s: %ld x %ld, lines of %ld, %ld times in steps of %ld", what, rows, cols, x->ld, batch, x->step);
	if ((uintptr_t)x->at % align) return bad("%s: at %p", what, (void *)x->at);
	if (!shim_inside(x->at, ((batch - 1) * x->step + (cols - 1) * x->ld + rows) * size_of(x->type))) return bad("%s: outside of memory", what);
	return 0;
}
static int fits(const struct product *p, size_t align) {
	if (spans("A", &p->a, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->batch, align) || spans("B", &p->b, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->batch, align) ||
		spans("D", &p->d, p->m, p->n, p->batch, align) || (p->beta && spans("C", &p->c, p->m, p->n, p->batch, align))) return 0;
	if (p->d.step < p->m && p->batch > 1) return !bad("results of a batch overlap");
	if (!p->workspace_bytes || (uintptr_t)p->workspace % 16 || !shim_inside(p->workspace, p->workspace_bytes)) return !bad("%zu bytes of workspace at %p", p->workspace_bytes, (void *)p->workspace);
	return 1;
}
