/* Creation and movement ops. Tensors are row-major without gaps, so a view is a copy here. */
#ifndef MOVEMENT_H
#define MOVEMENT_H

#include "elementwise.h"

typedef const burn_tensor *const *inputs;
typedef burn_tensor *const *outputs;

static void fill(burn_tensor *t, number v) {
	for (int64_t i = 0; i < t->count; i++) {
		set(t->desc.dtype, t->data, i, v);
	}
}

static int32_t run_full(const burn_node *n, inputs in, outputs out, burn_error *e) {
	(void)in, (void)e;
	fill(out[0], scalar(n, "value"));
	return BURN_OK;
}

static int32_t run_iota(const burn_node *n, inputs in, outputs out, burn_error *e) {
	(void)in, (void)e;
	int64_t axis = burn_int(n, "axis");
	walk w = walk_over(&out[0]->desc);
	for (int64_t i = 0; i < out[0]->count; i++, walk_next(&w)) {
		set(out[0]->desc.dtype, out[0]->data, i, (number){1, w.index[axis], 0});
	}
	return BURN_OK;
}

/* Philox 4x32-10. */
static int32_t run_random_bits(const burn_node *n, inputs in, outputs out, burn_error *e) {
	uint64_t seed = (uint64_t)burn_int(n, "seed"), counter = (uint64_t)burn_int(n, "counter");
	uint32_t *y = out[0]->data;
	(void)in, (void)e;
	for (int64_t i = 0; i < out[0]->count; i += 4) {
		uint64_t block = counter + (uint64_t)i / 4;
		uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
		uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
		for (int round = 0; round < 10; round++) {
			uint64_t p0 = (uint64_t)0xD2511F53 * c[0], p1 = (uint64_t)0xCD9E8D57 * c[2];
			uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
			memcpy(c, next, sizeof c);
			k0 += 0x9E3779B9;
			k1 += 0xBB67AE85;
		}
		for (int64_t j = 0; j < 4 && i + j < out[0]->count; j++) {
			y[i + j] = c[j];
		}
	}
	return BURN_OK;
}

static int32_t run_copy(const burn_node *n, inputs in, outputs out, burn_error *e) {
	(void)n, (void)e;
	memcpy(out[0]->data, in[0]->data, out[0]->bytes);
	return BURN_OK;
}

static int32_t run_cast(const burn_node *n, inputs in, outputs out, burn_error *e) {
	(void)n, (void)e;
	for (int64_t i = 0; i < out[0]->count; i++) {
		set(out[0]->desc.dtype, out[0]->data, i, get(in[0]->desc.dtype, in[0]->data, i));
	}
	return BURN_OK;
}

/* Row-major strides of a shape. */
static void strides_of(const burn_desc *d, int64_t *stride) {
	int64_t s = 1;
	for (int i = (int)d->rank - 1; i >= 0; i--) {
		stride[i] = s;
		s *= d->dims[i];
	}
}

/* Copies along a walk whose operand 0 is in x. */
static int32_t copy_walk(walk *w, const burn_tensor *x, burn_tensor *y) {
	uint64_t size = burn_size_of(x->desc.dtype);
	for (int64_t i = 0; i < y->count; i++, walk_next(w)) {
		copy_element(y->data, i, x->data, w->at[0], size);
	}
	return BURN_OK;
}

static int32_t run_permute(const burn_node *n, inputs in, outputs out, burn_error *e) {
	const int64_t *axes = burn_ints(n, "axes", NULL);
	int64_t stride[BURN_MAX_RANK];
	walk w = walk_over(&out[0]->desc);
	(void)e;
	strides_of(&in[0]->desc, stride);
	for (int i = 0; i < w.rank; i++) {
		w.stride[0][i] = stride[axes[i]];
	}
	return copy_walk(&w, in[0], out[0]);
}

static int32_t run_expand(const burn_node *n, inputs in, outputs out, burn_error *e) {
	walk w = walk_over(&out[0]->desc);
	(void)n, (void)e;
	walk_broadcast(&w, 0, &in[0]->desc);
	return copy_walk(&w, in[0], out[0]);
}

static int32_t run_slice(const burn_node *n, inputs in, outputs out, burn_error *e) {
	const int64_t *start = burn_ints(n, "start", NULL), *step = burn_ints(n, "step", NULL);
	int64_t stride[BURN_MAX_RANK];
	walk w = walk_over(&out[0]->desc);
	(void)e;
	strides_of(&in[0]->desc, stride);
	for (int i = 0; i < w.rank; i++) {
		w.stride[0][i] = stride[i] * step[i];
		w.at[0] += stride[i] * start[i];
	}
	return copy_walk(&w, in[0], out[0]);
}

static int32_t run_flip(const burn_node *n, inputs in, outputs out, burn_error *e) {
	uint64_t count;
	const int64_t *axes = burn_ints(n, "axes", &count);
	walk w = walk_over(&out[0]->desc);
	(void)e;
	strides_of(&in[0]->desc, w.stride[0]);
	for (uint64_t i = 0; i < count; i++) {
		int64_t a = axes[i];
		w.at[0] += w.stride[0][a] * (w.dims[a] - 1);
		w.stride[0][a] = -w.stride[0][a];
	}
	return copy_walk(&w, in[0], out[0]);
}

static int32_t run_pad(const burn_node *n, inputs in, outputs out, burn_error *e) {
	const int64_t *lo = burn_ints(n, "lo", NULL);
	const burn_desc *x = &in[0]->desc;
	uint64_t size = burn_size_of(x->dtype);
	walk w = walk_over(&out[0]->desc);
	(void)e;
	strides_of(x, w.stride[0]);
	for (int i = 0; i < w.rank; i++) {
		w.at[0] -= w.stride[0][i] * lo[i];
	}
	fill(out[0], scalar(n, "value"));
	for (int64_t i = 0; i < out[0]->count; i++, walk_next(&w)) {
		int inside = 1;
		for (int d = 0; d < w.rank; d++) {
			inside = inside && w.index[d] >= lo[d] && w.index[d] - lo[d] < x->dims[d];
		}
		if (inside) {
			copy_element(out[0]->data, i, in[0]->data, w.at[0], size);
		}
	}
	return BURN_OK;
}

static int32_t run_concat(const burn_node *n, inputs in, outputs out, burn_error *e) {
	int64_t axis = burn_int(n, "axis"), from = 0;
	uint64_t size = burn_size_of(out[0]->desc.dtype);
	lines y = lines_along(&out[0]->desc, axis);
	(void)e;
	for (uint32_t k = 0; k < n->n_inputs; k++) {
		lines x = lines_along(&in[k]->desc, axis);
		uint64_t run = (uint64_t)(x.length * x.inner) * size;
		for (int64_t o = 0; o < x.outer && run > 0; o++) {
			memcpy((char *)out[0]->data + (uint64_t)((o * y.length + from) * y.inner) * size, (const char *)in[k]->data + (uint64_t)o * run, run);
		}
		from += x.length;
	}
	return BURN_OK;
}

/* How gather and scatter cut their operands: x is batch * middle * length * inner, indices are batch * positions. */
typedef struct indexing {
	int64_t batch, middle, length, inner, positions;
} indexing;

static int64_t index_at(const burn_tensor *t, int64_t k) { return get(t->desc.dtype, t->data, k).i; }

/* Indices are only looked at where something is to be moved. */
static int32_t index_plan(const burn_node *n, const burn_tensor *x, const burn_tensor *indices, indexing *p, burn_error *e) {
	int64_t axis = burn_int(n, "axis"), batch = burn_int(n, "batch");
	*p = (indexing){1, 1, x->desc.dims[axis], 1, 1};
	for (int64_t i = 0; i < (int64_t)x->desc.rank; i++) {
		*(i < batch ? &p->batch : i < axis ? &p->middle : i > axis ? &p->inner : &(int64_t){0}) *= x->desc.dims[i];
	}
	for (uint32_t i = (uint32_t)batch; i < indices->desc.rank; i++) {
		p->positions *= indices->desc.dims[i];
	}
	for (int64_t k = 0; k < indices->count && p->middle * p->inner > 0; k++) {
		int64_t i = index_at(indices, k);
		if (i < 0 || i >= p->length) {
			return burn_fail(e, BURN_ERR_INDEX, "index %lld at %lld, want one in [0,%lld)", (long long)i, (long long)k, (long long)p->length);
		}
	}
	return BURN_OK;
}

static int32_t run_gather(const burn_node *n, inputs in, outputs out, burn_error *e) {
	indexing p;
	int32_t code = index_plan(n, in[0], in[1], &p, e);
	uint64_t run = (uint64_t)p.inner * burn_size_of(in[0]->desc.dtype);
	char *y = out[0]->data;
	if (code != BURN_OK || run == 0) {
		return code;
	}
	for (int64_t b = 0; b < p.batch; b++) {
		for (int64_t m = 0; m < p.middle; m++) {
			for (int64_t j = 0; j < p.positions; j++, y += run) {
				int64_t from = (b * p.middle + m) * p.length + index_at(in[1], b * p.positions + j);
				memcpy(y, (const char *)in[0]->data + (uint64_t)from * run, run);
			}
		}
	}
	return BURN_OK;
}

/* y[0:count] meets u[0:count]. */
#define MEET_CASE(S, T, W, SIGN)                                                                                              \
	case BURN_##S:                                                                                                        \
		for (int64_t i = 0; i < count; i++) {                                                                         \
			T *a = (T *)y + at + i, b = ((const T *)u)[from + i];                                                 \
			*a = mode == 'd' ? add_##S(*a, b) : mode == 'u' ? mul_##S(*a, b) : mode == 'i' ? min_##S(*a, b) : max_##S(*a, b); \
		}                                                                                                             \
		break;

static void meet(uint32_t dtype, char mode, void *y, int64_t at, const void *u, int64_t from, int64_t count) {
	switch (dtype) { EACH_NUMBER(MEET_CASE) }
}

static int32_t run_scatter(const burn_node *n, inputs in, outputs out, burn_error *e) {
	indexing p;
	const char *name = burn_text(n, "mode");
	char mode = name[0] == 'a' && name[1] == 's' ? 's' : name[1]; /* assign, aDd, mUl, mIn, mAx */
	uint32_t dtype = in[0]->desc.dtype;
	uint64_t size = burn_size_of(dtype);
	int32_t code = index_plan(n, in[0], in[1], &p, e);
	if (code != BURN_OK) {
		return code;
	}
	memcpy(out[0]->data, in[0]->data, out[0]->bytes);
	for (int64_t b = 0; b < p.batch; b++) {
		for (int64_t m = 0; m < p.middle; m++) {
			for (int64_t j = 0; j < p.positions; j++) {
				int64_t at = ((b * p.middle + m) * p.length + index_at(in[1], b * p.positions + j)) * p.inner;
				int64_t from = ((b * p.middle + m) * p.positions + j) * p.inner;
				if (mode == 's') {
					memcpy((char *)out[0]->data + (uint64_t)at * size, (const char *)in[2]->data + (uint64_t)from * size, (uint64_t)p.inner * size);
				} else {
					meet(dtype, mode, out[0]->data, at, in[2]->data, from, p.inner);
				}
			}
		}
	}
	return BURN_OK;
}

#endif
