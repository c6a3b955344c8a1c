#include "comm/mpi/finalize_guard.hpp"

#include <mutex>
#include <vector>

#include "comm/mpi/engine.hpp"
#include "comm/mpi/mpi_call.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<Engine*> engines;
  bool attached = false;
};

// Never destroyed: an engine may be released by a static object of the program.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

int stop_engines(MPI_Comm, int, void*, void*) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (Engine* engine : all.engines) engine->stop();
  return MPI_SUCCESS;
}

void attach() {
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop_engines, &key, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
}

}  // namespace

void guard(Engine& engine) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (!all.attached) attach();
  all.attached = true;
  all.engines.push_back(&engine);
}

void unguard(Engine& engine) noexcept {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.engines, &engine);
}

}  // namespace lockstep::inline v0::detail::mpi
