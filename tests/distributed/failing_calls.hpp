// A small training program in which the n-th call of CUDA, cuBLAS or NCCL fails, and what came of
// it.
#pragma once

#include <catch2/catch.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "backend/backend.hpp"
#include "distributed/models.hpp"
#include "emulation/control.hpp"

namespace failing {

namespace ls = lockstep;

/// Every run that is to make its plans of matrix products anew has a size of its own.
struct Size {
  std::int64_t rows = 1;
  std::int64_t features = 2;
  std::int64_t hidden = 20;
};

inline Size fresh_size() {
  static std::int64_t number = -1;
  ++number;
  return {1 + number % 7, 2 + number / 7 % 17, 20 + number / (7 * 17) % 30};
}

struct Outcome {
  std::string kind;  // of the exception; empty: none
  std::string text;
  int code = 0;
  std::string weights;
  std::string failed_call;  // empty: the program has fewer calls
};

constexpr int kSteps = 4;

/// Adam, clipping and dropout.
inline std::string train(
    ls::Environment& env, const Size& size, bool captured,
    const std::function<void(int)>& before_step = [](int) {}) {
  env.seed(11);
  ls::nn::Sequential model{ls::nn::Linear{size.features, size.hidden}, ls::nn::GELU{},
                           ls::nn::Dropout{0.25}, ls::nn::Linear{size.hidden, size.features}};
  ls::DataParallel replica{model, env, {.bucket_bytes = 400, .first_bucket_bytes = 100}};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 1e-2}};
  ls::CapturedStep step{[&](const ls::Tensor& x, const ls::Tensor& labels) {
                          const ls::Tensor loss = ls::cross_entropy(replica(x), labels);
                          adam.zero_grad();
                          loss.backward();
                          ls::optim::clip_gradient_norm(replica.parameters(), 0.3);
                          adam.step();
                          return loss;
                        },
                        {.warm_up = 1, .enabled = captured}};
  ls::Generator generator(100 + static_cast<std::uint64_t>(env.rank()));
  for (int i = 0; i < kSteps; ++i) {
    before_step(i);
    const ls::Tensor x =
        ls::uniform({size.rows, size.features}, -1, 1, ls::DType::float32, generator);
    const ls::Tensor labels = ls::tensor(
        std::vector<std::int64_t>(static_cast<std::size_t>(size.rows), i % 2), {size.rows});
    static_cast<void>(step(x.to(env.device()), labels.to(env.device())).item<double>());
  }
  return models::weight_bytes(replica.parameters());
}

/// What `body` does while calls fail as `arm` asked for; then nothing fails any more.
inline Outcome outcome_of(const std::function<void()>& arm,
                          const std::function<std::string()>& body) {
  Outcome outcome;
  emulation::reset();
  arm();
  try {
    outcome.weights = body();
  } catch (const ls::DeviceError& error) {
    outcome.kind = "DeviceError";
    outcome.code = error.code();
    outcome.text = error.what();
  } catch (const ls::CommunicationError& error) {
    outcome.kind = "CommunicationError";
    outcome.code = error.code();
    outcome.text = error.what();
  } catch (const ls::BackendUnavailable& error) {
    outcome.kind = "BackendUnavailable";
    outcome.text = error.what();
  } catch (const std::exception& error) {
    outcome.kind = "another exception";
    outcome.text = error.what();
  }
  outcome.failed_call = emulation::failed_call();
  emulation::reset();
  return outcome;
}

inline bool begins_with(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

/// Calls that give something back, or only make things faster: nobody is told that they failed.
inline bool is_release(const std::string& call) {
  return call.find("Destroy") != std::string::npos || begins_with(call, "cudaFree") ||
         call == "ncclCommAbort" || call == "ncclCommFinalize" || call == "ncclCommDeregister";
}

/// Calls that may fail while the program goes on as if nothing had been. A device is also asked for
/// and made current to trim free memory, and made current again on the way out.
inline bool may_be_quiet(const std::string& call) {
  return is_release(call) || call == "ncclCommRegister" || call == "cudaStreamEndCapture" ||
         call == "cudaThreadExchangeStreamCaptureMode" || call == "cudaSetDevice" ||
         call == "cudaGetDevice";
}

inline std::int64_t trimmed(ls::Device device) {
  ls::backend::backend_for(device).memory.trim();
  return emulation::live_objects().allocations;
}

/// So many blocks may be in use at a time, which depends on how far the device is. Each has an
/// event.
constexpr std::int64_t kPinned = 8;

/// What a program leaves behind on the device, when nothing is in flight any more.
struct Left {
  std::int64_t allocations, pinned, streams, events, graphs, communicators, registrations;

  explicit Left(ls::Device device) {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    allocations = trimmed(device);
    const emulation::LiveObjects live = emulation::live_objects();
    pinned = live.pinned_buffers;
    streams = live.streams;
    events = live.events;
    graphs = live.graphs;
    communicators = emulation::live_handles("ncclComm");
    registrations = emulation::live_handles("ncclRegistration");
  }

  bool exceeds(const Left& other) const {
    return allocations > other.allocations || pinned > std::max(other.pinned, kPinned) ||
           streams > other.streams || events - pinned > other.events - other.pinned ||
           graphs > other.graphs || communicators > other.communicators ||
           registrations > other.registrations;
  }
  std::string text() const {
    return std::to_string(allocations) + " allocations, " + std::to_string(pinned) +
           " pinned buffers, " + std::to_string(streams) + " streams, " + std::to_string(events) +
           " events, " + std::to_string(graphs) + " graphs, " + std::to_string(communicators) +
           " communicators, " + std::to_string(registrations) + " registrations";
  }
};

inline std::int64_t blas_handles() { return emulation::live_objects().handles; }

}  // namespace failing
