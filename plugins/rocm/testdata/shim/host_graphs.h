// Graphs of the runtime without a GPU, a part of host.c. A node has copies of its parameters and is added behind those that it depends
// on. A launch executes the nodes in that order.
struct kernel_params { unsigned block[3]; void **extra; struct object *function; unsigned grid[3]; void **params; unsigned shared; };
struct set_params { char *dst; unsigned width; size_t height, pitch; unsigned value; size_t count; };
int hipGraphCreate(struct object **g, unsigned flags) { DEVICE(); *g = make(GRAPH); return flags ? wrong("flags %u", flags) : OK; }
static void forget(struct object *n) {
	for (int i = 0; n->args && n->args[i]; i++) free(n->args[i]);
	free(n->args);
	n->args = 0;
}
static int destroy(struct object *g) {
	for (int i = 0; i < g->count; i++) {
		forget(g->nodes[i]);
		if (g->nodes[i]->what == 4) destroy(g->nodes[i]->of);
		gone(g->nodes[i]);
	}
	gone(g);
	return OK;
}
int hipGraphDestroy(struct object *g) { DEVICE(); WANT(g, GRAPH); return destroy(g); }
int hipGraphExecDestroy(struct object *g) { DEVICE(); WANT(g, EXEC); return destroy(g); }
static struct object *append(struct object *g, int what) {
	struct object *n = make(NODE);
	g->nodes = realloc(g->nodes, (g->count + 1) * sizeof *g->nodes);
	g->nodes[g->count++] = n;
	n->what = what;
	return n;
}
static int add(struct object **n, struct object *g, struct object **deps, size_t count, int what) {
	WANT(g, GRAPH);
	for (size_t i = 0; i < count; i++) {
		int found = 0;
		for (int k = 0; k < g->count; k++) found |= g->nodes[k] == deps[i];
		if (!found) return wrong("dependency %zu is no node of the graph", i);
	}
	*n = append(g, what);
	return OK;
}
static int set_kernel(struct object *n, const struct kernel_params *p) {
	WANT(p->function, FUNCTION);
	if (p->extra) return wrong("extra parameters");
	forget(n);
	n->module = p->function;
	memcpy(n->dims, p->grid, 12), memcpy(n->dims + 3, p->block, 12);
	n->dims[6] = p->shared;
	int count = 0;
	while (p->function->size(count)) count++;
	n->args = calloc(count + 1, sizeof *n->args);
	for (int i = 0; i < count; i++) {
		int bytes = p->function->size(i);
		n->args[i] = memcpy(aligned_alloc(16, (bytes + 15) / 16 * 16), p->params[i], bytes);
	}
	return OK;
}
static int set_copy(struct object *n, char *d, char *s, size_t bytes, int kind) {
	if (kind != 3) return wrong("a copy of kind %d", kind);
	n->dst = d, n->src = s, n->bytes = bytes;
	return OK;
}
static int set_fill(struct object *n, const struct set_params *p) {
	if (p->height != 1 || p->width != 1 && p->width != 2 && p->width != 4) return wrong("a fill of height %zu and width %u", p->height, p->width);
	n->dst = p->dst, n->value = p->value, n->width = p->width, n->bytes = p->count;
	return OK;
}
static int set_work(struct object *n, int (*work)(const void *), const void *args, size_t bytes);
static void duplicate(struct object *to, const struct object *from) {
	for (int i = 0; i < from->count; i++) {
		struct object *f = from->nodes[i], *n = append(to, f->what);
		n->original = f;
		n->dst = f->dst, n->src = f->src, n->bytes = f->bytes, n->value = f->value, n->width = f->width;
		if (f->what == 1) {
			struct kernel_params p = {.function = f->module, .params = f->args, .shared = f->dims[6]};
			memcpy(p.grid, f->dims, 12), memcpy(p.block, f->dims + 3, 12);
			set_kernel(n, &p);
		}
		if (f->what == 5) set_work(n, f->work, f->args[0], f->bytes);
		if (f->what == 4) duplicate(n->of = make(GRAPH), f->of);
	}
}
int hipGraphAddKernelNode(struct object **n, struct object *g, struct object **deps, size_t count, const struct kernel_params *p) {
	DEVICE();
	int code = add(n, g, deps, count, 1);
	return code ? code : set_kernel(*n, p);
}
int hipGraphAddMemcpyNode1D(struct object **n, struct object *g, struct object **deps, size_t count, char *d, char *s, size_t bytes, int kind) {
	DEVICE();
	int code = add(n, g, deps, count, 2);
	return code ? code : set_copy(*n, d, s, bytes, kind);
}
int hipGraphAddMemsetNode(struct object **n, struct object *g, struct object **deps, size_t count, const struct set_params *p) {
	DEVICE();
	int code = add(n, g, deps, count, 3);
	return code ? code : set_fill(*n, p);
}
int hipGraphAddChildGraphNode(struct object **n, struct object *g, struct object **deps, size_t count, struct object *child) {
	DEVICE();
	WANT(child, GRAPH);
	int code = add(n, g, deps, count, 4);
	if (!code) duplicate((*n)->of = make(GRAPH), child);
	return code;
}
int hipGraphInstantiateWithFlags(struct object **e, struct object *g, unsigned long long flags) {
	DEVICE();
	WANT(g, GRAPH);
	duplicate(*e = make(EXEC), g);
	return flags ? wrong("flags %llu", flags) : OK;
}
static struct object *node(struct object *e, struct object *n, int what) {
	if (!is(e, EXEC)) return 0;
	for (int i = 0; i < e->count; i++)
		if (e->nodes[i]->original == n && e->nodes[i]->what == what) return e->nodes[i];
	return 0;
}
#define CHANGE(what) DEVICE(); n = node(e, n, what); if (!n) return wrong("%s: no such node", __func__)
int hipGraphExecKernelNodeSetParams(struct object *e, struct object *n, const struct kernel_params *p) { CHANGE(1); return set_kernel(n, p); }
int hipGraphExecMemcpyNodeSetParams1D(struct object *e, struct object *n, char *d, char *s, size_t bytes, int kind) { CHANGE(2); return set_copy(n, d, s, bytes, kind); }
int hipGraphExecMemsetNodeSetParams(struct object *e, struct object *n, const struct set_params *p) { CHANGE(3); return set_fill(n, p); }
int hipGraphExecChildGraphNodeSetParams(struct object *e, struct object *n, struct object *child) {
	CHANGE(4);
	WANT(child, GRAPH);
	destroy(n->of);
	duplicate(n->of = make(GRAPH), child);
	return OK;
}
static int run(struct object *g) {
	int code = OK;
	for (int i = 0; i < g->count && !code; i++) {
		struct object *n = g->nodes[i];
		switch (n->what) {
		case 1: code = is(n->module, FUNCTION) ? launch(n->module, n->dims, n->args) : wrong("a graph with a kernel that was unloaded"); break;
		case 2: code = copy(n->dst, n->src, n->bytes); break;
		case 3: code = fill(n->dst, n->value, n->width, n->bytes); break;
		case 4: code = run(n->of); break;
		case 5: code = n->work(n->args[0]); break;
		}
	}
	return code;
}
int hipGraphLaunch(struct object *e, struct object *s) {
	DEVICE();
	WANT(e, EXEC);
	WANT(s, STREAM);
	int code = run(e);
	return code == LOST ? OK : code;
}
// Recordings, and what libraries of testdata/shim ask of the runtime.
static int set_work(struct object *n, int (*work)(const void *), const void *args, size_t bytes) {
	n->work = work, n->bytes = bytes;
	n->args = calloc(2, sizeof *n->args);
	n->args[0] = memcpy(malloc(bytes), args, bytes);
	return OK;
}
int hipStreamBeginCapture(struct object *s, int mode) {
	DEVICE();
	WANT(s, STREAM);
	if (mode != 1 || s->records) return wrong("a recording of mode %d on a stream that records %p", mode, (void *)s->records);
	s->records = make(GRAPH);
	return OK;
}
int hipStreamEndCapture(struct object *s, struct object **g) {
	DEVICE();
	WANT(s, STREAM);
	if (!s->records) return wrong("no recording");
	*g = s->records;
	s->records = 0;
	return OK;
}
int shim_work(void *stream, int (*work)(const void *), const void *args, size_t bytes) {
	DEVICE();
	WANT(stream, STREAM);
	struct object *s = stream;
	return s->records ? set_work(append(s->records, 5), work, args, bytes) : work(args);
}
int shim_inside(const void *at, size_t bytes) { DEVICE(); return !bytes || within(at, bytes, BLOCK); }
void shim_objects(int more) { alive += more; }
int shim_complain(const char *text) { return wrong("%s", text); }
