// An NCCL that is too old, for nccl_library_test.cc.
extern "C" int ncclGetVersion(int* version) {
  *version = 21705;
  return 0;
}
