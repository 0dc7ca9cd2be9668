/*
 * The C ABI of a burn backend, version 2.
 *
 * A shared object (burn-backend-NAME.so, .dylib or .dll) exports one symbol, burn_backend_main, which returns a table of
 * functions: what the hardware does. The host does the rest: ids of tensors, queues, poison, order between streams,
 * programs for a backend without them. docs/OPS.md says what the ops compute, docs/BACKENDS.md how to begin. burn_kernels.h,
 * beside this file, fills the table for a backend that computes at once, so that its author writes kernels alone.
 *
 * Objects.  A backend has devices. A device owns values, which are the elements of tensors, and programs. A queue executes
 * on a device. Each is a pointer of the backend's own, which the host only hands back.
 *
 * Structs.  Each begins with its size in bytes and the ABI version, set by the side that makes it. Within a version, structs
 * only grow at their ends; a field is there when size says so, and is zero otherwise. Lists are arrays of pointers, so that
 * structs may grow. The version changes when a function or a field changes its meaning; the host refuses other versions.
 *
 * Memory.  What the host passes is valid until the function returns, and is not changed but where this file says so. What
 * the backend returns of itself (info, capabilities) is valid until the backend or the device is closed. Neither side frees
 * memory of the other.
 *
 * Threads.  burn_backend_main is called once, or not at all after a refusal. Functions of a backend and of a device are called
 * from any thread, several at once. Functions of one queue (those that take a burn_queue) are called one after the other,
 * each from any thread; wait alone is called at any time. close_queue comes when nothing executes on the queue, close_device
 * when its queues are closed and its values and programs are released, close when the devices are closed. Threads that the
 * backend starts do not outlive close.
 *
 * Errors.  A function returns BURN_OK or a code, and says more in *error, which the host has cleared. It must not exit,
 * throw, or jump out. A crash takes the process down, the host's if it loaded the object itself.
 */
#ifndef BURN_BACKEND_H
#define BURN_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BURN_ABI_VERSION 2u
#define BURN_MAX_RANK 8

#ifdef _WIN32
#define BURN_EXPORT __declspec(dllexport)
#else
#define BURN_EXPORT __attribute__((visibility("default")))
#endif

/* The beginning of every struct: struct burn_x x = {BURN_HEAD(struct burn_x), ...}. */
#define BURN_HEAD(type) (uint32_t)sizeof(type), BURN_ABI_VERSION

/* Element types. Data is little-endian, in row-major order without gaps; bool is a byte, 0 or 1. */
enum {
	BURN_F64 = 1, BURN_F32 = 2, BURN_F16 = 3, BURN_BF16 = 4, BURN_I64 = 5, BURN_I32 = 6, BURN_I16 = 7, BURN_I8 = 8,
	BURN_U64 = 9, BURN_U32 = 10, BURN_U16 = 11, BURN_U8 = 12, BURN_BOOL = 13
};
/* A set of element types has bit d set for type d. */
#define BURN_TYPE(d) (1u << (d))

/* Error codes. They never change; an unknown one counts as BURN_ERR_KERNEL. */
enum {
	BURN_OK = 0,
	BURN_ERR_SHAPE = 1,          /* shapes, axes or strides do not fit the op */
	BURN_ERR_DTYPE = 2,          /* the op is not defined for the element type */
	BURN_ERR_ATTR = 3,           /* an attribute is missing, of the wrong kind, or out of range */
	BURN_ERR_UNSUPPORTED = 4,    /* not here: the functions below say what the host does then */
	BURN_ERR_INDEX = 5,          /* an index tensor holds a value outside the dimension */
	BURN_ERR_OUT_OF_MEMORY = 6,  /* freeing tensors and trying again may help */
	BURN_ERR_BACKEND_LOST = 7,   /* the device is gone, with everything on it */
	BURN_ERR_STALE = 8,          /* codes 8 and 9 are the host's: a backend does not see ids of tensors */
	BURN_ERR_UNKNOWN_TENSOR = 9,
	BURN_ERR_PROTOCOL = 10,      /* the host broke this contract */
	BURN_ERR_CLOSED = 11,
	BURN_ERR_CANCELED = 12,      /* what ran was told to stop */
	BURN_ERR_NOT_FOUND = 13,     /* no such device */
	BURN_ERR_KERNEL = 14         /* everything else: a bug of the backend */
};

#define BURN_ERROR_TEXT 512

/* What went wrong. Made by the host, filled by the backend. */
typedef struct burn_error {
	uint32_t size, abi;
	int32_t code;
	uint32_t node;              /* of define and run: 1 more than the index of the node that failed; 0: unknown */
	char text[BURN_ERROR_TEXT]; /* lower case, ended by a zero byte: what, got, want; without the name of the code */
} burn_error;

typedef struct burn_backend burn_backend; /* the backend's own, all of these */
typedef struct burn_device burn_device;
typedef struct burn_queue burn_queue;
typedef struct burn_value burn_value;
typedef struct burn_program burn_program;

/* Element type and shape of a tensor. id numbers the tensors of one program, and is 0 elsewhere. */
typedef struct burn_desc {
	uint32_t size, abi;
	uint64_t id;
	uint32_t dtype;
	uint32_t rank;
	int64_t dims[BURN_MAX_RANK];
} burn_desc;

/* Kinds of attributes. */
enum {
	BURN_INT = 1, BURN_FLOAT = 2, BURN_FLAG = 3, BURN_STRING = 4, BURN_DTYPE = 5, BURN_INTS = 6, BURN_FLOATS = 7,
	BURN_SCALAR = 8 /* one number: is_int says whether it was given as an integer, in i, or as a float, in f */
};

typedef struct burn_attr {
	uint32_t size, abi;
	const char *name;
	uint32_t kind;
	uint32_t is_int;      /* of a scalar */
	int64_t i;            /* int, flag, dtype; a scalar, converted if it is a float */
	double f;             /* float; a scalar, converted if it is an integer */
	const char *text;     /* string, ended by a zero byte */
	const int64_t *ints;  /* ints */
	const double *floats; /* floats */
	uint64_t count;       /* of text, ints or floats */
} burn_attr;

/*
 * One application of an op. op is the index of the op in burn_capabilities.ops: names and versions are resolved once, when
 * the device is opened. All attributes of the op's row are there, in the order of the row. The node has been checked
 * against the row and against the capabilities.
 */
typedef struct burn_node {
	uint32_t size, abi;
	uint32_t op;
	uint32_t n_inputs, n_outputs, n_attrs;
	const burn_desc *const *inputs;
	const burn_desc *const *outputs;
	const burn_attr *const *attrs;
} burn_node;

/*
 * Set to 1 by the host, from another thread, when nobody waits for the result any more. Long work may look at it now and
 * then, and return BURN_ERR_CANCELED. Functions on work that is short need not.
 */
typedef const volatile int32_t *burn_cancel;

/* A node to be computed. */
typedef struct burn_call {
	uint32_t size, abi;
	const burn_node *node;
	burn_value *const *in; /* one for each input of the node */
	burn_value **out;      /* to be set, one for each output of the node; after an error all count as unset */
	/*
	 * Bit i is set when nothing else will ever use in[i]: execute may overwrite its memory. The backend sets bit i of taken
	 * when in[i] itself became an output, or was released: the host does not release it then. The first 64 inputs have bits.
	 */
	uint64_t owned, taken;
	burn_cancel cancel;
} burn_call;

/* A whole computation. The id of each tensor is defined once, by inputs, by consts or by a node, before it is used. */
typedef struct burn_definition {
	uint32_t size, abi;
	const char *name;
	uint32_t n_inputs, n_consts, n_nodes, n_outputs;
	const burn_desc *const *inputs;
	const burn_desc *const *consts;
	burn_value *const *values; /* of consts. They are never overwritten, and released after define, unless: */
	uint8_t *keep;             /* the backend sets keep[i] to 1 when it uses values[i] until undefine */
	const burn_node *const *nodes;
	const uint64_t *outputs; /* ids; they may repeat, and may be those of inputs and constants */
	burn_cancel cancel;
} burn_definition;

/* One execution of a program. */
typedef struct burn_run {
	uint32_t size, abi;
	burn_program *program;
	uint32_t n_inputs, n_outputs;
	burn_value *const *in;
	/*
	 * owned[i] is 1 when nothing else will ever use in[i]: run may overwrite its memory. The backend sets it to 0 when in[i]
	 * itself became an output, or was released.
	 */
	uint8_t *owned;
	burn_value **out; /* to be set; each is a value of its own, also where an output repeats or is an input */
	burn_cancel cancel;
} burn_run;

/* Bounds. 0 is none. */
typedef struct burn_limits {
	uint32_t size, abi;
	uint32_t rank;    /* of each operand and result */
	uint32_t buffers; /* operands and results of one node together */
	int64_t bytes;    /* of each operand and result */
	int64_t elements; /* of each result */
} burn_limits;

/* A claim: the device computes every node of the op that fits it. */
typedef struct burn_op {
	uint32_t size, abi;
	const char *name;
	uint32_t version;
	uint32_t n_operands, n_results;
	const uint32_t *operands;  /* sets of types, by operand; the last holds for all operands behind it */
	const uint32_t *results;   /* likewise by result; none: whatever type the op gives, among those of the device */
	const burn_limits *limits; /* narrower than the device's; or NULL */
} burn_op;

typedef struct burn_capabilities {
	uint32_t size, abi;
	uint32_t types;    /* every element type that tensors may have */
	uint32_t emulated; /* those of them that the hardware has no arithmetic for */
	uint32_t deterministic;
	uint32_t reserved;
	const burn_limits *limits; /* on every node; or NULL */
	uint64_t n_ops;
	const burn_op *const *ops;
} burn_capabilities;

typedef struct burn_device_info {
	uint32_t size, abi;
	const char *name;   /* as the hardware calls itself */
	const char *kind;   /* "cpu", "gpu", "npu", ... */
	int64_t memory;     /* bytes, 0 when unknown */
	const char *detail; /* NULL or anything worth a word */
} burn_device_info;

typedef struct burn_info {
	uint32_t size, abi;
	const char *name;
	const char *version; /* of the backend, semantic */
	const char *vendor;
	uint64_t n_devices;
	const burn_device_info *const *devices; /* device i has index i */
} burn_info;

typedef struct burn_config {
	uint32_t size, abi;
	uint32_t threads; /* of a backend that computes on the host; 0: as many as the process may use */
	uint32_t reserved;
	uint64_t n_options;
	const char *const *names; /* settings of the backend's own */
	const char *const *values;
} burn_config;

typedef struct burn_memory {
	uint32_t size, abi;
	int64_t in_use;   /* bytes held by values and programs */
	int64_t reserved; /* bytes held from the system, at least in_use */
} burn_memory;

/* Memory that the host lends. The backend calls give_back(lender) once, from any thread, when it reads it no more. */
typedef struct burn_loan {
	uint32_t size, abi;
	const void *data;
	uint64_t bytes;
	void (*give_back)(void *lender);
	void *lender;
} burn_loan;

typedef struct burn_api {
	uint32_t size, abi;

	/* These are always there. */

	int32_t (*open)(const burn_config *config, burn_backend **backend, burn_error *error);
	void (*close)(burn_backend *backend);
	const burn_info *(*info)(burn_backend *backend);
	/* Each call makes a device of its own, also for an index that is open already. */
	int32_t (*open_device)(burn_backend *backend, uint32_t index, burn_device **device, burn_error *error);
	void (*close_device)(burn_device *device);
	const burn_capabilities *(*capabilities)(burn_device *device);
	/* Makes a value of data, which is the host's again afterwards. Elements of type bool that are not 0 become 1. */
	int32_t (*upload)(burn_device *device, const burn_desc *desc, const void *data, uint64_t bytes, burn_value **value, burn_error *error);
	/* Copies the elements of value to dst. Nobody writes to value meanwhile. */
	int32_t (*download)(burn_device *device, const burn_desc *desc, burn_value *value, void *dst, uint64_t bytes, burn_error *error);
	/* Gives a value up. It is called once for every value that the backend gave the host. */
	void (*release)(burn_device *device, burn_value *value);
	int32_t (*open_queue)(burn_device *device, burn_queue **queue, burn_error *error);
	void (*close_queue)(burn_queue *queue);
	/* Computes call->node, or starts to (see record). */
	int32_t (*execute)(burn_queue *queue, burn_call *call, burn_error *error);

	/* These may be NULL, each by itself or, where it says so, in groups. Profiles (burn profile) need no function: the host
	 * times execute and run; the steps inside of run are not told apart. */

	/* NULL: the capabilities say all. Else whether the device runs a node that they allow: BURN_OK, or
	 * BURN_ERR_UNSUPPORTED, after which the host decomposes the node or runs it elsewhere. */
	int32_t (*supports)(burn_device *device, const burn_node *node, burn_error *error);
	/* NULL: the host counts the elements of values. */
	void (*memory)(burn_device *device, burn_memory *memory);
	/* Makes a value that lies in the host's memory, which is never written to. NULL or BURN_ERR_UNSUPPORTED: it is uploaded. */
	int32_t (*adopt)(burn_device *device, const burn_desc *desc, const burn_loan *loan, burn_value **value, burn_error *error);
	/* Gives the address of the value's elements in row-major order, valid until it is released. NULL or an error: the host
	 * downloads them. */
	int32_t (*view)(burn_device *device, const burn_desc *desc, burn_value *value, const void **data, burn_error *error);

	/* Programs: all or none. NULL, or BURN_ERR_UNSUPPORTED of define: the host executes the nodes one by one. */

	int32_t (*define)(burn_queue *queue, const burn_definition *definition, burn_program **program, burn_error *error);
	/* Runs of one program come from several queues at once. */
	int32_t (*run)(burn_queue *queue, burn_run *run, burn_error *error);
	/* No run is open. */
	void (*undefine)(burn_device *device, burn_program *program);

	/*
	 * Queues that only start the work: all or none. Where they are there, execute and run return at once, values that they give
	 * may not be computed yet, and a value that is released may still be read by work that was started before. A mark is a
	 * place in a queue; marks of a queue increase.
	 */

	int32_t (*record)(burn_queue *queue, uint64_t *mark, burn_error *error);
	/* Puts all later work of queue behind a mark of another queue of the backend. */
	int32_t (*await)(burn_queue *queue, burn_queue *other, uint64_t mark, burn_error *error);
	/* Returns when the queue has reached mark: BURN_OK, or what failed in the work since the mark before. The host asks once
	 * for a mark at most, from any thread, in any order. */
	int32_t (*wait)(burn_queue *queue, uint64_t mark, burn_error *error);
	/* upload, in the order of the queue. The loan is given back when the data has been read, also by close_queue, and never
	 * where an error is returned. */
	int32_t (*enqueue)(burn_queue *queue, const burn_desc *desc, const burn_loan *loan, burn_value **value, burn_error *error);
	/* download, in the order of the queue. dst is valid until a mark that was recorded later is reached, or the queue closed. */
	int32_t (*fetch)(burn_queue *queue, const burn_desc *desc, burn_value *value, void *dst, uint64_t bytes, burn_error *error);
} burn_api;

/* The one exported symbol. host_abi is the host's ABI version. NULL when the backend does not go with it. */
BURN_EXPORT const burn_api *burn_backend_main(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif
