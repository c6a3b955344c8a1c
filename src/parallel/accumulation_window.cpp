#include <algorithm>
#include <string>
#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/parallel/data_parallel.hpp>

namespace lockstep::inline v0 {

AccumulationWindow::AccumulationWindow(Replica& replica, std::int64_t micro_batches)
    : replica_(&replica), micro_batches_(micro_batches) {
  if (micro_batches <= 0)
    throw InvalidUsage("AccumulationWindow: micro_batches = " + std::to_string(micro_batches) +
                       "; it must be positive");
}

bool AccumulationWindow::backward(const Tensor& loss) {
  const ParameterList& parameters = replica_->parameters();
  const auto holder =
      std::find_if(parameters.begin(), parameters.end(),
                   [](const NamedParameter& named) { return named.parameter.has_gradient(); });
  if (holder == parameters.end())
    done_ = 0;  // somebody zeroed the gradients: the window starts anew
  if (done_ == 0 && holder != parameters.end())
    throw InvalidUsage("AccumulationWindow: parameter " + holder->name +
                       " still holds the gradient of the window before; call zero_grad() after "
                       "step()");
  if (!replica_->synchronizing())
    throw InvalidUsage("AccumulationWindow: it takes care of no_sync() itself; leave that out");
  if (done_ + 1 < micro_batches_) {
    const auto guard = replica_->no_sync();
    loss.backward();
    ++done_;
    return false;
  }
  replica_->set_divisor(static_cast<double>(micro_batches_));
  try {
    loss.backward();
  } catch (...) {
    replica_->set_divisor(1);
    throw;
  }
  done_ = 0;
  return true;
}

bool AccumulationWindow::finish() {
  if (done_ == 0) return false;
  replica_->set_divisor(static_cast<double>(std::exchange(done_, 0)));
  replica_->synchronize();
  return true;
}

}  // namespace lockstep::inline v0
