// LOCKSTEP_API marks what the library exports; everything else is hidden.
#pragma once

#if defined(LOCKSTEP_STATIC)
#define LOCKSTEP_API
#else
#define LOCKSTEP_API [[gnu::visibility("default")]]
#endif
