// A libhipblaslt.so.0 of ROCm 6 that computes on the processor and checks all of its arguments. Faults of BURN_HIPSHIM_LIBRARY_FAULT: ltversion,
// ltabort, ltcreate, ltnone (no algorithm), ltstate (algorithms that are marked as unusable), ltrun (a call is not supported). Built with
// LACKS, it has no hipblasLtMatmulDescSetAttribute.
#include "library.h"

enum { HANDLE = 0x17001, DESC, LAYOUT, PREF, INVALID = 3, NOT_SUPPORTED = 7 };
struct desc { int kind, compute, scale; int32_t trans_a, trans_b, bias_type; uint32_t epilogue; char *bias; };
struct layout { int kind, type; uint64_t rows, cols; int64_t ld; int32_t batch; int64_t step; };
struct pref { int kind; uint64_t workspace; };
struct algo { uint32_t magic, choice; uint64_t problem; size_t most; };
struct result { struct algo algo; size_t workspace; int state; float waves; int reserved[4]; };
_Static_assert(sizeof(struct algo) == 24 && sizeof(struct result) == 56, "the layout of hipblaslt.h");

int hipblasLtCreate(int **h) {
	if (planted("ltabort")) abort();
	if (planted("ltcreate")) return 1;
	*h = make(HANDLE, 64);
	return 0;
}
int hipblasLtDestroy(int *h) { return gone(h, HANDLE) ? INVALID : 0; }
int hipblasLtGetVersion(int *h, int *v) {
	if (!h || *h != HANDLE) return 1;
	*v = planted("ltversion") ? 300 : 1000;
	return 0;
}
int hipblasLtMatmulDescCreate(struct desc **d, int compute, int scale) {
	if (!(compute == 2 && scale == 0 || compute == 6 && scale == 0 || compute == 7 && scale == 1 || compute == 9 && scale == 10)) return bad("compute %d in %d", compute, scale), INVALID;
	*d = (struct desc *)make(DESC, sizeof **d);
	(*d)->compute = compute, (*d)->scale = scale, (*d)->trans_a = (*d)->trans_b = 111, (*d)->epilogue = 1, (*d)->bias_type = -1;
	return 0;
}
int hipblasLtMatmulDescDestroy(int *d) { return gone(d, DESC) ? INVALID : 0; }
static int set(void *to, size_t size, const void *from, size_t given) {
	if (size != given) return bad("an attribute of %zu bytes, want %zu", given, size), INVALID;
	memcpy(to, from, size);
	return 0;
}
#ifndef LACKS
int hipblasLtMatmulDescSetAttribute(struct desc *d, int attribute, const void *v, size_t n) {
	if (d->kind != DESC) return bad("no descriptor"), INVALID;
	switch (attribute) {
	case 0: return set(&d->trans_a, 4, v, n);
	case 1: return set(&d->trans_b, 4, v, n);
	case 2: return set(&d->epilogue, 4, v, n);
	case 3: return set(&d->bias, 8, v, n);
	case 4: return set(&d->bias_type, 4, v, n);
	}
	return bad("attribute %d of a product", attribute), INVALID;
}
#endif
int hipblasLtMatrixLayoutCreate(struct layout **l, int type, uint64_t rows, uint64_t cols, int64_t ld) {
	*l = (struct layout *)make(LAYOUT, sizeof **l);
	(*l)->type = type, (*l)->rows = rows, (*l)->cols = cols, (*l)->ld = ld, (*l)->batch = 1;
	return 0;
}
int hipblasLtMatrixLayoutDestroy(int *l) { return gone(l, LAYOUT) ? INVALID : 0; }
int hipblasLtMatrixLayoutSetAttribute(struct layout *l, int attribute, const void *v, size_t n) {
	if (l->kind != LAYOUT) return bad("no layout"), INVALID;
	switch (attribute) {
	case 0: return set(&l->batch, 4, v, n);
	case 1: return set(&l->step, 8, v, n);
	}
	return bad("attribute %d of a matrix", attribute), INVALID;
}
int hipblasLtMatmulPreferenceCreate(struct pref **p) { *p = (struct pref *)make(PREF, sizeof **p); return 0; }
int hipblasLtMatmulPreferenceDestroy(int *p) { return gone(p, PREF) ? INVALID : 0; }
int hipblasLtMatmulPreferenceSetAttribute(struct pref *p, int attribute, const void *v, size_t n) {
	if (p->kind != PREF) return bad("no preference"), INVALID;
	return attribute == 1 ? set(&p->workspace, 8, v, n) : (bad("attribute %d of a preference", attribute), INVALID);
}

static int element(int type, enum element *to) { // of hipDataType
	switch (type) {
	case 0: *to = FLOAT; return 1;
	case 1: *to = DOUBLE; return 1;
	case 2: *to = HALF; return 1;
	case 14: *to = BFLOAT; return 1;
	}
	return 0;
}
// describe makes a product of descriptors, without addresses; 0 is one that makes no sense.
static int describe(const int *h, const struct desc *d, const struct layout *a, const struct layout *b, const struct layout *c, const struct layout *e, struct product *p) {
	if (*h != HANDLE || d->kind != DESC || a->kind != LAYOUT || b->kind != LAYOUT || c->kind != LAYOUT || e->kind != LAYOUT) return !bad("an object is none");
	if (!element(a->type, &p->a.type) || !element(b->type, &p->b.type) || !element(c->type, &p->c.type) || !element(e->type, &p->d.type) || c->type != e->type || a->type != b->type)
		return !bad("types %d %d %d %d", a->type, b->type, c->type, e->type);
	if ((d->trans_a | 1) != 111 && d->trans_a != 112 || (d->trans_b | 1) != 111 && d->trans_b != 112) return !bad("operations %d %d", d->trans_a, d->trans_b);
	p->trans_a = d->trans_a == 112, p->trans_b = d->trans_b == 112;
	p->m = e->rows, p->n = e->cols, p->k = p->trans_a ? a->rows : a->cols, p->batch = e->batch;
	if ((long)(p->trans_a ? a->cols : a->rows) != p->m || (long)(p->trans_b ? b->rows : b->cols) != p->n || (long)(p->trans_b ? b->cols : b->rows) != p->k || c->rows != e->rows || c->cols != e->cols)
		return !bad("%lu x %lu by %lu x %lu to %lu x %lu", a->rows, a->cols, b->rows, b->cols, e->rows, e->cols);
	if (a->batch != e->batch || b->batch != e->batch || c->batch != e->batch) return !bad("batches of %d %d %d %d", a->batch, b->batch, c->batch, e->batch);
	p->a.ld = a->ld, p->b.ld = b->ld, p->c.ld = c->ld, p->d.ld = e->ld, p->a.step = a->step, p->b.step = b->step, p->c.step = c->step, p->d.step = e->step;
	switch (d->epilogue) {
	case 1: case 4: break;
	case 32: case 36: p->gelu = 1; break;
	default: return !bad("epilogue %u", d->epilogue);
	}
	if (d->epilogue & 4 && (!d->bias || !element(d->bias_type, &p->bias_type))) return !bad("a bias of type %d at %p", d->bias_type, (void *)d->bias);
	return 1;
}
static uint64_t problem(const struct product *p) { return ((p->m * 1000003 + p->n) * 1000003 + p->k) * 1000003 + p->batch * 4 + p->trans_a * 2 + p->trans_b; }
enum { MAGIC = 0x5eed, WORKSPACE = 4096 };

int hipblasLtMatmulAlgoGetHeuristic(int *h, struct desc *d, struct layout *a, struct layout *b, struct layout *c, struct layout *e, struct pref *f, int want, struct result *r, int *got) {
	struct product p = {0};
	if (!describe(h, d, a, b, c, e, &p) || f->kind != PREF || want < 1) return INVALID;
	*got = 0;
	if (p.a.type == DOUBLE) return NOT_SUPPORTED; // as in ROCm 6
	if (planted("ltnone")) return 0;
	if (f->workspace < WORKSPACE) return bad("a preference of %lu bytes", f->workspace), INVALID;
	for (; *got < want && *got < 2; ++*got)
		r[*got] = (struct result){{MAGIC, *got, problem(&p), f->workspace}, WORKSPACE, planted("ltstate") ? NOT_SUPPORTED : 0, 1, {0}};
	return 0;
}
int hipblasLtMatmul(int *h, struct desc *d, const void *alpha, char *a, struct layout *la, char *b, struct layout *lb, const void *beta, char *c, struct layout *lc, char *e, struct layout *le,
	const struct algo *algo, char *workspace, size_t bytes, void *stream) {
	struct product p = {0};
	if (!describe(h, d, la, lb, lc, le, &p)) return INVALID;
	if (planted("ltrun")) return NOT_SUPPORTED;
	enum element scale;
	if (!element(d->scale, &scale) || get(alpha, 0, scale) != 1) return bad("alpha %g", get(alpha, 0, scale)), INVALID;
	p.beta = get(beta, 0, scale);
	if (algo->magic != MAGIC || algo->problem != problem(&p) || bytes < WORKSPACE) return bad("the algorithm of another product, or %zu bytes of workspace", bytes), INVALID;
	p.a.at = a, p.b.at = b, p.c.at = c, p.d.at = e, p.workspace = workspace, p.workspace_bytes = WORKSPACE;
	if (d->epilogue & 4) {
		p.bias = d->bias;
		if ((uintptr_t)p.bias % 16 || !shim_inside(p.bias, p.m * size_of(p.bias_type))) return bad("a bias at %p", (void *)p.bias), INVALID;
	}
	if (!fits(&p, 16)) return INVALID;
	runs++;
	return shim_work(stream, multiply, &p, sizeof p) ? 5 : 0;
}
