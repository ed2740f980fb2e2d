/* Trains a model in C that guesses each byte of a text from the byte before it, on all ranks of a job.
 *
 *   weirrun -np 2 c-bigrams FILE [STEPS] [KEY=VALUE]...
 *
 * The pairs are options of docs/reference/compression.md: compressor=dgc density=0.01. Without any, gradients are
 * averaged as they are. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/weir.h"

enum { kBytes = 256, kWeights = kBytes * kBytes, kBatch = 2048, kMostOptions = 16 };
static const float kLearningRate = 8.0f, kMomentum = 0.9f;

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

/* Reads the file; returns its bytes. */
static unsigned char* read_text(const char* path, size_t* length) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    exit(1);
  }
  *length = (size_t)ftell(file);
  rewind(file);
  unsigned char* const text = malloc(*length);
  if (text == NULL || *length < 2 || fread(text, 1, *length, file) != *length) {
    fprintf(stderr, "%s: too short, or not readable\n", path);
    exit(1);
  }
  fclose(file);
  return text;
}

static size_t draw(uint64_t* state, size_t below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)(*state >> 33) % below;
}

/* Adds the gradient of one pair of bytes; returns its loss in bits. */
static double add_gradient(const float* weights, int before, int after, float* gradient) {
  const float* const row = weights + (size_t)before * kBytes;
  float most = row[0];
  for (int b = 1; b < kBytes; ++b) most = row[b] > most ? row[b] : most;
  float shares[kBytes], sum = 0.0f;
  for (int b = 0; b < kBytes; ++b) sum += shares[b] = expf(row[b] - most);
  for (int b = 0; b < kBytes; ++b) {
    const float wanted = b == after ? 1.0f : 0.0f;
    gradient[(size_t)before * kBytes + (size_t)b] += (shares[b] / sum - wanted) / kBatch;
  }
  return -log2((double)(shares[after] / sum));
}

/* Returns the job's mean of a number. */
static double mean_of_ranks(weir_engine* engine, double value) {
  const weir_array array = {&value, NULL, 0, WEIR_FLOAT64, WEIR_CPU, NULL};
  weir_handle handle = 0;
  check(weir_allreduce(engine, "loss", &array, &array, NULL, &handle));
  check(weir_wait(engine, handle));
  return value;
}

int main(int count, char** words) {
  if (count < 2) {
    fprintf(stderr, "usage: c-bigrams FILE [STEPS] [KEY=VALUE]...\n");
    return 2;
  }
  size_t length = 0;
  unsigned char* const text = read_text(words[1], &length);
  const int steps = count > 2 ? atoi(words[2]) : 300;
  weir_option options[kMostOptions];
  size_t option_count = 0;
  for (int i = 3; i < count && option_count < kMostOptions; ++i) {
    char* const value = strchr(words[i], '=');
    if (value == NULL) {
      fprintf(stderr, "%s: give KEY=VALUE\n", words[i]);
      return 2;
    }
    *value = '\0';
    options[option_count++] = (weir_option){words[i], value + 1};
  }

  weir_engine* engine = NULL;
  check(weir_init(&engine));
  const int64_t shape[] = {kBytes, kBytes};
  const weir_gradient of_weights = {"weights", shape, 2, WEIR_FLOAT32, 0, 0, WEIR_CPU};
  weir_gradients_options how = WEIR_GRADIENTS_OPTIONS_INIT;
  how.compression = options;
  how.compression_count = option_count;
  weir_gradients* group = NULL;
  check(weir_register(engine, &of_weights, 1, &how, &group));

  /* dgc has the momentum in what it returns; without it, the program adds its own. */
  int momentum_inside = 0;
  for (size_t i = 0; i < option_count; ++i) momentum_inside |= strcmp(options[i].value, "dgc") == 0;
  float* const weights = calloc(kWeights, sizeof(float));
  float* const velocity = calloc(kWeights, sizeof(float));
  float* const gradient = calloc(kWeights, sizeof(float));
  if (weights == NULL || velocity == NULL || gradient == NULL) return 1;
  uint64_t random = 1 + (uint64_t)weir_rank(engine); /* Each rank has samples of its own. */
  uint64_t sent = 0, dense = 0;
  for (int step = 0; step < steps; ++step) {
    memset(gradient, 0, kWeights * sizeof(float));
    double loss = 0.0;
    for (int i = 0; i < kBatch; ++i) {
      const size_t at = draw(&random, length - 1);
      loss += add_gradient(weights, text[at], text[at + 1], gradient) / kBatch;
    }
    weir_step begin = WEIR_STEP_INIT;
    begin.learning_rates = &kLearningRate;
    begin.learning_rate_count = 1;
    weir_step_report report = WEIR_STEP_REPORT_INIT;
    check(weir_begin_step(group, &begin));
    check(weir_submit(group, 0, gradient, gradient, NULL, NULL));
    check(weir_end_step(group));
    check(weir_wait_step(group, &report));
    sent += report.wire_bytes;
    dense += report.dense_bytes;
    for (size_t i = 0; i < kWeights && !report.skipped; ++i) {
      velocity[i] = momentum_inside ? gradient[i] : kMomentum * velocity[i] + gradient[i];
      weights[i] -= kLearningRate * velocity[i];
    }
    if ((step + 1) % 50 != 0) continue;
    loss = mean_of_ranks(engine, loss);
    if (weir_rank(engine) == 0) printf("step %d: %.3f bits a byte\n", step + 1, loss);
  }
  if (weir_rank(engine) == 0 && sent > 0) {
    printf("sent 1/%.0f of the gradients' bytes\n", (double)dense / (double)sent);
  }
  weir_gradients_free(group);
  check(weir_shutdown(engine));
  free(gradient);
  free(velocity);
  free(weights);
  free(text);
  return 0;
}
