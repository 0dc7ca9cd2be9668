// A librocblas.so.4 that computes on the processor and checks all of its arguments. Faults of BURN_HIPSHIM_LIBRARY_FAULT: blasversion, blascreate,
// blasabort (no kernels for the device), blasrun (a call is not implemented).
#include "library.h"

enum { HANDLE = 0x18001, POINTER = 3, SIZE = 4, VALUE = 11 };
struct handle { int kind, atomics; void *stream; char *workspace; size_t bytes; };

int rocblas_get_version_string(char *text, size_t size) { snprintf(text, size, "%s", planted("blasversion") ? "1.9.0.abcdef" : "4.2.1.abcdef"); return 0; }
const char *rocblas_status_to_string(int code) { return code == 2 ? "rocblas_status_not_implemented" : code == 5 ? "rocblas_status_memory_error" : "rocblas_status_other"; }
int rocblas_create_handle(struct handle **h) {
	if (planted("blascreate")) return 5;
	*h = (struct handle *)make(HANDLE, sizeof **h);
	(*h)->atomics = 1;
	return 0;
}
void rocblas_initialize(void) { if (planted("blasabort")) abort(); }
int rocblas_destroy_handle(int *h) { return gone(h, HANDLE) ? 1 : 0; }
int rocblas_set_stream(struct handle *h, void *stream) { h->stream = stream; return 0; }
int rocblas_set_atomics_mode(struct handle *h, int mode) { h->atomics = mode; return 0; }
int rocblas_set_workspace(struct handle *h, char *at, size_t bytes) { h->workspace = at, h->bytes = bytes; return 0; }

static int element(int type, enum element *to) { // of rocblas_datatype
	switch (type) {
	case 150: *to = HALF; return 1;
	case 151: *to = FLOAT; return 1;
	case 152: *to = DOUBLE; return 1;
	case 168: *to = BFLOAT; return 1;
	}
	return 0;
}
int rocblas_gemm_strided_batched_ex(struct handle *h, int trans_a, int trans_b, int m, int n, int k, const void *alpha, char *a, int a_type, int lda, int64_t step_a, char *b, int b_type,
	int ldb, int64_t step_b, const void *beta, char *c, int c_type, int ldc, int64_t step_c, char *d, int d_type, int ldd, int64_t step_d, int batch, int compute, int algo, int solution,
	unsigned flags) {
	struct product p = {.m = m, .n = n, .k = k, .batch = batch, .a = {a, 0, lda, step_a}, .b = {b, 0, ldb, step_b}, .c = {c, 0, ldc, step_c}, .d = {d, 0, ldd, step_d}};
	if (planted("blasrun")) return 2;
	enum element in;
	if (h->kind != HANDLE || h->atomics) return bad("a handle that is none, or allows atomics"), VALUE;
	if (!element(a_type, &p.a.type) || !element(b_type, &p.b.type) || !element(c_type, &p.c.type) || !element(d_type, &p.d.type) || a_type != b_type || c_type != d_type || !element(compute, &in))
		return bad("types %d %d %d %d in %d", a_type, b_type, c_type, d_type, compute), VALUE;
	if (in != (p.a.type == DOUBLE ? DOUBLE : FLOAT)) return bad("type %d computed in %d", a_type, compute), VALUE;
	if (trans_a != 111 && trans_a != 112 || trans_b != 111 && trans_b != 112 || algo || solution || flags) return bad("operations %d %d, %d %d %u", trans_a, trans_b, algo, solution, flags), VALUE;
	if (get(alpha, 0, in) != 1) return bad("alpha %g", get(alpha, 0, in)), VALUE;
	p.trans_a = trans_a == 112, p.trans_b = trans_b == 112, p.beta = get(beta, 0, in);
	p.workspace = h->workspace, p.workspace_bytes = h->bytes;
	if (!fits(&p, size_of(p.a.type))) return SIZE;
	runs++;
	return shim_work(h->stream, multiply, &p, sizeof p) ? 6 : 0;
}
