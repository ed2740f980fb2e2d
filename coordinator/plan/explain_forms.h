#pragma once

#include <span>
#include <string>

#include "coordinator/plan/form_tuner.h"

namespace weir {

/// Says in lines for people what a tuner has chosen, and why: first a sentence, then each plan that
/// was considered, then each bucket. `buckets` has their names, `compressor` that of the form
/// kCompressed. The tuner must have settled.
std::string ExplainForms(const FormTuner& tuner, std::span<const std::string> buckets,
                         const std::string& compressor);

}  // namespace weir
