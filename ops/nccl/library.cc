#include "ops/nccl/library.h"

#include <type_traits>

#include "common/gpu/nccl_library.h"

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
  find(api.get_unique_id, "ncclGetUniqueId");
  find(api.get_error_string, "ncclGetErrorString");
  find(api.get_last_error, "ncclGetLastError");
  find(api.comm_init_rank_config, "ncclCommInitRankConfig");
  find(api.comm_finalize, "ncclCommFinalize");
  find(api.comm_destroy, "ncclCommDestroy");
  find(api.comm_abort, "ncclCommAbort");
  find(api.comm_get_async_error, "ncclCommGetAsyncError");
  find(api.red_op_create_pre_mul_sum, "ncclRedOpCreatePreMulSum");
  find(api.red_op_destroy, "ncclRedOpDestroy");
  find(api.all_reduce, "ncclAllReduce");
  find(api.reduce, "ncclReduce");
  find(api.reduce_scatter, "ncclReduceScatter");
  find(api.all_gather, "ncclAllGather");
  find(api.broadcast, "ncclBroadcast");
  find(api.send, "ncclSend");
  find(api.recv, "ncclRecv");
  find(api.group_start, "ncclGroupStart");
  find(api.group_end, "ncclGroupEnd");
  return library;
}

}  // namespace weir::nccl
