/*
 * A backend made of a table of kernels, for hardware that computes at once: this header implements everything of
 * burn_backend.h but the kernels. It makes tensors in host memory, lends and borrows it, counts it, and calls kernels.
 * Include it in one C file, write kernels, and end the file with
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

/* A tensor. data holds bytes bytes in row-major order and is never NULL in a kernel, also when count is 0. */
typedef struct burn_tensor {
	burn_desc desc;
	int64_t count;
	uint64_t bytes;
	void *data;
	burn_loan loan; /* of data, where give_back is not NULL */
} burn_tensor;

/*
 * Computes one node: reads in, fills every byte of out. It returns BURN_OK, or burn_fail(...). Kernels run at once on
 * several queues, so they keep nothing in static variables. A kernel that takes seconds calls burn_canceled now and then.
 */
typedef int32_t (*burn_kernel)(const burn_node *node, const burn_tensor *const *in, burn_tensor *const *out, burn_error *error);

#define BURN_ROW_OPERANDS 4

/*
 * A claim and its kernel. operands are the types of each operand; behind the last that is not 0, that one holds. results are
 * those of the results, 0 for whatever the op gives.
 */
typedef struct burn_kernel_row {
	const char *name;
	uint32_t version;
	burn_kernel run;
	uint32_t operands[BURN_ROW_OPERANDS];
	uint32_t results;
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

/* The rest is the backend. A value is a burn_tensor. */

struct burn_device {
	const burn_backend *backend;
	_Atomic int64_t in_use;
};

struct burn_queue {
	burn_device *device;
};

struct burn_backend {
	burn_capabilities capabilities;
	burn_op *ops;
	const burn_op **op_list;
	const burn_kernel_row *rows;
	uint32_t threads;
};

/* Reports that nobody waits for the node that this thread computes: a kernel then returns BURN_ERR_CANCELED. */
static _Thread_local burn_cancel burn_cancel_flag;

static BURN_UNUSED int burn_canceled(void) { return burn_cancel_flag && *burn_cancel_flag; }

static void burn_release_tensor(burn_device *d, burn_tensor *t) {
	if (t->loan.give_back) {
		t->loan.give_back(t->loan.lender);
	} else {
		atomic_fetch_sub(&d->in_use, (int64_t)t->bytes);
		free(t->data);
	}
	free(t);
}

/* A tensor with room for its elements, or of lent memory. */
static int32_t burn_make(burn_device *d, const burn_desc *desc, const burn_loan *loan, burn_tensor **out, burn_error *error) {
	uint64_t size = burn_size_of(desc->dtype);
	int64_t count = burn_count(desc);
	if (size == 0) {
		return burn_fail(error, BURN_ERR_DTYPE, "element type %u", desc->dtype);
	}
	if (count < 0 || desc->rank > BURN_MAX_RANK) {
		return burn_fail(error, BURN_ERR_SHAPE, "the tensor is too large");
	}
	burn_tensor *t = calloc(1, sizeof *t);
	void *data = loan ? (void *)(uintptr_t)loan->data : t ? malloc(count ? (size_t)count * size : 1) : NULL;
	if (!t || !data) {
		free(t);
		return burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "tensor of %llu bytes", (unsigned long long)count * size);
	}
	*t = (burn_tensor){*desc, count, (uint64_t)count * size, data, {0}};
	if (loan) {
		t->loan = *loan;
	} else {
		atomic_fetch_add(&d->in_use, (int64_t)t->bytes);
	}
	*out = t;
	return BURN_OK;
}

static int32_t burn_execute(burn_queue *q, burn_call *call, burn_error *error) {
	const burn_node *n = call->node;
	const burn_backend *b = q->device->backend;
	if (n->op >= b->capabilities.n_ops) {
		return burn_fail(error, BURN_ERR_UNSUPPORTED, "op number %u", n->op);
	}
	int32_t code = BURN_OK;
	uint32_t made = 0;
	burn_tensor **out = (burn_tensor **)call->out;
	for (; made < n->n_outputs && code == BURN_OK; made += code == BURN_OK) {
		code = burn_make(q->device, n->outputs[made], NULL, &out[made], error);
	}
	if (code == BURN_OK) {
		burn_cancel_flag = call->cancel;
		code = b->rows[n->op].run(n, (const burn_tensor *const *)call->in, out, error);
		burn_cancel_flag = NULL;
	}
	while (code != BURN_OK && made > 0) {
		burn_release_tensor(q->device, out[--made]);
	}
	return code;
}

static int32_t burn_upload(burn_device *d, const burn_desc *desc, const void *data, uint64_t bytes, burn_value **value, burn_error *error) {
	burn_tensor *t;
	int32_t code = burn_make(d, desc, NULL, &t, error);
	if (code != BURN_OK) {
		return code;
	}
	if (bytes != t->bytes) {
		code = burn_fail(error, BURN_ERR_SHAPE, "%llu bytes, want %llu", (unsigned long long)bytes, (unsigned long long)t->bytes);
		burn_release_tensor(d, t);
		return code;
	}
	if (desc->dtype == BURN_BOOL) {
		for (uint64_t i = 0; i < bytes; i++) {
			((uint8_t *)t->data)[i] = ((const uint8_t *)data)[i] != 0;
		}
	} else if (bytes > 0) {
		memcpy(t->data, data, bytes);
	}
	*value = (burn_value *)t;
	return BURN_OK;
}

static int32_t burn_download(burn_device *d, const burn_desc *desc, burn_value *value, void *dst, uint64_t bytes, burn_error *error) {
	const burn_tensor *t = (const burn_tensor *)value;
	(void)d, (void)desc;
	if (bytes != t->bytes) {
		return burn_fail(error, BURN_ERR_SHAPE, "room for %llu bytes, want %llu", (unsigned long long)bytes, (unsigned long long)t->bytes);
	}
	if (bytes > 0) {
		memcpy(dst, t->data, bytes);
	}
	return BURN_OK;
}

static void burn_release(burn_device *d, burn_value *value) { burn_release_tensor(d, (burn_tensor *)value); }

/* Kernels need elements at a multiple of their size, and bytes of type bool that are 0 or 1: other memory is copied. */
static int32_t burn_adopt(burn_device *d, const burn_desc *desc, const burn_loan *loan, burn_value **value, burn_error *error) {
	uint64_t size = burn_size_of(desc->dtype);
	if (size == 0 || desc->dtype == BURN_BOOL || loan->bytes == 0 || (uintptr_t)loan->data % size != 0) {
		return burn_fail(error, BURN_ERR_UNSUPPORTED, "memory that must be copied");
	}
	return burn_make(d, desc, loan, (burn_tensor **)value, error);
}

static int32_t burn_view(burn_device *d, const burn_desc *desc, burn_value *value, const void **data, burn_error *error) {
	(void)d, (void)desc, (void)error;
	*data = ((const burn_tensor *)value)->data;
	return BURN_OK;
}

static void burn_memory_of(burn_device *d, burn_memory *m) {
	m->in_use = atomic_load(&d->in_use);
	m->reserved = m->in_use;
}

static int32_t burn_open_queue(burn_device *d, burn_queue **out, burn_error *error) {
	burn_queue *q = calloc(1, sizeof *q);
	if (!q) {
		return burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "queue");
	}
	q->device = d;
	*out = q;
	return BURN_OK;
}

static void burn_close_queue(burn_queue *q) { free(q); }

static int32_t burn_open_device(burn_backend *b, uint32_t index, burn_device **out, burn_error *error) {
	if (index != 0) {
		return burn_fail(error, BURN_ERR_NOT_FOUND, "device %u, want 0", index);
	}
	burn_device *d = calloc(1, sizeof *d);
	if (!d) {
		return burn_fail(error, BURN_ERR_OUT_OF_MEMORY, "device");
	}
	d->backend = b;
	*out = d;
	return BURN_OK;
}

static void burn_close_device(burn_device *d) { free(d); }

static const burn_capabilities *burn_capabilities_of(burn_device *d) { return &d->backend->capabilities; }

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
		const burn_kernel_row *r = &rows[i];
		b->ops[i] = (burn_op){BURN_HEAD(burn_op), .name = r->name, .version = r->version, .operands = r->operands,
			.results = &r->results, .n_results = r->results != 0};
		while (b->ops[i].n_operands < BURN_ROW_OPERANDS && r->operands[b->ops[i].n_operands] != 0) {
			b->ops[i].n_operands++;
		}
		b->op_list[i] = &b->ops[i];
	}
	b->rows = rows;
	b->threads = c->threads;
	b->capabilities = (burn_capabilities){BURN_HEAD(burn_capabilities), .types = types, .deterministic = 1, .n_ops = n, .ops = b->op_list};
	*out = b;
	return BURN_OK;
}

/* The table of functions, with the author's open and info. */
#define BURN_KERNELS_API(OPEN, INFO)                                                                                          \
	{BURN_HEAD(burn_api), OPEN, burn_close, INFO, burn_open_device, burn_close_device, burn_capabilities_of, burn_upload, \
		burn_download, burn_release, burn_open_queue, burn_close_queue, burn_execute, .memory = burn_memory_of,       \
		.adopt = burn_adopt, .view = burn_view}

/* Ends a backend of kernels: one device, of kind cpu. */
#define BURN_KERNELS_MAIN(NAME, VERSION, VENDOR, TYPES, ROWS)                                                                 \
	static int32_t burn_open_this(const burn_config *c, burn_backend **out, burn_error *e) {                              \
		return burn_open_table(c, ROWS, sizeof ROWS / sizeof ROWS[0], TYPES, out, e);                                 \
	}                                                                                                                     \
	static const burn_info *burn_info_of(burn_backend *b) {                                                               \
		static const burn_device_info device = {BURN_HEAD(burn_device_info), "host memory", "cpu", 0, "kernels in C"}; \
		static const burn_device_info *const devices[] = {&device};                                                   \
		static const burn_info info = {BURN_HEAD(burn_info), NAME, VERSION, VENDOR, 1, devices};                      \
		(void)b;                                                                                                      \
		return &info;                                                                                                 \
	}                                                                                                                     \
	BURN_EXPORT const burn_api *burn_backend_main(uint32_t host_abi) {                                                    \
		static const burn_api api = BURN_KERNELS_API(burn_open_this, burn_info_of);                                   \
		return host_abi == BURN_ABI_VERSION ? &api : NULL;                                                            \
	}

#endif
