#include "comm/mpi/followed.hpp"

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::detail::mpi {

bool Followed::advance() {
  try {
    return task_->finished();
  } catch (const CommunicationError& error) {
    throw Failure{error.what(), error.rank(), error.code()};
  } catch (const DeviceError& error) {
    throw Failure{error.what(), group().rank, error.code()};
  } catch (const std::exception& error) {
    throw Failure{error.what(), group().rank, 0};
  }
}

// Nothing is known of who has done its part, so a collective may miss anyone.
bool Followed::needs(int rank) const {
  if (call().verb == Verb::send || call().verb == Verb::receive) return rank == call().peer;
  return rank != group().rank;
}

bool Followed::abandon() noexcept {
  task_->abandon();
  return true;
}

}  // namespace lockstep::inline v0::detail::mpi
