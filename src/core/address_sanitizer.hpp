// LOCKSTEP_HAS_ASAN is defined where AddressSanitizer watches.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define LOCKSTEP_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKSTEP_HAS_ASAN 1
#endif
#endif
