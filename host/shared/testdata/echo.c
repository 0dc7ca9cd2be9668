/* A backend whose kernels fail and say what they were given; copy computes, and neg waits until it is canceled. */
#include "burn_kernels.h"

static char detail[256] = "";

static int32_t echo(const burn_node *n, const burn_tensor *const *in, burn_tensor *const *out, burn_error *e);

static int32_t copy(const burn_node *n, const burn_tensor *const *in, burn_tensor *const *out, burn_error *e) {
	(void)n, (void)e;
	memcpy(out[0]->data, in[0]->data, out[0]->bytes);
	return BURN_OK;
}

static int32_t neg(const burn_node *n, const burn_tensor *const *in, burn_tensor *const *out, burn_error *e) {
	(void)n, (void)in, (void)out;
	while (!burn_canceled()) {
	}
	return burn_fail(e, BURN_ERR_CANCELED, "neg");
}

#define ALL (BURN_TYPE(BURN_F32) | BURN_TYPE(BURN_I64))

static const burn_kernel_row rows[] = {
	{"copy", 1, copy, {ALL}, 0}, {"neg", 1, neg, {ALL}, 0}, {"slice", 1, echo, {ALL}, 0}, {"argmax", 1, echo, {ALL}, BURN_TYPE(BURN_I64)},
	{"sum", 1, echo, {ALL}, 0}, {"pad", 1, echo, {ALL}, 0}, {"gather", 1, echo, {ALL, BURN_TYPE(BURN_I64)}, 0},
};

static int32_t echo(const burn_node *n, const burn_tensor *const *in, burn_tensor *const *out, burn_error *e) {
	char text[BURN_ERROR_TEXT];
	int at = snprintf(text, sizeof text, "%s of %d bytes out %d f[%d]", rows[n->op].name, (int)in[0]->bytes, (int)out[0]->desc.dtype,
		(int)n->outputs[0]->dims[0]);
	for (uint32_t i = 0; i < n->n_attrs; i++) {
		const burn_attr *a = n->attrs[i];
		at += snprintf(text + at, sizeof text - at, " %s=", a->name);
		switch (a->kind) {
		case BURN_INTS:
			at += snprintf(text + at, sizeof text - at, "[");
			for (uint64_t k = 0; k < a->count; k++) {
				at += snprintf(text + at, sizeof text - at, k ? ",%d" : "%d", (int)a->ints[k]);
			}
			at += snprintf(text + at, sizeof text - at, "]");
			break;
		case BURN_SCALAR:
			at += a->is_int ? snprintf(text + at, sizeof text - at, "%d(i)", (int)a->i) : snprintf(text + at, sizeof text - at, "%g(f)", a->f);
			break;
		default:
			at += snprintf(text + at, sizeof text - at, "%d", (int)a->i);
		}
	}
	return burn_fail(e, BURN_ERR_OUT_OF_MEMORY, "%s", text);
}

static const burn_info *info(burn_backend *b) {
	static burn_device_info device = {BURN_HEAD(burn_device_info), "d", "cpu", 0, detail};
	static const burn_device_info *const devices[] = {&device};
	static const burn_info i = {BURN_HEAD(burn_info), "echo", "0.1.0", "test", 1, devices};
	(void)b;
	return &i;
}

static int32_t open(const burn_config *c, burn_backend **out, burn_error *e) {
	int at = snprintf(detail, sizeof detail, "threads %u", c->threads);
	for (uint64_t i = 0; i < c->n_options; i++) {
		at += snprintf(detail + at, sizeof detail - at, ", %s=%s", c->names[i], c->values[i]);
	}
	return burn_open_table(c, rows, sizeof rows / sizeof rows[0], ALL, out, e);
}

BURN_EXPORT const burn_api *burn_backend_main(uint32_t host_abi) {
	static const burn_api api = BURN_KERNELS_API(open, info);
	return host_abi == BURN_ABI_VERSION ? &api : NULL;
}
