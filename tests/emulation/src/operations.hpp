// Operations of the runtime itself.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "emulation/src/memory.hpp"
#include "emulation/src/streams.hpp"
#include "emulation/stream_queue.hpp"

namespace emulation {

class FillOperation : public Operation {
 public:
  FillOperation(void* begin, int value, std::size_t byte_count)
      : begin_(begin), value_(value), byte_count_(byte_count) {}
  Progress run() override {
    std::memset(begin_, value_, byte_count_);
    return Progress::done;
  }
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<FillOperation>(*this);
  }

 private:
  void* begin_;
  int value_;
  std::size_t byte_count_;
};

class CopyOperation : public Operation {
 public:
  CopyOperation(void* to, const void* from, std::size_t byte_count)
      : to_(to), from_(from), byte_count_(byte_count) {}
  // From pageable memory, which is read now.
  static std::unique_ptr<CopyOperation> staged(void* to, const void* from, std::size_t byte_count) {
    const auto* bytes = static_cast<const std::byte*>(from);
    auto copy = std::make_unique<CopyOperation>(to, nullptr, byte_count);
    copy->stage_ = std::make_shared<std::vector<std::byte>>(bytes, bytes + byte_count);
    copy->from_ = copy->stage_->data();
    return copy;
  }
  Progress run() override {
    std::memmove(to_, from_, byte_count_);
    return Progress::done;
  }
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<CopyOperation>(*this);
  }

 private:
  void* to_;
  const void* from_;
  std::size_t byte_count_;
  std::shared_ptr<std::vector<std::byte>> stage_;
};

class FreeOperation : public Operation {
 public:
  explicit FreeOperation(void* pointer) : pointer_(pointer) {}
  Progress run() override {
    const Lock lock(state().mutex);
    free_device(pointer_);
    return Progress::done;
  }
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<FreeOperation>(*this);
  }

 private:
  void* pointer_;
};

class RecordOperation : public Operation {
 public:
  explicit RecordOperation(std::shared_ptr<EventRecord> record) : record_(std::move(record)) {}
  Progress run() override {
    const Lock lock(state().mutex);
    record_->time = std::chrono::steady_clock::now();
    return Progress::done;
  }
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<RecordOperation>(*this);
  }

 private:
  std::shared_ptr<EventRecord> record_;
};

class HostOperation : public Operation {
 public:
  HostOperation(cudaHostFn_t function, void* data) : function_(function), data_(data) {}
  Progress run() override {
    function_(data_);
    return Progress::done;
  }
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<HostOperation>(*this);
  }

 private:
  cudaHostFn_t function_;
  void* data_;
};

}  // namespace emulation
