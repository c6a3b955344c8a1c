// Sums along rows: for each row, all term(row, i) with i in [0, extent) are added and
// finish(row, total) is called once. Term::Value is double, or a type with +, value initialization
// to 0 and a function shuffled(). Few and long rows are cut into chunks, whose partial sums are
// added in a second pass. The order depends on rows and extent alone.
#pragma once

#include "kernels/team.cuh"

namespace lockstep::kernels {

struct Plus {
  template <class Value>
  __device__ __forceinline__ Value operator()(const Value& a, const Value& b) const {
    return a + b;
  }
};

/// A value of two sums.
struct TwoSums {
  double first;
  double second;
};
__device__ __forceinline__ TwoSums operator+(const TwoSums& a, const TwoSums& b) {
  return {a.first + b.first, a.second + b.second};
}
__device__ __forceinline__ TwoSums shuffled(const TwoSums& x, int offset) {
  return {kernels::shuffled(x.first, offset), kernels::shuffled(x.second, offset)};
}

/// How rows are cut: chunk and number of chunks per row.
struct RowCut {
  std::int64_t chunk;
  std::int64_t chunks;
};

inline RowCut row_cut(std::int64_t rows, std::int64_t extent) {
  constexpr std::int64_t kSmallestChunk = 4096;
  constexpr std::int64_t kWantedBlocks = 1024;
  if (rows <= 0 || rows >= kWantedBlocks || extent <= kSmallestChunk) return {extent, 1};
  const std::int64_t chunks = kWantedBlocks / rows;
  std::int64_t chunk = ceil_divide(ceil_divide(extent, chunks), kThreads) * kThreads;
  if (chunk < kSmallestChunk) chunk = kSmallestChunk;
  return {chunk, ceil_divide(extent, chunk)};
}

template <class Value>
std::int64_t row_sums_workspace_bytes(std::int64_t rows, std::int64_t extent) {
  const RowCut cut = row_cut(rows, extent);
  return cut.chunks > 1 ? rows * cut.chunks * static_cast<std::int64_t>(sizeof(Value)) : 0;
}

/// Sums that a thread keeps, so that as many of its loads are on their way at once.
inline constexpr int kPartsPerThread = 8;

/// All parts along one tree.
template <class Value>
__device__ __forceinline__ Value total_of(const Value (&parts)[kPartsPerThread]) {
  static_assert(kPartsPerThread == 8);
  return ((parts[0] + parts[4]) + (parts[2] + parts[6])) +
         ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

/// term(i) for i = begin, begin + step, ... below end, in turn to each of the parts.
template <class Value, class Term>
__device__ __forceinline__ Value strided_total(const Term& term, std::int64_t begin,
                                               std::int64_t end, std::int64_t step) {
  Value parts[kPartsPerThread] = {};
  std::int64_t i = begin;
  for (; i + (kPartsPerThread - 1) * step < end; i += kPartsPerThread * step) {
#pragma unroll
    for (int j = 0; j < kPartsPerThread; ++j) parts[j] = parts[j] + term(i + j * step);
  }
#pragma unroll
  for (int j = 0; j < kPartsPerThread - 1; ++j)
    if (i + j * step < end) parts[j] = parts[j] + term(i + j * step);
  return total_of(parts);
}

/// The terms of one row.
template <class Term>
struct TermOfRow {
  const Term& term;
  std::int64_t row;
  __device__ __forceinline__ typename Term::Value operator()(std::int64_t i) const {
    return term(row, i);
  }
};

/// A row here is one chunk of a row of the caller.
template <class Term, class Finish>
struct RowSums {
  Term term;
  Finish finish;
  std::int64_t extent;
  RowCut cut;

  template <class RowTeam>
  __device__ __forceinline__ void row(std::int64_t task, bool exists) const {
    constexpr int kLanes = kThreads / RowTeam::kPerBlock;
    const std::int64_t row = cut.chunks == 1 ? task : task / cut.chunks;
    const std::int64_t begin = (task - row * cut.chunks) * cut.chunk;
    const std::int64_t end = begin + cut.chunk < extent ? begin + cut.chunk : extent;
    using Value = typename Term::Value;
    const Value part = exists ? strided_total<Value>(TermOfRow<Term>{term, row},
                                                     begin + RowTeam::lane(), end, kLanes)
                              : Value{};
    const Value total = RowTeam::all(part, Plus{});
    if (exists && RowTeam::lane() == 0) finish(task, total);
  }
};

/// result[i] = factor * total (+ result[i] if accumulate), rounded once.
template <class T>
struct StoreSum {
  double factor;
  bool accumulate;
  T* result;
  __device__ __forceinline__ void operator()(std::int64_t i, double total) const {
    const T value = static_cast<T>(total * factor);
    result[i] = accumulate ? result[i] + value : value;
  }
};

template <class Value>
struct StorePartial {
  Value* partials;
  __device__ __forceinline__ void operator()(std::int64_t task, const Value& total) const {
    partials[task] = total;
  }
};

template <class V>
struct PartialTerm {
  using Value = V;
  const Value* partials;
  std::int64_t chunks;
  __device__ __forceinline__ Value operator()(std::int64_t row, std::int64_t i) const {
    return partials[row * chunks + i];
  }
};

/// Finishes a single row: factor * total, rounded once.
template <class T>
struct StoreScaled {
  double factor;
  T* result;
  __device__ __forceinline__ void operator()(std::int64_t, double total) const {
    *result = static_cast<T>(total * factor);
  }
};

template <class Term, class Finish>
cudaError_t row_sums(const Term& term, const Finish& finish, std::int64_t rows, std::int64_t extent,
                     void* workspace, cudaStream_t stream) {
  const RowCut cut = row_cut(rows, extent);
  if (cut.chunks == 1)
    return launch_rows(RowSums<Term, Finish>{term, finish, extent, cut}, rows, extent, stream);
  if (workspace == nullptr) return cudaErrorInvalidValue;
  using Value = typename Term::Value;
  Value* partials = static_cast<Value*>(workspace);
  const cudaError_t error = launch_rows(
      RowSums<Term, StorePartial<Value>>{term, StorePartial<Value>{partials}, extent, cut},
      rows * cut.chunks, cut.chunk, stream);
  if (error != cudaSuccess) return error;
  const PartialTerm<Value> of_partials{partials, cut.chunks};
  return launch_rows(
      RowSums<PartialTerm<Value>, Finish>{of_partials, finish, cut.chunks, {cut.chunks, 1}}, rows,
      cut.chunks, stream);
}

}  // namespace lockstep::kernels
