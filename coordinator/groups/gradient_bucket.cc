#include "coordinator/groups/gradient_bucket.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "compression/options/policy.h"
#include "coordinator/routes/frame_coder.h"
#include "coordinator/routes/int8_route.h"
#include "coordinator/sets/process_set.h"

namespace weir {
namespace {

/// Bytes of a bucket that is compressed and goes by a route.
double BytesBy(WireRoute route, const RouteSettings& settings, const RouteTraffic& sent) {
  switch (route) {
    case WireRoute::kDenseAllreduce:
      return sent.dense;
    case WireRoute::kSplitAllgather:
      return sent.split;
    case WireRoute::kPushPull:
      return settings.dedicated_servers ? sent.dedicated : sent.push_pull;
    case WireRoute::kSparseAllgather:
    case WireRoute::kHostAllgather:
      break;
  }
  return sent.sparse;
}

}  // namespace

GradientBucket::GradientBucket(std::string name, std::uint32_t index, int priority, bool overtakes,
                               std::vector<GradientSlice> slices, const GroupStep& step,
                               ProcessSet& set, HandleTable& handles, StepGate* gate,
                               const Gpu* gpu)
    : priority_(priority),
      overtakes_(overtakes),
      gradients_(std::move(name), index, std::move(slices), step, gpu),
      set_(set),
      handles_(handles),
      gate_(gate) {
  process_set = &set;
  gradients_.OnResultsQueued([this] { handles_.Complete(queued_); });
  handles_of_step_.reserve(gradients_.all().size() + 1);
}

void GradientBucket::Prepare(RouteKind kind, bool empty) {
  if (!route_ || kind != kind_) {
    route_.reset();  // One route's buffers at a time; a warm-up changes it a few times.
    route_ = MakeRoute(kind, gradients_, set_.network());
    kind_ = kind;
  }
  route_->Prepare(empty);
  SetStages(empty);
  gradients_.Keep();
  for (GradientSlice& slice : gradients_.all()) slice.trace = {};
  missing_.store(gradients_.all().size(), std::memory_order_relaxed);
  first_ns.store(0, std::memory_order_relaxed);
  delivered_ = false;
  changed_ = false;
  marked_ = false;
  times_ = {};
}

void GradientBucket::SetStages(bool empty) {
  std::span<const BucketStage> of_route = route_->stages();
  if (empty) of_route = of_route.subspan(1, of_route.size() - 2);
  stages_.assign(of_route.begin(), of_route.end());
  if (gate_ == nullptr) return;
  // Packing comes before the gate, and only measures; what scales goes on behind it.
  if (stages_.front() == BucketStage::kPack) stages_.front() = BucketStage::kCompress;
  stages_.insert(stages_.begin(), BucketStage::kGate);
  if (!empty) stages_.insert(stages_.begin(), BucketStage::kPack);
}

bool GradientBucket::CountSubmission() {
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  times_.ready_ns = NowNs();
  return true;
}

void GradientBucket::NoteExchange(std::int64_t begin_ns, std::int64_t end_ns) {
  if (times_.exchange_begin_ns == 0) times_.exchange_begin_ns = begin_ns;
  times_.exchange_end_ns = end_ns;
}

ByForm<double> GradientBucket::BytesByForm(const RouteSettings& route) const {
  const std::size_t payload = FrameCoder::MaxBytes(gradients_, gradients_.step().density);
  const RouteTraffic sent = TrafficOf(set_.size(), dense_bytes(), payload);
  const std::optional<DType> summable = gradients_.summable();
  const double compressed =
      summable ? sent.dense * static_cast<double>(SizeOf(*summable)) / sizeof(float)
               : BytesBy(ChooseWireRoute(route, set_.size(), dense_bytes(), payload), route, sent);
  return {sent.push_pull,   sent.split, compressed, Int8Route::kShareOfDense * sent.dense,
          sent.dense / 2.0, sent.dense};
}

void GradientBucket::Run(BucketStage stage) {
  const std::int64_t begin_ns = NowNs();
  RunAtWork(stage);
  const bool encodes = stage == BucketStage::kPack || stage == BucketStage::kCompress;
  (encodes ? times_.encode_ns : times_.decode_ns) += NowNs() - begin_ns;
}

void GradientBucket::RunAtWork(BucketStage stage) {
  gradients_.WaitForProgram();
  if (gate_ != nullptr && stage == BucketStage::kPack) return Measure();
  if (gradients_.step().undoable && !marked_) {
    gradients_.Mark();
    marked_ = true;
  }
  try {
    route_->Run(stage);
  } catch (...) {
    gradients_.AwaitDelivery();  // The program may use its memory for something else.
    throw;
  }
  if (route_->awaits_gpu(stage)) gradients_.AwaitDelivery();
}

void GradientBucket::GoBack() {
  if (marked_) gradients_.GoBack();  // Else a gate has let nothing through.
}

void GradientBucket::Measure() {
  double squared_norm = 0.0;
  for (const double of_one : gradients_.SquaredNorms()) squared_norm += of_one;
  gate_->Measure(gradients_.index(), squared_norm, std::isfinite(squared_norm));
}

void GradientBucket::Done() {
  gradients_.Keep();
  delivered_ = true;
  delivered_ns_ = NowNs();
  RecordGradients();
  Fulfil(nullptr);
}

void GradientBucket::Failed(const std::exception_ptr& error) {
  changed_ = gradients_.ResultsAreInMemory();
  try {
    gradients_.AwaitDelivery();  // Stages may have left work in its stream.
    gradients_.Revert();
  } catch (const std::exception& trouble) {
    // A GPU that has failed. Who waits must hear of the first error.
    LogError("what '{}' had not sent is lost: {}", name(), trouble.what());
  }
  route_->Revert();
  Fulfil(error);
}

void GradientBucket::RecordGradients() {
  const std::int64_t now_ns = NowNs();
  const double bytes_an_entry =
      static_cast<double>(route_->wire_bytes()) / static_cast<double>(gradients_.elements());
  for (const GradientSlice& slice : gradients_.all()) {
    const GradientSlice::Trace& trace = slice.trace;
    if (trace.submitted_ns == 0) continue;
    StageRecord record = RecordOf(Stage::kGradient, trace.submitted_ns, now_ns);
    record.bucket = slice.record_index;
    if (trace.residual_ratio >= 0.0f) {
      StageRecord residual = record;
      residual.stage = Stage::kResidual;
      residual.density = trace.residual_ratio;
      set_.recorder().Add(residual);
    }
    record.bytes_in = slice.elements * sizeof(float);
    record.bytes_out = trace.payload_bytes.value_or(static_cast<std::size_t>(
        std::lround(bytes_an_entry * static_cast<double>(slice.elements))));
    record.density = trace.density;
    record.threshold = slice.compression->threshold();
    set_.recorder().Add(record);
  }
}

void GradientBucket::Fulfil(const std::exception_ptr& error) {
  handles_of_step_.clear();
  for (GradientSlice& slice : gradients_.all()) {
    slice.owner.reset();
    slice.gradient = nullptr;
    if (slice.handle != kNoHandle) handles_of_step_.push_back(slice.handle);
  }
  if (queued_ != kNoHandle) handles_of_step_.push_back(queued_);
  handles_.Complete(handles_of_step_, error);
}

Bucket::Traffic GradientBucket::traffic() const {
  float threshold = 0.0f;
  for (const GradientSlice& slice : gradients_.all()) {
    threshold = std::max(threshold, slice.compression->threshold());
  }
  return {.dense_bytes = dense_bytes(),
          .wire_bytes = route_->wire_bytes(),
          .density = static_cast<float>(gradients_.step().density),
          .threshold = threshold};
}

}  // namespace weir
