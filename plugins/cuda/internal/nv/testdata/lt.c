// A libcublasLt that records calls. Settings: 0 algorithms that the heuristic finds, 1 code of cublasLtMatmul, 2 CUDA version.
#include "log.h"

static int64_t made;
size_t cublasLtGetVersion(void) { return 120903; }
size_t cublasLtGetCudartVersion(void) { return setting[2] ? setting[2] : 12090; }
const char *cublasLtGetStatusName(int code) { return code == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_OTHER"; }
const char *cublasLtGetStatusString(int code) { return "the functionality requested is not supported"; }
int cublasLtCreate(uint64_t *h) { *h = 0x1000; return 0; }
int cublasLtDestroy(uint64_t h) { return 0; }
int cublasLtMatmulDescCreate(uint64_t *d, int compute, int scale) { *d = 0x2000; made++; say("desc %d %d\n", compute, scale); return 0; }
int cublasLtMatmulDescDestroy(uint64_t d) { made--; return 0; }
static void value(const void *v, size_t n) {
	long long x = 0;
	memcpy(&x, v, n);
	say("=%lld (%zu)\n", x, n);
}
int cublasLtMatmulDescSetAttribute(uint64_t d, int attribute, const void *v, size_t n) { say("desc %d", attribute); value(v, n); return 0; }
int cublasLtMatrixLayoutCreate(uint64_t *l, int type, uint64_t rows, uint64_t cols, int64_t ld) {
	*l = 0x3000 + made++;
	say("layout type=%d %llu x %llu ld=%lld\n", type, (long long)rows, (long long)cols, (long long)ld);
	return type == 99 ? 15 : 0;
}
int cublasLtMatrixLayoutDestroy(uint64_t l) { made--; return 0; }
int cublasLtMatrixLayoutSetAttribute(uint64_t l, int attribute, const void *v, size_t n) { say("layout %d", attribute); value(v, n); return 0; }
int cublasLtMatmulPreferenceCreate(uint64_t *p) { *p = 0x4000; made++; return 0; }
int cublasLtMatmulPreferenceDestroy(uint64_t p) { made--; return 0; }
int cublasLtMatmulPreferenceSetAttribute(uint64_t p, int attribute, const void *v, size_t n) { say("pref %d", attribute); value(v, n); return 0; }
struct result { uint64_t algo[8]; size_t workspace; int state; float waves; int reserved[4]; };
int cublasLtMatmulAlgoGetHeuristic(uint64_t h, uint64_t d, uint64_t a, uint64_t b, uint64_t c, uint64_t dd, uint64_t pref, int want, struct result *r, int *got) {
	say("heuristic want=%d\n", want);
	*got = setting[0] < want ? setting[0] : want;
	for (int i = 0; i < *got; i++) {
		memset(&r[i], 0, sizeof r[i]);
		r[i].algo[0] = 0xa0 + i;
		r[i].algo[7] = 0xb0 + i;
		r[i].workspace = 1000 + i;
		r[i].state = i == 0 ? 15 : 0; // the first is one that the caller has to pass over
		r[i].waves = 0.5f;
	}
	return 0;
}
int cublasLtMatmul(uint64_t h, uint64_t desc, const float *alpha, uint64_t a, uint64_t la, uint64_t b, uint64_t lb, const float *beta, uint64_t c, uint64_t lc, uint64_t d, uint64_t ld,
	const uint64_t *algo, uint64_t workspace, size_t size, uint64_t stream) {
	if (setting[1]) return setting[1];
	say("matmul h=%llx desc=%llx alpha=%g a=%llx %llx b=%llx %llx beta=%g c=%llx %llx d=%llx %llx algo=%llx..%llx workspace=%llx %zu stream=%llx\n", (long long)h, (long long)desc, *alpha,
		(long long)a, (long long)la, (long long)b, (long long)lb, *beta, (long long)c, (long long)lc, (long long)d, (long long)ld, (long long)algo[0], (long long)algo[7],
		(long long)workspace, size, (long long)stream);
	if (setting[3]) stub_clear();
	return 0;
}
long long stub_open(void) { return made; }
