#pragma once

// What the kernels use of CUB, for the emulated GPU: the same results, by the shortest way.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace cub {

template <typename T, int kThreads>
class BlockScan {
 public:
  struct TempStorage {
    T values[kThreads];
  };
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  void ExclusiveSum(T value, T& before, T& sum) {
    storage_.values[threadIdx.x] = value;
    __syncthreads();
    before = 0;
    sum = 0;
    for (int t = 0; t < kThreads; ++t) {
      if (t == static_cast<int>(threadIdx.x)) before = sum;
      sum = static_cast<T>(sum + storage_.values[t]);
    }
  }
  void ExclusiveSum(T value, T& before) {
    T sum;
    ExclusiveSum(value, before, sum);
  }
  template <typename Operation>
  void ExclusiveScan(T value, T& before, T initial, Operation operation) {
    storage_.values[threadIdx.x] = value;
    __syncthreads();
    before = initial;
    for (unsigned t = 0; t < threadIdx.x; ++t) before = operation(before, storage_.values[t]);
  }

 private:
  TempStorage& storage_;
};

template <typename T, int kThreads>
class BlockReduce {
 public:
  struct TempStorage {
    T values[kThreads];
  };
  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  /// In thread 0 alone.
  T Sum(T value) {
    storage_.values[threadIdx.x] = value;
    __syncthreads();
    T sum = 0;
    for (int t = 0; t < kThreads; ++t) sum = static_cast<T>(sum + storage_.values[t]);
    return threadIdx.x == 0 ? sum : T{};
  }

 private:
  TempStorage& storage_;
};

struct DeviceScan {
  template <typename In, typename Out, typename Count>
  static cudaError_t ExclusiveSum(void* storage, std::size_t& bytes, In in, Out out, Count count,
                                  cudaStream_t stream) {
    if (storage == nullptr) {
      bytes = 1;
      return cudaSuccess;
    }
    return weir::emulated::Enqueue(stream, [=] {
      std::remove_cvref_t<decltype(*out)> sum = 0;
      for (Count i = 0; i < count; ++i) {
        const auto value = in[i];
        out[i] = sum;
        sum += value;
      }
    });
  }
};

struct DeviceRadixSort {
  template <typename Key, typename Value, typename Count>
  static cudaError_t SortPairs(void* storage, std::size_t& bytes, const Key* keys_in, Key* keys_out,
                               const Value* values_in, Value* values_out, Count count, int first_bit,
                               int end_bit, cudaStream_t stream) {
    if (storage == nullptr) {
      bytes = 1;
      return cudaSuccess;
    }
    return weir::emulated::Enqueue(stream, [=] {
      std::vector<Count> order(count);
      std::iota(order.begin(), order.end(), Count{0});
      const Key mask = static_cast<Key>((1ull << (end_bit - first_bit)) - 1);
      std::ranges::stable_sort(order, {}, [=](Count i) { return keys_in[i] >> first_bit & mask; });
      for (Count i = 0; i < count; ++i) {
        keys_out[i] = keys_in[order[i]];
        values_out[i] = values_in[order[i]];
      }
    });
  }

  template <typename Key, typename Count>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, const Key* in, Key* out,
                              Count count, int first_bit, int end_bit, cudaStream_t stream) {
    if (storage == nullptr) {
      bytes = 1;
      return cudaSuccess;
    }
    return weir::emulated::Enqueue(stream, [=] {
      const Key mask = static_cast<Key>((1ull << (end_bit - first_bit)) - 1);
      std::copy(in, in + count, out);
      std::stable_sort(out, out + count, [=](Key a, Key b) {
        return (a >> first_bit & mask) < (b >> first_bit & mask);
      });
    });
  }
};

}  // namespace cub
