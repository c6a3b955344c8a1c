#include "comm/checks.hpp"

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::detail {
namespace {

constexpr int kMostTag = 32767;  // the largest that the MPI standard promises

bool overlap(const Span& a, const Span& b) {
  const auto bytes = [](const Span& span) { return span.count * byte_size(span.dtype); };
  const auto* a_begin = static_cast<const char*>(a.data);
  const auto* b_begin = static_cast<const char*>(b.data);
  return a.count > 0 && b.count > 0 && std::less<>{}(a_begin, b_begin + bytes(b)) &&
         std::less<>{}(b_begin, a_begin + bytes(a));
}

std::string text(const Span& span) {
  return std::to_string(span.count) + " " + name(span.dtype) + " on " + to_string(span.device);
}

}  // namespace

std::string ArgumentCheck::place() const {
  return std::string(name(verb_)) + " on rank " + std::to_string(rank_) + ": ";
}

Span ArgumentCheck::input(const Tensor& tensor) const {
  if (!tensor.defined())
    throw InvalidUsage(place() + "the tensor is undefined; make it first, for example by zeros()");
  // A backend only reads what was passed to it as input.
  return {const_cast<void*>(tensor.raw_data()), tensor.element_count(), tensor.dtype(),
          tensor.device()};
}

Span ArgumentCheck::output(Tensor& tensor) const {
  Span span = input(tensor);
  span.data = tensor.mutable_raw_data();
  return span;
}

void ArgumentCheck::same_kind(const Span& input, const Span& output) const {
  if (input.dtype != output.dtype || input.device != output.device)
    throw InvalidUsage(place() + "the input has " + text(input) + " and the output " +
                       text(output) + "; both need one dtype and one device");
}

void ArgumentCheck::parts(const Span& whole, const Span& part, const char* whole_name,
                          const char* part_name) const {
  if (whole.count % size_ != 0 || whole.count / size_ != part.count)
    throw ShapeError(place() + "the " + whole_name + " has " + std::to_string(whole.count) +
                     " elements and the " + part_name + " " + std::to_string(part.count) +
                     "; with " + std::to_string(size_) + " ranks the " + whole_name + " needs " +
                     std::to_string(size_) + " times the elements of the " + part_name +
                     " (pad where the count does not divide)");
}

void ArgumentCheck::apart_or_own_part(const Span& whole, const Span& part) const {
  const auto* own =
      static_cast<const char*>(whole.data) + rank_ * part.count * byte_size(part.dtype);
  if (part.data != own) apart(whole, part);
}

void ArgumentCheck::apart(const Span& a, const Span& b) const {
  if (overlap(a, b))
    throw InvalidUsage(place() +
                       "input and output overlap in memory; give the output memory of its own");
}

void ArgumentCheck::reducible(const Span& values, ReduceOp op) const {
  if (op == ReduceOp::sum || values.dtype == DType::float32 || values.dtype == DType::float64 ||
      values.dtype == DType::int64 || values.dtype == DType::int32)
    return;
  throw InvalidUsage(place() + "no " + name(op) + " of " + name(values.dtype) +
                     "; it exists for float32, float64, int64 and int32, so cast first");
}

void ArgumentCheck::root(int rank) const {
  if (rank < 0 || rank >= size_)
    throw InvalidUsage(place() + "the root is rank " + std::to_string(rank) +
                       ", but the ranks are 0 to " + std::to_string(size_ - 1));
}

void ArgumentCheck::peer(int rank, int tag) const {
  if (rank < 0 || rank >= size_)
    throw InvalidUsage(place() + "there is no rank " + std::to_string(rank) +
                       "; the ranks are 0 to " + std::to_string(size_ - 1));
  if (rank == rank_)
    throw InvalidUsage(place() + "a rank does not message itself; copy the tensor instead");
  if (tag < 0 || tag > kMostTag)
    throw InvalidUsage(place() + "the tag is " + std::to_string(tag) + ", but tags are 0 to " +
                       std::to_string(kMostTag));
}

}  // namespace lockstep::inline v0::detail
