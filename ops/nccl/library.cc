#include "ops/nccl/library.h"

#include <type_traits>

#include "common/nccl_library.h"

namespace weir::nccl {

Library Library::Load(const std::string& path) {
  const NcclLibrary file = NcclLibrary::Load(path);
  Library library;
  library.trouble_ = file.trouble();
  if (file.version() == 0) return library;
  const auto find = [&](auto& function, const char* name) {
    void* const found = file.Find(name);
    if (found == nullptr) {
      library.trouble_ = std::string("NCCL ") + NcclVersionText(file.version()) + " has no " + name;
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  Api& api = library.api_;
  find(api.GetUniqueId, "ncclGetUniqueId");
  find(api.GetErrorString, "ncclGetErrorString");
  find(api.GetLastError, "ncclGetLastError");
  find(api.CommInitRankConfig, "ncclCommInitRankConfig");
  find(api.CommFinalize, "ncclCommFinalize");
  find(api.CommDestroy, "ncclCommDestroy");
  find(api.CommAbort, "ncclCommAbort");
  find(api.CommGetAsyncError, "ncclCommGetAsyncError");
  find(api.RedOpCreatePreMulSum, "ncclRedOpCreatePreMulSum");
  find(api.RedOpDestroy, "ncclRedOpDestroy");
  find(api.AllReduce, "ncclAllReduce");
  find(api.Reduce, "ncclReduce");
  find(api.ReduceScatter, "ncclReduceScatter");
  find(api.AllGather, "ncclAllGather");
  find(api.Broadcast, "ncclBroadcast");
  find(api.Send, "ncclSend");
  find(api.Recv, "ncclRecv");
  find(api.GroupStart, "ncclGroupStart");
  find(api.GroupEnd, "ncclGroupEnd");
  return library;
}

}  // namespace weir::nccl
