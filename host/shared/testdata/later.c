/*
 * A backend with everything that is optional. Its queues only note the work, and do it when a mark is waited for: the
 * slowest device that the contract allows. It has add and copy on f32; exp fails, and only when its turn comes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "burn_backend.h"

static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;

struct burn_value {
	_Atomic int users;
	uint64_t bytes;
	float *data;
	burn_loan loan;
};

enum { ADD, COPY, EXP, LOAD, STORE };

typedef struct work {
	int what;
	burn_value *a, *b, *out;
	burn_loan loan;
	void *dst;
} work;

struct burn_queue {
	work list[4096];
	uint64_t n, done;
	int failed;
};

struct burn_device {
	_Atomic int64_t live;
};

struct burn_backend {
	int unused;
};

struct burn_program {
	uint32_t n_inputs, n_consts, n_nodes, n_outputs;
	uint64_t inputs[8], consts[8], outputs[8];
	burn_value *values[8];
	struct {
		uint32_t op;
		uint64_t in[2], out, bytes;
	} nodes[16];
};

static int32_t fail(burn_error *e, int32_t code, const char *text) {
	snprintf(e->text, sizeof e->text, "%s", text);
	return code;
}

static uint64_t size_of(const burn_desc *d) {
	uint64_t n = 4;
	for (uint32_t i = 0; i < d->rank; i++) {
		n *= (uint64_t)d->dims[i];
	}
	return n;
}

static burn_value *make(uint64_t bytes) {
	burn_value *v = calloc(1, sizeof *v);
	v->users = 1;
	v->bytes = bytes;
	v->data = malloc(bytes + 1);
	return v;
}

static burn_value *use(burn_value *v) {
	v->users++;
	return v;
}

static void drop(burn_value *v) {
	if (v && --v->users == 0) {
		if (v->loan.give_back) {
			v->loan.give_back(v->loan.lender);
		} else {
			free(v->data);
		}
		free(v);
	}
}

static void note(burn_queue *q, work w) {
	pthread_mutex_lock(&all);
	q->list[q->n++] = w;
	pthread_mutex_unlock(&all);
}

/* Does the work of q up to mark. The caller holds the lock. */
static void advance(burn_queue *q, uint64_t mark) {
	while (q->done < mark) {
		work *w = &q->list[q->done++];
		switch (w->what) {
		case ADD:
			for (uint64_t i = 0; i < w->out->bytes / 4; i++) {
				w->out->data[i] = w->a->data[i] + w->b->data[i];
			}
			break;
		case COPY: memcpy(w->out->data, w->a->data, w->out->bytes); break;
		case EXP: q->failed = 1; break;
		case LOAD:
			memcpy(w->out->data, w->loan.data, w->loan.bytes);
			w->loan.give_back(w->loan.lender);
			break;
		case STORE: memcpy(w->dst, w->a->data, w->a->bytes); break;
		}
		drop(w->a), drop(w->b), drop(w->out);
	}
}

static int32_t open(const burn_config *c, burn_backend **out, burn_error *e) {
	(void)c, (void)e;
	*out = calloc(1, sizeof **out);
	return BURN_OK;
}

static void close_backend(burn_backend *b) { free(b); }

static const burn_info *info(burn_backend *b) {
	static const burn_device_info device = {BURN_HEAD(burn_device_info), "slow", "npu", 1 << 20, NULL};
	static const burn_device_info *const devices[] = {&device, &device};
	static const burn_info i = {BURN_HEAD(burn_info), "later", "0.2.0", "test", 2, devices};
	(void)b;
	return &i;
}

static int32_t open_device(burn_backend *b, uint32_t index, burn_device **out, burn_error *e) {
	(void)b;
	if (index > 1) {
		return fail(e, BURN_ERR_NOT_FOUND, "no such card");
	}
	*out = calloc(1, sizeof **out);
	return BURN_OK;
}

static void close_device(burn_device *d) { free(d); }

static const burn_capabilities *capabilities(burn_device *d) {
	static const uint32_t f32 = BURN_TYPE(BURN_F32);
	static const burn_limits narrow = {BURN_HEAD(burn_limits), 2, 0, 0, 64}, device = {BURN_HEAD(burn_limits), 4, 3, 1 << 16, 0};
	static const burn_op add = {BURN_HEAD(burn_op), "add", 1, 1, 1, &f32, &f32, &narrow}, copy = {BURN_HEAD(burn_op), "copy", 1, 1, 0, &f32, NULL, NULL},
			     exp = {BURN_HEAD(burn_op), "exp", 1, 1, 0, &f32, NULL, NULL};
	static const burn_op *const ops[] = {&add, &copy, &exp};
	static const burn_capabilities c = {BURN_HEAD(burn_capabilities), BURN_TYPE(BURN_F32) | BURN_TYPE(BURN_I64), BURN_TYPE(BURN_I64), 1, 0, &device, 3, ops};
	(void)d;
	return &c;
}

static int32_t upload(burn_device *d, const burn_desc *desc, const void *data, uint64_t bytes, burn_value **v, burn_error *e) {
	(void)d, (void)desc, (void)data, (void)bytes, (void)v;
	return fail(e, BURN_ERR_KERNEL, "upload is not used where queues have marks");
}

static int32_t download(burn_device *d, const burn_desc *desc, burn_value *v, void *dst, uint64_t bytes, burn_error *e) {
	(void)d, (void)desc, (void)v, (void)dst, (void)bytes;
	return fail(e, BURN_ERR_KERNEL, "download is not used where queues have marks");
}

static void release(burn_device *d, burn_value *v) {
	(void)d;
	drop(v);
}

static int32_t open_queue(burn_device *d, burn_queue **q, burn_error *e) {
	(void)d, (void)e;
	*q = calloc(1, sizeof **q);
	return BURN_OK;
}

static void close_queue(burn_queue *q) {
	pthread_mutex_lock(&all);
	advance(q, q->n);
	pthread_mutex_unlock(&all);
	free(q);
}

static burn_value *start(burn_queue *q, uint32_t op, burn_value *a, burn_value *b, uint64_t bytes) {
	burn_value *out = make(bytes);
	note(q, (work){.what = (int)op, .a = use(a), .b = b ? use(b) : NULL, .out = use(out)});
	return out;
}

static int32_t execute(burn_queue *q, burn_call *c, burn_error *e) {
	(void)e;
	if (c->node->op == COPY && c->owned & 1) { /* the operand itself becomes the result */
		c->out[0] = c->in[0];
		c->taken = 1;
		return BURN_OK;
	}
	c->out[0] = start(q, c->node->op, c->in[0], c->node->n_inputs > 1 ? c->in[1] : NULL, size_of(c->node->outputs[0]));
	return BURN_OK;
}

/* copy of rank 2 is not here, which the capabilities cannot say. */
static int32_t supports(burn_device *d, const burn_node *n, burn_error *e) {
	(void)d;
	return n->op == COPY && n->inputs[0]->rank == 2 ? fail(e, BURN_ERR_UNSUPPORTED, "copy of rank 2") : BURN_OK;
}

static void memory(burn_device *d, burn_memory *m) {
	(void)d;
	m->in_use = 7;
	m->reserved = 8;
}

static int32_t adopt(burn_device *d, const burn_desc *desc, const burn_loan *l, burn_value **out, burn_error *e) {
	(void)d, (void)desc, (void)e;
	burn_value *v = calloc(1, sizeof *v);
	*v = (burn_value){1, l->bytes, (float *)(uintptr_t)l->data, *l};
	*out = v;
	return BURN_OK;
}

/* Programs: inputs are added to and copied, node by node; exp is left to the host. */
static int32_t define(burn_queue *q, const burn_definition *d, burn_program **out, burn_error *e) {
	burn_program *p = calloc(1, sizeof *p);
	(void)q;
	for (uint32_t i = 0; i < d->n_nodes; i++) {
		const burn_node *n = d->nodes[i];
		if (n->op == EXP) {
			free(p);
			return fail(e, BURN_ERR_UNSUPPORTED, "exp in a program");
		}
		if (strcmp(d->name, "bad") == 0) {
			free(p);
			e->node = i + 1;
			return fail(e, BURN_ERR_OUT_OF_MEMORY, "no room for code");
		}
		p->nodes[i].op = n->op;
		for (uint32_t k = 0; k < n->n_inputs; k++) {
			p->nodes[i].in[k] = n->inputs[k]->id;
		}
		p->nodes[i].out = n->outputs[0]->id;
		p->nodes[i].bytes = size_of(n->outputs[0]);
	}
	for (uint32_t i = 0; i < d->n_inputs; i++) {
		p->inputs[i] = d->inputs[i]->id;
	}
	for (uint32_t i = 0; i < d->n_consts; i++) {
		p->consts[i] = d->consts[i]->id;
		p->values[i] = d->values[i];
		d->keep[i] = 1;
	}
	memcpy(p->outputs, d->outputs, d->n_outputs * sizeof *p->outputs);
	p->n_inputs = d->n_inputs, p->n_consts = d->n_consts, p->n_nodes = d->n_nodes, p->n_outputs = d->n_outputs;
	*out = p;
	return BURN_OK;
}

static int32_t run(burn_queue *q, burn_run *r, burn_error *e) {
	const burn_program *p = r->program;
	burn_value *at[64] = {0}; /* by id: programs of the test are small */
	(void)e;
	for (uint32_t i = 0; i < p->n_inputs; i++) {
		at[p->inputs[i]] = r->in[i];
	}
	for (uint32_t i = 0; i < p->n_consts; i++) {
		at[p->consts[i]] = p->values[i];
	}
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		at[p->nodes[i].out] = start(q, p->nodes[i].op, at[p->nodes[i].in[0]], at[p->nodes[i].in[1]], p->nodes[i].bytes);
	}
	for (uint32_t i = 0; i < p->n_outputs; i++) {
		r->out[i] = use(at[p->outputs[i]]);
	}
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		drop(at[p->nodes[i].out]);
	}
	for (uint32_t i = 0; i < p->n_inputs; i++) {
		if (r->owned[i]) {
			drop(r->in[i]);
			r->owned[i] = 0;
		}
	}
	return BURN_OK;
}

static void undefine(burn_device *d, burn_program *p) {
	(void)d;
	free(p);
}

static int32_t record(burn_queue *q, uint64_t *mark, burn_error *e) {
	(void)e;
	pthread_mutex_lock(&all);
	*mark = q->n;
	pthread_mutex_unlock(&all);
	return BURN_OK;
}

static int32_t await(burn_queue *q, burn_queue *other, uint64_t mark, burn_error *e) {
	(void)q, (void)e;
	pthread_mutex_lock(&all);
	advance(other, mark);
	pthread_mutex_unlock(&all);
	return BURN_OK;
}

static int32_t wait(burn_queue *q, uint64_t mark, burn_error *e) {
	pthread_mutex_lock(&all);
	advance(q, mark);
	int failed = q->failed;
	q->failed = 0;
	pthread_mutex_unlock(&all);
	return failed ? fail(e, BURN_ERR_KERNEL, "exp burned") : BURN_OK;
}

static int32_t enqueue(burn_queue *q, const burn_desc *desc, const burn_loan *loan, burn_value **out, burn_error *e) {
	(void)e;
	*out = make(size_of(desc));
	note(q, (work){.what = LOAD, .loan = *loan, .out = use(*out)});
	return BURN_OK;
}

static int32_t fetch(burn_queue *q, const burn_desc *desc, burn_value *v, void *dst, uint64_t bytes, burn_error *e) {
	(void)desc, (void)bytes, (void)e;
	note(q, (work){.what = STORE, .a = use(v), .dst = dst});
	return BURN_OK;
}

BURN_EXPORT const burn_api *burn_backend_main(uint32_t host_abi) {
	static const burn_api api = {BURN_HEAD(burn_api), open, close_backend, info, open_device, close_device, capabilities, upload, download,
		release, open_queue, close_queue, execute, supports, memory, adopt, NULL, define, run, undefine, record, await, wait, enqueue, fetch};
	return host_abi == BURN_ABI_VERSION ? &api : NULL;
}
