#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compression/compressor.h"
#include "coordinator/gradients/bucket_frame.h"
#include "warmup/schedule.h"

namespace weir {

/// The partitions of one bucket that one summation server adds up: takes the workers' pushes and
/// returns the due answers. Does no input or output. Not thread-safe.
class ServedBucket {
 public:
  /// One partition: `reader` checks and decodes payloads, `answering[a]` compresses the answers.
  struct Partition {
    std::string name;
    std::size_t elements = 0;
    int parameter_group = 0;
    std::unique_ptr<const PayloadReader> reader;
    std::vector<std::unique_ptr<Compressor>> answering;
  };
  struct Description {
    std::string name;
    BucketFrame::Identity identity;  ///< Except the step.
    Schedule schedule;
    std::size_t parameter_groups = 1;
    int workers = 1;
    std::vector<Partition> partitions;
  };
  /// A frame that must reach a worker before it may push this bucket again;
  /// the bucket keeps it until then.
  struct Answer {
    int worker = 0;
    std::span<const std::byte> frame;
  };

  explicit ServedBucket(Description description);
  virtual ~ServedBucket() = default;
  ServedBucket(const ServedBucket&) = delete;
  ServedBucket& operator=(const ServedBucket&) = delete;

  const std::string& name() const { return about_.name; }
  /// Upper bound for a pushed frame, in any step.
  std::size_t max_push_bytes() const;

  /// Takes a frame, which must not change until the worker has been answered, and appends the
  /// answers that are due now. Throws Corrupt that names bucket and worker for a frame that is
  /// damaged, from another step, or pushed before the last one was answered; nothing of it is added
  /// up then. Throws ShutDown when the answer would have to wait for a worker that has finished.
  virtual void Take(int worker, std::span<const std::byte> frame, std::vector<Answer>& due) = 0;

  /// Notes that this worker takes no further step. Throws ShutDown when another one waits for it.
  virtual void Finish(int worker) { static_cast<void>(worker); }

  /// Bytes before a push's payloads: the learning rates of its step and of the one before.
  static std::size_t HeadBytes(std::size_t parameter_groups) {
    return 2 * parameter_groups * sizeof(float);
  }

 protected:
  /// Content of a frame.
  struct Pushed {
    std::int64_t step = 0;
    bool empty = false;                                ///< The worker contributes nothing.
    std::vector<StepContext> contexts;                 ///< By parameter group, for the answer.
    std::vector<std::span<const std::byte>> payloads;  ///< By partition.
  };
  Pushed Read(int worker, std::span<const std::byte> frame) const;
  [[noreturn]] void Refuse(int worker, const std::string& why) const;
  /// Compresses means[i], of partition i, as answer `a` of the push's step. Returns the frame's
  /// bytes.
  std::size_t WriteAnswer(const Pushed& pushed, std::size_t a,
                          std::span<const std::vector<float>> means, std::vector<std::byte>& frame);

  const Description& about() const { return about_; }
  std::vector<Partition>& partitions() { return about_.partitions; }
  std::size_t workers() const { return static_cast<std::size_t>(about_.workers); }

 private:
  /// Most bytes of the payloads, at a density.
  std::vector<std::size_t> Most(double density) const;
  BucketFrame::Identity Identity(std::int64_t step) const;

  Description about_;
};

}  // namespace weir
