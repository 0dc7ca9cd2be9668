// A libnccl that records calls.
#include "log.h"

int ncclGetVersion(int *v) { *v = 22803; return 0; }
const char *ncclGetErrorString(int code) { return "unhandled cuda error"; }
const char *ncclGetLastError(uint64_t comm) { return "the link is down"; }
int ncclCommInitAll(uint64_t *comms, int n, const int *devices) {
	for (int i = 0; i < n; i++) { say("device %d\n", devices[i]); comms[i] = 0xd0 + i; }
	return 0;
}
int ncclCommGetAsyncError(uint64_t comm, int *code) { *code = comm == 0xd0 ? 0 : comm == 0xd1 ? 7 : 1; return 0; }
int ncclAllReduce(uint64_t s, uint64_t d, size_t n, int type, int op, uint64_t comm, uint64_t stream) { say("all-reduce %llx %llx %zu %d %d %llx %llx\n", (long long)s, (long long)d, n, type, op, (long long)comm, (long long)stream); return 0; }
int ncclAllGather(uint64_t s, uint64_t d, size_t n, int type, uint64_t comm, uint64_t stream) { say("all-gather %llx %llx %zu %d %llx %llx\n", (long long)s, (long long)d, n, type, (long long)comm, (long long)stream); return 0; }
int ncclReduceScatter(uint64_t s, uint64_t d, size_t n, int type, int op, uint64_t comm, uint64_t stream) { say("reduce-scatter %llx %llx %zu %d %d %llx %llx\n", (long long)s, (long long)d, n, type, op, (long long)comm, (long long)stream); return 0; }
int ncclBroadcast(uint64_t s, uint64_t d, size_t n, int type, int root, uint64_t comm, uint64_t stream) { say("broadcast %llx %llx %zu %d %d %llx %llx\n", (long long)s, (long long)d, n, type, root, (long long)comm, (long long)stream); return 0; }
