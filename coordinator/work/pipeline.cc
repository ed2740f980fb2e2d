#include "coordinator/work/pipeline.h"

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
    case BucketStage::kRelay:
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

void Record(Recorder* recorder, const Bucket& bucket, BucketStage stage, std::int64_t start,
            bool ok) {
  StageRecord record = bucket.RecordOfWork(RecordedAs(stage), start, NowNs());
  record.ok = ok;
  recorder->Add(record);
}

}  // namespace

Pipeline::Pipeline(int workers, Recorder* recorder, EngineGauges* gauges, Callbacks callbacks)
    : recorder_(recorder), gauges_(gauges), callbacks_(std::move(callbacks)) {
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<StageWorker>(i, &queue_, [this](Bucket* bucket) {
      --gauges_->depth(RecordedAs(bucket->stages()[bucket->cursor]));
      RunStages(bucket);
    }));
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

bool Pipeline::Enter() {
  std::lock_guard lock(mutex_);
  if (stopped_) return false;
  ++inside_;
  return true;
}

void Pipeline::Leave() {
  {
    std::lock_guard lock(mutex_);
    --inside_;
  }
  left_.notify_all();
}

void Pipeline::Advance(Bucket* bucket) {
  if (!Enter()) return;
  const auto stages = bucket->stages();
  const bool work_left = bucket->cursor < stages.size() && !IsNetworkStage(stages[bucket->cursor]);
  if (work_left && !workers_.empty()) {
    ++gauges_->depth(RecordedAs(stages[bucket->cursor]));
    queue_.Push(bucket);
  } else {
    RunStages(bucket);
  }
  Leave();
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
      Record(recorder_, *bucket, stage, start, /*ok=*/false);
      callbacks_.failed(bucket, std::current_exception());
      return;
    }
    Record(recorder_, *bucket, stage, start, /*ok=*/true);
    ++bucket->cursor;
  }
  callbacks_.finished(bucket);
}

void Pipeline::Stop() {
  {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    left_.wait(lock, [&] { return inside_ == 0; });
  }
  queue_.Close();
  workers_.clear();
}

}  // namespace weir
