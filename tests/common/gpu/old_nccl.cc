// An NCCL that is too old, for nccl_library_test.cc.
// NOLINTNEXTLINE(readability-identifier-naming): NCCL's.
extern "C" int ncclGetVersion(int* version) {
  *version = 21705;
  return 0;
}
