#include <lockstep/core/error.hpp>

namespace lockstep::inline v0 {

// Defined here, so that there is one set of type information for all libraries of a process.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
InvalidUsage::~InvalidUsage() = default;
FileError::~FileError() = default;
BackendUnavailable::~BackendUnavailable() = default;
DeviceError::~DeviceError() = default;
CommunicationError::~CommunicationError() = default;

}  // namespace lockstep::inline v0
