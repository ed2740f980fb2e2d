#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Weir for C, and for every language that calls C. It says what the C++ interface says: what a
 * function does, and when it fails, stands with its counterpart in engine.h and gradient_group.h.
 *
 * Results. Every function that can fail returns a weir_status, and writes nothing through its
 * pointers but for WEIR_OK. weir_last_error has the sentence.
 *
 * Threads. Functions of a weir_engine may be called by any thread, but for weir_init and
 * weir_shutdown; those of a weir_gradients by one thread, but for weir_submit.
 *
 * Memory. Texts are UTF-8, end with a zero, and are copied, as shapes and options are. Arrays stay
 * valid, and inputs unchanged, until their handle was waited for.
 *
 * Stability. What stands here keeps its meaning in all versions with the same WEIR_C_API:
 * functions, numbers, and the places of members. Functions and numbers may be added, and members at
 * the end of structures that have a `size`. Begin those with WEIR_..._INIT, which sets it and gives
 * the rest its default; a smaller size than the first version's is refused. A program that was
 * built with an older header runs with a newer library.
 */

/* Names as in C. NOLINTBEGIN(readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_C_API 1

/* Returns the WEIR_C_API that the library was built with. */
int32_t weir_c_api(void);
/* Returns the library's version: "0.1.0". */
const char* weir_version(void);

/* docs/errors.md says what a program can still do after each one. */
typedef int32_t weir_status;
enum {
  WEIR_OK = 0,
  WEIR_INVALID_ARGUMENT = 1, /* A call or a setting is wrong. Nothing was changed. */
  WEIR_MISMATCH = 2,         /* Ranks disagree. The engine goes on, but not after weir_drop_step. */
  WEIR_PEER_LOST = 3, /* Another rank is gone. The engine has ended, as after the next two. */
  WEIR_TIMED_OUT = 4,
  WEIR_CORRUPT = 5, /* After weir_load and weir_adopt alone the engine goes on. */
  WEIR_SHUT_DOWN = 6,
  WEIR_OTHER = 7 /* No memory, say. */
};

/* Returns a sentence about the last call of this thread that failed; "" before any. Valid until the
 * next one that fails. */
const char* weir_last_error(void);

/* Types of elements. */
enum {
  WEIR_FLOAT32 = 0,
  WEIR_FLOAT64 = 1,
  WEIR_FLOAT16 = 2,
  WEIR_BFLOAT16 = 3,
  WEIR_UINT8 = 4,
  WEIR_INT8 = 5,
  WEIR_INT16 = 6,
  WEIR_INT32 = 7,
  WEIR_INT64 = 8,
  WEIR_BOOL = 9
};

/* Operations that combine the ranks' values. */
enum {
  WEIR_AVERAGE = 0,
  WEIR_SUM = 1,
  WEIR_ADASUM = 2,
  WEIR_MIN = 3,
  WEIR_MAX = 4,
  WEIR_PRODUCT = 5
};

/* A dense, row-major array. It never gets members: arrays of it are passed. */
typedef struct weir_array {
  void* data;
  const int64_t* shape; /* `dimensions` numbers; at most 8. */
  int32_t dimensions;   /* 0: a scalar. */
  int32_t dtype;
  int32_t gpu;  /* CUDA's number of the GPU that has the data, or WEIR_CPU. */
  void* stream; /* The cudaStream_t in which the program works on it; null: the default one. */
} weir_array;
#define WEIR_CPU (-1)

/* A handle names an operation under way, until it has been waited for. */
typedef uint64_t weir_handle;

/* --- A rank of a job (Engine) -------------------------------------------------------------------
 */

typedef struct weir_engine weir_engine;

/* Joins the job that this process was started in, by settings of the environment (WEIR_*). Without
 * one it makes a job of one rank. Waits for all ranks. */
weir_status weir_init(weir_engine** engine);
/* Leaves in good order, waits until all ranks do, and frees the engine. A weir_gradients that is
 * still there can be freed and saved, and nothing else; another engine can be made when none is.
 * Null is ignored. */
weir_status weir_shutdown(weir_engine* engine);
/* Ends the job on all ranks, with this reason. */
weir_status weir_abort(weir_engine* engine, const char* reason);

/* -1 for a null engine. */
int32_t weir_rank(const weir_engine* engine);
int32_t weir_size(const weir_engine* engine);
int32_t weir_local_rank(const weir_engine* engine);
int32_t weir_local_size(const weir_engine* engine);
/* Of an elastic job: how often ranks were dealt, from 1; whether this rank should leave, and come
 * again (Engine::hosts_updated); and that it has what newcomers need. */
int32_t weir_epoch(const weir_engine* engine);
int32_t weir_hosts_updated(const weir_engine* engine);
weir_status weir_set_ready(weir_engine* engine);

typedef struct weir_reduce_options {
  size_t size;
  double prescale;  /* Factor on every rank's values, applied first. */
  double postscale; /* Factor on the result. */
  int32_t op;
  int32_t priority;
  int32_t process_set;
  int32_t reserved; /* 0. */
} weir_reduce_options;
#define WEIR_REDUCE_OPTIONS_INIT \
  { sizeof(weir_reduce_options), 1.0, 1.0, WEIR_AVERAGE, 0, 0, 0 }

/* Combines the same-shaped array of every rank; `out` may be `in`. `options` may be null: the
 * average. */
weir_status weir_allreduce(weir_engine* engine, const char* name, const weir_array* in,
                           const weir_array* out, const weir_reduce_options* options,
                           weir_handle* handle);
/* Copies the root's array to every other rank. */
weir_status weir_broadcast(weir_engine* engine, const char* name, const weir_array* array,
                           int32_t root, int32_t process_set, weir_handle* handle);

/* Returns memory for a result whose shape is known only once the ranks agree, or null, which fails
 * the operation. `rows[r]` is rank r's part of the first dimension. Called by a thread of the
 * engine, for which it must not wait. */
typedef void* (*weir_allocate)(void* context, const int64_t* shape, int32_t dimensions,
                               const int64_t* rows, int32_t ranks);

/* Concatenates every rank's array along the first dimension. */
weir_status weir_allgather(weir_engine* engine, const char* name, const weir_array* in,
                           weir_allocate allocate, void* context, int32_t process_set,
                           weir_handle* handle);
/* Sends rows to every rank: splits[0] of them to rank 0, and so on. `splits`: `ranks` numbers, or
 * null for equal parts. */
weir_status weir_alltoall(weir_engine* engine, const char* name, const weir_array* in,
                          const int64_t* splits, int32_t ranks, weir_allocate allocate,
                          void* context, int32_t process_set, weir_handle* handle);
/* Combines arrays, and leaves each rank its part of the rows. */
weir_status weir_reducescatter(weir_engine* engine, const char* name, const weir_array* in,
                               weir_allocate allocate, void* context,
                               const weir_reduce_options* options, weir_handle* handle);
/* Is done once every rank has called it. */
weir_status weir_barrier(weir_engine* engine, const char* name, int32_t process_set,
                         weir_handle* handle);
/* Says that this rank has no more data, and waits until all have said so. `last`: who did last. */
weir_status weir_join(weir_engine* engine, int32_t process_set, int32_t* last);

/* Waits for the operation, and forgets the handle. Returns the operation's own failure. */
weir_status weir_wait(weir_engine* engine, weir_handle handle);
/* Sets `done` to 1 if the operation has ended, or to 0. */
weir_status weir_poll(weir_engine* engine, weir_handle handle, int32_t* done);

/* Makes a set of ranks that exchange among themselves. All ranks of the job call it. */
weir_status weir_add_process_set(weir_engine* engine, const int32_t* ranks, int32_t count,
                                 int32_t* process_set);
weir_status weir_remove_process_set(weir_engine* engine, int32_t process_set);

/* Takes `bytes` of a text or a state, one piece after the other. Any result but 0 ends the call
 * that writes with WEIR_INVALID_ARGUMENT. */
typedef int32_t (*weir_write)(void* context, const void* data, size_t bytes);

/* Says how gradients travel, and why, in lines for people (Engine::Explain). */
weir_status weir_explain(const weir_engine* engine, weir_write write, void* context);

/* --- Gradients that are exchanged together every step (GradientGroup)
 * ----------------------------- */

typedef struct weir_gradients weir_gradients;

/* Like weir_array, it never gets members. */
typedef struct weir_gradient {
  const char* name; /* Unique; state is saved under it. */
  const int64_t* shape;
  int32_t dimensions;
  int32_t dtype;           /* Floating point. */
  int32_t parameter_group; /* Index into weir_step's learning rates. */
  int32_t priority;        /* Higher goes first. */
  int32_t gpu;             /* Or WEIR_CPU. */
} weir_gradient;

/* An option of docs/reference/compression.md: {"compressor", "dgc"}, {"density", "0.001"}. */
typedef struct weir_option {
  const char* key;
  const char* value;
} weir_option;

typedef struct weir_gradients_options {
  size_t size;
  const char* name; /* Null: "gradients". */
  const weir_option* compression;
  size_t compression_count; /* 0: the setting WEIR_COMPRESSION, or else plain averaging. */
  double prescale;
  double postscale;
  int32_t op; /* WEIR_AVERAGE or WEIR_SUM. */
  int32_t by_priority;
  int32_t process_set;
  int32_t reserved; /* 0. */
} weir_gradients_options;
#define WEIR_GRADIENTS_OPTIONS_INIT \
  { sizeof(weir_gradients_options), NULL, NULL, 0, 1.0, 1.0, WEIR_AVERAGE, 0, 0, 0 }

/* Registers gradients, in the order of the forward pass. Collective. `options` may be null. */
weir_status weir_register(weir_engine* engine, const weir_gradient* gradients, size_t count,
                          const weir_gradients_options* options, weir_gradients** group);
/* Frees a group. Between weir_begin_step and weir_end_step this ends the job. Null is ignored. */
void weir_gradients_free(weir_gradients* group);

typedef struct weir_step {
  size_t size;
  const float* learning_rates; /* By parameter group, the same on all ranks; null: 0 for all. */
  size_t learning_rate_count;
  const double* momenta; /* By parameter group, in place of the options'; null: those. */
  size_t momentum_count;
  const double* previous_momenta; /* `momentum_count` of the step before; null: the same. */
  float loss_scale;
  int32_t undoable; /* 1: weir_drop_step may follow. */
  void* stream;     /* Of updates on a GPU that no gradient is submitted for. */
} weir_step;
#define WEIR_STEP_INIT \
  { sizeof(weir_step), NULL, 0, NULL, 0, NULL, 1.0f, 0, NULL }

typedef struct weir_step_report {
  size_t size;
  int64_t step;
  int32_t skipped;  /* 1: some gradient was not finite. No update was written: subtract nothing. */
  int32_t reserved; /* 0. */
  double gradient_norm;
  double clip_coefficient;
  double density;
  uint64_t wire_bytes;
  uint64_t dense_bytes;
  uint64_t non_finite_entries;
} weir_step_report;
#define WEIR_STEP_REPORT_INIT \
  { sizeof(weir_step_report), 0, 0, 0, 0.0, 1.0, 1.0, 0, 0, 0 }

/* Opens a step. `step` may be null. */
weir_status weir_begin_step(weir_gradients* group, const weir_step* step);
/* Hands over gradient `index`, this rank's local mean. `update` gets the result, and may be
 * `gradient`: what the optimizer subtracts, after it has multiplied it by the learning rate.
 * `handle` may be null: weir_wait_step waits. */
weir_status weir_submit(weir_gradients* group, size_t index, const void* gradient, void* update,
                        void* stream, weir_handle* handle);
/* Sets where the result of a gradient goes that this rank does not submit; null: nowhere. */
weir_status weir_set_default_update(weir_gradients* group, size_t index, void* update);
/* Supplies zeros for all that were not submitted. Does not wait. */
weir_status weir_end_step(weir_gradients* group);
/* Waits for all results. `report` may be null. */
weir_status weir_wait_step(weir_gradients* group, weir_step_report* report);
/* Takes back a step that was begun as undoable, on all ranks. */
weir_status weir_drop_step(weir_gradients* group);

/* The number of the next step, and its density; -1 for a null group. */
int64_t weir_next_step(const weir_gradients* group);
double weir_next_density(const weir_gradients* group);

/* Writes the compressors' state of this rank. Between steps. */
weir_status weir_save(const weir_gradients* group, weir_write write, void* context);
typedef struct weir_bytes {
  const void* data;
  size_t bytes;
} weir_bytes;
/* Restores states: this rank's own, or those of all former ranks in their order. Collective. */
weir_status weir_load(weir_gradients* group, const weir_bytes* former_ranks, size_t count);
/* Restores the state of any one rank as this rank's own. */
weir_status weir_adopt(weir_gradients* group, const weir_bytes* one_rank);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */
