#include "coordinator/operations/operation_table.h"

#include "coordinator/network/set_network.h"
#include "weir/error.h"

namespace weir {

std::pair<Operation*, Handle> OperationTable::Submit(Submission submission) {
  const std::string& name = submission.request.name;
  std::lock_guard lock(mutex_);
  std::unique_ptr<Operation>& entry = operations_[name];
  if (!entry) {
    entry = std::make_unique<Operation>(name, set_, network_, handles_);
    entry->record_index =
        names_.AddShared({.name = name + network_.Suffix(), .routes = Operation::Routes()});
  }
  if (entry->busy()) {
    throw InvalidArgument(
        "Requested to allreduce, allgather, or broadcast a tensor with the same name as another "
        "tensor that is currently being processed. If you want to request another tensor, use a "
        "different tensor name. (tensor '" +
            name + "'" + network_.Suffix() + ")",
        {name, {}, "submit"});
  }
  entry->Submit(std::move(submission));
  const Handle handle = handles_.Create();
  entry->set_handle(handle);
  return {entry.get(), handle};
}

void OperationTable::Retire(Operation* operation) {
  std::unique_ptr<Operation> retired;  // Gives its memory back after the lock.
  std::lock_guard lock(mutex_);
  if (operation->busy()) return;
  const auto found = operations_.find(operation->name());
  retired = std::move(found->second);
  operations_.erase(found);
}

std::optional<std::string> OperationTable::Busy() const {
  std::lock_guard lock(mutex_);
  for (const auto& [name, operation] : operations_) {
    if (operation->busy()) return name;
  }
  return std::nullopt;
}

void OperationTable::Clear() {
  std::lock_guard lock(mutex_);
  std::erase_if(operations_, [](const auto& entry) { return !entry.second->busy(); });
}

std::size_t OperationTable::size() const {
  std::lock_guard lock(mutex_);
  return operations_.size();
}

}  // namespace weir
