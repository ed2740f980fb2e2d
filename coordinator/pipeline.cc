#include "coordinator/pipeline.h"

#include "common/check.h"
#include "common/clock.h"

namespace weir {
namespace {

bool IsNetworkStage(BucketStage stage) {
  return stage == BucketStage::kGate || stage == BucketStage::kExchange;
}

Stage RecordedAs(BucketStage stage) {
  switch (stage) {
    case BucketStage::kPack:
      return Stage::kPack;
    case BucketStage::kCompress:
      return Stage::kCompress;
    case BucketStage::kMerge:
      return Stage::kMerge;
    case BucketStage::kUnpack:
      return Stage::kUnpack;
    case BucketStage::kGate:
    case BucketStage::kExchange:
      break;
  }
  WEIR_CHECK(false);
  return Stage::kQueue;
}

void Record(Recorder* recorder, const Bucket& bucket, BucketStage stage, std::int64_t start) {
  const Bucket::Traffic traffic = bucket.traffic();
  const bool encodes = stage == BucketStage::kPack || stage == BucketStage::kCompress;
  recorder->Add({.start_ns = start,
                 .end_ns = NowNs(),
                 .step = bucket.step(),
                 .bytes_in = encodes ? traffic.dense_bytes : traffic.wire_bytes,
                 .bytes_out = encodes ? traffic.wire_bytes : traffic.dense_bytes,
                 .bucket = bucket.record_index,
                 .density = traffic.density,
                 .threshold = traffic.threshold,
                 .stage = RecordedAs(stage)});
}

}  // namespace

Pipeline::Pipeline(int workers, Recorder* recorder, Callbacks callbacks)
    : recorder_(recorder), callbacks_(std::move(callbacks)) {
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(
        std::make_unique<StageWorker>(i, &queue_, [this](Bucket* bucket) { RunStages(bucket); }));
  }
}

void Pipeline::Begin(Bucket* bucket) {
  bucket->cursor = 0;
  Advance(bucket);
}

void Pipeline::Resume(Bucket* bucket) {
  ++bucket->cursor;
  Advance(bucket);
}

void Pipeline::Advance(Bucket* bucket) {
  const auto stages = bucket->stages();
  const bool work_left = bucket->cursor < stages.size() && !IsNetworkStage(stages[bucket->cursor]);
  if (work_left && !workers_.empty()) {
    queue_.Push(bucket);
  } else {
    RunStages(bucket);
  }
}

void Pipeline::RunStages(Bucket* bucket) {
  const auto stages = bucket->stages();
  while (bucket->cursor < stages.size()) {
    const BucketStage stage = stages[bucket->cursor];
    if (IsNetworkStage(stage)) {
      callbacks_.to_network(bucket);
      return;
    }
    const std::int64_t start = NowNs();
    try {
      bucket->Run(stage);
    } catch (...) {
      callbacks_.failed(bucket, std::current_exception());
      return;
    }
    Record(recorder_, *bucket, stage, start);
    ++bucket->cursor;
  }
  callbacks_.finished(bucket);
}

void Pipeline::Stop() {
  queue_.Close();
  workers_.clear();
}

}  // namespace weir
