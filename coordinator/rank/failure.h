#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "metrics/gauges/engine_gauges.h"

namespace weir {

/// Reason for the job to end, as far as this rank's network thread knows; the first one stays.
class Failure {
 public:
  /// Notes a reason that this rank found out, and has to tell the others.
  void Found(std::exception_ptr error) { Note(std::move(error), /*is_ours=*/true); }
  /// Notes a reason that another process told this rank.
  void Heard(std::exception_ptr error) { Note(std::move(error), /*is_ours=*/false); }

  explicit operator bool() const { return error_ != nullptr; }
  const std::exception_ptr& error() const { return error_; }
  bool is_ours() const { return is_ours_; }

 private:
  void Note(std::exception_ptr error, bool is_ours) {
    if (error_) return;
    error_ = std::move(error);
    is_ours_ = is_ours;
  }

  std::exception_ptr error_;
  bool is_ours_ = false;
};

/// Returns the text of an exception.
std::string WhatOf(const std::exception_ptr& error);
/// Returns the kind of abort that an exception counts as.
AbortReason ReasonOf(const std::exception_ptr& error);
/// Returns the ranks that an exception names.
std::vector<int> RanksOf(const std::exception_ptr& error);
bool IsInvalidArgument(const std::exception_ptr& error);

}  // namespace weir
