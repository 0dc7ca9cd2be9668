/*
 * A backend made of a table of kernels, for hardware that computes at once: this header implements everything of
 * burn_backend.h but the kernels. It keeps the tensors of a stream by id, spreads poison, counts memory and reports errors
 * as the contract says. Include it in one C file, write kernels, and end the file with
 *
 *     BURN_KERNELS_MAIN("name", "0.1.0", "vendor", types, rows)
 *
 * where rows is an array of burn_kernel_row and types the set of element types that tensors may have.
 */
#ifndef BURN_KERNELS_H
#define BURN_KERNELS_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "burn_backend.h"

#if defined(__GNUC__)
#define BURN_UNUSED __attribute__((unused))
#else
#define BURN_UNUSED
#endif

/* A failure that tensors share. */
typedef struct burn_poison {
	int64_t users;
	burn_error error;
} burn_poison;

/* A tensor of a stream. data holds bytes bytes in row-major order and is never NULL in a kernel, also when count is 0. */
typedef struct burn_tensor {
	burn_desc desc;
	int64_t count;
	uint64_t bytes;
	void *data;
	burn_poison *poison;
} burn_tensor;

/*
 * Computes one node: reads in, fills every byte of out. It returns BURN_OK, or burn_fail(...). Kernels of different streams
 * run at once, so they keep nothing in static variables.
 */
typedef int32_t (*burn_kernel)(const burn_node *node, const burn_tensor *const *in, burn_tensor *const *out, burn_error *error);

/* A claim and its kernel. types are those of the first operand, or of the result where there is none. */
typedef struct burn_kernel_row {
	const char *name;
	uint32_t version;
	uint32_t types;
	burn_kernel run;
} burn_kernel_row;

/* Sets the error and gives its code back: return burn_fail(error, BURN_ERR_INDEX, "index %d, want ...", i). */
static BURN_UNUSED int32_t burn_fail(burn_error *error, int32_t code, const char *format, ...) {
	va_list args;
	error->code = code;
	va_start(args, format);
	vsnprintf(error->text, sizeof error->text, format, args);
	va_end(args);
	return code;
}

/* Bytes of one element of a type, 0 for an unknown one. */
static BURN_UNUSED uint64_t burn_size_of(uint32_t dtype) {
	static const uint8_t sizes[] = {0, 8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1};
	return dtype < sizeof sizes ? sizes[dtype] : 0;
}

/* Number of elements of a shape, -1 when it is too large to be stored. */
static BURN_UNUSED int64_t burn_count(const burn_desc *d) {
	int64_t n = 1;
	int empty = 0;
	for (uint32_t i = 0; i < d->rank; i++) {
		if (d->dims[i] == 0) {
			empty = 1;
		} else if (n > (INT64_MAX >> 4) / d->dims[i]) {
			n = -1;
			break;
		} else {
			n *= d->dims[i];
		}
	}
	return empty ? 0 : n;
}

/* Attributes by name. A checked node has all of its row. */
static BURN_UNUSED const burn_attr *burn_find(const burn_node *node, const char *name) {
	for (uint32_t i = 0; i < node->n_attrs; i++) {
		if (strcmp(node->attrs[i]->name, name) == 0) {
			return node->attrs[i];
		}
	}
	return NULL;
}

static BURN_UNUSED int64_t burn_int(const burn_node *node, const char *name) {
	const burn_attr *a = burn_find(node, name);
	return a ? a->i : 0;
}

static BURN_UNUSED int burn_flag(const burn_node *node, const char *name) { return burn_int(node, name) != 0; }

static BURN_UNUSED const int64_t *burn_ints(const burn_node *node, const char *name, uint64_t *count) {
	const burn_attr *a = burn_find(node, name);
	if (count) {
		*count = a ? a->count : 0;
	}
	return a ? a->ints : NULL;
}

static BURN_UNUSED const char *burn_text(const burn_node *node, const char *name) {
	const burn_attr *a = burn_find(node, name);
	return a && a->text ? a->text : "";
}

/* The rest is the stream. */

typedef struct burn_slot {
	uint64_t id; /* 0: free */
	burn_tensor *tensor;
} burn_slot;

struct burn_stream {
	const burn_kernel_row *rows;
	uint64_t n_rows;
	burn_slot *slots; /* open addressing; the number of slots is a power of two, and at most half of them are taken */
	uint64_t n_slots, used;
	uint64_t generation;
	int failed; /* failure is to be told by the next sync */
	burn_error failure;
	_Atomic int64_t in_use, tensors;
};

struct burn_backend {
	burn_capabilities capabilities;
	burn_op *ops;
	const burn_op **op_list;
	const burn_kernel_row *rows;
	uint32_t threads;
};

/* Where id is, or would be. */
static uint64_t burn_place(const burn_stream *s, uint64_t id) {
	uint64_t mask = s->n_slots - 1, i = (id * 0x9E3779B97F4A7C15u) >> 20 & mask;
	while (s->slots[i].id != 0 && s->slots[i].id != id) {
		i = (i + 1) & mask;
	}
	return i;
}

static burn_tensor *burn_lookup(const burn_stream *s, uint64_t id) {
	return s->n_slots == 0 || id == 0 ? NULL : s->slots[burn_place(s, id)].tensor;
}

static int32_t burn_missing(const burn_stream *s, uint64_t id) {
	return id >> 48 < s->generation ? BURN_ERR_STALE : BURN_ERR_UNKNOWN_TENSOR;
}

static void burn_release_poison(burn_poison *p) {
	if (p && --p->users == 0) {
		free(p);
	}
}

static void burn_release_tensor(burn_stream *s, burn_tensor *t) {
	if (t->data) {
		atomic_fetch_sub(&s->in_use, (int64_t)t->bytes);
	}
	atomic_fetch_sub(&s->tensors, 1);
	free(t->data);
	burn_release_poison(t->poison);
	free(t);
}

/* Takes id out; 0 when it is not there. */
static int burn_remove(burn_stream *s, uint64_t id) {
	if (!burn_lookup(s, id)) {
		return 0;
	}
	uint64_t mask = s->n_slots - 1, hole = burn_place(s, id);
	burn_release_tensor(s, s->slots[hole].tensor);
	/* What follows without a gap moves up, if the hole lies between its own place and where it is. */
	for (uint64_t i = (hole + 1) & mask; s->slots[i].id != 0; i = (i + 1) & mask) {
		uint64_t home = (s->slots[i].id * 0x9E3779B97F4A7C15u) >> 20 & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			s->slots[hole] = s->slots[i];
			hole = i;
		}
	}
	s->slots[hole].id = 0;
	s->slots[hole].tensor = NULL;
	s->used--;
	return 1;
}

static void burn_remember(burn_stream *s, const burn_error *e) {
	if (!s->failed) {
		s->failed = 1;
		s->failure = *e;
	}
}

static int burn_grow(burn_stream *s) {
	uint64_t old = s->n_slots, n = old == 0 ? 64 : 2 * old;
	burn_slot *from = s->slots, *to = calloc(n, sizeof *to);
	if (!to) {
		return 0;
	}
	s->slots = to;
	s->n_slots = n;
	for (uint64_t i = 0; i < old; i++) {
		if (from[i].id != 0) {
			to[burn_place(s, from[i].id)] = from[i];
		}
	}
	free(from);
	return 1;
}

/* Puts t in the table. An id that is there already is a fault of the host; the new tensor takes its place. */
static int32_t burn_define(burn_stream *s, burn_tensor *t, burn_error *error) {
	uint64_t id = t->desc.id;
	if (2 * (s->used + 1) > s->n_slots && !burn_grow(s)) {
		return burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "table of tensors");
	}
	if (burn_remove(s, id)) {
		burn_error twice = {.code = BURN_ERR_PROTOCOL, .text = "a tensor id is defined twice"};
		burn_remember(s, &twice);
	}
	if (id >> 48 > s->generation) {
		s->generation = id >> 48;
	}
	uint64_t i = burn_place(s, id);
	s->slots[i].id = id;
	s->slots[i].tensor = t;
	s->used++;
	return BURN_OK;
}

/* A tensor with room for its elements, not yet in the table. */
static int32_t burn_make(burn_stream *s, const burn_desc *d, int room, burn_tensor **out, burn_error *error) {
	uint64_t size = burn_size_of(d->dtype);
	int64_t count = burn_count(d);
	if (size == 0) {
		return burn_fail(error, BURN_ERR_DTYPE, "element type %u", d->dtype);
	}
	if (count < 0 || d->rank > BURN_MAX_RANK) {
		return burn_fail(error, BURN_ERR_SHAPE, "the tensor is too large");
	}
	burn_tensor *t = calloc(1, sizeof *t);
	void *data = room && t ? malloc(count ? (size_t)count * size : 1) : NULL;
	if (!t || (room && !data)) {
		free(t);
		return burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "tensor of %llu bytes", (unsigned long long)count * size);
	}
	t->desc = *d;
	t->count = count;
	t->bytes = (uint64_t)count * size;
	t->data = data;
	if (room) {
		atomic_fetch_add(&s->in_use, (int64_t)t->bytes);
	}
	atomic_fetch_add(&s->tensors, 1);
	*out = t;
	return BURN_OK;
}

/* Runs one node whose inputs are there: outputs in out, or an error. */
static int32_t burn_compute(burn_stream *s, const burn_node *n, const burn_tensor **in, burn_tensor **out, burn_error *error) {
	if (n->op >= s->n_rows) {
		return burn_fail(error, BURN_ERR_UNSUPPORTED, "op number %u", n->op);
	}
	int32_t code = BURN_OK;
	uint32_t made = 0;
	for (; made < n->n_outputs && code == BURN_OK; made += code == BURN_OK) {
		code = burn_make(s, n->outputs[made], 1, &out[made], error);
	}
	if (code == BURN_OK) {
		code = s->rows[n->op].run(n, in, out, error);
		error->code = code;
	}
	if (code != BURN_OK) {
		while (made > 0) {
			burn_release_tensor(s, out[--made]);
		}
	}
	return code;
}

/* Runs one node and defines its outputs, poisoned when it fails. */
static int32_t burn_execute(burn_stream *s, const burn_node *n, burn_error *error) {
	const burn_tensor *few_in[16], **in = few_in;
	burn_tensor *few_out[4], **out = few_out;
	burn_poison *poison = NULL;
	burn_error e = {.size = sizeof e, .abi = BURN_ABI_VERSION};
	if (n->n_inputs > 16) {
		in = malloc(n->n_inputs * sizeof *in);
	}
	if (n->n_outputs > 4) {
		out = malloc(n->n_outputs * sizeof *out);
	}
	if (!in || !out) {
		burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "operands");
		goto done;
	}
	for (uint32_t i = 0; i < n->n_inputs && !poison; i++) {
		in[i] = burn_lookup(s, n->inputs[i]);
		if (!in[i]) {
			burn_fail(&e, burn_missing(s, n->inputs[i]), "input %llu", (unsigned long long)(n->inputs[i] << 16 >> 16));
		} else if (in[i]->poison) {
			poison = in[i]->poison;
			poison->users++;
		}
	}
	if (!poison && (e.code != BURN_OK || burn_compute(s, n, in, out, &e) != BURN_OK)) {
		e.op = n->op;
		e.n_outputs = n->n_outputs < BURN_ERROR_OUTPUTS ? n->n_outputs : BURN_ERROR_OUTPUTS;
		for (uint32_t i = 0; i < e.n_outputs; i++) {
			e.outputs[i] = *n->outputs[i];
		}
		burn_remember(s, &e);
		poison = calloc(1, sizeof *poison);
		if (!poison) { /* nothing can be made any more */
			*error = e;
			goto done;
		}
		poison->users = 1;
		poison->error = e;
	}
	for (uint32_t i = 0; i < n->n_inputs && i < 64; i++) {
		if (n->drop >> i & 1) {
			burn_remove(s, n->inputs[i]);
		}
	}
	for (uint32_t i = 0; i < n->n_outputs; i++) {
		if (poison) {
			if (burn_make(s, n->outputs[i], 0, &out[i], error) != BURN_OK) {
				break;
			}
			out[i]->poison = poison;
			poison->users++;
		}
		if (burn_define(s, out[i], error) != BURN_OK) {
			burn_release_tensor(s, out[i]);
		}
	}
	burn_release_poison(poison);
done:
	if (in != few_in) {
		free(in);
	}
	if (out != few_out) {
		free(out);
	}
	return error->code;
}

static int32_t burn_submit(burn_stream *s, const burn_node *const *nodes, uint64_t n, burn_error *error) {
	for (uint64_t i = 0; i < n; i++) {
		if (burn_execute(s, nodes[i], error) != BURN_OK) {
			burn_remember(s, error); /* earlier nodes were accepted: the next sync tells */
			error->code = BURN_OK;
		}
	}
	return BURN_OK;
}

static int32_t burn_free_tensors(burn_stream *s, const uint64_t *ids, uint64_t n, burn_error *error) {
	for (uint64_t i = 0; i < n; i++) {
		if (!burn_remove(s, ids[i])) {
			burn_fail(error, burn_missing(s, ids[i]), "free %llu", (unsigned long long)(ids[i] << 16 >> 16));
			burn_remember(s, error);
		}
	}
	error->code = BURN_OK;
	return BURN_OK;
}

static int32_t burn_write(burn_stream *s, const burn_desc *d, const void *data, uint64_t bytes, burn_error *error) {
	burn_tensor *t;
	int32_t code = burn_make(s, d, 1, &t, error);
	if (code != BURN_OK) {
		return code;
	}
	if (bytes != t->bytes) {
		code = burn_fail(error, BURN_ERR_SHAPE, "%llu bytes, want %llu", (unsigned long long)bytes, (unsigned long long)t->bytes);
	} else if (d->dtype == BURN_BOOL) {
		for (uint64_t i = 0; i < bytes; i++) {
			((uint8_t *)t->data)[i] = ((const uint8_t *)data)[i] != 0;
		}
	} else if (bytes > 0) {
		memcpy(t->data, data, bytes);
	}
	if (code == BURN_OK) {
		code = burn_define(s, t, error);
	}
	if (code != BURN_OK) {
		burn_release_tensor(s, t);
	}
	return code;
}

static int32_t burn_read(burn_stream *s, uint64_t id, void *dst, uint64_t bytes, burn_error *error) {
	const burn_tensor *t = burn_lookup(s, id);
	if (!t) {
		return burn_fail(error, burn_missing(s, id), "read %llu", (unsigned long long)(id << 16 >> 16));
	}
	if (t->poison) {
		*error = t->poison->error;
		return error->code;
	}
	if (bytes != t->bytes) {
		return burn_fail(error, BURN_ERR_SHAPE, "room for %llu bytes, want %llu", (unsigned long long)bytes, (unsigned long long)t->bytes);
	}
	if (bytes > 0) {
		memcpy(dst, t->data, bytes);
	}
	return BURN_OK;
}

static int32_t burn_sync(burn_stream *s, burn_error *error) {
	if (!s->failed) {
		return BURN_OK;
	}
	s->failed = 0;
	*error = s->failure;
	return error->code;
}

static int32_t burn_memory_of(burn_stream *s, burn_memory *m) {
	m->in_use = atomic_load(&s->in_use);
	m->reserved = m->in_use;
	m->tensors = atomic_load(&s->tensors);
	return BURN_OK;
}

static void burn_close_stream(burn_stream *s) {
	for (uint64_t i = 0; i < s->n_slots; i++) {
		if (s->slots[i].id != 0) {
			burn_release_tensor(s, s->slots[i].tensor);
		}
	}
	free(s->slots);
	free(s);
}

static int32_t burn_open_stream(burn_backend *b, uint32_t device, burn_stream **out, burn_error *error) {
	if (device != 0) {
		return burn_fail(error, BURN_ERR_NOT_FOUND, "device %u, want 0", device);
	}
	burn_stream *s = calloc(1, sizeof *s);
	if (!s) {
		return burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "stream");
	}
	s->rows = b->rows;
	s->n_rows = b->capabilities.n_ops;
	*out = s;
	return BURN_OK;
}

static void burn_close(burn_backend *b) {
	free(b->ops);
	free(b->op_list);
	free(b);
}

static int32_t burn_open_table(const burn_config *c, const burn_kernel_row *rows, uint64_t n, uint32_t types, burn_backend **out,
	burn_error *error) {
	burn_backend *b = calloc(1, sizeof *b);
	if (b) {
		b->ops = calloc(n, sizeof *b->ops);
		b->op_list = calloc(n, sizeof *b->op_list);
	}
	if (!b || !b->ops || !b->op_list) {
		if (b) {
			burn_close(b);
		}
		return burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "backend");
	}
	for (uint64_t i = 0; i < n; i++) {
		b->ops[i] = (burn_op){BURN_HEAD(burn_op), rows[i].name, rows[i].version, rows[i].types & types};
		b->op_list[i] = &b->ops[i];
	}
	b->rows = rows;
	b->threads = c->threads;
	b->capabilities = (burn_capabilities){BURN_HEAD(burn_capabilities), .types = types, .max_rank = BURN_MAX_RANK,
		.deterministic = 1, .n_ops = n, .ops = b->op_list};
	*out = b;
	return BURN_OK;
}

static const burn_capabilities *burn_capabilities_of(burn_backend *b) { return &b->capabilities; }

/* Ends a backend of kernels: one device, of kind cpu. */
#define BURN_KERNELS_MAIN(NAME, VERSION, VENDOR, TYPES, ROWS)                                                                 \
	static int32_t burn_open_this(const burn_config *c, burn_backend **out, burn_error *e) {                              \
		return burn_open_table(c, ROWS, sizeof ROWS / sizeof ROWS[0], TYPES, out, e);                                 \
	}                                                                                                                     \
	static const burn_info *burn_info_of(burn_backend *b) {                                                               \
		static const burn_device device = {BURN_HEAD(burn_device), "host memory", "cpu", 0, "kernels in C"};          \
		static const burn_device *const devices[] = {&device};                                                        \
		static const burn_info info = {BURN_HEAD(burn_info), NAME, VERSION, VENDOR, 1, devices};                      \
		(void)b;                                                                                                      \
		return &info;                                                                                                 \
	}                                                                                                                     \
	BURN_EXPORT const burn_api *burn_backend_main(uint32_t host_abi) {                                                    \
		static const burn_api api = {BURN_HEAD(burn_api), burn_open_this, burn_close, burn_info_of,                   \
			burn_capabilities_of, NULL, burn_open_stream, burn_submit, burn_free_tensors, burn_write, burn_read,  \
			burn_sync, burn_memory_of, burn_close_stream};                                                        \
		return host_abi >= 1 ? &api : NULL;                                                                           \
	}

#endif
