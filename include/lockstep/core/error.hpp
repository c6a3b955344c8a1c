// The exceptions of lockstep. docs/errors.md says which are recoverable and what a caller may do
// next.
#pragma once

#include <stdexcept>
#include <string>

#include <lockstep/core/export.hpp>

namespace lockstep::inline v0 {

/// Base of everything that lockstep throws.
class LOCKSTEP_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// Shapes do not fit each other, or a size is negative or overflows; the message names the shapes.
class LOCKSTEP_API ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};

/// A call that the contract of the function does not allow; the message says what to do instead.
class LOCKSTEP_API InvalidUsage : public Error {
 public:
  using Error::Error;
  ~InvalidUsage() override;
};

/// A file that is missing or damaged; the message names path, expected and found.
class LOCKSTEP_API FileError : public Error {
 public:
  using Error::Error;
  ~FileError() override;
};

/// The device or transport asked for is not part of this build, or not present on this machine.
class LOCKSTEP_API BackendUnavailable : public Error {
 public:
  using Error::Error;
  ~BackendUnavailable() override;
};

/// A device or its libraries failed. `code()` is the number that the foreign library returned.
class LOCKSTEP_API DeviceError : public Error {
 public:
  DeviceError(const std::string& message, int code) : Error(message), code_(code) {}
  ~DeviceError() override;
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// A collective failed, a rank failed or left, or a deadline passed. The communicator is dead
/// afterwards.
class LOCKSTEP_API CommunicationError : public Error {
 public:
  CommunicationError(const std::string& message, int rank, int code = 0)
      : Error(message), rank_(rank), code_(code) {}
  ~CommunicationError() override;
  /// The rank that the error is about, -1 where it is about no single one.
  int rank() const noexcept { return rank_; }
  /// The number that the foreign library returned, 0 where there was none.
  int code() const noexcept { return code_; }

 private:
  int rank_;
  int code_;
};

}  // namespace lockstep::inline v0
