/*
 * The C ABI of a burn backend, version 1.
 *
 * A shared object (burn-backend-NAME.so, .dylib or .dll) exports one symbol, burn_backend_main, which gives a table of
 * functions. They are the contract of core/backend.go; docs/OPS.md says what the ops compute. burn_kernels.h, beside this
 * file, implements streams for a backend that computes at once, so that its author writes kernels alone.
 *
 * Structs.  Each begins with its size in bytes and the ABI version, set by who makes it. A later version of the ABI only
 * adds fields at the end of structs; a field is there when size says so. Lists are arrays of pointers, so that a struct
 * may grow. The reader of a struct ignores what is beyond the fields that it knows.
 *
 * Memory.  What the host passes is valid until the function returns, and must not be changed, errors and the dst of read
 * apart. What the backend returns (info, capabilities) is valid until close. Neither side frees memory of the other.
 *
 * Threads.  burn_backend_main is called once, before all else. info, capabilities, supports and open_stream are called
 * from any thread, several at once. The functions of one stream are called one after the other, each from any thread;
 * those of different streams at once. memory alone is called at any time. Nothing of a stream is called after close_stream,
 * and nothing of a backend after close, which comes when its streams are closed. The host queues commands: submit may compute before it returns, and may
 * as well return at once and compute later. A thread that the backend starts must not outlive close.
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

#define BURN_ABI_VERSION 1u
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
	BURN_ERR_UNSUPPORTED = 4,    /* not here: the host decomposes the node or runs it elsewhere */
	BURN_ERR_INDEX = 5,          /* an index tensor holds a value outside the dimension */
	BURN_ERR_OUT_OF_MEMORY = 6,  /* freeing tensors and trying again may help */
	BURN_ERR_BACKEND_LOST = 7,   /* the device is gone, with every tensor on it */
	BURN_ERR_STALE = 8,          /* a tensor id of an earlier generation */
	BURN_ERR_UNKNOWN_TENSOR = 9, /* never made, or already freed */
	BURN_ERR_PROTOCOL = 10,      /* the host broke this contract */
	BURN_ERR_CLOSED = 11,
	BURN_ERR_CANCELED = 12,
	BURN_ERR_NOT_FOUND = 13,     /* no such device */
	BURN_ERR_KERNEL = 14         /* everything else: a bug of the backend */
};

/* A tensor: its id, element type and shape. The upper 16 bits of an id are its generation; 0 is no tensor. */
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
 * the backend is opened, and nodes carry numbers. All attributes of the op's row are there, in the order of the row. The
 * node has been checked against the row. Bit i of drop is set when the host gives up input i with this node.
 */
typedef struct burn_node {
	uint32_t size, abi;
	uint32_t op;
	uint32_t n_inputs, n_outputs, n_attrs;
	const uint64_t *inputs;
	const burn_desc *const *outputs;
	const burn_attr *const *attrs;
	uint64_t drop;
} burn_node;

#define BURN_ERROR_TEXT 512
#define BURN_ERROR_OUTPUTS 4

/*
 * What went wrong. Made by the host, filled by the backend. n_outputs above 0 makes it the failure of a node: op is that of
 * the node, and outputs its first outputs; that is what a poisoned tensor carries.
 */
typedef struct burn_error {
	uint32_t size, abi;
	int32_t code;
	uint32_t op;
	uint32_t n_outputs;
	uint32_t reserved;
	burn_desc outputs[BURN_ERROR_OUTPUTS];
	char text[BURN_ERROR_TEXT]; /* lower case, ended by a zero byte: what, got, want; without the name of the code */
} burn_error;

/* A claim: an op by name and version, and the element types of its first operand (of its result for an op without one). */
typedef struct burn_op {
	uint32_t size, abi;
	const char *name;
	uint32_t version;
	uint32_t types;
} burn_op;

typedef struct burn_device {
	uint32_t size, abi;
	const char *name;   /* as the hardware calls itself */
	const char *kind;   /* "cpu", "gpu", "npu", ... */
	int64_t memory;     /* bytes, 0 when unknown */
	const char *detail; /* NULL or anything worth a word */
} burn_device;

typedef struct burn_info {
	uint32_t size, abi;
	const char *name;
	const char *version; /* of the backend, semantic */
	const char *vendor;
	uint64_t n_devices;
	const burn_device *const *devices; /* device i has index i */
} burn_info;

typedef struct burn_capabilities {
	uint32_t size, abi;
	uint32_t types;    /* every element type that tensors may have */
	uint32_t max_rank; /* 1 to 8 */
	int64_t max_bytes; /* of one tensor; 0: bounded by memory alone */
	uint32_t deterministic;
	uint32_t reserved;
	uint64_t n_ops;
	const burn_op *const *ops;
} burn_capabilities;

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
	int64_t in_use;   /* bytes held by live tensors */
	int64_t reserved; /* bytes held from the system, at least in_use */
	int64_t tensors;  /* live tensors */
} burn_memory;

typedef struct burn_backend burn_backend; /* the author's own */
typedef struct burn_stream burn_stream;

typedef struct burn_api {
	uint32_t size, abi;

	int32_t (*open)(const burn_config *config, burn_backend **backend, burn_error *error);
	void (*close)(burn_backend *backend);
	const burn_info *(*info)(burn_backend *backend);
	const burn_capabilities *(*capabilities)(burn_backend *backend);
	/* BURN_OK, or BURN_ERR_UNSUPPORTED. in has the node's inputs. NULL: the capabilities alone decide. */
	int32_t (*supports)(burn_backend *backend, const burn_node *node, const burn_desc *const *in, burn_error *error);

	/* One ordered queue of commands on one device. An unknown device is BURN_ERR_NOT_FOUND. */
	int32_t (*open_stream)(burn_backend *backend, uint32_t device, burn_stream **stream, burn_error *error);
	/*
	 * Appends nodes. A node that fails poisons its outputs: it does not fail submit. A node with a poisoned input is not
	 * run, and poisons its outputs with the error of that input. An error of submit says that nothing was accepted.
	 */
	int32_t (*submit)(burn_stream *stream, const burn_node *const *nodes, uint64_t n, burn_error *error);
	/* Gives tensors up. An unknown id is BURN_ERR_UNKNOWN_TENSOR at the next sync. */
	int32_t (*free_tensors)(burn_stream *stream, const uint64_t *ids, uint64_t n, burn_error *error);
	/* Makes a tensor. bytes is the size that desc says; data belongs to the host again when write returns. */
	int32_t (*write)(burn_stream *stream, const burn_desc *desc, const void *data, uint64_t bytes, burn_error *error);
	/* Waits until the tensor is there and copies it. bytes must be its size. A poisoned tensor gives its error. */
	int32_t (*read)(burn_stream *stream, uint64_t id, void *dst, uint64_t bytes, burn_error *error);
	/* Waits until all commands are done and gives the first failure since the last sync. */
	int32_t (*sync)(burn_stream *stream, burn_error *error);
	/* Called at any time, also while another function of the stream runs. NULL: memory use is unknown. */
	int32_t (*memory)(burn_stream *stream, burn_memory *memory);
	/* Waits for running work and frees all tensors of the stream. */
	void (*close_stream)(burn_stream *stream);
} burn_api;

/* The one exported symbol. host_abi is the host's ABI version. NULL when the backend does not go with it. */
BURN_EXPORT const burn_api *burn_backend_main(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif
