package main

// kernels is the CUDA C++ text of the kernels of the checks. It includes no header.
const kernels = `
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* z, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) z[i] = a * x[i] + y[i];
}
extern "C" __global__ void mixed(unsigned char a, short b, int c, long long d, float e, double f, double* out) {
	out[0] = a; out[1] = b; out[2] = c; out[3] = (double)d; out[4] = e; out[5] = f;
}
struct wide { int n[12]; double d; };
extern "C" __global__ void by_value(wide w, double* out) {
	double s = w.d;
	for (int i = 0; i < 12; i++) s += w.n[i];
	*out = s;
}
extern "C" __global__ void reverse(const int* x, int* y, int n) {
	extern __shared__ int buffer[];
	for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = x[i];
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = buffer[n - 1 - i];
}
extern "C" __global__ void cluster_size(unsigned* out) {
	unsigned n = 1, r = 0;
#if __CUDA_ARCH__ >= 900
	asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
#endif
	if (threadIdx.x == 0) out[blockIdx.x] = n * 100 + r;
}
extern "C" __global__ void add_one(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
extern "C" __global__ void after(int* x, int* y) {
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
	y[threadIdx.x] = x[threadIdx.x] * 2;
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void spin(long long cycles) {
	long long start = clock64();
	while (clock64() - start < cycles) {}
}
extern "C" __global__ void bad(int* p) { *p = 1; }
__device__ int counter = 7;
extern "C" __global__ void copy4(const int4* x, int4* y, long long n) {
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) y[i] = x[i];
}
`
