// A libcudnn with three engines for every graph. Settings: 0 engines that do not finalise, as bits; 1 numerical note of engine 0, plus 1;
// 2 code of cudnnBackendExecute; 3 engines that the heuristic of mode A names less; 4 version.
#include "log.h"
#include <stdlib.h>
#include <string.h>

struct descriptor { int kind, finalized, engine; struct descriptor *config, *engineof; };
static int64_t open_descriptors;
static char last[256];

size_t cudnnGetVersion(void) { return setting[4] ? setting[4] : 91400; }
size_t cudnnGetCudartVersion(void) { return 12090; }
const char *cudnnGetErrorString(int code) { return code == 3000 ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_OTHER"; }
void cudnnGetLastErrorString(char *text, size_t n) { snprintf(text, n, "%s", last); }
int cudnnCreate(uint64_t *h) { *h = 0x9000; return 0; }
int cudnnSetStream(uint64_t h, uint64_t s) { say("stream %llx\n", (long long)s); return 0; }
int cudnnBackendCreateDescriptor(int kind, struct descriptor **d) {
	*d = calloc(1, sizeof **d);
	(*d)->kind = kind;
	(*d)->engine = -1;
	open_descriptors++;
	return 0;
}
int cudnnBackendDestroyDescriptor(struct descriptor *d) { free(d); open_descriptors--; return 0; }
int cudnnBackendSetAttribute(struct descriptor *d, int name, int type, int64_t n, const void *v) {
	if (d->finalized) return 2000;
	say("%d.%d type %d:", d->kind, name, type);
	if (type == 24) say(" %s", (char *)v);
	for (int64_t i = 0; i < n && type != 24; i++) {
		if (type == 15) say(" <%d>", ((struct descriptor **)v)[i]->kind);
		else if (type == 3 || type == 0 || type == 6) say(" %lld", (long long)((int64_t *)v)[i]);
		else if (type == 2) say(" %s", ((char *)v)[i] ? "true" : "false");
		else if (type == 4) say(" %g", ((float *)v)[i]);
		else if (type == 5) say(" %g", ((double *)v)[i]);
		else say(" %d", ((int32_t *)v)[i]);
	}
	say("\n");
	if (d->kind == 4 && name == 200) d->engine = *(int32_t *)v; // the mode
	if (d->kind == 5 && name == 401) d->config = *(struct descriptor **)v;
	if (d->kind == 5 && name == 405) {
		static struct descriptor loaded[8];
		int engine;
		if (sscanf(v, "{\"engine\":%d}", &engine) != 1) return 2000;
		loaded[engine].engine = engine;
		d->config = &loaded[engine];
	}
	return 0;
}
int cudnnBackendFinalize(struct descriptor *d) {
	if (d->kind == 5 && (setting[0] >> d->config->engine & 1)) {
		snprintf(last, sizeof last, "engine %d does not take this", d->config->engine);
		return 3000;
	}
	d->finalized = 1;
	return 0;
}
int cudnnBackendGetAttribute(struct descriptor *d, int name, int type, int64_t want, int64_t *got, void *v) {
	if (d->kind == 4 && name == 202) {
		int64_t have = d->engine == 3 ? 3 - setting[3] : 1;
		*got = have;
		for (int64_t i = 0; i < want && i < have; i++) ((struct descriptor **)v)[i]->engine = d->engine == 3 ? i : 2;
		return 0;
	}
	if (d->kind == 3 && name == 300) { (*(struct descriptor **)v)->engine = d->engine; *got = 1; return 0; }
	if (d->kind == 2 && name == 1301) { *(int64_t *)v = 100 + d->engine; *got = 1; return 0; }
	if (d->kind == 2 && name == 1303) { *got = d->engine == 0 && setting[1]; if (*got) *(int32_t *)v = setting[1] - 1; return 0; }
	if (d->kind == 2 && name == 1305) { *got = 1; *(int32_t *)v = 3; return 0; }
	if (d->kind == 5 && name == 405) {
		char text[32];
		*got = snprintf(text, sizeof text, "{\"engine\":%d}", d->config->engine) + 1;
		if (want >= *got) memcpy(v, text, *got);
		return 0;
	}
	if (d->kind == 5 && name == 402) { *got = 1; *(int64_t *)v = 4096 * (d->config->engine + 1); return 0; }
	return 3000;
}
int cudnnBackendExecute(uint64_t h, struct descriptor *plan, struct descriptor *pack) {
	say("execute %llx engine %d pack %d\n", (long long)h, plan->config->engine, pack->finalized);
	snprintf(last, sizeof last, "the device said no");
	return setting[2];
}
int cudnnBackendPopulateCudaGraph(uint64_t h, struct descriptor *plan, struct descriptor *pack, uint64_t graph) { say("populate %llx\n", (long long)graph); return 0; }
long long stub_open(void) { return open_descriptors; }
